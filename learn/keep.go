package learn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// kept returns memory's receipt for a lesson. A lesson that is too large, or says nothing, is rejected and no
// error, so that the run that taught it continues.
func kept(r memory.Receipt, err error) (memory.Receipt, error) {
	if limit, ok := errors.AsType[*store.LimitError](err); ok {
		return memory.Receipt{Disposition: memory.Rejected, Reason: limit.Error()}, nil
	}
	if errors.Is(err, memory.ErrEmpty) {
		return memory.Receipt{Disposition: memory.Rejected, Reason: err.Error()}, nil
	}
	return r, err
}

// digest returns a key for a goal's key, which may have any length.
func digest(goalKey, what string) string {
	sum := sha256.Sum256([]byte(goalKey))
	return hex.EncodeToString(sum[:16]) + " " + what
}

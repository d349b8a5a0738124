package learn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// kept is what memory has made of a lesson. One that is too large, or says
// nothing, is rejected rather than an error: the run that taught it goes on.
func kept(r memory.Receipt, err error) (memory.Receipt, error) {
	if limit, ok := errors.AsType[*store.LimitError](err); ok {
		return memory.Receipt{Disposition: memory.Rejected, Reason: limit.Error()}, nil
	}
	if errors.Is(err, memory.ErrEmpty) {
		return memory.Receipt{Disposition: memory.Rejected, Reason: err.Error()}, nil
	}
	return r, err
}

// digest makes a key of a goal's, which may have any length.
func digest(goalKey, what string) string {
	sum := sha256.Sum256([]byte(goalKey))
	return hex.EncodeToString(sum[:16]) + " " + what
}

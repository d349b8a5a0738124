package memory

import (
	"errors"
	"fmt"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

// Errors of drafts, queries and feedback. Nothing was stored.
var (
	// ErrEmpty: a required text or key is empty, or has nothing visible.
	ErrEmpty = embedder.ErrEmpty
	// ErrKind: a Kind is not one of the four.
	ErrKind = errors.New("unknown kind")
	// ErrOrigin: an Origin is not one of the six.
	ErrOrigin = errors.New("unknown origin")
	// ErrVector: a vector holds a number that is not finite, is zero, or has
	// another dimension than those of the Bank.
	ErrVector = vectors.ErrVector
	// ErrPlan: a plan is not JSON.
	ErrPlan = errors.New("bad plan")
	// ErrQuery: a query is out of range, such as one for a negative number of hits.
	ErrQuery = errors.New("bad query")
)

// Limits of drafts and feedback, in bytes unless said otherwise. More is a *store.LimitError.
const (
	MaxText      = 64 << 10             // Trigger and Content, each; also Query.Text
	MaxRecord    = 512 << 10            // the record as it is stored
	MaxDimension = vectors.MaxDimension // 4096 numbers in a vector
	MaxLinks     = 256                  // links of a record, and quotes
	maxFeedback  = 1024                 // ids in a Feedback
	maxSlot      = 4 << 10              // a Slot, all of it
)

// ErrID: an id, a key, or another name is not valid UTF-8, or has control characters or a token
// in the form of an issuer's.
var ErrID = key.ErrID

// limit returns a *store.LimitError for more than there may be of a field.
func limit(field string, most, got int) error {
	if got > most {
		return &store.LimitError{Field: field, Limit: most, Got: got}
	}
	return nil
}

// required returns ErrEmpty for a field without anything visible.
func required(field, text string) error {
	if fence.Blank(text) {
		return fmt.Errorf("%s: %w", field, ErrEmpty)
	}
	return nil
}

// Package heard waits until an opener of a store has heard of a commit.
package heard

import (
	"context"
	"fmt"
	"sync"

	"github.com/arc-learn/arc/store"
)

// Heard is how far the store's changes were heard of. It may be used concurrently.
type Heard struct {
	mu     sync.Mutex
	rev    store.Revision
	more   chan struct{} // closed when more was heard
	closed bool
}

// New returns a Heard of nothing yet.
func New() *Heard { return &Heard{more: make(chan struct{})} }

// Note says that all up to rev was heard of.
func (h *Heard) Note(rev store.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rev = max(h.rev, rev)
	h.wake()
}

// Close ends all waits with store.ErrClosed. It is idempotent.
func (h *Heard) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.wake()
}

func (h *Heard) wake() {
	close(h.more)
	h.more = make(chan struct{})
}

func (h *Heard) state() (rev store.Revision, more chan struct{}, closed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rev, h.more, h.closed
}

// Await returns once something later than rev was heard of. If nothing was so
// far, it calls commit, which writes something, and waits for what is before
// that: it has an end where nothing else is written.
func (h *Heard) Await(
	ctx context.Context, rev store.Revision, commit func(context.Context) (store.Revision, error),
) error {
	for asked := false; ; asked = true {
		at, more, closed := h.state()
		if closed {
			return store.ErrClosed
		}
		if at > rev {
			return nil
		}
		if !asked {
			own, err := commit(ctx)
			if err != nil {
				return err
			}
			rev = min(rev, own-1)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("heard of revision %d, and not of all up to %d: %w", at, rev, ctx.Err())
		}
	}
}

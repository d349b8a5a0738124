// Package heard waits until an opener of a store has heard of a commit.
package heard

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Heard is how far the store's changes were heard of. It may be used concurrently.
type Heard struct {
	mu     sync.Mutex
	rev    store.Revision
	more   chan struct{} // closed when more was heard
	closed bool
	asked  int
}

// asks are the keys that are written to be heard of. There are several, since a store has
// commits of one key take turns.
const asks = 64

// Commit commits something to be heard of at a time.
func (h *Heard) Commit(ctx context.Context, st store.Store, at time.Time) (store.Revision, error) {
	h.mu.Lock()
	h.asked = (h.asked + 1) % asks
	k := key.Join(stored.Root, "heard", strconv.Itoa(h.asked))
	h.mu.Unlock()
	op, err := stored.Put(k, struct {
		At tally.Instant `cbor:"1,keyasint,omitempty"`
	}{tally.InstantOf(at)})
	if err != nil {
		return 0, err
	}
	return st.Commit(ctx, op)
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

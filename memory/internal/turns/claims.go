package turns

import (
	"context"
	"sync"
)

// Claims are names that one goroutine at a time may work on, each with a channel that is
// closed at its release.
type Claims struct{ held sync.Map }

// Claim takes names, which are in order so that no two claims wait for one another, and
// returns what releases them. The holder of a claim must not ask for another.
func (c *Claims) Claim(ctx context.Context, names []string) (release func(), err error) {
	done := make(chan struct{})
	mine := names[:0:0]
	release = func() {
		for _, n := range mine {
			c.held.Delete(n)
		}
		close(done)
	}
	for _, n := range names {
		for held, busy := c.held.LoadOrStore(n, done); busy; held, busy = c.held.LoadOrStore(n, done) {
			select {
			case <-held.(chan struct{}):
			case <-ctx.Done():
				release()
				return nil, ctx.Err()
			}
		}
		mine = append(mine, n)
	}
	return release, nil
}

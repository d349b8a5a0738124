// Package upkeep runs background work: a goroutine that looks for what is due, and others that do it.
package upkeep

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Keeper calls a function again and again until it is stopped. It is safe for concurrent use.
type Keeper struct {
	ctx   context.Context // ends with Stop
	stop  context.CancelFunc
	again chan struct{}
	all   sync.WaitGroup

	mu    sync.Mutex
	going map[string]chan struct{} // by id, closed at the end
}

// New returns a Keeper that does not look yet.
func New() *Keeper {
	ctx, stop := context.WithCancel(context.Background())
	return &Keeper{ctx: ctx, stop: stop, again: make(chan struct{}, 1), going: make(map[string]chan struct{})}
}

// Start makes the Keeper call look after the time first, and then each time when the duration that look has
// returned is over, or Poke was called. look must not take long: it starts longer work by [Keeper.Go].
func (k *Keeper) Start(first time.Duration, look func() time.Duration) {
	k.all.Go(func() {
		timer := time.NewTimer(first)
		defer timer.Stop()
		var again chan struct{} // nil until the first look
		for {
			select {
			case <-k.ctx.Done():
				return
			case <-again:
			case <-timer.C:
			}
			again = k.again
			timer.Reset(look())
		}
	})
}

// Poke makes the Keeper look again at once.
func (k *Keeper) Poke() {
	select {
	case k.again <- struct{}{}:
	default:
	}
}

// Take records that the caller works on id, until it calls letGo, which pokes the Keeper if the work was
// done. It returns nil if id is being worked on, or most others already are.
func (k *Keeper) Take(id string, most int) (letGo func(done bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.going) >= most || k.going[id] != nil {
		return nil
	}
	gone := make(chan struct{})
	k.going[id] = gone
	return func(done bool) {
		k.mu.Lock()
		delete(k.going, id)
		k.mu.Unlock()
		close(gone)
		if done {
			k.Poke()
		}
	}
}

// Taken returns a channel for each id that is being worked on. It is closed at the end of the work.
func (k *Keeper) Taken() []chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Values(k.going))
}

// Go calls fn in a goroutine that Wait waits for. It must not be called once Wait may return.
func (k *Keeper) Go(fn func()) { k.all.Go(fn) }

// Context ends with Stop.
func (k *Keeper) Context() context.Context { return k.ctx }

// Stop ends the looking. It is idempotent.
func (k *Keeper) Stop() { k.stop() }

// Wait returns when the Keeper has been stopped and all its goroutines have ended.
func (k *Keeper) Wait() { k.all.Wait() }

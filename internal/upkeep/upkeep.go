// Package upkeep is the background of something that is open: a goroutine that
// looks for what is due, and those that do what takes longer.
package upkeep

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Keeper looks, again and again, until it is stopped. It is safe for concurrent use.
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

// Start has the Keeper call look after first, and then whenever what look has
// returned has passed, or it is poked. look does what takes no time, and has others
// do the rest by [Keeper.Go].
func (k *Keeper) Start(first time.Duration, look func() time.Duration) {
	k.all.Go(func() {
		timer := time.NewTimer(first)
		defer timer.Stop()
		var again chan struct{} // not before the first look
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

// Poke has the Keeper look again at once.
func (k *Keeper) Poke() {
	select {
	case k.again <- struct{}{}:
	default:
	}
}

// Take notes that the caller does what id names, until it calls letGo, which pokes
// the Keeper if it was done. It is nil if somebody does that already, or most others are done.
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

// Taken returns a channel for each thing that is done now. It is closed at its end.
func (k *Keeper) Taken() []chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Values(k.going))
}

// Go calls fn in a goroutine that Wait waits for. Only look calls it.
func (k *Keeper) Go(fn func()) { k.all.Go(fn) }

// Context ends with Stop.
func (k *Keeper) Context() context.Context { return k.ctx }

// Stop ends the looking. It is idempotent.
func (k *Keeper) Stop() { k.stop() }

// Wait returns when the Keeper has been stopped and what it began is over.
func (k *Keeper) Wait() { k.all.Wait() }

// Package behind asks a part of the host, such as an embedder, behind the writes: one goroutine
// at a time, again after failures, each pause twice as long as the last.
package behind

import (
	"context"
	"errors"
	"sync"
	"time"
)

// After a failure of a host's part, nothing is asked of it for firstPause, twice
// as long after the next one, and so on up to lastPause.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// Part is a part of the host that is asked behind the writes. Its lock may be that of what
// is to be asked.
type Part struct {
	wake chan struct{}
	turn chan struct{} // holds one while a goroutine asks
	stop context.CancelFunc
	done chan struct{}

	sync.Mutex
	failures int       // in a row
	until    time.Time // when to try again
	err      error     // of the last attempt
	tenant   string    // whose texts that was about
}

// Prime prepares for Run and Alone.
func (b *Part) Prime() { b.wake, b.turn = make(chan struct{}, 1), make(chan struct{}, 1) }

// Run calls next in a goroutine until Close: at once while it has done something,
// else when there is more to do, or after a pause.
func (b *Part) Run(now func() time.Time, next func(context.Context) (int, error)) {
	ctx, stop := context.WithCancel(context.Background())
	b.stop, b.done = stop, make(chan struct{})
	go func() {
		defer close(b.done)
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			pause := b.Rest(now())
			if pause <= 0 {
				if n, _ := next(ctx); n > 0 { // the error is in Health until an attempt succeeds
					continue
				}
				pause = b.Rest(now())
			}
			timer.Stop()
			if pause > 0 {
				timer.Reset(pause)
			}
			select {
			case <-b.wake:
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Close ends what Run has begun, and waits for it.
func (b *Part) Close() {
	if b.stop != nil {
		b.stop()
		<-b.done
	}
}

// Nudge says that there is something to do.
func (b *Part) Nudge() {
	select {
	case b.wake <- struct{}{}:
	default: // it is awake
	}
}

// Alone waits for the turn, and returns what ends it.
func (b *Part) Alone(ctx context.Context) (release func(), err error) {
	select {
	case b.turn <- struct{}{}:
		return func() { <-b.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Rest reports how long the host's part is to be left alone: not at all if the clock was put back by more than
// lastPause since.
func (b *Part) Rest(now time.Time) time.Duration {
	b.Lock()
	defer b.Unlock()
	if pause := b.until.Sub(now); pause <= lastPause {
		return pause
	}
	return 0
}

// errOther is what a tenant is told of an error that may quote another's texts.
var errOther = errors.New("it has failed for another tenant")

// LastError returns the error of the last attempt. A tenant is not told what an
// attempt for another has come to, only that it has failed.
func (b *Part) LastError(tenant string) error {
	b.Lock()
	defer b.Unlock()
	if b.err != nil && b.tenant != tenant {
		return errOther
	}
	return b.err
}

// Report keeps what an attempt for a tenant has come to.
func (b *Part) Report(now time.Time, tenant string, err error) {
	b.Lock()
	defer b.Unlock()
	b.tenant = tenant
	if b.err = err; err == nil {
		b.failures, b.until = 0, time.Time{}
		return
	}
	b.until = now.Add(min(lastPause, firstPause<<min(b.failures, 16)))
	b.failures++
}

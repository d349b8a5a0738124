package guard

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrDropped is the error of a call that an [Outlet] has not made, because an
// earlier one has not returned.
var ErrDropped = errors.New("dropped: an earlier call has not returned")

// Outlet calls host code that only listens: hooks, log handlers, exporters.
// Whatever that does, the caller goes on. Limit has to be set; an Outlet is
// safe for concurrent use, and must not be copied.
type Outlet struct {
	Limit time.Duration // how long a call is waited for

	stuck atomic.Int64 // calls that were left behind and have not returned
	lost  atomic.Int64 // calls that panicked, were left behind, or not made
}

// Call calls fn in a goroutine, so that it may hang, and waits for it. A panic
// comes back as a *PanicError, a lost goroutine as ErrExited, and a call that
// does not return within Limit as ErrTime; that one is left behind, and until
// it returns others are not made: ErrDropped. What fn writes may be read after
// nil or a *PanicError only.
func (o *Outlet) Call(fn func()) error {
	if o.stuck.Load() > 0 {
		o.lost.Add(1)
		return ErrDropped
	}
	done := make(chan error, 1)
	go func() {
		err := ErrExited
		defer func() { done <- err }()
		err = Call(fn)
	}()
	timer := time.NewTimer(o.Limit)
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
		err = ErrTime
		o.stuck.Add(1)
		go func() {
			<-done
			o.stuck.Add(-1)
		}()
	}
	if err != nil {
		o.lost.Add(1)
	}
	return err
}

// Lost returns how many calls came to nothing so far.
func (o *Outlet) Lost() int64 { return o.lost.Load() }

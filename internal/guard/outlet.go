package guard

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrDropped is the error of a call that an [Outlet] has not made, because an
// earlier one has not returned.
var ErrDropped = errors.New("dropped: an earlier call has not returned")

// Outlet calls host code that only listens: hooks, log handlers, exporters. The caller goes
// on even if that panics or hangs. Limit has to be set. An Outlet is safe for concurrent use,
// and must not be copied.
type Outlet struct {
	Limit time.Duration // how long a call is waited for

	stuck atomic.Int64 // calls that were left behind and have not returned
	lost  atomic.Int64 // calls that panicked, were left behind, or not made
}

// Call calls fn in a goroutine and waits for it, up to Limit. The error is a *PanicError after
// a panic, ErrExited if fn ended its goroutine, and ErrTime after Limit: then the call is left
// behind, and until it returns Call makes no other and returns ErrDropped. The caller may read
// what fn writes after nil or a *PanicError only.
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

// Lost returns how many calls have failed so far.
func (o *Outlet) Lost() int64 { return o.lost.Load() }

package guard

import (
	"context"
	"sync"
	"time"
)

// limited is the context of one call. The caller, which waits for the call anyway, ends it.
// That saves the timer of context.WithTimeout, its entry in the parent, and its channel unless
// the host's code asks for Done.
type limited struct {
	context.Context // of the caller
	deadline        time.Time

	mu    sync.Mutex
	done  chan struct{} // made by the first call of Done
	err   error         // not nil: the context has ended
	after []func()      // AfterFunc's; nil where one was stopped
}

// closed is what Done returns if it is first called after the end.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// grace is how long the caller waits for a call after its context has ended, if the call
// listens to that: so the usage that it reports still counts.
const grace = 100 * time.Millisecond

// wait waits until the call sends true on said, the limit's timer sends false, or the caller's
// context ends. Then it ends l, and waits through the grace for a call that listens. It
// reports whether the call has returned.
func (l *limited) wait(said chan bool) bool {
	err := context.DeadlineExceeded
	select {
	case returned := <-said:
		if returned {
			l.end(context.Canceled)
			return true
		}
	case <-l.Context.Done():
		err = l.Context.Err()
	}
	asked := l.end(err)
	select {
	case returned := <-said: // sent meanwhile
		if returned || !asked {
			return returned
		}
	default:
		if !asked {
			return false
		}
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	for {
		select {
		case returned := <-said:
			if returned {
				return true
			}
		case <-over.C:
			return false
		}
	}
}

// end ends the context, and reports whether the call listens for that.
func (l *limited) end(err error) (asked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked = l.done != nil || len(l.after) > 0
	l.err = err
	if l.done == nil {
		l.done = closed
	} else {
		close(l.done)
	}
	for _, fn := range l.after {
		if fn != nil {
			go fn()
		}
	}
	l.after = nil
	return asked
}

func (l *limited) Deadline() (time.Time, bool) {
	if d, ok := l.Context.Deadline(); ok && d.Before(l.deadline) {
		return d, true
	}
	return l.deadline, true
}

func (l *limited) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
	}
	return l.done
}

func (l *limited) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// AfterFunc is what package context looks for, so that contexts derived from l
// need no goroutine each.
func (l *limited) AfterFunc(fn func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		go fn()
		return func() bool { return false }
	}
	i := len(l.after)
	l.after = append(l.after, fn)
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i >= len(l.after) || l.after[i] == nil {
			return false
		}
		l.after[i] = nil
		return true
	}
}

package guard

import (
	"context"
	"sync"
	"time"
)

// limited is the context of one call. The caller, who waits for the call in any
// case, ends it: that spares the timer, the entry in the parent and, for host
// code that does not ask, the channel of context.WithTimeout.
type limited struct {
	context.Context // of the caller
	deadline        time.Time

	mu     sync.Mutex
	done   chan struct{} // made when it is asked for
	err    error         // not nil: it has ended
	graced bool          // the call has returned after that, within its grace
	after  []func()      // called when it ends; nil where one was stopped
}

// closed is a channel for those that ask when all is over.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// grace is how long a call that has asked for the end of its context may take to return
// after it: what it has used by then counts.
const grace = 100 * time.Millisecond

// wait waits until the call says true on said, which it reports, the limit says
// false, or the caller's context has ended; then it ends l, and gives a call that asked for
// that end its grace.
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
	case returned := <-said: // in the meantime
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
				l.graced = true
				return true
			}
		case <-over.C:
			return false
		}
	}
}

// end ends the context, and reports whether anyone has asked for that.
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

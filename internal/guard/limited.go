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

	mu    sync.Mutex
	done  chan struct{} // made when it is asked for
	err   error         // not nil: it has ended
	after []func()      // called when it ends; nil where one was stopped
}

// closed is a channel for those that ask when all is over.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// wait waits until the call says true on said, which it reports, the limit says
// false, or the caller's context has ended; then it ends l.
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
	l.end(err)
	select {
	case returned := <-said: // in the meantime
		return returned
	default:
		return false
	}
}

func (l *limited) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

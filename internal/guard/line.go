package guard

import (
	"context"
	"sync"
	"time"
)

// Line is a context with a goroutine, in which Do makes the calls of contexts that
// come from it, one at a time: a run makes several, and a goroutine, a timer and a
// channel for each cost more than the call. A call beside another one, or after one
// that has not returned, gets a goroutine of its own.
type Line struct {
	context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	busy   bool // a call is under way, or was left behind
	closed bool // no call is made here any more
	calls  chan call
	said   chan bool   // what limited.wait waits for; nil before the first call
	timer  *time.Timer // says so
}

// call is an answer of some type.
type call interface {
	speak(said chan<- bool)
	exited() bool
}

// lineKey is what a Line has itself under.
type lineKey struct{}

// NewLine returns a Line below a context. It is to be closed.
func NewLine(ctx context.Context) *Line {
	l := &Line{calls: make(chan call)}
	l.Context, l.cancel = context.WithCancel(ctx)
	return l
}

// Value implements context.Context.
func (l *Line) Value(key any) any {
	if key == (lineKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// Close ends the context and the goroutine, once that has returned from its call.
func (l *Line) Close() {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		close(l.calls)
	}
	l.closed = true
}

// none has no calls.
var none = func() chan call { c := make(chan call); close(c); return c }()

// lineOf returns the Line of a context that has begun a call, or a new one that makes
// no other.
func lineOf(ctx context.Context, c call, limit time.Duration) *Line {
	l, _ := ctx.Value(lineKey{}).(*Line)
	if l == nil || !l.engage(c, limit) {
		l = &Line{calls: none}
		l.engage(c, limit)
	}
	return l
}

// engage begins a call, unless the Line has another one or is closed.
func (l *Line) engage(c call, limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.busy || l.closed:
		return false
	case l.said == nil:
		l.said = make(chan bool, 2) // with room for the call and the limit
		l.timer = time.AfterFunc(limit, func() { l.said <- false })
		go l.serve(c)
	default:
		l.timer.Reset(limit)
		l.calls <- c
	}
	l.busy = true
	return true
}

// serve makes calls until the Line is closed.
func (l *Line) serve(c call) {
	growStack(0)
	for c != nil {
		c.speak(l.said)
		c = <-l.calls
	}
}

// wait waits for a call that was begun, no longer than it has. The Line is free again
// if nothing of that call can still come.
func (l *Line) wait(c call, of *limited) (returned bool) {
	returned = of.wait(l.said)
	stopped := l.timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = !stopped || !returned || c.exited()
	return returned
}

// growStack makes the stack of a new goroutine large enough for most calls of
// host code, while there is next to nothing on it. Growing it step by step
// below such a call copies all that is on it two or three times.
//
//go:noinline
func growStack(never int) byte {
	if never == 0 {
		return 0
	}
	var room [6 << 10]byte // the frame has it in any case
	room[never] = byte(never)
	return room[never/2]
}

package guard

import (
	"context"
	"sync"
	"time"
)

// Line is a context with a goroutine in which Do makes the calls under contexts derived from
// it, one at a time. A run makes several calls, and a goroutine, a timer and a channel for each
// would cost more than the call. A call beside another one, or after one that was left
// behind, gets a goroutine of its own.
type Line struct {
	context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	busy   bool // a call is in flight, or was left behind
	closed bool // no further call is made here
	calls  chan call
	said   chan bool   // see limited.wait; nil before the first call
	timer  *time.Timer // sends false on said
}

// call is an answer of some type.
type call interface {
	speak(said chan<- bool)
	exited() bool
}

// lineKey is the context key of a Line.
type lineKey struct{}

// NewLine returns a Line derived from a context. The caller has to close it.
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

// none is the closed channel of a Line that makes one call only.
var none = func() chan call { c := make(chan call); close(c); return c }()

// lineOf begins a call on the context's Line and returns that, or on a new Line that makes no
// other.
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

// wait waits for a call that was begun, until its limit. The Line is free again if the call and
// the timer can send nothing more.
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
	var room [6 << 10]byte // its frame has this size even if never is 0
	room[never] = byte(never)
	return room[never/2]
}

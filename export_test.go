package arc

import (
	"context"
	"time"

	"github.com/arc-learn/arc/store"
)

// Hurry changes the times of processes until what it returns is called.
func Hurry(beat, fence, gone, poll time.Duration) (back func()) {
	b, f, g, p := beatEvery, fenceAfter, goneAfter, pollEvery
	back = func() { beatEvery, fenceAfter, goneAfter, pollEvery = b, f, g, p }
	beatEvery, fenceAfter, goneAfter, pollEvery = beat, fence, gone, poll
	return back
}

// Alive reports whether a process is alive, and of how many this one keeps what it has seen.
func (a *Agent) Alive(ctx context.Context, name string) (bool, int) {
	alive, err := a.process.alive(ctx, a.store, name)
	return alive && err == nil, len(a.process.seen)
}

// GoOn goes on with what was due at a time as the scheduler does.
func (v View) GoOn(id string, at time.Time) error {
	return v.agent.resume(store.Entry{Key: dueKey(at, v.scope, id)}, dueEntry{Scope: v.scope, ID: id})
}

package dash

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
)

// Bounds of streams.
const (
	maxStreams = 64                     // of a Journal; further browsers poll
	streamTime = time.Minute            // of one; then the browser asks anew
	streamRest = 250 * time.Millisecond // between two notices
	streamBeat = 15 * time.Second       // after which a sign of life is sent
	streamSend = 5 * time.Second        // for a browser to take one
)

// stream tells a browser that runs have gone on: those of the scope at hand, or the one
// that the address names. The browser then asks for what it shows, so a notice says
// nothing, and one that is late or lost costs nothing. A stream ends with its request.
func (d *desk) stream(w http.ResponseWriter, r *http.Request) {
	q, err := d.asked(r)
	if err != nil {
		d.fail(w, r, err)
		return
	}
	news, stop := d.journal.listen(q.scope, q.query.Get("run"))
	if news == nil {
		w.WriteHeader(http.StatusNoContent) // has an EventSource give up, and its page poll
		return
	}
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	ctx, cancel := context.WithTimeout(r.Context(), streamTime)
	defer cancel()
	text := "event: changed\ndata: 1\n\n" // the first makes up for what happened before the stream
	for {
		_ = control.SetWriteDeadline(time.Now().Add(streamSend)) // a writer without deadlines does without
		if _, err := io.WriteString(w, text); err != nil || control.Flush() != nil {
			return
		}
		_ = control.SetWriteDeadline(time.Time{}) // HTTP/2 resets a stream whose deadline is over, idle or not
		select {
		case <-ctx.Done():
			return
		case <-time.After(streamRest):
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
			text = "event: changed\ndata: 1\n\n"
		case <-time.After(streamBeat):
			text = ":\n\n"
		}
	}
}

// listener is a stream that waits for events of a scope, or of a run in it.
type listener struct {
	scope memory.Scope
	run   string // "": any
	news  chan struct{}
}

// listen returns a channel that gets something after events of the scope, and of the run
// unless it is "". It is nil if there are as many listeners as may be. stop ends it.
func (j *Journal) listen(scope memory.Scope, run string) (news <-chan struct{}, stop func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.listeners) >= maxStreams {
		return nil, nil
	}
	l := &listener{scope, run, make(chan struct{}, 1)}
	if j.listeners == nil {
		j.listeners = map[*listener]bool{}
	}
	j.listeners[l] = true
	return l.news, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.listeners, l)
	}
}

// tell has those listen who wait for an event. It waits for none of them.
func (j *Journal) tell(e *arc.Event) {
	for l := range j.listeners {
		if e.Scope.Within(l.scope) && (l.run == "" || l.run == e.Run) {
			select {
			case l.news <- struct{}{}:
			default: // it has not yet looked at what came before
			}
		}
	}
}

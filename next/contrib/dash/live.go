package dash

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/arc-learn/arc/next/store"
)

// Bounds of a stream.
const (
	liveRest = 500 * time.Millisecond // between two notices
	liveBeat = 15 * time.Second       // after which a sign of life is sent
	liveSend = 10 * time.Second       // for a browser to take one
)

// live tells a browser by server-sent events that a run, or any run, has gone on. The browser then asks for what it
// shows, so that a notice that is late or lost costs nothing. It ends with the request, or with the run: "end".
func (d *dash) live(w http.ResponseWriter, r *http.Request) {
	rq, err := d.asked(w, r)
	id := ""
	if err == nil {
		if id = rq.form.Get("id"); id != "" && store.CheckID(id) != nil {
			err = store.ErrNotFound
		}
	}
	if err != nil {
		d.fail(w, r, err)
		return
	}
	defer d.streams.Add(-1)
	if d.streams.Add(1) > maxStreams {
		w.WriteHeader(http.StatusNoContent) // the browser gives up, and looks now and then
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	news := make(chan time.Time, 1)
	go func() { // it ends with ctx, with the run, or with the Agent
		defer close(news)
		for _, err := range rq.Watch(ctx, id) {
			if err != nil {
				return
			}
			select { // the last one may not have been taken up
			case <-news:
			default:
			}
			news <- time.Now()
		}
	}()
	defer func() {
		cancel()
		for range news {
		}
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(liveSend)) // a writer without deadlines does without
		_, err := io.WriteString(w, text)
		if err == nil {
			err = control.Flush()
		}
		_ = control.SetWriteDeadline(time.Time{})
		return err == nil
	}
	for {
		text := ":\n\n"
		select {
		case <-ctx.Done():
			return
		case at, ok := <-news:
			text = "event: changed\ndata:\n\n"
			if !ok {
				d.touch(rq, time.Now())
				send(text + "event: end\ndata:\n\n")
				return
			}
			d.touch(rq, at)
		case <-time.After(liveBeat):
		}
		if !send(text) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(liveRest, 4*d.runs.cost(rq.scope))):
		}
	}
}

// touch has lists that were made before a time made anew: something has happened in the scope.
func (d *dash) touch(rq *request, at time.Time) {
	d.runs.touch(rq.scope, at)
	d.jobs.touch(rq.scope, at)
	d.known.touch(rq.scope, at)
	d.worth.touch(rq.scope, at)
}

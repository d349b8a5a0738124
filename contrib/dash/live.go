package dash

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/arc-learn/arc/store"
)

// Between two notices, and until a sign of life, which a browser has as long to take.
const liveRest, liveBeat = 500 * time.Millisecond, 15 * time.Second

// live tells a browser by server-sent events that a run, or any run, has gone on. The browser then asks for
// what it shows, so a notice that is late or lost costs nothing. It ends with the request, or with the run.
func (d *dash) live(w http.ResponseWriter, rq *request, _ place) error {
	id := rq.Form.Get("id")
	if id != "" && store.CheckID(id) != nil {
		return store.ErrNotFound
	}
	defer d.streams.Add(-1)
	if d.streams.Add(1) > maxStreams {
		w.WriteHeader(http.StatusNoContent) // the browser gives up, and looks now and then
		return nil
	}
	ctx, cancel := context.WithCancel(rq.Context())
	news := make(chan bool, 1)
	go func() { // it ends with ctx, with the run, or with the Agent
		defer close(news)
		for range rq.Watch(ctx, id) { // an error is the last
			select {
			case news <- true:
			default: // the last one is not taken up yet
			}
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
		_ = control.SetWriteDeadline(time.Now().Add(liveBeat)) // a writer without deadlines does without
		_, err := io.WriteString(w, text)
		if err == nil {
			err = control.Flush()
		}
		_ = control.SetWriteDeadline(time.Time{})
		return err == nil
	}
	for {
		text, rest := ":\n\n", liveRest
		select {
		case <-ctx.Done():
			return nil
		case ok := <-news:
			if !ok {
				return nil
			}
			rest = max(liveRest, 4*d.kept.touch(rq.scope))
			text = "event: changed\ndata:\n\n"
		case <-time.After(liveBeat):
		}
		if !send(text) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
	}
}

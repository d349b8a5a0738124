package reasontest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/arc-learn/arc/reason"
)

func all(*reason.Response) bool { return true }

// streamed checks a good stream, of which each piece is only sent when the one
// before has arrived, and that an adapter that does not stream does not say so.
func streamed(c *check) {
	if _, streams := reason.As[reason.Streamer](c.model); c.p.Stream == nil {
		if streams {
			c.complain("the adapter streams, and the Provider has no Stream")
		}
		return
	}
	words := []string{"Grüße, ", `"quoted"`, "\n\n", "data: {}", "\nand \\ more 🙂"}
	reply := say(words...)
	got := make(chan struct{}, 64)
	c.on(func(w http.ResponseWriter, r *http.Request, call Call) {
		if !call.Stream {
			c.complain("Stream does not ask for a stream")
		}
		reply := reply
		reply.Pieces = c.slowly(w, words, func(i int) bool {
			return c.arrived(fmt.Sprintf("stream: the piece %q did not arrive before the next", words[i]), got)
		})
		c.p.Stream(w, reply)
	})
	text, at := "", 0
	pieces, err := c.collect(c.ctx, "stream", func(p *reason.Response) bool {
		for text += p.Text; at < len(words)-1 && len(text) >= len(strings.Join(words[:at+1], "")); at++ {
			got <- struct{}{}
		}
		return true
	})
	c.once("stream", 1)
	if err != nil || len(pieces) == 0 {
		c.complain("stream: %d pieces and error %v", len(pieces), err)
		return
	}
	c.same("stream", reply.Text, text)
	c.ending(reply, pieces[len(pieces)-1])
	for _, p := range pieces[:len(pieces)-1] {
		if p.Stop != "" {
			c.complain("stream: a piece before the last carries the stop %q", p.Stop)
		}
	}
}

// slowly gives pieces, and after each but the last sends it and asks next
// whether to go on.
func (c *check) slowly(w http.ResponseWriter, pieces []string, next func(i int) bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, p := range pieces {
			if !yield(p) {
				return
			}
			c.send(w, nil)
			if i < len(pieces)-1 && !next(i) {
				panic(http.ErrAbortHandler)
			}
		}
	}
}

// streamBreak checks that who breaks out of a stream ends the call.
func streamBreak(c *check) {
	closed := make(chan struct{})
	c.on(func(w http.ResponseWriter, r *http.Request, _ Call) {
		c.openEnded(w, r, "stream break", closed)
	})
	pieces, err := c.collect(c.ctx, "stream break", func(*reason.Response) bool { return false })
	if len(pieces) != 1 || err != nil {
		c.complain("stream break: %d pieces and error %v", len(pieces), err)
	}
	c.arrived("stream break: the connection stays open", closed)
}

// streamCancel checks that a stream ends with its context.
func streamCancel(c *check) {
	closed := make(chan struct{})
	c.on(func(w http.ResponseWriter, r *http.Request, _ Call) {
		c.openEnded(w, r, "stream cancel", closed)
	})
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	_, err := c.collect(ctx, "stream cancel", func(*reason.Response) bool {
		cancel()
		return true
	})
	c.callers("stream cancel", err, context.Canceled)
	c.arrived("stream cancel: the connection stays open", closed)
}

// openEnded sends one piece and then nothing, and says when the client is gone.
func (c *check) openEnded(w http.ResponseWriter, r *http.Request, what string, closed chan<- struct{}) {
	words := []string{"one", "two"}
	reply := say(words...)
	reply.Pieces = c.slowly(w, words, func(int) bool {
		c.blocked(what, r)
		close(closed)
		return false
	})
	c.p.Stream(w, reply)
}

// streamRateLimit checks a stream that does not begin.
func streamRateLimit(c *check) {
	c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) { c.limited(w, "7") })
	pieces, err := c.collect(c.ctx, "stream rate limit", all)
	c.failed("stream rate limit", err, http.StatusTooManyRequests, true)
	c.once("stream rate limit", 1)
	if len(pieces) > 0 {
		c.complain("stream rate limit: %d pieces before the error", len(pieces))
	}
}

// streamCut checks a stream of which the end is missing, because the connection
// broke, or although it was closed in good order.
func streamCut(broken bool) func(*check) {
	what := "a stream that ends early"
	if broken {
		what = "a stream whose connection breaks"
	}
	return func(c *check) {
		c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
			whole := httptest.NewRecorder()
			c.p.Stream(whole, say("one ", "two ", "three ", "four ", "five ", "six"))
			maps.Copy(w.Header(), whole.Header())
			c.send(w, firstHalf(whole.Body.Bytes()))
			if broken {
				panic(http.ErrAbortHandler)
			}
		})
		_, err := c.collect(c.ctx, what, all)
		c.retryable(what, err)
		c.once(what, 1)
	}
}

// firstHalf ends between two events: at an empty line, or else a line.
func firstHalf(body []byte) []byte {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\n"} {
		if i := bytes.Index(body[len(body)/2:], []byte(end)); i >= 0 && len(body)/2+i+len(end) < len(body) {
			return body[:len(body)/2+i+len(end)]
		}
	}
	return body[:len(body)/2]
}

func streamMalformed(c *check) {
	header := httptest.NewRecorder()
	c.p.Stream(header, say("x"))
	for _, body := range append([]string{"data: {\n\n", "data: null\n\n", "event: x\ndata: {\"\n\n"}, garbage...) {
		c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
			maps.Copy(w.Header(), header.Header())
			fmt.Fprint(w, body)
		})
		if pieces, err := c.collect(c.ctx, "stream malformed", all); err == nil {
			c.complain("the stream %q: want an error, got %d pieces", body, len(pieces))
		}
	}
}

func streamHuge(c *check) {
	whole := c.onWhole(c.p.Stream, say(strings.Repeat("x", hugeText)))
	if _, err := c.collect(c.ctx, "stream huge", all); err == nil {
		c.complain("a piece of 48 MiB: want an error")
	}
	c.unread(whole)
}

// streamFail checks a stream in which the provider gives up.
func streamFail(c *check) {
	c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
		reply := say("one", "two")
		reply.Pieces = func(yield func(string) bool) {
			yield("one")
			c.p.StreamFail(w, "overloaded, said "+Key)
		}
		c.p.Stream(w, reply)
	})
	pieces, err := c.collect(c.ctx, "stream fail", all)
	if err == nil {
		c.complain("stream fail: want an error, got %d pieces", len(pieces))
	}
}

package reasontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/reason"
)

// request checks that all of a request arrives.
func request(c *check) {
	req := &reason.Request{
		System: "Answer in JSON.\n\"Nothing\" else — ünïcödé.",
		Messages: []reason.Message{
			{Role: "user", Text: "How many?\n\t<b>&</b>"}, {Role: "assistant", Text: `{"n":1}`}, {Role: "user", Text: "And now?"},
		},
		Schema:      json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
		MaxTokens:   321,
		Temperature: new(0.25),
	}
	before := clone(req)
	got := c.call(req)
	if got == nil {
		return
	}
	c.same("the request, after the call", before, req)
	c.same("the system prompt", req.System, got.System)
	c.same("the messages", req.Messages, got.Messages)
	if !sameJSON(got.Schema, req.Schema) {
		c.complain("the schema: sent %s, got %s", req.Schema, got.Schema)
	}
	c.same("the bound of tokens", req.MaxTokens, got.MaxTokens)
	if got.Temperature == nil || *got.Temperature != *req.Temperature {
		c.complain("the temperature: sent %v, got %s", *req.Temperature, number(got.Temperature))
	}
}

// defaults checks that what is not given is not sent, and 0 is something.
func defaults(c *check) {
	if got := c.call(ask()); got != nil {
		if got.System != "" || got.Schema != nil || got.Temperature != nil {
			c.complain("not given, but sent: system %q, schema %s, temperature %s", got.System, got.Schema, number(got.Temperature))
		}
		if got.Stream {
			c.complain("Generate asks for a stream")
		}
	}
	cold := ask()
	cold.Temperature = new(0.0)
	if got := c.call(cold); got != nil && (got.Temperature == nil || *got.Temperature != 0) {
		c.complain("a temperature of 0 comes as %s", number(got.Temperature))
	}
}

// call returns what the server understood of req, or nil after a complaint.
func (c *check) call(req *reason.Request) *Call {
	calls := make(chan Call, 64)
	c.on(func(w http.ResponseWriter, _ *http.Request, call Call) {
		calls <- call
		c.p.Answer(w, say("ok"))
	})
	if _, err := c.generate(c.ctx, "a call", req); err != nil {
		c.complain("a call: %w", err)
		return nil
	}
	c.once("a call", 1)
	select {
	case call := <-calls:
		return &call
	default:
		c.complain("a call: no request")
		return nil
	}
}

// answer checks that all of an answer comes back.
func answer(stop string) func(*check) {
	return func(c *check) {
		reply := say("Grüße, ", `"quoted"`+"\n", "and \\ more 🙂")
		reply.Stop = stop
		c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) { c.p.Answer(w, reply) })
		resp, err := c.generate(c.ctx, "an answer", ask())
		if err != nil {
			c.complain("an answer: %w", err)
			return
		}
		c.same("the text", reply.Text, resp.Text)
		c.ending(reply, resp)
	}
}

// ending checks what comes with the end of an answer.
func (c *check) ending(sent Reply, got *reason.Response) {
	if c.p.NoModel {
		sent.Model = ""
	}
	c.same("the stop", sent.Stop, got.Stop)
	c.same("the model", sent.Model, got.Model)
	c.same("the tokens in", sent.Usage.TokensIn, got.Usage.TokensIn)
	c.same("the tokens out", sent.Usage.TokensOut, got.Usage.TokensOut)
}

// same complains if what arrived is not what was sent.
func (c *check) same(what string, sent, got any) {
	if !reflect.DeepEqual(sent, got) {
		c.complain("%s: sent %#v, got %#v", what, sent, got)
	}
}

// concurrent checks calls that are under way together.
func concurrent(c *check) {
	const n = 4
	var here atomic.Int32
	all := make(chan struct{})
	c.on(func(w http.ResponseWriter, _ *http.Request, call Call) {
		if here.Add(1) == n {
			close(all)
		}
		if c.arrived("concurrent: calls wait for one another", all) && len(call.Messages) == 1 {
			c.p.Answer(w, say("to "+call.Messages[0].Text))
		}
	})
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			req := ask()
			req.Messages[0].Text = fmt.Sprint("caller ", i)
			resp, err := c.generate(c.ctx, "concurrent", req)
			if err != nil {
				c.complain("concurrent: %w", err)
			} else if want := "to " + req.Messages[0].Text; resp.Text != want {
				c.complain("concurrent: answers are mixed up: want %q, got %q", want, resp.Text)
			}
		})
	}
	calls.Wait()
	c.once("concurrent", n)
}

// ended checks a call whose context has ended before.
func ended(c *check) {
	c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) { c.p.Answer(w, say("too late")) })
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	_, err := c.generate(ctx, "an ended context", ask())
	c.callers("an ended context", err, context.Canceled)
}

func cancelled(c *check) {
	asked := make(chan struct{})
	c.on(func(_ http.ResponseWriter, r *http.Request, _ Call) {
		close(asked)
		c.blocked("cancel", r)
	})
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	go func() {
		c.arrived("cancel", asked)
		cancel()
	}()
	_, err := c.generate(ctx, "cancel", ask())
	c.callers("cancel", err, context.Canceled)
}

func deadline(c *check) {
	c.on(func(_ http.ResponseWriter, r *http.Request, _ Call) { c.blocked("deadline", r) })
	ctx, cancel := context.WithTimeout(c.ctx, min(50*time.Millisecond, c.patience/4))
	defer cancel()
	_, err := c.generate(ctx, "deadline", ask())
	c.callers("deadline", err, context.DeadlineExceeded)
}

// callers checks the error of a call that the caller has ended.
func (c *check) callers(what string, err, want error) {
	if errors.Is(err, errHang) {
		return
	}
	if !errors.Is(err, want) {
		c.complain("%s: want an error with %q in its chain, got %v", what, want, err)
	}
	if again, _ := reason.Retryable(err); again {
		c.complain("%s: the error says that the call may be tried again: %v", what, err)
	}
}

// rateLimit checks what comes of 429.
func rateLimit(c *check) {
	for _, a := range []struct {
		header      string
		least, most time.Duration
	}{
		{"7", 7 * time.Second, 7 * time.Second},
		{time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 50 * time.Minute, time.Hour},
		{time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{"-5", 0, 0}, {"soon", 0, 0}, {"", 0, 0},
	} {
		what := fmt.Sprintf("429 with Retry-After %q", a.header)
		c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) { c.limited(w, a.header) })
		_, err := c.generate(c.ctx, what, ask())
		c.failed(what, err, http.StatusTooManyRequests, true)
		c.once(what, 1)
		if _, after := reason.Retryable(err); after < a.least || after > a.most {
			c.complain("%s: After is %s, not %s to %s", what, after, a.least, a.most)
		}
	}
}

func (c *check) limited(w http.ResponseWriter, after string) {
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	c.p.Fail(w, http.StatusTooManyRequests, "rate_limit_exceeded", "slow down")
}

// statuses checks what comes of these, where the message repeats the key, as
// some providers do.
func statuses(again bool, statuses ...int) func(*check) {
	return func(c *check) {
		for _, status := range statuses {
			what := fmt.Sprint("status ", status)
			c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
				c.p.Fail(w, status, "some_code", "not with the key "+Key)
			})
			_, err := c.generate(c.ctx, what, ask())
			c.failed(what, err, status, again)
			c.once(what, 1)
		}
	}
}

// failed checks the error of a call that the provider has failed.
func (c *check) failed(what string, err error, status int, again bool) {
	if errors.Is(err, errHang) {
		return
	}
	e, ok := errors.AsType[*reason.ModelError](err)
	if !ok {
		c.complain("%s: want a *reason.ModelError, got %v", what, err)
		return
	}
	if e.Status != status {
		c.complain("%s: the error has status %d", what, e.Status)
	}
	if got, _ := reason.Retryable(err); got != again {
		c.complain("%s: may be tried again: want %t, got %t", what, again, got)
	}
}

// empty checks an answer without an answer in it.
func empty(c *check) {
	c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
		c.p.Answer(w, Reply{Empty: true, Model: "small-1"})
	})
	if resp, err := c.generate(c.ctx, "an empty answer", ask()); err == nil {
		c.complain("an empty answer: want an error, got %q", resp.Text)
	}
}

// garbage are bodies of status 200 that are no answer.
var garbage = []string{"", "{", `{"choices":[{`, "null", "[]", `"text"`, "<html><body>Sign in to the proxy</body></html>", "\x00\xff\xfe"}

func malformed(c *check) {
	for _, body := range garbage {
		c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		})
		if resp, err := c.generate(c.ctx, "malformed", ask()); err == nil {
			c.complain("the body %q: want an error, got %q", body, resp.Text)
		}
		c.once("malformed", 1)
	}
}

// cut checks a connection that breaks within the body.
func cut(c *check) {
	c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
		whole := httptest.NewRecorder()
		c.p.Answer(whole, say(strings.Repeat("half of this is missing; ", 40)))
		maps.Copy(w.Header(), whole.Header())
		w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
		c.send(w, whole.Body.Bytes()[:whole.Body.Len()/2])
		panic(http.ErrAbortHandler)
	})
	_, err := c.generate(c.ctx, "cut", ask())
	c.retryable("a connection that breaks within the body", err)
	c.once("cut", 1)
}

// refused checks a server that is not there.
func refused(c *check) {
	c.srv.Close()
	_, err := c.generate(c.ctx, "refused", ask())
	c.retryable("a connection that is refused", err)
}

func (c *check) retryable(what string, err error) {
	if again, _ := reason.Retryable(err); !again && !errors.Is(err, errHang) {
		c.complain("%s: want an error that says that the call may be tried again, got %v", what, err)
	}
}

// hugeText is many times what an answer may have, and more than sockets hold on
// their way: Linux lets those of a receiver grow to 32 MiB, of a sender to 4.
const hugeText = 48 << 20

// huge checks an answer that nobody should read to its end.
func huge(c *check) {
	whole := c.onWhole(c.p.Answer, say(strings.Repeat("x", hugeText)))
	if _, err := c.generate(c.ctx, "huge", ask()); err == nil {
		c.complain("an answer of 48 MiB: want an error")
	}
	c.unread(whole)
}

// onWhole answers with all that answer writes, and then says whether that left.
func (c *check) onWhole(answer func(http.ResponseWriter, Reply), reply Reply) <-chan bool {
	whole := make(chan bool, 1)
	c.on(func(w http.ResponseWriter, _ *http.Request, _ Call) {
		body := httptest.NewRecorder()
		answer(body, reply)
		maps.Copy(w.Header(), body.Header())
		_, err := w.Write(body.Body.Bytes())
		whole <- err == nil
	})
	return whole
}

// unread complains if the server could write all.
func (c *check) unread(whole <-chan bool) {
	select {
	case all := <-whole:
		if all {
			c.complain("an answer of 48 MiB was read to its end")
		}
	case <-time.After(c.patience):
		c.complain("an answer of 48 MiB: the connection stays open")
	}
}

// send writes body and sees that it leaves.
func (c *check) send(w http.ResponseWriter, body []byte) {
	_, err := w.Write(body)
	if err = errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
		c.complain("the answer cannot be sent: %w", err)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

func number(f *float64) string {
	if f == nil {
		return "none"
	}
	return fmt.Sprint(*f)
}

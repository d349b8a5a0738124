package reasontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arc-learn/arc/reason"
)

// Provider is an adapter with the protocol of its provider.
type Provider struct {
	// Model returns the adapter for a server at url.
	Model func(url, key string) reason.Model
	// Decode reads a request of the adapter.
	Decode func(r *http.Request) (Seen, error)
	// Write writes an answer by the protocol. It calls next before each piece of a stream after the first.
	Write func(w http.ResponseWriter, stream bool, a Answer, next func())
}

// Seen is what the adapter has sent.
type Seen struct {
	reason.Request // of a Tool the Name is looked at
	Stream         bool
}

// Answer is what the server answers.
type Answer struct {
	Pieces   []string // of the text
	Thought  string   // marked as one, before the text
	Signed   string   // what the provider wants back with the next request; "": nothing
	Calls    []reason.ToolCall
	Stop     string
	Usage    reason.Usage
	Unclosed bool // a stream: ends before its end
}

// patience is how long a rule waits for what should happen at once.
var patience = 20 * time.Second

// key must not stand in an error.
const key = "sk-reasontest-0123456789abcdef"

// CheckModel holds an adapter to these rules, by calls of [reason.Generate] to a server. Each is a subtest,
// and one of answers that are streamed: "answer" and "stream answer".
//
//   - request: system, messages, schema, tools, MaxTokens and Temperature arrive as given, and nothing else
//   - answer: text, usage with cached tokens, and why it stopped; a call is one request; each piece of a
//     stream is told before the next is sent
//   - tools: parallel calls, with text and a thought, which is in no text; then their results, errors too, by
//     the ids of the calls, and with what the provider has signed; and a call that it has not signed
//   - refusals: 429 is RateLimited with what Retry-After says; an empty account (402, or by its code), 400,
//     401, 403 and 404 are Permanent; 500, 502, 503 and 529 are Unavailable
//   - cut: no server, a connection that breaks, a stream without its end are Unavailable
//   - malformed: no JSON, a web page, an empty object are errors
//   - cancel: a call returns when its context ends, with its error, and closes its connection
//
// and always: no panic, and no key in an error.
func CheckModel(t *testing.T, p Provider) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { hold(t.Context(), t, p, false, r.check) })
		t.Run("stream "+r.name, func(t *testing.T) { hold(t.Context(), t, p, true, r.check) })
	}
}

var rules = []struct {
	name  string
	check func(*check)
}{
	{"request", request},
	{"answer", func(c *check) {
		c.answers(Answer{Pieces: []string{"Yes, it ", "is ", "{done} ü."}, Stop: reason.StopEnd})
		c.answers(Answer{Pieces: []string{"It is"}, Stop: reason.StopLength})
		c.answers(Answer{Pieces: []string{"I will not."}, Stop: reason.StopFilter})
	}},
	{"tools", tools},
	{"refusals", refusals},
	{"cut", cut},
	{"malformed", malformed},
	{"cancel", cancel},
}

// reporter is a testing.T, which may be used concurrently.
type reporter interface {
	Errorf(format string, args ...any)
}

// check is one rule at work, of answers that are streamed or not.
type check struct {
	reporter
	p      Provider
	ctx    context.Context
	stream bool
	srv    *httptest.Server
	model  reason.Model

	mu     sync.Mutex
	handle func(w http.ResponseWriter, r *http.Request, s Seen)
	seen   []Seen
}

// hold reports in which ways p breaks a rule.
func hold(ctx context.Context, t reporter, p Provider, stream bool, rule func(*check)) {
	c := &check{reporter: t, p: p, ctx: ctx, stream: stream}
	c.srv = httptest.NewServer(http.HandlerFunc(c.serve))
	defer c.srv.Close()
	defer c.srv.CloseClientConnections()
	c.model = p.Model(c.srv.URL, key)
	rule(c)
}

func (c *check) serve(w http.ResponseWriter, r *http.Request) {
	s, err := c.p.Decode(r)
	if err != nil {
		c.Errorf("a request that is not the provider's: %v", err)
	}
	c.mu.Lock()
	c.seen = append(c.seen, s)
	handle := c.handle
	c.mu.Unlock()
	handle(w, r, s)
}

// on sets how the server answers from now on.
func (c *check) on(h func(w http.ResponseWriter, r *http.Request, s Seen)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handle, c.seen = h, nil
}

// requests are those since on.
func (c *check) requests() []Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

func (c *check) serves(a Answer) {
	c.on(func(w http.ResponseWriter, _ *http.Request, s Seen) { c.p.Write(w, s.Stream, a, func() {}) })
}

// ask is a small request.
func (c *check) ask() *reason.Request {
	r := &reason.Request{Messages: []reason.Message{{Role: reason.RoleUser, Text: "Say it."}}}
	if c.stream {
		r.OnText = func(string) {}
	}
	return r
}

// generate calls the adapter, and complains of what is never right.
func (c *check) generate(ctx context.Context, what string, r *reason.Request) (*reason.Response, error) {
	resp, err := reason.Generate(ctx, c.model, r)
	if err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "panic:")) {
		c.Errorf("%s: a panic, or the key in an error: %v", what, err)
	}
	return resp, err
}

// fails complains unless a call fails with one of these classes.
func (c *check) fails(what string, classes ...reason.ErrorClass) *reason.Error {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	resp, err := c.generate(ctx, what, c.ask())
	e, ok := errors.AsType[*reason.Error](err)
	if !ok || !slices.Contains(classes, e.Class) {
		c.Errorf("%s: want an error of class %q, got %v, %v", what, classes, resp, err)
		return &reason.Error{}
	}
	return e
}

var used = reason.Usage{Calls: 1, Input: 120, Cached: 100, Output: 7}

// answers checks that an answer comes back as it was given, and returns it.
func (c *check) answers(a Answer) *reason.Response {
	a.Usage = used
	told := make(chan string, 100)
	c.on(func(w http.ResponseWriter, _ *http.Request, s Seen) {
		if s.Stream != c.stream {
			c.Errorf("a stream was asked for: %v, want %v", s.Stream, c.stream)
		}
		c.p.Write(w, s.Stream, a, func() {
			select {
			case <-told:
			case <-time.After(patience):
				c.Errorf("a piece of a stream is not told before the next is sent")
			}
		})
	})
	r, whole := c.ask(), ""
	if c.stream {
		r.OnText = func(piece string) { whole += piece; told <- piece }
	}
	resp, err := c.generate(c.ctx, "answer", r)
	if err != nil {
		c.Errorf("answer: %v", err)
		return &reason.Response{}
	}
	want := reason.Response{Text: strings.Join(a.Pieces, ""), Calls: a.Calls, Usage: &used, Stop: a.Stop}
	got := *resp
	got.Opaque = nil
	if show(got) != show(want) || c.stream && whole != want.Text {
		c.Errorf("got %s, streamed %q, want %s", show(got), whole, show(want))
	}
	if n := len(c.requests()); n != 1 {
		c.Errorf("%d requests for one call", n)
	}
	return resp
}

func show(v any) string { b, _ := json.Marshal(v); return string(b) }

func request(c *check) {
	c.serves(Answer{Pieces: []string{"{}"}, Stop: reason.StopEnd})
	full := reason.Request{
		System: "Be <brief>.",
		Messages: []reason.Message{
			{Role: reason.RoleUser, Text: "One"}, {Role: reason.RoleModel, Text: "Two"},
			{Role: reason.RoleUser, Text: "Three"},
		},
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["a"],` +
			`"properties":{"a":{"type":"string"}}}`),
		Tools:     []reason.Tool{{Name: "pay", Description: "Pays.", Input: json.RawMessage(`{"type":"object"}`)}},
		MaxTokens: 99, Temperature: new(float64(0)), OnText: c.ask().OnText,
	}
	for _, r := range []*reason.Request{&full, c.ask()} {
		if _, err := c.generate(c.ctx, "request", r); err != nil {
			c.Errorf("request: %v", err)
			return
		}
	}
	seen := c.requests()
	got, bare := seen[0], seen[1]
	bare.MaxTokens = 0 // an adapter may have a default
	if !strings.HasPrefix(got.System, full.System) || show(got.Messages) != show(full.Messages) {
		c.Errorf("system %q and messages %s, want %q and %s",
			got.System, show(got.Messages), full.System, show(full.Messages))
	}
	if got.MaxTokens != 99 || got.Temperature == nil || *got.Temperature != 0 {
		c.Errorf("MaxTokens %d, Temperature %v, want 99 and 0", got.MaxTokens, got.Temperature)
	}
	schema := len(got.Schema) > 0 || strings.Contains(got.System, `"additionalProperties"`)
	if len(got.Tools) != 1 || got.Tools[0].Name != "pay" || !schema {
		const want = "want pay, and the schema, in the system prompt if need be"
		c.Errorf("tools %s, schema %s: %s", show(got.Tools), got.Schema, want)
	}
	if want := show(Seen{Request: *c.ask(), Stream: c.stream}); show(bare) != want {
		c.Errorf("what was not given is sent: %s, want %s", show(bare), want)
	}
}

func tools(c *check) {
	const signature = "c2lnbmVk/+=="
	calls := []reason.ToolCall{
		{ID: "call_a", Name: "pay", Inputs: json.RawMessage(`{"to":"ü \"x\"","amount":5}`)},
		{ID: "call_b", Name: "look", Inputs: json.RawMessage(`{}`)},
	}
	resp := c.answers(Answer{
		Thought: `I could {"delete":1}, but`, Signed: signature, Pieces: []string{"I will ", "pay."}, Calls: calls,
		Stop: reason.StopTools,
	})
	c.serves(Answer{Pieces: []string{"Paid."}, Stop: reason.StopEnd})
	turns := []reason.Message{
		{Role: reason.RoleUser, Text: "Pay."},
		{Role: reason.RoleModel, Calls: []reason.ToolCall{{ID: "unasked1", Name: "look", Inputs: calls[1].Inputs}}},
		{Role: reason.RoleTool, CallID: "unasked1", Text: `{"seen":0}`}, // by a plan, and signed by nobody
		{Role: reason.RoleModel, Text: resp.Text, Calls: resp.Calls, Opaque: resp.Opaque},
		{Role: reason.RoleTool, CallID: "call_a", Text: "Error: not enough money"},
		{Role: reason.RoleTool, CallID: "call_b", Text: `{"seen":1}`},
	}
	if _, err := c.generate(c.ctx, "results", &reason.Request{Messages: turns}); err != nil {
		c.Errorf("results: %v", err)
		return
	}
	got := c.requests()[0].Messages
	if len(got) != len(turns) {
		c.Errorf("messages are %s, want %s", show(got), show(turns))
		return
	}
	for i, m := range got {
		if m.Role != turns[i].Role || m.CallID != turns[i].CallID || !strings.Contains(m.Text, turns[i].Text) ||
			show(m.Calls) != show(turns[i].Calls) {
			c.Errorf("message %d is %s, want %s", i, show(m), show(turns[i]))
		}
	}
	if !strings.Contains(string(got[3].Opaque), signature) {
		c.Errorf("what was signed is not sent back: %s", show(got[3]))
	}
}

func refusals(c *check) {
	for _, s := range []struct {
		status      int
		code, after string
		class       reason.ErrorClass
		wait        time.Duration
	}{
		{429, "rate_limit_exceeded", "7", reason.RateLimited, 7 * time.Second},
		{429, "", "soon", reason.RateLimited, 0}, {429, "insufficient_quota", "", reason.Permanent, 0},
		{429, "exceeded_current_quota_error", "", reason.Permanent, 0},
		{402, "", "", reason.Permanent, 0}, {401, "invalid_api_key", "", reason.Permanent, 0},
		{403, "permission_error", "", reason.Permanent, 0}, {404, "model_not_found", "", reason.Permanent, 0},
		{400, "invalid_request_error", "", reason.Permanent, 0}, {500, "api_error", "", reason.Unavailable, 0},
		{502, "", "", reason.Unavailable, 0}, {503, "", "", reason.Unavailable, 0},
		{529, "overloaded_error", "", reason.Unavailable, 0},
	} {
		c.on(func(w http.ResponseWriter, r *http.Request, _ Seen) {
			w.Header().Set("Retry-After", s.after)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(s.status)
			auth := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") // some echo it
			const told = `{"type":"error","error":{"type":%q,"code":%[1]q,"message":"words about %s"}}`
			fmt.Fprintf(w, told, s.code, auth)
		})
		what := fmt.Sprint(s.status, " ", s.code)
		e := c.fails(what, s.class)
		if e.Status != s.status || e.Wait != s.wait || !strings.Contains(e.Error(), "words about") {
			c.Errorf("%s: got %+v, want status %d, wait %v, and the provider's words", what, e, s.status, s.wait)
		}
		if n := len(c.requests()); n != 1 {
			c.Errorf("%s: %d requests; the caller tries again, not the adapter", what, n)
		}
	}
}

func cut(c *check) {
	half := Answer{Pieces: []string{"Half of ", "it"}, Unclosed: true}
	if c.stream {
		c.serves(half)
		c.fails("a stream without its end", reason.Unavailable)
	}
	c.on(func(w http.ResponseWriter, _ *http.Request, s Seen) {
		w.Header().Set("Content-Length", "100000")
		c.p.Write(w, s.Stream, half, func() {})
		panic(http.ErrAbortHandler)
	})
	c.fails("a connection that breaks", reason.Unavailable)
	c.srv.Close()
	c.fails("no server", reason.Unavailable)
}

func malformed(c *check) {
	for _, body := range []string{
		"", "{", `{}`, "null", `"x"`, "<html><body>Sign in</body></html>", "data: {\n\n", "data: null\n\n",
	} {
		c.on(func(w http.ResponseWriter, _ *http.Request, s Seen) {
			w.Header().Set("Content-Type", "application/json")
			if s.Stream {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			_, _ = w.Write([]byte(body))
		})
		c.fails(fmt.Sprintf("the answer %q", body), reason.Invalid, reason.Unavailable)
	}
}

func cancel(c *check) {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	c.on(func(_ http.ResponseWriter, r *http.Request, _ Seen) {
		cancel()
		select {
		case <-r.Context().Done():
		case <-time.After(patience):
			c.Errorf("cancel: the connection stays open")
		}
	})
	if _, err := c.generate(ctx, "cancel", c.ask()); !errors.Is(err, context.Canceled) {
		c.Errorf("cancel: want context.Canceled, got %v", err)
	}
}

package reasontest

import (
	"context"
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

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second

// CheckModel holds the adapter of p to these rules, each in a subtest:
//
//   - request, defaults: system, messages, schema, bound and temperature arrive
//     as given, a temperature of 0 too; what is not given is not sent; the
//     request stays as it was
//   - answer, stop length, stop refusal: text, usage, model and stop come back
//   - concurrent: calls do not wait for one another, nor mix their answers
//   - ended, cancel, deadline: a call returns when its context ends, with the
//     context's error in the chain, and that is not [reason.Retryable]
//   - rate limit: 429 is a [reason.ModelError] with Again and what Retry-After
//     says, in seconds or as a date; nonsense counts as nothing
//   - overloaded: 500, 502, 503 and 529 are one with Again
//   - rejected: 400, 401, 403 and 404 are one without
//   - empty, malformed: an error; no panic
//   - cut, refused: a broken connection, or none at all, is Retryable
//   - huge: an answer of 48 MiB is an error, and is not read to its end
//   - stream: the pieces join to the answer, and the last carries stop, usage
//     and model; each arrives before the next is sent
//   - stream break, stream cancel: the connection is closed; a cancelled stream
//     ends with the context's error
//   - stream rate limit, stream cut, stream early end, stream malformed, stream
//     huge, stream fail: an error is the last thing that is yielded; it is
//     Retryable where the stream was cut or ended early
//
// and to these always: a response or an error, never both, nor neither; one
// request for a call; no [Key] in an error; no panic.
func CheckModel(t *testing.T, p Provider) {
	t.Helper()
	for _, name := range unknown(p.Lacks) {
		t.Errorf("Provider.Lacks: there is no rule %q", name)
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if slices.Contains(p.Lacks, r.name) {
				t.Skip("the provider lacks it")
			}
			if r.needs != nil && !r.needs(p) {
				t.Skip("the adapter does not stream, or has no such event")
			}
			for _, err := range violations(t.Context(), p, r, patience) {
				t.Error(err)
			}
		})
	}
}

// unknown returns those of names that are no rule's.
func unknown(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(rules(), func(r rule) bool { return r.name == name })
	})
}

// rule is one that an adapter has to keep.
type rule struct {
	name  string
	needs func(Provider) bool
	check func(*check)
}

func rules() []rule {
	streams := func(p Provider) bool { return p.Stream != nil }
	return []rule{
		{"request", nil, request}, {"defaults", nil, defaults},
		{"answer", nil, answer(reason.StopEnd)}, {"stop length", nil, answer(reason.StopLength)},
		{"stop refusal", nil, answer(reason.StopRefusal)}, {"concurrent", nil, concurrent},
		{"ended", nil, ended}, {"cancel", nil, cancelled}, {"deadline", nil, deadline},
		{"rate limit", nil, rateLimit}, {"overloaded", nil, statuses(true, 500, 502, 503, 529)},
		{"rejected", nil, statuses(false, 400, 401, 403, 404)}, {"empty", nil, empty}, {"malformed", nil, malformed},
		{"cut", nil, cut}, {"refused", nil, refused}, {"huge", nil, huge}, {"stream", nil, streamed},
		{"stream break", streams, streamBreak}, {"stream cancel", streams, streamCancel},
		{"stream rate limit", streams, streamRateLimit}, {"stream cut", streams, streamCut(true)},
		{"stream early end", streams, streamCut(false)}, {"stream malformed", streams, streamMalformed},
		{"stream huge", streams, streamHuge},
		{"stream fail", func(p Provider) bool { return p.Stream != nil && p.StreamFail != nil }, streamFail},
	}
}

// handler answers one request of the adapter.
type handler func(w http.ResponseWriter, r *http.Request, call Call)

// check is one rule at work: a server, and what was found.
type check struct {
	p        Provider
	ctx      context.Context
	patience time.Duration
	srv      *httptest.Server
	model    reason.Model

	mu struct {
		sync.Mutex
		handle   handler
		requests int
		errs     []error
	}
}

// violations returns in which ways p breaks r.
func violations(ctx context.Context, p Provider, r rule, patience time.Duration) []error {
	if p.Fail == nil {
		p.Fail = fail
	}
	c := &check{p: p, ctx: ctx, patience: patience}
	c.srv = httptest.NewServer(http.HandlerFunc(c.serve))
	defer func() {
		c.srv.CloseClientConnections() // who still waits for an answer gets none
		c.srv.Close()
	}()
	m, err := p.Model(c.srv.URL, Key)
	if err != nil || m == nil {
		return []error{fmt.Errorf("the adapter cannot be set up: %v", err)}
	}
	c.model = m
	r.check(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.errs
}

func (c *check) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.errs = append(c.mu.errs, fmt.Errorf(format, args...))
}

// on sets how the server answers from now on.
func (c *check) on(h handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.handle, c.mu.requests = h, 0
}

func (c *check) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	h := c.mu.handle
	c.mu.requests++
	c.mu.Unlock()
	call, err := c.p.Decode(r)
	if err != nil {
		c.complain("the request is not as the provider wants it: %w", err)
		c.p.Fail(w, http.StatusBadRequest, "bad_request", "cannot be decoded")
		return
	}
	h(w, r, call)
}

// once complains unless the server got n requests since on.
func (c *check) once(what string, n int) {
	c.mu.Lock()
	got := c.mu.requests
	c.mu.Unlock()
	if got != n {
		c.complain("%s: %d requests for %d calls; whoever wraps the adapter tries again, not the adapter", what, got, n)
	}
}

// errHang is the error of a call of which there is nothing more to say.
var errHang = errors.New("no result")

// wait runs fn and returns what it returns, unless it panics, or patience is at its end
// before.
func wait[T any](c *check, what string, fn func() T) (v T, err error) {
	got, panicked := make(chan T, 1), make(chan any, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				panicked <- v
			}
		}()
		got <- fn()
	}()
	select {
	case v = <-got:
		return v, nil
	case r := <-panicked:
		c.complain("%s: panic: %v", what, r)
	case <-time.After(c.patience):
		c.complain("%s: did not return", what)
	}
	return v, errHang
}

// generate calls the adapter, and complains of what is never right.
func (c *check) generate(ctx context.Context, what string, req *reason.Request) (*reason.Response, error) {
	type result struct {
		resp *reason.Response
		err  error
	}
	r, err := wait(c, what, func() (r result) { r.resp, r.err = c.model.Generate(ctx, req); return r })
	if err != nil {
		return nil, err
	}
	if (r.resp == nil) == (r.err == nil) {
		c.complain("%s: a response or an error, not both nor neither: got %v, %v", what, r.resp, r.err)
		r.err = errors.Join(r.err, errHang)
	}
	c.secretive(what, r.err)
	return r.resp, r.err
}

// collect reads a stream while next says so, and complains of what is never
// right.
func (c *check) collect(ctx context.Context, what string, next func(piece *reason.Response) bool) ([]*reason.Response, error) {
	s, ok := reason.As[reason.Streamer](c.model)
	if !ok {
		c.complain("%s: the adapter does not stream", what)
		return nil, errHang
	}
	type result struct {
		pieces []*reason.Response
		err    error
	}
	r, err := wait(c, what, func() (r result) {
		for piece, err := range s.Stream(ctx, ask()) {
			if r.err != nil {
				c.complain("%s: goes on after an error", what)
				return r
			}
			if (piece == nil) == (err == nil) {
				c.complain("%s: a piece or an error, not both nor neither: got %v, %v", what, piece, err)
				r.err = errHang
				return r
			}
			if r.err = err; err != nil {
				c.secretive(what, err)
				continue
			}
			r.pieces = append(r.pieces, piece)
			if !next(piece) {
				return r
			}
		}
		return r
	})
	if err != nil {
		return nil, err
	}
	return r.pieces, r.err
}

// secretive complains of an error that shows the key.
func (c *check) secretive(what string, err error) {
	if err != nil && strings.Contains(err.Error(), Key) {
		c.complain("%s: the API key is in the error: %q", what, strings.ReplaceAll(err.Error(), Key, "<the key>"))
	}
}

// blocked waits, in a handler, until the client is gone.
func (c *check) blocked(what string, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(c.patience):
		c.complain("%s: the connection stays open", what)
	}
}

// arrived waits for a signal from a handler.
func (c *check) arrived(what string, signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	case <-time.After(c.patience):
		c.complain("%s: no request", what)
		return false
	}
}

// ask is a small request.
func ask() *reason.Request {
	return &reason.Request{Messages: []reason.Message{{Role: "user", Text: "Say it."}}}
}

// say is a reply with a text, streamed in these pieces.
func say(pieces ...string) Reply {
	return Reply{
		Text: strings.Join(pieces, ""), Pieces: slices.Values(pieces), Stop: reason.StopEnd, Model: "small-1",
		Usage: reason.Usage{TokensIn: 11, TokensOut: 7},
	}
}

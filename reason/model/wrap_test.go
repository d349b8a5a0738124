package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// wrappers are all middlewares, by name.
var wrappers = map[string]func(reason.Model) reason.Model{
	"Limit":   func(m reason.Model) reason.Model { return model.Limit(m, &model.LimitOptions{Requests: 6000}) },
	"Timeout": func(m reason.Model) reason.Model { return model.Timeout(m, time.Hour) },
	"Trace":   func(m reason.Model) reason.Model { return model.Trace(m, traceTo(new(telemetrytest.Recorder))) },
	"Price":   func(m reason.Model) reason.Model { return model.Price(m, model.Rate{}) },
	"Record":  func(m reason.Model) reason.Model { return model.Record(m, io.Discard, nil) },
	"all": func(m reason.Model) reason.Model {
		return model.Limit(model.Timeout(model.Trace(model.Record(m, io.Discard, nil), traceTo(new(telemetrytest.Recorder))), 0), nil)
	},
}

// ask is a request with everything in it.
func ask(text string) *reason.Request {
	return &reason.Request{
		System: "Be brief.", Messages: []reason.Message{{Role: "user", Text: text}}, Schema: []byte(`{"type":"object"}`),
		MaxTokens: 100, Temperature: new(0.5),
	}
}

// streamOf streams from m itself, and not from what it wraps.
func streamOf(t *testing.T, m reason.Model, req *reason.Request) iter.Seq2[*reason.Response, error] {
	t.Helper()
	s, ok := reason.As[reason.Streamer](m)
	require.True(t, ok)
	require.Same(t, m, s, "the stream of an inner model was found")
	return s.Stream(t.Context(), req)
}

// read returns what a stream yields: text, last piece, and error.
func read(ps iter.Seq2[*reason.Response, error]) (texts []string, last *reason.Response, err error) {
	for p, e := range ps {
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		texts = append(texts, p.Text)
		last = p
	}
	return texts, last, err
}

var whole = reasontest.Answer{
	Pieces: []string{"one ", "two ", "three"}, Stop: reason.StopEnd, Model: "small-1", Usage: reason.Usage{TokensIn: 3, TokensOut: 4},
}

// Each wrapper passes on what goes in and what comes out, and streams if and
// only if what it wraps does.
func TestWrappers(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := reasontest.NewScript(whole, whole)
			m := wrap(script)
			req := ask("count")
			resp, err := m.Generate(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, &reason.Response{Text: "one two three", Stop: whole.Stop, Model: whole.Model, Usage: whole.Usage}, resp)
			require.Equal(t, ask("count"), req)

			req = ask("count again")
			texts, last, err := read(streamOf(t, m, req))
			require.NoError(t, err)
			require.Equal(t, whole.Pieces, texts)
			require.Equal(t, &reason.Response{Text: "three", Stop: whole.Stop, Model: whole.Model, Usage: whole.Usage}, last)
			require.Equal(t, []reason.Request{*ask("count"), *ask("count again")}, script.Requests())

			inner, ok := reason.As[*reasontest.Script](m)
			require.True(t, ok)
			require.Same(t, script, inner)
			plain := wrap(reason.ModelFunc(script.Generate))
			_, ok = reason.As[reason.Streamer](plain)
			require.False(t, ok, "it streams, and the model inside does not")
			_, err = plain.Generate(t.Context(), req)
			require.ErrorContains(t, err, "at its end")
		})
	}
}

// faulty does in a call what a function does.
type faulty struct {
	reason.ModelFunc
	stream func(ctx context.Context, yield func(*reason.Response, error) bool)
}

func (f faulty) Stream(ctx context.Context, _ *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) { f.stream(ctx, yield) }
}

// what returns a model that answers so in both ways.
func what(fn func() (*reason.Response, error)) faulty {
	return faulty{
		func(context.Context, *reason.Request) (*reason.Response, error) { return fn() },
		func(_ context.Context, yield func(*reason.Response, error) bool) { yield(fn()) },
	}
}

// Whatever the model inside does, there is a response or an error.
func TestWrappersOfFaultyModels(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	faults := map[string]func() (*reason.Response, error){
		"neither": func() (*reason.Response, error) { return nil, nil },
		"both":    func() (*reason.Response, error) { return &reason.Response{Text: "x"}, boom },
		"panic":   func() (*reason.Response, error) { panic(boom) },
		"too long": func() (*reason.Response, error) {
			return &reason.Response{Text: strings.Repeat("x", reason.MaxAnswer+1)}, nil
		},
		"overloaded": func() (*reason.Response, error) { return nil, &reason.ModelError{Status: 529, Again: true} },
	}
	for name, wrap := range wrappers {
		for fault, fn := range faults {
			m := wrap(what(fn))
			resp, err := m.Generate(t.Context(), ask("x"))
			require.Nil(t, resp, "%s: %s", name, fault)
			require.ErrorIs(t, err, reason.ErrModel, "%s: %s", name, fault)
			texts, _, err := read(streamOf(t, m, ask("x")))
			require.Empty(t, texts, "%s: %s", name, fault)
			require.ErrorIs(t, err, reason.ErrModel, "%s: %s", name, fault)
			again, _ := reason.Retryable(err)
			require.Equal(t, fault == "overloaded", again, "%s: %s", name, fault)
		}
		_, err := wrap(nil).Generate(t.Context(), ask("x"))
		require.ErrorIs(t, err, reason.ErrModel, name)
	}
}

// A call without a context is not made.
func TestWrappersWithoutAContext(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappers {
		m := wrap(reasontest.NewScript())
		var none context.Context
		_, err := m.Generate(none, ask("x"))
		require.ErrorContains(t, err, "nil context", name)
		s, ok := reason.As[reason.Streamer](m)
		require.True(t, ok, name)
		_, _, err = read(s.Stream(none, ask("x")))
		require.ErrorContains(t, err, "nil context", name)
	}
}

// A call ends with its context, which is then the error.
func TestWrappersEndWithTheContext(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappers {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			m := wrap(faulty{
				func(ctx context.Context, _ *reason.Request) (*reason.Response, error) {
					calls.Add(1)
					<-ctx.Done()
					return nil, &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF}
				},
				func(ctx context.Context, yield func(*reason.Response, error) bool) {
					calls.Add(1)
					yield(&reason.Response{Text: "a"}, nil)
					<-ctx.Done()
					yield(nil, &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF})
				},
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := m.Generate(ctx, ask("x"))
			require.Equal(t, context.DeadlineExceeded, err, name)
			s, ok := reason.As[reason.Streamer](m)
			require.True(t, ok)
			_, _, err = read(s.Stream(ctx, ask("x")))
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.EqualValues(t, 1, calls.Load(), "%s: called although the context has ended", name)

			ctx, cancel = context.WithCancel(t.Context())
			texts, _, err := read(func(yield func(*reason.Response, error) bool) {
				for p, err := range s.Stream(ctx, ask("x")) {
					cancel()
					if !yield(p, err) {
						return
					}
				}
			})
			require.Equal(t, []string{"a"}, texts, name)
			require.ErrorIs(t, err, context.Canceled, name)
			again, _ := reason.Retryable(err)
			require.False(t, again, name)
		})
	}
}

// Breaking out of a stream ends the call inside before the loop is left.
func TestWrappersBreakOff(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappers {
		open := 0
		m := wrap(faulty{nil, func(ctx context.Context, yield func(*reason.Response, error) bool) {
			open++
			defer func() { open-- }()
			for yield(&reason.Response{Text: "a"}, nil) {
			}
		}})
		for range streamOf(t, m, ask("x")) {
			require.Equal(t, 1, open, name)
			break
		}
		require.Zero(t, open, name)
		require.PanicsWithValue(t, "mine", func() {
			for range streamOf(t, m, ask("y")) {
				panic("mine")
			}
		}, name)
	}
}

func TestWrappersAtTheSameTime(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappers {
		m := wrap(echo{})
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				req := ask(fmt.Sprint(i % 8))
				var text string
				if i%2 == 0 {
					resp, err := m.Generate(t.Context(), req)
					if err == nil {
						text = resp.Text
					}
				} else {
					texts, _, _ := read(streamOf(t, m, req))
					text = strings.Join(texts, "")
				}
				if want := "to " + req.Messages[0].Text; text != want {
					t.Errorf("%s: want %q, got %q", name, want, text)
				}
			})
		}
		all.Wait()
	}
}

// echo answers with the last message.
type echo struct{}

func (echo) Generate(_ context.Context, req *reason.Request) (*reason.Response, error) {
	return &reason.Response{Text: "to " + req.Messages[len(req.Messages)-1].Text, Stop: reason.StopEnd}, nil
}

func (e echo) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		_ = yield(&reason.Response{Text: "to "}, nil) &&
			yield(&reason.Response{Text: req.Messages[len(req.Messages)-1].Text, Stop: reason.StopEnd}, nil)
	}
}

// A call without a request is not made.
func TestWrappersWithoutARequest(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappers {
		script := reasontest.NewScript(whole, whole)
		m := wrap(script)
		_, err := m.Generate(t.Context(), nil)
		require.ErrorIs(t, err, reason.ErrModel, name)
		_, _, err = read(streamOf(t, m, nil))
		require.ErrorContains(t, err, "nil request", name)
		require.Empty(t, script.Requests(), name)
	}
}

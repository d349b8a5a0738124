package reason_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func ExampleRetryable() {
	err := fmt.Errorf("summary: %w", &reason.ModelError{Status: 429, Again: true, After: 2 * time.Second})
	fmt.Println(reason.Retryable(err))
	fmt.Println(reason.Retryable(fmt.Errorf("%w: %w", err, context.Canceled)))
	// Output:
	// true 2s
	// false 0s
}

func ExampleGenerate() {
	silent := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return nil, nil })
	_, err := reason.Generate(context.Background(), silent, &reason.Request{})
	fmt.Println(err, errors.Is(err, reason.ErrModel))
	// Output: no answer of the model: neither a response nor an error true
}

// asks is an error of a host that says what to do.
type asks struct {
	error
	again bool
	after time.Duration
}

func (a asks) Unwrap() error                                { return a.error }
func (a asks) Retryable() (again bool, after time.Duration) { return a.again, a.after }

func TestRetryable(t *testing.T) {
	boom := errors.New("boom")
	wrap := func(err error) error { return fmt.Errorf("call: %w", errors.Join(boom, err)) }
	years := 10 * 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		err   error
		again bool
		after time.Duration
	}{
		"nil":                      {nil, false, 0},
		"plain":                    {boom, false, 0},
		"says yes":                 {&reason.ModelError{Again: true, After: time.Second}, true, time.Second},
		"says no, but when":        {&reason.ModelError{After: time.Second}, false, 0},
		"years":                    {asks{boom, true, years}, true, years},
		"negative":                 {asks{boom, true, -time.Second}, true, 0},
		"deep":                     {wrap(wrap(asks{boom, true, time.Minute})), true, time.Minute},
		"the outermost counts":     {asks{&reason.ModelError{Again: true}, false, 0}, false, 0},
		"a model's broken call":    {&reason.ModelError{Err: io.ErrUnexpectedEOF}, false, 0},
		"caller gone":              {context.Canceled, false, 0},
		"caller gone, says yes":    {&reason.ModelError{Again: true, Err: wrap(context.Canceled)}, false, 0},
		"caller's deadline":        {wrap(context.DeadlineExceeded), false, 0},
		"caller's deadline in net": {&url.Error{Op: "Post", Err: context.DeadlineExceeded}, false, 0},
		"a deadline of its own":    {&reason.ModelError{Again: true, Err: context.DeadlineExceeded}, true, 0},
		"i/o timeout":              {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true, 0},
		"refused":                  {&url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, true, 0},
		"cut":                      {wrap(io.ErrUnexpectedEOF), true, 0},
		"no such host":             {&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false, 0},
		"name server is away":      {&net.OpError{Op: "dial", Err: &net.DNSError{IsTemporary: true}}, true, 0},
		"TLS alert":                {&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, false, 0},
		"no such file":             {&os.PathError{Op: "open", Err: syscall.ENOENT}, false, 0},
	} {
		for _, err := range []error{c.err, wrap(c.err)} {
			again, after := reason.Retryable(err)
			require.Equal(t, c.again, again, name)
			require.Equal(t, c.after, after, name)
		}
	}
}

// The timeouts of package net say that they are context.DeadlineExceeded, and
// are not the caller's all the same.
func TestRetryableTellsWhoseDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Unix(1, 0)))
	_, err = conn.Read(make([]byte, 1))
	again, _ := reason.Retryable(err)
	require.True(t, again, err)

	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	again, _ = reason.Retryable(&url.Error{Op: "Post", Err: ctx.Err()})
	require.False(t, again)
}

func TestGenerateGivesAnAnswerOrAnError(t *testing.T) {
	boom := errors.New("boom")
	long := &reason.Response{Text: strings.Repeat("x", reason.MaxAnswer+1)}
	ok := &reason.Response{Text: long.Text[1:], Usage: reason.Usage{TokensIn: 1}}
	shared := &reason.Response{Text: "x", Usage: reason.Usage{TokensOut: 1, CostUSD: math.NaN()}}
	for name, c := range map[string]struct {
		m    reason.Model
		want *reason.Response
		is   error
		text string
	}{
		"answer":           {answers(ok, nil), ok, nil, ""},
		"answer and error": {answers(ok, boom), nil, boom, "no answer of the model: boom"},
		"a model's error":  {answers(nil, &reason.ModelError{Status: 500}), nil, nil, "model call failed with status 500"},
		"nothing":          {answers(nil, nil), nil, nil, "no answer of the model: neither a response nor an error"},
		"too long":         {answers(long, nil), nil, nil, "model call failed: answer of a model: 1048577 is over the limit of 1048576"},
		"bad usage":        {answers(shared, nil), &reason.Response{Text: "x"}, nil, ""},
		"no model":         {nil, nil, nil, "no answer of the model: there is none"},
		"nil func":         {reason.ModelFunc(nil), nil, nil, "no answer of the model: there is none"},
		"panic": {reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			panic(boom)
		}), nil, boom, "no answer of the model: panic: boom"},
	} {
		got, err := reason.Generate(t.Context(), c.m, &reason.Request{})
		require.Equal(t, c.want, got, name)
		if c.text == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.text, name)
		require.ErrorIs(t, err, reason.ErrModel, name)
		if c.is != nil {
			require.ErrorIs(t, err, c.is, name)
		}
	}
	require.True(t, math.IsNaN(shared.Usage.CostUSD), "the model's own was changed")
	_, err := reason.Generate(t.Context(), answers(long, nil), nil)
	limit, is := errors.AsType[*store.LimitError](err)
	require.True(t, is)
	require.Equal(t, reason.MaxAnswer, limit.Limit)
}

// What an answer has cost that is too long is known, and an LLM counts it.
func TestCostOfAnAnswerThatIsTooLong(t *testing.T) {
	used := reason.Usage{TokensIn: 20, TokensOut: 400_000, CostUSD: 6}
	long := answers(&reason.Response{Text: strings.Repeat("x", reason.MaxAnswer+1), Usage: used}, nil)
	_, err := reason.Generate(t.Context(), long, nil)
	failed, is := errors.AsType[*reason.ModelError](err)
	require.True(t, is)
	require.Equal(t, used, failed.Usage)
	llm, err := reason.NewLLM(long, nil)
	require.NoError(t, err)
	d, err := llm.Reason(t.Context(), reason.Brief{Objective: "greet the reader"})
	require.ErrorIs(t, err, reason.ErrModel)
	require.Equal(t, reason.Decision{Usage: used}, d)
	_, got, err := llm.Answer(t.Context(), reason.Brief{Objective: "greet the reader"}, []string{"whom?"})
	require.ErrorIs(t, err, reason.ErrModel)
	require.Equal(t, used, got)
}

func TestGenerateGivesTheErrorOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := reason.ModelFunc(func(ctx context.Context, _ *reason.Request) (*reason.Response, error) {
			<-ctx.Done()
			return nil, &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := reason.Generate(ctx, cut, &reason.Request{})
		require.Equal(t, context.DeadlineExceeded, err)
		_, err = reason.Generate(ctx, answers(nil, nil), &reason.Request{})
		require.Equal(t, context.DeadlineExceeded, err)
	})
	//lint:ignore SA1012 that it is refused is the test
	_, err := reason.Generate(nil, answers(nil, nil), nil)
	require.Error(t, err)
}

func answers(resp *reason.Response, err error) reason.Model {
	return reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) { return resp, err })
}

// pieces is a Streamer that yields as the function says.
type pieces func(ctx context.Context, yield func(*reason.Response, error) bool)

func (p pieces) Stream(ctx context.Context, _ *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) { p(ctx, yield) }
}

// collect returns the joined text and the error of a stream.
func collect(s iter.Seq2[*reason.Response, error]) (string, []error) {
	text, errs := "", []error(nil)
	for r, err := range s {
		if err != nil {
			errs = append(errs, err)
		} else {
			text += r.Text
		}
	}
	return text, errs
}

func TestStreamGivesAnAnswerOrAnError(t *testing.T) {
	boom := errors.New("boom")
	half := &reason.Response{Text: strings.Repeat("x", reason.MaxAnswer/2+1)}
	for name, c := range map[string]struct {
		s    reason.Streamer
		text int
		err  string
	}{
		"two pieces": {pieces(func(_ context.Context, yield func(*reason.Response, error) bool) {
			_ = yield(&reason.Response{Text: "a"}, nil) && yield(&reason.Response{Text: "b", Stop: reason.StopEnd}, nil)
		}), 2, ""},
		"goes on after an error": {pieces(func(_ context.Context, yield func(*reason.Response, error) bool) {
			yield(&reason.Response{Text: "a"}, nil)
			yield(&reason.Response{Text: "b"}, boom)
			yield(&reason.Response{Text: "c"}, nil)
		}), 1, "no answer of the model: boom"},
		"endless": {pieces(func(_ context.Context, yield func(*reason.Response, error) bool) {
			for yield(half, nil) {
			}
		}), reason.MaxAnswer/2 + 1, "model call failed: answer of a model: 1048578 is over the limit of 1048576"},
		"nothing": {pieces(func(context.Context, func(*reason.Response, error) bool) {}), 0, "no answer of the model: a stream without a piece"},
		"nil piece": {pieces(func(_ context.Context, yield func(*reason.Response, error) bool) {
			yield(nil, nil)
		}), 0, "no answer of the model: neither a response nor an error"},
		"panic": {pieces(func(_ context.Context, yield func(*reason.Response, error) bool) {
			yield(&reason.Response{Text: "a"}, nil)
			panic(boom)
		}), 1, "no answer of the model: panic: boom"},
		"none": {nil, 0, "no answer of the model: there is none"},
	} {
		text, errs := collect(reason.Stream(t.Context(), c.s, &reason.Request{}))
		require.Len(t, text, c.text, name)
		if c.err == "" {
			require.Empty(t, errs, name)
			continue
		}
		require.Len(t, errs, 1, name)
		require.EqualError(t, errs[0], c.err, name)
		require.ErrorIs(t, errs[0], reason.ErrModel, name)
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	var cancel context.CancelFunc
	for name, s := range map[string]pieces{
		"goes on": func(_ context.Context, yield func(*reason.Response, error) bool) {
			for yield(&reason.Response{Text: "a"}, nil) {
				cancel()
			}
		},
		"ends quietly": func(_ context.Context, yield func(*reason.Response, error) bool) {
			yield(&reason.Response{Text: "a"}, nil)
			cancel()
		},
		"says what was cut": func(_ context.Context, yield func(*reason.Response, error) bool) {
			yield(&reason.Response{Text: "a"}, nil)
			cancel()
			yield(nil, io.ErrUnexpectedEOF)
		},
	} {
		ctx, end := context.WithCancel(t.Context())
		cancel = end
		text, errs := collect(reason.Stream(ctx, s, &reason.Request{}))
		require.Equal(t, "a", text, name)
		require.Equal(t, []error{context.Canceled}, errs, name)
		end()
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	_, errs := collect(reason.Stream(ctx, pieces(nil), &reason.Request{}))
	require.Equal(t, []error{context.Canceled}, errs)
}

func TestStreamLeavesTheLoopBodyAlone(t *testing.T) {
	two := pieces(func(_ context.Context, yield func(*reason.Response, error) bool) {
		yield(&reason.Response{Text: "a"}, nil)
		yield(&reason.Response{Text: "b"}, nil) // although it was told to stop
	})
	n := 0
	for range reason.Stream(t.Context(), two, &reason.Request{}) {
		n++
		break
	}
	require.Equal(t, 1, n)
	require.PanicsWithValue(t, "mine", func() {
		for range reason.Stream(t.Context(), two, &reason.Request{}) {
			panic("mine")
		}
	})
}

// A stream that does harm comes to an error of the model, whatever it does.
func TestStreamsThatDoHarm(t *testing.T) {
	t.Parallel()
	for name, harm := range guardtest.Errors() {
		for how, s := range map[string]streams{
			"yields": func(_ context.Context, _ *reason.Request, yield func(*reason.Response, error) bool) {
				yield(nil, harm)
			},
			"panics": func(_ context.Context, _ *reason.Request, yield func(*reason.Response, error) bool) {
				yield(&reason.Response{Text: "a"}, nil)
				panic(harm)
			},
		} {
			var last error
			for _, err := range reason.Stream(t.Context(), s, &reason.Request{}) {
				last = err
			}
			require.ErrorIs(t, last, reason.ErrModel, "%s %s", how, name)
			require.NotEmpty(t, last.Error())
			again, _ := reason.Retryable(harm)
			require.False(t, again, name)
		}
	}
}

// streams is a Streamer that calls yield itself.
type streams func(context.Context, *reason.Request, func(*reason.Response, error) bool)

func (s streams) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) { s(ctx, req, yield) }
}

// A call that cost something and failed as its context ended has the error of the context, and its cost.
func TestCostOfACallThatIsCutOff(t *testing.T) {
	used := reason.Usage{TokensIn: 20, TokensOut: 400, CostUSD: 6}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cut := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		cancel()
		return nil, &reason.ModelError{Again: true, Err: io.ErrUnexpectedEOF, Usage: used}
	})
	_, err := reason.Generate(ctx, cut, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, reason.ErrModel)
	require.EqualError(t, err, context.Canceled.Error())
	failed, is := errors.AsType[*reason.ModelError](err)
	require.True(t, is)
	require.Equal(t, used, failed.Usage)
	again, _ := reason.Retryable(err)
	require.False(t, again)

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	llm, err := reason.NewLLM(cut, nil)
	require.NoError(t, err)
	d, err := llm.Reason(ctx, reason.Brief{Objective: "greet the reader"})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, reason.Decision{Usage: used}, d)
}

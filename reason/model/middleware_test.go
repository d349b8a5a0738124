package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
)

func Example() {
	client := reasontest.NewScript( // in place of a real one
		reasontest.Fail(&reason.ModelError{Status: 503, Again: true}),
		reasontest.Say("forty-two"),
	)
	spent, err := model.NewBudget(&model.BudgetOptions{Calls: 100, Tokens: 1_000_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.Timeout(client, time.Minute, nil)
	m = model.Limit(m, &model.LimitOptions{Requests: 6000})
	m = model.Charge(m, spent)
	m = model.Retry(m, &model.RetryOptions{Base: time.Millisecond})
	m = model.Cache(m, nil)
	for range 2 {
		resp, err := m.Generate(context.Background(), &reason.Request{System: "What is the answer?"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Text)
	}
	calls, _ := spent.Spent()
	fmt.Println(calls, "calls")
	// Output:
	// forty-two
	// forty-two
	// 2 calls
}

func ExampleCharge() {
	b, err := model.NewBudget(&model.BudgetOptions{CostUSD: 0.01, InUSD: 3, OutUSD: 15})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := reasontest.Answer{Pieces: []string{"done"}, Stop: reason.StopEnd, Usage: reason.Usage{TokensIn: 1000, TokensOut: 500}}
	m := model.Charge(reasontest.NewScript(answer, answer), b)
	for range 3 {
		_, err := m.Generate(context.Background(), &reason.Request{})
		_, used := b.Spent()
		fmt.Printf("%.4f USD, %v\n", used.APICostUSD, err)
	}
	// Output:
	// 0.0105 USD, <nil>
	// 0.0105 USD, model budget is used up: 0.0105 of 0.0100 USD
	// 0.0105 USD, model budget is used up: 0.0105 of 0.0100 USD
}

var overloaded = reasontest.Fail(&reason.ModelError{Status: 503, Again: true})

func limited(after time.Duration) reasontest.Answer {
	return reasontest.Fail(&reason.ModelError{Status: 429, Again: true, After: after})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	year := 365 * 24 * time.Hour
	ok := reasontest.Say("ok")
	for name, c := range map[string]struct {
		answers     []reasontest.Answer
		opts        *model.RetryOptions
		tries       int
		least, most time.Duration // that it takes
		fails       string
	}{
		"at once":          {[]reasontest.Answer{ok}, nil, 1, 0, 0, ""},
		"twice":            {[]reasontest.Answer{overloaded, ok}, nil, 2, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		"doubles":          {[]reasontest.Answer{overloaded, overloaded, overloaded, ok}, nil, 4, 1750 * time.Millisecond, 3500 * time.Millisecond, ""},
		"gives up":         {[]reasontest.Answer{overloaded, overloaded, overloaded, overloaded, ok}, nil, 4, time.Second, 4 * time.Second, "after 4 tries: model call failed with status 503"},
		"not this":         {[]reasontest.Answer{reasontest.Fail(&reason.ModelError{Status: 401}), ok}, nil, 1, 0, 0, "model call failed with status 401"},
		"as asked":         {[]reasontest.Answer{limited(7 * time.Second), ok}, nil, 2, 7 * time.Second, 7500 * time.Millisecond, ""},
		"ten years":        {[]reasontest.Answer{limited(10 * year), ok}, nil, 2, time.Minute, time.Minute, ""},
		"a negative time":  {[]reasontest.Answer{limited(-year), ok}, nil, 2, 0, 500 * time.Millisecond, ""},
		"bounded":          {[]reasontest.Answer{overloaded, overloaded, ok}, &model.RetryOptions{Base: time.Hour, Max: time.Second}, 3, time.Second, 2 * time.Second, ""},
		"nonsense":         {[]reasontest.Answer{overloaded, ok}, &model.RetryOptions{Tries: -1, Base: -1, Max: -1}, 2, 0, time.Second, ""},
		"absurdly often":   {nil, &model.RetryOptions{Tries: 1 << 40, Base: 1}, 1, 0, 0, "no answer of the model: reasontest: the script is at its end, after 0 answers"},
		"an hour at most":  {[]reasontest.Answer{limited(year), ok}, &model.RetryOptions{Max: year}, 2, time.Hour, time.Hour, ""},
		"what is not said": {[]reasontest.Answer{reasontest.Fail(errors.New("boom")), ok}, nil, 1, 0, 0, "no answer of the model: boom"},
	} {
		for _, way := range []string{"whole", "stream"} {
			synctest.Test(t, func(t *testing.T) {
				script := reasontest.NewScript(c.answers...)
				m := model.Retry(script, c.opts)
				start := time.Now()
				err := error(nil)
				if way == "whole" {
					_, err = m.Generate(t.Context(), ask("x"))
				} else {
					_, _, err = read(streamOf(t, m, ask("x")))
				}
				took := time.Since(start)
				require.GreaterOrEqual(t, took, c.least, name)
				require.LessOrEqual(t, took, c.most, name)
				require.Len(t, script.Requests(), c.tries, name)
				if c.fails == "" {
					require.NoError(t, err, name)
				} else {
					require.EqualError(t, err, c.fails, name)
				}
			})
		}
	}
}

func TestRetryMindsTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := reasontest.NewScript(limited(time.Minute), reasontest.Say("late"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := model.Retry(script, nil).Generate(ctx, ask("x"))
		again, after := reason.Retryable(err)
		require.True(t, again, err) // by whoever has more time
		require.Equal(t, time.Minute, after)
		require.Zero(t, time.Since(start), "it waited for nothing")

		script = reasontest.NewScript(limited(time.Minute), reasontest.Say("late"))
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = model.Retry(script, nil).Generate(ctx, ask("x"))
		require.Equal(t, context.Canceled, err)
		require.Len(t, script.Requests(), 1)
	})
}

// What has been passed on cannot be taken back.
func TestRetryOfAStreamThatHasBegun(t *testing.T) {
	t.Parallel()
	script := reasontest.NewScript(reasontest.Answer{Pieces: []string{"half"}, Err: overloaded.Err}, reasontest.Say("ok"))
	texts, _, err := read(streamOf(t, model.Retry(script, nil), ask("x")))
	require.Equal(t, []string{"half"}, texts)
	require.ErrorIs(t, err, overloaded.Err)
	require.Len(t, script.Requests(), 1)
}

// The waits depend on seed, request and try alone, and lie within their bounds.
func TestRetryWaits(t *testing.T) {
	t.Parallel()
	took := func(seed uint64, text string) time.Duration {
		var d time.Duration
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			m := model.Retry(reasontest.NewScript(overloaded, overloaded, reasontest.Say("ok")), &model.RetryOptions{Seed: seed})
			_, err := m.Generate(t.Context(), ask(text))
			require.NoError(t, err)
			d = time.Since(start)
		})
		return d
	}
	require.Equal(t, took(1, "a"), took(1, "a"))
	require.NotEqual(t, took(1, "a"), took(2, "a"))
	require.NotEqual(t, took(1, "a"), took(1, "b"))
}

func TestLimit(t *testing.T) {
	t.Parallel()
	say := func(in, out int) reasontest.Answer {
		return reasontest.Answer{Pieces: []string{"ok"}, Stop: reason.StopEnd, Usage: reason.Usage{TokensIn: in, TokensOut: out}}
	}
	times := func(n int, a reasontest.Answer) []reasontest.Answer {
		out := make([]reasontest.Answer, n)
		for i := range out {
			out[i] = a
		}
		return out
	}
	small := &reason.Request{System: strings.Repeat("x", 400)} // 100 tokens
	for name, c := range map[string]struct {
		opts    *model.LimitOptions
		answers []reasontest.Answer
		took    time.Duration
	}{
		"none":                       {nil, times(100, say(1000, 1000)), 0},
		"one a second":               {&model.LimitOptions{Requests: 60}, times(16, say(0, 0)), 10 * time.Second}, // six at once
		"few":                        {&model.LimitOptions{Requests: 1}, times(3, say(0, 0)), 2 * time.Minute},
		"prompts":                    {&model.LimitOptions{Tokens: 600}, times(7, say(99, 1)), 10 * time.Second},
		"answers are charged later":  {&model.LimitOptions{Tokens: 600}, times(2, say(100, 1100)), time.Minute + 10*time.Second},
		"what is not reported":       {&model.LimitOptions{Tokens: 101}, times(2, say(0, 0)), 60 * time.Second},
		"own count":                  {&model.LimitOptions{Tokens: 60, Count: func(s string) int { return min(len(s), 20) }}, times(4, say(18, 2)), 20 * time.Second},
		"a prompt over the minute's": {&model.LimitOptions{Tokens: 60}, times(2, say(59, 1)), time.Minute},
		"absurd reports":             {&model.LimitOptions{Tokens: 600}, times(2, say(math.MaxInt/4, math.MaxInt/4)), 9*time.Minute + 20*time.Second},
	} {
		for _, way := range []string{"whole", "stream"} {
			synctest.Test(t, func(t *testing.T) {
				m := model.Limit(reasontest.NewScript(c.answers...), c.opts)
				start := time.Now()
				for range c.answers {
					err := error(nil)
					if way == "whole" {
						_, err = m.Generate(t.Context(), small)
					} else {
						_, _, err = read(streamOf(t, m, small))
					}
					require.NoError(t, err, name)
				}
				require.InDelta(t, c.took.Seconds(), time.Since(start).Seconds(), 0.02*c.took.Seconds()+1e-3, name)
			})
		}
	}
}

func TestLimitMindsTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := reasontest.NewScript(reasontest.Say("a"), reasontest.Say("b"))
		m := model.Limit(script, &model.LimitOptions{Requests: 1, Tokens: 1000})
		_, err := m.Generate(t.Context(), ask("x"))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		for range 10 { // none of which takes a place in the line
			_, err = m.Generate(ctx, ask("x"))
			again, after := reason.Retryable(err)
			require.True(t, again, err)
			require.Equal(t, time.Minute, after)
		}
		require.Zero(t, time.Since(start))
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Second, leave)
		_, err = m.Generate(gone, ask("x"))
		require.Equal(t, context.Canceled, err)
		_, err = m.Generate(t.Context(), ask("x"))
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start).Round(time.Millisecond))
	})
}

// A call that is not let through leaves the tokens of its prompt to others.
func TestLimitGivesTokensBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := &reason.Request{System: strings.Repeat("x", 400)} // 100 tokens
		say := reasontest.Answer{Pieces: []string{"ok"}, Usage: reason.Usage{TokensIn: 99, TokensOut: 1}}
		m := model.Limit(reasontest.NewScript(say, say), &model.LimitOptions{Tokens: 100})
		_, err := m.Generate(t.Context(), long)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 10 {
			_, err = m.Generate(ctx, long)
			_, after := reason.Retryable(err)
			require.Equal(t, time.Minute, after)
		}
		start := time.Now()
		_, err = m.Generate(t.Context(), long)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

// deaf is a model that ignores its context, until it is released.
func deaf(release <-chan struct{}) faulty {
	return faulty{
		func(_ context.Context, req *reason.Request) (*reason.Response, error) {
			<-release
			return &reason.Response{Text: req.System}, nil
		},
		func(_ context.Context, yield func(*reason.Response, error) bool) {
			if yield(&reason.Response{Text: "a"}, nil) {
				<-release
				yield(&reason.Response{Text: "b"}, nil)
			}
		},
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := model.Timeout(deaf(release), time.Minute, &model.TimeoutOptions{Stuck: 2})
		start := time.Now()
		_, err := m.Generate(t.Context(), ask("x"))
		require.EqualError(t, err, "model call failed (timeout): no answer within 1m0s")
		again, _ := reason.Retryable(err)
		require.True(t, again)
		require.Equal(t, time.Minute, time.Since(start))

		texts, _, err := read(streamOf(t, m, ask("x")))
		require.Equal(t, []string{"a"}, texts)
		require.EqualError(t, err, "model call failed (timeout): no answer within 1m0s")
		require.Equal(t, 2*time.Minute, time.Since(start))

		_, err = m.Generate(t.Context(), ask("x")) // the second one has had no second yet
		require.EqualError(t, err, "model call failed (timeout): no answer within 1m0s")
		_, err = m.Generate(t.Context(), ask("x"))
		require.ErrorIs(t, err, model.ErrStuck)
		_, _, err = read(streamOf(t, m, ask("x")))
		require.ErrorIs(t, err, model.ErrStuck)
		again, _ = reason.Retryable(err)
		require.False(t, again)

		close(release)
		synctest.Wait()
		resp, err := m.Generate(t.Context(), ask("x"))
		require.NoError(t, err)
		require.Equal(t, "Be brief.", resp.Text)
	})
}

// Many calls that the caller ends at once are not stuck if they come back.
func TestTimeoutAfterManyCancellations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model.Timeout(reason.ModelFunc(func(ctx context.Context, _ *reason.Request) (*reason.Response, error) {
			<-ctx.Done()
			<-time.After(grace / 2)
			return nil, ctx.Err()
		}), time.Minute, &model.TimeoutOptions{Stuck: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := m.Generate(ctx, ask("x")); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		_, err := m.Generate(t.Context(), ask("x"))
		require.ErrorContains(t, err, "no answer within")
		<-time.After(time.Minute)
	})
}

const grace = time.Second

// A call that is left behind keeps nothing of the caller's: the race detector
// looks.
func TestTimeoutLeavesTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, seen := make(chan struct{}), make(chan string, 1)
		m := model.Timeout(reason.ModelFunc(func(_ context.Context, req *reason.Request) (*reason.Response, error) {
			<-release
			seen <- fmt.Sprint(req.Messages[0].Text, *req.Temperature, string(req.Schema))
			return nil, nil
		}), time.Second, nil)
		req := ask("x")
		_, err := m.Generate(t.Context(), req)
		require.Error(t, err)
		close(release)
		req.Messages[0].Text, *req.Temperature, req.Schema[0] = "y", 1, 'y'
		require.Equal(t, `x0.5{"type":"object"}`, <-seen)
	})
}

func TestTimeoutOfAModelThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	m := model.Timeout(faulty{nil, func(_ context.Context, yield func(*reason.Response, error) bool) {
		yield(&reason.Response{Text: "a"}, nil)
		runtime.Goexit()
	}}, time.Minute, nil)
	_, _, err := read(streamOf(t, m, ask("x")))
	require.ErrorContains(t, err, "it ended its goroutine")
}

func TestCache(t *testing.T) {
	t.Parallel()
	stop := func(s reason.Stop, pieces ...string) reasontest.Answer {
		return reasontest.Answer{Pieces: pieces, Stop: s, Model: "small-1", Usage: reason.Usage{TokensOut: 1}}
	}
	for name, c := range map[string]struct {
		first reasontest.Answer
		hit   bool
	}{
		"complete":  {stop(reason.StopEnd, "a", "b"), true},
		"cut off":   {stop(reason.StopLength, "a"), false},
		"refused":   {stop(reason.StopRefusal, "a"), false},
		"not said":  {stop("", "a"), false},
		"own word":  {stop("pause", "a"), false},
		"empty":     {stop(reason.StopEnd), false},
		"too long":  {stop(reason.StopEnd, strings.Repeat("x", 64<<10+1)), false},
		"an error":  {overloaded, false},
		"cut short": {reasontest.Answer{Pieces: []string{"a"}, Err: overloaded.Err}, false},
	} {
		for _, way := range []string{"whole", "stream"} {
			script := reasontest.NewScript(c.first, reasontest.Say("second"))
			m := model.Cache(script, nil)
			if way == "whole" {
				_, _ = m.Generate(t.Context(), ask("x"))
			} else {
				_, _, _ = read(streamOf(t, m, ask("x")))
			}
			resp, err := m.Generate(t.Context(), ask("x"))
			require.NoError(t, err, name)
			if !c.hit {
				require.Equal(t, "second", resp.Text, name)
				continue
			}
			require.Equal(t, &reason.Response{Text: "ab", Stop: reason.StopEnd, Model: "small-1"}, resp)
			texts, last, err := read(streamOf(t, m, ask("x")))
			require.NoError(t, err)
			require.Equal(t, []string{"ab"}, texts)
			require.Equal(t, resp, last)
			resp.Text, last.Text = "changed", "changed"
			resp, err = m.Generate(t.Context(), ask("x"))
			require.NoError(t, err)
			require.Equal(t, "ab", resp.Text)
			require.Len(t, script.Requests(), 1)
		}
	}
}

// Requests that differ in anything are different ones.
func TestCacheTellsRequestsApart(t *testing.T) {
	t.Parallel()
	n := 0
	m := model.Cache(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		n++
		return &reason.Response{Text: fmt.Sprint(n), Stop: reason.StopEnd}, nil
	}), nil)
	requests := []*reason.Request{
		{}, {System: "a"}, {System: "a\xff"}, {System: "a\xfe"}, {Messages: []reason.Message{{}}},
		{Messages: []reason.Message{{Role: "a"}}}, {Messages: []reason.Message{{Text: "a"}}},
		{Messages: []reason.Message{{Role: "a", Text: "b"}, {Role: "c"}}}, {Messages: []reason.Message{{Role: "a"}, {Role: "b", Text: "c"}}},
		{Schema: []byte(`{}`)}, {Schema: []byte(`{ }`)}, {MaxTokens: 1}, {Temperature: new(0.0)}, {Temperature: new(1.0)},
	}
	for i, req := range append(requests, requests...) {
		resp, err := m.Generate(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i%len(requests)+1), resp.Text)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	n := 0
	m := model.Cache(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		n++
		return &reason.Response{Text: "x", Stop: reason.StopEnd}, nil
	}), &model.CacheOptions{Entries: 2})
	for _, text := range []string{"a", "b", "a", "c", "a", "b"} { // b is used least
		_, err := m.Generate(t.Context(), ask(text))
		require.NoError(t, err)
	}
	require.Equal(t, 4, n)
}

// What was not read to its end is not kept, whatever its pieces say of it.
func TestCacheOfABrokenStream(t *testing.T) {
	t.Parallel()
	m := model.Cache(faulty{
		echo{}.Generate,
		func(_ context.Context, yield func(*reason.Response, error) bool) {
			for yield(&reason.Response{Text: "a", Stop: reason.StopEnd}, nil) {
			}
		},
	}, nil)
	n := 0
	for range streamOf(t, m, ask("x")) {
		if n++; n == 2 {
			break
		}
	}
	resp, err := m.Generate(t.Context(), ask("x"))
	require.NoError(t, err)
	require.Equal(t, "to x", resp.Text)
}

func TestBudget(t *testing.T) {
	t.Parallel()
	say := func(u reason.Usage) reasontest.Answer {
		return reasontest.Answer{Pieces: []string{"12", "345678"}, Stop: reason.StopEnd, Usage: u}
	}
	req := &reason.Request{System: strings.Repeat("x", 40)} // 10 tokens
	for name, c := range map[string]struct {
		opts   *model.BudgetOptions
		answer reasontest.Answer
		calls  int
		text   string
	}{
		"calls":          {&model.BudgetOptions{Calls: 2}, say(reason.Usage{}), 2, "2 of 2 calls"},
		"failed calls":   {&model.BudgetOptions{Calls: 2}, overloaded, 2, "2 of 2 calls"},
		"tokens":         {&model.BudgetOptions{Tokens: 30}, say(reason.Usage{TokensIn: 10, TokensOut: 5}), 2, "30 of 30 tokens"},
		"not reported":   {&model.BudgetOptions{Tokens: 30}, say(reason.Usage{}), 3, "36 of 30 tokens"},
		"reported badly": {&model.BudgetOptions{Tokens: 30}, say(reason.Usage{TokensIn: -10}), 3, "36 of 30 tokens"},
		"reported cost":  {&model.BudgetOptions{CostUSD: 1}, say(reason.Usage{CostUSD: 0.5, APICostUSD: 9}), 2, "1.0000 of 1.0000 USD"},
		"model's prices": {&model.BudgetOptions{CostUSD: 1, InUSD: 9e9}, say(reason.Usage{APICostUSD: 0.5}), 2, "1.0000 of 1.0000 USD"},
		"own prices":     {&model.BudgetOptions{CostUSD: 1, InUSD: 1e4, OutUSD: 1e5}, say(reason.Usage{TokensIn: 10, TokensOut: 4}), 2, "1.0000 of 1.0000 USD"},
		"no prices":      {&model.BudgetOptions{CostUSD: 1}, say(reason.Usage{TokensIn: 1}), 1, "nobody says"},
		"absurd":         {&model.BudgetOptions{Tokens: math.MaxInt / 2}, say(reason.Usage{TokensIn: math.MaxInt - 5, TokensOut: math.MaxInt - 5}), 1, "tokens"},
	} {
		for _, way := range []string{"whole", "stream"} {
			b := budget(c.opts)
			script := reasontest.NewScript(c.answer, c.answer, c.answer, c.answer)
			m := model.Charge(script, b)
			for n := range 10 {
				err := error(nil)
				if way == "whole" {
					_, err = m.Generate(t.Context(), req)
				} else {
					_, _, err = read(streamOf(t, m, req))
				}
				if n < c.calls {
					require.NotErrorIs(t, err, model.ErrBudget, name)
					continue
				}
				require.ErrorIs(t, err, model.ErrBudget, name)
				require.ErrorContains(t, err, c.text, name)
				again, _ := reason.Retryable(err)
				require.False(t, again, name)
			}
			require.Len(t, script.Requests(), c.calls, name)
			calls, _ := b.Spent()
			require.Equal(t, c.calls, calls, name)
		}
	}
	for _, bad := range []model.BudgetOptions{{Calls: -1}, {Tokens: -1}, {CostUSD: math.NaN()}, {InUSD: math.Inf(1)}, {OutUSD: -1}} {
		_, err := model.NewBudget(&bad)
		require.ErrorContains(t, err, "model: budget: ")
	}
}

// What a model reports in error does not turn into credit.
func TestBudgetDoesNotOverflow(t *testing.T) {
	t.Parallel()
	b := budget(&model.BudgetOptions{Calls: 3})
	absurd := reasontest.Answer{Pieces: []string{"x"}, Usage: reason.Usage{TokensIn: math.MaxInt - 5, TokensOut: 1}}
	m := model.Charge(reasontest.NewScript(absurd, absurd, absurd), b)
	for range 3 {
		_, err := m.Generate(t.Context(), ask("x"))
		require.NoError(t, err)
	}
	_, used := b.Spent()
	require.True(t, used.Valid(), "%+v", used)
}

// A stream that is broken off has used what was read of it.
func TestBudgetOfABrokenStream(t *testing.T) {
	t.Parallel()
	b := budget(nil)
	for range streamOf(t, model.Charge(reasontest.NewScript(whole), b), &reason.Request{System: "12345678"}) {
		break
	}
	calls, used := b.Spent()
	require.Equal(t, 1, calls)
	require.Equal(t, reason.Usage{TokensIn: 2, TokensOut: 1}, used)
}

// However many calls come together: the calls are exact, and the tokens exceed
// the bound by no more than those of the calls that were under way.
func TestBudgetAtTheSameTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		opts := &model.BudgetOptions{
			Calls:  rapid.IntRange(1, 60).Draw(t, "calls"),
			Tokens: rapid.IntRange(1, 400).Draw(t, "tokens"),
		}
		callers, each := rapid.IntRange(1, 8).Draw(t, "callers"), rapid.IntRange(1, 20).Draw(t, "each")
		var made atomic.Int64
		b := budget(opts)
		m := model.Charge(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			made.Add(1)
			return &reason.Response{Text: "x", Usage: reason.Usage{TokensIn: 3, TokensOut: 4}}, nil
		}), b)
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range each {
					_, _ = m.Generate(context.Background(), &reason.Request{})
				}
			})
		}
		all.Wait()
		calls, used := b.Spent()
		tokens := used.TokensIn + used.TokensOut
		if int(made.Load()) != calls || calls > opts.Calls || tokens != 7*calls || tokens >= opts.Tokens+7*callers {
			t.Fatalf("%d calls made, %d counted, %d tokens", made.Load(), calls, tokens)
		}
		if want := min(callers*each, opts.Calls, (opts.Tokens+6)/7); calls < want {
			t.Fatalf("%d calls, and %d would have been in the budget", calls, want)
		}
	})
}

func logged(t *testing.T, opts *model.LogOptions, m reason.Model, do func(m reason.Model)) string {
	t.Helper()
	var out bytes.Buffer
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}})
	do(model.Log(m, slog.New(handler), opts))
	return out.String()
}

func TestLog(t *testing.T) {
	t.Parallel()
	key := reasontest.Key
	generate := func(m reason.Model) { _, _ = m.Generate(t.Context(), ask("my key is "+key)) }
	stream := func(m reason.Model) { _, _, _ = read(streamOf(t, m, ask("x"))) }
	texts := &model.LogOptions{Texts: true, Level: slog.LevelError}
	failing := reasontest.Fail(&reason.ModelError{Status: 401, Err: errors.New("no such key: " + key)})
	for name, c := range map[string]struct {
		opts   *model.LogOptions
		answer reasontest.Answer
		do     func(m reason.Model)
		want   string
	}{
		"whole":  {nil, whole, generate, `level=INFO msg="model call" pieces=1 model=small-1 stop=end tokens_in=3 tokens_out=4 cost_usd=0`},
		"stream": {nil, whole, stream, `level=INFO msg="model call" pieces=3 model=small-1 stop=end tokens_in=3 tokens_out=4 cost_usd=0`},
		"fails":  {nil, failing, generate, `level=WARN msg="model call" class=401`},
		"fails, with texts": {texts, failing, stream, `level=WARN msg="model call" class=401 error="model call failed with status 401: no such key: [REDACTED:secret]" ` +
			`request.system="Be brief." request.user=x text=""`},
		"texts": {texts, whole, generate, `level=ERROR msg="model call" pieces=1 model=small-1 stop=end tokens_in=3 tokens_out=4 cost_usd=0 ` +
			`request.system="Be brief." request.user="my key is [REDACTED:openai_key]" text="one two three"`},
		"a secret in two pieces": {texts, reasontest.Say(key[:20], key[20:]), stream, `level=ERROR msg="model call" pieces=2 model="" stop=end ` +
			`tokens_in=0 tokens_out=0 cost_usd=0 request.system="Be brief." request.user=x text=[REDACTED:openai_key]`},
		"long": {texts, reasontest.Say(strings.Repeat("é", 4<<10)), stream, `level=ERROR msg="model call" pieces=1 model="" stop=end ` +
			`tokens_in=0 tokens_out=0 cost_usd=0 request.system="Be brief." request.user=x text=` + strings.Repeat("é", 2<<10) + "…"},
		"broken off": {nil, whole, func(m reason.Model) {
			for range streamOf(t, m, ask("x")) {
				break
			}
		}, `level=INFO msg="model call" pieces=1 model="" stop="" tokens_in=0 tokens_out=0 cost_usd=0 given_up=true`},
		"cancelled": {nil, whole, func(m reason.Model) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = m.Generate(ctx, ask("x"))
		}, `level=INFO msg="model call" given_up=true`},
	} {
		require.Equal(t, c.want+"\n", logged(t, c.opts, reasontest.NewScript(c.answer), c.do), name)
	}
}

package model_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/reason/reasontest"
)

func Example() {
	client := reasontest.NewScript(reasontest.Say("forty-two")) // in place of a real one
	m := model.Timeout(client, time.Minute)
	m = model.Limit(m, &model.LimitOptions{Requests: 600})
	resp, err := m.Generate(context.Background(), &reason.Request{System: "What is the answer?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Text)
	// Output: forty-two
}

var overloaded = reasontest.Fail(&reason.ModelError{Status: 503, Again: true})

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
		m := model.Timeout(deaf(release), time.Minute)
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

		for range 7 { // before the last of them the eighth one has had no second yet
			_, err = m.Generate(t.Context(), ask("x"))
			require.EqualError(t, err, "model call failed (timeout): no answer within 1m0s")
		}
		_, err = m.Generate(t.Context(), ask("x"))
		require.EqualError(t, err, "model: timeout: 8 calls have not returned")
		<-time.After(2 * time.Second)
		_, _, err = read(streamOf(t, m, ask("x")))
		require.EqualError(t, err, "model: timeout: 9 calls have not returned")
		again, _ = reason.Retryable(err)
		require.False(t, again)
		require.Equal(t, 9*time.Minute+2*time.Second, time.Since(start))

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
		}), time.Minute)
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
		}), time.Second)
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
	}}, time.Minute)
	_, _, err := read(streamOf(t, m, ask("x")))
	require.ErrorContains(t, err, "it ended its goroutine")
}

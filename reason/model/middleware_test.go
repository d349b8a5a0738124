package model_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
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
	for name, c := range map[string]struct {
		opts  *model.LimitOptions
		calls int
		took  time.Duration
	}{
		"none":         {nil, 100, 0},
		"no rate":      {&model.LimitOptions{Requests: -1}, 100, 0},
		"one a second": {&model.LimitOptions{Requests: 60}, 16, 10 * time.Second}, // six at once
		"few":          {&model.LimitOptions{Requests: 1}, 3, 2 * time.Minute},
		"very many":    {&model.LimitOptions{Requests: math.MaxInt}, 100, 0},
	} {
		for _, way := range []string{"whole", "stream"} {
			synctest.Test(t, func(t *testing.T) {
				m := model.Limit(new(echo), c.opts)
				start := time.Now()
				for range c.calls {
					err := error(nil)
					if way == "whole" {
						_, err = m.Generate(t.Context(), ask("x"))
					} else {
						_, _, err = read(streamOf(t, m, ask("x")))
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
		m := model.Limit(script, &model.LimitOptions{Requests: 1})
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

// After a pause only so many calls come at once, however long it was.
func TestLimitAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model.Limit(echo{}, &model.LimitOptions{Requests: 60})
		for _, pause := range []time.Duration{0, time.Hour} {
			<-time.After(pause)
			start := time.Now()
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if _, err := m.Generate(t.Context(), ask("x")); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			require.Equal(t, 10*time.Second, time.Since(start))
		}
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

		close(release)
		synctest.Wait()
		resp, err := m.Generate(t.Context(), ask("x"))
		require.NoError(t, err)
		require.Equal(t, "Be brief.", resp.Text)
	})
}

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

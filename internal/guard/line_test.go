package guard_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard"
)

// who is the goroutine that a call is made in.
func who(context.Context) (string, error) {
	line, _, _ := bytes.Cut(debug.Stack(), []byte(" ["))
	return string(line), nil
}

func TestLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := guard.NewLine(t.Context())
		call := func(ctx context.Context) string {
			name, err := guard.Do(ctx, time.Minute, who)
			require.NoError(t, err)
			return name
		}
		below, stop := context.WithCancel(line)
		defer stop()
		first := call(line)
		require.Equal(t, first, call(below), "one goroutine")

		_, err := guard.Do(line, time.Minute, func(context.Context) (int, error) { panic("no") })
		require.ErrorContains(t, err, "panic: no")
		require.Equal(t, first, call(line), "a panic leaves it")

		_, err = guard.Do(line, time.Minute, func(ctx context.Context) (int, error) {
			require.NotEqual(t, first, call(ctx), "it is taken")
			return 0, errors.New("no")
		})
		require.EqualError(t, err, "no")
		idle(time.Hour) // of the bubble: no limit of an earlier call is left
		require.Equal(t, first, call(line))

		line.Close()
		require.ErrorIs(t, line.Err(), context.Canceled)
		require.NotEqual(t, first, call(context.WithoutCancel(line)), "it is closed")
		line.Close()
	})
}

func TestLineIsLeft(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(context.Context, chan struct{}){
		"a call that hangs":           func(_ context.Context, back chan struct{}) { <-back },
		"one that is late":            func(ctx context.Context, _ chan struct{}) { <-ctx.Done() },
		"one that ends its goroutine": func(context.Context, chan struct{}) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				line, back := guard.NewLine(t.Context()), make(chan struct{})
				first, err := guard.Do(line, time.Minute, who)
				require.NoError(t, err)
				_, err = guard.Do(line, time.Minute, func(ctx context.Context) (int, error) {
					leave(ctx, back)
					return 1, ctx.Err()
				})
				require.Error(t, err)
				for range 3 {
					other, err := guard.Do(line, time.Minute, who)
					require.NoError(t, err)
					require.NotEqual(t, first, other)
				}
				close(back) // what comes late is nobody's answer
				synctest.Wait()
				n, err := guard.Do(line, time.Minute, func(context.Context) (int, error) { return 2, nil })
				require.NoError(t, err)
				require.Equal(t, 2, n)
				line.Close() // the bubble waits for its goroutine
			})
		})
	}
}

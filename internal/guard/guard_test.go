package guard_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard"
)

var errBoom = errors.New("boom")

func TestDo(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(context.Context) (int, error)
		want error
	}{
		"answer":     {func(context.Context) (int, error) { return 1, nil }, nil},
		"error":      {func(context.Context) (int, error) { return 1, errBoom }, errBoom},
		"own cancel": {func(context.Context) (int, error) { return 1, context.Canceled }, context.Canceled},
		"exit":       {func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }, guard.ErrExited},
		"panic":      {func(context.Context) (int, error) { panic(errBoom) }, errBoom},
		"obedient":   {func(ctx context.Context) (int, error) { <-ctx.Done(); return 1, ctx.Err() }, guard.ErrTime},
		"late":       {func(ctx context.Context) (int, error) { idle(time.Hour); return 1, nil }, guard.ErrTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v, err := guard.Do(t.Context(), time.Minute, c.fn)
				require.ErrorIs(t, err, c.want)
				require.Equal(t, c.want == nil, v == 1)
				idle(2 * time.Hour)
			})
		})
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := guard.Do(ctx, time.Minute, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, errBoom })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = guard.Do(ctx, time.Minute, func(context.Context) (int, error) { return 0, errors.New("not called") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestCallRecovers(t *testing.T) {
	t.Parallel()
	require.NoError(t, guard.Call(func() {}))
	err := guard.Call(func() { panic("boom") })
	p, ok := errors.AsType[*guard.PanicError](err)
	require.True(t, ok)
	require.Contains(t, string(p.Stack), "guard_test")
}

func TestIsNil(t *testing.T) {
	t.Parallel()
	var p *int
	var f func()
	for _, v := range []any{nil, p, f, []int(nil), map[int]int(nil)} {
		require.True(t, guard.IsNil(v))
	}
	for _, v := range []any{0, new(int), func() {}, struct{}{}} {
		require.False(t, guard.IsNil(v))
	}
}

// idle lets time pass inside a bubble.
func idle(d time.Duration) { <-time.After(d) }

// The context of a call is one as others are: it ends with the call, its limit
// or its caller, and so does what is derived from it.
func TestContextOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(context.WithValue(t.Context(), errBoom, "v"), time.Hour)
		defer cancel()
		begin := time.Now()
		var kept, derived context.Context
		ran := make(chan error, 3)
		_, err := guard.Do(parent, time.Minute, func(ctx context.Context) (int, error) {
			end, ok := ctx.Deadline()
			require.True(t, ok && end.Equal(begin.Add(time.Minute)))
			require.NoError(t, ctx.Err())
			require.Equal(t, "v", ctx.Value(errBoom))
			var stop context.CancelFunc
			derived, stop = context.WithCancel(ctx)
			t.Cleanup(stop)
			context.AfterFunc(ctx, func() { ran <- ctx.Err() })
			require.True(t, context.AfterFunc(ctx, func() { ran <- errBoom })())
			kept = ctx
			return 1, nil
		})
		require.NoError(t, err)
		require.ErrorIs(t, kept.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(kept), context.Canceled)
		<-kept.Done()
		<-derived.Done()
		require.ErrorIs(t, derived.Err(), context.Canceled)
		require.Equal(t, context.Canceled, <-ran)
		context.AfterFunc(kept, func() { ran <- nil })
		require.NoError(t, <-ran)
		require.Empty(t, ran)

		_, err = guard.Do(parent, 2*time.Hour, func(ctx context.Context) (int, error) {
			end, _ := ctx.Deadline()
			require.True(t, end.Equal(begin.Add(time.Hour)), "the sooner counts")
			<-ctx.Done()
			return 0, ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestDoInPlace(t *testing.T) {
	t.Parallel()
	do := func(ctx context.Context, fn func(context.Context) (int, error)) (int, error) {
		return guard.Do(ctx, -1, fn)
	}
	v, err := do(t.Context(), func(ctx context.Context) (int, error) { return 1, ctx.Err() })
	require.NoError(t, err)
	require.Equal(t, 1, v)
	v, err = do(t.Context(), func(context.Context) (int, error) { return 1, errBoom })
	require.Equal(t, errBoom, err)
	require.Zero(t, v)
	v, err = do(t.Context(), func(context.Context) (int, error) { panic(errBoom) })
	require.ErrorIs(t, err, errBoom)
	require.Zero(t, v)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = do(ctx, func(context.Context) (int, error) { cancel(); return 1, errBoom })
	require.Equal(t, context.Canceled, err)
	_, err = do(ctx, func(context.Context) (int, error) { return 1, nil })
	require.Equal(t, context.Canceled, err)
	_, err = do(nil, func(context.Context) (int, error) { return 1, nil })
	require.Error(t, err)
}

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

package pool_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/pool"
	"github.com/arc-learn/arc/store"
)

func TestPool(t *testing.T) {
	t.Parallel()
	opened, settled := map[string]int{}, 0
	p := pool.New(
		func(_ context.Context, name string) (*string, error) { opened[name]++; return &name, nil },
		func(context.Context) error { settled++; return nil }, 2, nil, nil)
	ctx := t.Context()
	used, err := p.Get(ctx, "used")
	require.NoError(t, err)
	for i := range 4 {
		_, err := p.Get(ctx, strconv.Itoa(i))
		require.NoError(t, err)
		p.Put(strconv.Itoa(i))
	}
	again, err := p.Get(ctx, "used")
	require.NoError(t, err)
	require.Same(t, used, again, "what is used stays")
	require.Equal(t, 3, settled, "what leaves is settled before")
	_, err = p.Get(ctx, "3")
	require.NoError(t, err)
	_, err = p.Get(ctx, "0")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"used": 1, "0": 2, "1": 1, "2": 1, "3": 1}, opened)
	n := 0
	require.NoError(t, p.Close(func(*string) error { n++; return nil }))
	require.Equal(t, 3, n)
	_, err = p.Get(ctx, "used")
	require.ErrorIs(t, err, store.ErrClosed)
}

func TestPoolOpensAgainAfterAnError(t *testing.T) {
	t.Parallel()
	boom, n := errors.New("boom"), 0
	p := pool.New(func(context.Context, string) (int, error) {
		if n++; n == 1 {
			return 0, boom
		}
		return n, nil
	}, nil, 2, nil, nil)
	_, err := p.Get(t.Context(), "a")
	require.ErrorIs(t, err, boom)
	v, err := p.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 2, v)
}

func TestPoolHasOneOfAName(t *testing.T) {
	t.Parallel()
	p := pool.New(
		func(context.Context, string) (*int, error) { return new(int), nil },
		func(context.Context) error { return nil }, 0, nil, nil)
	var using sync.Map // name → value
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				name := strconv.Itoa((i*7 + j) % 3)
				v, err := p.Get(context.Background(), name)
				if err != nil {
					t.Error(err)
					return
				}
				if other, loaded := using.LoadOrStore(name, v); loaded && other != v {
					t.Errorf("two values of %q at a time", name)
				}
				using.CompareAndDelete(name, v)
				p.Put(name)
			}
		})
	}
	wg.Wait()
}

package pool_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/pool"
	"github.com/arc-learn/arc/store"
)

func TestPool(t *testing.T) {
	t.Parallel()
	opened, settled := map[string]int{}, 0
	p := pool.New(
		func(_ context.Context, name string) (*string, error) { opened[name]++; return &name, nil },
		func(context.Context) error { settled++; return nil }, 2, nil, nil, nil)
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
	}, nil, 2, nil, nil, nil)
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
		func(context.Context) error { return nil }, 0, nil, nil, nil)
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

// What is at home stays in preference, and others have a quarter of the room.
func TestPoolKeepsWhatIsAtHome(t *testing.T) {
	t.Parallel()
	opened := 0
	p := pool.New(
		func(_ context.Context, name string) (string, error) { opened++; return name, nil },
		func(context.Context) error { return nil }, 8, nil, nil, func(name string) bool { return name[0] == 'h' })
	use := func(names ...string) (cold int) {
		before := opened
		for _, name := range names {
			_, err := p.Get(t.Context(), name)
			require.NoError(t, err)
			p.Put(name)
		}
		return opened - before
	}
	home := []string{"h1", "h2", "h3", "h4", "h5", "h6"}
	require.Equal(t, 6, use(home...))
	require.Equal(t, 5, use("g1", "g2", "g3", "g4", "g5"))
	require.Zero(t, use(home...), "guests leave first")
	require.Zero(t, use("g4", "g5"), "two of eight may stay")
	require.Equal(t, 3, use("h7", "h8", "h9"))
	require.Zero(t, use("g4", "g5"), "guests that are used stay beside")
	require.NotZero(t, use(home...))
}

// Who waits for a value, the first caller too, waits no longer than its context.
func TestGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		p := pool.New(func(context.Context, string) (int, error) { <-hang; return 1, nil },
			func(context.Context) error { return nil }, 1, nil, nil, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		over := make(chan error, 2)
		for range 2 {
			go func() { _, err := p.Get(ctx, "acme"); over <- err }()
		}
		<-time.After(time.Minute)
		for range 2 {
			select {
			case err := <-over:
				require.ErrorIs(t, err, context.DeadlineExceeded)
			default:
				t.Error("Get has not returned a minute after its context, of a second, has ended")
			}
		}
		close(hang)
		synctest.Wait()
	})
}

// A value that was being opened when Close was called is closed once it is there, and its users hear of that.
func TestCloseReachesWhatIsBeingOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		p := pool.New(func(context.Context, string) (string, error) { <-hang; return "late", nil },
			func(context.Context) error { return nil }, 1, nil, nil, nil)
		got := make(chan error)
		for range 2 {
			go func() { _, err := p.Get(t.Context(), "acme"); got <- err }()
		}
		synctest.Wait()
		var closed []string
		require.NoError(t, p.Close(func(v string) error { closed = append(closed, v); return nil }))
		require.Empty(t, closed)
		close(hang)
		for range 2 {
			require.ErrorIs(t, <-got, store.ErrClosed)
		}
		require.Equal(t, []string{"late"}, closed)
	})
}

package peers_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/peers"
	"github.com/arc-learn/arc/internal/upkeep"
	"github.com/arc-learn/arc/store"
)

const last = 15 * time.Second

// opener is a Self with what it was told.
type opener struct {
	*peers.Self
	keeper *upkeep.Keeper

	mu              sync.Mutex
	heard           []string // keys; of those that are not fresh behind "old "
	missed, changed int
	log             bytes.Buffer
}

func (o *opener) told() (heard []string, missed, changed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heard, o.missed, o.changed
}

// join opens st by a name, and follows it as w tells.
func join(t *testing.T, st store.Store, w store.Watcher, name string) *opener {
	t.Helper()
	o := &opener{keeper: upkeep.New()}
	leases := lease.New(st, name, last, time.Now)
	o.Self = peers.New(peers.Options{
		Name: name, Lease: last, Leases: leases, Store: leases, Upkeep: o.keeper, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(&o.log, nil)),
		Hide:   func(text string) string { return strings.ReplaceAll(text, "hunter2", "…") },
		Hear: func(e store.Entry, fresh bool) {
			o.mu.Lock()
			defer o.mu.Unlock()
			what := e.Key
			if !fresh {
				what = "old " + what
			}
			o.heard = append(o.heard, what)
		},
		Missed:  func() { o.mu.Lock(); defer o.mu.Unlock(); o.missed++ },
		Changed: func() { o.mu.Lock(); defer o.mu.Unlock(); o.changed++ },
	})
	require.Empty(t, o.Home("acme"))
	require.NoError(t, o.Join(t.Context(), w))
	return o
}

func (o *opener) stop() {
	o.keeper.Stop()
	o.keeper.Wait()
	o.Depart()
}

// pass lets time pass in which all openers meet.
func pass(t *testing.T, d time.Duration, all ...*opener) {
	t.Helper()
	for range d / time.Second {
		<-time.After(time.Second)
		for _, o := range all {
			require.NoError(t, o.Meet(t.Context()))
		}
	}
	synctest.Wait()
}

func put(t *testing.T, st store.Store, key string) {
	t.Helper()
	_, err := st.Commit(t.Context(), store.Op{Key: key, Value: []byte("1")})
	require.NoError(t, err)
	synctest.Wait()
}

// TestTogether has openers come and go: each knows of the others, and all agree where a thing
// is at home.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		put(t, mem, "before")
		a := join(t, mem, mem, "a")
		b := join(t, mem, mem, "b")
		pass(t, last, a, b)
		for _, o := range []*opener{a, b} {
			require.Equal(t, []string{"a", "b"}, *o.Names())
			require.Equal(t, a.Home("acme"), o.Home("acme"))
		}
		put(t, mem, "after")
		heard, missed, _ := a.told()
		require.Equal(t, "after", heard[len(heard)-1])
		require.NotContains(t, strings.Join(heard, " "), "before")
		require.Zero(t, missed)

		names := a.Names()
		pass(t, last, a, b)
		require.Same(t, names, a.Names(), "nothing has changed")
		b.stop()
		pass(t, last/3+time.Second, a)
		require.Equal(t, []string{"a"}, *a.Names(), "b has left")
		require.Equal(t, "a", a.Home("acme"))
		_, _, changed := a.told()
		require.Equal(t, 3, changed, "alone, with b, alone")

		c := join(t, mem, mem, "c")
		pass(t, last, a, c)
		require.Equal(t, []string{"a", "c"}, *a.Names())
		c.keeper.Stop() // it is killed
		pass(t, 2*last, a)
		require.Equal(t, []string{"a"}, *a.Names())
		a.stop()
		require.Empty(t, a.log.String())
	})
}

// TestNamesakes warns where two have one name.
func TestNamesakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		a := join(t, mem, mem, "a")
		again := join(t, mem, mem, "a")
		pass(t, last, a, again)
		a.stop()
		again.stop()
		require.Contains(t, a.log.String(), "another Agent is open under this name")
		require.Equal(t, 1, strings.Count(a.log.String(), "\n"), "once is enough")
	})
}

// falling is a store whose Watch ends as often as it says.
type falling struct {
	*store.Mem
	mu   sync.Mutex
	fail chan error
}

func (f *falling) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var why error
		f.mu.Lock()
		fail := f.fail
		f.mu.Unlock()
		var all sync.WaitGroup
		all.Go(func() {
			select {
			case why = <-fail:
				cancel()
			case <-ctx.Done():
			}
		})
		for e, err := range f.Mem.Watch(ctx, prefix, after) {
			if err != nil || !yield(e, nil) {
				break
			}
		}
		cancel()
		if all.Wait(); why != nil {
			yield(store.Entry{}, why)
		}
	}
}

// TestFault has the store's changes be lost for a while: they are followed from where they were,
// and the opener is told that it may have missed some.
func TestFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &falling{Mem: store.NewMem(), fail: make(chan error)}
		a := join(t, f.Mem, f, "a")
		put(t, f.Mem, "one")
		f.fail <- errors.New("the line to hunter2 broke")
		synctest.Wait()
		put(t, f.Mem, "two")
		pass(t, 2*time.Second)
		heard, missed, _ := a.told()
		require.Contains(t, heard, "two")
		require.Equal(t, 1, missed)
		a.stop()
		require.Contains(t, a.log.String(), "the line to … broke")
		require.NotContains(t, a.log.String(), "hunter2")
	})
}

// TestNeverHeard gives up with its context where the store's changes are not to be had.
func TestNeverHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		mem, keeper := store.NewMem(), upkeep.New()
		leases := lease.New(mem, "a", last, time.Now)
		s := peers.New(peers.Options{
			Name: "a", Lease: last, Leases: leases, Store: leases, Upkeep: keeper, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler), Hide: strings.Clone,
		})
		require.ErrorIs(t, s.Join(ctx, deaf{mem}), context.DeadlineExceeded)
		require.Nil(t, s.Names())
		s.Depart() // it has never been there
		keeper.Stop()
		keeper.Wait()
	})
}

// deaf is a store that tells of nothing.
type deaf struct{ *store.Mem }

func (deaf) Watch(ctx context.Context, _ string, _ store.Revision) iter.Seq2[store.Entry, error] {
	return func(func(store.Entry, error) bool) { <-ctx.Done() }
}

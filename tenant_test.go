package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Tenants that nobody holds have a bound, the longest unused goes first, and one that is held stays, whatever
// is forgotten meanwhile.
func TestTenantsInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, tenantsInMemory)
}

func tenantsInMemory(t *testing.T) {
	loads := map[string]int{}
	ts := &tenants{open: map[string]*opening{}}
	ts.load = func(ctx context.Context, scope memory.Scope) (*tenant, error) {
		name := scope.Tenant()
		if loads[name]++; name == "broken" {
			return nil, store.ErrDamaged
		}
		group := store.NewGroup(store.NewMem())
		bank, err := memory.Open(ctx, group, nil)
		return &tenant{name: name, group: group, bank: bank}, err
	}
	use := func(name string) *tenant {
		held, release, err := ts.hold(t.Context(), memory.Scope(name))
		require.NoError(t, err)
		release()
		<-time.After(time.Millisecond)
		synctest.Wait() // whoever opened it has let it go, too
		return held
	}
	_, release, err := ts.hold(t.Context(), "held")
	require.NoError(t, err)
	for i := range maxIdle + 10 {
		use(fmt.Sprint("t", i))
	}
	require.Len(t, ts.open, maxIdle+1)
	use("t0") // was unloaded
	use(fmt.Sprint("t", maxIdle+9))
	first := use("held")
	require.Equal(t, []int{2, 1, 1}, []int{loads["t0"], loads[fmt.Sprint("t", maxIdle+9)], loads["held"]})
	ts.forget("held")
	require.NotSame(t, first, use("held"), "who comes next has it opened anew")
	release()
	require.NotNil(t, ts.open["held"], "the former one is closed, not the new one")
	ts.forget()
	require.Empty(t, ts.open)
	for n := range 2 { // each caller tries again
		_, _, err := ts.hold(t.Context(), "broken")
		require.ErrorIs(t, err, store.ErrDamaged)
		require.Equal(t, n+1, loads["broken"])
	}
}

// What another process commits while a tenant is being opened, and is polled then, reaches the tenant.
func TestChangedWhileItIsOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, changedWhileItIsOpened)
}

func changedWhileItIsOpened(t *testing.T) {
	st, ts := store.NewMem(), &tenants{open: map[string]*opening{}}
	open := func(ctx context.Context) *tenant {
		group := store.NewGroup(st)
		bank, err := memory.Open(ctx, group, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, bank.Close()) })
		return &tenant{bank: bank, group: group}
	}
	other := open(t.Context())
	ts.load = func(ctx context.Context, _ memory.Scope) (*tenant, error) {
		own := open(ctx)
		_, err := other.bank.In("acme").Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "the lamp is green"})
		require.NoError(t, err)
		require.NoError(t, ts.refresh(ctx, map[string]bool{"acme": true}))
		return own, nil
	}
	own, release, err := ts.hold(t.Context(), "acme")
	require.NoError(t, err)
	defer release()
	synctest.Wait()
	hits, err := own.bank.In("acme").Recall(t.Context(), memory.Query{Text: "lamp"})
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

// Who uses a tenant first while the store is away waits as its own context says, and who comes later finds
// the tenant that was opened for it.
func TestTenantInAnOutage(t *testing.T) {
	t.Parallel()
	back, loads := make(chan struct{}), 0
	ts := &tenants{open: map[string]*opening{}}
	ts.load = func(ctx context.Context, _ memory.Scope) (*tenant, error) {
		loads++
		<-back
		group := store.NewGroup(store.NewMem())
		bank, err := memory.Open(ctx, group, nil)
		return &tenant{group: group, bank: bank}, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, _, err := ts.hold(ctx, "acme")
	require.ErrorIs(t, err, context.Canceled)
	close(back)
	_, release, err := ts.hold(t.Context(), "acme")
	require.NoError(t, err)
	release()
	require.Equal(t, 1, loads)
}

// late is a store that finds out at the end of a scan that it could not read on, as a database does.
type late struct{ store.Store }

func (l late) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range l.Store.Scan(ctx, r) {
			if !yield(e, err) {
				return
			}
		}
		yield(store.Entry{}, errors.New("the connection is lost"))
	}
}

func TestSkipScan(t *testing.T) {
	st := store.NewMem()
	for _, key := range []string{"a/1", "a/2", "b/1"} {
		_, err := st.Commit(t.Context(), store.Op{Key: key, Value: []byte("x")})
		require.NoError(t, err)
	}
	of := func(key string) (v, all string) { return key, key[:min(2, len(key))] }
	var got []string
	for key, err := range skipScan(t.Context(), st, "", of) {
		require.NoError(t, err)
		got = append(got, key)
	}
	require.Equal(t, []string{"a/1", "b/1"}, got)
	for range skipScan(t.Context(), late{st}, "", of) {
		break // and is told nothing more
	}
}

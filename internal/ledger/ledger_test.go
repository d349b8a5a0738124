package ledger_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec/codectest"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/store"
)

// opener has a store open, and the ledgers of a tenant in it.
type opener struct {
	*ledger.Book
	w *flush.Writer
}

func open(t *testing.T, st store.Store, shared bool) opener {
	t.Helper()
	own := flush.Share(st)
	w := flush.New(own)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return opener{ledger.Open(own, w, "acme", shared), w}
}

func share(kind, name string, bound ledger.Amount) ledger.Share {
	return ledger.Share{Key: key.Under("acme", ledger.Keys, kind, name), Bound: bound}
}

var dollar = ledger.Amount{CostUSD: 1}

// settle has a run pay a dollar, and commit nothing of its own.
func (o opener) settle(t *testing.T, run string, shares ...ledger.Share) {
	t.Helper()
	_, err := o.Settle(t.Context(), shares, ledger.Bill{Run: run, Since: dollar, Done: true}, o.write)
	require.NoError(t, err)
}

func (o opener) damaged(t *testing.T) []string {
	t.Helper()
	keys, err := o.Damaged(t.Context())
	require.NoError(t, err)
	return keys
}

func (o opener) write(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	return o.w.Commit(ctx, ops...)
}

func (o opener) reached(t *testing.T, shares ...ledger.Share) string {
	t.Helper()
	why, err := o.Reached(t.Context(), shares)
	require.NoError(t, err)
	return why
}

func (o opener) reserve(t *testing.T, run string, shares ...ledger.Share) bool {
	t.Helper()
	ok, err := o.Reserve(t.Context(), shares, run, 0, dollar)
	require.NoError(t, err)
	return ok
}

// TestUsed has runs use what they share: it is counted in each ledger, and over a restart.
func TestUsed(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"alone": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := store.NewMem()
			session, scope := share("session", "s", ledger.Amount{CostUSD: 3}), share("scope", "acme/anna", ledger.Amount{CostUSD: 2})
			o := open(t, st, shared)
			o.settle(t, "one", session, scope)
			require.Empty(t, o.reached(t, session, scope))
			o.settle(t, "two", session, scope)
			require.Equal(t, "scope budget of $2 is spent", o.reached(t, session, scope))
			require.NoError(t, o.w.Flush(t.Context()))

			o = open(t, st, shared)
			require.Equal(t, "scope budget of $2 is spent", o.reached(t, session, scope))
			o.settle(t, "three", session)
			require.Equal(t, "session budget of $3 is spent", o.reached(t, session))
		})
	}
}

// TestDay begins a ledger anew with each day, and keeps what is reserved over midnight.
func TestDay(t *testing.T) {
	t.Parallel()
	o, day := open(t, store.NewMem(), false), share("day", "", ledger.Amount{CostUSD: 2})
	day.Day = 7
	o.settle(t, "one", day)
	require.True(t, o.reserve(t, "two", day))
	require.False(t, o.reserve(t, "three", day))
	day.Day = 8
	require.True(t, o.reserve(t, "three", day))
	require.False(t, o.reserve(t, "four", day), "two is under way still")
	day.Day = 7
	o.settle(t, "two", day) // by a clock that is behind
	day.Day = 8
	require.Empty(t, o.reached(t, day))
	for _, day.Day = range []int64{40, 9} { // the clock was put back by a month
		require.Empty(t, o.reached(t, day))
		o.settle(t, "five", day)
		o.settle(t, "six", day)
		require.NotEmpty(t, o.reached(t, day))
	}
}

// A damaged ledger is an error that names it, since what is left of the budget is unknown; that of a day until the next.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		st := store.NewMem()
		session, day := share("session", "s", dollar), share("day", "", dollar)
		day.Day = 20_000
		b := open(t, st, shared)
		b.settle(t, "one", session, day)
		require.NoError(t, b.w.Flush(t.Context()))
		for _, s := range []ledger.Share{session, day} {
			e, err := st.Get(t.Context(), s.Key)
			require.NoError(t, err)
			e.Value[len(e.Value)-1] ^= 1
			_, err = st.Commit(t.Context(), store.Op{Key: s.Key, Value: e.Value})
			require.NoError(t, err)
		}
		b = open(t, st, shared)
		require.Empty(t, b.damaged(t))
		for range 2 {
			for _, s := range []ledger.Share{session, day} {
				_, err := b.Reached(t.Context(), []ledger.Share{s})
				require.ErrorIs(t, err, store.ErrDamaged)
				require.ErrorContains(t, err, "ledger")
			}
			require.Equal(t, []string{"day", "session s"}, b.damaged(t))
		}
		day.Day++
		require.Empty(t, b.reached(t, day))
		b.settle(t, "two", day)
		require.NotEmpty(t, b.reached(t, day))
		_, err := b.Reached(t.Context(), []ledger.Share{session})
		require.ErrorIs(t, err, store.ErrDamaged)
		require.Equal(t, []string{"session s"}, b.damaged(t))
		require.NoError(t, b.w.Flush(t.Context()))
		require.NotEmpty(t, open(t, st, shared).reached(t, day))
	}
}

// TestReserved sets prices aside until they are settled or given back. A run reserves once.
func TestReserved(t *testing.T) {
	t.Parallel()
	st, scope := store.NewMem(), share("scope", "acme", ledger.Amount{CostUSD: 2.5})
	o := open(t, st, false)
	require.True(t, o.reserve(t, "one", scope))
	require.True(t, o.reserve(t, "one", scope))
	require.True(t, o.reserve(t, "two", scope))
	require.False(t, o.reserve(t, "three", scope))
	why, err := o.Lacks(t.Context(), []ledger.Share{scope}, 0, dollar)
	require.NoError(t, err)
	require.Equal(t, "takes about $1, and the scope has used $0 and reserved $2 of its budget of $2.5", why)
	scope.Bound.CostUSD = 2
	why, err = o.Lacks(t.Context(), []ledger.Share{scope}, 0, dollar)
	require.NoError(t, err)
	require.Equal(t, "takes about $1, and the scope has used $0 and reserved $2 of its budget of $2", why, "it is not spent: an attempt may take less")
	scope.Bound.CostUSD = 2.5
	require.Empty(t, o.reached(t, scope), "nothing is used yet")
	require.NoError(t, o.Release(t.Context(), []ledger.Share{scope}, "one"))
	require.True(t, o.reserve(t, "three", scope))
	o.settle(t, "two", scope)
	require.False(t, o.reserve(t, "one", scope))
	require.NoError(t, o.w.Flush(t.Context()))
	require.True(t, open(t, st, false).reserve(t, "one", scope), "three is gone with who had the store before")
}

// TestShared has two openers reserve of one budget: what it has room for, and no more.
func TestShared(t *testing.T) {
	t.Parallel()
	st, scope := store.NewMem(), share("scope", "acme", ledger.Amount{CostUSD: 3})
	a, b := open(t, st, true), open(t, st, true)
	require.True(t, a.reserve(t, "one", scope))
	require.True(t, b.reserve(t, "two", scope), "b reads what a has reserved since")
	require.True(t, a.reserve(t, "three", scope))
	require.False(t, b.reserve(t, "four", scope))
	a.settle(t, "one", scope)
	require.NoError(t, b.Release(t.Context(), []ledger.Share{scope}, "three"))
	require.Empty(t, a.reached(t, scope), "which reads the ledger anew, as each step begins")
	require.True(t, a.reserve(t, "four", scope))
	require.False(t, b.reserve(t, "five", scope))
}

// TestConflict has a run be moved on elsewhere: the error is its own, and it has not paid.
func TestConflict(t *testing.T) {
	t.Parallel()
	st, scope := store.NewMem(), share("scope", "acme", dollar)
	o := open(t, st, true)
	_, err := st.Commit(t.Context(), store.Op{Key: "run"})
	require.NoError(t, err)
	bill := ledger.Bill{Run: "one", Since: dollar, Done: true}
	paid, err := o.Settle(t.Context(), []ledger.Share{scope}, bill, func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
		return st.Commit(ctx, append(ops, store.Op{Key: "run", If: store.Absent})...)
	})
	require.ErrorIs(t, err, store.ErrConflict)
	require.False(t, paid)
	require.Empty(t, o.reached(t, scope))
}

// TestNothingShared commits a run that shares nothing, and only that.
func TestNothingShared(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	o := open(t, store.NewMem(), false)
	paid, err := o.Settle(t.Context(), nil, ledger.Bill{Since: dollar}, func(_ context.Context, ops ...store.Op) (store.Revision, error) {
		require.Empty(t, ops)
		return 0, lost
	})
	require.ErrorIs(t, err, lost)
	require.False(t, paid)
}

// TestPurse averages over the runs that have begun, what is reserved included.
func TestPurse(t *testing.T) {
	t.Parallel()
	o := open(t, store.NewMem(), false)
	spend := share("spend", "", ledger.Amount{})
	spend.Each = 2
	_, err := o.Settle(t.Context(), []ledger.Share{spend}, ledger.Bill{Run: "one", Begins: true, Since: dollar}, o.write)
	require.NoError(t, err)
	require.True(t, o.reserve(t, "one", spend))
	p, err := o.Purse(t.Context(), spend)
	require.NoError(t, err)
	require.Equal(t, [3]float64{2, 1, 2}, [3]float64{p.Each, float64(p.Tasks), p.Spent})
	why, err := o.Lacks(t.Context(), []ledger.Share{spend}, 1, ledger.Amount{CostUSD: 100})
	require.NoError(t, err)
	require.Equal(t, "takes about $100, and 1 runs have used $1 and reserved $1 of a budget of $2 each", why)
}

// TestErased removes ledgers, and forgets them.
func TestErased(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	o := open(t, st, false)
	session, scope := share("session", "s", dollar), share("scope", "acme/anna", dollar)
	o.settle(t, "one", session, scope)
	op, err := o.Drop(t.Context(), "s")
	require.NoError(t, err)
	_, err = o.write(t.Context(), op)
	require.NoError(t, err)
	require.Empty(t, o.reached(t, session))
	var seen []string
	require.NoError(t, o.Erase(t.Context(), func(kind, name string) bool {
		seen = append(seen, kind+" "+name)
		return true
	}))
	require.Equal(t, []string{"scope acme/anna"}, seen)
	require.NoError(t, o.w.Flush(t.Context()))
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.Fail(t, "there is still", e.Key)
	}
	require.Empty(t, o.reached(t, scope))
}

// TestCheck tells a ledger from other records.
func TestCheck(t *testing.T) {
	t.Parallel()
	st, scope := store.NewMem(), share("scope", "acme", dollar)
	o := open(t, st, true)
	o.settle(t, "one", scope)
	e, err := st.Get(t.Context(), scope.Key)
	require.NoError(t, err)
	require.NoError(t, ledger.Check(e))
	e.Value = e.Value[:len(e.Value)-1]
	require.ErrorIs(t, ledger.Check(e), store.ErrDamaged)
	require.NoError(t, st.Close())
	_, err = o.Reached(t.Context(), []ledger.Share{scope})
	require.ErrorIs(t, err, store.ErrClosed)
}

func TestAmountIsWrittenByItsTags(t *testing.T) {
	t.Parallel()
	codectest.Check[ledger.Amount](t)
}

// TestAmounts holds what is said of bounds against what is used.
func TestAmounts(t *testing.T) {
	t.Parallel()
	amounts := rapid.Custom(func(r *rapid.T) ledger.Amount {
		return ledger.Amount{
			Steps: rapid.IntRange(0, 5).Draw(r, "steps"), Wall: time.Duration(rapid.IntRange(0, 5).Draw(r, "wall")) * time.Second,
			Tokens: rapid.IntRange(0, 5).Draw(r, "tokens"), CostUSD: float64(rapid.IntRange(0, 5).Draw(r, "dollars")),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		bound, used, price := amounts.Draw(r, "bound"), amounts.Draw(r, "used"), amounts.Draw(r, "price")
		held := amounts.Draw(r, "held")
		require.NoError(r, bound.Check())
		require.Equal(r, used, used.Plus(price).Less(price))
		require.Empty(r, ledger.Amount{}.Reached(used))
		require.Empty(r, ledger.Amount{}.Lacks("it", used, held, price))
		within := func(a ledger.Amount) bool {
			return (bound.Steps == 0 || a.Steps <= bound.Steps) && (bound.Wall == 0 || a.Wall <= bound.Wall) &&
				(bound.Tokens == 0 || a.Tokens <= bound.Tokens) && (bound.CostUSD == 0 || a.CostUSD <= bound.CostUSD)
		}
		require.Equal(r, within(used.Plus(held).Plus(price)), bound.Lacks("it", used, held, price) == "")
		spent, name := bound.Spent(used)
		require.Equal(r, spent == 1, bound.Reached(used) != "")
		require.Equal(r, spent > 0, name != "")
	})
	require.Equal(t, "comes too late: the run's budget of 2s is spent",
		ledger.Amount{Wall: 2 * time.Second}.Lacks("the run", ledger.Amount{Wall: 3 * time.Second}, ledger.Amount{}, dollar))
	require.Error(t, ledger.Amount{Tokens: -1}.Check())
	share, name := ledger.Amount{Tokens: 10, CostUSD: 0.05}.Spent(ledger.Amount{Tokens: 6, CostUSD: 0.04})
	require.InDelta(t, 0.8, share, 1e-9)
	require.Equal(t, "$0.05", name)
}

// stuck holds commits up until it is let go.
type stuck struct {
	store.Store
	begun, free chan struct{}
}

func (s *stuck) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	close(s.begun)
	<-s.free
	return s.Store.Commit(ctx, ops...)
}

// TestWaitsEndWithTheirContext has calls wait for one whose store does not answer: none waits longer than its context.
func TestWaitsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &stuck{store.NewMem(), make(chan struct{}), make(chan struct{})}
		o := open(t, st, true)
		session := share("session", "s", ledger.Amount{CostUSD: 3})
		go func() { _, _ = o.Reserve(context.Background(), []ledger.Share{session}, "one", 0, dollar) }()
		<-st.begun
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		over := make(chan struct{})
		go func() {
			defer close(over)
			of := []ledger.Share{session}
			_, err := o.Book.Reached(ctx, of)
			require.ErrorIs(t, err, context.Canceled)
			_, err = o.Lacks(ctx, of, 0, dollar)
			require.ErrorIs(t, err, context.Canceled)
			_, err = o.Purse(ctx, session)
			require.ErrorIs(t, err, context.Canceled)
			_, err = o.Drop(ctx, "s")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, o.Release(ctx, of, "one"), context.Canceled)
			require.ErrorIs(t, o.Erase(ctx, func(string, string) bool { return true }), context.Canceled)
		}()
		synctest.Wait()
		select {
		case <-over:
		default:
			t.Error("a call waits for another though its context has ended")
		}
		close(st.free)
		synctest.Wait()
	})
}

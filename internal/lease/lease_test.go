package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/store"
)

const last = 15 * time.Second

// TestHome has openers come and go: all things are at home somewhere, evenly, and only those of
// the one that goes move.
func TestHome(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String(), 1, 9, rapid.ID).Draw(r, "names")
		gone := rapid.IntRange(0, len(names)-1).Draw(r, "gone")
		less := slices.Delete(slices.Clone(names), gone, gone+1)
		back := slices.Clone(names)
		slices.Reverse(back)
		for _, thing := range rapid.SliceOf(rapid.String()).Draw(r, "things") {
			home := lease.Home(thing, names)
			require.Contains(r, names, home)
			require.Equal(r, home, lease.Home(thing, back))
			if home != names[gone] {
				require.Equal(r, home, lease.Home(thing, less))
			}
		}
	})
	counts, names := map[string]int{}, []string{"arc-0", "arc-1", "arc-2", "arc-3", "arc-4"}
	for n := range 10_000 {
		counts[lease.Home(fmt.Sprint("tenant-", n), names)]++
	}
	for _, name := range names {
		require.InDelta(t, 2000, counts[name], 200, counts)
	}
}

// opener works on one thing, as an Agent on a run.
type opener struct {
	*lease.Store
	ctx   context.Context // nil: it is not at work
	wrote time.Time       // when it wrote the lease last
}

// TestLeases has openers enter, commit, renew, give up and leave in any order. Whose lease
// it is in truth is seen from who has written the record.
func TestLeases(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		mem := store.NewMem()
		var all [3]*opener
		for i := range all {
			all[i] = &opener{Store: lease.New(mem, fmt.Sprint(i), last, func() time.Time { return now })}
		}
		var owner *opener // nil: there is no record
		rev := func() store.Revision {
			e, _ := mem.Get(t.Context(), "thing") // of revision 0 if there is none
			return e.Rev
		}
		by := func(what func(*rapid.T, *opener)) func(*rapid.T) {
			return func(r *rapid.T) {
				o, before := all[rapid.IntRange(0, len(all)-1).Draw(r, "opener")], rev()
				what(r, o)
				if after := rev(); after != before {
					if owner != nil && owner != o && now.Sub(owner.wrote) < last {
						r.Fatalf("it was taken after %v", now.Sub(owner.wrote))
					}
					if owner, o.wrote = o, now; after == 0 {
						owner = nil
					}
				}
			}
		}
		commit := func(keep bool) func(r *rapid.T, o *opener) {
			return func(r *rapid.T, o *opener) {
				if o.ctx == nil {
					return
				}
				lease.Of(o.ctx).Keep(keep)
				_, err := o.Commit(o.ctx, store.Op{Key: "state", Value: []byte("1")})
				if owner == o && err != nil {
					r.Fatalf("the owner may commit: %v", err)
				}
				if owner != nil && owner != o && err == nil && now.Sub(owner.wrote) < last {
					r.Fatal("a commit beside the owner's")
				}
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"time": func(r *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(r, "s")) * time.Second) },
			"enter": by(func(r *rapid.T, o *opener) {
				if o.ctx != nil {
					return
				}
				ctx, err := o.Enter(t.Context(), "thing")
				if err == nil {
					o.ctx = ctx
				} else if owner == nil || owner == o {
					r.Fatalf("no other has it: %v", err)
				}
			}),
			"commit": by(commit(true)),
			"end":    by(commit(false)),
			"renew":  by(func(_ *rapid.T, o *opener) { o.Renew(t.Context()) }),
			"leave":  by(func(_ *rapid.T, o *opener) { o.Leave("thing"); o.ctx = nil }),
			"look": by(func(r *rapid.T, o *opener) {
				keys, err := o.Lapsed(t.Context(), "thing")
				if err != nil || len(keys) > 0 && (owner == nil || owner != o && now.Sub(owner.wrote) < last) {
					r.Fatal(keys, err)
				}
			}),
		})
	})
}

func TestLostLeaseEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		a, b := lease.New(mem, "a", last, time.Now), lease.New(mem, "b", last, time.Now)
		ctx, err := a.Enter(t.Context(), "thing")
		require.NoError(t, err)
		require.False(t, lease.Of(ctx).Claimed())
		lease.Of(ctx).Keep(true)
		require.NoError(t, lease.Of(ctx).Fresh(ctx))
		require.True(t, lease.Of(ctx).Claimed())

		var held *lease.Held
		_, err = b.Enter(t.Context(), "thing")
		require.ErrorAs(t, err, &held)
		require.Equal(t, "a", held.Owner)
		<-time.After(last)
		keys, err := b.Lapsed(t.Context(), "th")
		require.NoError(t, err)
		require.Equal(t, []string{"thing"}, keys)
		theirs, err := b.Enter(t.Context(), "thing")
		require.NoError(t, err)
		require.NoError(t, lease.Of(theirs).Fresh(theirs))

		require.NoError(t, ctx.Err(), "a does not know")
		require.ErrorAs(t, lease.Of(ctx).Fresh(ctx), &held)
		require.Equal(t, "b", held.Owner)
		require.ErrorIs(t, context.Cause(ctx), held)
		_, err = a.Commit(ctx, store.Op{Key: "state", Value: []byte("late")})
		require.ErrorAs(t, err, &held)
		require.NoError(t, lease.Of(ctx).Release(ctx))
		require.NoError(t, lease.Of(theirs).Fresh(theirs))
		require.NoError(t, lease.Of(theirs).Release(theirs))
		_, err = mem.Get(t.Context(), "thing")
		require.ErrorIs(t, err, store.ErrNotFound)
		a.Leave("thing")
		b.Leave("thing")
	})
}

// TestClockThatIsPutBack: a lease is renewed, and one that is not lapses, as if it had not been.
func TestClockThatIsPutBack(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	mem := store.NewMem()
	a := lease.New(mem, "a", last, clock)
	ctx, err := a.Enter(t.Context(), "thing")
	require.NoError(t, err)
	lease.Of(ctx).Keep(true)
	require.NoError(t, lease.Of(ctx).Fresh(ctx))
	first, err := mem.Get(t.Context(), "thing")
	require.NoError(t, err)
	now = now.Add(-time.Hour)
	a.Renew(t.Context())
	second, err := mem.Get(t.Context(), "thing")
	require.NoError(t, err)
	require.Greater(t, second.Rev, first.Rev)

	c := lease.New(mem, "c", last, clock)
	for _, by := range []time.Duration{0, -time.Hour, last} {
		now = now.Add(by)
		keys, err := c.Lapsed(t.Context(), "th")
		require.NoError(t, err)
		require.Equal(t, by > 0, len(keys) > 0)
	}
}

// Where the clock of one opener jumps ahead, which monotonic time does not, it takes a lease over that is still
// worked under. The other's commits are refused from then on.
func TestClockThatJumpsAhead(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	mem := store.NewMem()
	a := lease.New(mem, "a", last, func() time.Time { return now })
	b := lease.New(mem, "b", last, func() time.Time { return now })
	ctx, err := a.Enter(t.Context(), "thing")
	require.NoError(t, err)
	lease.Of(ctx).Keep(true)
	require.NoError(t, lease.Of(ctx).Fresh(ctx))
	var held *lease.Held
	_, err = b.Enter(t.Context(), "thing")
	require.ErrorAs(t, err, &held)
	now = now.Add(time.Hour)
	other, err := b.Enter(t.Context(), "thing")
	require.NoError(t, err, "early")
	lease.Of(other).Keep(true)
	require.NoError(t, lease.Of(other).Fresh(other))
	_, err = a.Commit(ctx, store.Op{Key: "done", Value: []byte("a")})
	require.ErrorAs(t, err, &held)
	require.Equal(t, "b", held.Owner)
	_, err = mem.Get(t.Context(), "done")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// slow takes a second for each commit.
type slow struct{ store.Store }

func (s slow) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	<-time.After(time.Second)
	return s.Store.Commit(ctx, ops...)
}

// TestRenewDoesNotQueue renews more leases than a slow store could one after another before they lapse.
func TestRenewDoesNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := lease.New(slow{store.NewMem()}, "a", last, time.Now)
		for i := range 40 {
			ctx, err := a.Enter(t.Context(), fmt.Sprint("thing-", i))
			require.NoError(t, err)
			lease.Of(ctx).Keep(true)
		}
		began := time.Now()
		a.Renew(t.Context())
		require.Equal(t, time.Second, time.Since(began))
	})
}

// TestAlone has one of two openers do what both would, and gives the lease back after it.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		a, b := lease.New(mem, "a", last, time.Now), lease.New(mem, "b", last, time.Now)
		done := 0
		work := func(context.Context) error { done++; return nil }
		require.NoError(t, a.Alone(t.Context(), "prune", func(ctx context.Context) error {
			var held *lease.Held
			require.ErrorAs(t, b.Alone(ctx, "prune", work), &held)
			require.Equal(t, "a", held.Owner)
			return work(ctx)
		}))
		require.NoError(t, b.Alone(t.Context(), "prune", work))
		require.Equal(t, 2, done)
		require.NoError(t, (*lease.Store)(nil).Alone(t.Context(), "prune", work))
		require.Equal(t, 3, done)
	})
}

// unanswered applies commits and says that they failed.
type unanswered struct {
	store.Store
	fails bool
}

func (u *unanswered) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := u.Store.Commit(ctx, ops...)
	if u.fails && err == nil {
		return 0, errors.New("no answer")
	}
	return rev, err
}

// TestAReleaseThatWasNotAnswered commits again what was committed and not answered: the lease is released, and not lost
// to another, unless another has written since.
func TestAReleaseThatWasNotAnswered(t *testing.T) {
	for _, other := range []bool{false, true} {
		weak := &unanswered{Store: store.NewMem()}
		a := lease.New(weak, "a", last, time.Now)
		ctx, err := a.Enter(t.Context(), "thing")
		require.NoError(t, err)
		lease.Of(ctx).Keep(true)
		rev, err := a.Commit(ctx, store.Op{Key: "state", Value: []byte("1")})
		require.NoError(t, err)
		lease.Of(ctx).Keep(false)
		weak.fails = true
		ops := []store.Op{{Key: "state", Value: []byte("2"), If: store.At(rev)}, {Key: "gone", Delete: true}}
		_, err = a.Commit(ctx, ops...)
		require.ErrorContains(t, err, "no answer")
		weak.fails = false
		if other {
			_, err := weak.Commit(t.Context(), store.Op{Key: "state", Value: []byte("3")})
			require.NoError(t, err)
		}
		again, err := a.Commit(ctx, ops...)
		if other {
			require.ErrorAs(t, err, new(*lease.Held))
			continue
		}
		require.NoError(t, err)
		e, err := weak.Get(t.Context(), "state")
		require.NoError(t, err)
		require.Equal(t, e.Rev, again)
		require.NoError(t, ctx.Err())
		require.False(t, lease.Of(ctx).Claimed())
		a.Leave("thing")
	}
}

// TestADamagedLeaseLapses: it is another's until it has lapsed, and then anyone's.
func TestADamagedLeaseLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		_, err := mem.Commit(t.Context(), store.Op{Key: "thing", Value: []byte{1, 2, 3}})
		require.NoError(t, err)
		a := lease.New(mem, "a", last, time.Now)
		_, err = a.Enter(t.Context(), "thing")
		require.ErrorAs(t, err, new(*lease.Held))
		<-time.After(last)
		keys, err := a.Lapsed(t.Context(), "th")
		require.NoError(t, err)
		require.Equal(t, []string{"thing"}, keys)
		ctx, err := a.Enter(t.Context(), "thing")
		require.NoError(t, err)
		require.NoError(t, lease.Of(ctx).Fresh(ctx))
		a.Leave("thing")
	})
}

// deaf answers no call before its context ends.
type deaf struct {
	store.Store
	is bool
}

func (d *deaf) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if d.is {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return d.Store.Commit(ctx, ops...)
}

// TestAloneEndsWithItsContext: a lease that cannot be given back lapses, and its holder does not wait for that.
func TestAloneEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &deaf{Store: store.NewMem()}
		a := lease.New(st, "a", last, time.Now)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		over := make(chan error, 1)
		go func() {
			over <- a.Alone(ctx, "prune", func(ctx context.Context) error {
				st.is = true
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		select {
		case err := <-over:
			require.ErrorIs(t, err, context.DeadlineExceeded)
		case <-time.After(last):
			t.Fatal("Alone waits for a lease that has lapsed")
		}
	})
}

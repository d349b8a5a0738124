package arc_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// An open Agent prunes a tenant in which nothing happens any more.
func TestIdleTenantsArePruned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, err := arc.New(t.Context(), store.NewMem(), (&script{}).host(), &arc.Options{Seed: 1, Now: time.Now})
		require.NoError(t, err)
		run(t, a, arc.Objective{ID: "old", Text: "mend the cache", Scope: "acme"})
		idle(89 * 24 * time.Hour)
		require.Len(t, idsOf(t, a.In("acme"), arc.Filter{}), 1)
		idle(2 * 24 * time.Hour)
		require.Empty(t, idsOf(t, a.In("acme"), arc.Filter{}))
		require.NoError(t, a.Close())
	})
}

// An open Agent maintains each scope that was written to, once a day, also over
// restarts; one that is told not to does not.
func TestScopesAreMaintainedDaily(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: store.NewMem()}
		open := func(every time.Duration) *arc.Agent {
			a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{Seed: 1, Now: time.Now, Maintain: every})
			require.NoError(t, err)
			return a
		}
		archived := func(a *arc.Agent) int {
			h, err := a.In("acme").Memory().Health(t.Context())
			require.NoError(t, err)
			return h.Archived
		}
		a := open(-1)
		_, err := a.In("acme").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the door was red"})
		require.NoError(t, err)
		idle(60 * 24 * time.Hour)
		require.Zero(t, archived(a))
		require.NoError(t, a.Close())

		a = open(0)
		idle(23 * time.Hour)
		require.Zero(t, archived(a), "seen for the first time a day ago")
		require.NoError(t, a.Close())
		a = open(0)
		idle(2 * time.Hour)
		require.Zero(t, archived(a), "it was not written to")
		_, err = a.In("acme").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the window is green"})
		require.NoError(t, err)
		idle(25 * time.Hour)
		require.Equal(t, 1, archived(a), "it was, and was maintained")
		idle(time.Minute)
		before := st.n.Load()
		idle(10 * 24 * time.Hour)
		require.Equal(t, before, st.n.Load(), "what is not written to is left alone")
		require.NoError(t, a.Close())
	})
}

// Facts fade by time alone: an open Agent comes to an identity that is not written to as well.
func TestIdleIdentitiesAreMaintained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: store.NewMem()}
		a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{Seed: 1, Now: time.Now})
		require.NoError(t, err)
		me, facts := person(t, a, "acme/ann", "likes tea")
		stands := func() identity.Fact {
			f, err := me.Get(t.Context(), facts["likes tea"].ID)
			require.NoError(t, err)
			return f
		}
		idle(104 * 24 * time.Hour)
		require.Equal(t, identity.Established, stands().Maturity, "0.3008 of the confidence is left")
		before := st.n.Load()
		idle(32 * 24 * time.Hour)
		require.LessOrEqual(t, st.n.Load()-before, int64(8), "about once in thirty days")
		require.Equal(t, identity.Candidate, stands().Maturity, "0.21")
		require.Zero(t, stands().Archived)
		idle(64 * 24 * time.Hour)
		require.Zero(t, stands().Archived, "0.0992 since a quarter of a day")
		idle(32 * 24 * time.Hour)
		require.NotZero(t, stands().Archived)
		require.NoError(t, a.Close())
	})
}

// An Agent that has pruned and maintained while the clock stood ahead does so all the same once
// that is set right, and after a restart.
func TestMaintenanceWhenTheClockWasPutBack(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMem()
			var ahead atomic.Int64
			ahead.Store(int64(365 * 24 * time.Hour))
			var a *arc.Agent
			open := func() {
				var err error
				a, err = arc.New(t.Context(), st, (&script{}).host(), &arc.Options{Seed: 1, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
				require.NoError(t, err)
			}
			open()
			remember := func(content string) {
				_, err := a.In("acme").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: content})
				require.NoError(t, err)
			}
			remember("the roof is blue")
			for range 3 {
				remember("the roof is blue " + time.Now().String())
				idle(25 * time.Hour)
			}
			if ahead.Store(0); restarts {
				require.NoError(t, a.Close())
				open()
			}
			run(t, a, arc.Objective{ID: "old", Text: "mend the cache", Scope: "acme"})
			remember("the door was red")
			idle(61 * 24 * time.Hour)
			remember("the window is green")
			idle(31 * 24 * time.Hour)
			require.Empty(t, idsOf(t, a.In("acme"), arc.Filter{}))
			h, err := a.In("acme").Memory().Health(t.Context())
			require.NoError(t, err)
			require.NotZero(t, h.Archived)
			require.NoError(t, a.Close())
		})
	}
}

// TestRunsWhenTheClockWasPutBack: a run that began to wait for a model while the clock stood ahead
// goes on once the clock is set right, and after a restart. An approval ends when the host said.
func TestRunsWhenTheClockWasPutBack(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMem()
			var ahead atomic.Int64
			var back atomic.Bool
			s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
				if !back.Load() {
					return reason.Decision{}, errAway
				}
				return plan(b.Objective), nil
			}}
			var a *arc.Agent
			open := func() {
				var err error
				a, err = arc.New(t.Context(), st, s.host(), &arc.Options{
					Seed: 1, Patience: -1, Maintain: -1,
					Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
				})
				require.NoError(t, err)
			}
			open()
			idle(time.Minute)
			ahead.Store(int64(365 * 24 * time.Hour))
			require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "away", Text: "mend the cache"}).Status)
			ahead.Store(0)
			back.Store(true)
			if restarts {
				require.NoError(t, a.Close())
				open()
			}
			idle(10 * time.Minute)
			r, err := a.In("").Report(t.Context(), "away")
			require.NoError(t, err)
			require.Equal(t, arc.Delivered, r.Status)
			require.NoError(t, a.Close())
		})
	}
}

// A damaged run, time of upkeep, list of endings or count of tries costs a tenant that one thing.
func TestDamageCostsNoUpkeep(t *testing.T) {
	t.Parallel()
	c, st, s := newClock(), store.NewMem(), &script{}
	o := &arc.Options{Now: c.Now, Maintain: -1, Retention: arc.Retention{Age: 24 * time.Hour}}
	a := agentOn(t, st, s.host(), o)
	for _, id := range []string{"one", "two", "three"} {
		require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: id, Text: "mend " + id}).Status)
		c.Add(time.Second)
	}
	damage := func(part string) {
		t.Helper()
		n := 0
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			if strings.Contains(e.Key, part) {
				n++
				e.Value[len(e.Value)-1] ^= 1
				_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
				require.NoError(t, err)
			}
		}
		require.NotZero(t, n, part)
	}
	require.NoError(t, a.Close())
	damage(key.Under("local", "run", "two"))
	damage(key.Under("local", "meta", "past", "local"))
	damage(key.Under("local", "meta", "odds", "all"))
	a = agentOn(t, st, s.host(), o)
	require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: "four", Text: "mend four"}).Status, "endings inform, and judge none")
	var ids []string
	failed := 0
	for r, err := range a.In("").Runs(t.Context(), arc.Filter{}) {
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
			failed++
			continue
		}
		ids = append(ids, r.ID)
	}
	require.Equal(t, []string{"four", "three", "one"}, ids)
	require.Equal(t, 1, failed)
	c.Add(48 * time.Hour)
	_, err := a.Maintain(t.Context(), "")
	require.ErrorIs(t, err, store.ErrDamaged)
	for _, id := range []string{"one", "three", "four"} {
		_, err := a.In("").Report(t.Context(), id)
		require.ErrorIs(t, err, store.ErrNotFound, id)
	}
}

package goal_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// storeBefore is a store as the version before has left it, which kept marks of what is in flight: testdata was
// written by that version. Its process died at 12:00:00.03 UTC. The goal "fails" had failed three times, "works" had
// just succeeded, "begun" was under way, "fresh" was admitted and never begun, and "doomed" was gone on with three
// times.
func storeBefore(t *testing.T) store.Store {
	t.Helper()
	raw, err := os.ReadFile("testdata/store-before.json")
	require.NoError(t, err)
	var before map[string][]byte
	require.NoError(t, json.Unmarshal(raw, &before))
	st := store.NewMem()
	for k, v := range before {
		_, err := st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
	}
	return st
}

// Marks of the version before become runs that are resumed, begun or given up, its outcomes let rest what has to rest,
// and none of its dispatches is lost.
func TestStoreOfTheVersionBefore(t *testing.T) {
	for name, late := range map[string]bool{"within the lease": false, "after the lease": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := storeBefore(t)
				begin := time.Until(time.Date(2026, 11, 22, 12, 0, 1, 0, time.UTC))
				if late {
					begin += time.Hour
				}
				now := func() time.Time { return time.Now().Add(begin) }
				var goals []goal.Goal
				for _, id := range []string{"fails", "works", "begun", "fresh", "doomed"} {
					goals = append(goals, zero(id))
				}
				gs, err := goal.NewGoals(goals...)
				require.NoError(t, err)
				d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}}
				a := &again{desk: d, unknown: []string{"goals/fresh/5"}}
				w := new(goal.World)
				c, err := goal.New(t.Context(), st, w, gs, d, a, &goal.Options{Now: now, MaxInFlight: 9})
				require.NoError(t, err)
				defer c.Close()
				for e := range st.Scan(t.Context(), store.Range{Prefix: "goap/"}) {
					require.True(t, strings.HasPrefix(e.Key, "goap/outcome"), "%q is left", e.Key)
				}
				require.NoError(t, w.Set("m", goal.Snapshot{At: now(), Data: obj{"fails": 1, "works": 1, "begun": 1, "fresh": 1, "doomed": 1}}))
				r, err := c.Tick(t.Context())
				require.NoError(t, err)
				doing := []goal.Doing{goal.Resting, goal.Resting, goal.InFlight, goal.InFlight, goal.Resting}
				if late { // what had to rest has rested
					doing = []goal.Doing{goal.Began, goal.Began, goal.InFlight, goal.InFlight, goal.Resting}
				}
				for i, g := range r.Goals {
					require.Equal(t, doing[i], g.Doing, "%s: %s", g.Goal, g.Why)
				}
				require.NoError(t, c.Wait(t.Context()))
				require.ElementsMatch(t, []string{"goals/begun/4", "goals/fresh/5"}, a.resumed)
				ends := map[string]goal.End{}
				for o, err := range c.Outcomes(t.Context()) {
					require.NoError(t, err)
					ends[o.ID] = o.End
				}
				want := map[string]goal.End{
					"goals/doomed/1": goal.Interrupted, "goals/fails/2": goal.Failed, "goals/works/3": goal.Succeeded, "goals/begun/4": goal.Failed,
					"goals/fresh/5": goal.Unseen, "goals/fails/6": goal.Failed, "goals/fails/7": goal.Failed,
				}
				if late {
					want["goals/fresh/5"] = goal.Refused // it may no longer be wanted
					want["goals/fails/8-20261122130001"], want["goals/works/9-20261122130001"] = goal.Unseen, goal.Unseen
				}
				require.Equal(t, want, ends)
				require.Zero(t, c.Open(t.Context()))
				if !late {
					require.Equal(t, []string{"goals/fresh/5"}, ids(d.got))
				}
			})
		})
	}
}

// A ledger without a tenant becomes that of the first controller of its name that has one, damage included, and no
// other tenant sees it.
func TestLedgerMovesToItsTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := storeBefore(t)
		open := func(tenant string) (ids []string) {
			b := newBench(t, st, &goal.Options{Tenant: tenant}, zero("fails"), zero("works"))
			defer b.c.Close()
			for o, err := range b.c.Outcomes(t.Context()) {
				if err != nil {
					require.ErrorIs(t, err, store.ErrDamaged)
					return append(ids, "damage")
				}
				ids = append(ids, o.ID)
			}
			return ids
		}
		before := open("")
		require.Len(t, before, 4)
		for e := range st.Scan(t.Context(), store.Range{Prefix: "goap/outcome"}) {
			if strings.HasSuffix(e.Key, "begun") {
				_, err := st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value[:20]})
				require.NoError(t, err)
			}
		}
		was := open("acme")
		require.Equal(t, append(before[:len(was)-1:len(was)-1], "damage"), was)
		for e := range st.Scan(t.Context(), store.Range{}) {
			require.True(t, strings.HasPrefix(e.Key, "tenant\x00acme\x00goap/outcome\x00goals\x00"), "%q", e.Key)
		}
		require.Empty(t, open("ajax"))
		require.Equal(t, was, open("acme"))
	})
}

func ids(ds []goal.Dispatch) (out []string) {
	for _, d := range ds {
		out = append(out, d.ID)
	}
	slices.Sort(out)
	return out
}

// A mark of the version before that is damaged keeps its own goal from being acted upon, and no other.
func TestDamagedMarkOfTheVersionBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := storeBefore(t)
		for e := range st.Scan(t.Context(), store.Range{Prefix: "goap/flight"}) {
			if strings.HasSuffix(e.Key, "begun") {
				_, err := st.Commit(context.Background(), store.Op{Key: e.Key, Value: e.Value[:20]})
				require.NoError(t, err)
			}
		}
		b := newBench(t, st, nil, zero("begun"), zero("other"))
		b.read(obj{"begun": 1, "other": 1})
		r, err := b.c.Tick(t.Context())
		require.ErrorIs(t, err, store.ErrDamaged)
		require.Equal(t, []goal.Doing{goal.Waiting, goal.Began}, []goal.Doing{r.Goals[0].Doing, r.Goals[1].Doing})
		synctest.Wait()
	})
}

// A damaged outcome of the version before costs that outcome: nothing is in flight by it.
func TestDamagedOutcomeOfTheVersionBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := storeBefore(t)
		damaged := 0
		for e := range st.Scan(t.Context(), store.Range{Prefix: "goap/outcome"}) {
			if strings.Count(e.Key, "\x00") == 2 && damaged == 0 { // without the goal
				_, err := st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value[:len(e.Value)-3]})
				require.NoError(t, err)
				damaged++
			}
		}
		require.Equal(t, 1, damaged)
		b := newBench(t, st, &goal.Options{History: 1}, zero("x"))
		b.read(obj{"x": 1})
		doing, _ := b.tick()
		require.Equal(t, []goal.Doing{goal.Began}, doing)
		require.NotEmpty(t, b.outcomes(), "the damaged one, of which the list would be an error, is dropped as others are")
	})
}

// A controller of a tenant takes nothing of one of the same name that has none and is at work.
func TestControllersWithAndWithoutATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		b := newBench(t, st, nil, zero("x"), zero("y"))
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Failed}, nil
		}
		b.read(obj{"x": 1, "y": 0})
		b.tick()
		idle(2 * time.Minute)
		b.read(obj{"x": 0, "y": 1})
		b.tick()
		require.Equal(t, 1, b.c.Open(t.Context()))
		other := newBench(t, st, &goal.Options{Tenant: "acme"}, zero("x"), zero("y"))
		require.Zero(t, other.c.Open(t.Context()))
		require.Empty(t, other.outcomes())
		other.read(obj{"x": 0, "y": 0})
		other.tick()
		idle(2 * time.Minute)
		require.Len(t, b.outcomes(), 2)
		require.Empty(t, other.outcomes())
	})
}

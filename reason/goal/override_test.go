package goal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// Overrides stand until the next call, whatever is loaded meanwhile, and what they do
// not name stays as it was loaded. The model keeps what was loaded and what overrides.
func TestOverridesAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var gs goal.Goals
		loaded := map[string]float64{} // ids to bounds; below 0: an invariant
		var by []goal.Override
		id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		for range rapid.IntRange(1, 30).Draw(t, "operations") {
			if rapid.Bool().Draw(t, "load") {
				var text strings.Builder
				text.WriteString("goals:\n")
				loaded = rapid.MapOfN(id, rapid.Float64Range(-1, 9), 1, 4).Draw(t, "goals")
				for _, name := range []string{"a", "b", "c", "d"} {
					if bound, ok := loaded[name]; ok {
						fmt.Fprintf(&text, "  - id: %s\n    selector: domains.m.data.%s\n", name, name)
						if bound >= 0 {
							fmt.Fprintf(&text, "    min: 1e-9\n    max: %v\n", bound+1)
						}
					}
				}
				_, err := gs.Load([]byte(text.String()))
				require.NoError(t, err)
			} else {
				by = nil
				for range rapid.IntRange(0, 3).Draw(t, "overrides") {
					o := goal.Override{Goal: id.Draw(t, "id"), Disabled: rapid.Bool().Draw(t, "disabled")}
					o.Severity = rapid.SampledFrom([]string{"", "low", "grave"}).Draw(t, "severity")
					if rapid.Bool().Draw(t, "bounded") {
						o.Max = new(rapid.SampledFrom([]float64{-1, 0.5, 100}).Draw(t, "max"))
					}
					by = append(slices.DeleteFunc(by, func(p goal.Override) bool { return p.Goal == o.Goal }), o)
				}
				_ = gs.Override(by...)
			}
			all := gs.All()
			require.Len(t, all, len(loaded))
			for _, g := range all {
				bound := loaded[g.ID] // what it is without an override that fits
				want := goal.Goal{ID: g.ID, Condition: goal.Condition{Selector: "domains.m.data." + g.ID}}
				if bound >= 0 {
					want.Min, want.Max = new(1e-9), new(bound+1)
				}
				for _, o := range by {
					bad := o.Severity == "grave" || o.Max != nil && (bound < 0 || *o.Max < 0)
					if o.Goal != g.ID || bad {
						continue
					}
					want.Disabled, want.Severity = o.Disabled, o.Severity
					if o.Max != nil {
						want.Max = o.Max
					}
				}
				require.Equal(t, want, g)
			}
		}
	})
}

func TestOverrideSaysWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	gs, err := goal.NewGoals(zero("x"), goal.Goal{ID: "y", Condition: goal.Condition{Selector: "domains.m.data.y"}})
	require.NoError(t, err)
	for want, o := range map[string]goal.Override{
		`goal "x": unknown severity "grave"`:               {Goal: "x", Severity: "grave"},
		`goal "x": min 1 is above max 0`:                   {Goal: "x", Min: new(1.0)},
		`goal "y": a bound does not belong to a invariant`: {Goal: "y", Max: new(1.0)},
		`action "z": rest_minutes is -1`:                   {Action: "z", RestMinutes: -1},
		`action "z": rest_minutes is 525601`:               {Action: "z", RestMinutes: 525_601},
	} {
		require.ErrorContains(t, gs.Override(goal.Override{Goal: "y", Severity: "low"}, o), want)
		require.Equal(t, "low", gs.All()[1].Severity, "the others stand")
	}
	require.NoError(t, gs.Override(goal.Override{Goal: "unheard of", Disabled: true}))
	require.Equal(t, []goal.Goal{zero("x"), {ID: "y", Condition: goal.Condition{Selector: "domains.m.data.y"}}}, gs.All())
}

// Readers see all overrides of a call or none.
func TestOverridesAreAtomic(t *testing.T) {
	t.Parallel()
	gs, err := goal.NewGoals(zero("x"), zero("y"))
	require.NoError(t, err)
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				if g := gs.All(); g[0].Disabled != g[1].Disabled {
					t.Error("one of two")
					return
				}
			}
		})
	}
	for i := range 500 {
		off := i%2 == 0
		require.NoError(t, gs.Override(goal.Override{Goal: "x", Disabled: off}, goal.Override{Goal: "y", Disabled: off}))
		_, err := gs.Load(fmt.Appendf(nil, "# %d\ngoals: [{id: x, selector: domains.m.data.x}, {id: y, selector: domains.m.data.y}]", i))
		require.NoError(t, err)
	}
	stop()
	all.Wait()
}

// An action that is to rest is not dispatched once it came to nothing, for any goal,
// also after a restart and by a clock that was put back; others are, and it is again
// when the override is gone.
func TestDispatchRespectsARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		opts := &goal.Options{Cooldown: -1, Actions: []goal.Action{
			{Name: "kick", Skill: "kick", Effects: []goal.Change{sets("data.x", 0), sets("data.y", 0)}},
			{Name: "mend", Skill: "mend", Cost: 5, Effects: []goal.Change{sets("data.x", 0), sets("data.y", 0)}},
		}}
		d := &desk{skills: []string{"kick", "mend"}}
		d.do = func(_ context.Context, x goal.Dispatch) (goal.Result, error) {
			if x.Steps[0].Action == "kick" {
				return goal.Result{End: goal.Failed, Why: "it fell over"}, nil
			}
			return goal.Result{End: goal.Succeeded}, nil
		}
		var gs *goal.Goals
		var b *bench
		open := func() {
			var err error
			gs, err = goal.NewGoals(zero("x"), zero("y"))
			require.NoError(t, err)
			w := new(goal.World)
			c, err := goal.New(t.Context(), st, w, gs, d, d, opts)
			require.NoError(t, err)
			b = &bench{d, t, w, c}
		}
		at := time.Now()
		opts.Now = func() time.Time { return at }
		// next is what is done about x, or y, and why it is not.
		next := func(path string) (action, why string) {
			t.Helper()
			other := map[string]string{"x": "y", "y": "x"}[path]
			require.NoError(t, b.w.Set("m", goal.Snapshot{Data: map[string]any{path: 1.0, other: 0.0}, At: at}))
			r, err := b.c.Tick(t.Context())
			require.NoError(t, err)
			require.NoError(t, b.c.Wait(t.Context()))
			at = at.Add(6 * time.Minute) // no three in five minutes
			for _, g := range r.Goals {
				if g.Goal == path && g.Doing == goal.Began {
					return d.got[len(d.got)-1].Steps[0].Action, ""
				} else if g.Goal == path {
					why = g.Why
				}
			}
			return "", why
		}
		is := func(path, want string) {
			t.Helper()
			got, why := next(path)
			require.Equal(t, want, got, why)
		}
		open()
		is("x", "kick")
		is("x", "kick")
		rest := goal.Override{Action: "kick", RestMinutes: 60}
		require.NoError(t, gs.Override(rest))
		is("x", "mend") // at once: it failed six minutes ago
		is("y", "mend") // for the other goal, too
		b.c.Close()
		open()
		require.NoError(t, gs.Override(rest))
		is("y", "mend") // after a restart
		at = at.Add(-48 * time.Hour)
		_, why := next("y")
		require.Contains(t, why, "was not read")
		is("y", "mend") // the clock was put back
		at = at.Add(61 * time.Minute)
		is("x", "kick") // an hour is over
		is("x", "mend")
		require.NoError(t, gs.Override())
		at = at.Add(30 * time.Minute) // no more to and fro
		is("x", "kick")

		// Without another action the goal waits, and says why.
		require.NoError(t, gs.Override(rest, goal.Override{Action: "mend", RestMinutes: 10}))
		d.do = nil
		_, why = next("x")
		require.NotEmpty(t, why, "it came to nothing before the clock was put back")
		at = at.Add(10 * time.Minute)
		is("x", "mend")
		_, why = next("x")
		// Nothing shows of it: it came to nothing.
		require.Contains(t, why, `"mend" rests: it is to rest for 10m0s once it came to nothing`)
		b.c.Close()
	})
}

// Overrides of one goal stand together.
func TestOverridesOfOneGoalStandTogether(t *testing.T) {
	t.Parallel()
	gs, err := goal.NewGoals(zero("x"))
	require.NoError(t, err)
	require.NoError(t, gs.Override(
		goal.Override{Goal: "x", Disabled: true}, goal.Override{Goal: "x", Severity: "low"}, goal.Override{Goal: "x", Max: new(2.0)},
	))
	want := zero("x")
	want.Disabled, want.Severity, want.Max = true, "low", new(2.0)
	require.Equal(t, []goal.Goal{want}, gs.All())
	require.NoError(t, gs.Override())
	require.Equal(t, []goal.Goal{zero("x")}, gs.All())
}

// A rest that does not fit is left out, as the error says.
func TestARestThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil)
		gs, err := goal.NewGoals(zero("x"))
		require.NoError(t, err)
		require.ErrorContains(t, gs.Override(goal.Override{Action: "change m data", RestMinutes: 600_000}), "rest_minutes")
		c, err := goal.New(t.Context(), store.NewMem(), b.w, gs, b.desk, b.desk, nil)
		require.NoError(t, err)
		b.c = c
		defer c.Close()
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return goal.Result{End: goal.Failed}, nil }
		for range 2 {
			b.read(obj{"x": 1})
			doing, r := b.tick()
			require.Equal(t, []goal.Doing{goal.Began}, doing, r.Goals[0].Why)
			idle(time.Hour)
		}
	})
}

// What the caller does with its actions and overrides later changes no goal.
func TestActionsAndOverridesAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := reason.Effect{Domain: "m", Path: "data.x"}
		actions := []goal.Action{{
			Name: "act", Effects: []goal.Change{{Effect: x, Op: "set", Value: 0.0}},
			Pre: []goal.Condition{{Selector: "domains.m.data.x", Max: new(9.0)}},
		}}
		d := &desk{effects: []reason.Effect{x}}
		b := benchWith(t, store.NewMem(), d, d, &goal.Options{Actions: actions}, zero("x"))
		*actions[0].Pre[0].Max = -1
		actions[0].Effects[0].Effect = reason.Effect{Domain: "other"}
		b.read(obj{"x": 1})
		b.tick()
		idle(time.Second)
		require.Equal(t, "act", d.got[0].Steps[0].Action)
	})

	gs, err := goal.NewGoals(zero("x"))
	require.NoError(t, err)
	bound := 5.0
	require.NoError(t, gs.Override(goal.Override{Goal: "x", Max: &bound}))
	bound = 7
	require.Equal(t, 5.0, *gs.All()[0].Max)
}

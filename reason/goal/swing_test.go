package goal_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// Two goals whose dispatches undo each other do not alternate for ever: the less severe one is left alone, the report
// says why, and it is acted upon again once the other one is gone, or wants something else.
func TestGoalsThatUndoEachOther(t *testing.T) {
	const both = `goals: [{id: a, selector: domains.m.data.a, max: 0%s}, {id: b, selector: domains.m.data.b, max: 0%s}]`
	for name, c := range map[string]struct {
		a, b, above, below string
		later              string // the goals, once they have swung
	}{
		"the less severe one": {"", ", severity: high", "b", "a", `goals: [{id: a, selector: domains.m.data.a, max: 0}]`},
		"the other one":       {", severity: low", ", severity: low", "a", "b", `goals: [{id: b, selector: domains.m.data.b, max: 0}]`},
		"another wish":        {"", ", severity: low", "a", "b", `goals: [{id: a, selector: domains.m.data.a, max: 1}, {id: b, selector: domains.m.data.b, max: 0}]`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, store.NewMem(), nil)
				gs := new(goal.Goals)
				load := func(text string) {
					_, err := gs.Load([]byte(text))
					require.NoError(t, err)
				}
				load(fmt.Sprintf(both, c.a, c.b))
				ctl, err := goal.New(t.Context(), store.NewMem(), b.w, gs, b.desk, b.desk, nil)
				require.NoError(t, err)
				defer ctl.Close()
				b.c = ctl
				world := obj{"a": 1, "b": 0}
				b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
					idle(time.Second)
					world = obj{"a": 1, "b": 1, d.Goal: 0}
					return goal.Result{End: goal.Succeeded}, nil
				}
				rounds := func(n int) (stands map[string]goal.Standing) {
					for range n {
						b.read(world)
						_, r := b.tick()
						stands = make(map[string]goal.Standing)
						for _, g := range r.Goals {
							stands[g.Goal] = g
						}
						idle(2 * time.Minute)
						synctest.Wait()
					}
					return stands
				}
				stands := rounds(40)
				require.LessOrEqual(t, b.count(), 6)
				require.Equal(t, goal.Met, stands[c.above].Status)
				require.Equal(t, goal.Stuck, stands[c.below].Doing)
				require.Contains(t, stands[c.below].Why, fmt.Sprintf("goal %q", c.above))
				n := b.count()
				load(c.later)
				require.Equal(t, goal.Began, rounds(1)[c.below].Doing)
				require.Equal(t, n+1, b.count())
			})
		})
	}
}

// Goals that are violated again and again by something else are kept, also where they take turns.
func TestGoalsThatTakeTurnsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("a"), zero("b"), zero("c"))
		world := obj{"a": 0, "b": 0, "c": 0}
		b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
			world[d.Goal] = 0
			return goal.Result{End: goal.Succeeded}, nil
		}
		for i := range 60 {
			world[[]string{"a", "b", "a", "b", "c"}[i%5]] = 1
			b.read(world)
			doing, _ := b.tick()
			require.Contains(t, doing, goal.Began)
			idle(time.Minute)
			b.read(world) // it is met before the other is violated
			b.tick()
			idle(time.Minute)
		}
		require.Equal(t, 60, b.count())
	})
}

// What had been undone twice is acted upon again once it was met by itself.
func TestAGoalThatWasUndoneAndIsMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("a"), zero("b"))
		world, apart := obj{"a": 1, "b": 0}, false
		b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
			if world[d.Goal] = 0; !apart {
				world = obj{"a": 1, "b": 1, d.Goal: 0}
			}
			return goal.Result{End: goal.Succeeded}, nil
		}
		round := func() []goal.Doing {
			b.read(world)
			doing, _ := b.tick()
			idle(2 * time.Minute)
			return doing
		}
		for range 20 {
			round()
		}
		require.Equal(t, goal.Stuck, round()[1])
		world, apart = obj{"a": 0, "b": 0}, true
		round()
		world = obj{"a": 0, "b": 1}
		require.Equal(t, goal.Began, round()[1])
	})
}

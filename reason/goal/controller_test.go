package goal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// desk is a dispatcher and a catalog that do what a test says.
type desk struct {
	mu      sync.Mutex
	got     []goal.Dispatch
	judged  []string
	judging error
	do      func(ctx context.Context, d goal.Dispatch) (goal.Result, error)
	skills  []string
	effects []reason.Effect
}

func (d *desk) Skills() []string         { return d.skills }
func (d *desk) Effects() []reason.Effect { return d.effects }

func (d *desk) Judge(_ context.Context, id string, seen bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.judged = append(d.judged, fmt.Sprint(id, " ", seen))
	return d.judging
}

func (d *desk) Run(ctx context.Context, x goal.Dispatch) (goal.Result, error) {
	d.mu.Lock()
	d.got = append(d.got, x)
	d.mu.Unlock()
	if d.do == nil {
		return goal.Result{End: goal.Succeeded}, nil
	}
	return d.do(ctx, x)
}

// Resume is that of a desk which does not know what came of what it had begun.
func (d *desk) Resume(context.Context, goal.Dispatch) (goal.Result, error) {
	return goal.Result{End: goal.Interrupted, Why: "it was cut off"}, nil
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.got)
}

// again is a desk that can resume.
type again struct {
	*desk
	mu      sync.Mutex
	resumed []string
	unknown []string // what was never begun
	hang    bool
}

func (a *again) Resume(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	a.mu.Lock()
	a.resumed = append(a.resumed, d.ID)
	a.mu.Unlock()
	if slices.Contains(a.unknown, d.ID) {
		return goal.Result{}, store.ErrNotFound
	}
	if a.hang {
		<-ctx.Done()
		return goal.Result{}, ctx.Err()
	}
	return goal.Result{End: goal.Failed, Why: "it had failed"}, nil
}

var (
	_ goal.Catalog = (*desk)(nil)
	_ goal.Runner  = (*again)(nil)
)

// zero is the goal that a number of domain m is 0.
func zero(path string) goal.Goal {
	return goal.Goal{ID: path, Condition: goal.Condition{Selector: "domains.m.data." + path, Max: new(0.0)}}
}

// bench is a controller with all that it needs, in a bubble.
type bench struct {
	*desk
	t *testing.T
	w *goal.World
	c *goal.Controller
}

func newBench(t *testing.T, st store.Store, opts *goal.Options, goals ...goal.Goal) *bench {
	t.Helper()
	d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}}
	return benchWith(t, st, d, d, opts, goals...)
}

func benchWith(t *testing.T, st store.Store, d *desk, by goal.Runner, opts *goal.Options, goals ...goal.Goal) *bench {
	t.Helper()
	gs, err := goal.NewGoals(goals...)
	require.NoError(t, err)
	w := new(goal.World)
	c, err := goal.New(t.Context(), st, w, gs, d, by, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &bench{d, t, w, c}
}

// read sets what is read of domain m now.
func (b *bench) read(data map[string]any) {
	b.t.Helper()
	require.NoError(b.t, b.w.Set("m", goal.Snapshot{Data: data, At: time.Now()}))
}

// tick ticks, waits for what it began, and returns what was done about each
// goal.
func (b *bench) tick() (doing []goal.Doing, r goal.Report) {
	b.t.Helper()
	r, err := b.c.Tick(b.t.Context())
	require.NoError(b.t, err)
	for _, g := range r.Goals {
		doing = append(doing, g.Doing)
	}
	synctest.Wait()
	return doing, r
}

func (b *bench) outcomes() []goal.Outcome {
	b.t.Helper()
	var out []goal.Outcome
	for o, err := range b.c.Outcomes(b.t.Context()) {
		require.NoError(b.t, err)
		out = append(out, o)
	}
	return out
}

// What is violated is dispatched once, and left alone until it has cooled down
// and was read anew.
func TestControllerLeavesTheGoalAloneUntilItWasReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		doing := func() goal.Doing { d, _ := b.tick(); return d[0] }
		require.Equal(t, goal.Nothing, doing(), "unknown")
		b.read(map[string]any{"x": 1})
		require.Equal(t, goal.Began, doing())
		for range 30 {
			require.Equal(t, goal.Resting, doing())
			idle(5 * time.Second)
		}
		_, r := b.tick()
		require.Contains(t, r.Goals[0].Why, "not read since")
		b.read(map[string]any{"x": 1})
		require.Equal(t, goal.Began, doing())
		idle(30 * time.Second)
		b.read(map[string]any{"x": 1})
		_, r = b.tick()
		require.Equal(t, time.Now().Add(time.Minute).UTC(), r.Goals[0].Until, "read anew, and still too early")
		idle(time.Minute)
		require.Equal(t, goal.Began, doing())
		require.Equal(t, 3, b.count())
		b.read(map[string]any{"x": 0})
		require.Equal(t, goal.Nothing, doing())
	})
}

// An action that keeps failing rests, and so does one of whose success nothing
// shows; another action may be tried meanwhile.
func TestControllerLetsWhatDoesNotHelpRest(t *testing.T) {
	for name, res := range map[string]goal.Result{
		"failing": {End: goal.Failed, Why: "no"}, "refused": {End: goal.Refused}, "hollow": {End: goal.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, store.NewMem(), &goal.Options{Cooldown: -1}, zero("x"))
				b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return res, nil }
				var rested time.Duration
				for range 100 {
					b.read(map[string]any{"x": 1})
					if doing, r := b.tick(); doing[0] == goal.Resting {
						require.Contains(t, r.Goals[0].Why, "came to nothing 3 times")
						rested = r.Goals[0].Until.Sub(r.At)
						break
					}
					idle(time.Second)
				}
				require.Equal(t, 3, b.count())
				require.Greater(t, rested, 9*time.Minute)
				b.effects = append(b.effects, reason.Effect{Domain: "m", Path: "data.x"})
				doing, _ := b.tick()
				require.Equal(t, goal.Began, doing[0])
				require.Equal(t, "data.x", b.got[3].Steps[0].Task.Effect.Path)
			})
		})
	}
}

// A dispatch whose steps passed is no success before a reading shows it. The Runner
// and the ledger are told until both have taken it in, after a restart too.
func TestControllerJudgesByWhatItSees(t *testing.T) {
	for name, c := range map[string]struct {
		x    int // as it is read afterwards
		end  goal.End
		why  string
		told string
	}{
		"seen":     {0, goal.Succeeded, "", "goals/x/1-20000101000000 true"},
		"not seen": {1, goal.Unseen, "a reading after it shows the goal violated", "goals/x/1-20000101000000 false"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMem()
				b := newBench(t, st, &goal.Options{Cooldown: time.Minute}, zero("x"))
				b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
					return goal.Result{End: goal.Succeeded, Worker: "w", Deltas: []reason.Delta{{Domain: "m", Path: "data.x", Value: []byte("0")}}}, nil
				}
				b.read(map[string]any{"x": 1})
				b.tick()
				idle(time.Second)
				_, r := b.tick()
				require.Equal(t, goal.Met, r.Goals[0].Status, "by the worker's word")
				require.Equal(t, goal.Unseen, r.Ended[0].End)
				require.Empty(t, b.judged)
				b.c.Close()

				b = newBench(t, st, &goal.Options{Cooldown: time.Minute}, zero("x"))
				b.judging = errors.New("away")
				idle(time.Minute)
				b.read(map[string]any{"x": c.x})
				_, err := b.c.Tick(t.Context())
				require.ErrorContains(t, err, "away")
				b.judging = nil
				_, r = b.tick()
				require.True(t, slices.ContainsFunc(r.Ended, func(o goal.Outcome) bool {
					return o.ID == "goals/x/1-20000101000000" && o.End == c.end && o.Why == c.why
				}), "%+v", r.Ended)
				b.tick()
				require.Equal(t, []string{c.told, c.told}, b.judged, "again after it failed, and then no more")
				for o, err := range b.c.Outcomes(t.Context()) {
					require.NoError(t, err)
					require.Equal(t, []any{c.end, c.why, 1}, []any{o.End, o.Why, o.Done})
					break
				}
			})
		})
	}
}

// A dispatch is judged by what it was for: neither blamed nor credited for what the goal
// was made to want since, by a file or an Override, while it was in flight or across a
// restart.
func TestControllerJudgesByWhatWasAsked(t *testing.T) {
	atMost := func(n int) []byte {
		return fmt.Appendf(nil, "goals: [{id: x, selector: domains.m.data.x, max: %d, cooldown: 1m}]", n)
	}
	for name, edit := range map[string]func(*goal.Goals) error{
		"stricter":       func(gs *goal.Goals) error { _, err := gs.Load(atMost(3)); return err },
		"by an override": func(gs *goal.Goals) error { return gs.Override(goal.Override{Goal: "x", Max: new(3.0)}) },
		"laxer":          func(gs *goal.Goals) error { _, err := gs.Load(atMost(9)); return err },
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					gs, st, w := new(goal.Goals), store.NewMem(), new(goal.World)
					_, err := gs.Load(atMost(5))
					require.NoError(t, err)
					d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}}
					start := func() *bench {
						c, err := goal.New(t.Context(), st, w, gs, d, d, nil)
						require.NoError(t, err)
						t.Cleanup(c.Close)
						return &bench{d, t, w, c}
					}
					b := start()
					d.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
						return goal.Result{End: goal.Succeeded, Worker: "w"}, edit(gs)
					}
					b.read(map[string]any{"x": 10})
					b.tick()
					if restarted {
						b.c.Close()
						b = start()
					}
					idle(2 * time.Minute)
					b.read(map[string]any{"x": map[bool]int{false: 4, true: 7}[name == "laxer"]})
					b.tick()
					require.Empty(t, d.judged)
					require.Equal(t, "domains.m.data.x is at most 5", b.outcomes()[0].Want)
				})
			})
		}
	}
}

// A value that flaps is no hollow success: it was met in between.
func TestControllerActsOnWhatFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), &goal.Options{Cooldown: -1}, zero("x"))
		for i := range 20 {
			b.read(map[string]any{"x": (i + 1) % 2})
			b.tick()
			idle(time.Second)
		}
		require.Equal(t, 10, b.count())
	})
}

func TestControllerTakesTheMostSevereFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goals := []goal.Goal{zero("a"), zero("b"), zero("c"), zero("d")}
		for i, s := range []string{"low", "critical", "", "high"} {
			goals[i].Severity = s
		}
		b := newBench(t, store.NewMem(), &goal.Options{MaxInFlight: 2}, goals...)
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Succeeded}, nil
		}
		b.read(map[string]any{"a": 1, "b": 1, "c": 1, "d": 1})
		doing, _ := b.tick()
		require.Equal(t, []goal.Doing{goal.Waiting, goal.Began, goal.Waiting, goal.Began}, doing)
		doing, r := b.tick()
		require.Equal(t, goal.InFlight, doing[1])
		require.Equal(t, "goals/b/1-20000101000000", r.Goals[1].Dispatch)
		idle(2 * time.Minute)
		doing, _ = b.tick()
		require.Equal(t, []goal.Doing{goal.Began, goal.Resting, goal.Began, goal.Resting}, doing)
		idle(2 * time.Minute)
	})
}

// How fast dispatches are does not decide how many a tick begins.
func TestControllerBeginsWhenTheTickIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), &goal.Options{MaxInFlight: 1}, zero("a"), zero("b"), zero("c"))
		for i := range 3 {
			b.read(map[string]any{"a": 1, "b": 1, "c": 1})
			doing, r := b.tick()
			require.Len(t, slices.DeleteFunc(doing, func(d goal.Doing) bool { return d != goal.Began }), 1)
			require.Len(t, r.Ended, min(i, 1))
			idle(time.Second)
		}
	})
}

// What nobody can change, and what is disabled, is not acted upon.
func TestControllerKnowsWhenNotToAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off, other := zero("x"), goal.Goal{ID: "other", Condition: goal.Condition{Selector: "domains.n.data.y", Max: new(0.0)}}
		off.ID, off.Disabled = "off", true
		b := newBench(t, store.NewMem(), &goal.Options{Actions: []goal.Action{
			{Name: "spill", Skill: "spill", Effects: []goal.Change{sets("data.x", 5)}},
		}}, zero("x"), off, other)
		b.read(map[string]any{"x": 0})
		require.NoError(t, b.w.Set("n", goal.Snapshot{Data: map[string]any{"y": 1}, At: time.Now()}))
		doing, r := b.tick()
		require.Equal(t, []goal.Doing{goal.Nothing, goal.Nothing, goal.Stuck}, doing)
		require.ErrorContains(t, errors.New(r.Goals[2].Why), goal.ErrNoPlan.Error())
		require.Zero(t, b.count())

		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { panic("x") }
		b.effects = nil
		b.skills = []string{"sweep"}
		doing, _ = b.tick()
		require.Equal(t, goal.Stuck, doing[2])
	})
}

// What cannot be read is acted upon if the goal says so, which is no reason to
// do it again at once, or what is disabled.
func TestControllerActsOnTheUnknownIfItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goals, err := goal.ParseGoals([]byte(`goals:
  - {id: told, selector: domains.m.data.x, max: 0, act_on_unknown: true}
  - {id: not told, selector: domains.m.data.x, max: 0}
  - {id: disabled, selector: domains.m.data.x, max: 0, act_on_unknown: true, enabled: false}
`))
		require.NoError(t, err)
		require.True(t, goals[0].ActOnUnknown)
		b := newBench(t, store.NewMem(), nil, goals...)
		doing, _ := b.tick()
		require.Equal(t, goal.Nothing, doing[0], "nobody has looked yet")
		require.NoError(t, b.w.Set("m", goal.Snapshot{At: time.Now(), Err: errors.New("no answer")}))
		var began []int
		for i := range 100 {
			doing, _ := b.tick()
			require.Equal(t, []goal.Doing{goal.Nothing, goal.Nothing}, doing[1:])
			if doing[0] == goal.Began {
				began = append(began, i)
			}
			idle(5 * time.Second)
		}
		require.Equal(t, []int{0, 18, 36}, began, "each 90 seconds later, until it has come to nothing three times")
		b.read(map[string]any{"x": 0})
		doing, _ = b.tick()
		require.Equal(t, goal.Nothing, doing[0])
	})
}

// A course of several actions is one dispatch. What it should have changed has to be
// read, whatever came of it.
func TestControllerDispatchesACourse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := false
		opts := &goal.Options{Actions: []goal.Action{
			{Name: "stop", Skill: "ops", Effects: []goal.Change{sets("data.running", false)}},
			{Name: "clean", Skill: "ops", Pre: []goal.Condition{is("data.running", false)}, Effects: []goal.Change{sets("data.x", 0)}},
		}}
		d := &desk{skills: []string{"ops"}}
		b := benchWith(t, store.NewMem(), d, d, opts, zero("x"))
		b.do = func(_ context.Context, x goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			if fail {
				return goal.Result{End: goal.Failed, Done: 1, Worker: "one"}, nil
			}
			return goal.Result{End: goal.Succeeded}, nil
		}
		for range 2 {
			b.read(map[string]any{"x": 1, "running": true})
			doing, _ := b.tick()
			require.Equal(t, goal.Began, doing[0])
			idle(61 * time.Second)
			doing, r := b.tick()
			require.Equal(t, goal.Resting, doing[0])
			require.Contains(t, r.Goals[0].Why, map[bool]string{false: "effects have to show", true: "not read since"}[fail])
			fail = true
			idle(2 * time.Minute)
		}
		out := b.outcomes()
		require.Equal(t, []string{"stop", "clean"}, out[0].Actions)
		require.Equal(t, []int{2, 1}, []int{out[0].Done, out[1].Done})
		require.Equal(t, "ops", b.got[0].Steps[1].Task.Skill)
	})
}

// Whatever a dispatcher does, its dispatch ends once, and within its lease.
func TestControllerWhateverTheDispatcherDoes(t *testing.T) {
	for name, c := range map[string]struct {
		do  func(ctx context.Context) (goal.Result, error)
		end goal.End
		why string
	}{
		"nothing": {func(context.Context) (goal.Result, error) { return goal.Result{}, nil }, goal.Failed, `the end ""`},
		"error": {func(context.Context) (goal.Result, error) {
			return goal.Result{End: goal.Succeeded}, errors.New("boom")
		}, goal.Failed, "boom"},
		"panic":       {func(context.Context) (goal.Result, error) { panic("boom") }, goal.Failed, "boom"},
		"refuse":      {func(context.Context) (goal.Result, error) { return goal.Result{End: goal.Refused, Why: "refused"}, nil }, goal.Refused, "refused"},
		"interrupted": {func(context.Context) (goal.Result, error) { return goal.Result{End: goal.Interrupted}, nil }, goal.Interrupted, ""},
		"hang": {func(context.Context) (goal.Result, error) {
			idle(time.Hour)
			return goal.Result{End: goal.Succeeded}, nil
		}, goal.Interrupted, "within its lease"},
		"canceled": {func(context.Context) (goal.Result, error) { return goal.Result{}, context.Canceled }, goal.Failed, "canceled"},
		"late":     {func(ctx context.Context) (goal.Result, error) { <-ctx.Done(); return goal.Result{}, ctx.Err() }, goal.Interrupted, "within its lease"},
		"bad delta": {func(context.Context) (goal.Result, error) {
			return goal.Result{End: goal.Succeeded, Deltas: []reason.Delta{{Domain: "m", Path: "x"}}}, nil
		}, goal.Failed, "bad deltas"},
		"secret": {func(context.Context) (goal.Result, error) {
			return goal.Result{End: goal.Failed, Why: "token ghp_0123456789abcdefghijklmnopqrstuvwxyz" + strings.Repeat("x", 1<<20)}, nil
		}, goal.Failed, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard []goal.Outcome
				b := newBench(t, store.NewMem(), &goal.Options{
					Lease: time.Minute, Outcome: func(o goal.Outcome) { heard = append(heard, o); panic("hook") },
				}, zero("x"))
				b.do = func(ctx context.Context, _ goal.Dispatch) (goal.Result, error) { return c.do(ctx) }
				b.read(map[string]any{"x": 1})
				b.tick()
				idle(time.Minute)
				synctest.Wait()
				b.read(map[string]any{"x": 0})
				_, r := b.tick()
				require.Equal(t, b.outcomes(), heard)
				require.Equal(t, heard, r.Ended)
				require.Len(t, heard, 1)
				require.Equal(t, c.end, heard[0].End)
				require.Contains(t, heard[0].Why, c.why)
				require.NotContains(t, heard[0].Why, "ghp_")
				require.LessOrEqual(t, heard[0].Ended.Sub(heard[0].At), time.Minute)
				require.NotEqual(t, goal.InFlight, r.Goals[0].Doing)
				idle(2 * time.Hour) // let the one that hangs end
			})
		})
	}
}

// After a restart, what was begun is not begun again.
func TestControllerAfterARestart(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		t.Run(fmt.Sprint(resumes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMem()
				b := newBench(t, st, &goal.Options{Grace: time.Second}, zero("x"))
				b.do = func(ctx context.Context, _ goal.Dispatch) (goal.Result, error) {
					<-ctx.Done()
					return goal.Result{}, ctx.Err()
				}
				b.read(map[string]any{"x": 1})
				b.tick()
				begin := time.Now()
				b.c.Close()
				b.c.Close()
				require.Equal(t, time.Second, time.Since(begin))
				require.Empty(t, b.outcomes(), "it is for the next one to settle")
				_, err := b.c.Tick(t.Context())
				require.ErrorIs(t, err, store.ErrClosed)

				d := &desk{effects: b.effects}
				a := &again{desk: d}
				by := goal.Runner(d)
				if resumes {
					by = a
				}
				b = benchWith(t, st, d, by, nil, zero("x"))
				b.read(map[string]any{"x": 1})
				b.tick()
				out := b.outcomes()
				require.Len(t, out, 1)
				require.Equal(t, map[bool]goal.End{false: goal.Interrupted, true: goal.Failed}[resumes], out[0].End)
				require.Equal(t, map[bool][]string{true: {"goals/x/1-20000101000000"}}[resumes], a.resumed)
				require.Zero(t, d.count())
				idle(time.Second)
				b.read(map[string]any{"x": 1})
				doing, _ := b.tick()
				require.Equal(t, goal.Began, doing[0])
				require.Equal(t, "goals/x/2-20000101000002", b.got[0].ID)
			})
		})
	}
}

// A controller whose dispatch another one has settled keeps no outcome of its
// own: there is one already.
func TestControllerThatWasTakenOverKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		var heard []goal.Outcome
		a := newBench(t, st, &goal.Options{Outcome: func(o goal.Outcome) { heard = append(heard, o) }}, zero("x"))
		a.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Succeeded}, nil
		}
		a.read(map[string]any{"x": 1})
		a.tick()
		b := newBench(t, st, nil, zero("x"))
		b.tick()
		want := b.outcomes()
		require.Len(t, want, 1)
		require.Equal(t, goal.Interrupted, want[0].End)
		idle(2 * time.Minute)
		a.read(map[string]any{"x": 0})
		doing, r := a.tick()
		require.Equal(t, goal.Nothing, doing[0])
		require.Empty(t, r.Ended)
		require.Empty(t, heard)
		require.Equal(t, want, a.outcomes())
	})
}

// A mark that is damaged is told at every tick, and keeps its own goal from
// being acted upon, and no other.
func TestControllerWithADamagedMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		b := newBench(t, st, &goal.Options{Grace: -1}, zero("x"))
		b.do = func(ctx context.Context, _ goal.Dispatch) (goal.Result, error) {
			<-ctx.Done()
			return goal.Result{}, ctx.Err()
		}
		b.read(map[string]any{"x": 1})
		b.tick()
		b.c.Close()
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "goap/outcome"}) {
			require.NoError(t, err)
			e.Value[len(e.Value)/2] ^= 1
			_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
			require.NoError(t, err)
		}
		b = newBench(t, st, nil, zero("x"), zero("y"))
		for range 3 {
			b.read(map[string]any{"x": 1, "y": 1})
			_, err := b.c.Tick(t.Context())
			require.ErrorIs(t, err, store.ErrDamaged)
			require.ErrorContains(t, err, "goap/outcome")
			synctest.Wait()
		}
		require.Equal(t, 1, b.count())
		require.Equal(t, "y", b.got[0].Goal)
		var of []string
		for o, err := range b.c.Outcomes(t.Context()) {
			require.True(t, err == nil || errors.Is(err, store.ErrDamaged), err)
			of = append(of, o.Goal)
		}
		require.Equal(t, []string{"", "y"}, of, "it goes on after what is damaged")
		//lint:ignore SA1012 that it is refused is the test
		_, err := b.c.Tick(nil)
		require.ErrorContains(t, err, "nil")
	})
}

// A dispatch that ends the process each time it is gone on with is given up.
func TestControllerGivesUpWhatEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		hang := func(ctx context.Context, _ goal.Dispatch) (goal.Result, error) {
			<-ctx.Done()
			return goal.Result{}, ctx.Err()
		}
		a := &again{desk: &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}, do: hang}, hang: true}
		for range 5 {
			b := benchWith(t, st, a.desk, a, &goal.Options{Grace: -1}, zero("x"))
			b.read(map[string]any{"x": 1})
			b.tick()
			b.c.Close()
			if out := b.outcomes(); len(out) > 0 {
				require.Equal(t, goal.Interrupted, out[0].End)
				require.Len(t, a.resumed, 3)
				require.Equal(t, 1, a.count())
				return
			}
		}
		t.Error("it is gone on with for ever")
	})
}

// Cooldowns and rests outlive the process, as far as the history goes back.
func TestControllerRemembersWhatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		opts := &goal.Options{History: 5}
		b := newBench(t, st, opts, zero("x"), zero("y"))
		b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
			return goal.Result{End: map[string]goal.End{"x": goal.Failed, "y": goal.Succeeded}[d.Goal]}, nil
		}
		for range 4 {
			b.read(map[string]any{"x": 1, "y": 1})
			b.tick()
			idle(time.Second)
		}
		require.Equal(t, 4, b.count())
		b.c.Close()
		b = newBench(t, st, opts, zero("x"), zero("y"))
		b.read(map[string]any{"x": 1, "y": 1})
		doing, r := b.tick()
		require.Equal(t, []goal.Doing{goal.Resting, goal.Resting}, doing)
		require.Contains(t, r.Goals[0].Why, "came to nothing 3 times")
		require.Contains(t, r.Goals[1].Why, "effects")
		for range 100 {
			idle(10 * time.Minute)
			b.read(map[string]any{"x": 1, "y": 1})
			b.tick()
		}
		out := b.outcomes()
		require.Len(t, out, 5, "the history is bounded")
		require.Greater(t, out[0].Number, uint64(100))
	})
}

func TestControllerRunsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		x := 1
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Second)
			x = 0
			return goal.Result{End: goal.Succeeded}, nil
		}
		require.NoError(t, b.w.Collect(goal.Collector{Domain: "m", Read: func(context.Context) (any, error) { return map[string]int{"x": x}, nil }}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, b.c.Run(ctx))
		require.Equal(t, 1, b.count())
		require.ErrorIs(t, b.c.Run(t.Context()), store.ErrClosed)
		//lint:ignore SA1012 that it is refused is the test
		require.Error(t, b.c.Run(nil))
	})
}

// One dispatch that changes the values of two goals is enough for both, until these are
// read anew.
func TestControllerCountsOnWhatItHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := zero("z")
		other.Severity = "high"
		st := store.NewMem()
		opts := &goal.Options{Actions: []goal.Action{
			{Name: "mend", Skill: "mend", Effects: []goal.Change{sets("data", obj{"x": 0, "y": 0, "z": 0})}, Cost: 0.5},
		}}
		b := newBench(t, st, opts, zero("x"), other, zero("y"))
		b.skills = []string{"mend"}
		b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
			idle(time.Minute)
			return goal.Result{End: goal.Succeeded}, nil
		}
		b.read(obj{"x": 3, "y": 0, "z": 1})
		doing, r := b.tick()
		require.Equal(t, []goal.Doing{goal.Waiting, goal.Began, goal.Nothing}, doing)
		require.Contains(t, r.Goals[0].Why, "goals/z/1")
		idle(2 * time.Minute)
		doing, r = b.tick()
		require.Equal(t, []goal.Doing{goal.Resting, goal.Resting, goal.Nothing}, doing)
		require.Contains(t, r.Goals[0].Why, "effects have to show")
		b.c.Close()
		b = newBench(t, st, opts, zero("x"), other, zero("y"))
		b.skills = []string{"mend"}
		idle(time.Minute)
		b.read(obj{"x": 3, "y": 0, "z": 0})
		doing, _ = b.tick()
		require.Equal(t, []goal.Doing{goal.Began, goal.Nothing, goal.Nothing}, doing)
	})
}

// Effects that name no value of a world are none, and spoil no others.
func TestControllerPassesOverEffectsThatAreNotOfTheWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		b.effects = []reason.Effect{{Domain: "m", Path: "x"}, {Path: "data.x"}, {Domain: "m", Path: "data." + strings.Repeat("x", 900)}, {Domain: "m", Path: "data.x"}}
		b.read(obj{"x": 1})
		doing, _ := b.tick()
		require.Equal(t, []goal.Doing{goal.Began}, doing)
	})
}

// A collector that hangs keeps neither the others nor the goals waiting.
func TestRunWaitsForNoCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		times := 0
		require.NoError(t, b.w.Collect(goal.Collector{Domain: "hung", Timeout: time.Hour, Read: func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}))
		require.NoError(t, b.w.Collect(goal.Collector{Domain: "m", Every: 5 * time.Second, Read: func(context.Context) (any, error) {
			times++
			return map[string]int{"x": 0}, nil
		}}))
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		require.NoError(t, b.c.Run(ctx))
		require.Equal(t, 12, times)
	})
}

func TestNewControllerListsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	var none *desk
	_, err := goal.New(t.Context(), nil, nil, nil, none, nil, &goal.Options{
		Name: "a\x00", Lease: -1, MaxInFlight: -1, Actions: []goal.Action{
			{}, {Name: "x", Skill: "x"}, {Name: "x", Skill: "x"}, {Name: "y", Skill: "x", Effects: []goal.Change{sets("failing", 0)}},
		},
	})
	for _, part := range []string{"store is nil", "world is nil", "goals is nil", "catalog is nil", "runner is nil", "Name", "Lease", "MaxInFlight", "no name", `action "x": another action has this name`, "neither a skill", "begins with data"} {
		require.ErrorContains(t, err, part)
	}
}

// A controller keeps a goal: what is violated is dispatched to who can change
// it, and how it ended is kept.
func ExampleController() {
	ctx := context.Background()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := new(goal.World)
	goals, err := goal.NewGoals(goal.Goal{
		ID: "ci.green", Condition: goal.Condition{Selector: "domains.ci.data.failing", Max: new(0.0)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := &desk{effects: []reason.Effect{{Domain: "ci", Path: "data.failing"}}}
	d.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
		return goal.Result{End: goal.Succeeded, Worker: "fixer", Deltas: []reason.Delta{{Domain: "ci", Path: "data.failing", Value: []byte("0")}}}, nil
	}
	c, err := goal.New(ctx, store.NewMem(), w, goals, d, d, &goal.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, failing := range []int{3, 0, 0} {
		if err := w.Set("ci", goal.Snapshot{Data: map[string]int{"failing": failing}, At: now}); err != nil {
			fmt.Println(err)
			return
		}
		report, err := c.Tick(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		var g goal.Standing = report.Goals[0]
		fmt.Println(g.Goal, g.Status, g.Doing)
		if err := c.Wait(ctx); err != nil {
			fmt.Println(err)
			return
		}
		for _, x := range d.got {
			fmt.Println("dispatched:", x.Text)
		}
		d.got = nil
		for _, o := range report.Ended {
			fmt.Println(o.ID, o.End, o.Worker)
		}
	}
	// Output:
	// ci.green violated began
	// dispatched: ci.green (domains.ci.data.failing is 3, not at most 0)
	// ci.green met nothing
	// goals/ci.green/1-20260701120001 unknown fixer
	// ci.green met nothing
	// goals/ci.green/1-20260701120001 succeeded fixer
}

// The number of a dispatch is used once, also where the history is shorter than what is
// in flight.
func TestNumbersAreUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		opts := &goal.Options{History: 1}
		b := newBench(t, st, opts, zero("a"), zero("b"), zero("c"))
		b.do = func(_ context.Context, d goal.Dispatch) (goal.Result, error) {
			idle(map[string]time.Duration{"a": 2, "b": 3, "c": 1}[d.Goal] * time.Second)
			return goal.Result{End: goal.Failed}, nil
		}
		b.read(obj{"a": 1, "b": 1, "c": 1})
		b.tick()
		idle(time.Minute)
		b.c.Close()
		seen := ids(b.got)
		b = newBench(t, st, opts, zero("a"), zero("b"), zero("c"))
		b.read(obj{"a": 0, "b": 0, "c": 1})
		b.tick()
		require.NotEmpty(t, b.got)
		require.NotContains(t, seen, b.got[0].ID)
		require.EqualValues(t, 4, b.got[0].Number)
	})
}

// A report has the last Options.History outcomes, also of those that a reading judged.
func TestReportIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), &goal.Options{History: 2, MaxInFlight: 9}, zero("a"), zero("b"), zero("c"))
		b.read(obj{"a": 1, "b": 1, "c": 1})
		b.tick()
		idle(time.Second)
		b.read(obj{"a": 0, "b": 0, "c": 0})
		_, r := b.tick()
		require.Len(t, r.Ended, 2)
		require.Equal(t, goal.Succeeded, r.Ended[1].End)
	})
}

// An effect is acted upon however long its place is.
func TestControllerTakesEffectsOfLongNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := strings.Repeat("x", 900)
		b := newBench(t, store.NewMem(), nil, goal.Goal{ID: "x", Condition: goal.Condition{Selector: "domains.m.data." + x, Max: new(0.0)}})
		b.effects = []reason.Effect{{Domain: "m", Path: "data." + x}}
		b.read(obj{x: 1})
		doing, r := b.tick()
		require.Equal(t, []goal.Doing{goal.Began}, doing, r.Goals[0].Why)
	})
}

// Run may be called more than once, for the race detector.
func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, store.NewMem(), nil, zero("x"))
		require.NoError(t, b.w.Collect(goal.Collector{Domain: "m", Read: func(context.Context) (any, error) { return nil, errors.New("no") }}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			go func() { _ = b.c.Run(ctx) }()
		}
		<-ctx.Done()
		synctest.Wait()
	})
}

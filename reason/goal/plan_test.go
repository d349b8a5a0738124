package goal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

func aim(c goal.Condition) goal.Goal { return goal.Goal{ID: "g", Condition: c} }

func atMost(path string, v float64) goal.Condition {
	return goal.Condition{Selector: "domains.m." + path, Max: &v}
}

func names(c goal.Course) string {
	var out []string
	for _, a := range c.Actions {
		out = append(out, a.Name)
	}
	return strings.Join(out, ", ")
}

func TestPlanOrdersActions(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"built": false, "tested": false, "deployed": false, "failing": 5}).State(noon)
	actions := []goal.Action{
		{Name: "deploy", Pre: []goal.Condition{is("data.tested", true)}, Effects: []goal.Change{sets("data.deployed", true)}},
		{Name: "test", Pre: []goal.Condition{is("data.built", true), atMost("data.failing", 0)}, Effects: []goal.Change{sets("data.tested", true)}},
		{Name: "build", Effects: []goal.Change{sets("data.built", true)}},
		{Name: "fix one", Effects: []goal.Change{adds("data.failing", -1)}, Cost: 2},
		{Name: "fix all", Effects: []goal.Change{sets("data.failing", 0)}, Cost: 10.5},
		{Name: "fix two", Effects: []goal.Change{adds("data.failing", -2), sets("data.built", false)}, Cost: 3.5},
	}
	c, err := goal.Plan(s, aim(is("data.deployed", true)), actions)
	require.NoError(t, err)
	require.Equal(t, "fix two, fix two, build, fix one, test, deploy", names(c))
	require.Equal(t, 12.0, c.Cost)
	require.False(t, c.Guess)

	c, err = goal.Plan(s, aim(is("data.built", false)), actions)
	require.NoError(t, err)
	require.Equal(t, goal.Course{}, c, "it is met already")
}

// TestPlanDoesNotCountTwice: one action that serves two preconditions is not
// estimated as two.
func TestPlanDoesNotCountTwice(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"a": 0, "b": 0, "goal": 0}).State(noon)
	c, err := goal.Plan(s, aim(is("data.goal", 1)), []goal.Action{
		{Name: "at once", Effects: []goal.Change{sets("data.goal", 1)}, Cost: 4.5},
		{Name: "both", Effects: []goal.Change{sets("data.a", 1), sets("data.b", 1)}, Cost: 3},
		{Name: "finish", Pre: []goal.Condition{is("data.a", 1), is("data.b", 1)}, Effects: []goal.Change{sets("data.goal", 1)}},
	})
	require.NoError(t, err)
	require.Equal(t, "both, finish", names(c))
}

// TestPlanByEffect: an action that only says what it can change is tried if
// that is what the goal is about, a part of it, or what it is a part of.
func TestPlanByEffect(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"ci": obj{"failing": 3, "red": true}}).State(noon)
	for path, found := range map[string]bool{
		"data.ci.failing": true, "data.ci": true, "data": true, "data.ci.failing.x": true, "data.ci.red": false, "data.ci.fail": false,
	} {
		c, err := goal.Plan(s, aim(atMost("data.ci.failing", 0)), []goal.Action{{Name: "a", Effects: []goal.Change{alters(path)}}})
		if found {
			require.NoError(t, err, path)
			require.Equal(t, "a", names(c))
			require.True(t, c.Guess)
		} else {
			require.ErrorIs(t, err, goal.ErrNoPlan, path)
		}
	}
	actions := []goal.Action{
		{Name: "worker", Effects: []goal.Change{alters("data.ci.failing")}, Cost: 5},
		{Name: "needs red gone", Pre: []goal.Condition{is("data.ci.red", false)}, Effects: []goal.Change{alters("data.ci.failing")}},
		{Name: "paint", Effects: []goal.Change{sets("data.ci.red", false)}},
	}
	c, err := goal.Plan(s, aim(atMost("data.ci.failing", 0)), actions)
	require.NoError(t, err)
	require.Equal(t, "paint, needs red gone", names(c), "a guess comes last")
	actions[0].Cost = 2
	c, err = goal.Plan(s, aim(atMost("data.ci.failing", 0)), actions)
	require.NoError(t, err)
	require.Equal(t, "worker", names(c), "of equal cost, the shorter")
	actions = append(actions, goal.Action{Name: "zeal", Effects: []goal.Change{sets("data.ci.failing", 0)}, Cost: 2})
	c, err = goal.Plan(s, aim(atMost("data.ci.failing", 0)), actions)
	require.NoError(t, err)
	require.Equal(t, "zeal", names(c), "rather than a guess")
	require.False(t, c.Guess)
}

// TestPlanSaysWhatIsMissing: in words.
func TestPlanSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"deployed": false, "tested": false, "n": 0})
	pre := func(c ...goal.Condition) []goal.Condition { return c }
	deploy := goal.Action{Name: "deploy", Pre: pre(is("data.tested", true)), Effects: []goal.Change{sets("data.deployed", true)}}
	for want, c := range map[string]struct {
		goal    goal.Condition
		actions []goal.Action
	}{
		"no action changes domains.m.data.deployed":                                              {is("data.deployed", true), nil},
		"no course of the 1 actions that bear on it makes domains.m.data.deployed is equal to 1": {is("data.deployed", 1), []goal.Action{deploy}},
		`makes domains.m.data.deployed is equal to true; "deploy" needs that domains.m.data.tested is equal to true, ` +
			`but domains.m.data.tested is false, not equal to true`: {is("data.deployed", true), []goal.Action{deploy}},
		`"test" needs that domains.ci.data.up is truthy, but unknown: domain "ci" was never read and has no collector`: {
			is("data.deployed", true),
			[]goal.Action{deploy, {
				Name: "test", Pre: pre(goal.Condition{Selector: "domains.ci.data.up"}), Effects: []goal.Change{sets("data.tested", true)},
			}},
		},
		"no course of the 2 actions": { // that it alters it does not help
			is("data.deployed", true), []goal.Action{deploy, {Name: "test", Effects: []goal.Change{alters("data.tested")}}},
		},
		"no course of the 3 actions": {is("data.deployed", true), []goal.Action{ // what one changes, another undoes
			{Name: "a", Effects: []goal.Change{sets("data.n", 1), sets("data.tested", false)}},
			{Name: "b", Effects: []goal.Change{sets("data.n", 0), sets("data.tested", true)}},
			{Name: "c", Pre: pre(is("data.tested", true), is("data.n", 1)), Effects: []goal.Change{sets("data.deployed", true)}},
		}},
		"and 1 more": {is("data.deployed", true), []goal.Action{
			{Name: "1", Pre: pre(is("data.x", 1)), Effects: []goal.Change{sets("data.deployed", true)}},
			{Name: "2", Pre: pre(is("data.x", 1)), Effects: []goal.Change{sets("data.deployed", true)}},
			{Name: "3", Pre: pre(is("data.x", 1)), Effects: []goal.Change{sets("data.deployed", true)}},
			{Name: "4", Pre: pre(is("data.x", 1)), Effects: []goal.Change{sets("data.deployed", true)}},
		}},
		`"1" needs that domains.m.data.b is equal to 1`: {is("data.a", 1), []goal.Action{
			{Name: "1", Pre: pre(is("data.b", 1)), Effects: []goal.Change{sets("data.a", 1)}},
			{Name: "2", Pre: pre(is("data.a", 1)), Effects: []goal.Change{sets("data.b", 1)}},
		}},
		"makes domains.m.data.gone is at least 5": {
			goal.Condition{Selector: "domains.m.data.gone", Min: new(5.0)},
			[]goal.Action{{Name: "add", Effects: []goal.Change{adds("data.gone", 1)}}},
		},
	} {
		_, err := goal.Plan(w.State(noon), aim(c.goal), c.actions)
		require.ErrorIs(t, err, goal.ErrNoPlan)
		require.ErrorContains(t, err, want)
	}
}

func TestPlanBounds(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"n": 0.0}).State(noon)
	step := goal.Action{Name: "step", Effects: []goal.Change{adds("data.n", 1)}}
	g := aim(is("data.n", 50))
	c, err := goal.Plan(s, g, []goal.Action{step})
	require.NoError(t, err)
	require.Len(t, c.Actions, 50)
	_, err = goal.Plan(s, aim(is("data.n", reason.MaxTasks+1)), []goal.Action{step})
	require.ErrorIs(t, err, goal.ErrBound)
	require.NotErrorIs(t, err, goal.ErrNoPlan)
	_, err = goal.Plan(s, aim(is("data.n", 0.5)), []goal.Action{step})
	require.ErrorIs(t, err, goal.ErrBound)
	var many []goal.Action
	for i := range goal.MaxSteps + 1 {
		many = append(many, goal.Action{Name: fmt.Sprint(i), Effects: []goal.Change{adds("data.n", 1)}})
	}
	_, err = goal.Plan(s, g, many)
	require.ErrorIs(t, err, goal.ErrBound)
	_, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok)
	_, err = goal.Plan(s, aim(is("data.m", 1)), many)
	require.ErrorIs(t, err, goal.ErrNoPlan, "none of them bears on it")
	var ways []goal.Action // to more states than are looked into
	for i := range 16 {
		ways = append(ways, goal.Action{Name: fmt.Sprint(i), Effects: []goal.Change{sets(fmt.Sprintf("data.o.k%d", i), 1)}})
	}
	_, err = goal.Plan(s, aim(is("data.o", 1)), ways)
	require.ErrorIs(t, err, goal.ErrBound)

	// Values that grow with each step are bounded together.
	big := world(t, obj{"big": strings.Repeat("x", 1<<19), "n": 0}).State(noon)
	actions := []goal.Action{step, {Name: "all", Effects: []goal.Change{sets("data.n", 0), sets("data", "no")}}}
	_, err = goal.Plan(big, aim(is("data.n", -1)), actions)
	require.ErrorIs(t, err, goal.ErrBound)
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"n": 0}).State(noon)
	_, err := goal.Plan(s, goal.Goal{}, nil)
	require.ErrorContains(t, err, "bad selector")
	bad := goal.Action{
		Pre:     []goal.Condition{{Selector: "x"}, {Selector: "domains.m.data", Operator: "like"}},
		Effects: []goal.Change{{Effect: reason.Effect{Domain: "m", Path: "failing"}}, adds("data.n", math.Inf(1)), {Effect: reason.Effect{Domain: "m", Path: "data"}, Op: "mul", Value: 1}},
		Cost:    math.NaN(),
	}
	long := goal.Action{Name: strings.Repeat("x", goal.MaxName+1), Cost: -1}
	_, err = goal.Plan(s, aim(is("data.n", 1)), []goal.Action{bad, long, {Name: "twice"}, {Name: "twice"}})
	for _, want := range []string{
		"no name", "bad selector", `operator "like"`, "begins with data", "Inf", `"mul"`, "cost NaN", "cost -1",
		"name: 257 is over", `action "twice": another action has this name`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.Error(t, bad.Check())
	require.NoError(t, goal.Action{Name: "a", Skill: "a"}.Check())
}

// TestPlanTrustsNoOldReading: what is too old is unknown to preconditions, and
// nothing is added to it.
func TestPlanTrustsNoOldReading(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"n": 1, "ready": true, "part": obj{"a": 1}})
	g := aim(atMost("data.n", 0))
	g.MaxAge = time.Minute
	down := []goal.Action{{Name: "down", Effects: []goal.Change{adds("data.n", -1)}}}
	_, err := goal.Plan(w.State(after(60)), g, down)
	require.NoError(t, err)
	_, err = goal.Plan(w.State(after(61)), g, down)
	require.ErrorIs(t, err, goal.ErrBound)
	c, err := goal.Plan(w.State(after(61)), g, []goal.Action{{Name: "set", Effects: []goal.Change{sets("data.n", 0)}}})
	require.NoError(t, err)
	require.Equal(t, "set", names(c))

	set := []goal.Action{{Name: "set", Pre: []goal.Condition{is("data.ready", true)}, Effects: []goal.Change{sets("data.n", 0)}}}
	_, err = goal.Plan(w.State(after(3600)), g, set)
	require.ErrorContains(t, err, `was last read 1h0m0s ago`)

	whole := aim(goal.Condition{Selector: "domains.m.data.part"})
	_, err = goal.Plan(w.State(after(3600)), whole, []goal.Action{{Name: "a", Effects: []goal.Change{sets("data.part.a", 1)}}})
	require.ErrorIs(t, err, goal.ErrNoPlan, "what else is in it is not known")
}

// domain is a random small planning problem.
type domain struct {
	data    any
	goal    goal.Goal
	actions []goal.Action
}

// drawDomain draws values that lie in one another, so that effects overlap.
func drawDomain(t *rapid.T) domain {
	paths := []string{"data.a", "data.b", "data.o.x", "data.o.y", "data.o", "data.l.0", "data.l.1"}
	small := rapid.IntRange(0, 3)
	value := func(path string) any {
		switch path {
		case "data.o":
			return obj{"x": small.Draw(t, "x"), "y": small.Draw(t, "y")}
		default:
			return small.Draw(t, "v")
		}
	}
	cond := func() goal.Condition {
		path := rapid.SampledFrom(paths).Draw(t, "of")
		sel := "domains.m." + path
		switch rapid.IntRange(0, 4).Draw(t, "test") {
		case 0:
			return goal.Condition{Selector: sel, Min: new(float64(small.Draw(t, "min")))}
		case 1:
			return goal.Condition{Selector: sel, Max: new(float64(small.Draw(t, "max")))}
		case 2:
			return goal.Condition{Selector: sel, Operator: "neq", Expected: value(path)}
		case 3:
			return goal.Condition{Selector: "domains.m.data.o", Distribution: map[string]float64{"x": 0.75}}
		default:
			return goal.Condition{Selector: sel, Operator: "eq", Expected: value(path)}
		}
	}
	change := func() goal.Change {
		path := rapid.SampledFrom(paths).Draw(t, "changes")
		if path != "data.o" && rapid.Bool().Draw(t, "add") {
			return adds(path, float64(rapid.SampledFrom([]int{-2, -1, 1, 2}).Draw(t, "by")))
		}
		return sets(path, value(path))
	}
	var d domain
	d.data = obj{"a": 0, "b": 1, "o": obj{"x": 0, "y": 2}, "l": []int{1, 0}}
	d.goal = aim(cond())
	for i := range 5 { // most are met already
		if i == 4 || !holds(t, d.data, d.goal) {
			break
		}
		d.goal = aim(cond())
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "actions") {
		a := goal.Action{Name: fmt.Sprint("a", i), Cost: float64(rapid.IntRange(1, 4).Draw(t, "cost"))}
		for range rapid.IntRange(0, 2).Draw(t, "pre") {
			a.Pre = append(a.Pre, cond())
		}
		for range rapid.IntRange(1, 2).Draw(t, "effects") {
			a.Effects = append(a.Effects, change())
		}
		if rapid.IntRange(0, 4).Draw(t, "alters") == 0 {
			a.Effects = []goal.Change{alters(rapid.SampledFrom(paths).Draw(t, "path"))}
		}
		d.actions = append(d.actions, a)
	}
	return d
}

// do returns the world after an action, as a state has it; nil if the
// action cannot be taken. It is what plans are held against.
func do(t require.TestingT, data any, a goal.Action) any {
	w := new(goal.World)
	require.NoError(t, w.Set("m", goal.Snapshot{Data: data, At: noon}))
	for _, c := range a.Pre {
		if aim(c).Evaluate(w, noon).Status != goal.Met {
			return nil
		}
	}
	known := slices.DeleteFunc(slices.Clone(a.Effects), func(c goal.Change) bool { return c.Op == "" })
	s, err := w.State(noon).After(known)
	require.NoError(t, err)
	r, err := s.Read("domains.m.data")
	require.NoError(t, err)
	return r.Value
}

func holds(t require.TestingT, data any, g goal.Goal) bool {
	w := new(goal.World)
	require.NoError(t, w.Set("m", goal.Snapshot{Data: data, At: noon}))
	return g.Evaluate(w, noon).Status == goal.Met
}

// cheapest searches all that can be done, the cheapest first, up to a cost, and
// returns the least cost of meeting the goal; infinity if there is no way that
// cheap. More says that something dearer is left.
func cheapest(t require.TestingT, d domain, upTo float64) (cost float64, more bool) {
	type place struct {
		cost float64
		data any
	}
	open := []place{{0, d.data}}
	done := map[string]bool{}
	guess := math.Inf(1)
	for len(open) > 0 {
		i := 0
		for j := range open {
			if open[j].cost < open[i].cost {
				i = j
			}
		}
		p := open[i]
		open = slices.Delete(open, i, i+1)
		raw, err := json.Marshal(p.data)
		require.NoError(t, err)
		switch {
		case p.cost > upTo || guess <= p.cost:
			return guess, true
		case done[string(raw)]:
			continue
		case holds(t, p.data, d.goal):
			return p.cost, true
		}
		done[string(raw)] = true
		for _, a := range d.actions {
			to := do(t, p.data, a)
			if to == nil {
				continue
			}
			if e := a.Effects[0]; e.Op == "" {
				if goal.Overlaps(e.Effect, d.goal.Effect()) {
					guess = min(guess, p.cost+a.Cost)
				}
				continue // knowing less opens no way
			}
			open = append(open, place{p.cost + a.Cost, to})
		}
	}
	return guess, false
}

// TestPlanIsCheapest: a plan can be carried out as World has it, meets the
// goal, and costs what an exhaustive search finds; where there is none, that
// finds none.
func TestPlanIsCheapest(t *testing.T) {
	t.Parallel()
	ends := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := drawDomain(t)
		w := new(goal.World)
		require.NoError(t, w.Set("m", goal.Snapshot{Data: d.data, At: noon}))
		c, err := goal.Plan(w.State(noon), d.goal, d.actions)

		shuffled := slices.Clone(d.actions)
		rand.New(rand.NewPCG(1, uint64(len(d.actions)))).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, errAgain := goal.Plan(w.State(noon), d.goal, shuffled)
		require.Equal(t, c, again, "the order of the actions does not matter")
		require.Equal(t, err, errAgain)

		if err != nil {
			least, _ := cheapest(t, d, 8)
			if errors.Is(err, goal.ErrBound) {
				ends["bound"]++
				return
			}
			ends["none"]++
			require.ErrorIs(t, err, goal.ErrNoPlan)
			require.Equal(t, math.Inf(1), least)
			return
		}
		least, _ := cheapest(t, d, c.Cost)
		require.Equal(t, least, c.Cost)
		data, sum := d.data, 0.0
		for i, a := range c.Actions {
			sum += a.Cost
			if data = do(t, data, a); c.Guess && i == len(c.Actions)-1 {
				require.NotNil(t, data)
				require.True(t, goal.Overlaps(a.Effects[0].Effect, d.goal.Effect()))
				ends["guess"]++
				return
			}
			require.NotNil(t, data, "the preconditions of %s", a.Name)
		}
		require.Equal(t, sum, c.Cost)
		require.True(t, holds(t, data, d.goal))
		ends[fmt.Sprint("length ", len(c.Actions))]++
	})
	t.Log(ends)
}

// A course that is cheaper and too long does not hide one that is not.
func TestPlanWhereTheCheaperWayIsTooLong(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"n": 0, "ready": 0, "goal": 0}).State(noon)
	n := float64(goal.MaxActions - 1)
	c, err := goal.Plan(s, aim(is("data.goal", 1)), []goal.Action{
		{Name: "step", Effects: []goal.Change{adds("data.n", 1)}, Cost: 0.01},
		{Name: "jump", Effects: []goal.Change{sets("data.n", n)}, Cost: 5},
		{Name: "ready", Pre: []goal.Condition{is("data.n", n)}, Effects: []goal.Change{sets("data.ready", 1)}},
		{Name: "finish", Pre: []goal.Condition{is("data.ready", 1)}, Effects: []goal.Change{sets("data.goal", 1)}},
	})
	require.NoError(t, err)
	require.Equal(t, "jump, ready, finish", names(c))
}

// chain is a goal that takes so many actions, in order, among others that do
// as much for something else that the goal might need.
func chain(depth, actions int) domain {
	data := obj{}
	var as []goal.Action
	for i := range actions {
		lane, at := i/depth, i%depth
		path := fmt.Sprintf("data.l%d_%d", lane, at)
		data[strings.TrimPrefix(path, "data.")] = 0
		a := goal.Action{Name: fmt.Sprint("act ", i), Effects: []goal.Change{sets(path, 1)}, Cost: 1 + float64(i%7)/10}
		if at > 0 {
			a.Pre = append(a.Pre, is(fmt.Sprintf("data.l%d_%d", lane, at-1), 1))
		}
		if at == depth-1 { // each lane ends in what the goal is about
			a.Effects = append(a.Effects, sets("data.goal", 1))
			a.Cost += float64(lane) / 100
		}
		as = append(as, a)
	}
	data["goal"] = 0
	return domain{data, aim(is("data.goal", 1)), as}
}

func TestPlanChain(t *testing.T) {
	t.Parallel()
	d := chain(6, 24)
	c, err := goal.Plan(world(t, d.data).State(noon), d.goal, d.actions)
	require.NoError(t, err)
	require.Len(t, c.Actions, 6)
	require.Equal(t, 7.5, c.Cost)
}

// beside is a domain with so many switches among other values, all of which are to be on
// before the last action.
func beside(switches, others int) domain {
	data := obj{"done": false}
	for i := range others {
		data[fmt.Sprint("other", i)] = strings.Repeat("x", 30)
	}
	last := goal.Action{Name: "last", Effects: []goal.Change{sets("data.done", true)}}
	d := domain{data: data, goal: aim(is("data.done", true))}
	for i := range switches {
		path := fmt.Sprintf("data.on%d", i)
		data[path[len("data."):]] = false
		last.Pre = append(last.Pre, is(path, true))
		d.actions = append(d.actions, goal.Action{Name: path, Effects: []goal.Change{sets(path, true)}})
	}
	d.actions = append(d.actions, last)
	return d
}

// A plan costs no more for what lies beside the values that it is about, though a worker may change all of that.
func TestPlanDoesNotGrowWithWhatLiesBeside(t *testing.T) {
	allocs := func(others int) float64 {
		d := beside(2, others)
		d.actions = append(d.actions, goal.Action{Name: "anything", Effects: []goal.Change{alters("data")}, Cost: 100})
		s := world(t, d.data).State(noon)
		return testing.AllocsPerRun(1, func() {
			course, err := goal.Plan(s, d.goal, d.actions)
			require.NoError(t, err)
			require.Len(t, course.Actions, 3)
		})
	}
	require.Less(t, allocs(2000), 2*allocs(0))
}

func BenchmarkPlan(b *testing.B) {
	one := domain{data: obj{"failing": 3}, goal: aim(atMost("data.failing", 0))}
	for i := range goal.MaxSteps {
		one.actions = append(one.actions, goal.Action{
			Name: fmt.Sprint("worker ", i), Effects: []goal.Change{alters("data.failing")}, Cost: 1 + float64(i*7919%1000)/1000,
		})
	}
	large := domain{data: obj{}, goal: aim(goal.Condition{
		Selector: "domains.m.data", Distribution: map[string]float64{"y": 0.001}, Tolerance: new(0.0),
	})}
	for i := range 2000 {
		large.data.(obj)[fmt.Sprint("key", i)] = strings.Repeat("x", 30)
	}
	for i := range 4 {
		large.actions = append(large.actions, goal.Action{Name: fmt.Sprint(i), Effects: []goal.Change{sets(fmt.Sprintf("data.key%d", i), "y")}})
	}
	for name, d := range map[string]domain{
		"actions=11/beside":   beside(10, 20_000),
		"actions=24/depth=6":  chain(6, 24),
		"actions=64/one step": one,
		"value=86KB":          large,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := world(b, d.data).State(noon)
			for b.Loop() {
				if _, err := goal.Plan(s, d.goal, d.actions); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkState(b *testing.B) {
	b.ReportAllocs()
	w := new(goal.World)
	for i := range 20 {
		data := obj{}
		for j := range 200 {
			data[fmt.Sprint("k", j)] = obj{"n": j, "s": "text"}
		}
		require.NoError(b, w.Set(fmt.Sprint("d", i), goal.Snapshot{Data: data, At: noon}))
	}
	g := goal.Goal{Condition: goal.Condition{Selector: "domains.d7.data.k100.n", Max: new(5.0)}}
	for b.Loop() {
		if v := g.Evaluate(w, noon); v.Status != goal.Violated {
			b.Fatal(v.Reason)
		}
	}
}

package goal_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goal"
)

// TestCases evaluates the goals of testdata/goals.json. A row whose selector
// finds nothing records what is not done here: there, a missing reading is a
// violation, here it is unknown.
func TestCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/goals.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Goal  rawGoal
				State struct {
					Domains map[string]struct{ Data json.RawMessage }
				}
			}
			Want struct {
				Violated bool
				Severity string
				Actual   any
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.Len(t, f.Cases, 20)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			w := new(goal.World)
			for name, d := range c.Input.State.Domains {
				require.NoError(t, w.Set(name, goal.Snapshot{Data: d.Data, At: noon}))
			}
			v := c.Input.Goal.goal(c.Name).Evaluate(w, noon)
			switch {
			case strings.Contains(c.Name, "missing violated"):
				require.Equal(t, goal.Unknown, v.Status)
			case !c.Want.Violated:
				require.NotEqual(t, goal.Violated, v.Status)
			default:
				require.Equal(t, goal.Violated, v.Status)
				require.Equal(t, c.Want.Severity, v.Severity)
				require.Equal(t, c.Want.Actual, v.Actual)
				require.Equal(t, noon, v.At)
			}
			require.NotEmpty(t, v.Reason)
		})
	}
}

// rawGoal is a goal as the rows have it.
type rawGoal struct {
	Selector, Operator, Pattern string
	Min, Max, Tolerance         *float64
	Expected                    any
	Distribution                map[string]float64
	Enabled                     *bool
}

func (r rawGoal) goal(name string) goal.Goal {
	kind, _, _ := strings.Cut(name, ":")
	g := goal.Goal{ID: name, Disabled: r.Enabled != nil && !*r.Enabled, Condition: goal.Condition{
		Selector: r.Selector, Type: kind, Min: r.Min, Max: r.Max, Operator: r.Operator, Expected: r.Expected,
		Distribution: r.Distribution, Tolerance: r.Tolerance, Pattern: r.Pattern,
	}}
	return g
}

func TestConditions(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	data := m{
		"n": 5, "zero": 0, "no": false, "yes": true, "empty": "", "s": "a", "null": nil, "none": []any{},
		"list": []any{"a", "b", "b", 1}, "obj": m{"x": "a"}, "work": m{"feature": 4, "defect": 6},
		"agents": m{"gpt-4.1": m{"rate": 0.5}}, "half": 0.5,
	}
	s := world(t, data).State(noon)
	shares := func(k string, v float64) goal.Condition {
		return goal.Condition{Distribution: map[string]float64{k: v}}
	}
	inv := func(op string, v any) goal.Condition { return goal.Condition{Operator: op, Expected: v} }
	for _, c := range []struct {
		path string
		test goal.Condition
		want goal.Status
	}{
		{"n", goal.Condition{}, goal.Met},
		{"zero", goal.Condition{}, goal.Violated},
		{"no", inv("falsy", nil), goal.Met},
		{"empty", inv("falsy", nil), goal.Met},
		{"null", inv("falsy", nil), goal.Met},
		{"none", inv("truthy", nil), goal.Met},
		{"gone", inv("falsy", nil), goal.Unknown},
		{"gone", inv("neq", 1), goal.Unknown},
		{"null", inv("eq", nil), goal.Met},
		{"n", inv("eq", 5), goal.Met},
		{"n", inv("eq", "5"), goal.Violated},
		{"n", inv("neq", 6), goal.Met},
		{"obj", inv("eq", map[string]string{"x": "a"}), goal.Met},
		{"list", inv("eq", []any{"a", "b", "b", 1}), goal.Met},
		{"list", inv("eq", []any{"a", "b", "b"}), goal.Violated},
		{"s", inv("not_in", "a"), goal.Violated},
		{"s", inv("not_in", []string{"b"}), goal.Met},
		{"s", inv("like", "a"), goal.Violated},
		{"s", inv("eq", make(chan int)), goal.Violated},
		{"n", goal.Condition{Type: "threshold"}, goal.Met},
		{"s", goal.Condition{Type: "threshold"}, goal.Violated},
		{"yes", goal.Condition{Min: new(0.0)}, goal.Violated},
		{"null", goal.Condition{Min: new(0.0)}, goal.Unknown},
		{`agents["gpt-4.1"].rate`, goal.Condition{Min: new(0.7)}, goal.Violated},
		{"list.3", goal.Condition{Max: new(1.0)}, goal.Met},
		{"list[3]", goal.Condition{Max: new(1.0)}, goal.Met},
		{"list.4", goal.Condition{Max: new(1.0)}, goal.Unknown},
		{"list.03", goal.Condition{Max: new(1.0)}, goal.Unknown},
		{"list", shares("1", 0.25), goal.Met},
		{"work", shares("feature", 0.4), goal.Met},
		{"work", shares("feature", 0.6), goal.Violated},
		{"list", shares("b", 0.6), goal.Met},
		{"list", goal.Condition{Distribution: map[string]float64{"b": 0.6}, Tolerance: new(0.0)}, goal.Violated},
		{"none", shares("b", 0.1), goal.Violated},
		{"null", shares("b", 0.1), goal.Unknown},
		{"none", goal.Condition{Pattern: "x"}, goal.Met},
		{"obj", goal.Condition{Pattern: "^a$"}, goal.Met},
		{"s", goal.Condition{Pattern: "a"}, goal.Violated},
		{"n", goal.Condition{Type: "distribution"}, goal.Met},
	} {
		g := goal.Goal{ID: "g", Condition: c.test}
		g.Selector = "domains.m.data." + c.path
		if strings.HasPrefix(c.path, "agents[") {
			require.Equal(t, g.Selector, goal.Selector("m", "agents", "gpt-4.1", "rate"))
		}
		v := g.In(s)
		require.Equal(t, c.want, v.Status, "%s: %s", g.Condition, v.Reason)
		require.Equal(t, "medium", v.Severity)
	}
}

// TestTolerance: what lies at the tolerance is within it, however it rounds.
func TestTolerance(t *testing.T) {
	t.Parallel()
	s := world(t, map[string]any{"list": strings.Split("a a a a b b b c c d", " ")}).State(noon)
	for want := range 11 {
		g := goal.Goal{Condition: goal.Condition{
			Selector:     "domains.m.data.list",
			Distribution: map[string]float64{"a": float64(want) / 10},
		}}
		require.Equal(t, want < 3 || want > 5, g.In(s).Status == goal.Violated, "0.4 against 0.%d", want)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	w := world(t, map[string]any{"failing": 3, "mix": []any{"a", "b"}})
	require.NoError(t, w.Apply(deltas("data.failing", "2"), noon))
	for want, g := range map[string]goal.Goal{
		"domains.m.data.failing is 2, not at most 0":                               {Condition: goal.Condition{Selector: "domains.m.data.failing", Max: new(0.0)}},
		`domains.m.data.mix is {"a":0.5,"b":0.5}, not spread as {"a":0.9} (± 0.1)`: {Condition: goal.Condition{Selector: "domains.m.data.mix", Distribution: map[string]float64{"a": 0.9}}},
		"unknown: domains.m.data.gone is not in what was read":                     {Condition: goal.Condition{Selector: "domains.m.data.gone"}},
		`unknown: domain "x" was never read and has no collector`:                  {Condition: goal.Condition{Selector: "domains.x.data.gone"}},
		`unknown: bad selector "x": want domains.<domain>.data.<keys>`:             {Condition: goal.Condition{Selector: "x"}},
		"the goal is disabled": {Disabled: true},
		"unknown: domains.m.data.mix is 2m0s old, more than 1m0s":      {MaxAge: time.Minute, Condition: goal.Condition{Selector: "domains.m.data.mix"}},
		`domains.m.data.mix is ["a","b"], not one of ["x"]`:            {Condition: goal.Condition{Selector: "domains.m.data.mix", Operator: "in", Expected: []string{"x"}}},
		`domains.m.data.mix is all like "^.$": ["a","b"]`:              {Condition: goal.Condition{Selector: "domains.m.data.mix", Pattern: "^.$"}},
		`domains.m.data.failing is other than 4: 2`:                    {Condition: goal.Condition{Selector: "domains.m.data.failing", Operator: "neq", Expected: 4}},
		`domains.m.data.failing is at least 1 and at most 2: 2`:        {Condition: goal.Condition{Selector: "domains.m.data.failing", Min: new(1.0), Max: new(2.0)}},
		`domains.m.data.failing is 2, not at least 3 and at most 3`:    {Condition: goal.Condition{Selector: "domains.m.data.failing", Min: new(3.0), Max: new(3.0)}},
		`domains.m.data.failing is 2, not equal to {"x":"<b>"}`:        {Condition: is("data.failing", map[string]string{"x": "<b>"})},
		`domains.m.data.failing is 2, not falsy`:                       {Condition: goal.Condition{Selector: "domains.m.data.failing", Operator: "falsy"}},
		`domains.m.data.mix is ["a","b"], not a number`:                {Condition: goal.Condition{Selector: "domains.m.data.mix", Type: "threshold"}},
		`domains.m.data.mix is none of ["x"]: ["a","b"]`:               {Condition: goal.Condition{Selector: "domains.m.data.mix", Operator: "not_in", Expected: []string{"x"}}},
		`domains.m.data.failing is 2, not spread as {"a":0.9} (± 0.1)`: {Condition: goal.Condition{Selector: "domains.m.data.failing", Distribution: map[string]float64{"a": 0.9}}},
	} {
		at := after(30)
		if g.MaxAge > 0 {
			at = after(120)
		}
		require.Equal(t, want, g.Evaluate(w, at).Reason)
	}
}

// TestChecks: all that is wrong is said at once.
func TestChecks(t *testing.T) {
	t.Parallel()
	g := goal.Goal{
		Severity: "huge", MaxAge: -1, Cooldown: -1, Description: strings.Repeat("x", 9<<10),
		Condition: goal.Condition{
			Selector: "nowhere",
			Min:      new(math.NaN()), Max: new(math.Inf(1)),
		},
	}
	err := g.Check()
	for _, want := range []string{
		"no id", `severity "huge"`, "max_age", "cooldown", "description", `bad selector "nowhere"`, "min is not", "max is not",
	} {
		require.ErrorContains(t, err, want)
	}
	for want, test := range map[string]goal.Condition{
		"min 2 is above max 1":     {Min: new(2.0), Max: new(1.0)},
		`unknown operator "like"`:  {Operator: "like"},
		"needs a list":             {Operator: "in", Expected: 1},
		"is not JSON":              {Operator: "eq", Expected: math.NaN()},
		"tolerance is -1":          {Tolerance: new(-1.0)},
		"bad pattern":              {Pattern: "("},
		"pattern: 2000 is over":    {Pattern: strings.Repeat("x", 2000)},
		`the share of "a" is NaN`:  {Distribution: map[string]float64{"a": math.NaN()}},
		`the share of "b" is 1.01`: {Distribution: map[string]float64{"b": 1.01}},
	} {
		test.Selector = "domains.m.data.x"
		require.ErrorContains(t, test.Check(), want)
	}
	require.NoError(t, goal.Goal{ID: "g", Condition: is("data.x", 1)}.Check())
	long := goal.Condition{Selector: "domains.m.data.x", Operator: strings.Repeat("x", 100<<10)}
	require.Less(t, len(long.Check().Error()), 512)
	require.Less(t, len(new(goal.World).Set(long.Operator, goal.Snapshot{}).Error()), 512)
}

func TestIDs(t *testing.T) {
	t.Parallel()
	require.EqualError(t, goal.Goal{Condition: is("data.x", 1)}.Check(), "a goal has no id")
	require.Error(t, goal.Goal{ID: strings.Repeat("x", 257), Condition: is("data.x", 1)}.Check())
}

func TestPlanOfNothing(t *testing.T) {
	t.Parallel()
	g := goal.Goal{ID: "g", Condition: is("data.x", 1)}
	c, err := goal.Plan(world(t, obj{"x": 0}).State(noon), g, nil)
	require.ErrorIs(t, err, goal.ErrNoPlan)
	require.NotErrorIs(t, err, goal.ErrBound)
	require.Equal(t, goal.Course{}, c)
}

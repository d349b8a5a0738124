package goap_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goap"
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
				Severity goap.Severity
				Actual   any
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.Len(t, f.Cases, 20)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			w := goap.NewWorld(nil)
			for name, d := range c.Input.State.Domains {
				require.NoError(t, w.Set(name, goap.Snapshot{Data: d.Data, At: noon}))
			}
			v := c.Input.Goal.goal(c.Name).Evaluate(w.State(noon))
			switch {
			case strings.Contains(c.Name, "missing violated"):
				require.Equal(t, goap.Unknown, v.Status)
			case !c.Want.Violated:
				require.NotEqual(t, goap.Violated, v.Status)
			default:
				require.Equal(t, goap.Violated, v.Status)
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

func (r rawGoal) goal(name string) goap.Goal {
	g := goap.Goal{ID: name, Disabled: r.Enabled != nil && !*r.Enabled, Condition: goap.Condition{Selector: r.Selector}}
	switch kind, _, _ := strings.Cut(name, ":"); kind {
	case "threshold":
		g.Test = goap.Threshold{Min: r.Min, Max: r.Max}
	case "invariant":
		g.Test = goap.Invariant{Operator: goap.Operator(r.Operator), Expected: r.Expected}
	default:
		g.Test = goap.Distribution{Shares: r.Distribution, Tolerance: r.Tolerance, Pattern: r.Pattern}
	}
	return g
}

func TestConditions(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	data := m{
		"n": 5, "zero": 0, "no": false, "yes": true, "empty": "", "s": "a", "null": nil, "none": []any{},
		"list": []any{"a", "b", "b", 1}, "obj": m{"x": "a"}, "work": m{"feature": 4, "defect": 6},
		"id": json.Number("9007199254740993"), "agents": m{"gpt-4.1": m{"rate": 0.5}}, "half": 0.5,
	}
	s := world(t, data).State(noon)
	shares := func(k string, v float64) goap.Distribution {
		return goap.Distribution{Shares: map[string]float64{k: v}}
	}
	inv := func(op goap.Operator, v any) goap.Invariant { return goap.Invariant{Operator: op, Expected: v} }
	for _, c := range []struct {
		path string
		test goap.Test
		want goap.Status
	}{
		{"n", nil, goap.Met},
		{"zero", nil, goap.Violated},
		{"no", inv(goap.Falsy, nil), goap.Met},
		{"empty", inv(goap.Falsy, nil), goap.Met},
		{"null", inv(goap.Falsy, nil), goap.Met},
		{"none", inv(goap.Truthy, nil), goap.Met},
		{"gone", inv(goap.Falsy, nil), goap.Unknown},
		{"gone", inv(goap.Neq, 1), goap.Unknown},
		{"null", inv(goap.Eq, nil), goap.Met},
		{"n", inv(goap.Eq, 5), goap.Met},
		{"n", inv(goap.Eq, "5"), goap.Violated},
		{"n", inv(goap.Neq, 6), goap.Met},
		{"obj", inv(goap.Eq, map[string]string{"x": "a"}), goap.Met},
		{"list", inv(goap.Eq, []any{"a", "b", "b", 1}), goap.Met},
		{"list", inv(goap.Eq, []any{"a", "b", "b"}), goap.Violated},
		{"s", inv(goap.NotIn, "a"), goap.Violated},
		{"s", inv(goap.NotIn, []string{"b"}), goap.Met},
		{"s", inv("like", "a"), goap.Violated},
		{"s", inv(goap.Eq, make(chan int)), goap.Violated},
		{"id", inv(goap.Eq, int64(9007199254740993)), goap.Met},
		{"id", inv(goap.Eq, int64(9007199254740992)), goap.Violated},
		{"id", goap.Threshold{Min: new(9e15)}, goap.Met},
		{"n", goap.Threshold{}, goap.Met},
		{"s", goap.Threshold{}, goap.Violated},
		{"yes", goap.Threshold{Min: new(0.0)}, goap.Violated},
		{"null", goap.Threshold{Min: new(0.0)}, goap.Unknown},
		{`agents["gpt-4.1"].rate`, goap.Threshold{Min: new(0.7)}, goap.Violated},
		{"list.3", goap.Threshold{Max: new(1.0)}, goap.Met},
		{"list[3]", goap.Threshold{Max: new(1.0)}, goap.Met},
		{"list.4", goap.Threshold{Max: new(1.0)}, goap.Unknown},
		{"list.03", goap.Threshold{Max: new(1.0)}, goap.Unknown},
		{"list", shares("1", 0.25), goap.Met},
		{"work", shares("feature", 0.4), goap.Met},
		{"work", shares("feature", 0.6), goap.Violated},
		{"list", shares("b", 0.6), goap.Met},
		{"list", goap.Distribution{Shares: map[string]float64{"b": 0.6}, Tolerance: new(0.0)}, goap.Violated},
		{"none", shares("b", 0.1), goap.Violated},
		{"null", shares("b", 0.1), goap.Unknown},
		{"none", goap.Distribution{Pattern: "x"}, goap.Met},
		{"obj", goap.Distribution{Pattern: "^a$"}, goap.Met},
		{"s", goap.Distribution{Pattern: "a"}, goap.Violated},
		{"n", goap.Distribution{}, goap.Met},
	} {
		g := goap.Goal{ID: "g", Condition: goap.Condition{Selector: "domains.m.data." + c.path, Test: c.test}}
		if strings.HasPrefix(c.path, "agents[") {
			require.Equal(t, g.Selector, goap.Selector("m", "agents", "gpt-4.1", "rate"))
		}
		v := g.Evaluate(s)
		require.Equal(t, c.want, v.Status, "%s: %s", g.Condition, v.Reason)
		require.Equal(t, goap.Medium, v.Severity)
	}
}

// TestTolerance: what lies at the tolerance is within it, however it rounds.
func TestTolerance(t *testing.T) {
	t.Parallel()
	s := world(t, map[string]any{"list": strings.Split("a a a a b b b c c d", " ")}).State(noon)
	for want := range 11 {
		g := goap.Goal{Condition: goap.Condition{
			Selector: "domains.m.data.list",
			Test:     goap.Distribution{Shares: map[string]float64{"a": float64(want) / 10}},
		}}
		require.Equal(t, want < 3 || want > 5, g.Evaluate(s).Status == goap.Violated, "0.4 against 0.%d", want)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	w := world(t, map[string]any{"failing": 3, "mix": []any{"a", "b"}})
	require.NoError(t, w.Expect("k", []goap.Change{adds("data.failing", -1)}, noon, after(60)))
	for want, g := range map[string]goap.Goal{
		"domains.m.data.failing is 2, not at most 0 (expected, not read)":      {Condition: goap.Condition{Selector: "domains.m.data.failing", Test: goap.Threshold{Max: new(0.0)}}},
		`domains.m.data.mix is {"a":0.5,"b":0.5}, not spread as a 90 % (± 10)`: {Condition: goap.Condition{Selector: "domains.m.data.mix", Test: goap.Distribution{Shares: map[string]float64{"a": 0.9}}}},
		"unknown: domains.m.data.gone is not in what was read":                 {Condition: goap.Condition{Selector: "domains.m.data.gone"}},
		`unknown: domain "x" was never read and has no collector`:              {Condition: goap.Condition{Selector: "domains.x.data.gone"}},
		`unknown: bad selector "x": want domains.<domain>.data.<keys>`:         {Condition: goap.Condition{Selector: "x"}},
		"the goal is disabled": {Disabled: true},
		"unknown: domains.m.data.mix is 2m0s old, more than 1m0s":                       {MaxAge: time.Minute, Condition: goap.Condition{Selector: "domains.m.data.mix"}},
		`domains.m.data.mix is ["a","b"], not one of ["x"]`:                             {Condition: goap.Condition{Selector: "domains.m.data.mix", Test: goap.Invariant{Operator: goap.In, Expected: []string{"x"}}}},
		`domains.m.data.mix is all like "^.$": ["a","b"]`:                               {Condition: goap.Condition{Selector: "domains.m.data.mix", Test: goap.Distribution{Pattern: "^.$"}}},
		`domains.m.data.failing is other than 4: 2 (expected, not read)`:                {Condition: goap.Condition{Selector: "domains.m.data.failing", Test: goap.Invariant{Operator: goap.Neq, Expected: 4}}},
		`domains.m.data.failing is from 1 to 2: 2 (expected, not read)`:                 {Condition: goap.Condition{Selector: "domains.m.data.failing", Test: goap.Threshold{Min: new(1.0), Max: new(2.0)}}},
		`domains.m.data.failing is 2, not 3 (expected, not read)`:                       {Condition: goap.Condition{Selector: "domains.m.data.failing", Test: goap.Threshold{Min: new(3.0), Max: new(3.0)}}},
		`domains.m.data.failing is 2, not equal to {"x":"<b>"} (expected, not read)`:    {Condition: is("data.failing", map[string]string{"x": "<b>"})},
		`domains.m.data.failing is 2, not falsy (expected, not read)`:                   {Condition: goap.Condition{Selector: "domains.m.data.failing", Test: goap.Invariant{Operator: goap.Falsy}}},
		`domains.m.data.mix is ["a","b"], not a number`:                                 {Condition: goap.Condition{Selector: "domains.m.data.mix", Test: goap.Threshold{}}},
		`domains.m.data.mix is none of ["x"]: ["a","b"]`:                                {Condition: goap.Condition{Selector: "domains.m.data.mix", Test: goap.Invariant{Operator: goap.NotIn, Expected: []string{"x"}}}},
		`domains.m.data.failing is 2, not spread as a 90 % (± 10) (expected, not read)`: {Condition: goap.Condition{Selector: "domains.m.data.failing", Test: goap.Distribution{Shares: map[string]float64{"a": 0.9}}}},
	} {
		at := after(30)
		if g.MaxAge > 0 {
			at = after(120)
		}
		require.Equal(t, want, g.Evaluate(w.State(at)).Reason)
	}
}

// TestChecks: all that is wrong is said at once.
func TestChecks(t *testing.T) {
	t.Parallel()
	g := goap.Goal{
		Severity: "huge", MaxAge: -1, Cooldown: -1, Description: strings.Repeat("x", 9<<10),
		Condition: goap.Condition{
			Selector: "nowhere",
			Test:     goap.Threshold{Min: new(math.NaN()), Max: new(math.Inf(1))},
		},
	}
	err := g.Check()
	for _, want := range []string{
		"no id", `severity "huge"`, "max_age", "cooldown", "description", `bad selector "nowhere"`, "min is not", "max is not",
	} {
		require.ErrorContains(t, err, want)
	}
	for want, test := range map[string]goap.Test{
		"min 2 is above max 1":     goap.Threshold{Min: new(2.0), Max: new(1.0)},
		`unknown operator "like"`:  goap.Invariant{Operator: "like"},
		"needs a list":             goap.Invariant{Operator: goap.In, Expected: 1},
		"is not JSON":              goap.Invariant{Operator: goap.Eq, Expected: math.NaN()},
		"tolerance is -1":          goap.Distribution{Tolerance: new(-1.0)},
		"bad pattern":              goap.Distribution{Pattern: "("},
		"pattern: 2000 is over":    goap.Distribution{Pattern: strings.Repeat("x", 2000)},
		`the share of "a" is NaN`:  goap.Distribution{Shares: map[string]float64{"a": math.NaN()}},
		`the share of "b" is 1.01`: goap.Distribution{Shares: map[string]float64{"b": 1.01}},
	} {
		c := goap.Condition{Selector: "domains.m.data.x", Test: test}
		require.ErrorContains(t, c.Check(), want)
	}
	require.NoError(t, goap.Goal{ID: "g", Condition: is("data.x", 1)}.Check())
	require.Less(t, goap.Low.Rank(), goap.High.Rank())
	require.Less(t, goap.High.Rank(), goap.Critical.Rank())
}

func TestGoalError(t *testing.T) {
	t.Parallel()
	e, ok := errors.AsType[*goap.GoalError](goap.Goal{Condition: is("data.x", 1)}.Check())
	require.True(t, ok)
	require.Equal(t, goap.GoalError{Problem: "a goal has no id"}, *e)
	require.EqualError(t, &goap.GoalError{Line: 3, ID: "g", Problem: "odd"}, `line 3: goal "g": odd`)
	require.Error(t, goap.Goal{ID: strings.Repeat("x", goap.MaxID+1), Condition: is("data.x", 1)}.Check())
}

func TestPlanLimits(t *testing.T) {
	t.Parallel()
	g := goap.Goal{ID: "g", Condition: is("data.x", 1)}
	c, err := goap.Plan(world(t, obj{"x": 0}).State(noon), g, nil, &goap.Limits{Expanded: 1, Actions: 1})
	require.ErrorIs(t, err, goap.ErrNoPlan)
	require.NotErrorIs(t, err, goap.ErrBound)
	require.Equal(t, goap.Course{}, c)
}

package goal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

func TestParseGoals(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/goals.yaml")
	require.NoError(t, err)
	goals, err := goal.ParseGoals(raw)
	require.NoError(t, err)
	cond := func(path string, c goal.Condition) goal.Condition {
		c.Selector = "domains." + path
		return c
	}
	require.Equal(t, []goal.Goal{
		{
			ID: "ci.green", Description: "no test fails on main", Severity: "high", MaxAge: 10 * time.Minute, Cooldown: 90 * time.Second,
			Condition: cond("ci.data.failing", goal.Condition{Type: "Threshold", Max: new(0.0)}),
		},
		{ID: "rate", Condition: cond(`fleet.data.agents["gpt-4.1"].rate`, goal.Condition{Min: new(0.7), Max: new(1.0)})},
		{ID: "mix", Disabled: true, Condition: cond("flow.data.work", goal.Condition{
			Distribution: map[string]float64{"feature": 0.6, "1": 0.4}, Tolerance: new(0.0), Pattern: "^.",
		})},
		{ID: "up", Severity: "critical", Condition: cond("bot.data.state", goal.Condition{
			Type: "invariant", Operator: "in", Expected: []any{"up", 3, "2026-01-01", nil, true, map[string]any{"a": uint64(1 << 63)}},
		})},
		{ID: "plain", Condition: cond("bot.data.on", goal.Condition{})},
		{ID: "off", Condition: cond("bot.data.error", goal.Condition{Operator: "falsy"})},
		{ID: "null", Condition: cond("bot.data.error", goal.Condition{Operator: "eq"})},
	}, goals)
	none, err := goal.ParseGoals([]byte("goals: []"))
	require.NoError(t, err)
	require.Empty(t, none)
}

// TestParseGoalsSaysAll: every error of a file is reported, with its line: all that the
// parser finds or, where that is nothing, all flaws of the goals.
func TestParseGoalsSaysAll(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/bad.yaml", "testdata/flaws.yaml"} {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		goals, err := goal.ParseGoals(raw)
		require.Nil(t, goals)
		var want []string
		for i, line := range strings.Split(string(raw), "\n") { // the comments say what is wrong
			if _, comment, found := strings.Cut(line, "# "); found {
				want = append(want, "line "+string(must(json.Marshal(i+1)))+": "+comment)
			}
		}
		require.Equal(t, strings.Join(want, "\n"), err.Error())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestParseGoalsRefuses(t *testing.T) {
	t.Parallel()
	bomb := "goals:\n  - &a {id: x}\n  - &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  - &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
	for in, want := range map[string]string{
		"":                     "the document is empty",
		"# nothing":            "the document is empty",
		"null":                 "needs a list under the key goals",
		"{}":                   "line 1: no goals",
		"goals:":               "needs a list",
		"goals: {}":            "line 1: cannot unmarshal !!map as a list of goals",
		"goals: []\nextra: 1":  "line 2: field extra not found",
		"goals: []\n---\n{}":   "line 2: a second document",
		"goals: []\n---\n{":    "line 3: did not find",
		"goals: [\n}":          "line 1: did not find",
		"goals: [1]":           "line 1: cannot unmarshal !!int `1` as a goal",
		"goals: !!binary xx":   "invalid base64",
		"goals:\n  - [a, b":    "did not find",
		"goals: []\ngoals: []": "line 2: mapping key \"goals\" already defined at line 1",
		"goals:\n  - ? [a]\n    : 1\n    id: x\n    selector: domains.a.data": "cannot unmarshal !!seq into string",
		bomb: "line 3: cannot unmarshal !!seq as a goal",
		"goals:\n" + strings.Repeat("  - {id: x}\n", goal.MaxGoals+1): "goals: 4097 is over the limit of 4096",
		"goals:\n" + strings.Repeat("  - {}\n", 200):                  "and 300 more",
		"goals: " + strings.Repeat("[", 1<<19):                        "exceeded max depth",
		"goals:\n  - {id: a, selector: domains.a.data, operator: eq, expected: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}": "over the limit of 64",
	} {
		_, err := goal.ParseGoals([]byte(in))
		require.ErrorContains(t, err, want, "%.100q", in)
		require.NotContains(t, err.Error(), "yamlGoal")
	}
	_, err := goal.ParseGoals(make([]byte, goal.MaxYAML+1))
	_, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok)
}

const one = "goals: [{id: a, selector: domains.m.data.x}]"

// The last good set stays, and what it came from changes nothing.
func TestLoad(t *testing.T) {
	t.Parallel()
	gs, err := goal.NewGoals(goal.Goal{ID: "first", Condition: is("data.x", obj{"deep": []int{1}})})
	require.NoError(t, err)
	load := func(content string) bool {
		changed, err := gs.Load([]byte(content))
		require.NoError(t, err)
		return changed
	}
	require.True(t, load(one))
	require.Equal(t, "a", gs.All()[0].ID)
	require.False(t, load(one), "it is the same")
	for range 2 {
		changed, err := gs.Load([]byte("goals: [{id: b}]"))
		require.ErrorContains(t, err, "kept as they were")
		require.False(t, changed)
		require.Equal(t, "a", gs.All()[0].ID)
	}
	require.False(t, load(one), "it is the good one again")
	_, err = gs.Load([]byte(one + strings.Repeat(" ", 2<<20)))
	_, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok)
	require.Len(t, gs.All(), 1)
	require.True(t, load("goals: []"))
	require.Empty(t, gs.All())

	var zero goal.Goals
	require.Empty(t, zero.All())
	changed, err := zero.Load([]byte(one))
	require.NoError(t, err)
	require.True(t, changed)
}

func TestNewGoals(t *testing.T) {
	t.Parallel()
	g := goal.Goal{ID: "g", Condition: goal.Condition{
		Selector: "domains.m.data.x", Distribution: map[string]float64{"a": 1}, Tolerance: new(0.5),
	}}
	_, err := goal.NewGoals(g, g, goal.Goal{ID: "h"})
	require.EqualError(t, err, "goal \"g\": the id is that of another goal\n"+
		`goal "h": bad selector: there is none`)
	_, err = goal.NewGoals(make([]goal.Goal, goal.MaxGoals+1)...)
	require.Error(t, err)

	gs, err := goal.NewGoals(g)
	require.NoError(t, err)
	gs.All()[0] = goal.Goal{}
	require.Equal(t, []goal.Goal{g}, gs.All(), "the slice is the caller's")
}

// TestLoadWhileReading is for the race detector: readers see one set or the
// other.
func TestLoadWhileReading(t *testing.T) {
	t.Parallel()
	gs, err := goal.NewGoals()
	require.NoError(t, err)
	two := "goals: [{id: a, selector: domains.m.data.x}, {id: b, selector: domains.m.data.y}]"
	var wg sync.WaitGroup
	for _, content := range []string{one, two, "goals: {}"} {
		wg.Go(func() {
			for range 20 {
				_, _ = gs.Load([]byte(content))
			}
		})
		wg.Go(func() {
			for range 100 {
				require.LessOrEqual(t, len(gs.All()), 2)
			}
		})
	}
	wg.Wait()
}

// FuzzParseGoals: whatever the bytes are, there are either goals that pass
// their own check, or an error.
func FuzzParseGoals(f *testing.F) {
	for _, name := range []string{"testdata/goals.yaml", "testdata/bad.yaml", "testdata/flaws.yaml"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("goals:\n-\n- &g {id: a, selector: domains.m.data.x, operator: in, expected: &e [&d 2026-01-01, *d, !!binary aGk=]}\n" +
		"- {<<: *g, id: b, expected: *e}\n"))
	f.Add([]byte("goals:\n- {id: c, selector: domains.m.data.x, operator: eq, expected: &s [*s, *s]}\n"))
	w := new(goal.World)
	if err := w.Set("m", goal.Snapshot{Data: obj{"x": []any{1, "a", nil, obj{}}}, At: noon}); err != nil {
		f.Fatal(err)
	}
	s := w.State(noon)
	f.Fuzz(func(t *testing.T, data []byte) {
		goals, err := goal.ParseGoals(data)
		if err != nil {
			require.Nil(t, goals)
			require.NotEmpty(t, err.Error())
			return
		}
		_, err = goal.NewGoals(goals...)
		require.NoError(t, err)
		for _, g := range goals {
			require.NotEmpty(t, g.In(s).Reason)
			require.NotEmpty(t, g.String())
		}
	})
}

// A document whose aliases make much of little is refused.
func TestLoadRefusesWhatAliasesExpandTo(t *testing.T) {
	t.Parallel()
	var doc strings.Builder
	fmt.Fprintf(&doc, "goals:\n- {id: first, selector: domains.m.data.x, operator: eq, expected: &s %q}\n", strings.Repeat("x", 500_000))
	for i := range 1000 {
		fmt.Fprintf(&doc, "- {id: g%d, selector: domains.m.data.x, operator: eq, expected: *s}\n", i)
	}
	var gs goal.Goals
	_, err := gs.Load([]byte(doc.String()))
	_, limited := errors.AsType[*store.LimitError](err)
	require.True(t, limited, "%v", err)

	for value, want := range map[string]string{"&a [*a]": "contains itself", "&a [*a, *a]": "over the limit"} {
		_, err = gs.Load([]byte("goals:\n- {id: a, selector: domains.m.data.x, operator: eq, expected: " + value + "}"))
		require.ErrorContains(t, err, want)
	}
}

// Dates are texts, also those of an alias.
func TestLoadTakesDatesAsTexts(t *testing.T) {
	t.Parallel()
	goals, err := goal.ParseGoals([]byte("goals:\n" +
		"- {id: a, selector: domains.m.data.x, operator: eq, expected: &d 2026-01-01}\n" +
		"- {id: b, selector: domains.m.data.x, operator: in, expected: [*d]}\n"))
	require.NoError(t, err)
	require.Equal(t, "2026-01-01", goals[0].Expected)
	require.Equal(t, []any{"2026-01-01"}, goals[1].Expected)
}

// An entry without a goal is a slip of the pen: a goal may have been there.
func TestLoadRefusesEmptyEntries(t *testing.T) {
	t.Parallel()
	const rest = "\n- id: a\n  selector: domains.m.data.x\n"
	for entry, line := range map[string]string{"-": "line 2", "- null": "line 2", "- ~": "line 2"} {
		_, err := goal.ParseGoals([]byte("goals:\n" + entry + rest))
		require.ErrorContains(t, err, line+": an empty entry", entry)
		_, err = goal.ParseGoals([]byte("goals:" + rest + entry + "\n" + entry))
		require.ErrorContains(t, err, "line 4: an empty entry\nline 5: an empty entry", entry)
	}
}

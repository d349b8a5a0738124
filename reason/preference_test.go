package reason_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestChooseCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/soar-decision-impasse.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Acceptable, Require, Prohibit, Reject, Best, Worst, Indifferent []string

				Better [][2]string
				Worse  [][2]string
				Binary [][2]string `json:"binary_indifferent"`
			}
			Want struct {
				Outcome    string
				Candidates []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	for _, c := range f.Cases {
		var ps []reason.Preference
		for is, names := range map[string][]string{
			"require": c.Input.Require, "prohibit": c.Input.Prohibit, "reject": c.Input.Reject,
			"best": c.Input.Best, "worst": c.Input.Worst, "indifferent": c.Input.Indifferent,
		} {
			for _, n := range names {
				ps = append(ps, reason.Preference{Approach: n, Is: is})
			}
		}
		for is, pairs := range map[string][][2]string{"better": c.Input.Better, "worse": c.Input.Worse, "indifferent": c.Input.Binary} {
			for _, p := range pairs {
				ps = append(ps, reason.Preference{Approach: p[0], Is: is, Than: p[1]})
			}
		}
		outcome, of := reason.Choose(c.Input.Acceptable, ps)
		require.Equal(t, c.Want.Outcome, outcome, c.Name)
		require.ElementsMatch(t, c.Want.Candidates, of, c.Name)

		d := reason.Decision{Alternatives: alternatives(c.Input.Acceptable...), Preferences: ps}
		if len(d.Alternatives) == 0 {
			continue
		}
		require.NoError(t, d.Check(), c.Name)
		got := d.Choose()
		want := map[string]string{"tie": "tie", "conflict": "conflict", "constraint-failure": "conflict", "no-change": "no_approach"}
		if kind := want[c.Want.Outcome]; kind != "" {
			require.Equal(t, kind, got.Impasse.Kind, c.Name)
			require.NoError(t, got.Check(), c.Name)
			continue
		}
		require.Contains(t, c.Want.Candidates, got.Approach, c.Name)
		require.Equal(t, "do "+got.Approach, got.Tasks[0].Objective, c.Name)
	}
}

// alternatives have a task each.
func alternatives(approaches ...string) (out []reason.Alternative) {
	for _, a := range approaches {
		out = append(out, reason.Alternative{Approach: a, Tasks: []reason.Task{{Objective: "do " + a}}})
	}
	return out
}

// What is chosen was proposed, is not prohibited, and does not depend on the order of the statements.
func TestChooseProperties(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	statement := rapid.Custom(func(t *rapid.T) reason.Preference {
		p := reason.Preference{Approach: name.Draw(t, "x"), Is: rapid.SampledFrom([]string{
			"require", "prohibit", "reject", "best", "worst", "better", "better", "worse", "indifferent", "indifferent",
		}).Draw(t, "is")}
		if p.Is == "better" || p.Is == "worse" || p.Is == "indifferent" && rapid.Bool().Draw(t, "binary") {
			p.Than = name.Draw(t, "y")
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		proposed := rapid.SliceOfNDistinct(name, 0, 4, rapid.ID).Draw(t, "proposed")
		ps := rapid.SliceOfN(statement, 0, 8).Draw(t, "preferences")
		outcome, of := reason.Choose(proposed, ps)
		require.Equal(t, outcome == "no-change", len(of) == 0)
		for _, n := range of {
			require.Contains(t, proposed, n)
			if outcome == "select" || outcome == "indifferent-choice" {
				require.NotContains(t, ps, reason.Preference{Approach: n, Is: "prohibit"})
			}
		}
		slices.Reverse(proposed)
		slices.Reverse(ps)
		outcome2, of2 := reason.Choose(proposed, ps)
		require.Equal(t, outcome, outcome2)
		require.ElementsMatch(t, of, of2)
	})
}

// Choose takes alternatives one after another, each at most once, and none that is ruled out; it changes nothing of
// the decision that it is given.
func TestAlternativesFollowEachOther(t *testing.T) {
	t.Parallel()
	d := reason.Decision{Alternatives: alternatives("ask", "retry", "rewrite", "guess"), Preferences: []reason.Preference{
		{Approach: "guess", Is: "reject"}, {Approach: "ask", Is: "worse", Than: "rewrite"}, {Approach: "retry", Is: "worst"},
	}}
	require.NoError(t, d.Check())
	var taken []string
	for len(d.Alternatives) > 0 {
		next := d.Choose()
		require.Equal(t, next, d.Choose())
		if rest := (&reason.Decision{Alternatives: next.Alternatives, Preferences: next.Preferences}); len(rest.Alternatives) > 0 {
			require.NoError(t, rest.Check())
		}
		require.Nil(t, next.Impasse)
		require.Equal(t, "do "+next.Approach, next.Tasks[0].Objective)
		taken = append(taken, next.Approach)
		d = reason.Decision{Alternatives: next.Alternatives, Preferences: next.Preferences}
	}
	require.Equal(t, []string{"rewrite", "ask", "retry"}, taken)

	long := strings.Repeat("é", 10_000)
	tied := reason.Decision{Alternatives: alternatives("a\n"+long, "b")}.Choose()
	require.NoError(t, tied.Check())
	require.Equal(t, "tie", tied.Impasse.Kind)
	require.Less(t, len(tied.Impasse.Subgoal), 400)
	require.Nil(t, tied.Alternatives)
	same := reason.Decision{Approach: "x", Tasks: []reason.Task{{Objective: "y"}}}
	require.Equal(t, same, same.Choose())
}

func ExampleDecision_Choose() {
	edit := []reason.Task{{Objective: "edit the cache", Verify: "go test"}}
	d := reason.Decision{Alternatives: []reason.Alternative{{"rewrite", edit}, {"patch", edit}}}
	fmt.Println(d.Choose().Impasse.Kind == "tie")
	d.Preferences = []reason.Preference{{Approach: "patch", Is: "reject"}, {Approach: "rewrite", Is: "reject"}}
	fmt.Println(d.Choose().Impasse.Kind == "no_approach")
	d.Preferences = []reason.Preference{{Approach: "patch", Is: "better", Than: "rewrite"}}
	chosen := d.Choose()
	fmt.Println(chosen.Approach, len(chosen.Tasks), "then", chosen.Alternatives[0].Approach)
	// Output:
	// true
	// true
	// patch 1 then rewrite
}

func TestAlternativesAreChecked(t *testing.T) {
	t.Parallel()
	many := make([]string, 9)
	for i := range many {
		many[i] = fmt.Sprint("approach ", i)
	}
	two := alternatives("a", "b")
	for name, d := range map[string]reason.Decision{
		"tasks too":    {Alternatives: two, Tasks: []reason.Task{{Objective: "x"}}},
		"unclear":      {Alternatives: two, Complexity: reason.Unclear},
		"no name":      {Alternatives: alternatives("a", " ")},
		"one name":     {Alternatives: alternatives("a", "a")},
		"no tasks":     {Alternatives: []reason.Alternative{{Approach: "a"}}},
		"a bad task":   {Alternatives: []reason.Alternative{{Approach: "a", Tasks: []reason.Task{{}}}}},
		"too many":     {Alternatives: alternatives(many...)},
		"unknown word": {Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "nicer"}}},
		"unknown name": {Alternatives: two, Preferences: []reason.Preference{{Approach: "c", Is: "best"}}},
		"unknown than": {Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "better", Than: "c"}}},
		"no than":      {Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "worse"}}},
		"than of best": {Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "best", Than: "b"}}},
		"only a wish":  {Tasks: []reason.Task{{Objective: "x"}}, Preferences: []reason.Preference{{Approach: "a", Is: "best"}}},
		"many a wish":  {Alternatives: two, Preferences: slices.Repeat([]reason.Preference{{Approach: "a", Is: "best"}}, 65)},
	} {
		require.ErrorIs(t, d.Check(), reason.ErrDecision, name)
	}
	d := reason.Decision{Alternatives: two, Preferences: []reason.Preference{{Approach: "a", Is: "indifferent", Than: "b"}}}
	require.NoError(t, d.Check())
	require.Equal(t, "a", d.Choose().Approach, "of equals the first")
	long := alternatives("a", "b")
	for i := range long {
		long[i].Tasks = []reason.Task{{Objective: strings.Repeat("x", 64<<10)}, {Objective: "y"}}
	}
	_, ok := errors.AsType[*store.LimitError]((&reason.Decision{Alternatives: long}).Check())
	require.True(t, ok, "the bound of all tasks holds over all alternatives")
}

package reason_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
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
				Outcome    reason.ChoiceOutcome
				Candidates []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	for _, c := range f.Cases {
		in := c.Input
		for _, w := range in.Worse {
			in.Better = append(in.Better, [2]string{w[1], w[0]})
		}
		got := reason.Preferences{
			Acceptable: in.Acceptable, Require: in.Require, Prohibit: in.Prohibit, Reject: in.Reject,
			Better: in.Better, Best: in.Best, Worst: in.Worst, Indifferent: in.Indifferent, EquallyGood: in.Binary,
		}.Choose()
		require.Equal(t, c.Want.Outcome, got.Outcome, c.Name)
		require.ElementsMatch(t, c.Want.Candidates, got.Candidates, c.Name)
	}
}

// What is chosen was proposed or required, is not prohibited, and does not
// depend on the order of the statements.
func TestChooseProperties(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	names := rapid.SliceOfN(name, 0, 4)
	pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]string { return [2]string{name.Draw(t, "x"), name.Draw(t, "y")} }), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		p := reason.Preferences{
			Acceptable: names.Draw(t, "acceptable"), Prohibit: names.Draw(t, "prohibit"), Reject: names.Draw(t, "reject"),
			Better: pairs.Draw(t, "better"), Best: names.Draw(t, "best"), Worst: names.Draw(t, "worst"),
			Indifferent: names.Draw(t, "indifferent"), EquallyGood: pairs.Draw(t, "equal"),
		}
		if rapid.IntRange(0, 3).Draw(t, "requires") == 0 {
			p.Require = names.Draw(t, "require")
		}
		c := p.Choose()
		_, stuck := c.Impasse()
		require.Equal(t, c.Outcome == reason.NoChange, len(c.Candidates) == 0)
		if !stuck {
			for _, n := range c.Candidates {
				require.True(t, slices.Contains(p.Acceptable, n) || slices.Contains(p.Require, n))
				require.NotContains(t, p.Prohibit, n)
			}
		}
		q := p
		for _, s := range []*[]string{&q.Acceptable, &q.Require, &q.Prohibit, &q.Reject, &q.Best, &q.Worst, &q.Indifferent} {
			*s = slices.Clone(*s)
			slices.Reverse(*s)
		}
		d := q.Choose()
		require.Equal(t, c.Outcome, d.Outcome)
		require.ElementsMatch(t, c.Candidates, d.Candidates)
	})
}

func ExamplePreferences_Choose() {
	p := reason.Preferences{
		Acceptable: []string{"retry", "rewrite", "ask"},
		Reject:     []string{"retry"}, // it has failed three times
	}
	c := p.Choose()
	kind, stuck := c.Impasse()
	fmt.Println(c.Outcome, c.Candidates, kind, stuck)
	p.Better = [][2]string{{"rewrite", "ask"}}
	fmt.Println(p.Choose().Outcome, p.Choose().Candidates)
	// Output:
	// tie [rewrite ask] conflict true
	// select [rewrite]
}

func TestChoiceIsAnImpasse(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[reason.ChoiceOutcome]reason.ImpasseKind{
		reason.Selected: "", reason.AnyOf: "", reason.NoChange: reason.NoApproach,
		reason.Tie: reason.Conflict, reason.Conflicting: reason.Conflict, reason.ConstraintFailure: reason.Conflict,
	} {
		kind, stuck := reason.Choice{Outcome: outcome}.Impasse()
		require.Equal(t, want, kind, outcome)
		require.Equal(t, want != "", stuck, outcome)
	}
}

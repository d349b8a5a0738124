package advice_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/advice"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason/goal"
)

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// Whatever a ledger holds, what is proposed fits its goal, changes it, is told in the
// words of Decode, rests on the evidence that is asked for, and does not depend on the
// order of the ledger.
func TestProposalsFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]*float64{nil, new(-5.0), new(0.0), new(0.5), new(7.0), new(1e300)})
		ids := []string{"a", "b", "c"}
		k := advice.Kept{Controller: "goals"}
		for _, id := range ids {
			g := goal.Goal{ID: id, Disabled: rapid.IntRange(0, 5).Draw(t, "disabled") == 0}
			g.Severity = rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "severity")
			g.Condition = goal.Condition{Selector: "domains.m.data." + id}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				g.Max = new(0.0)
			case 1:
				g.Min = new(1.0)
			case 2:
				g.Min, g.Max = new(0.0), new(0.5)
			}
			k.Goals = append(k.Goals, g)
			if rapid.Bool().Draw(t, "settled") {
				is := advice.Goal{Controller: "goals", Override: goal.Override{Goal: id}}
				k.Settled = append(k.Settled, advice.Settled{Goal: is, Since: now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "since")) * time.Hour)})
			}
		}
		ends := []goal.End{goal.Succeeded, goal.Failed, goal.Failed, goal.Failed, goal.Refused, goal.Interrupted, goal.Unseen}
		for n := range rapid.IntRange(0, 60).Draw(t, "outcomes") {
			o := goal.Outcome{
				ID: fmt.Sprint("goals/", n), Goal: rapid.SampledFrom(append(ids, "gone")).Draw(t, "goal"),
				Actions: rapid.SampledFrom([][]string{nil, {"kick"}, {"kick"}, {"mend"}, {"kick", "mend"}}).Draw(t, "actions"),
				Done:    rapid.IntRange(0, 3).Draw(t, "done"), End: rapid.SampledFrom(ends).Draw(t, "end"),
				Why: rapid.SampledFrom([]string{"", "it is as it was"}).Draw(t, "why"), Actual: number.Draw(t, "actual"),
				Ended: now.Add(-time.Duration(rapid.IntRange(-60, 2000).Draw(t, "minutes")) * time.Minute),
			}
			k.Outcomes = append(k.Outcomes, o)
		}
		for range rapid.IntRange(0, 5).Draw(t, "handed") {
			k.Handed = append(k.Handed, meta.Outcome{Goal: rapid.SampledFrom(ids).Draw(t, "for"), At: now.Add(-time.Hour)})
		}
		out := advice.Goals(now, &k)
		about := map[string]bool{}
		for _, p := range out {
			require.False(t, about[p.Subject], "%s is proposed twice", p.Subject)
			about[p.Subject] = true
			var c advice.Goal
			require.NoError(t, advice.Decode(p.Change, &c))
			gs, err := goal.NewGoals(k.Goals...)
			require.NoError(t, err)
			require.NoError(t, gs.Override(c.Override), "%s", p.Change)
			switch p.Kind {
			case "goal":
				i := slices.Index(ids, c.Goal)
				require.NotEqual(t, k.Goals[i], gs.All()[i], "%s changes nothing", p.Change)
				require.False(t, k.Goals[i].Disabled)
				require.GreaterOrEqual(t, p.Samples, 3)
			case "action":
				require.Contains(t, []int{60, 24 * 60}, c.RestMinutes)
				require.GreaterOrEqual(t, p.Samples, 10)
			default:
				require.Fail(t, p.Kind)
			}
		}
		slices.Reverse(k.Outcomes)
		slices.Reverse(k.Handed)
		require.Equal(t, out, advice.Goals(now, &k))
	})
}

// FuzzDecode reads changes of any bytes: what can be read can be written, and is the
// same then.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"controller":"goals","goal":"g","max":1e308,"disabled":true}`, `{"controller":"c","action":"a","rest_minutes":60}`,
		`{"worker":"w","skill":"s","standing":"paused"}`, `{"scope":"acme","memory":"m","archived":true}`, `{"goal":"\ud800","min":-0}`, `null`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var g, again advice.Goal
		if advice.Decode(raw, &g) == nil {
			gs, err := goal.NewGoals(goal.Goal{ID: "g", Condition: goal.Condition{Selector: "domains.m.data.x", Max: new(0.0)}})
			require.NoError(t, err)
			_ = gs.Override(g.Override) // what does not fit is left out
			require.Len(t, gs.All(), 1)
			text, err := json.Marshal(g)
			require.NoError(t, err)
			require.NoError(t, advice.Decode(text, &again))
			require.Equal(t, g, again)
		}
		var w advice.Worker
		var m advice.Memory
		_, _ = advice.Decode(raw, &w), advice.Decode(raw, &m)
	})
}

// Workers that always succeed do so as often as one another, however often they were asked.
func TestDearerWorkersOfTheSameSuccess(t *testing.T) {
	t.Parallel()
	tasks := func(n int, usd float64) (out []rank.Sample) {
		for i := range n {
			out = append(out, rank.Sample{Key: fmt.Sprint(i), Success: true, CostUSD: usd, At: now.Add(-time.Hour)})
		}
		return out
	}
	dear, cheap := advice.Post{Worker: "dear", Skill: "work"}, advice.Post{Worker: "cheap", Skill: "work"}
	for _, n := range [][2]int{{50, 50}, {60, 50}, {50, 60}, {50, 70}, {150, 70}} {
		out := advice.Workers(now, map[advice.Post][]rank.Sample{dear: tasks(n[0], 0.4), cheap: tasks(n[1], 0.1)},
			func(advice.Post) bool { return true })
		require.Len(t, out, 1, "%v samples", n)
		require.Equal(t, "config", out[0].Kind)
	}
}

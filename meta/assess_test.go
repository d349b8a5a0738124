package meta_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func TestAssessCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/metacognition.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct{ Outcomes []string }
			Want  struct {
				Status      string
				SuccessRate float64 `json:"success_rate"`
				Failures    int     `json:"consecutive_failures"`
				Recommend   string  `json:"recommendation"`
				Pivot       any     `json:"should_pivot"`
				Confidence  string
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			m := open(t, store.NewMem())
			for i, o := range c.Input.Outcomes {
				record(t, m, "s", meta.Outcome{Key: string(rune('a' + i)), Success: o == "ok"})
			}
			a := assess(t, m, "s")
			require.Equal(t, c.Want.Status, a.State)
			require.InDelta(t, c.Want.SuccessRate, a.SuccessRate, 0.0005, "three digits are given")
			require.Equal(t, c.Want.Failures, a.Failures)
			require.Equal(t, c.Want.Recommend, a.Recommendation)
			require.Equal(t, c.Want.Pivot == true, a.Pivot)
			require.Equal(t, c.Want.Confidence, a.Confidence)
			require.Equal(t, a.Recommendation == "keep_going", a.Evidence == nil)
		})
	}
}

func TestNoData(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	record(t, m, "another", meta.Outcome{}, meta.Outcome{}, meta.Outcome{})
	require.Equal(t, meta.Assessment{
		Session: "s", State: "no_data", Recommendation: "keep_going", Confidence: "low",
	}, assess(t, m, "s"))
}

// TestSameApproach says which three failures are one failing approach.
func TestSameApproach(t *testing.T) {
	t.Parallel()
	type o = meta.Outcome
	ok := o{Success: true, Goal: "g", Approach: "a"}
	for name, c := range map[string]struct {
		outcomes []o
		same     int
		want     string
	}{
		"one approach, one goal": {
			[]o{{Goal: "g", Approach: "a"}, {Goal: "g", Approach: "a"}, {Goal: "g", Approach: "a"}}, 3, "pivot_now",
		},
		"one approach, three goals": {
			[]o{{Goal: "g", Approach: "a"}, {Goal: "h", Approach: "a"}, {Goal: "i", Approach: "a"}}, 3, "pivot_now",
		},
		"three approaches, one goal": {
			[]o{{Goal: "g", Approach: "a"}, {Goal: "g", Approach: "b"}, {Goal: "g", Approach: "c"}}, 1, "consider_pivot",
		},
		"three unrelated failures": {
			[]o{{Goal: "g", Approach: "a"}, {Goal: "h", Approach: "b"}, {Goal: "i", Approach: "c"}}, 1, "consider_pivot",
		},
		"three goals without an approach": {
			[]o{{Goal: "g"}, {Goal: "h"}, {Goal: "i"}}, 1, "consider_pivot",
		},
		"one goal without an approach": {
			[]o{{Goal: "g"}, {Goal: "g"}, {Goal: "g"}}, 3, "pivot_now",
		},
		"one goal, the approach named once": {
			[]o{{Goal: "g"}, {Goal: "g", Approach: "a"}, {Goal: "g"}}, 3, "pivot_now",
		},
		"nothing is named": {
			[]o{{}, {}, {}}, 3, "pivot_now",
		},
		"another approach between": {
			[]o{{Approach: "a"}, {Approach: "b"}, {Approach: "a"}, {Approach: "b"}, {Approach: "a"}}, 3, "pivot_now",
		},
		"the last is of another approach": {
			[]o{{Approach: "a"}, {Approach: "a"}, {Approach: "a"}, {Approach: "b"}}, 1, "consider_pivot",
		},
		"a success between": {
			[]o{{Approach: "a"}, {Approach: "a"}, ok, {Approach: "a"}}, 1, "consider_pivot",
		},
		"unrelated failures after many successes": {
			[]o{ok, ok, ok, ok, ok, {Approach: "a"}, {Approach: "b"}, {Approach: "c"}}, 1, "slow_down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t, store.NewMem())
			record(t, m, "s", c.outcomes...)
			a := assess(t, m, "s")
			require.Equal(t, c.want, a.Recommendation)
			require.Equal(t, c.want == "pivot_now", a.Pivot)
			require.Equal(t, c.same, a.Same)
			last := c.outcomes[len(c.outcomes)-1]
			require.Equal(t, last.Goal, a.Goal)
			require.Equal(t, last.Approach, a.Approach)
			unrelated := strings.Contains(strings.Join(a.Evidence, "\n"), "different approaches")
			require.Equal(t, a.Failures >= 3 && !a.Pivot, unrelated, "%q", a.Evidence)
		})
	}
}

func TestEvidenceNamesTheApproach(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	record(t, m, "a", meta.Outcome{Goal: "g", Approach: "sed"})
	record(t, m, "g", meta.Outcome{Goal: "tidy"})
	record(t, m, "n", meta.Outcome{})
	require.Contains(t, assess(t, m, "a").Evidence[0], `the approach "sed"`)
	require.Contains(t, assess(t, m, "g").Evidence[0], `the goal "tidy"`)
	require.Contains(t, assess(t, m, "n").Evidence[0], "without a name")
}

// TestLongRun: what is remembered of a run of failures is bounded, what is
// counted is not.
func TestLongRun(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	const kept = 256
	const n = 2*kept + 10
	for i := range n {
		record(t, m, "s", meta.Outcome{Key: string(rune(1000 + i)), Approach: "a"})
	}
	a := assess(t, m, "s")
	require.Equal(t, n, a.Failures)
	require.Equal(t, n, a.Total)
	require.Equal(t, kept, a.Same)
	require.NoError(t, m.Close())
	require.Equal(t, a, assess(t, open(t, st), "s"))
}

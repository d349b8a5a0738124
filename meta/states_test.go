package meta_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// Each letter is an outcome: s succeeded, every other is a failed approach.
func TestStates(t *testing.T) {
	t.Parallel()
	for outcomes, want := range map[string]struct {
		state          string
		recommendation string
		confidence     string
	}{
		"":         {"no_data", "keep_going", "low"},
		"s":        {"healthy", "keep_going", "high"},
		"aas":      {"struggling", "consider_pivot", "medium"}, // one of three
		"abss":     {"healthy", "keep_going", "high"},
		"a":        {"struggling", "slow_down", "medium"},
		"sa":       {"struggling", "slow_down", "medium"},
		"abc":      {"struggling", "consider_pivot", "medium"},
		"aaa":      {"failing", "pivot_now", "high"},
		"ssssabaa": {"failing", "pivot_now", "high"},
	} {
		m := open(t, store.NewMem())
		for i, c := range outcomes {
			require.NoError(t, m.Record(t.Context(), meta.Outcome{
				Key: fmt.Sprint(i), Session: "s", Success: c == 's', Goal: "mend it", Approach: string(c),
			}))
		}
		a, err := m.Assess(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, want.state, a.State, outcomes)
		require.Equal(t, want.recommendation, a.Recommendation, outcomes)
		require.Equal(t, want.confidence, a.Confidence, outcomes)
		require.Equal(t, want.recommendation == "pivot_now", a.Pivot, outcomes)
	}
}

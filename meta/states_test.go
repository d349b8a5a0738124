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
		state          meta.State
		recommendation meta.Recommendation
		confidence     meta.Confidence
	}{
		"":         {meta.NoData, meta.KeepGoing, meta.Low},
		"s":        {meta.Healthy, meta.KeepGoing, meta.High},
		"aas":      {meta.Struggling, meta.ConsiderPivot, meta.Medium}, // one of three
		"abss":     {meta.Healthy, meta.KeepGoing, meta.High},
		"a":        {meta.Struggling, meta.SlowDown, meta.Medium},
		"sa":       {meta.Struggling, meta.SlowDown, meta.Medium},
		"abc":      {meta.Struggling, meta.ConsiderPivot, meta.Medium},
		"aaa":      {meta.Failing, meta.PivotNow, meta.High},
		"ssssabaa": {meta.Failing, meta.PivotNow, meta.High},
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
		require.Equal(t, want.recommendation == meta.PivotNow, a.Pivot, outcomes)
	}
}

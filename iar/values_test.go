package iar_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/iar"
)

// A Calibration is a plain value: one that was stored goes on as if it had
// never been.
func TestCalibrationIsAValue(t *testing.T) {
	t.Parallel()
	var c iar.Calibration
	for i := range 4 {
		require.NoError(t, c.Add(0.75, i > 0))
	}
	require.NoError(t, c.Add(1, true))
	require.Equal(t, iar.Bin{Count: 4, Successes: 3, Confidence: 3, Squared: 0.75}, c.Bins[7])
	require.Equal(t, iar.Bin{Count: 1, Successes: 1, Confidence: 1}, c.Bins[9])
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	var restored iar.Calibration
	require.NoError(t, json.Unmarshal(raw, &restored))
	require.Equal(t, c, restored)
}

// What is written passes as what a worker would have to send.
func TestReflectionWithoutListsIsWrittenWhole(t *testing.T) {
	t.Parallel()
	raw, err := iar.Reflection{Status: iar.Skipped}.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"status":"Skipped","confidence":0,"summary":"","potential_issues":[],"alignment_check":{}}`, string(raw))
	var v iar.Validator
	require.Empty(t, v.Structure(raw).Issues)
}

func TestIssueNamesTheField(t *testing.T) {
	t.Parallel()
	var v iar.Validator
	res := v.Content(iar.Reflection{Status: iar.Success, Confidence: 2, Summary: "did it"}, iar.Context{})
	require.False(t, res.Valid)
	require.Equal(t, []iar.Issue{{Field: "confidence", Text: "confidence 2 outside [0,1]"}}, res.Issues)
}

func TestLowResonanceIsForgottenAfterFiveBetterOnes(t *testing.T) {
	t.Parallel()
	found := func(tr *iar.Tracker) (kinds []string) {
		for _, f := range tr.Issues() {
			require.NotEmpty(t, f.Text)
			kinds = append(kinds, f.Kind)
		}
		return kinds
	}
	tr := iar.NewTracker(nil)
	record := func(confidence float64) {
		tr.Record("task", iar.Reflection{Status: iar.Success, Confidence: confidence})
	}
	record(0.7)
	require.Empty(t, found(tr), "the bound itself is not low")
	record(0.7 - 0.01)
	for range 4 {
		require.Equal(t, []string{"low_resonance"}, found(tr))
		record(0.9)
	}
	require.Equal(t, []string{"low_resonance"}, found(tr))
	record(0.9)
	require.Empty(t, found(tr))
}

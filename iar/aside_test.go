package iar_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/iar"
)

// Seed 003 has alignment_check as Dict[str, Any]: what is no number is kept, and
// does not count.
func TestAlignmentThatIsNoNumberIsKept(t *testing.T) {
	t.Parallel()
	var v iar.Validator
	const sent = `{"status":"Success","confidence":0.8,"summary":"s","potential_issues":[],
		"alignment_check":{"objective":0.6,"scope":true,"budget":false,"tone":"partly","plan":null,"steps":[1,{"a":"<b>"}]}}`
	res := v.Structure([]byte(sent))
	require.True(t, res.Valid, "%v", res.Issues)
	require.Equal(t, map[string]float64{"objective": 0.6, "scope": 1, "budget": 0}, res.Reflection.AlignmentCheck)
	require.JSONEq(t, `{"tone":"partly","plan":null,"steps":[1,{"a":"<b>"}]}`, string(res.Reflection.Aside))
	require.InDelta(t, (0.8+1.6/3)/2, res.Resonance, 1e-12)
	require.Equal(t, res.Resonance, v.Content(res.Reflection, iar.Context{}).Resonance)

	raw, err := json.Marshal(res.Reflection)
	require.NoError(t, err)
	require.JSONEq(t, `{"status":"Success","confidence":0.8,"summary":"s","potential_issues":[],
		"alignment_check":{"objective":0.6,"scope":1,"budget":0,"tone":"partly","plan":null,"steps":[1,{"a":"<b>"}]}}`, string(raw))

	res = v.Structure([]byte(`{"status":"Success","confidence":0.8,"summary":"s","potential_issues":[],"alignment_check":{"tone":"partly"}}`))
	require.Equal(t, 0.8, res.Resonance, "without a number it is the confidence")
	for _, bad := range []string{"{", "[]", "1", " "} {
		r := iar.Reflection{Status: iar.Success, Aside: []byte(bad)}
		_, err = json.Marshal(r)
		require.Error(t, err, bad)
		res = v.Content(r, iar.Context{})
		require.False(t, res.Valid, bad)
		require.Equal(t, "alignment_check", res.Issues[0].Field)
	}
}

// A reflection goes through JSON and CBOR as it is, and one that was stored
// without Aside is read without it.
func TestAsideSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := reflections().Draw(t, "r")
		others := rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "others")
		maps.DeleteFunc(others, func(name, _ string) bool { _, both := r.AlignmentCheck[name]; return both })
		if len(others) > 0 {
			aside, err := json.Marshal(others)
			require.NoError(t, err)
			r.Aside = aside
		}
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		var again iar.Reflection
		require.NoError(t, json.Unmarshal(raw, &again))
		require.Equal(t, r.AlignmentCheck, again.AlignmentCheck)
		require.Equal(t, r.Aside, again.Aside)

		stored, err := cbor.Marshal(r)
		require.NoError(t, err)
		var read iar.Reflection
		require.NoError(t, cbor.Unmarshal(stored, &read))
		require.Equal(t, r.Aside, read.Aside)
		require.Equal(t, iar.Resonance(r), iar.Resonance(read))
	})
	old, err := cbor.Marshal(map[int]any{1: "Success", 2: 0.5, 5: map[string]float64{"a": 1}})
	require.NoError(t, err)
	var r iar.Reflection
	require.NoError(t, cbor.Unmarshal(old, &r))
	require.Equal(t, iar.Reflection{Status: iar.Success, Confidence: 0.5, AlignmentCheck: map[string]float64{"a": 1}}, r)
}

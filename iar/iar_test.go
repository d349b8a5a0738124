package iar_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/iar"
)

type caseFile struct {
	Cases []struct {
		Name  string
		Input json.RawMessage
		Want  struct {
			Valid      bool
			IssueCount *int `json:"issue_count"`
			Raises     string
			Resonance  float64
			Trend      []float64
			Issues     []string
			Summary    struct {
				Total   int
				Average float64
				Issues  int `json:"issues_detected"`
			}
		}
	}
}

// differs are the rows where the revision that made them is not followed: it
// refuses an integer, raises at a value that is no number, leaves [0,1], and
// takes any dip for a decline.
var differs = map[string]string{
	"validate: confidence int 1 fails the float type check":         "valid",
	"tracker: one dip anywhere in the window counts as degradation": "quiet",
	"resonance: alignment above 1 is not clamped: result exceeds 1": "1",
	"resonance: negative alignment not clamped without issues":      "0",
	"resonance: alignment with a string value raises":               "aside",
}

func TestCases(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/iar.json")
	require.NoError(t, err)
	var f caseFile
	require.NoError(t, json.Unmarshal(b, &f))
	var v iar.Validator
	for _, c := range f.Cases {
		switch group, _, _ := strings.Cut(c.Name, ":"); group {
		case "validate":
			res := v.Structure(c.Input)
			valid := c.Want.Valid || differs[c.Name] == "valid"
			require.Equal(t, valid, res.Valid, "%s: %v", c.Name, res.Issues)
			if valid {
				require.Empty(t, res.Issues, c.Name)
			} else if c.Want.IssueCount != nil {
				require.Len(t, res.Issues, *c.Want.IssueCount, c.Name)
			}
		case "resonance":
			res := v.Structure(c.Input)
			switch differs[c.Name] {
			case "aside":
				require.True(t, res.Valid, c.Name)
				require.JSONEq(t, `{"aligned":"yes"}`, string(res.Reflection.Aside), c.Name)
				require.Equal(t, 0.9, res.Resonance, "%s: without alignment it is the confidence", c.Name)
			case "1":
				require.Equal(t, 1.0, res.Resonance, c.Name)
			case "0":
				require.Zero(t, res.Resonance, c.Name)
			default:
				require.InDelta(t, c.Want.Resonance, res.Resonance, 1e-12, c.Name)
			}
		case "tracker":
			var in struct {
				Resonances []float64
				Window     int
			}
			require.NoError(t, json.Unmarshal(c.Input, &in))
			tr := iar.NewTracker(nil)
			for _, r := range in.Resonances {
				tr.Record("t", of(r))
			}
			require.Equal(t, c.Want.Trend, tr.Trend(in.Window), c.Name)
			kinds := []string{}
			for _, f := range tr.Issues() {
				kinds = append(kinds, f.Kind)
			}
			s := tr.Summary()
			require.Equal(t, c.Want.Summary.Total, s.Total, c.Name)
			require.InDelta(t, c.Want.Summary.Average, s.Mean, 1e-12, c.Name)
			if differs[c.Name] == "quiet" {
				require.Empty(t, kinds, c.Name)
				continue
			}
			require.Equal(t, c.Want.Issues, kinds, c.Name)
			require.Equal(t, c.Want.Summary.Issues, s.Issues, c.Name)
		}
	}
}

// of returns a reflection of that resonance.
func of(resonance float64) iar.Reflection {
	return iar.Reflection{Status: iar.Success, Confidence: resonance, Summary: "s"}
}

const good = `{"status":"Success","confidence":0.9,"summary":"s","potential_issues":["x"],"alignment_check":{"a":1}}`

func TestStructureRefuses(t *testing.T) {
	t.Parallel()
	var v *iar.Validator
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, c := range []struct {
		raw   string
		text  string
		field string
	}{
		{``, "not one JSON object", ""},
		{`null`, "not one JSON object", ""},
		{`[]`, "not one JSON object", ""},
		{`"Success"`, "not one JSON object", ""},
		{good + ` {}`, "not one JSON object", ""},
		{good[:len(good)-1], "not one JSON object", ""},
		{with(`0.9`, `NaN`), "not one JSON object", ""},
		{with(`0.9`, `Infinity`), "not one JSON object", ""},
		{with(`0.9`, `1e999`), "outside [0,1]", "confidence"},
		{with(`0.9`, `-1e999`), "outside [0,1]", "confidence"},
		{with(`0.9`, `90`), "outside [0,1]", "confidence"},
		{with(`0.9`, `"0.9"`), "invalid type", "confidence"},
		{with(`0.9`, `true`), "invalid type", "confidence"},
		{with(`0.9`, `null`), "missing required field", "confidence"},
		{with(`"Success"`, `"success"`), "invalid status", "status"},
		{with(`"Success"`, `"Error"`), "invalid status", "status"},
		{with(`"Success"`, `1`), "invalid type", "status"},
		{with(`"s"`, `["s"]`), "invalid type", "summary"},
		{with(`["x"]`, `"x"`), "invalid type", "potential_issues"},
		{with(`["x"]`, `{}`), "invalid type", "potential_issues"},
		{with(`["x"]`, `[{}]`), "invalid type", "potential_issues"},
		{with(`["x"]`, `[null]`), "invalid type", "potential_issues"},
		{with(`["x"]`, `null`), "missing required field", "potential_issues"},
		{with(`{"a":1}`, `[1]`), "invalid type", "alignment_check"},
		{with(`{"a":1}`, `"aligned"`), "invalid type", "alignment_check"},
		{with(`{"a":1}`, `{"a":1.5}`), "outside [0,1]", "alignment_check"},
		{with(`{"a":1}`, `{"a":-0.1}`), "outside [0,1]", "alignment_check"},
		{with(`{"a":1}`, `{"a":1,"a":0}`), "duplicate", "alignment_check"},
		{with(`{"status"`, `{"status":"Failure","status"`), "duplicate", "status"},
		{with(`"summary"`, `"Confidence":0.1,"summary"`), "duplicate", "confidence"},
		{with(`"status"`, `"Status"`), "missing required field", "status"},
		{with(`"s"`, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), "not one JSON object", ""},
		{with(`"s"`, `"`+strings.Repeat("s", 1<<20)+`"`), "bytes, more than 1048576", ""},
	} {
		res := v.Structure([]byte(c.raw))
		require.False(t, res.Valid, "%.200s", c.raw)
		require.Contains(t, res.Issues[0].Text, c.text, "%.200s", c.raw)
		require.False(t, res.Issues[0].Advisory)
		require.Equal(t, c.field, res.Issues[0].Field, "%.200s", c.raw)
	}
}

func TestStructureAccepts(t *testing.T) {
	t.Parallel()
	var v iar.Validator
	for _, raw := range []string{
		good, "\xef\xbb\xbf" + good, " \r\n" + good + "\n",
		strings.Replace(good, `0.9`, `1`, 1), strings.Replace(good, `0.9`, `-0`, 1), strings.Replace(good, `0.9`, `9e-1`, 1),
		strings.Replace(good, `{"status"`, `{"extra":[{}],"status"`, 1),
		strings.Replace(good, `["x"]`, `[1,true]`, 1),
	} {
		res := v.Structure([]byte(raw))
		r := res.Reflection
		require.True(t, res.Valid, "%s: %v", raw, res.Issues)
		require.Equal(t, iar.Success, r.Status)
		require.False(t, math.Signbit(r.Confidence))
		require.Equal(t, iar.Resonance(r), res.Resonance)
		require.Equal(t, r.Confidence, res.Confidence)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	var v iar.Validator
	nan := math.NaN()
	for _, c := range []struct {
		r     iar.Reflection
		task  string
		valid bool
		texts []string
	}{
		{iar.Reflection{Status: iar.Success, Confidence: 1, Summary: "done"}, "do it", true, nil},
		{iar.Reflection{Status: iar.Skipped}, "", true, nil},
		{iar.Reflection{}, "", false, []string{"invalid status"}},
		{iar.Reflection{Status: iar.Success, Confidence: nan}, "", false, []string{"confidence NaN outside"}},
		{iar.Reflection{Status: iar.Success, Confidence: math.Inf(1)}, "", false, []string{"confidence +Inf outside"}},
		{iar.Reflection{Status: "x", Confidence: -1, AlignmentCheck: map[string]float64{"b": nan, "a": 2, "c": 1}}, "", false, []string{"invalid status", "confidence -1 outside", `alignment "a" is 2`, `alignment "b" is NaN`}},
		{iar.Reflection{Status: iar.Success, PotentialIssues: []string{"slow", "Port D is Blocked."}}, "", true, []string{`a success lists a blocker: "Port D`}},
		{iar.Reflection{Status: iar.Warning, PotentialIssues: []string{"blocked"}}, "", true, nil},
		{iar.Reflection{Status: iar.Success, PotentialIssues: []string{"unblocked late"}}, "", true, nil},
		{iar.Reflection{Status: iar.Failure, AlignmentCheck: map[string]float64{"a": 1, "b": 1}}, "", true, []string{"a failure claims full alignment"}},
		{iar.Reflection{Status: iar.Failure, AlignmentCheck: map[string]float64{"a": 1, "b": 0.5}}, "", true, nil},
		{iar.Reflection{Status: iar.Success, Summary: "Fix the build."}, "fix the build", true, []string{"the summary only repeats the task"}},
	} {
		res := v.Content(c.r, iar.Context{Task: c.task})
		require.Equal(t, c.valid, res.Valid, "%+v: %v", c.r, res.Issues)
		require.Len(t, res.Issues, len(c.texts), "%+v", c.r)
		for i, issue := range res.Issues {
			require.Contains(t, issue.Text, c.texts[i])
			require.Equal(t, c.valid, issue.Advisory, "%+v", c.r)
		}
		require.Equal(t, fmt.Sprint(res), fmt.Sprint(v.Content(c.r, iar.Context{Task: c.task})))
	}
}

func reflections() *rapid.Generator[iar.Reflection] {
	return rapid.Custom(func(t *rapid.T) iar.Reflection {
		unit := rapid.Float64Range(0, 1)
		return iar.Reflection{
			Status:          rapid.SampledFrom([]iar.Status{iar.Success, iar.Failure, iar.Warning, iar.Skipped}).Draw(t, "status"),
			Confidence:      unit.Draw(t, "confidence"),
			Summary:         rapid.String().Draw(t, "summary"),
			PotentialIssues: rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "issues"),
			AlignmentCheck:  rapid.MapOfN(rapid.String(), unit, 0, 6).Draw(t, "alignment"),
		}
	})
}

func TestReflectionSurvivesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := reflections().Draw(t, "r")
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		var v iar.Validator
		res := v.Structure(raw)
		got := res.Reflection
		require.True(t, res.Valid, "%s: %v", raw, res.Issues)
		require.Equal(t, r.AlignmentCheck, got.AlignmentCheck)
		require.Equal(t, r.Confidence, got.Confidence)
		require.Equal(t, v.Content(r, iar.Context{}).Resonance, res.Resonance)
	})
	raw, err := json.Marshal(iar.Reflection{Status: iar.Skipped})
	require.NoError(t, err)
	require.JSONEq(t, `{"status":"Skipped","confidence":0,"summary":"","potential_issues":[],"alignment_check":{}}`, string(raw))
}

func TestResonanceIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}))
		r := reflections().Draw(t, "r")
		r.Confidence = number.Draw(t, "c")
		r.AlignmentCheck = rapid.MapOf(rapid.String(), number).Draw(t, "a")
		got := iar.Resonance(r)
		require.True(t, got >= 0 && got <= 1, got)
		for range 8 {
			require.Equal(t, got, iar.Resonance(r), "the order of the map shows")
		}
	})
}

// TestTrackerRestores: saving and restoring at any point changes nothing.
func TestTrackerRestores(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := slices.Repeat([]iar.Entry{{Task: "b", Status: iar.Success, Resonance: 0.8}}, rapid.IntRange(0, 260).Draw(t, "before"))
		whole, cut := iar.NewTracker(before), iar.NewTracker(before)
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			r := reflections().Draw(t, "r")
			if rapid.Bool().Draw(t, "bad") {
				r.Confidence = math.NaN()
			}
			whole.Record("t", r)
			cut.Record("t", r)
			if rapid.Bool().Draw(t, "restart") {
				raw, err := json.Marshal(cut.Entries())
				require.NoError(t, err)
				var entries []iar.Entry
				require.NoError(t, json.Unmarshal(raw, &entries))
				cut = iar.NewTracker(entries)
			}
			require.Equal(t, whole.Entries(), cut.Entries())
			require.Equal(t, whole.Summary(), cut.Summary())
			require.Equal(t, whole.Issues(), cut.Issues())
			require.Equal(t, whole.Trend(5), cut.Trend(5))
			require.LessOrEqual(t, len(cut.Entries()), 256)
		}
	})
}

func TestTrackerCountsInvalidApart(t *testing.T) {
	t.Parallel()
	tr := iar.NewTracker(nil)
	tr.Record("a", of(0.9))
	tr.Record("b", iar.Reflection{Status: "Error", Confidence: 0.1})
	tr.Record("c", iar.Reflection{Status: iar.Failure, Confidence: math.NaN()})
	s := tr.Summary()
	require.Equal(t, iar.Summary{Total: 1, Invalid: 2, Statuses: map[iar.Status]int{iar.Success: 1}, Mean: 0.9}, s)
	require.Equal(t, []float64{0.9}, tr.Trend(5))
	require.Empty(t, tr.Trend(0))
	require.Empty(t, tr.Trend(-1))
	require.Empty(t, tr.Issues())

	foreign := iar.NewTracker([]iar.Entry{{Resonance: math.NaN()}, {Resonance: 2}, {Resonance: 0.8}})
	require.Equal(t, []float64{0.8}, foreign.Trend(5))
	require.Equal(t, 2, foreign.Summary().Invalid)
}

func TestTrackerKeepsTheLast(t *testing.T) {
	t.Parallel()
	tr := iar.NewTracker(nil)
	for i := range 300 {
		tr.Record("t", of(float64(i)/1000))
	}
	require.Len(t, tr.Entries(), 256)
	require.Equal(t, []float64{0.298, 0.299}, tr.Trend(2))
}

func TestTrackerCopies(t *testing.T) {
	t.Parallel()
	h := []iar.Entry{{Task: "a", Resonance: 0.9}}
	tr := iar.NewTracker(h)
	h[0].Resonance = 0
	tr.Entries()[0].Resonance = 0
	tr.Trend(1)[0] = 0
	require.Equal(t, []float64{0.9}, tr.Trend(1))
}

func degraded(values ...float64) bool {
	tr := iar.NewTracker(nil)
	for _, v := range values {
		tr.Record("t", of(v))
	}
	return slices.ContainsFunc(tr.Issues(), func(f iar.Finding) bool { return f.Kind == "resonance_degradation" })
}

func TestDegradation(t *testing.T) {
	t.Parallel()
	require.True(t, degraded(0.9, 0.89, 0.88, 0.87, 0.86, 0.85), "six in strict decline")
	require.True(t, degraded(0.95, 0.93, 0.94, 0.91, 0.90, 0.88, 0.86, 0.85, 0.82, 0.8), "decline with noise")
	require.True(t, degraded(0.9, 0.9, 0.9, 0.85, 0.85, 0.85, 0.8, 0.8, 0.8, 0.75, 0.75, 0.75), "decline in steps")
	require.False(t, degraded(0.9, 0.8), "two are no trend")
	require.False(t, degraded(0.9, 0.89, 0.88), "a small fall of three")
	require.False(t, degraded(0.91, 0.9, 0.2), "one dip at the end of three")
	require.False(t, degraded(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9))
	require.False(t, degraded(0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92))
	require.False(t, degraded(0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.9, 0.5), "alternating")
}

// TestOneDipIsNoDegradation puts a dip of any depth anywhere in a level series.
func TestOneDipIsNoDegradation(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 40; n++ {
		for at := range n {
			values := slices.Repeat([]float64{0.9}, n)
			values[at] = 0.1
			require.False(t, degraded(values...), "%d of %d", at, n)
			values = values[:0]
			rng := rand.New(rand.NewPCG(uint64(n), uint64(at)))
			for i := range n {
				values = append(values, 0.88+0.02*float64(i%2)+0.01*rng.Float64())
			}
			values[at] = 0.1
			require.False(t, degraded(values...), "%d of %d: %v", at, n, values)
		}
	}
}

func TestDegradationRates(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	rate := func(start, slope float64, n int) float64 {
		const streams = 3000
		fired := 0
		for range streams {
			tr := iar.NewTracker(nil)
			for i := range n {
				v := start + slope*float64(i) + 0.05*rng.NormFloat64()
				tr.Record("t", of(min(1, max(0, v))))
				if slices.ContainsFunc(tr.Issues(), func(f iar.Finding) bool { return f.Kind == "resonance_degradation" }) {
					fired++
					break
				}
			}
		}
		return float64(fired) / streams
	}
	require.LessOrEqual(t, rate(0.8, 0, 50), 0.01)
	require.GreaterOrEqual(t, rate(0.85, -0.01, 25), 0.97)
}

func TestTrackerConcurrently(t *testing.T) {
	t.Parallel()
	tr := iar.NewTracker(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				tr.Record("t", of(0.9))
				tr.Issues()
				tr.Summary()
				tr.Entries()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 100, tr.Summary().Total)
}

func TestCalibration(t *testing.T) {
	t.Parallel()
	var c iar.Calibration
	require.Zero(t, c.Brier())
	require.Zero(t, c.ECE())
	for _, bad := range []float64{math.NaN(), math.Inf(1), -0.1, 1.1} {
		require.ErrorIs(t, c.Add(bad, true), iar.ErrConfidence)
	}
	require.Equal(t, iar.Calibration{}, c)

	for i := range 10 { // says 0.8, succeeds in 6 of 10
		require.NoError(t, c.Add(0.8, i < 6))
	}
	for i := range 10 { // says 0.2, succeeds in 2 of 10
		require.NoError(t, c.Add(0.2, i < 2))
	}
	require.NoError(t, c.Add(1, true))
	require.Equal(t, 21, c.Count())
	require.InDelta(t, (6*0.04+4*0.64+2*0.64+8*0.04)/21, c.Brier(), 1e-12)
	require.InDelta(t, 2.0/21, c.ECE(), 1e-12)
	require.Equal(t, [3]int{10, 10, 1}, [3]int{c.Bins[2].Count, c.Bins[8].Count, c.Bins[9].Count})
	require.Equal(t, 6, c.Bins[8].Successes)
	require.InDelta(t, 8, c.Bins[8].Confidence, 1e-12)

	raw, err := json.Marshal(c)
	require.NoError(t, err)
	var again iar.Calibration
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, c, again)
}

func FuzzStructure(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("\xef\xbb\xbf" + good))
	f.Add([]byte(`{"status":null,"Status":"Success","confidence":1e999,"summary":"\ud800","potential_issues":[1],"alignment_check":{"a":-0}}`))
	f.Add([]byte(strings.Repeat("[", 100)))
	f.Add([]byte(strings.Replace(good, `{"a":1}`, `{"a":1,"b":true,"c":"<partly>","d":null,"e":{"f":[2]}}`, 1)))
	var v iar.Validator
	f.Fuzz(func(t *testing.T, raw []byte) {
		res := v.Structure(raw)
		r := res.Reflection
		require.True(t, res.Resonance >= 0 && res.Resonance <= 1)
		require.True(t, res.Confidence >= 0 && res.Confidence <= 1)
		require.Equal(t, res.Valid, len(res.Issues) == 0)
		if !res.Valid {
			return
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		require.Equal(t, res, v.Structure(again))
		var r2 iar.Reflection
		require.NoError(t, json.Unmarshal(again, &r2))
		require.Equal(t, r, r2)
		require.True(t, v.Content(r, iar.Context{}).Valid)
	})
}

var typical = iar.Reflection{
	Status: iar.Success, Confidence: 0.92, Summary: "Added the missing import and ran the tests of the package.",
	PotentialIssues: []string{"The module file was not tidied."},
	AlignmentCheck:  map[string]float64{"objective": 1, "scope": 0.9},
}

func BenchmarkContent(b *testing.B) {
	var v iar.Validator
	c := iar.Context{Task: "Make the package build again."}
	b.ReportAllocs()
	for b.Loop() {
		v.Content(typical, c)
	}
}

func BenchmarkStructure(b *testing.B) {
	var v iar.Validator
	raw, err := json.Marshal(typical)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		v.Structure(raw)
	}
}

func BenchmarkTracker(b *testing.B) {
	history := slices.Repeat([]iar.Entry{{Task: "t", Status: iar.Success, Confidence: 0.9, Resonance: 0.9}}, 64)
	b.Run("record", func(b *testing.B) {
		tr := iar.NewTracker(history)
		b.ReportAllocs()
		for b.Loop() {
			tr.Record("t", typical)
		}
	})
	b.Run("restore+record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			iar.NewTracker(history).Record("t", typical)
		}
	})
	b.Run("issues", func(b *testing.B) {
		tr := iar.NewTracker(history)
		b.ReportAllocs()
		for b.Loop() {
			tr.Issues()
		}
	})
}

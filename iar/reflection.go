// Package iar is the Integrated Action Reflection: what an action says of itself when it is done, and what a
// series of such statements shows.
//
// [Structure] reads a [Reflection] from JSON and checks its form, [Content] checks whether it fits its task,
// and [Resonance] makes one number in [0,1] of it. A [Tracker] keeps the resonance of recent actions,
// [Findings] says if they are low or falling, and [Copied], [Unsaid], [Alike] and others compare texts.
//
// The form and the formulas are those of the IARValidator and ResonanceTracker of ResonantiA, with two
// changes: a resonance stays in [0,1], and a trend test replaces "any drop is a degradation".
//
// All types are plain values that can be stored as JSON or CBOR; concurrent use of one needs the caller's
// lock. A reflection is an action's claim about itself: whether it is true is for a gate to decide.
package iar

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Status is how an action ended, in its own words.
type Status string

const (
	Success Status = "Success" // done
	Failure Status = "Failure" // not done
	Warning Status = "Warning" // done, with reservations
	Skipped Status = "Skipped" // not tried
)

// Reflection is what an action says of itself. Its JSON has the five fields status, confidence, summary,
// potential_issues and alignment_check.
type Reflection struct {
	Status          Status   `json:"status"`
	Confidence      float64  `json:"confidence"`       // in the quality and correctness of the result, in [0,1]
	Summary         string   `json:"summary"`          // for a person; may be empty
	PotentialIssues []string `json:"potential_issues"` // problems, caveats and limits, one each

	// AlignmentCheck says for each named aspect how well the action served its task: a number in [0,1], or a
	// boolean for 0 and 1. Values of other types are kept and do not count.
	AlignmentCheck map[string]any `json:"alignment_check"`
}

// MarshalJSON writes nil issues and alignment as empty ones, so that the result passes [Structure].
func (r Reflection) MarshalJSON() ([]byte, error) {
	type plain Reflection // without this method
	if r.PotentialIssues == nil {
		r.PotentialIssues = []string{}
	}
	if r.AlignmentCheck == nil {
		r.AlignmentCheck = map[string]any{}
	}
	return json.Marshal(plain(r))
}

// Resonance is the mean of the confidence and the mean alignment, less 0.1 for each potential issue, kept in
// [0,1]. Without alignment it is the confidence less the issues. It is of a reflection that passes [Content].
func Resonance(r Reflection) float64 {
	v, n, sum := r.Confidence, 0.0, 0.0
	for _, aspect := range slices.Sorted(maps.Keys(r.AlignmentCheck)) { // a sum of floats depends on its order
		if a, ok := score(r.AlignmentCheck[aspect]); ok {
			n, sum = n+1, sum+a
		}
	}
	if n > 0 {
		v = (v + sum/n) / 2
	}
	v -= 0.1 * float64(len(r.PotentialIssues))
	return min(1, max(0, v))
}

// score is what a value of an AlignmentCheck counts. A store may bring back a number of another type.
func score(a any) (v float64, ok bool) {
	switch x := reflect.ValueOf(a); {
	case x.Kind() == reflect.Bool && x.Bool():
		return 1, true
	case x.Kind() == reflect.Bool:
		return 0, true
	case x.CanFloat():
		return x.Float(), true
	case x.CanInt():
		return float64(x.Int()), true
	case x.CanUint():
		return float64(x.Uint()), true
	}
	return 0, false
}

func inUnit(v float64) bool { return v >= 0 && v <= 1 } // false for NaN

// Result is what a check of a reflection found.
type Result struct {
	Reflection Reflection // what was checked; of JSON, what could be read
	Valid      bool       // the form is right: what Issues there are is advice
	Issues     []Issue    // in the order of the fields
}

// Issue is one thing wrong with a reflection, or with a series of resonances.
type Issue struct {
	Kind string // the JSON name of the field, "" for the whole; [LowResonance] or [Degradation] of a series
	Text string // words for a person
}

// Structure reads a reflection and checks its form and, where that is right, its values as [Content] does.
// It must be one JSON object of at most 512 KiB that has the five fields under their exact names:
//
//   - status is one of the four statuses, and summary a string, which may be empty
//   - confidence is a number in [0,1]; an integer is a number
//   - potential_issues is an array of strings; a number or boolean in it is read as its text
//   - alignment_check is an object; see [Reflection]
//
// A null field is missing. Other fields are ignored.
func Structure(raw []byte) Result {
	res := Result{Valid: true}
	var values map[string]json.RawMessage
	if len(raw) > 512<<10 || json.Unmarshal(raw, &values) != nil || values == nil {
		res.refuse("", "not one JSON object of at most %d bytes", 512<<10)
		return res
	}
	r, issues := &res.Reflection, []any{}
	for _, f := range []struct {
		name string
		into any
	}{
		{"status", &r.Status}, {"confidence", &r.Confidence}, {"summary", &r.Summary},
		{"potential_issues", &issues}, {"alignment_check", &r.AlignmentCheck},
	} {
		if value := values[f.name]; value == nil || string(value) == "null" {
			res.refuse(f.name, "missing required field: %s", f.name)
		} else if json.Unmarshal(value, f.into) != nil {
			res.refuse(f.name, "invalid type for field %s", f.name)
		}
	}
	for _, issue := range issues {
		switch issue.(type) {
		case string, float64, bool:
			r.PotentialIssues = append(r.PotentialIssues, fmt.Sprint(issue))
		default:
			res.refuse("potential_issues", "invalid type in field potential_issues")
		}
	}
	if res.Valid {
		return Content(*r, "")
	}
	return res
}

// Content checks the values of a reflection, and whether it fits its task; "" where that is unknown. Nil
// issues and alignment are empty ones. Of a valid one it is advice that the summary only repeats the task.
func Content(r Reflection, task string) Result {
	res := Result{Reflection: r, Valid: true}
	if !slices.Contains([]Status{Success, Failure, Warning, Skipped}, r.Status) {
		const want = "invalid status %.64q: want Success, Failure, Warning or Skipped"
		res.refuse("status", want, string(r.Status))
	}
	if !inUnit(r.Confidence) {
		res.refuse("confidence", "confidence %v outside [0,1]", r.Confidence)
	}
	for _, aspect := range slices.Sorted(maps.Keys(r.AlignmentCheck)) {
		if v, counts := score(r.AlignmentCheck[aspect]); counts && !inUnit(v) {
			res.refuse("alignment_check", "alignment %.64q is %v, outside [0,1]", aspect, v)
		}
	}
	if task != "" && strings.EqualFold(task, r.Summary) {
		res.Issues = append(res.Issues, Issue{"summary", "it only repeats the task"})
	}
	return res
}

func (res *Result) refuse(field, format string, args ...any) {
	res.Valid = false
	res.Issues = append(res.Issues, Issue{Kind: field, Text: fmt.Sprintf(format, args...)})
}

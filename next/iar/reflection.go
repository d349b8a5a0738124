// Package iar is the Integrated Action Reflection: what an action says of itself when it is done, and what a
// series of such statements shows.
//
// A [Reflection] has a status, a confidence, a summary, potential issues and an alignment with the task.
// [Structure] reads one from JSON and checks its form, [Content] checks whether it fits its task, and [Resonance]
// turns it into one number in [0,1]. A [Tracker] keeps the resonance of recent actions; [Findings] says whether a
// series of them is low or falling. A [Calibration] compares the confidence that was reported with what came of it.
//
//	res := iar.Structure(raw)
//	if !res.Valid {
//		return fmt.Errorf("reflection: %v", res.Issues)
//	}
//	var t iar.Tracker
//	t.Record("attach panel A", res.Reflection)
//	for _, f := range t.Issues() {
//		log.Print(f.Kind, ": ", f.Text)
//	}
//
// The form and the formulas are those of the IARValidator and ResonanceTracker of ResonantiA, with two changes: a
// resonance stays in [0,1], and a trend test replaces "any drop is a degradation".
//
// All types are plain values that can be stored as JSON or CBOR; concurrent use of one needs the caller's lock. A
// reflection is a claim of the action about itself. Whether it is true is for a gate to decide.
package iar

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
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

	// AlignmentCheck says for each named aspect how well the action served its task, in [0,1]. In JSON a boolean
	// stands for 0 or 1.
	AlignmentCheck map[string]float64 `json:"alignment_check"`

	// Aside is a JSON object of the values of alignment_check that are neither numbers nor booleans; nil if there
	// are none. They do not count, and MarshalJSON writes them back.
	Aside json.RawMessage `json:"-" cbor:"aside,omitempty"`
}

// fields is a Reflection without methods; wire is its form in JSON.
type (
	fields Reflection
	wire   struct {
		*fields
		AlignmentCheck map[string]json.RawMessage `json:"alignment_check"`
	}
)

// MarshalJSON writes all five fields, so that the result passes [Structure]: nil issues and alignment become empty
// ones. An Aside that is no JSON object and a number that JSON does not have are errors.
func (r Reflection) MarshalJSON() ([]byte, error) {
	alignment := map[string]json.RawMessage{}
	if len(r.Aside) > 0 {
		if err := json.Unmarshal(r.Aside, &alignment); err != nil {
			return nil, err
		}
	}
	for name, v := range r.AlignmentCheck {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		alignment[name] = raw
	}
	if r.PotentialIssues == nil {
		r.PotentialIssues = []string{}
	}
	f := fields(r)
	return json.Marshal(wire{&f, alignment})
}

// UnmarshalJSON reads what MarshalJSON writes. It checks no more than that the types are right; see [Structure].
func (r *Reflection) UnmarshalJSON(raw []byte) error {
	w := wire{fields: (*fields)(r)}
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	r.setAlignment(w.AlignmentCheck)
	return nil
}

// setAlignment divides the values of an alignment_check into those that count and those kept aside.
func (r *Reflection) setAlignment(values map[string]json.RawMessage) {
	r.AlignmentCheck, r.Aside = nil, nil
	if values == nil {
		return
	}
	r.AlignmentCheck = make(map[string]float64, len(values))
	aside := map[string]json.RawMessage{}
	for name, value := range values {
		v, ok := number(value)
		switch string(value) {
		case "true":
			v, ok = 1, true
		case "false":
			v, ok = 0, true
		}
		if ok {
			r.AlignmentCheck[name] = v
		} else {
			aside[name] = value
		}
	}
	if len(aside) > 0 {
		r.Aside, _ = json.Marshal(aside) // every value was read as JSON, so this cannot fail
	}
}

// number reads a JSON number. One too large for a float64 is infinity, and -0 is 0.
func number(value json.RawMessage) (float64, bool) {
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	v, _ := strconv.ParseFloat(string(value), 64) // infinity comes with an error
	return v + 0, true
}

// issueCost is what each potential issue takes off the resonance.
const issueCost = 0.1

// Resonance is the mean of the confidence and the mean alignment, less 0.1 for each potential issue, kept in [0,1].
// Without alignment it is the confidence less the issues. A value that is not finite counts as 0.
func Resonance(r Reflection) float64 {
	v := finite(r.Confidence)
	if n := len(r.AlignmentCheck); n > 0 {
		aligned := make([]float64, 0, n)
		for _, a := range r.AlignmentCheck {
			aligned = append(aligned, finite(a))
		}
		slices.Sort(aligned) // the sum of floats depends on their order, which a map does not have
		sum := 0.0
		for _, a := range aligned {
			sum += a
		}
		v = (v + sum/float64(n)) / 2
	}
	v -= issueCost * float64(len(r.PotentialIssues))
	return min(1, max(0, finite(v)))
}

// finite is v, or 0 for NaN and the infinities.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

func inUnit(v float64) bool { return v >= 0 && v <= 1 } // false for NaN

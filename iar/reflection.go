package iar

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Status is how an action ended, in its own words.
type Status string

// The four statuses.
const (
	Success Status = "Success" // done
	Failure Status = "Failure" // not done
	Warning Status = "Warning" // done, with reservations
	Skipped Status = "Skipped" // not tried
)

// Reflection is an action's report about itself. Its JSON has the five fields
// status, confidence, summary, potential_issues and alignment_check.
type Reflection struct {
	Status Status `cbor:"1,keyasint,omitempty" json:"status"`
	// Confidence in the quality and correctness of the result, in [0,1].
	Confidence float64 `cbor:"2,keyasint,omitempty" json:"confidence"`
	// Summary of the action for a human reader. It may be empty.
	Summary string `cbor:"3,keyasint,omitempty" json:"summary"`
	// PotentialIssues are problems, caveats and limits, one each.
	PotentialIssues []string `cbor:"4,keyasint,omitempty" json:"potential_issues"`
	// AlignmentCheck says for each named aspect how well the action served its
	// task, in [0,1]. A boolean in JSON is 0 or 1.
	AlignmentCheck map[string]float64 `cbor:"5,keyasint,omitempty" json:"alignment_check"`
	// Aside holds the other values of the JSON's alignment_check, such as
	// strings, as a JSON object; nil if there are none. They do not count, and
	// MarshalJSON writes them back into alignment_check.
	Aside json.RawMessage `cbor:"6,keyasint,omitempty" json:"-"`
}

// plain is a Reflection without its methods, wire its form in JSON.
type (
	plain Reflection
	wire  struct {
		*plain
		AlignmentCheck map[string]json.RawMessage `json:"alignment_check"`
	}
)

// MarshalJSON writes all five fields. Nil issues and alignment become empty
// ones, not null, so that the result passes [Validator.Structure]. It fails for
// an Aside that is no JSON object and for numbers that JSON does not have.
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
	p := plain(r)
	return json.Marshal(wire{&p, alignment})
}

// UnmarshalJSON reads what MarshalJSON writes. It keeps the values of
// alignment_check that are neither number nor boolean in Aside, and checks
// nothing else: that is for [Validator.Structure].
func (r *Reflection) UnmarshalJSON(raw []byte) error {
	w := wire{plain: (*plain)(r)}
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	r.AlignmentCheck, r.Aside = split(w.AlignmentCheck)
	return nil
}

// split parts the values of an alignment_check into those that count, and an
// object of the others.
func split(values map[string]json.RawMessage) (counted map[string]float64, aside json.RawMessage) {
	if values == nil {
		return nil, nil
	}
	counted, others := make(map[string]float64, len(values)), map[string]json.RawMessage{}
	for name, value := range values {
		if v, ok := score(value); ok {
			counted[name] = v
		} else {
			others[name] = value
		}
	}
	if len(others) > 0 {
		aside, _ = json.Marshal(others) // each value was read as JSON: no error is left
	}
	return counted, aside
}

// score is what a value of an alignment_check counts: a number itself, true 1
// and false 0.
func score(value json.RawMessage) (v float64, ok bool) {
	switch string(value) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	return number(value)
}

// number reads a JSON number. One too large for a float64 is infinity, -0 is 0.
func number(value json.RawMessage) (v float64, ok bool) {
	if strings.IndexByte("-0123456789", value[0]) < 0 {
		return 0, false
	}
	v, _ = strconv.ParseFloat(string(value), 64) // infinity comes with an error
	return v + 0, true
}

// issueCost is what each potential issue takes off the resonance.
const issueCost = 0.1

// Resonance is the mean of r's confidence and its mean alignment, less 0.1 for
// each potential issue, kept in [0,1]. Without alignment it is the confidence
// less the issues. Values that are not finite count as 0. The order of the map
// does not matter.
func Resonance(r Reflection) float64 {
	v := finite(r.Confidence)
	if n := len(r.AlignmentCheck); n > 0 {
		var buf [8]float64
		aligned := buf[:0]
		for _, a := range r.AlignmentCheck {
			aligned = append(aligned, finite(a))
		}
		slices.Sort(aligned) // addition is not associative: always the same order
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

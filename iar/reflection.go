package iar

import (
	"encoding/json"
	"math"
	"slices"
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

// Valid says whether s is one of the four statuses.
func (s Status) Valid() bool {
	switch s {
	case Success, Failure, Warning, Skipped:
		return true
	}
	return false
}

// Reflection is an action's report about itself.
type Reflection struct {
	Status Status `cbor:"1,keyasint,omitempty" json:"status"`
	// Confidence in the quality and correctness of the result, in [0,1].
	Confidence float64 `cbor:"2,keyasint,omitempty" json:"confidence"`
	// Summary of the action for a human reader. It may be empty.
	Summary string `cbor:"3,keyasint,omitempty" json:"summary"`
	// PotentialIssues are problems, caveats and limits, one each.
	PotentialIssues []string `cbor:"4,keyasint,omitempty" json:"potential_issues"`
	// AlignmentCheck says for each named aspect how well the action served its
	// task, in [0,1].
	AlignmentCheck map[string]float64 `cbor:"5,keyasint,omitempty" json:"alignment_check"`
}

// MarshalJSON writes all five fields; nil issues and alignment are empty, not
// null, so that the result passes [Validator.Structure].
func (r Reflection) MarshalJSON() ([]byte, error) {
	type plain Reflection
	if r.PotentialIssues == nil {
		r.PotentialIssues = []string{}
	}
	if r.AlignmentCheck == nil {
		r.AlignmentCheck = map[string]float64{}
	}
	return json.Marshal(plain(r))
}

// issueCost is what each potential issue takes off the resonance.
const issueCost = 0.1

// Resonance is the mean of r's confidence and its mean alignment, or the
// confidence alone if there is no alignment, less 0.1 for each potential issue,
// kept in [0,1]. Values that are not numbers count as 0. It does not depend on
// the order of the map.
func Resonance(r Reflection) float64 {
	var buf [8]float64
	return resonance(&r, r.alignment(buf[:0]))
}

// alignment appends the values of the alignment to buf, in no order.
func (r *Reflection) alignment(buf []float64) []float64 {
	for _, a := range r.AlignmentCheck {
		buf = append(buf, a)
	}
	return buf
}

func resonance(r *Reflection, aligned []float64) float64 {
	v := number(r.Confidence)
	if len(aligned) > 0 {
		slices.Sort(aligned) // addition is not associative: always the same order
		sum := 0.0
		for _, a := range aligned {
			sum += number(a)
		}
		v = (v + sum/float64(len(aligned))) / 2
	}
	v -= issueCost * float64(len(r.PotentialIssues))
	return min(1, max(0, number(v)))
}

func number(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

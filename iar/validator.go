package iar

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Validator checks reflections. The zero value and a nil pointer are ready; all
// methods are safe for concurrent use.
type Validator struct{}

// Result is what a check found.
type Result struct {
	// Valid says that the reflection has the form it should have. A valid
	// reflection may still have issues of kind [Inconsistent].
	Valid bool
	// Issues are what is wrong, in the order of the fields.
	Issues []Issue
	// Confidence is the reflection's own if it is a number in [0,1], else 0.
	Confidence float64
	// Resonance as by the function [Resonance], of what could be read.
	Resonance float64
}

// Kind says what is wrong with a reflection.
type Kind string

// The kinds of an [Issue]. All but Inconsistent make a reflection invalid.
const (
	Malformed    Kind = "malformed"    // not one JSON object
	TooLarge     Kind = "too_large"    // over 1 MiB of JSON
	TooDeep      Kind = "too_deep"     // nested deeper than 64
	Missing      Kind = "missing"      // a required field is absent or null
	WrongType    Kind = "wrong_type"   // a field has another JSON type
	BadValue     Kind = "bad_value"    // out of range, not finite, no status
	Duplicate    Kind = "duplicate"    // a field is there twice, or in two cases of letters
	Inconsistent Kind = "inconsistent" // the fields contradict one another or say nothing
)

// Issue is one thing wrong with a reflection.
type Issue struct {
	Kind  Kind
	Field string // its JSON name; "" for the whole
	Text  string // for a human reader
}

// String returns the text.
func (i Issue) String() string { return i.Text }

// Context is what a reflection is about.
type Context struct {
	// Task is what the action was asked to do; "" if unknown.
	Task string
}

func (r *Result) add(kind Kind, field, format string, args ...any) {
	r.Issues = append(r.Issues, Issue{kind, field, fmt.Sprintf(format, args...)})
}

// finish sets what follows from the issues and from what could be read.
func (r *Result) finish(ref *Reflection, aligned []float64) {
	r.Valid = true
	for _, i := range r.Issues {
		r.Valid = r.Valid && i.Kind == Inconsistent
	}
	if inUnit(ref.Confidence) {
		r.Confidence = ref.Confidence
	}
	r.Resonance = resonance(ref, aligned)
}

func inUnit(v float64) bool { return v >= 0 && v <= 1 } // false for NaN

// Content checks a reflection as a value, then against its context. What
// contradicts itself is an issue of kind [Inconsistent] and leaves the
// reflection valid: a success that lists a blocker, a failure that claims full
// alignment, a summary that only repeats the task. Nil issues and alignment
// are empty ones.
func (v *Validator) Content(r Reflection, c Context) Result {
	var res Result
	if !r.Status.Valid() {
		res.add(BadValue, "status", "invalid status %.64q", string(r.Status))
	}
	if !inUnit(r.Confidence) {
		res.add(BadValue, "confidence", "confidence %v outside [0,1]", r.Confidence)
	}
	var buf [8]float64
	aligned := r.alignment(buf[:0])
	res.checkAlignment(&r, aligned)
	res.checkConsistency(&r, aligned, c)
	res.finish(&r, aligned)
	return res
}

func (r *Result) checkAlignment(ref *Reflection, aligned []float64) {
	if !slices.ContainsFunc(aligned, func(a float64) bool { return !inUnit(a) }) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(ref.AlignmentCheck)) {
		if a := ref.AlignmentCheck[name]; !inUnit(a) {
			r.add(BadValue, "alignment_check", "alignment %.64q is %v, outside [0,1]", name, a)
		}
	}
}

func (r *Result) checkConsistency(ref *Reflection, aligned []float64, c Context) {
	switch ref.Status {
	case Success:
		for _, issue := range ref.PotentialIssues {
			if namesBlocker(issue) {
				r.add(Inconsistent, "potential_issues", "a success lists a blocker: %.128q", issue)
			}
		}
	case Failure:
		if len(aligned) > 0 && !slices.ContainsFunc(aligned, func(a float64) bool { return a != 1 }) {
			r.add(Inconsistent, "alignment_check", "a failure claims full alignment")
		}
	}
	if task := core(c.Task); task != "" && strings.EqualFold(task, core(ref.Summary)) {
		r.add(Inconsistent, "summary", "the summary only repeats the task")
	}
}

// blockers are words by which an issue says that the task was not done.
var blockers = []string{"blocked", "blocker", "cannot", "can't", "could not", "couldn't", "unable to", "failed", "not completed"}

func namesBlocker(issue string) bool {
	for i := range len(issue) {
		if i > 0 && (issue[i-1]|0x20)-'a' < 26 || strings.IndexByte("bcufn", issue[i]|0x20) < 0 {
			continue // inside a word, or not the first letter of a blocker
		}
		for _, b := range blockers {
			if len(issue)-i >= len(b) && issue[i]|0x20 == b[0] && strings.EqualFold(issue[i:i+len(b)], b) {
				return true
			}
		}
	}
	return false
}

// core is a sentence without the space and punctuation around it.
func core(s string) string { return strings.Trim(s, " \t\r\n.!?:;\"'`") }

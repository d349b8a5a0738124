package iar

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Validator checks reflections. The zero value and a nil pointer are ready; all
// methods may be called concurrently.
type Validator struct{}

// Result is what a check found.
type Result struct {
	// Valid says that the reflection has the required form. A valid reflection
	// may have issues that are Advisory.
	Valid bool
	// Issues are in the order of the fields.
	Issues []Issue
	// Confidence is the reflection's own if it is a number in [0,1], else 0.
	Confidence float64
	// Resonance is that of the function [Resonance].
	Resonance float64
	// Reflection is what was checked: of a JSON text, what could be read.
	Reflection Reflection
}

// Issue is one thing wrong with a reflection.
type Issue struct {
	Field string // its JSON name; "" for the whole
	Text  string // for a human reader
	// Advisory says that the reflection is valid all the same: its fields
	// contradict one another, or say nothing.
	Advisory bool
}

// Context is what a reflection is about.
type Context struct {
	// Task is what the action was asked to do; "" if unknown.
	Task string
}

// Content checks a reflection as a value, then against its context. Three
// contradictions are Advisory: a success that lists a blocker, a failure that
// claims full alignment, a summary that only repeats the task. Nil issues and
// alignment are empty ones.
func (v *Validator) Content(r Reflection, c Context) Result {
	res := Result{Reflection: r}
	for _, name := range []string{"status", "confidence", "alignment_check"} {
		res.checkRange(name)
	}
	if r.Status == Success {
		for _, issue := range r.PotentialIssues {
			if blocker.MatchString(issue) {
				res.advise("potential_issues", "a success lists a blocker: %.128q", issue)
			}
		}
	}
	full := len(r.AlignmentCheck) > 0
	for _, a := range r.AlignmentCheck {
		full = full && a == 1
	}
	if full && r.Status == Failure {
		res.advise("alignment_check", "a failure claims full alignment")
	}
	if task := core(c.Task); task != "" && strings.EqualFold(task, core(r.Summary)) {
		res.advise("summary", "the summary only repeats the task")
	}
	res.conclude()
	return res
}

// checkRange refuses values of a field that are outside its range.
func (r *Result) checkRange(field string) {
	ref := &r.Reflection
	switch field {
	case "status":
		switch ref.Status {
		case Success, Failure, Warning, Skipped:
		default:
			r.refuse(field, "invalid status %.64q: it is Success, Failure, Warning or Skipped", string(ref.Status))
		}
	case "confidence":
		if !inUnit(ref.Confidence) {
			r.refuse(field, "confidence %v outside [0,1]", ref.Confidence)
		}
	case "alignment_check":
		if raw := ref.Aside; len(raw) > 0 && (raw[0] != '{' || !json.Valid(raw)) {
			r.refuse(field, "what is kept aside is no JSON object")
		}
		var bad []string
		for name, a := range ref.AlignmentCheck {
			if !inUnit(a) {
				bad = append(bad, name)
			}
		}
		slices.Sort(bad)
		for _, name := range bad {
			r.refuse(field, "alignment %.64q is %v, outside [0,1]", name, ref.AlignmentCheck[name])
		}
	}
}

// refuse adds an issue that makes the reflection invalid, advise one that does
// not.
func (r *Result) refuse(field, format string, args ...any) {
	r.Issues = append(r.Issues, Issue{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (r *Result) advise(field, format string, args ...any) {
	r.Issues = append(r.Issues, Issue{field, fmt.Sprintf(format, args...), true})
}

// conclude sets what follows from the issues and from the reflection.
func (r *Result) conclude() {
	r.Valid = !slices.ContainsFunc(r.Issues, func(i Issue) bool { return !i.Advisory })
	if inUnit(r.Reflection.Confidence) {
		r.Confidence = r.Reflection.Confidence
	}
	r.Resonance = Resonance(r.Reflection)
}

func inUnit(v float64) bool { return v >= 0 && v <= 1 } // false for NaN

// blocker matches the words, at the beginning of one, by which an issue says
// that the task was not done.
var blocker = regexp.MustCompile(
	`(?i)(^|[^a-z])(blocked|blocker|cannot|can't|could not|couldn't|unable to|failed|not completed)`)

// core is a sentence without the space and punctuation around it.
func core(s string) string { return strings.Trim(s, " \t\r\n.!?:;\"'`") }

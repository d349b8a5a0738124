package advice

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/arc-learn/arc/meta"
)

// The rules of analyse.
const (
	analysisWindow = 24 * time.Hour
	minAttempts    = 10
	chronicRate    = 0.5
	minEscalations = 3
)

// tally is what [analyse] counted of one subject.
type tally struct {
	subject string // the skill that was tried, or what was handed to a human
	// escalated says that it was handed to a human, total times. The other counts are of
	// attempts only.
	escalated                            bool
	total, successes, failures, timeouts int     // total is the sum of the others
	rate                                 float64 // of successes in total
	alert                                string  // why something should change, or ""
}

// analyse looks for what keeps failing in the 24 hours that end at a time, both
// ends included. Attempts are outcomes whose Goal is a skill, and escalations
// outcomes whose Goal is what was handed to a human; their other fields but
// Success, Note and At do not matter. Whether a failed attempt ran out of time is
// read from its Note.
//
// It returns the skills, the worst first, and then the escalations by name. A
// skill with 10 attempts or more and a success rate below 0.5 raises an alert,
// and so does a subject that was escalated 3 times.
func analyse(at time.Time, attempts, escalations []meta.Outcome) []tally {
	skills := tallies(at, attempts, false)
	slices.SortStableFunc(skills, func(x, y tally) int {
		return cmp.Or(cmp.Compare(x.rate, y.rate), cmp.Compare(y.total, x.total))
	})
	all := append(skills, tallies(at, escalations, true)...)
	for i := range all {
		t := &all[i]
		switch {
		case t.escalated && t.total >= minEscalations:
			t.alert = fmt.Sprintf("%q was handed to a human %d times in the last %v", t.subject, t.total, analysisWindow)
		case !t.escalated && t.total >= minAttempts && t.rate < chronicRate:
			t.alert = fmt.Sprintf("%d of %d attempts at %q succeeded in the last %v (%d failed, %d ran out of time)",
				t.successes, t.total, t.subject, analysisWindow, t.failures, t.timeouts)
		}
	}
	return all
}

// ranOut matches notes that say that time ran out: in the words of package act, of a
// context, or of others.
var ranOut = regexp.MustCompile(`(?i)^canceled$|^no result within|timeout|deadline exceeded`)

// tallies counts the outcomes of the window by goal, in the order of the goals.
func tallies(at time.Time, outcomes []meta.Outcome, escalated bool) (ts []tally) {
	by := map[string]*tally{}
	for _, o := range outcomes {
		if age := at.Sub(o.At); age < 0 || age > analysisWindow {
			continue
		}
		t := by[o.Goal]
		if t == nil {
			t = &tally{subject: o.Goal, escalated: escalated}
			by[o.Goal] = t
		}
		t.total++
		switch {
		case escalated:
		case o.Success:
			t.successes++
		case ranOut.MatchString(o.Note):
			t.timeouts++
		default:
			t.failures++
		}
		t.rate = float64(t.successes) / float64(t.total)
	}
	for _, goal := range slices.Sorted(maps.Keys(by)) {
		ts = append(ts, *by[goal])
	}
	return ts
}

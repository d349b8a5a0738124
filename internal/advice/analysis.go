package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/meta"
)

// The rules of Analyse.
const (
	analysisWindow  = 24 * time.Hour
	minAttempts     = 10
	chronicRate     = 0.5
	minEscalations  = 3
	alertsRestAfter = time.Hour
)

// Tally is what [Analyse] counted of one subject.
type Tally struct {
	// Subject is the skill that was tried, or what was handed to a human.
	Subject string
	// Escalated says that Subject was handed to a human, Total times. The other
	// counts are of attempts only.
	Escalated                            bool
	Total, Successes, Failures, Timeouts int     // Total is the sum of the others
	SuccessRate                          float64 // of Total
	// Alert is the evidence, in words, that something should change; "" if there
	// is none, or it was raised less than an hour ago.
	Alert string
	At    time.Time // of the analysis
}

// Analyse looks for what keeps failing in the 24 hours that end at a time, both
// ends included. Attempts are outcomes whose Goal is a skill, and escalations
// outcomes whose Goal is what was handed to a human; their other fields but
// Success, Note and At do not matter. A failed attempt ran out of time if its
// Note holds "timeout", in any case, or is "canceled".
//
// It returns the skills, the worst first, and then the escalations by name. A
// skill with 10 attempts or more and a success rate below 0.5 raises an alert,
// and so does a subject that was escalated 3 times. Previous are earlier tallies:
// an alert that one of them raised rests for an hour. Analyse is a function of
// its arguments.
func Analyse(at time.Time, attempts, escalations []meta.Outcome, previous []Tally) []Tally {
	skills := tallies(at, attempts, false)
	slices.SortStableFunc(skills, func(x, y Tally) int {
		return cmp.Or(cmp.Compare(x.SuccessRate, y.SuccessRate), cmp.Compare(y.Total, x.Total))
	})
	all := append(skills, tallies(at, escalations, true)...)
	for i := range all {
		t := &all[i]
		rests := slices.ContainsFunc(previous, func(p Tally) bool {
			return p.Alert != "" && p.Subject == t.Subject && p.Escalated == t.Escalated && at.Sub(p.At) < alertsRestAfter
		})
		switch {
		case rests:
		case t.Escalated && t.Total >= minEscalations:
			t.Alert = fmt.Sprintf("%q was handed to a human %d times in the last %v", t.Subject, t.Total, analysisWindow)
		case !t.Escalated && t.Total >= minAttempts && t.SuccessRate < chronicRate:
			t.Alert = fmt.Sprintf("%d of %d attempts at %q succeeded in the last %v (%d failed, %d ran out of time)",
				t.Successes, t.Total, t.Subject, analysisWindow, t.Failures, t.Timeouts)
		}
	}
	return all
}

// tallies counts the outcomes of the window by goal, in the order of the goals.
func tallies(at time.Time, outcomes []meta.Outcome, escalated bool) (ts []Tally) {
	by := map[string]*Tally{}
	for _, o := range outcomes {
		if age := at.Sub(o.At); age < 0 || age > analysisWindow {
			continue
		}
		t := by[o.Goal]
		if t == nil {
			t = &Tally{Subject: o.Goal, Escalated: escalated, At: at}
			by[o.Goal] = t
		}
		t.Total++
		switch {
		case escalated:
		case o.Success:
			t.Successes++
		case o.Note == "canceled" || strings.Contains(strings.ToLower(o.Note), "timeout"):
			t.Timeouts++
		default:
			t.Failures++
		}
		t.SuccessRate = float64(t.Successes) / float64(t.Total)
	}
	for _, goal := range slices.Sorted(maps.Keys(by)) {
		ts = append(ts, *by[goal])
	}
	return ts
}

package meta

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Event is an attempt at a skill, as [Analyse] sees it.
type Event struct {
	Skill    string
	Success  bool
	TimedOut bool // failed by running out of time; see [TimedOut]
	At       time.Time
}

// Escalation is a decision that was handed to a human.
type Escalation struct {
	Kind, Target string // such as "merge" and the pull request
	At           time.Time
}

// TimedOut says by the words of a failure, and the state of its task, whether it
// ran out of time: the words hold "timeout", in any case, or the state is
// "canceled".
func TimedOut(text, state string) bool {
	return state == "canceled" || strings.Contains(strings.ToLower(text), "timeout")
}

// AlertKind says what an Alert is about.
type AlertKind string

// The kinds of alerts.
const (
	ChronicFailure AlertKind = "chronic_failure" // of a skill
	Escalating     AlertKind = "escalating"      // the same decision is handed to humans again and again
)

// Alert is something that a person or a [Proposal] should change.
type Alert struct {
	Kind    AlertKind
	Key     string // the skill, or the escalations' target
	Text    string // the evidence in words
	Samples int    // that it rests on
	At      time.Time
}

// SkillStats are the attempts at a skill within the window.
type SkillStats struct {
	Skill                                string
	Total, Successes, Failures, Timeouts int     // Total is the sum of the others
	SuccessRate                          float64 // of Total
}

// Analysis is what [Analyse] found.
type Analysis struct {
	Skills []SkillStats // the worst first
	Alerts []Alert      // new ones
}

// AnalysisOptions configure [Analyse]. The zero value is ready.
type AnalysisOptions struct {
	Window      time.Duration // how far back events count, both ends included; 0: 24 hours
	MinAttempts int           // fewer attempts at a skill raise no alert; 0: 10
	Threshold   float64       // a success rate below it does; 0: 0.5
	Escalations int           // so many of one target do; 0: 3
	Cooldown    time.Duration // before the same alert is raised again; 0: one hour
}

func (o *AnalysisOptions) fill() {
	o.Window = cmp.Or(o.Window, FleetWindow)
	o.MinAttempts = cmp.Or(o.MinAttempts, 10)
	o.Threshold = cmp.Or(o.Threshold, 0.5)
	o.Escalations = cmp.Or(o.Escalations, 3)
	o.Cooldown = cmp.Or(o.Cooldown, time.Hour)
}

// Analyse looks for what keeps failing in the window that ends at a time: skills
// that fail more often than not, and decisions that are handed to humans again
// and again. What is older than the window does not count, however bad it was.
// Previous are the alerts that were raised before: one of the same kind and key
// is not raised again before the cooldown is over. It is a function of its
// arguments.
func Analyse(at time.Time, events iter.Seq[Event], escalations iter.Seq[Escalation], previous []Alert, opts *AnalysisOptions) Analysis {
	var o AnalysisOptions
	if opts != nil {
		o = *opts
	}
	o.fill()
	inside := func(t time.Time) bool { age := at.Sub(t); return age >= 0 && age <= o.Window }
	skills, targets := map[string]SkillStats{}, map[string]int{}
	for e := range events {
		if inside(e.At) {
			s := skills[e.Skill]
			s.add(e)
			skills[e.Skill] = s
		}
	}
	for e := range escalations {
		if inside(e.At) {
			targets[e.Target]++
		}
	}
	var a Analysis
	for _, s := range skills {
		a.Skills = append(a.Skills, s)
	}
	slices.SortFunc(a.Skills, func(x, y SkillStats) int {
		return cmp.Or(cmp.Compare(x.SuccessRate, y.SuccessRate), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Skill, y.Skill))
	})
	raise := func(al Alert) {
		al.At = at
		if !slices.ContainsFunc(previous, func(p Alert) bool { return p.Kind == al.Kind && p.Key == al.Key && at.Sub(p.At) < o.Cooldown }) {
			a.Alerts = append(a.Alerts, al)
		}
	}
	for _, s := range a.Skills {
		if s.Total >= o.MinAttempts && s.SuccessRate < o.Threshold {
			raise(Alert{Kind: ChronicFailure, Key: s.Skill, Samples: s.Total, Text: fmt.Sprintf(
				"%d of %d attempts at %q succeeded in the last %v (%d failed, %d ran out of time)", s.Successes, s.Total, s.Skill, o.Window, s.Failures, s.Timeouts)})
		}
	}
	for _, target := range slices.Sorted(maps.Keys(targets)) {
		if n := targets[target]; n >= o.Escalations {
			raise(Alert{Kind: Escalating, Key: target, Samples: n, Text: fmt.Sprintf("%q was handed to a human %d times in the last %v", target, n, o.Window)})
		}
	}
	return a
}

func (s *SkillStats) add(e Event) {
	s.Skill = e.Skill
	s.Total++
	switch {
	case e.Success:
		s.Successes++
	case e.TimedOut:
		s.Timeouts++
	default:
		s.Failures++
	}
	s.SuccessRate = rate(s.Successes, s.Total)
}

package arc

import (
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
)

// Report is what came of a run.
type Report struct {
	ID      string
	Session string
	Status  Status
	Reason  string // why it is blocked; "" otherwise

	Questions  []string       // when Asking
	Deliveries []act.Delivery // what was delivered, in order, subgoals included

	Attempts      int     // executions of workers
	LastWorker    string  // of the last attempt; "" if there was none
	LastEnd       act.End // of the last attempt; Finished if the gates decided
	Deliberations int     // calls of the reasoner
	Fired         int     // chunks whose plan was run
	Steps         int     // transitions, each of them committed
	Usage         act.Usage

	Resonance  []float64       // of each attempt, in order; at most the last 64
	Findings   []iar.Finding   // low or falling resonance
	Assessment meta.Assessment // of the session, at the end
	Pivots     []string        // recommendations to pivot, with their evidence
	Learned    []memory.ID     // patterns and failures stored or strengthened

	Objective string       // its Text
	Scope     memory.Scope // where it recalled from and learned into
	Started   time.Time
	Ended     time.Time // zero while it is not finished
}

// newReport returns the report of a run as it stands. The deliveries come from
// records.go.
func newReport(s *state) *Report {
	r := &Report{
		ID: s.ID, Session: s.Session, Status: s.Status, Reason: s.Reason,
		Attempts: s.Attempts, LastWorker: s.Last.Worker, LastEnd: s.Last.End,
		Deliberations: s.Deliberations, Fired: s.Fired,
		Steps: s.Step, Usage: s.Usage, Assessment: s.Assessment,
		Pivots: slices.Clone(s.Pivots), Learned: slices.Clone(s.Learned),
		Objective: s.Objective.Text, Scope: s.Objective.Scope,
		Started: at(s.Started), Ended: at(s.Ended),
	}
	r.Resonance, r.Findings = resonance(s.Tracker)
	if s.Status == Asking {
		r.Questions = slices.Clone(s.aim().Questions)
	}
	return r
}

// resonance returns the trend of a run's reflections, and the findings about it.
func resonance(entries []iar.Entry) (trend []float64, findings []iar.Finding) {
	switch {
	case len(entries) == 0:
		return nil, nil
	case len(entries) == 1 && entries[0].Resonance >= iar.LowResonance:
		return []float64{entries[0].Resonance}, nil // as the tracker would
	}
	tracker := iar.NewTracker(&iar.Options{History: entries})
	return tracker.Trend(len(entries)), tracker.Issues()
}

// at is the time of a field of state.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

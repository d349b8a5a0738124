package arc

import (
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// Report is what came of a run, or how it stands while it is not finished. It
// is the caller's: the Agent keeps no reference to it.
type Report struct {
	ID      string
	Session string
	Status  Status
	// Cause and Reason say what blocked the run, or what it is Waiting for:
	// in one word, and in words for people, which move no terminal. "" otherwise.
	Cause  Cause
	Reason string
	// Next is when a run that is Waiting is tried again, in UTC. Zero
	// otherwise.
	Next time.Time

	// Approval is what a run waits for by CauseApproval, nil otherwise.
	Approval *Approval `json:",omitempty"`

	// Escalated: a person was to be told of the run, see [EventKind].
	Escalated bool `json:",omitempty"`
	// Questions are what the run asks while it is Asking, and AskedBy is the worker that
	// has to know it. "": the reasoner.
	Questions []string
	AskedBy   string `json:",omitempty"`
	// Deliveries are the tasks that passed their gates, in order, those of
	// subgoals included.
	Deliveries []act.Delivery
	// Aims are the objective and, while an impasse is being resolved, its subgoals,
	// innermost last. View.Report alone fills them.
	Aims []Aim `json:",omitempty"`

	// Attempts counts those of workers, the ones too that a human has refused.
	Attempts int
	// LastWorker made the last attempt. "" if there was none.
	LastWorker string
	// LastEnd is how the last attempt ended. It is act.Finished if the gates
	// decided.
	LastEnd act.End
	// Deliberations counts the decisions asked of the reasoner.
	Deliberations int
	// Fired counts the chunks whose plan was run.
	Fired int
	// Steps counts the steps, each of them committed.
	Steps int
	// Usage sums what reasoner, workers and gates reported.
	Usage act.Usage

	// Resonance of the attempts, in [0,1], in order; at most the last 64.
	Resonance []float64
	// Findings say where resonance was low or falling.
	Findings []iar.Finding
	// Assessment of the session when the run ended. While the run is not
	// finished: the last that was not to keep going.
	Assessment meta.Assessment
	// Pivots are the recommendations to pivot, with their evidence.
	Pivots []string
	// Learned are the patterns and failures stored or strengthened.
	Learned []memory.ID

	// Objective is the text of the objective.
	Objective string
	// Scope is where the run recalled from and learned into.
	Scope memory.Scope
	// Started and Ended are in UTC. Ended is zero while the run is not finished.
	Started, Ended time.Time
	// Waited is how long it was Waiting in between, or BLOCKED until a Retry.
	Waited time.Duration `json:",omitempty"`
}

// Aim is the objective of a run, or a subgoal, and what was done for it so far.
type Aim struct {
	Text, Situation string
	// Recalled are the memories that were shown, Withheld those that were held out
	// by chance; see learn.Options.Holdout.
	Recalled, Withheld []memory.ID
	// Approach and Tasks are the plan.
	Approach string
	Tasks    []reason.Task
	// Fired is the chunk that made the plan. "": the reasoner or the host did.
	Fired memory.ID
	// Decided is when the plan was made. Zero: it is not yet, or before runs kept that.
	Decided time.Time
	// Refused says why the last decision could not be acted on. "": none was refused.
	Refused string
	// Failed are the last attempts that did not pass, at most 64, latest last.
	Failed []reason.FailedAttempt
	// Answers are those to what the run has asked.
	Answers []reason.Answer
}

// Approval is an attempt that waits for a human. Without a Host.Approver attempts do
// that are to be approved by their worker's Mode, its Blast, or what they cost.
type Approval struct {
	// Scope is that of the run, whose id is unique in its tenant; Run and Attempt name
	// it there. Attempts count from 1.
	Scope   memory.Scope
	Run     string
	Attempt int
	// Objective is what the run is for, Task what Worker is to do.
	Objective string
	Task      reason.Task
	Worker    string

	// Mode and Blast are those of the attempt, and Why is what asks for a human.
	Mode  act.Mode
	Blast act.Blast
	Why   []string
	// Success is how often the worker has succeeded at such tasks, CostUSD what an
	// attempt takes on average. 0: not known.
	Success, CostUSD float64

	// Asked and Until are in UTC. At Until an attempt in mode Veto is made, any other
	// is not.
	Asked, Until time.Time
	// AllowedBy have agreed, of Need who have to.
	AllowedBy []string
	Need      int
}

// newReport returns the report of a run as it stands. The deliveries come from
// records.go.
func newReport(s *state) *Report {
	r := &Report{
		ID: s.ID, Session: s.Session, Status: s.Status, Cause: s.Cause, Reason: fence.Visible(s.Reason),
		Attempts: s.Attempts, LastWorker: s.Last.Worker, LastEnd: s.Last.End,
		Deliberations: s.Deliberations, Fired: s.Fired,
		Steps: s.Step, Usage: s.Usage, Assessment: s.Assessment,
		Pivots: slices.Clone(s.Pivots), Learned: slices.Clone(s.Learned),
		Objective: s.Objective.Text, Scope: s.Objective.Scope,
		Started: at(s.Started), Ended: at(s.Ended), Waited: s.Wait.Waited, Escalated: s.Escalated,
	}
	if s.Status == Waiting {
		r.Next, r.Approval = at(s.Wait.Due), s.approval()
	}
	r.Resonance = s.resonance()
	r.Findings = iar.Findings(r.Resonance)
	if s.Status == Asking {
		if r.Questions = slices.Clone(s.aim().Questions); s.workerAsks() {
			r.Questions, r.AskedBy = slices.Clone(s.Current.Questions), s.Current.Worker
		}
	}
	return r
}

// aims are those of a run, as a host sees them.
func (s *state) aims() (out []Aim) {
	for i := range s.Aims {
		g := &s.Aims[i]
		out = append(out, Aim{
			Text: g.Text, Situation: g.Situation, Recalled: slices.Clone(g.Recalled), Withheld: slices.Clone(g.Withheld),
			Approach: g.Approach, Tasks: detach.Tasks(g.Tasks), Fired: g.Fired, Refused: g.Complaint, Decided: at(g.Decided),
			Failed: slices.Clone(g.Failed), Answers: slices.Clone(g.Answers),
		})
		for failed, n := out[i].Failed, 1; n <= min(len(failed), len(g.FailedAt)); n++ {
			failed[len(failed)-n].At = at(g.FailedAt[len(g.FailedAt)-n])
		}
	}
	return out
}

// approval is what a run waits for, as a human sees it; nil if it does not.
func (s *state) approval() *Approval {
	p := s.pending()
	if p == nil {
		return nil
	}
	g := s.aim()
	return &Approval{
		Scope: s.Objective.Scope, Run: s.ID, Attempt: s.Attempts + 1, Objective: s.Objective.Text, Worker: s.Current.Worker,
		Task: detach.Tasks(g.Tasks[g.Next : g.Next+1])[0],
		Mode: p.Mode, Blast: p.Blast, Why: slices.Clone(p.Why), Success: p.Success, CostUSD: p.CostUSD,
		Asked: at(p.Asked), Until: at(p.Until), AllowedBy: slices.Clone(p.AllowedBy), Need: p.Need,
	}
}

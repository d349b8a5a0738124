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

// Report is the outcome of a run, or its state while it is not finished. It belongs to the
// caller: the Agent keeps no reference to it.
type Report struct {
	ID      string
	Session string
	Status  Status
	// Cause and Reason say why the run is Blocked, or what it is Waiting for: in one word,
	// and as a text for people, without control characters. "" otherwise.
	Cause  Cause
	Reason string
	// Next is when a run that is Waiting is tried again, in UTC. Zero otherwise.
	Next time.Time

	// Approval is the approval that a run is Waiting for, with CauseApproval. nil otherwise.
	Approval *Approval `json:",omitempty"`

	// Escalated: a person should be told of the run, see [EventKind].
	Escalated bool `json:",omitempty"`
	// Questions are the questions of a run that is Asking. AskedBy is the worker that asks
	// them; "": the reasoner.
	Questions []string
	AskedBy   string `json:",omitempty"`
	// Deliveries are the tasks that have passed their gates, in order, with those of
	// subgoals.
	Deliveries []act.Delivery
	// Aims are the objective and, during an impasse, its subgoals, innermost last. Only
	// View.Report fills them.
	Aims []Aim `json:",omitempty"`

	// Attempts counts the attempts of workers, also those that a person has refused.
	Attempts int
	// LastWorker made the last attempt. "" if there was none.
	LastWorker string
	// LastEnd is how the last attempt ended. act.Finished: its gates have decided.
	LastEnd act.End
	// Deliberations counts the decisions that the reasoner was asked for.
	Deliberations int
	// Fired counts the chunks whose plan was run.
	Fired int
	// Steps counts the steps. Each was committed.
	Steps int
	// Usage is the sum of what reasoner, workers and gates have reported.
	Usage act.Usage

	// Resonance is that of the attempts, in [0,1], in order; at most the last 64.
	Resonance []float64
	// Findings say where resonance was low or falling.
	Findings []iar.Finding
	// Assessment is that of the session when the run ended. While the run is not finished it
	// is the last one that did not recommend to keep going.
	Assessment meta.Assessment
	// Pivots are the recommendations to pivot, with their evidence.
	Pivots []string
	// Learned are the patterns and failures that were stored or strengthened.
	Learned []memory.ID

	// Objective is the text of the objective.
	Objective string
	// Scope is the scope that the run recalled from and learned into.
	Scope memory.Scope
	// Started and Ended are in UTC. Ended is zero while the run is not finished.
	Started, Ended time.Time
	// Waited is how long the run was Waiting, or BLOCKED before a Retry, in all.
	Waited time.Duration `json:",omitempty"`
}

// Aim is the objective of a run, or a subgoal, and what was done for it so far.
type Aim struct {
	Text, Situation string
	// Recalled are the memories that were shown, Withheld those that were held out at
	// random: see learn.Options.Holdout.
	Recalled, Withheld []memory.ID
	// Approach and Tasks are the plan.
	Approach string
	Tasks    []reason.Task
	// Fired is the chunk that made the plan. "": the reasoner or the host did.
	Fired memory.ID
	// Decided is when the plan was made. Zero: there is none, or the run is of a version that
	// did not record it.
	Decided time.Time
	// Refused says why the last decision was refused. "": none was.
	Refused string
	// Failed are the last attempts that did not pass, at most 64, latest last.
	Failed []reason.FailedAttempt
	// Answers are the answers to the run's questions.
	Answers []reason.Answer
}

// Approval is an attempt that waits for a person's approval, since it needs one and there is
// no Host.Approver, which says when.
type Approval struct {
	// Run and Attempt identify the attempt in the tenant of Scope, the run's scope. Attempts
	// count from 1.
	Scope   memory.Scope
	Run     string
	Attempt int
	// Objective is the run's objective, Task what Worker is to do.
	Objective string
	Task      reason.Task
	Worker    string

	// Mode and Blast are those of the attempt. Why lists the reasons for the approval.
	Mode  act.Mode
	Blast act.Blast
	Why   []string
	// Success is the rate at which the worker succeeds at such tasks, in [0,1], CostUSD the
	// average cost of an attempt. 0: not known.
	Success, CostUSD float64

	// Asked and Until are in UTC. At Until an attempt in mode Veto is made, any other is
	// denied.
	Asked, Until time.Time
	// AllowedBy are the people who have agreed; Need is how many have to.
	AllowedBy []string
	Need      int
}

// newReport returns the report of a run, without Deliveries and Aims.
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

// aims returns the aims of a run as a host sees them.
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

// approval returns the approval that a run waits for, as a person sees it, or nil.
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

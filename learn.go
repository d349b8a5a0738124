package arc

import (
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// learn learns from the current attempt, or from an aim that was given up without one, and decides
// what follows.
//
// In this order: settle adds the attempt to the aim's record, verdict decides what follows, the
// learner turns both into memories, feedback, samples and outcomes, and move changes the state. What
// the learner writes is held back by the Writer until the step commits, so that a lesson and the
// run that it comes from are stored together or not at all. Each lesson has a key that is made from
// the run and the attempt: a step that is made again after a crash counts nothing twice.
func (t *turn) learn(ctx context.Context) (phase, error) {
	t.settle()
	v := t.verdict()
	// Hide makes the veil look for secrets in these texts before the learner quotes them.
	for _, text := range []string{t.s.aim().Blocked, t.s.aim().Complaint} {
		t.veil.Hide(text)
	}
	if c := t.s.Current; c != nil {
		t.veil.Hide(c.Wrong)
	}
	lessons, err := t.own.learner.Learn(ctx, t.kept().outcome(v))
	if err != nil {
		return "", fmt.Errorf("learn: %w", err)
	}
	if v == aimDone && !t.s.Objective.Provisional {
		if err := t.confirm(ctx); err != nil {
			return "", fmt.Errorf("learn: %w", err)
		}
	}
	t.learned, t.known.looked = true, false
	before, lost := len(t.s.Learned), ""
	for _, r := range [...]memory.Receipt{lessons.Chunk, lessons.Failure} {
		if r.Disposition == memory.Rejected {
			lost = "rejected: " + r.Reason
		}
		if r.ID == "" {
			continue
		}
		t.did.lessons++
		if !slices.Contains(t.s.Learned, r.ID) {
			t.s.Learned = appendTo(t.s.Learned, r.ID)
		}
	}
	if t.did.lessons > 0 || lost != "" {
		t.emit(eventLearned, Event{IDs: t.s.Learned[before:], Text: lost})
	}
	return t.move(v), nil
}

// verdict is what follows an attempt.
type verdict int

const (
	// Another task follows.
	taskDone verdict = iota
	// The aim is reached.
	aimDone
	// The task is tried again.
	tryAgain
	// The plan is dropped, and the reasoner asked.
	planFailed
	// The plan is dropped, and an alternative taken.
	planOther
	// The aim is given up.
	givenUp
)

// verdict decides what follows the current attempt. The cases stand in the order of assign.go's
// list: first what is done, then another attempt, another approach, another plan; else the aim is
// given up. An attempt that was cut off may have had its effect: nothing is tried after it.
func (t *turn) verdict() verdict {
	g, c := t.s.aim(), t.s.Current
	switch {
	case c == nil:
		return givenUp
	case c.Passed && g.Next+1 < len(g.Tasks):
		return taskDone
	case c.Passed:
		return aimDone
	case c.End == act.Interrupted:
		return givenUp
	case g.Fired != "":
		// A chunk gets one attempt, then the reasoner is asked.
		return planFailed
	case g.Tries < t.s.Objective.Attempts && !t.allDenied() && !t.pivots():
		return tryAgain
	case len(g.other().Tasks) > 0:
		return planOther
	case t.a.reasoner != nil && g.Replans < t.a.o.Replans:
		return planFailed
	case g.Replans < t.a.o.Replans+maxPivots && t.pivots():
		return planFailed
	}
	return givenUp
}

// maxPivots is how many plans of an aim PivotAuto replaces beyond Options.Replans, so that a
// reasoner that always has another approach comes to an end.
const maxPivots = 3

// pivots reports whether the run drops its plan by itself, since the plan keeps failing and no
// worker is left to try it.
func (t *turn) pivots() bool {
	if t.a.o.Pivot != PivotAuto || t.s.Deliberations == 0 || t.s.Objective.Once || !t.s.Current.tells() {
		return false
	}
	return meta.Assessment{}.With(t.signs()).Pivot
}

// allDenied reports whether no worker is left for the task.
func (t *turn) allDenied() bool {
	g := t.s.aim()
	return !slices.ContainsFunc(t.a.runner.Candidates(&g.Tasks[g.Next], false), func(c rank.Candidate) bool {
		return !slices.Contains(g.Denied, c.Name)
	})
}

// settle adds the current attempt to the record of its aim.
func (t *turn) settle() {
	g, c := t.s.aim(), t.s.Current
	if c == nil {
		return
	}
	t.s.Last = lastAttempt{c.Worker, c.End}
	if c.End == act.Interrupted {
		t.emit(EventExecuted, Event{Text: string(c.End) + ": " + c.Wrong})
	}
	if !c.Passed {
		if t.tried(); len(g.Failed) == maxFailed && g.Cleared > 1 {
			g.Cleared--
		}
		g.Failed = appendTo(g.Failed[max(0, len(g.Failed)+1-maxFailed):], reason.FailedAttempt{
			Objective: clip(g.Tasks[g.Next].Objective), Worker: c.Worker, Complaint: c.Wrong, Gate: c.Gate,
		})
		g.FailedAt = appendTo(g.FailedAt[max(0, len(g.FailedAt)+1-maxFailed):], t.a.o.Now().UnixNano())
		if c.End.Barred() || c.End == act.Rejected || c.Unjudged {
			g.Denied = appendTo(g.Denied, c.Worker)
		}
		return
	}
	for _, id := range c.Utilized {
		if !slices.Contains(g.Utilized, id) {
			g.Utilized = appendTo(g.Utilized, id)
		}
	}
	g.Used = union(g.Used, c.Used)
	earlier := g.Failed[max(0, len(g.Failed)+1-g.Tries):]
	again := func(f reason.FailedAttempt) bool { return f.Worker == c.Worker }
	g.Coached = g.Coached || slices.ContainsFunc(earlier, again)
	if g.Tasks[g.Next].Worker != c.Worker {
		g.Tasks, g.Ranked = slices.Clone(g.Tasks), appendTo(g.Ranked, g.Next)
		g.Tasks[g.Next].Worker = c.Worker
	}
}

// outcome returns the current attempt, and what follows it, as the learner takes it.
//
// Task and Goal say of what the outcome is evidence, and are Open where it is of nothing: an attempt
// that is tried again decides neither. A Plan is given only where it may become a chunk: of an aim
// that was delivered by deliberation.
func (t *turn) outcome(v verdict) learn.Outcome {
	s, g, c := &t.s, t.s.aim(), t.s.Current
	o := learn.Outcome{
		GoalKey: s.aimKey(""),
		Run:     s.ID, Session: s.Session, Scope: s.Objective.Scope, At: t.a.o.Now().UTC(),
		Objective: g.Text, Situation: g.Situation, Case: t.situated(), Approach: g.Approach,
		Complaint: g.Blocked,
		Injected:  t.shown.Hits, Chunks: t.shown.Chunks, Withheld: g.Withheld,
		Quotes: g.Quotes, Parents: union(g.Parents, g.Used), Utilized: g.Utilized, Fired: g.Fired, Failed: g.Failed,
	}
	if c == nil {
		o.Key = o.GoalKey + "/blocked"
	}
	if len(s.Aims) == 1 {
		o.Episodes = s.Objective.Episodes
	}
	switch v {
	case aimDone:
		o.Task, o.Goal = learn.Delivered, learn.Delivered
		if g.Fired == "" {
			o.Plan, o.Ranked, o.Said, o.Unfit = g.Tasks, g.Ranked, g.Said, t.unfit()
		}
	case taskDone:
		o.Task = learn.Delivered
	case givenUp:
		o.Task, o.Goal = t.blame()
		o.Faulty = o.Goal == learn.Open // nor is it about a chunk that has fired
	case planFailed, planOther:
		// A chunk that failed is charged as a memory that misled, by the learner; a person's
		// refusal says nothing of the plan.
		if g.Fired == "" && !c.End.Barred() {
			o.Task = learn.Blocked
		}
	}
	if c != nil {
		o.Key = c.Key
		o.Skill, o.Worker = g.Tasks[g.Next].Skill, c.Worker
		o.End, o.Passed, o.Wall, o.Complaint = c.End, c.Passed, c.Wall, c.Wrong
		o.Faulty = c.Faulty || c.End.Barred() || c.End == act.Away
		o.Result = act.Result{
			Output: t.output, Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage, Deltas: c.Deltas,
		}
		o.Action, o.Try, o.Known, o.Warned = t.action(c.Worker), c.Number, t.known.Known, c.Warned
	}
	// Until a verdict, a provisional delivery is evidence for nothing: no chunk, no credit, and a
	// sample that is unknown.
	if s.Objective.Provisional && o.Passed {
		// View.Judge says whether it is good.
		o.Faulty, o.Task, o.Plan, o.Injected, o.Utilized = true, learn.Open, nil, nil, nil
	}
	if o.Goal == learn.Delivered && slices.ContainsFunc(s.Verdicts, Verdict.wrong) {
		o.Plan, o.Injected, o.Utilized = nil, nil, nil // a task was found wrong before the run had ended
	}
	return o
}

// unfit returns why the plan of the aim, which is reached, must not become a chunk, or "": the
// reasoner knew something that only this run had.
func (t *turn) unfit() string {
	g, done := t.s.aim(), t.s.aim().Next
	if t.s.Current == nil {
		done++ // the last delivery counts too
	}
	switch {
	case g.Coached:
		return "its plan passed after a complaint of the same worker"
	case len(g.Answers) > 0:
		return "its plan was made with a human's answer"
	case len(t.s.Deliveries) > done:
		return "its plan was made knowing what its run had delivered before"
	case len(g.Facts) > len(t.shown.facts):
		return "a fact that it was made with may not hold any more"
	case slices.ContainsFunc(t.shown.Hits, func(h memory.Hit) bool { return h.Record.Scope == "" }):
		return "a memory that it was made with is forgotten"
	}
	return ""
}

// blame returns what an aim that is given up is evidence of.
func (t *turn) blame() (task, goal learn.Status) {
	g, c := t.s.aim(), t.s.Current
	refused := c == nil && g.Refused >= t.a.o.Refusals
	switch {
	case c == nil && g.Cause == CauseStuck && len(g.Tried) > 0,
		c == nil && g.Tries == 0 && (g.Cause == CauseBudget || g.Cause == CauseWorth):
		// The failed attempts are recorded already; the goal has failed too.
		return learn.Open, learn.Blocked
	case g.Cause == CauseStuck && t.s.Attempts+t.s.Deliberations == 0:
		// Other runs have shown that it fails; this one has tried nothing.
		return learn.Open, learn.Open
	case refused && g.Complaint == "":
		// The model was not reached, which is no evidence about the session either.
		return learn.Open, learn.Open
	case refused || c == nil && t.s.unplanned():
		// The reasoner or the host's plan failed, which is no evidence about the situation.
		return learn.Blocked, learn.Open
	case c == nil && (g.Cause == CauseSecret || g.Cause == CauseInterrupted):
		return learn.Open, learn.Open // no evidence about the work
	case c != nil && (c.End == act.Interrupted || c.End.Barred()):
		// The outcome is unknown, or a person refused.
		return learn.Open, learn.Open
	}
	return learn.Blocked, learn.Blocked
}

// move changes the state to what follows, and returns the next phase. A delivery is added to the
// lineage, which all later tasks of the run are told.
func (t *turn) move(v verdict) phase {
	s, g, c := &t.s, t.s.aim(), t.s.Current
	if c != nil && c.Passed {
		d := delivery{
			Task: g.Tasks[g.Next], Worker: c.Worker, Attempt: c.Number,
			Output: c.Output, Summary: c.Reflection.Summary, Deltas: c.Deltas, At: t.a.o.Now().UnixNano(),
			Made: s.Attempts,
		}
		s.Deliveries = appendTo(s.Deliveries, d)
		t.lineage = append(t.lineage, d.delivered(t.output))
	}
	switch v {
	case taskDone:
		s.Current = nil
		g.Next++
		g.Tries, g.Denied = 0, nil
		return phaseAssess
	case tryAgain:
		s.Current = nil
		return phaseAssess
	case planFailed:
		if g.Fired != "" {
			g.Spent = appendTo(g.Spent, g.Fired)
		} else {
			g.Replans++
		}
		s.Current, g.Denied = nil, nil
		g.follow(nil, g.Approach, "")
		return phaseAssess
	case planOther:
		s.Current = nil
		g.takeOther()
		t.emit(EventDecided, Event{Text: g.Approach, IDs: g.Utilized})
		return phaseAssess
	case aimDone:
		t.emit(eventDelivered, Event{})
		s.Current = nil
		if len(s.Aims) == 1 {
			return phaseEnd
		}
		// The subgoal is reached: its deliveries are in the lineage, and what was learned from
		// it can be recalled.
		above := &s.Aims[len(s.Aims)-2]
		above.Quotes = union(above.Quotes, g.Quotes) // since the lineage repeats its tasks
		s.Aims = slices.Clip(s.Aims[:len(s.Aims)-1])
		t.shown = shown{}
		s.aim().Tried, s.aim().Avoid = nil, nil // the subgoal has changed something
		return phaseRecall
	}
	t.giveUp()
	return phaseEnd
}

// giveUp records why the run is blocked: an aim that is given up blocks the aims above it.
func (t *turn) giveUp() {
	g, c := t.s.aim(), t.s.Current
	why, cause := g.Blocked, g.Cause
	if why == "" && c != nil {
		cause = causeOf(c.End)
		tries := "attempts"
		if g.Tries == 1 {
			tries = "attempt"
		}
		why = fmt.Sprintf("task %d was not delivered in %d %s; the last, by %s: %s",
			g.Next+1, g.Tries, tries, c.Worker, c.Wrong)
	}
	if g.Impasse != "" {
		why = fmt.Sprintf("impasse %s: subgoal %q: %s", g.Impasse, g.Text, why)
	}
	t.emit(EventBlocked, Event{Text: why})
	t.s.Current, t.s.Reason, t.s.Cause = nil, why, cause
}

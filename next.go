package arc

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// learn takes in the attempt at hand, or a goal that was given up without one,
// and moves on: to the next task or attempt, back to reason, or out of the
// goal.
func (t *turn) learn(ctx context.Context) error {
	g, c := t.s.goal(), t.s.Current
	if _, err := t.memories(ctx); err != nil {
		return err
	}
	n := t.after()
	if c != nil {
		t.s.Last = LastAttempt{c.Worker, c.End}
	}
	if c != nil && c.End == act.Interrupted {
		t.emit(EventExecuted, Event{Text: string(c.End) + ": " + c.Wrong})
	}
	if c != nil && !c.Passed {
		g.Failed = appendTo(g.Failed[max(0, len(g.Failed)+1-maxFailed):], reason.FailedAttempt{
			Objective: clip(g.Tasks[g.Next].Objective), Worker: c.Worker, Complaint: c.Wrong,
		})
		if c.End == act.Denied {
			g.Denied = appendTo(g.Denied, c.Worker)
		}
	}
	if c != nil && c.Passed {
		g.Utilized = union(g.Utilized, c.Utilized)
		g.Tasks = slices.Clone(g.Tasks)
		g.Tasks[g.Next].Worker = c.Worker
	}
	in, p := t.a.watch.learning(ctx, &t.s)
	lessons, err := t.a.learner.Learn(in, t.outcome(n))
	p.learned(lessons, err)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	t.learned = true
	t.note(lessons)
	return t.move(ctx, n)
}

// clip bounds a text about an attempt that is kept in the State and given to the
// next: what stands at its beginning and at its end.
func clip(s string) string {
	if len(s) <= maxComplaint {
		return s
	}
	head, tail := s[:maxComplaint/2], s[len(s)-maxComplaint/2:]
	return strings.ToValidUTF8(head, "") + " … " + strings.ToValidUTF8(tail, "")
}

// Bounds of what a State keeps of failed attempts at a goal.
const (
	maxFailed    = 64
	maxComplaint = 4 << 10 // bytes
)

// next is what follows an attempt.
type next int

const (
	nextTask      next = iota // the task is done, another follows
	nextDelivered             // the goal is done
	nextAttempt               // the task is tried again
	nextReason                // the plan is dropped, and the reasoner asked
	nextBlocked               // the goal is given up
)

// after decides what follows the attempt at hand.
func (t *turn) after() next {
	g, c := t.s.goal(), t.s.Current
	switch {
	case c == nil:
		return nextBlocked
	case c.Passed && g.Next+1 < len(g.Tasks):
		return nextTask
	case c.Passed:
		return nextDelivered
	case c.End == act.Interrupted:
		return nextBlocked
	case g.Fired != "":
		return nextReason // a chunk gets one attempt: deliberation takes over
	case g.Tries < t.s.Objective.Attempts && !t.allDenied():
		return nextAttempt
	case g.Replans < t.a.o.Replans && t.a.reasoner != nil:
		return nextReason
	}
	return nextBlocked
}

// allDenied reports whether nobody is left for the task once the attempt at
// hand is counted.
func (t *turn) allDenied() bool {
	g, c := t.s.goal(), t.s.Current
	for _, cand := range t.a.runner.Candidates(&g.Tasks[g.Next]) {
		denied := slices.Contains(g.Denied, cand.Name) || c.End == act.Denied && cand.Name == c.Worker
		if !denied {
			return false
		}
	}
	return true
}

// outcome describes the attempt at hand, and what it decides, to the learner.
func (t *turn) outcome(n next) learn.Outcome {
	s, g, c := &t.s, t.s.goal(), t.s.Current
	o := learn.Outcome{
		GoalKey: s.goalKey(),
		Run:     s.ID, Session: s.Session, Scope: s.Objective.Scope, At: t.a.o.Now().UTC(),
		Objective: g.Text, Situation: g.Situation, Approach: g.Approach,
		Complaint: g.Blocked,
		Injected:  t.s.hits, Withheld: g.Withheld, Utilized: g.Utilized, Fired: g.Fired, Failed: g.Failed,
	}
	if c == nil {
		o.Key = o.GoalKey + "/blocked"
	}
	if len(s.Goals) == 1 {
		o.Episodes = s.Objective.Episodes
	}
	switch n {
	case nextDelivered:
		o.Task, o.Goal = learn.Delivered, learn.Delivered
		if g.Fired == "" {
			o.Plan = g.Tasks
		}
	case nextTask:
		o.Task = learn.Delivered
	case nextBlocked:
		o.Task, o.Goal = learn.Blocked, learn.Blocked
		switch {
		case c == nil && g.Refused >= t.a.o.Refusals && g.Complaint == "":
			o.Task, o.Goal = learn.Open, learn.Open // a model that was not reached says nothing about the session either
		case c == nil && (g.Refused >= t.a.o.Refusals || s.unplanned()):
			o.Goal = learn.Open // the reasoner or the host's plan failed: that says nothing about the situation
		case c != nil && c.End == act.Interrupted:
			o.Task, o.Goal = learn.Open, learn.Open // nobody knows
		}
	case nextReason:
		if g.Fired == "" {
			o.Task = learn.Blocked
		}
	}
	if c != nil {
		o.Key = c.Key
		o.Skill, o.Worker = g.Tasks[g.Next].Skill, c.Worker
		o.End, o.Passed, o.Faulty, o.Wall, o.Complaint = c.End, c.Passed, c.Faulty, c.Wall, c.Wrong
		o.Result = act.Result{Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage}
	}
	return o
}

// unplanned reports whether the host's plan could not be begun.
func (s *State) unplanned() bool {
	return len(s.Objective.Tasks) > 0 && s.Deliberations == 0 && len(s.goal().Tasks) == 0
}

// goalKey names the innermost goal among all goals of all runs.
func (s *State) goalKey() string { return s.prefix() + "/goal/" + strconv.Itoa(s.goal().Number) }

// note keeps what was learned.
func (t *turn) note(l learn.Lessons) {
	before := len(t.s.Learned)
	for _, r := range [...]memory.Receipt{l.Chunk, l.Failure} {
		if r.ID != "" && !slices.Contains(t.s.Learned, r.ID) {
			t.s.Learned = appendTo(t.s.Learned, r.ID)
		}
	}
	if l.Chunk.ID != "" || l.Failure.ID != "" {
		t.emit(EventLearned, Event{IDs: t.s.Learned[before:]})
	}
}

// union appends to a those of b that are not in it.
func union[T comparable](a, b []T) []T {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = appendTo(a, v)
		}
	}
	return a
}

// move goes on to what follows.
func (t *turn) move(ctx context.Context, n next) error {
	s, g, c := &t.s, t.s.goal(), t.s.Current
	if c != nil && c.Passed {
		s.Deliveries = appendTo(s.Deliveries, Delivery{
			Task: g.Tasks[g.Next], Worker: c.Worker, Attempt: c.Number,
			Output: c.Output, Summary: c.Reflection.Summary, Deltas: c.Deltas,
		})
	}
	switch n {
	case nextTask:
		s.Current = nil
		g.Next++
		g.Tries, g.Denied = 0, nil
		return t.prepare(ctx)
	case nextAttempt:
		s.Current = nil
		return t.prepare(ctx)
	case nextReason:
		if g.Fired != "" {
			g.Spent = appendTo(g.Spent, g.Fired)
		} else {
			g.Replans++
		}
		s.Current = nil
		g.Tasks, g.Next, g.Tries, g.Denied, g.Fired = nil, 0, 0, nil, ""
		s.Phase = PhaseReason
		return nil
	case nextDelivered:
		t.emit(EventDelivered, Event{})
		s.Current = nil
		if len(s.Goals) == 1 {
			return t.summary(ctx)
		}
		// The subgoal is reached: its deliveries are in the lineage, and
		// what it taught may be recalled.
		s.Goals = slices.Clip(s.Goals[:len(s.Goals)-1])
		s.hits, s.Phase = nil, PhaseContext
		return nil
	default:
		return t.giveUp(ctx)
	}
}

// giveUp ends the run: a goal that is blocked blocks the goals above it.
func (t *turn) giveUp(ctx context.Context) error {
	s, g, c := &t.s, t.s.goal(), t.s.Current
	why := g.Blocked
	if why == "" && c != nil {
		why = fmt.Sprintf("task %d was not delivered in %d attempts; the last, by %s: %s", g.Next+1, g.Tries, c.Worker, c.Wrong)
	}
	if g.Impasse != "" {
		why = fmt.Sprintf("impasse %s: subgoal %q: %s", g.Impasse, g.Text, why)
	}
	t.emit(EventBlocked, Event{Text: why})
	s.Current, s.Reason = nil, why
	return t.summary(ctx)
}

// summary ends the run.
func (t *turn) summary(ctx context.Context) error {
	s := &t.s
	as, err := t.a.monitor.Assess(ctx, s.Session)
	if err != nil {
		return fmt.Errorf("assess: %w", err)
	}
	s.Assessment, s.Ended, s.Current, s.Phase = as, t.a.o.Now().UnixNano(), nil, PhaseDone
	s.Status = Delivered
	if s.Reason != "" {
		s.Status = Blocked
	}
	s.hits = nil
	t.emit(EventFinished, Event{Text: string(s.Status)})
	return nil
}

// outgrow makes s, the State before a turn whose result is too large to be
// kept, one that ends the run.
func (s *State) outgrow(err error) {
	s.Step++
	s.Reason, s.Phase = "the run has outgrown its record: "+err.Error(), PhaseSummary
}

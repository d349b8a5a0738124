package arc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/gist"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// stale is the age from which on failures in other runs give advice only.
const stale = time.Hour

// nearlySpent is the share of the budget from which on a run no longer slows down.
const nearlySpent = 0.8

// assess is the metacognitive check before an aim is begun, before each of its tasks, and
// before a new plan is made. It returns the phase for that, or the one that the pivot policy
// demands.
//
// It shares its step with what comes before and after: nothing in it costs money, and after a crash
// it is made again from the same outcomes.
func (t *turn) assess(ctx context.Context) (phase, error) {
	pivots := len(t.s.Pivots)
	if next, err := t.judge(ctx); next != "" || err != nil {
		return next, err
	}
	g := t.s.aim()
	pivoted := len(t.s.Pivots) > pivots && slices.Contains(g.Avoid, g.Approach)
	switch {
	case len(g.Tasks) > 0 && pivoted && t.a.o.Pivot == PivotAuto && t.a.reasoner != nil:
		// The plan is of the approach that keeps failing.
		if g.takeOther() {
			t.emit(EventDecided, Event{Text: g.Approach, IDs: g.Utilized})
			return phaseAssign, nil
		}
		g.follow(nil, g.Approach, "")
		return phaseReason, nil
	case g.Next < len(g.Tasks) && (g.Until == 0 || g.Next < g.Until):
		return phaseAssign, nil
	case !g.Searched:
		return phaseRecall, nil
	}
	return phaseReason, nil
}

// judge assesses whether what the run and its session do works. It returns the phase that the
// pivot policy demands, or "" to continue.
func (t *turn) judge(ctx context.Context) (phase, error) {
	s, g := &t.s, t.s.aim()
	var now meta.Assessment
	if !s.Objective.Fresh && !s.unjudged() {
		var err error
		if now, err = t.session(ctx); err != nil {
			return "", fmt.Errorf("assess: %w", err)
		}
	}
	now = now.With(t.signs())
	was := s.Assessment
	if s.Assessment = now; len(now.Evidence) == 0 { // all is well
		s.Assessment = meta.Assessment{}
		return "", nil
	}
	// What was said once is not said again until there is another failure: a flag in each step
	// would hide the one that is new.
	if now.Recommendation == was.Recommendation && now.Failures == was.Failures && now.Tries == was.Tries {
		return "", nil // the same as before
	}
	text := t.flag()
	if t.a.o.Pivot == PivotAuto && t.here() {
		// The strongest advice first. StartFresh hides the failures so far from the next brief; it
		// comes once an aim, and not in the middle of a plan.
		if slices.Contains(now.Also, meta.GiveUp) {
			return t.block(CauseStuck, text), nil
		}
		if slices.Contains(now.Also, meta.AskHuman) {
			return t.stuck(text), nil
		}
		if slices.Contains(now.Also, meta.StartFresh) && len(g.Tasks) == 0 && g.Cleared == 0 {
			g.Cleared = len(g.Failed)
		}
	}
	if now.Pivot && t.a.o.Pivot == PivotAsk {
		g.Cause = CauseStuck
		return t.ask(text + ": how shall I go on?"), nil
	}
	return "", nil
}

// session assesses the session. It leaves out other users' texts.
func (t *turn) session(ctx context.Context) (meta.Assessment, error) {
	as, err := t.own.monitor.Assess(ctx, t.s.Session)
	if err == nil && !t.mayHear(as.User) {
		as.Goal, as.Approach, as.User, as.Evidence = "", "", "", slices.Clone(as.Evidence)
		as.Evidence[0] = fmt.Sprintf("%d failed since the last success, the last for another user", as.Failures)
	}
	return as, err
}

// mayHear reports whether the run may see texts from the runs of a user.
func (t *turn) mayHear(user string) bool { return user == "" || user == t.s.Objective.User }

// flag reports the assessment: as an event, in the Report, and, if it is to pivot, as an approach
// that the next decision is to avoid. It returns the text.
func (t *turn) flag() string {
	s, g := &t.s, t.s.aim()
	text := t.advice()
	t.emit(EventAssessed, Event{Text: text})
	if as := &s.Assessment; as.Pivot {
		s.Pivots = appendTo(s.Pivots, text)
		t.emit(EventPivot, Event{Text: text})
		if as.Approach != "" && !slices.Contains(g.Avoid, as.Approach) {
			g.Avoid = appendTo(g.Avoid, as.Approach)
		}
	}
	return text
}

// stuck asks a person, or gives the aim up if no person attends.
func (t *turn) stuck(why string) phase {
	if t.a.o.Attended {
		t.s.aim().Cause = CauseStuck
		return t.ask(why + ": how shall I go on?")
	}
	return t.block(CauseStuck, why)
}

// advice returns the assessment as text, with what is left to try; "" if all is well.
func (t *turn) advice() string {
	as := &t.s.Assessment
	if len(as.Evidence) == 0 {
		return ""
	}
	text := as.Recommendation + ": " + strings.Join(as.Evidence, "; ")
	if left := t.s.aim().left(); len(left) > 0 {
		text += fmt.Sprintf("; not tried yet: %q", left)
	}
	return text
}

// slow reports whether the run takes one task at a time, since not all is well. Near the end of
// the budget it does not: more decisions would spend the rest.
func (t *turn) slow() bool {
	spent, _ := t.s.bounds().Spent(t.s.spent(t.a.o.Now()))
	return t.s.Assessment.Recommendation != "" && spent < nearlySpent
}

// history adds to the advice the last objectives of the scope that were not delivered, those of
// the same situation first. If there is advice it adds to the alternatives what has delivered
// in the situation. It changes nothing else, since several runs of a scope can be live.
func (t *turn) history(ctx context.Context, b *reason.Brief) error {
	g := t.s.aim()
	all, past, err := t.own.monitor.Past(ctx, string(t.s.Objective.Scope), t.veil.Hide(g.Situation))
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	n, by := t.streak(past)
	of := "of this situation"
	if n < 2 {
		n, by = t.streak(all)
		of = "of this scope"
	}
	if n >= 2 {
		b.Advice += fmt.Sprintf("\nthe last %d objectives %s ended blocked", n, of)
		if len(by) > 0 {
			b.Advice += fmt.Sprintf(", by the approaches %q", by)
		}
	}
	for i := range past {
		e := &past[i]
		told := gist.Listed(b.Alternatives, e.Approach) || gist.Listed(g.Avoid, e.Approach)
		if b.Advice != "" && e.Delivered && t.mayHear(e.User) && !told {
			b.Alternatives = append(b.Alternatives, e.Approach)
		}
	}
	return nil
}

// streak counts the last endings in a row that are not delivered, without other users', and
// lists their approaches.
func (t *turn) streak(past []meta.Ending) (n int, by []string) {
	for i := len(past) - 1; i >= 0; i-- {
		e := &past[i]
		if e.Delivered {
			break
		}
		if n++; t.mayHear(e.User) && !gist.Listed(by, e.Approach) {
			by = append(by, e.Approach)
		}
	}
	return n, by
}

// left returns the approaches that were proposed for the aim and are neither tried nor to be
// avoided.
func (g *aim) left() (out []string) {
	for _, other := range g.Others {
		if other.Approach != "" && !gist.Listed(g.Avoid, other.Approach) {
			out = append(out, other.Approach)
		}
	}
	return out
}

// maxRepeats is how often an approach fails at an aim before it is refused.
const maxRepeats = 3

// tells reports whether a failed attempt is evidence about the decision.
func (c *attempt) tells() bool {
	return !c.Faulty && !c.End.Barred() && c.End != act.Interrupted && c.End != act.Away
}

// tried records that the current attempt has failed, if that is evidence about the decision. It keeps
// digests, not texts: they are compared only, and a run may hold many.
func (t *turn) tried() {
	g, c := t.s.aim(), t.s.Current
	if !c.tells() {
		return
	}
	task := g.Tasks[g.Next : g.Next+1]
	g.Tried = appendTo(g.Tried[max(0, len(g.Tried)+1-maxFailed):], try{
		Approach: gist.Approach(g.Approach, g.Tasks), Plan: gist.Plan(g.Tasks),
		Action: gist.Sum(c.Worker) ^ gist.Plan(task), Result: gist.Sum(gist.Fold(c.Wrong)),
	})
	t.s.FailedBy = g.Approach
}

// signs returns the run's own signals for the assessment.
func (t *turn) signs() meta.Signs {
	s, g := &t.s, t.s.aim()
	signs := meta.Signs{Goal: g.Text, Approach: s.FailedBy, Open: t.untried(), Resonance: s.resonance()}
	for _, f := range g.Tried {
		signs.Approaches = append(signs.Approaches, f.Approach)
		signs.Attempts = append(signs.Attempts, max(1, f.Action*31+f.Result))
	}
	signs.Spent, signs.Bound = s.bounds().Spent(s.spent(t.a.o.Now()))
	return signs
}

// untried reports whether the current task, which has failed, may still succeed as planned: by a
// worker that has not tried it, or because the last attempt failed for a new reason. Attempts
// bounds the tries. While it may, the monitor does not call the plan stuck: the workers differ, and
// the first that fail say little about the last.
func (t *turn) untried() bool {
	g := t.s.aim()
	n := min(g.Tries, len(g.Failed))
	if n == 0 || g.Next >= len(g.Tasks) || g.Tries >= t.s.Objective.Attempts {
		return false
	}
	failed := g.Failed[len(g.Failed)-n:]
	// A complaint that is new shows progress, so that the same worker may come further.
	anew := !slices.ContainsFunc(failed[:n-1], func(f reason.FailedAttempt) bool {
		return gist.Same(f.Complaint, failed[n-1].Complaint)
	})
	for _, c := range t.a.runner.Candidates(&g.Tasks[g.Next], false) {
		anew = anew || !slices.Contains(g.Denied, c.Name) &&
			!slices.ContainsFunc(failed, func(f reason.FailedAttempt) bool { return f.Worker == c.Name })
	}
	return anew
}

// repeats counts the failed attempts by an approach, or by the same tasks.
func (g *aim) repeats(approach string, tasks []reason.Task) (n int) {
	if len(g.Tried) == 0 {
		return 0
	}
	by, plan := gist.Approach(approach, tasks), gist.Plan(tasks)
	for _, f := range g.Tried {
		if f.Approach == by || f.Plan == plan {
			n++
		}
	}
	return n
}

// newcomer reports whether a task names a worker that has not failed at the aim, while others
// have.
func (g *aim) newcomer(tasks []reason.Task) bool {
	return len(g.Tried) > 0 && slices.ContainsFunc(tasks, func(k reason.Task) bool {
		failed := func(f reason.FailedAttempt) bool { return f.Worker == k.Worker }
		return k.Worker != "" && !slices.ContainsFunc(g.Failed, failed)
	})
}

// repeated is the error of a decision that repeats what keeps failing.
type repeated struct {
	approach, why string
}

func (e *repeated) Error() string {
	return fmt.Sprintf("%v: the approach %q is to be avoided, since it keeps failing: %s. "+
		"Take another, or say what is in the way", reason.ErrDecision, e.approach, e.why)
}

func (e *repeated) Unwrap() error { return reason.ErrDecision }

// against returns why a decision is refused, or "". An approach that failed three times at the aim
// is refused each time, until a person has answered or a subgoal was reached, unless it is for
// a worker that has not failed. An approach that failed elsewhere in the session is refused
// once, or each time if it failed at this goal within the hour.
func (t *turn) against(approach string, tasks []reason.Task) string {
	g := t.s.aim()
	if g.newcomer(tasks) {
		return ""
	}
	if n := g.repeats(approach, tasks); n >= maxRepeats {
		return fmt.Sprintf("%d attempts by it have failed at this goal, the last with: %s",
			n, g.Failed[len(g.Failed)-1].Complaint)
	}
	if !gist.Listed(g.Avoid, approach) || len(g.Answers) > 0 || g.Told && !t.here() {
		return ""
	}
	return "so it has in this session"
}

// here reports whether the assessment is about failures at this goal, in other runs within the
// last hour. Older failures, and those at other goals, prove less: the world may have changed.
func (t *turn) here() bool {
	as := &t.s.Assessment
	if !gist.Same(t.veil.Hide(as.Goal), t.veil.Hide(t.s.aim().Text)) {
		return false
	}
	// Later by more than that: the clock was put back.
	return as.Tries > 0 || t.a.o.Now().Sub(time.Unix(0, as.Last)).Abs() < stale
}

package arc

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/breaker"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// What follows an attempt that has not passed, step by step:
//
//  1. Wait for a part that is away, which is no failure: another worker makes the attempt, and
//     if all are away the run waits ([act.Class], package wait).
//  2. Refine: the same worker tries once more, with the complaint, if it can improve its work
//     and enough attempts are left for the workers that have not tried. If workers are ranked
//     by price, the one most worth it gets the attempt.
//  3. Another worker: the one that has failed at the task the least, by rank. A worker that may
//     not do the task, or cannot, is not asked again; one whose breaker is open is left out
//     while there are others.
//  4. Another approach, once Objective.Attempts are spent or no worker is left: an alternative
//     of the decision, then as many plans as Options.Replans and Options.Pivot allow.
//  5. Escalate: the run asks (Options.Attended) or is BLOCKED, and a person is told once a day
//     for each kind of failure.

// assign chooses the worker of the next attempt at the current task. Its step is committed before
// the attempt is made, so that a resumed run knows which attempt was in flight. A worker that
// is away is left out while there are others; once all were found away, the run waits.
func (t *turn) assign(ctx context.Context) (phase, error) {
	s, g := &t.s, t.s.aim()
	task := &g.Tasks[g.Next]
	if err := t.know(ctx); err != nil {
		return "", err
	}
	now := t.a.o.Now().UnixNano()
	if s.Current != nil { // just found away, and those before it with it
		now = 0
	}
	away, after := g.absent(now)
	ranking, rests, err := t.rested(ctx, task, slices.Concat(g.Denied, away))
	if err != nil {
		return "", err
	}
	if c := s.Current; len(ranking) == 0 && len(away) > 0 {
		if c != nil { // the last worker has been asked
			s.Current = nil
			return t.wait(CauseWorker, fmt.Sprintf("%s is away: %s", c.Worker, c.Wrong), after), nil
		}
		if ranking, rests, err = t.rested(ctx, task, g.Denied); err != nil {
			return "", err
		}
	}
	if len(ranking) == 0 && rests != "" {
		return t.unbegun(rests), nil
	}
	if len(ranking) == 0 {
		return t.block(causeOf(s.Last.End), fmt.Sprintf("no worker may, or can, do task %d", g.Next+1)), nil
	}
	// The worker gets the last complaint about this task, also if it was another's: the next
	// worker need not make the same mistake.
	var complaint string
	if g.Tries > 0 && len(g.Failed) > 0 {
		complaint = g.Failed[len(g.Failed)-1].Complaint
	}
	worker := ""
	for held := false; !held; { // another run may reserve in between
		var cause Cause
		var why string
		if ranking, cause, why, err = t.afford(ctx, task, ranking); err != nil {
			return "", err
		}
		if len(ranking) == 0 {
			if complaint != "" {
				why += "; the last failed: " + complaint
			}
			return t.unpaid(cause, t.clip(why)), nil
		}
		worker = t.choose(task, t.own.breakers.Closed(ranking, t.a.o.Now()))
		if held, err = t.reserve(ctx, task, worker, ranking); err != nil {
			return "", err
		}
	}
	t.own.breakers.Try(worker, t.a.o.Now(), max(t.a.o.AttemptTimeout, breaker.Rest))
	g.Tries++
	t.called = t.own.name + "/" + s.prefix() + "/" + strconv.Itoa(s.Attempts+1)
	s.Current = &attempt{
		Key:    t.called[len(t.own.name)+1:],
		Worker: worker, Number: g.Tries, Complaint: complaint,
	}
	for _, w := range t.warnings(task.Skill) {
		s.Current.Warned = append(s.Current.Warned, w.IDs...)
	}
	t.emit(EventAttempt, Event{Ranking: ranking, Text: complaint, Mode: t.a.runner.Mode(worker)})
	return phaseAct, nil
}

// rested ranks the workers for a task, without those denied and those whose attempt would only
// repeat a known failure; it returns why it has left out the last of these. After a person's
// answer an attempt repeats nothing.
//
// An action is a worker with a task's words and inputs. It rests once it has failed in
// learn.Options.Repeats other runs of the situation, until it is told something new: the run
// overcomes the complaint by not making the mistake a fourth time.
func (t *turn) rested(
	ctx context.Context, task *reason.Task, denied []string,
) (ranking []rank.Scored, rests string, err error) {
	s, g := &t.s, t.s.aim()
	cs := slices.DeleteFunc(t.a.runner.Candidates(task, false), func(c rank.Candidate) bool {
		return slices.Contains(denied, c.Name)
	})
	ranking, err = t.ranked(ctx, t.veil.Hide(g.Situation), task.Skill, cs)
	if err != nil || !t.heeded() || len(g.Answers) > 0 {
		return ranking, "", err
	}
	kept := t.kept()
	ranking = slices.DeleteFunc(ranking, func(r rank.Scored) bool {
		a := kept.action(r.Candidate.Name)
		why := t.own.learner.Rests(t.known.Known, s.Objective.Scope, s.ID, &a, t.a.o.Now())
		if why != "" {
			rests = why
			t.emit(EventRefused, Event{Text: why})
		}
		return why != ""
	})
	return ranking, rests, nil
}

// ranked returns the candidates for a skill in a situation, best first.
func (t *turn) ranked(ctx context.Context, situation, skill string, cs []rank.Candidate) ([]rank.Scored, error) {
	if len(cs) == 0 {
		return nil, nil
	}
	at, err := t.priced(ctx, learn.Situation(skill, situation))
	if err != nil {
		return nil, err
	}
	ranking, err := guard.Returned(t.own.policy.Score(ctx, at, cs))
	if err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	if len(ranking) == 0 {
		return nil, fmt.Errorf("rank: %w", rank.ErrNoCandidate)
	}
	return t.own.applied.Load().Seat(skill, ranking), nil
}

// choose picks the worker of the next attempt: the last one if it may refine its work, else one
// of those that have failed at the task the least. Of these it picks the one that the task
// names, or the best ranked.
func (t *turn) choose(task *reason.Task, ranking []rank.Scored) string {
	g, last := t.s.aim(), t.s.Last
	var failed map[string]int
	for _, name := range g.failedAt() {
		if failed == nil {
			failed = make(map[string]int)
		}
		failed[name]++
	}
	best, untried, refines := ranking[0].Candidate.Name, 0, false
	for i := range ranking {
		name := ranking[i].Candidate.Name
		if failed[name] == 0 {
			untried++
		}
		if n := failed[name]; n < failed[best] || n == failed[best] && name == task.Worker {
			best = name
		}
		refines = refines || name == last.Worker && failed[name] == 1 && ranking[i].Parts.Basis != rank.Priced
	}
	// A refinement leaves an attempt for each worker that has not tried: one that cannot improve
	// never takes the place of one that could deliver.
	may := []act.End{act.Finished, act.Failed, act.Malformed}
	if refines && untried < t.s.Objective.Attempts-g.Tries && slices.Contains(may, last.End) {
		return last.Worker
	}
	return best
}

// unbegun refuses a plan that no worker may begin. It costs no attempt.
func (t *turn) unbegun(why string) phase {
	g := t.s.aim()
	why = fmt.Sprintf("task %d is not begun: %s", g.Next+1, why)
	planned := len(t.s.Objective.Tasks) > 0 && t.s.Deliberations == 0
	switch {
	case g.Fired != "":
		g.Spent = appendTo(g.Spent, g.Fired)
	case g.takeOther():
		t.emit(EventDecided, Event{Text: g.Approach, IDs: g.Utilized})
		return phaseAssign
	case t.a.reasoner == nil || planned && g.Replans >= t.a.o.Replans:
		return t.block(CauseStuck, why)
	case planned:
		g.Replans++
	}
	g.Denied = nil
	g.follow(nil, g.Approach, "")
	g.Refused++
	g.Complaint = clip(why)
	if g.Refused >= t.a.o.Refusals {
		return t.block(CauseStuck, why)
	}
	return phaseReason
}

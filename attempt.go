package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// prepare chooses the worker of the next attempt at the task at hand. The
// choice is committed before the attempt is made, so that it is known after a
// crash which attempt was under way.
func (t *turn) prepare(ctx context.Context) error {
	s, g := &t.s, t.s.goal()
	task := &g.Tasks[g.Next]
	ranking, err := t.a.ranked(ctx, g, task)
	if err != nil {
		return err
	}
	if len(ranking) == 0 {
		t.block(fmt.Sprintf("every worker was denied task %d", g.Next+1))
		return nil
	}
	var complaint string
	if g.Tries > 0 {
		complaint = g.Failed[len(g.Failed)-1].Complaint
	}
	worker := g.choose(task, ranking)
	g.Tries++
	s.Current = &Attempt{
		Key:    s.prefix() + "/" + strconv.Itoa(s.Attempts+1),
		Worker: worker, Number: g.Tries, Complaint: complaint,
	}
	s.Phase = PhaseAct
	t.emit(EventAttempt, Event{Ranking: ranking, Text: complaint})
	return nil
}

// ranked returns the workers that may take the task, best first.
func (a *Agent) ranked(ctx context.Context, g *Goal, task *reason.Task) ([]rank.Scored, error) {
	cs := a.runner.Candidates(task)
	if len(g.Denied) > 0 {
		cs = slices.DeleteFunc(cs, func(c rank.Candidate) bool { return slices.Contains(g.Denied, c.Name) })
	}
	if len(cs) == 0 {
		return nil, nil
	}
	var ranking []rank.Scored
	var err error
	if p := guard.Call(func() { ranking, err = a.policy.Score(ctx, learn.Situation(task.Skill, g.Situation), cs) }); p != nil {
		err = p // of a policy of the host's
	}
	if err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	if len(ranking) == 0 {
		return nil, fmt.Errorf("rank: %w", rank.ErrNoCandidate)
	}
	return ranking, nil
}

// choose picks the worker that has failed at the task the least; among those
// the one that the task names, else the best ranked.
func (g *Goal) choose(task *reason.Task, ranking []rank.Scored) string {
	best, fewest := "", -1
	for i := range ranking {
		name := ranking[i].Candidate.Name
		failed := 0
		for _, f := range g.Failed[max(0, len(g.Failed)-g.Tries):] {
			if f.Worker == name {
				failed++
			}
		}
		if fewest < 0 || failed < fewest || failed == fewest && name == task.Worker {
			best, fewest = name, failed
		}
	}
	return best
}

// act makes the attempt.
func (t *turn) act(ctx context.Context) error {
	if t.s.Current.Number == 1 {
		if stop, err := t.before(ctx); stop || err != nil {
			return err
		}
	}
	work, err := t.workersOwn(ctx)
	if err != nil {
		return err
	}
	s, c := &t.s, t.s.Current
	in, p := t.a.watch.attempting(ctx, s, &work)
	at := t.a.runner.Execute(in, c.Worker, work)
	p.attempted(c.Worker, &at)
	if at.End == act.Canceled {
		return ctx.Err()
	}
	s.Attempts++
	if at.Stack != nil {
		t.a.o.Logger.Error("a worker panicked", "run", s.ID, "worker", c.Worker, "stack", string(at.Stack), t.a.shown(at.Complaint))
	}
	out, err := t.a.keep(ctx, c.Key, at.Result.Output)
	if limit, ok := errors.AsType[*store.LimitError](err); ok {
		at = act.Attempt{End: act.Malformed, Complaint: "output: " + limit.Error(), Wall: at.Wall}
	} else if err != nil {
		return fmt.Errorf("keep the output: %w", err)
	}
	c.End, c.Wrong, c.Wall, c.Resonance = at.End, clip(at.Complaint), at.Wall, at.Resonance
	c.Reflection, c.Output, c.Usage, c.Deltas = at.Result.Reflection, out, at.Result.Usage, at.Result.Deltas
	c.Utilized = s.goal().applied(at.Result.Utilized)
	c.Misled = s.goal().applied(at.Result.Misled)
	s.Usage = s.Usage.Add(c.Usage)
	if c.Reflection.Status != "" {
		s.Tracker = appendTo(s.Tracker[max(0, len(s.Tracker)+1-maxTracked):], iar.Entry{
			Task: c.Key, Status: c.Reflection.Status, Confidence: c.Reflection.Confidence, Resonance: c.Resonance,
		})
	}
	s.Phase = PhaseVerify
	if at.End != act.Finished {
		s.Phase = PhaseLearn
	}
	e := Event{Text: string(at.End), Wall: at.Wall}
	if c.Wrong != "" {
		e.Text += ": " + c.Wrong
	}
	t.emit(EventExecuted, e)
	return nil
}

// maxTracked bounds the reflections in a State.
const maxTracked = 64

// before is the metacognitive check before a task. With PivotAuto it drops the
// plan of an approach that keeps failing.
func (t *turn) before(ctx context.Context) (stop bool, err error) {
	pivots := len(t.s.Pivots)
	if stop, err = t.assess(ctx); stop || err != nil {
		if stop {
			t.undo()
		}
		return stop, err
	}
	g := t.s.goal()
	if t.a.o.Pivot == PivotAuto && t.a.reasoner != nil && len(t.s.Pivots) > pivots && slices.Contains(g.Avoid, g.Approach) {
		t.undo()
		g.Tasks, g.Next, g.Fired = nil, 0, ""
		t.s.Phase = PhaseReason
		return true, nil
	}
	return false, nil
}

// undo takes the prepared attempt back: it was not made.
func (t *turn) undo() {
	t.s.Current = nil
	t.s.goal().Tries = 0
}

// work is the attempt at hand as gates see it.
func (t *turn) work(ctx context.Context) (act.Work, error) {
	s, g, c := &t.s, t.s.goal(), t.s.Current
	hits, err := t.memories(ctx)
	if err != nil {
		return act.Work{}, err
	}
	lineage, err := t.a.lineage(ctx, s)
	if err != nil {
		return act.Work{}, err
	}
	task := g.Tasks[g.Next]
	skill, _ := t.a.skills.Get(task.Skill) // the zero Skill has no AGENT.md
	return act.Work{
		Run: s.ID, Objective: g.Text, Situation: g.Situation, Inputs: s.Objective.Inputs,
		Task: task, Agent: skill.Agent, Memories: hits, Lineage: lineage,
		Attempt: c.Number, Key: c.Key, Complaint: c.Complaint,
	}, nil
}

// workersOwn is the attempt at hand as a worker sees it. Workers are told not
// to change their work, and some do: the next attempt is to get what was
// recalled, not what became of it.
func (t *turn) workersOwn(ctx context.Context) (act.Work, error) {
	w, err := t.work(ctx)
	w.Inputs, w.Task.Inputs = slices.Clone(w.Inputs), slices.Clone(w.Task.Inputs)
	w.Memories = slices.Clone(w.Memories)
	for i := range w.Memories {
		w.Memories[i].Record = w.Memories[i].Record.Clone()
	}
	return w, err
}

// verify has the gates judge the attempt.
func (t *turn) verify(ctx context.Context) error {
	work, err := t.work(ctx)
	if err != nil {
		return err
	}
	c := t.s.Current
	out, err := t.a.output(ctx, c.Output)
	if err != nil {
		return err
	}
	in, p := t.a.watch.verifying(ctx, &t.s)
	v, err := t.a.runner.Verify(in, c.Worker, work, act.Result{
		Output: out, Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage, Deltas: c.Deltas,
	})
	p.verified(c.Worker, v, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Passed, c.Wrong = v.Pass, clip(v.Complaint)
	if err != nil {
		c.Passed, c.Faulty = false, true
		c.Wrong = clip(t.a.o.Sanitizer.Sanitize(err.Error()))
		t.a.o.Logger.Error("a gate failed", "run", t.s.ID, "worker", c.Worker, "class", telemetry.Class(err), t.a.shown(c.Wrong))
	}
	t.s.Phase = PhaseLearn
	t.emit(EventVerified, Event{Pass: c.Passed, Text: c.Wrong})
	return nil
}

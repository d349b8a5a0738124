package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Begin returns the State in which a run of the objective begins. It writes
// nothing.
func (a *Agent) Begin(o Objective) (State, error) {
	if err := o.check(); err != nil {
		return State{}, err
	}
	o = o.clone()
	setDefault(&o.Scope, a.o.Scope)
	for _, scope := range append([]memory.Scope{o.Scope}, o.Also...) {
		if err := scope.Check(); err != nil {
			return State{}, fmt.Errorf("%w: %w", ErrObjective, err)
		}
	}
	san := a.o.Sanitizer
	o.Text, o.Inputs = san.Sanitize(o.Text), san.JSON(o.Inputs)
	setDefault(&o.Situation, o.Text)
	o.Situation = san.Sanitize(o.Situation)
	o.Budget = o.Budget.or(a.o.Budget)
	now := a.o.Now().UTC()
	if o.ID == "" {
		o.ID = a.newID(now)
	}
	setDefault(&o.Session, o.ID)
	return State{
		ID: o.ID, Session: o.Session, Objective: o,
		Status: Running, Phase: PhaseContext, Started: now.UnixNano(),
		Goals: []Goal{{Text: o.Text, Situation: o.Situation}},
	}, nil
}

// Step takes a run one transition further and returns its new State. It
// commits nothing of the run itself: whoever calls it does, before the next
// Step; Run does all that. It calls the host's parts and learns; each of these
// effects carries a key, so that doing a Step again after a crash counts once.
// The State given is not changed. On an error (the context's, the store's) it
// still holds. A run that is Done or Asking stays as it is.
func (a *Agent) Step(ctx context.Context, s State) (State, error) {
	if err := alive(ctx); err != nil {
		return s, err
	}
	if s.Status != Running || len(s.Goals) == 0 {
		return s, nil
	}
	t := &turn{a: a, s: s.fork()}
	if err := t.step(ctx); err != nil {
		return s, err
	}
	return t.s, nil
}

// turn makes the steps of a run.
type turn struct {
	a       *Agent
	s       State
	watched bool    // somebody wants the events
	events  []Event // of the last step
}

func (t *turn) step(ctx context.Context) (err error) {
	s := &t.s
	t.events = nil
	if why := s.Objective.Budget.spent(s, t.a.o.Now()); why != "" && s.Phase != PhaseSummary && s.Phase != PhaseLearn {
		s.Reason, s.Phase = why, PhaseSummary
	}
	switch s.Phase {
	case PhaseContext:
		err = t.context(ctx)
	case PhaseReason:
		err = t.reason(ctx)
	case PhaseAct:
		err = t.act(ctx)
	case PhaseVerify:
		err = t.verify(ctx)
	case PhaseLearn:
		err = t.learn(ctx)
	case PhaseSummary:
		err = t.summary(ctx)
	default:
		err = fmt.Errorf("run %q: unknown phase %q", s.ID, s.Phase)
	}
	s.Step++
	return err
}

// emit reports an event of the turn.
func (t *turn) emit(kind EventKind, e Event) {
	t.s.Seq++
	if !t.watched {
		return
	}
	e.Kind, e.Seq, e.At, e.Run = kind, t.s.Seq, t.a.o.Now().UTC(), t.s.ID
	e.Goal = t.s.goal().Text
	if c := t.s.Current; c != nil {
		e.Task, e.Attempt, e.Worker = t.s.goal().Next+1, c.Number, c.Worker
	}
	t.events = append(t.events, e)
}

// context recalls what is known about the goal, and lets a chunk fire.
func (t *turn) context(ctx context.Context) error {
	t.s.Phase = PhaseReason
	if t.s.Objective.Fresh {
		return nil
	}
	if err := t.recall(ctx); err != nil {
		return err
	}
	g := t.s.goal()
	t.emit(EventRecalled, Event{IDs: g.Recalled})
	chunk, ok := t.a.learner.Fire(t.s.hits, g.Situation, g.Text, g.Spent)
	if !ok || t.a.nobodyFor(chunk.Tasks) != "" {
		return nil
	}
	g.Tasks, g.Next, g.Tries, g.Approach, g.Fired = chunk.Tasks, 0, 0, chunk.Approach, chunk.ID
	t.s.Fired++
	t.emit(EventFired, Event{IDs: []memory.ID{chunk.ID}, Text: chunk.Approach})
	return t.prepare(ctx)
}

func (t *turn) recall(ctx context.Context) error {
	o, g := &t.s.Objective, t.s.goal()
	hits, err := t.a.learner.Recall(ctx, o.Scope, o.Also, g.Situation, g.Text)
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	t.s.hits = hits
	g.Recalled = make([]memory.ID, len(hits))
	for i := range hits {
		g.Recalled[i] = hits[i].Record.ID
	}
	return nil
}

// nobodyFor says which of the tasks no worker can take, or "".
func (a *Agent) nobodyFor(tasks []reason.Task) string {
	for i := range tasks {
		if len(a.runner.Candidates(&tasks[i])) > 0 {
			continue
		}
		return fmt.Sprintf("no worker can take task %d (skill %q, effect %+v); the skills are: %s",
			i+1, tasks[i].Skill, tasks[i].Effect, strings.Join(a.runner.Skills(), ", "))
	}
	return ""
}

// memories returns the hits of the innermost goal.
func (t *turn) memories(ctx context.Context) ([]memory.Hit, error) {
	g := t.s.goal()
	if len(t.s.hits) == len(g.Recalled) {
		return t.s.hits, nil
	}
	t.s.hits = nil
	for _, id := range g.Recalled {
		rec, err := t.a.recordOf(ctx, &t.s.Objective, id)
		if errors.Is(err, store.ErrNotFound) {
			rec = memory.Record{ID: id} // forgotten since
		} else if err != nil {
			return nil, fmt.Errorf("recall: %w", err)
		}
		t.s.hits = append(t.s.hits, memory.Hit{Record: rec})
	}
	return t.s.hits, nil
}

// recordOf finds a recalled memory in the scopes of the objective.
func (a *Agent) recordOf(ctx context.Context, o *Objective, id memory.ID) (memory.Record, error) {
	rec, err := a.bank.In(o.Scope).Get(ctx, id)
	for _, scope := range o.Also {
		if !errors.Is(err, store.ErrNotFound) {
			break
		}
		rec, err = a.bank.In(scope).Get(ctx, id)
	}
	return rec, err
}

// reason asks the reasoner, and follows what it decides.
func (t *turn) reason(ctx context.Context) error {
	stop, err := t.assess(ctx)
	if stop || err != nil {
		return err
	}
	b, err := t.brief(ctx)
	if err != nil {
		return err
	}
	d, err := t.a.deliberate(ctx, b)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.s.Deliberations++
	if err != nil {
		t.refuse(err)
		return nil
	}
	t.s.Usage = t.s.Usage.Add(d.Usage)
	return t.follow(ctx, d)
}

// deliberate returns a decision that can be acted on.
func (a *Agent) deliberate(ctx context.Context, b reason.Brief) (reason.Decision, error) {
	d, err := guard.Do(ctx, a.o.ReasonTimeout, func(ctx context.Context) (reason.Decision, error) {
		return a.reasoner.Reason(ctx, b)
	})
	if err != nil {
		return reason.Decision{}, err
	}
	if err := d.Check(); err != nil {
		return reason.Decision{}, err
	}
	a.cleanDecision(&d)
	if why := a.nobodyFor(d.Tasks); why != "" {
		return reason.Decision{}, fmt.Errorf("%w: %s", reason.ErrDecision, why)
	}
	return d, nil
}

// refuse counts a deliberation that led to nothing.
func (t *turn) refuse(err error) {
	g := t.s.goal()
	g.Refused++
	g.Complaint = t.a.o.Sanitizer.Sanitize(err.Error())
	if p, ok := errors.AsType[*guard.PanicError](err); ok {
		t.a.o.Logger.Error("the reasoner panicked", "run", t.s.ID, "panic", g.Complaint, "stack", string(p.Stack))
	}
	t.emit(EventRefused, Event{Text: g.Complaint})
	if g.Refused >= t.a.o.Refusals {
		t.block("no decision could be acted on: " + g.Complaint)
	}
}

func (a *Agent) cleanDecision(d *reason.Decision) {
	san := a.o.Sanitizer
	d.Approach, d.Reasoning = san.Sanitize(d.Approach), san.Sanitize(d.Reasoning)
	d.Tasks = slices.Clone(d.Tasks)
	for i := range d.Tasks {
		k := &d.Tasks[i]
		k.Objective, k.Delta, k.Verify = san.Sanitize(k.Objective), san.Sanitize(k.Delta), san.Sanitize(k.Verify)
		k.Inputs = san.JSON(slices.Clone(k.Inputs))
		if k.Effect != nil {
			e := *k.Effect
			k.Effect = &e
		}
	}
	d.Questions = slices.Clone(d.Questions)
	for i, q := range d.Questions {
		d.Questions[i] = san.Sanitize(q)
	}
	if d.Impasse != nil {
		imp := *d.Impasse
		imp.Reason, imp.Subgoal = san.Sanitize(imp.Reason), san.Sanitize(imp.Subgoal)
		d.Impasse = &imp
	}
}

// follow takes up a decision that can be acted on.
func (t *turn) follow(ctx context.Context, d reason.Decision) error {
	g := t.s.goal()
	g.Complaint = ""
	g.Utilized = g.applied(d.Applied)
	switch {
	case d.Impasse != nil:
		t.emit(EventDecided, Event{Text: string(d.Impasse.Kind) + ": " + d.Impasse.Reason, IDs: g.Utilized})
		t.subgoal(d.Impasse)
		return nil
	case len(d.Questions) > 0:
		t.ask(d.Questions)
		return nil
	}
	g.Tasks, g.Next, g.Tries, g.Approach, g.Fired = d.Tasks, 0, 0, d.Approach, ""
	t.emit(EventDecided, Event{Text: d.Approach, IDs: g.Utilized})
	return t.prepare(ctx)
}

// applied returns those of ids that were recalled for the goal: a reasoner
// cannot credit what it was not shown.
func (g *Goal) applied(ids []memory.ID) []memory.ID {
	var out []memory.ID
	for _, id := range ids {
		if slices.Contains(g.Recalled, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func (t *turn) ask(questions []string) {
	t.s.goal().Questions = questions
	t.s.Phase, t.s.Status = PhaseAsk, Asking
	t.emit(EventAsked, Event{Text: strings.Join(questions, "\n")})
}

// answer returns the run as it goes on after a human's answer.
func (s State) answer(text string) State {
	s = s.fork()
	g := s.goal()
	g.Answers = appendTo(g.Answers, reason.Answer{Questions: g.Questions, Text: text})
	g.Questions = nil
	s.Phase, s.Status = PhaseReason, Running
	return s
}

// Bounds of subgoals, besides their texts being distinct.
const (
	maxDepth    = 16
	maxSubgoals = 64
)

// subgoal enters the subgoal of an impasse, unless that would go in a circle.
func (t *turn) subgoal(imp *reason.Impasse) {
	same := func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(imp.Subgoal)) }
	why := ""
	switch {
	case slices.ContainsFunc(t.s.Goals, func(g Goal) bool { return same(g.Text) }):
		why = "the subgoal is one of the goals above it"
	case slices.ContainsFunc(t.s.Subgoals, same):
		why = "the subgoal was tried before"
	case len(t.s.Goals) >= maxDepth:
		why = fmt.Sprintf("subgoals are nested %d deep", maxDepth)
	case len(t.s.Subgoals) >= maxSubgoals:
		why = fmt.Sprintf("there were %d subgoals", maxSubgoals)
	}
	if why != "" {
		t.block(fmt.Sprintf("impasse %s (%s), and %s", imp.Kind, imp.Reason, why))
		return
	}
	t.s.Subgoals = appendTo(t.s.Subgoals, imp.Subgoal)
	t.s.Goals = appendTo(t.s.Goals, Goal{
		Text: imp.Subgoal, Situation: imp.Subgoal, Impasse: imp.Kind, Number: len(t.s.Subgoals),
	})
	t.s.hits, t.s.Phase = nil, PhaseContext
	t.emit(EventSubgoal, Event{Text: imp.Subgoal})
}

// block gives the innermost goal up. Learn takes it in.
func (t *turn) block(why string) {
	t.s.goal().Blocked = why
	t.s.Current, t.s.Phase = nil, PhaseLearn
}

// brief is what the reasoner is told.
func (t *turn) brief(ctx context.Context) (reason.Brief, error) {
	s, g := &t.s, t.s.goal()
	hits, err := t.memories(ctx)
	if err != nil {
		return reason.Brief{}, err
	}
	lineage, err := t.a.lineage(ctx, s)
	if err != nil {
		return reason.Brief{}, err
	}
	b := reason.Brief{
		Run: s.ID, Session: s.Session,
		Objective: g.Text, Situation: g.Situation, Inputs: slices.Clone(s.Objective.Inputs),
		Memories: cloneHits(hits), Skills: t.a.runner.Skills(), Lineage: lineage,
		Failed: g.Failed, Answers: g.Answers, Avoid: g.Avoid, Complaint: g.Complaint,
		Advice: advice(&s.Assessment),
	}
	for _, above := range s.Goals[:len(s.Goals)-1] {
		b.Goals = append(b.Goals, above.Text)
	}
	return b, nil
}

// assess is the metacognitive check: is what the session does working? It
// reports whether the pivot policy has stopped the turn.
func (t *turn) assess(ctx context.Context) (stop bool, err error) {
	s, g := &t.s, t.s.goal()
	if s.Objective.Fresh {
		return false, nil
	}
	now, err := t.a.monitor.Assess(ctx, s.Session)
	if err != nil {
		return false, fmt.Errorf("assess: %w", err)
	}
	if now.Recommendation == meta.KeepGoing {
		s.Assessment = meta.Assessment{}
		return false, nil
	}
	was := s.Assessment
	s.Assessment = now
	if now.Recommendation == was.Recommendation && now.Failures == was.Failures {
		return false, nil // known already
	}
	text := advice(&now)
	t.emit(EventAssessed, Event{Text: text})
	if now.Recommendation != meta.PivotNow {
		return false, nil
	}
	s.Pivots = appendTo(s.Pivots, text)
	t.emit(EventPivot, Event{Text: text})
	if now.Approach != "" && !slices.Contains(g.Avoid, now.Approach) {
		g.Avoid = appendTo(g.Avoid, now.Approach)
	}
	if t.a.o.Pivot == PivotAsk {
		t.ask([]string{text + ": how shall I go on?"})
		return true, nil
	}
	return false, nil
}

// advice puts an assessment into words; "" if all is well.
func advice(as *meta.Assessment) string {
	switch as.Recommendation {
	case "", meta.KeepGoing:
		return ""
	}
	return string(as.Recommendation) + ": " + strings.Join(as.Evidence, "; ")
}

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
		Key:    s.ID + "/" + strconv.Itoa(s.Attempts+1),
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
	ranking, err := a.policy.Score(ctx, learn.Situation(task.Skill, g.Situation), cs)
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

// work is the attempt at hand as workers and gates see it.
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
	task.Inputs = slices.Clone(task.Inputs)
	return act.Work{
		Run: s.ID, Objective: g.Text, Situation: g.Situation, Inputs: slices.Clone(s.Objective.Inputs),
		Task: task, Memories: cloneHits(hits), Lineage: lineage,
		Attempt: c.Number, Key: c.Key, Complaint: c.Complaint,
	}, nil
}

// cloneHits copies hits with all that a worker could change in them: the next
// attempt gets what was recalled, not what became of it.
func cloneHits(hits []memory.Hit) []memory.Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].Record = hits[i].Record.Clone()
	}
	return hits
}

// act makes the attempt.
func (t *turn) act(ctx context.Context) error {
	if t.s.Current.Number == 1 {
		if stop, err := t.before(ctx); stop || err != nil {
			return err
		}
	}
	work, err := t.work(ctx)
	if err != nil {
		return err
	}
	s, c := &t.s, t.s.Current
	at := t.a.runner.Execute(ctx, c.Worker, work)
	if at.End == act.Canceled {
		return ctx.Err()
	}
	s.Attempts++
	if at.Stack != nil {
		t.a.o.Logger.Error("a worker panicked", "run", s.ID, "worker", c.Worker, "panic", at.Complaint, "stack", string(at.Stack))
	}
	out, err := t.a.keep(ctx, c.Key, at.Result.Output)
	if err != nil {
		return fmt.Errorf("keep the output: %w", err)
	}
	c.End, c.Wrong, c.Wall, c.Resonance = at.End, at.Complaint, at.Wall, at.Resonance
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
	if at.Complaint != "" {
		e.Text += ": " + at.Complaint
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
	if t.a.o.Pivot == PivotAuto && len(t.s.Pivots) > pivots && slices.Contains(g.Avoid, g.Approach) {
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
	v, err := t.a.runner.Verify(ctx, c.Worker, work, act.Result{
		Output: out, Reflection: c.Reflection, Utilized: c.Utilized, Misled: c.Misled, Usage: c.Usage, Deltas: c.Deltas,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Passed, c.Wrong = v.Pass, v.Complaint
	if err != nil {
		c.Passed, c.Faulty = false, true
		c.Wrong = t.a.o.Sanitizer.Sanitize(err.Error())
		t.a.o.Logger.Error("a gate failed", "run", t.s.ID, "error", c.Wrong)
	}
	t.s.Phase = PhaseLearn
	t.emit(EventVerified, Event{Pass: c.Passed, Text: c.Wrong})
	return nil
}

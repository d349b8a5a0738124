package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// phase names a step of the loop.
type phase string

const (
	assessPhase phase = "assess"
	recallPhase phase = "recall"
	reasonPhase phase = "reason"
	assignPhase phase = "assign"
	actPhase    phase = "act"
	verifyPhase phase = "verify"
	learnPhase  phase = "learn"
	endPhase    phase = "end"
	askPhase    phase = "ask"
	waitPhase   phase = "wait"
)

// phases is the table of the loop: each changes the turn, and returns what is next. An error drops the step.
var phases = map[phase]func(*turn, context.Context) (phase, error){
	assessPhase: (*turn).assess,
	recallPhase: (*turn).recall,
	reasonPhase: (*turn).reason,
	assignPhase: (*turn).assign,
	actPhase:    (*turn).act,
	verifyPhase: (*turn).verify,
	learnPhase:  (*turn).learn,
	endPhase:    (*turn).end,
	askPhase:    (*turn).ask,
	waitPhase:   (*turn).wait,
}

// drive takes step after step until the run ends, or needs a person.
func (t *turn) drive(ctx context.Context) error {
	ctx = act.WithJournal(ctx, t.journal, t.clean)
	ctx = context.WithValue(ctx, place{}, place{cmp.Or(string(t.Scope), "_"), t.ID})
	for t.Status == Running {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := t.step(ctx); err != nil {
			if errors.Is(err, store.ErrInvalid) && t.rev > 0 {
				return t.tooLarge(ctx, err)
			}
			return err
		}
		if t.Status == Delivered && t.objective.Situation != "" && !t.objective.Fresh {
			t.observe(ctx)
		}
		if t.Status == Waiting && !t.Wait.Since.IsZero() && !t.unasked {
			if err := t.sleep(ctx); err != nil {
				return err
			}
		}
		if t.Status == Running && t.agent.stop.Err() != nil {
			return errLeft
		}
	}
	return nil
}

// tooLarge blocks a run whose step cannot be stored: tried again it would be as large.
func (t *turn) tooLarge(ctx context.Context, why error) error {
	if err := t.reload(ctx); err != nil {
		return err
	}
	t.Phase = t.block(Exhausted, why.Error())
	return t.step(ctx)
}

// step makes one step: phases up to one before which the run has to be stored. That is so before anything is
// asked of a reasoner or a worker, and where nothing more is to be done.
func (t *turn) step(ctx context.Context) error {
	if t.agent.process.late() {
		return errFenced
	}
	for {
		was, err := t.bounded(ctx, t.Phase)
		if err != nil {
			return err
		}
		next, err := t.phase(ctx, was)
		if err != nil {
			return err
		}
		t.Phase = next
		if said := t.canceled(ctx); said != nil && t.Status == Delivered { // by a gate that ignores its ctx
			return said
		}
		// An assessment is of what is stored. Where the caller has gone, what was decided or judged is stored now.
		assessed := was == learnPhase && next == assessPhase && t.Session != ""
		gone := ctx.Err() != nil && (next == assessPhase || next == assignPhase)
		if t.Status != Running || next == reasonPhase || next == actPhase || assessed || gone {
			return t.commit(context.WithoutCancel(ctx))
		}
	}
}

func (t *turn) phase(ctx context.Context, p phase) (next phase, err error) {
	ctx, end := t.agent.trace(ctx, string(p), t.ID, "worker", t.Current.Worker)
	defer func() { end(cmp.Or(err, t.failure(p))) }()
	return phases[p](t, ctx)
}

// failure is the error of the attempt that a phase has made, for its trace. A gate's no is none of its own.
func (t *turn) failure(p phase) error {
	m := t.made
	if p != actPhase || m == nil || m.Outcome == "" || m.Outcome == rank.Delivered {
		return nil
	}
	return cmp.Or(m.Err, &reason.Error{Class: reason.ErrorClass(m.Outcome)})
}

// The phases, in the order in which they happen. None writes to the store: what a step changes is staged.

// assess decides where the run stands: it has a plan, or has to make one. An attempt that did not pass comes
// back here, so that what follows is decided in one place.
func (t *turn) assess(ctx context.Context) (phase, error) {
	if next, err := t.stuck(ctx); next != "" || err != nil {
		return next, err
	}
	switch a := t.aim(); {
	case a.Advised == 0:
		return recallPhase, nil
	case len(a.Plan) > 0:
		return assignPhase, nil
	case t.agent.host.Reasoner == nil:
		t.itself()
		return assignPhase, nil
	}
	return reasonPhase, nil
}

// stuck says what follows where the session does not get on; "": nothing.
func (t *turn) stuck(ctx context.Context) (phase, error) {
	a := t.aim()
	if t.Session == "" || a.Stuck || len(a.Tries) == 0 && a.Next == 0 {
		return "", nil
	}
	s, err := t.assessment(ctx)
	if err != nil || s.Step != meta.PivotNow && len(s.Also) == 0 {
		return "", err
	}
	a.Stuck = true
	why := strings.Join(s.Evidence, "; ")
	t.event("stuck", a.Approach, why)
	switch {
	case t.agent.opts.OnStuck == askStuck:
		t.Questions = []string{"The session does not get on: " + why + ". What should be done?"}
		t.Back = reasonPhase // where nobody reasons, the plan that there is goes on
		return askPhase, nil
	case t.agent.opts.OnStuck == replanStuck && t.agent.host.Reasoner != nil && a.Replans < t.agent.opts.Replans:
		return t.another(), nil
	}
	return "", nil
}

// assessment is that of the session, with what the run tells of itself.
func (t *turn) assessment(ctx context.Context) (meta.Assessment, error) {
	a, budget := t.aim(), t.objective.Budget
	try, spent := meta.Try{Goal: cmp.Or(t.objective.Situation, a.Text), Approach: a.Approach}, 0.0
	if u := t.Usage; u != nil && budget.Tokens > 0 {
		spent = float64(u.Input+u.Output) / float64(budget.Tokens)
	}
	left := each(a.Alternatives, func(d reason.Decision) string { return d.Approach })
	return t.tenant.sessions.Assess(ctx, t.Scope, t.Session, try, spent, left...)
}

// recall gets advice: memories, warnings, and the plan that fires.
func (t *turn) recall(ctx context.Context) (phase, error) {
	a := t.aim()
	t.Advices++
	a.Advised, a.Carried = t.Advices, false
	c := t.asks()
	advice, err := t.tenant.layer.Before(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		t.agent.opts.Logger.Warn("arc: nothing is recalled", "run", t.ID, "error", err)
		t.event("recalled", "", "nothing: "+err.Error())
		advice = learn.Advice{Case: c}
	}
	if !c.Fresh && (t.agent.opts.Learn.Holdout == 0 || !t.tenant.layer.HeldOut(&c)) {
		advice.Facts = t.facts(ctx)
	}
	t.advice = &advice
	t.keep(adviceName(a.Advised), toldOf(advice.Known))
	if n, warned := len(advice.Memories), len(advice.Warnings); n+warned > 0 {
		t.event("recalled", "", fmt.Sprintf("memories: %d, warnings: %d", n, warned))
	}
	if tasks := t.fires(advice.Fires); tasks != nil && a.Planner != byHost && a.Next == 0 {
		a.begin(byAdvice, tasks, "")
		a.Carried = true
		t.Fired++
		t.event("fired", advice.Fires.ID, tellPlan(tasks))
		return assignPhase, nil
	}
	return t.assess(ctx)
}

// facts are those of the scope's identity that are worth telling.
func (t *turn) facts(ctx context.Context) (told []string) {
	who, err := identity.New(t.tenant.group, t.Scope, t.agent.opts.Memory)
	if err == nil {
		var facts []identity.Fact
		facts, _, err = who.Project(ctx, t.aim().Text, 0, 0)
		for _, f := range facts {
			told = append(told, f.Content+f.LastValidated.Format(" (as of 2006-01-02)"))
		}
	}
	if err != nil {
		t.agent.opts.Logger.Warn("arc: what is known of whom the scope is of", "run", t.ID, "error", err)
	}
	return told
}

func adviceName(n int) string { return "advice/" + strconv.Itoa(n) }

// fires returns the tasks of a plan that fires, nil if there is none, or one of its calls is nobody's.
func (t *turn) fires(plan *reason.Plan) (tasks []reason.Task) {
	if plan == nil || len(plan.Calls) > maxTasks {
		return nil
	}
	for _, c := range plan.Calls {
		task := reason.Task{Objective: cmp.Or(c.Text, t.aim().Text), Skill: c.Name, Inputs: c.Inputs}
		if _, err := t.able(task, true); err != nil {
			task.Skill, task.Worker = "", c.Name
			if _, err = t.able(task, true); err != nil {
				return nil
			}
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// itself makes the aim the one task. A worker that makes calls gets the plan that fires, where its calls are
// those of tools and no tasks; once, and not behind a failure: then it has to think.
func (t *turn) itself() {
	a, by := t.aim(), nobody
	fires := t.advice != nil && t.advice.Fires != nil && t.fires(t.advice.Fires) == nil // but not as tasks
	if fires && a.Planner != byWorker && len(a.Failed) == 0 {
		by = byWorker
	}
	a.begin(by, []reason.Task{{Objective: a.Text, Inputs: t.objective.Inputs}}, "")
}

// reason asks the reasoner for a plan, and again where what it decides cannot be carried out.
func (t *turn) reason(ctx context.Context) (phase, error) {
	a := t.aim()
	if t.agent.host.Reasoner == nil { // there was one when it asked or waited
		return t.assess(ctx)
	}
	advice, err := t.recalled(ctx)
	if err != nil {
		return "", err
	}
	brief := t.brief(ctx, advice)
	d, err := call.Do(ctx, t.agent.opts.Timeout, func(ctx context.Context) (*reason.Decision, error) {
		return t.agent.host.Reasoner.Decide(ctx, brief)
	})
	if err != nil && ctx.Err() != nil { // a decision that was made is kept
		return "", context.Cause(ctx)
	}
	if err != nil {
		return t.undecided(err)
	}
	t.Wait = waiting{}
	t.Deliberations++
	t.Usage = t.Usage.Add(d.Usage)
	if err = d.Check(); err != nil {
		return t.refuse(err)
	}
	own := cleanDecision(t.clean.KeepPlaceholders(), *d)
	if err = t.adopt(&own, advice); err != nil {
		return t.refuse(err)
	}
	a.Refused, a.Complaint = 0, ""
	return t.follow(&own), nil
}

// follow goes on by a decision that is adopted: with its questions, a subgoal, or the plan that the aim has
// now. Where it sees no way on and no new subgoal, a person is asked.
func (t *turn) follow(d *reason.Decision) phase {
	sub := way("", d.Subgoal, nil)
	switch {
	case len(d.Questions) > 0:
		t.Questions, t.Back = d.Questions, reasonPhase
		return askPhase
	case d.Impasse != "" && d.Subgoal != "" && len(t.Tried) < maxTried && !slices.Contains(t.Tried, sub):
		t.event("subgoal", d.Impasse, d.Subgoal)
		t.Tried = append(t.Tried, sub)
		t.Aims = append(t.Aims, aim{Text: d.Subgoal})
		t.advice = nil
		return assessPhase
	case d.Impasse != "":
		why := strings.TrimSuffix(cmp.Or(d.Reasoning, d.Impasse)+": "+d.Subgoal, ": ")
		t.Questions, t.Back = []string{"There is no way on: " + why + ". What should be done?"}, reasonPhase
		return askPhase
	}
	t.event("decided", t.aim().Approach, tellPlan(t.aim().Plan))
	return assignPhase
}

// undecided says what follows when the reasoner has failed.
func (t *turn) undecided(err error) (phase, error) {
	text := "the reasoner: " + fence.Clip(t.clean.Prose(err.Error()), maxTold)
	class := cmp.Or(reason.Classify(err), &reason.Error{})
	t.Usage = t.Usage.Add(class.Usage)
	switch timedOut := errors.Is(err, context.DeadlineExceeded); {
	case timedOut, class.Class == reason.RateLimited, class.Class == reason.Unavailable:
		t.Wait.Why, t.Wait.For, t.Back = text, class.Wait, reasonPhase
		return waitPhase, nil
	case class.Class == reason.Permanent, class.Class == reason.Permission:
		return t.block(Refused, text), nil
	}
	return t.refuse(errors.New(text))
}

// errTried is of a plan that was carried out and has failed: to decide on it again takes the place of one.
var errTried = errors.New("has failed in this run: it is not taken again")

// refuse asks the reasoner again, with what was wrong, unless that was in vain too often, or no plan is left.
func (t *turn) refuse(why error) (phase, error) {
	a := t.aim()
	a.Refused++
	a.Complaint = fence.Clip(t.clean.KeepPlaceholders().Prose(why.Error()), maxTold)
	t.event("refused", "", a.Complaint)
	if a.Refused >= maxRefused {
		return t.block(NoDecision, a.Complaint), nil
	}
	if errors.Is(why, errTried) && len(a.Plan) > 0 {
		return t.another(), nil
	}
	return reasonPhase, nil
}

// adopt makes a decision the plan of the aim, or returns why it cannot be carried out.
func (t *turn) adopt(d *reason.Decision, advice *learn.Advice) error {
	a := t.aim()
	if d.Use != "" {
		plan, err := advice.Use(d.Use, d.Inputs)
		if err != nil {
			return err
		}
		if d.Tasks = t.fires(plan); d.Tasks == nil {
			return fmt.Errorf("the plan %q has calls that no worker takes; give tasks", d.Use)
		}
	}
	if len(d.Alternatives) > 0 || len(d.Tasks) > 0 {
		for _, o := range slices.Concat([]reason.Decision{*d}, d.Alternatives) {
			for _, task := range o.Tasks {
				if _, err := t.able(task, true); err != nil {
					return err
				}
			}
		}
		chosen := d.Choose()
		if chosen.Impasse != "" {
			d.Impasse, d.Reasoning, d.Subgoal = chosen.Impasse, chosen.Reasoning, chosen.Subgoal
			return nil
		}
		if slices.Contains(t.Tried, way(a.Text, chosen.Approach, chosen.Tasks)) {
			return fmt.Errorf("the plan %q %w", cmp.Or(chosen.Approach, tellPlan(chosen.Tasks)), errTried)
		}
		a.begin(byReasoner, chosen.Tasks, chosen.Approach)
		a.Alternatives, a.Preferences = chosen.Alternatives, chosen.Preferences
	}
	a.Applied = d.Applied
	return nil
}

// assign chooses who makes the next attempt: the same worker with the complaint, as most complaints can be
// met once they are told; after its second failure, or where others need the attempts that are left, another.
func (t *turn) assign(ctx context.Context) (phase, error) {
	a := t.aim()
	task := a.Plan[a.Next]
	all, err := t.able(task, a.Planner == byHost)
	if err != nil {
		return t.block(NoWorker, err.Error()), nil
	}
	if a.Planner == byHost && task.Worker != "" {
		all = all[:1] // the host means this one
	}
	worth := cmp.Or(t.agent.opts.Worth, math.MaxFloat64)
	var left, fresh []*act.Worker // who may try; of these, who have not, and are worth their price
	for _, w := range all {
		n, denied := a.failed(w.Name)
		if denied || n > 1 {
			continue
		}
		left = append(left, w)
		if n == 0 && w.Price <= worth {
			fresh = append(fresh, w)
		}
	}
	if n := len(a.Tries); n > 1 && len(fresh) > 0 && len(fresh) >= t.agent.opts.Attempts-n {
		left = fresh // no attempt is left for a second try of anybody else
	}
	if len(left) == 0 || len(a.Tries) >= t.agent.opts.Attempts {
		return t.another(), nil
	}
	if away := t.Wait.Away; len(away) > 0 { // who is worth the price takes the task, or the run waits
		left = slices.DeleteFunc(left, func(w *act.Worker) bool {
			return w.Price > worth || slices.Contains(away, w.Name)
		})
		if len(left) == 0 {
			return waitPhase, nil
		}
		t.event("away", t.Current.Worker, t.Wait.Why)
	}
	worker := named(left, a.last().Worker)
	if worker == nil {
		if worker, err = t.choose(ctx, task, left); err != nil {
			return "", err
		}
	}
	if t.Current.Worker != worker.Name {
		t.Usage = t.Usage.Add(t.Current.Usage)
		t.Current = attempt{Number: t.Current.Number, Worker: worker.Name}
		t.event("attempt", worker.Name, task.Objective)
	}
	if t.Current.Number == 0 { // else it is that of one who was away
		t.Attempts++
		t.Current.Number = t.Attempts
	}
	return actPhase, nil
}

// choose asks the policy. A worker that the task names is first.
func (t *turn) choose(ctx context.Context, task reason.Task, left []*act.Worker) (*act.Worker, error) {
	if len(left) == 1 || task.Worker != "" && left[0].Name == task.Worker {
		return left[0], nil
	}
	candidates := each(left, func(w *act.Worker) rank.Candidate {
		return rank.Candidate{Name: w.Name, Prior: w.Prior, Blast: int(w.Blast), Price: w.Price}
	})
	failed := each(t.aim().Tries, func(f try) string { return f.Worker })
	policy, book := t.agent.opts.Policy, t.tenant.book.In(t.objective.Lessons)
	if worth := t.agent.opts.Worth; policy == nil && worth > 0 {
		policy = book.Ladder(worth)
	} else if policy == nil {
		policy = book.Learned()
	}
	kind := rank.Task{Skill: task.Skill, Key: t.objective.Situation, Failed: failed}
	ranked, err := call.Do(ctx, t.agent.opts.Timeout, func(ctx context.Context) ([]rank.Scored, error) {
		return policy.Score(ctx, kind, candidates)
	})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || len(ranked) == 0 {
		t.agent.opts.Logger.Warn("arc: the policy has no order", "run", t.ID, "error", err)
		return left[0], nil
	}
	return cmp.Or(named(left, ranked[0].Name), left[0]), nil
}

func named(workers []*act.Worker, name string) *act.Worker {
	for _, w := range workers {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// another begins another plan, or blocks the run where there is none.
func (t *turn) another() phase {
	a := t.aim()
	if t.agent.host.Reasoner == nil || a.Replans >= t.agent.opts.Replans {
		cause, why := Exhausted, "no worker could try"
		if n := len(a.Failed); n > 0 {
			why = a.Failed[n-1].Complaint
		}
		open := func(f try) bool { return !f.Denied }
		if len(a.Tries) > 0 && !slices.ContainsFunc(a.Tries, open) { // each was denied
			cause = Refused
		}
		able, _ := t.able(a.Plan[a.Next], false)
		if last := a.last(); last.Worker != "" && named(able, last.Worker) == nil { // it is gone
			cause, why = NoWorker, last.Complaint
		}
		return t.block(cause, why)
	}
	a.Replans++
	if len(a.Tries) > 0 {
		t.Tried = append(t.Tried, way(a.Text, a.Approach, a.Plan))
	}
	rest := reason.Decision{Alternatives: a.Alternatives, Preferences: a.Preferences}
	next := rest.Choose()
	tried := slices.Contains(t.Tried, way(a.Text, next.Approach, next.Tasks))
	if len(rest.Alternatives) > 0 && next.Impasse == "" && !tried {
		applied := a.Applied
		a.begin(byReasoner, next.Tasks, next.Approach)
		a.Alternatives, a.Preferences, a.Applied = next.Alternatives, next.Preferences, applied
		t.event("decided", a.Approach, tellPlan(a.Plan))
		return assignPhase
	}
	return reasonPhase
}

// act makes the attempt, or goes on with it.
func (t *turn) act(ctx context.Context) (phase, error) {
	a := t.aim()
	advice, err := t.recalled(ctx)
	if err != nil {
		return "", err
	}
	task := a.Plan[a.Next]
	runner := t.agent.runner.Load()
	able, _ := runner.Able(task)
	worker := named(able, t.Current.Worker)
	if worker == nil { // it was there when the attempt began
		why := fmt.Sprintf("the worker %q, which has begun this, is gone, or takes other inputs", t.Current.Worker)
		a.Tries = append(a.Tries, try{Worker: t.Current.Worker, Complaint: why, Denied: true})
		t.Usage, t.Current = t.Usage.Add(t.Current.Usage), attempt{}
		return assignPhase, nil
	}
	c := &act.Call{
		Case: t.known(advice, a.last().Complaint), Task: task, Worker: worker, Attempt: t.Current.Number,
		Fired: a.fires() && !t.agent.opts.FireIrreversible,
	}
	for _, s := range t.agent.host.Skills {
		if s.Name == task.Skill && task.Skill != "" {
			c.Agent = cmp.Or(c.Agent, s.Agent)
		}
	}
	if a.Planner != byWorker {
		c.Fires = nil // its calls are tasks, or one that was tried
	}
	began := t.now()
	made := runner.Run(ctx, c)
	shut := made.Err != nil && errors.Is(made.Err, ErrClosed) && t.agent.stop.Err() != nil // of a run below
	if (ctx.Err() != nil || shut) && made.Outcome != rank.Delivered {
		return "", cmp.Or(context.Cause(ctx), errLeft)
	}
	if err := t.journal.Err(); err != nil { // it says nothing about the worker
		return "", err
	}
	t.made, t.wall = &made, t.now().Sub(began)
	t.Current.Usage = made.Usage
	if made.Err != nil { // of what is asked again when the attempt goes on
		t.Usage = t.Usage.Add(made.Err.Usage)
	}
	switch made.Outcome { // what follows: a person rules, or answers; an outage passes; or there is a verdict
	case "":
		pending, _ := errors.AsType[*act.PendingError](made.Err)
		if len(pending.Approvals) == 0 {
			return t.asked(ctx, advice, pending.Questions)
		}
		asks := slices.MinFunc(pending.Approvals, byDeadline)
		t.Status, t.Wait, t.Due = Waiting, waiting{}, asks.Deadline
		t.event("waiting", asks.Name, "for a person: "+strings.Join(asks.Why, "; "))
		return actPhase, nil
	case rank.Away, rank.TimedOut:
		return t.away(ctx, worker)
	}
	return verifyPhase, nil
}

// away has the run wait until an outage is over. Another worker may take the task before that, where this one
// is away and has kept nothing: then nothing is paid twice, and nobody begins what another one has begun.
func (t *turn) away(ctx context.Context, worker *act.Worker) (phase, error) {
	w, made := &t.Wait, t.made
	wait := cmp.Or(made.Err, &reason.Error{}).Wait
	w.Why = made.Complaint
	if made.Outcome == rank.TimedOut {
		w.Why += fmt.Sprintf(" (the Timeout of %s is %v)", worker.Name, worker.Timeout)
	}
	kept, err := t.kept(ctx)
	if made.Outcome == rank.Away && !kept {
		if len(w.Away) > 0 { // where all are, until the first is back
			wait = min(wait, w.For)
		}
		w.For, w.Away, t.Back = wait, append(w.Away, t.Current.Worker), assignPhase
		return assignPhase, nil
	}
	w.For, t.Back = wait, actPhase
	switch {
	case errors.Is(made.Err, act.ErrUnknownEnd): // a person is asked, however long was waited before
		*w = waiting{Why: made.Complaint, Since: t.now()}
	case made.Gate != "" && wait > 0:
		w.Tries = 0 // it knows when to look again, each time
	}
	return waitPhase, err
}

// kept reports whether the attempt has kept a step, or the run an irreversible call, see act.NewJournal.
func (t *turn) kept(ctx context.Context) (bool, error) {
	for _, name := range []string{fmt.Sprintf("attempt/%04d/", t.Current.Number), "once/"} {
		steps := store.Range{Prefix: logPrefix(t.Scope, t.ID) + "s/" + name, Limit: 1}
		for _, err := range t.tenant.group.Store().Scan(ctx, steps) {
			return true, err
		}
	}
	return false, nil
}

// asked has the reasoner answer what a worker asks, if it can, or else a person. What a gate asks is a
// person's to answer: the reasoner would judge its own plan.
func (t *turn) asked(ctx context.Context, advice *learn.Advice, questions []string) (phase, error) {
	questions = each(questions[:min(len(questions), maxTasks)], t.clean.KeepPlaceholders().Prose)
	for i, q := range questions {
		questions[i] = fence.Clip(q, maxTold)
	}
	t.Questions, t.Back = questions, actPhase
	answerer, ok := t.agent.host.Reasoner.(reason.Answerer)
	if !ok || t.made.Gate != "" || t.Current.Asked >= maxAnswered {
		return askPhase, nil
	}
	brief := t.brief(ctx, advice)
	got, err := call.Do(ctx, t.agent.opts.Timeout, func(ctx context.Context) (reason.Response, error) {
		text, usage, err := answerer.Answer(ctx, brief, questions)
		return reason.Response{Text: text, Usage: usage}, err
	})
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	t.Usage = t.Usage.Add(got.Usage)
	if err != nil || fence.Line(got.Text) == "" {
		return askPhase, nil
	}
	t.Current.Asked++
	t.answer("reasoner", fence.Clip(t.clean.KeepPlaceholders().Prose(got.Text), maxText))
	return actPhase, nil
}

// answer takes an answer, by the reasoner or, of no name, by a person.
func (t *turn) answer(by, text string) {
	t.Answers = append(t.Answers, reason.Answer{Question: strings.Join(t.Questions, "\n"), Text: text})
	t.Questions = nil
	t.event("answered", by, text)
}

// verify takes the verdict: what the gates have passed is delivered, all else is a try that failed.
func (t *turn) verify(context.Context) (phase, error) {
	a, made, worker := t.aim(), t.made, t.Current.Worker
	t.Wait = waiting{}
	task := a.Plan[a.Next]
	if a.Planner == byWorker && made.FiredCalls > 0 && t.advice.Fires != nil { // else it was left at its first
		a.Carried = true
		t.Fired++
		calls := fmt.Sprintf("calls of a plan that were made unasked: %d", made.FiredCalls)
		t.event("fired", t.advice.Fires.ID, calls)
	}
	if made.Outcome == rank.Delivered {
		t.event("passed", worker, cmp.Or(made.Text, string(made.Output)))
		if raw, _ := json.Marshal(made.Deltas); len(made.Deltas) > 0 && len(raw) <= maxInputs {
			t.events[len(t.events)-1].Data = raw // of what is no JSON, nothing
		}
		return learnPhase, nil
	}
	complaint := fence.Clip(made.Complaint, maxTold)
	a.Tries = append(a.Tries, try{Worker: worker, Complaint: complaint, Denied: made.Outcome == rank.Denied})
	task.Worker = worker
	a.fail(reason.Failure{Task: task, Approach: a.Approach, Complaint: complaint, Gate: made.Gate})
	if made.Outcome == rank.Unknown || made.Err != nil && made.Err.Class == reason.Permanent {
		a.Void = append(a.Void, complaint)
	}
	t.event("failed", worker, made.Complaint)
	return learnPhase, nil
}

// learn keeps what the attempt says about its worker and session, and moves on.
func (t *turn) learn(context.Context) (phase, error) {
	a, made, ended := t.aim(), t.made, t.Current
	sample := t.stageFigures(a.Plan[a.Next], made)
	t.Usage = t.Usage.Add(ended.Usage)
	t.Current, t.made = attempt{}, nil
	if made.Outcome == rank.Delivered {
		t.deliver(ended, made, sample)
		return t.advance()
	}
	if e := made.Err; made.Outcome == rank.Unknown && e != nil && // a gate cannot run, which no worker can mend
		(e.Class == reason.Permanent || e.Class == reason.Permission) {
		return t.block(Refused, made.Complaint), nil
	}
	if a.fires() { // a plan that was not thought about is not tried twice
		a.begin(nobody, nil, "")
	}
	return assessPhase, nil
}

// deliver keeps what an attempt has delivered, for later tasks and for the plan that is learned.
func (t *turn) deliver(by attempt, made *act.Attempt, sample rank.Sample) {
	a := t.aim()
	task := a.Plan[a.Next]
	a.Tries = nil
	if made.Utilized != nil {
		a.Utilized = append(slices.Clip(made.Utilized), a.Utilized...) // none is not nil, which is unknown
	}
	planned := a.Planner == byReasoner || a.Planner == byAdvice
	if a.Next == 0 && len(a.Plan) == 1 && made.Plan != nil && !planned {
		a.Calls, a.Made = made.Plan.Calls, true
	} else {
		name := cmp.Or(task.Skill, by.Worker)
		a.called(reason.PlanCall{Name: name, Inputs: task.Inputs, Text: task.Objective})
	}
	task.Worker = by.Worker
	t.lineage = append(t.lineage, reason.Delivery{Task: task, Output: made.Result.Output})
	t.Deliveries = append(t.Deliveries, by.Number)
	t.said = &delivered{Task: task, Text: made.Result.Text, Output: made.Result.Output, Sample: sample}
	t.keep(deliveryName(by.Number), *t.said)
}

// advance goes on to the next task, from a subgoal that is reached to what it was for, or to the end.
func (t *turn) advance() (phase, error) {
	a := t.aim()
	if a.Next++; a.Next < len(a.Plan) {
		return assessPhase, nil
	}
	if len(t.Aims) == 1 {
		return endPhase, nil
	}
	if err := t.stageOutcome(learn.Delivered); err != nil {
		return "", err
	}
	t.event("subgoal_reached", "", a.Text)
	t.Aims = t.Aims[:len(t.Aims)-1]
	t.advice = nil
	return reasonPhase, nil
}

// stageFigures stages what an attempt says about its worker, and about the session. A denial, and a gate that
// could not tell, say nothing of the approach, which the session would hold against it.
func (t *turn) stageFigures(task reason.Task, made *act.Attempt) rank.Sample {
	sample := rank.Sample{
		Run:       t.name + "/" + strconv.Itoa(t.Current.Number),
		Candidate: t.Current.Worker, Task: rank.Task{Skill: task.Skill, Key: t.objective.Situation},
		Outcome: made.Outcome, Wall: t.wall, At: t.now(),
	}
	fired := t.aim().Planner == byWorker && t.advice.Fires != nil && made.FiredCalls == len(t.advice.Fires.Calls)
	if t.objective.Provisional && made.Outcome == rank.Delivered || fired {
		sample.Outcome = rank.Unknown // a person will tell, or a plan has made all calls, which is no skill
	}
	if made.Err != nil {
		sample.Class = string(made.Err.Class)
	}
	if u := t.Current.Usage; u != nil {
		sample.Usage = *u
	}
	try := meta.Try{
		Goal: cmp.Or(t.objective.Situation, t.aim().Text), Approach: cmp.Or(t.aim().Approach, t.Current.Worker),
		Delivered: made.Outcome == rank.Delivered,
	}
	if made.Reflection != nil {
		sample.Confidence = &made.Reflection.Confidence
		try.Reflections = append(try.Reflections, *made.Reflection)
	}
	t.stage(func(ctx context.Context, b *store.Batch) error {
		err := t.tenant.book.In(t.objective.Lessons).Stage(ctx, b, sample)
		if err == nil && t.Session != "" && made.Outcome != rank.Denied && made.Outcome != rank.Unknown {
			err = t.tenant.sessions.Stage(ctx, b, t.Scope, t.Session, try)
		}
		return err
	})
	return sample
}

// stageOutcome stages what the aim has taught.
func (t *turn) stageOutcome(v learn.Verdict) error {
	a := *t.aim()
	advice, err := t.recalled(context.WithoutCancel(t.agent.base))
	if err != nil {
		return err
	}
	o := learn.Outcome{
		Verdict: v, Complaint: t.Reason, Failed: a.lessons(), Applied: a.Applied, Utilized: a.Utilized,
	}
	if len(t.Aims) == 1 {
		o.Usage = t.usage()
	}
	sighted := a.Planner == byReasoner && !a.Blind
	if v != learn.Failed && t.Cause == "" && (sighted || a.Planner == byAdvice || a.Made) {
		o.Plan = &reason.Plan{Calls: a.Calls}
	}
	o.Untrusted = each(t.lineage, func(d reason.Delivery) string { return string(d.Output) })
	given := *advice
	if !a.Carried { // what was not carried out is neither delivered nor refused
		given.Fires = nil
	}
	teach := t.tenant.layer.Stage(context.WithoutCancel(t.agent.base), given, o)
	t.stage(func(ctx context.Context, b *store.Batch) error {
		learned, err := teach(ctx, b)
		if err != nil {
			return err
		}
		switch {
		case v == learn.Delivered && learned.Note != "":
			t.event("not_learned", "", learned.Note)
		case learned.Ready && advice.Fires == nil && a.Planner != byHost: // one that fires already is no news
			t.event("learned", "", "the plan fires from now on where the case is the same")
		}
		return nil
	})
	return nil
}

// end is the last step: what the whole run has taught. An interruption, and an end without a failure that
// says something of the work, have taught nothing: the plan may have been right.
func (t *turn) end(ctx context.Context) (phase, error) {
	verdict := learn.Delivered
	t.Status = Delivered
	if t.Cause != "" {
		t.Status, verdict = Blocked, learn.Failed
	}
	for _, sub := range t.Aims[1:] {
		t.Aims[0].Void = append(t.Aims[0].Void, sub.Void...)
		t.Aims[0].fail(sub.Failed...)
	}
	if len(t.Aims) > 1 {
		t.Aims, t.advice = t.Aims[:1], nil
	}
	void := (t.Cause == Refused || t.Cause == Exhausted || t.Cause == NoWorker) && len(t.Aims[0].lessons()) == 0
	if t.objective.Provisional || t.Cause == Interrupted || void {
		verdict = learn.Unknown
	}
	if t.Aims[0].Advised > 0 {
		if err := t.stageOutcome(verdict); err != nil {
			return "", err
		}
	}
	return endPhase, t.stageEnd(ctx)
}

// block has the run end without a delivery.
func (t *turn) block(c Cause, why string) phase {
	t.Cause, t.Reason = c, fence.Clip(why, maxTold)
	return endPhase
}

// ask stops the run until a person has answered.
func (t *turn) ask(context.Context) (phase, error) {
	t.Status = Asking
	t.event("asking", "", strings.Join(t.Questions, "\n"))
	return t.Back, nil
}

// wait stops the run for a while that doubles with each try.
func (t *turn) wait(ctx context.Context) (phase, error) {
	now, w := t.now(), &t.Wait
	if w.Since.IsZero() {
		w.Since = now
	}
	pause := min(5*time.Second<<min(w.Tries, 10), 5*time.Minute)
	if w.Tries == 0 && w.For > 0 {
		pause = w.For // first as the provider says
	}
	left := w.Since.Add(t.agent.opts.Patience).Sub(now)
	if left <= 0 || w.For > left {
		if w.For > 0 { // the provider has said how long
			w.Why += " (again after " + now.Add(w.For).UTC().Format(time.RFC3339) + ")"
		}
		t.block(Outage, w.Why) // and stays where it is: Retry goes on there, by Tries with a look at the budget
		t.Status, t.Wait = Blocked, waiting{Tries: 1}
		return t.Back, t.stageEnd(ctx)
	}
	t.Due = now.Add(min(max(pause, w.For), left)) // the last try is when the patience ends
	w.Tries, w.Away = w.Tries+1, nil
	t.Status = Waiting
	t.event("waiting", "", w.Why+" (again at "+t.Due.UTC().Format(time.RFC3339)+")")
	return t.Back, nil
}

// recalled returns the advice of the aim. What it says beyond the case was stored when it was given.
func (t *turn) recalled(ctx context.Context) (*learn.Advice, error) {
	if t.advice != nil {
		return t.advice, nil
	}
	key := partKey(t.Scope, t.ID, adviceName(t.aim().Advised))
	was, _, err := load[told](ctx, t.tenant.group.Store(), key)
	if err == nil {
		err = was.again(ctx, t.tenant.bank)
	}
	if err != nil {
		return nil, err
	}
	t.advice = &learn.Advice{Case: t.asks(), Why: "it was advised before"}
	t.advice.Known = was.Known
	return t.advice, nil
}

// asks is the case of the aim that is to be advised on: without what was answered and delivered in this run,
// which no other run has, so that no plan may depend on it.
func (t *turn) asks() reason.Case {
	c := t.objective.asks()
	c.ID, c.Run, c.Scope = t.adviceID(t.aim()), t.ID, t.Scope
	c.Text = t.aim().Text
	for _, above := range t.Aims[:len(t.Aims)-1] {
		c.Goals = append(c.Goals, above.Text)
	}
	return c
}

// known is what the reasoner and the workers are told of the run.
func (t *turn) known(advice *learn.Advice, complaint string) reason.Case {
	c := t.asks()
	c.Known = advice.Known
	c.Lineage, c.Answers, c.Complaint = t.lineage, t.Answers, complaint
	return c
}

func (t *turn) brief(ctx context.Context, advice *learn.Advice) *reason.Brief {
	a := t.aim()
	b := &reason.Brief{Case: t.known(advice, a.Complaint), Skills: t.agent.host.Skills, Failed: a.Failed}
	for _, w := range t.agent.runner.Load().Workers() {
		tool := reason.Tool{Name: w.Name, Description: w.Description, Input: w.Input}
		for _, e := range w.Effects {
			tool.Description += fmt.Sprintf("; effect: %s %s %s", e.Op, e.Path, e.Value)
		}
		b.Workers = append(b.Workers, reason.Card{Tool: tool, Skills: w.Skills})
	}
	if t.Session != "" {
		s, err := t.assessment(ctx)
		if err == nil && s.Step != meta.KeepGoing {
			b.Assessment = s.Step + ": " + strings.Join(s.Evidence, "; ")
		}
	}
	found, errs := make([][]string, len(t.agent.host.Sources)), make([]error, len(t.agent.host.Sources))
	var wg sync.WaitGroup
	for i, source := range t.agent.host.Sources {
		wg.Go(func() {
			errs[i] = errors.New("a Source ended its goroutine")
			found[i], errs[i] = call.Do(ctx, t.agent.opts.Timeout, func(ctx context.Context) ([]string, error) {
				return source(ctx, a.Text, maxPassages)
			})
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil { // first, since nothing found is something else
			why := fence.Clip(t.clean.Prose(err.Error()), maxTold)
			t.event("source_failed", "", why)
			a.Blind = true
			b.Passages = slices.Insert(b.Passages, 0, "A search failed, so what it would have found is missing: "+why)
		}
		b.Passages = append(b.Passages, each(found[i], t.clean.Prose)...)
	}
	return b
}

// able returns who can take a task: strictly, nobody where the Worker that it names cannot, or is gone.
func (t *turn) able(task reason.Task, strictly bool) ([]*act.Worker, error) {
	able, err := t.agent.runner.Load().Able(task)
	if err == nil && strictly && task.Worker != "" && able[0].Name != task.Worker {
		names := each(t.agent.Workers(), func(w act.Worker) string { return w.Name })
		const why = "the worker %q is none of %q, or does not take the task %.70q with its skill and inputs"
		err = fmt.Errorf(why, task.Worker, names, task.Objective)
	}
	return able, err
}

func tellPlan(tasks []reason.Task) string {
	said := func(t reason.Task) string { return cmp.Or(t.Objective, t.Skill) }
	return strings.Join(each(tasks, said), "; ")
}

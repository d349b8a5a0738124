package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

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
	d, err := t.a.deliberate(ctx, b, t.s.Objective.Budget.left(&t.s, t.a.o.Now()))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.s.Deliberations++
	t.s.Usage = t.s.Usage.Add(d.Usage)
	if err != nil {
		t.refuse(err)
		return nil
	}
	return t.follow(ctx, d)
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
		Memories: hits, Skills: t.a.runner.Skills(), Lineage: lineage,
		Failed: g.Failed, Answers: g.Answers, Avoid: g.Avoid, Complaint: g.Complaint,
		Advice: advice(&s.Assessment),
	}
	for _, above := range s.Goals[:len(s.Goals)-1] {
		b.Goals = append(b.Goals, above.Text)
	}
	return b, nil
}

// deliberate returns a decision that can be acted on, within wall, if that is
// more than 0. With an error it returns the usage alone.
func (a *Agent) deliberate(ctx context.Context, b reason.Brief, wall time.Duration) (reason.Decision, error) {
	ctx, p := a.watch.deliberating(ctx, b.Run)
	d, err := a.decide(ctx, b, wall)
	p.deliberated(&d, err)
	return d, err
}

func (a *Agent) decide(ctx context.Context, b reason.Brief, wall time.Duration) (reason.Decision, error) {
	if a.reasoner == nil {
		return reason.Decision{}, errors.New("the host has no reasoner")
	}
	limit := a.o.ReasonTimeout
	if wall > 0 {
		limit = min(limit, wall)
	}
	var refused error // with a decision whose usage counts
	d, err := guard.Do(ctx, limit, func(limited context.Context) (reason.Decision, error) {
		d, err := a.consult(ctx, limited, b)
		if err != nil && limited.Err() != nil {
			err = guard.ErrTime
		}
		refused = err
		return d, nil
	})
	if err != nil {
		return reason.Decision{}, err
	}
	used := reason.Decision{Usage: d.Usage}
	if !d.Usage.Valid() {
		used = reason.Decision{}
	}
	if refused != nil {
		return used, refused
	}
	if err := d.Check(); err != nil {
		return used, err
	}
	a.cleanDecision(&d)
	if why := a.nobodyFor(d.Tasks); why != "" {
		return used, fmt.Errorf("%w: %s", reason.ErrDecision, why)
	}
	if a.o.Pivot == PivotAuto && len(d.Tasks) > 0 && len(b.Answers) == 0 && // a human may have said to go on
		slices.ContainsFunc(b.Avoid, func(s string) bool { return same(s, d.Approach) }) {
		return used, fmt.Errorf("%w: the approach %q is to be avoided, since it keeps failing: take another, or say what is in the way", reason.ErrDecision, d.Approach)
	}
	return d, nil
}

// The waits before the repeats of a deliberation that failed in a way that may
// go away, and does not say when; and the bounds of those that do say it.
var patience = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

const (
	minWait = time.Second
	maxWait = time.Minute
)

// consult asks the reasoner until it answers or fails for good. A model behind
// a rate limit is asked again when it said, as often as fits before the deadline
// of limited: nothing is wrong with what was decided, and nothing is held
// against the goal. If ctx, that of the run, ends before that, the run is stopped
// while it waits.
func (a *Agent) consult(ctx, limited context.Context, b reason.Brief) (reason.Decision, error) {
	end, bounded := limited.Deadline()
	if stop, ok := ctx.Deadline(); ok && !end.Before(stop) {
		bounded = false
	}
	var used reason.Usage
	for repeats := 0; ; {
		d, err := a.reasoner.Reason(limited, b)
		again, wait := reason.Retryable(err)
		if err == nil || d.Usage.Valid() {
			d.Usage = d.Usage.Add(used)
		} else {
			d.Usage = used
		}
		switch {
		case !again:
			return d, err
		case wait > 0:
			wait = min(max(wait, minWait), maxWait)
		case repeats < len(patience):
			wait = patience[repeats]
			repeats++
		default:
			return d, err
		}
		if bounded && time.Until(end) <= wait {
			return d, err
		}
		a.o.Logger.InfoContext(ctx, "the reasoner is asked again later", "run", b.Run, "wait", wait)
		used = d.Usage
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return d, err
		}
	}
}

func (a *Agent) cleanDecision(d *reason.Decision) {
	san := a.o.Sanitizer
	d.Approach, d.Reasoning = san.Sanitize(d.Approach), san.Sanitize(d.Reasoning)
	d.Tasks = a.cleanTasks(d.Tasks)
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

// cleanTasks returns a copy of the tasks without secrets.
func (a *Agent) cleanTasks(tasks []reason.Task) []reason.Task {
	san := a.o.Sanitizer
	tasks = slices.Clone(tasks)
	for i := range tasks {
		k := &tasks[i]
		k.Objective, k.Delta, k.Verify = san.Sanitize(k.Objective), san.Sanitize(k.Delta), san.Sanitize(k.Verify)
		k.Inputs = san.JSON(slices.Clone(k.Inputs))
		if k.Effect != nil {
			e := *k.Effect
			k.Effect = &e
		}
	}
	return tasks
}

// nobodyFor says which of the tasks no worker can take, or "".
func (a *Agent) nobodyFor(tasks []reason.Task) string {
	for i := range tasks {
		if a.runner.Able(&tasks[i]) {
			continue
		}
		why := fmt.Sprintf("no worker can take task %d: its skill is %q, of %q", i+1, tasks[i].Skill, a.runner.Skills())
		if e := tasks[i].Effect; e != nil {
			why += fmt.Sprintf(", and its effect %q, of %q; without an effect, any worker with the skill will do", *e, a.runner.Effects())
		}
		return why
	}
	return ""
}

// refuse counts a deliberation that led to nothing.
func (t *turn) refuse(err error) {
	g := t.s.goal()
	g.Refused++
	why := clip(t.a.o.Sanitizer.Sanitize(err.Error()))
	if answered(err) {
		g.Complaint = why
	}
	if p, ok := errors.AsType[*guard.PanicError](err); ok {
		t.a.o.Logger.Error("the reasoner panicked", "run", t.s.ID, "stack", string(p.Stack), t.a.shown(why))
	}
	t.emit(EventRefused, Event{Text: why})
	if g.Refused >= t.a.o.Refusals {
		t.block("no decision could be acted on: " + why)
	}
}

// answered reports whether err is about what a reasoner has said, and not about
// a model that has said nothing: that is nothing to mend.
func answered(err error) bool {
	_, large := errors.AsType[*store.LimitError](err)
	return large || !errors.Is(err, reason.ErrModel)
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
	why := ""
	switch {
	case slices.ContainsFunc(t.s.Goals, func(g Goal) bool { return same(g.Text, imp.Subgoal) }):
		why = "the subgoal is one of the goals above it"
	case slices.ContainsFunc(t.s.Subgoals, func(s string) bool { return same(s, imp.Subgoal) }):
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

// same reports whether two texts of a model differ in case and blanks at most.
func same(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

// block gives the innermost goal up. Learn takes it in.
func (t *turn) block(why string) {
	t.s.goal().Blocked = why
	t.s.Current, t.s.Phase = nil, PhaseLearn
}

// assess is the metacognitive check: is what the session does working? It
// reports whether the pivot policy has stopped the turn.
func (t *turn) assess(ctx context.Context) (stop bool, err error) {
	s, g := &t.s, t.s.goal()
	if s.Objective.Fresh {
		return false, nil
	}
	var now meta.Assessment
	if s.unjudged() {
		now.Recommendation = meta.KeepGoing
	} else if now, err = t.a.monitor.Assess(ctx, s.Session); err != nil {
		return false, fmt.Errorf("assess: %w", err)
	}
	now = now.With(t.signs())
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
	if t.a.o.Pivot == PivotAuto {
		switch {
		case slices.Contains(now.Also, meta.GiveUp):
			t.block(text)
			return true, nil
		case slices.Contains(now.Also, meta.AskHuman):
			t.ask([]string{text + ": how shall I go on?"})
			return true, nil
		}
	}
	if now.Recommendation != meta.PivotNow {
		return false, nil
	}
	s.Pivots = appendTo(s.Pivots, text)
	t.emit(EventPivot, Event{Text: text})
	t.a.watch.pivoted(ctx)
	if now.Approach != "" && !slices.Contains(g.Avoid, now.Approach) {
		g.Avoid = appendTo(g.Avoid, now.Approach)
	}
	if t.a.o.Pivot == PivotAsk {
		t.ask([]string{text + ": how shall I go on?"})
		return true, nil
	}
	return false, nil
}

// signs are what the run itself tells of how it goes.
func (t *turn) signs() meta.Signs {
	var signs meta.Signs
	signs.Spent, signs.Bound = t.s.Objective.Budget.burnt(&t.s, t.a.o.Now())
	for _, e := range t.s.Tracker {
		if !e.Invalid {
			signs.Resonance = append(signs.Resonance, e.Resonance)
		}
	}
	return signs
}

// unjudged reports whether the session is the run's own and has no outcome yet.
func (s *State) unjudged() bool {
	return s.Objective.Session == "" && len(s.Deliveries) == 0 && s.goal().Replans == 0
}

// advice puts an assessment into words; "" if all is well.
func advice(as *meta.Assessment) string {
	switch as.Recommendation {
	case "", meta.KeepGoing:
		return ""
	}
	return string(as.Recommendation) + ": " + strings.Join(as.Evidence, "; ")
}

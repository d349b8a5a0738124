package arc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// station is a phase of the loop: its function, and the phases that may follow
// it within the same step.
//
// A phase reads and changes the turn's state and returns the phase that
// follows. It calls no other phase, commits nothing and tells telemetry nothing.
// Phases share a step where a commit between them would protect nothing.
type station struct {
	run  func(*turn, context.Context) (phase, error)
	with []phase
}

// phases is the loop. A delivered task of one attempt is four commits:
//
//   - Assess, Recall: the run exists before its reasoner is asked for the first
//     time, so that a crash in that call leaves a run to resume.
//   - Reason, Assess, Assign: the decision is paid for, and it is known which
//     attempt is under way.
//   - Act: the attempt was made. No finished attempt is made again.
//   - Verify, Learn, End: what was learned, and that it was. A crash before it
//     has the gates judge the attempt again, which their contract allows.
var phases = map[phase]station{
	// Is it working? → Recall: a new aim · Assign: a task · Reason: a new plan ·
	// Ask · Learn: given up
	phaseAssess: {run: (*turn).assess, with: []phase{phaseRecall, phaseAssign}},
	// What is known? → Reason · Assign: a chunk fires, or the host has planned ·
	// Learn: no worker can
	phaseRecall: {run: (*turn).recall, with: []phase{phaseAssign}},
	// What to do? → Assess: a plan, or a subgoal · Ask · Reason: refused ·
	// Learn: given up. Waits if the reasoner is away.
	phaseReason: {run: (*turn).reason, with: []phase{phaseAssess}},
	// Which worker? → Act · Learn: no worker may. Waits if all are away.
	phaseAssign: {run: (*turn).assign},
	// Do it. → Verify · Learn: the attempt failed by itself · Assign: the worker
	// is away · Ask: it has to know something
	phaseAct: {run: (*turn).act},
	// Who knows what the worker asks? → Act: answered. Or else a human is asked.
	phaseAsk: {run: (*turn).consult},
	// Is it done? → Learn. Waits if a gate is away.
	phaseVerify: {run: (*turn).verify, with: []phase{phaseLearn}},
	// What follows from it? → Assess: the next task, or a new plan · Assign:
	// again · Recall: the aim above · End
	phaseLearn: {run: (*turn).learn, with: []phase{phaseAssess, phaseAssign, phaseEnd}},
	// → Done
	phaseEnd: {run: (*turn).end},
}

// step takes the run one step further: a phase, and those that share its step.
// A spent budget ends the run, once what was done is verified and learned.
func (t *turn) step(ctx context.Context) error {
	t.events, t.learned, t.heard = nil, false, store.Op{}
	if why, err := t.exhausted(ctx); err != nil {
		return err
	} else if why != "" && !slices.Contains(paid, t.s.Phase) {
		t.s.Cause, t.s.Reason, t.s.Phase = CauseBudget, why, phaseEnd
	}
	for {
		at, ok := phases[t.s.Phase]
		if !ok {
			return fmt.Errorf("run %q: unknown phase %q", t.s.ID, t.s.Phase)
		}
		next, err := t.enter(ctx, at.run)
		if err != nil {
			return err
		}
		t.s.Phase = next
		if !slices.Contains(at.with, next) || next == phaseAssign && t.s.Step == 0 && t.sharing() {
			if t.s.Wait.Tries == 0 { // what is away costs no steps
				t.s.Step++
			}
			return nil
		}
	}
}

// exhausted says which bound of the run, or of those it has a share in, is
// reached, or "".
func (t *turn) exhausted(ctx context.Context) (string, error) {
	if why := t.s.bounds().Reached(t.s.spent(t.a.o.Now())); why != "" {
		return why, nil
	}
	return t.own.ledgers.Reached(ctx, t.shares())
}

// paid are the phases that take in what the budget has paid for.
var paid = []phase{phaseVerify, phaseLearn, phaseEnd}

// enter runs the phase at hand, watched and logged.
func (t *turn) enter(ctx context.Context, run func(*turn, context.Context) (phase, error)) (phase, error) {
	if t.a.leases != nil {
		err := lease.Of(ctx).Fresh(context.WithoutCancel(ctx))
		if err == nil {
			err = t.hearOthers(ctx)
		}
		if err == nil {
			err = t.a.catchUp(context.WithoutCancel(ctx), t.own)
		}
		if err != nil {
			return "", err
		}
	}
	t.did.used, t.did.fault, t.did.stack, t.did.lessons = act.Usage{}, nil, nil, 0
	ctx, done := t.a.watch.phase(ctx, t)
	next, err := run(t, ctx)
	if done != nil {
		done(t, err)
	}
	t.logFault()
	return next, err
}

// drive takes a run through its steps until it ends, asks, or waits for longer than
// its caller holds on: step, commit, tell, repeat. adopted says that the caller has
// left, and the Agent goes on. The Report is how the run stands in the store, also
// beside an error.
func (a *Agent) drive(
	ctx context.Context, own *tenant, s state, rev store.Revision, yield func(Event) bool, adopted bool,
) (r *Report, err error) {
	logged := a.o.Logger.Enabled(ctx, slog.LevelDebug)
	t := &turn{
		a: a, own: own, s: s, key: runKey(own.name, s.ID), adopted: adopted, listed: s.Wait.Due, was: s.Status,
		veil:    a.veilFor(s.Objective.Secrets),
		watched: yield != nil || a.o.Hooks.Event != nil || logged,
	}
	defer func() {
		err = t.letGo(ctx, err)
		err = veil.Error(t.veil.San, err)
		a.veils.Put(t.veil)
	}()
	woken := t.wake(ctx, rev)
	if a.watch != nil && t.s.Status == Running {
		var done func(*Report, error)
		ctx, done = a.watch.running(ctx, t)
		defer func() { done(r, err) }()
	}
	// A step that is over is committed, even if its caller has gone.
	over := context.WithoutCancel(ctx)
	defer func() {
		if t.s.Status != Waiting || t.s.Phase != phaseAct { // the attempt is made if a human allows it
			_ = t.unreserve(over) // else the Agent that goes on with the run does
		}
	}()
	kept := s // as the store has it
	if rev == 0 {
		kept.Status = ""
	}
	stands := func() *Report {
		if rev == 0 {
			kept = keptState(t.veil, &kept)
		}
		r := newReport(&kept)
		r.Deliveries = t.kept().lineage[:len(kept.Deliveries)]
		detach.Parts(r.Deliveries)
		return r
	}
	if err := t.restore(ctx); err != nil {
		kept.Deliveries = nil
		return stands(), err
	}
	if woken || a.leases != nil && rev != 0 && t.s.Status == Running { // of several that go on with it, one does
		if rev, err = t.commit(over, rev); err != nil {
			return stands(), err
		}
		kept = t.kept().s
	}
	for t.s.Status == Running {
		switch {
		case a.runs.Closing():
			return stands(), store.ErrClosed
		case ctx.Err() != nil:
			return stands(), ctx.Err()
		}
		abides, err := t.advance(ctx, over, &rev)
		if err != nil {
			return stands(), err
		}
		kept = t.kept().s
		if logged {
			a.log(ctx, t.events)
		}
		if !a.tell(t.events, yield) {
			return stands(), errLeft
		}
		if abides {
			t.abide(ctx)
			if rev, err = t.commit(over, rev); err != nil {
				return stands(), err
			}
			kept = t.kept().s
		}
	}
	return stands(), nil
}

// wake readies a run to go on from what the store has of it, and reports whether
// it has waited. An attempt that was cut off is not made again if the objective is
// tried Once, and only if a human says so again if it cannot be taken back.
func (t *turn) wake(ctx context.Context, rev store.Revision) (waited bool) {
	if !t.adopted {
		t.patience = t.a.o.Patience
	}
	asked := t.s.pending() != nil
	if waited = t.s.Status == Waiting; waited {
		t.s = t.s.woken(t.a.o.Now())
	}
	if rev == 0 {
		return waited
	}
	t.paid = t.s.used(t.a.o.Now())
	t.unlock(ctx)
	if t.s.Phase == phaseAct && !asked {
		switch c := t.s.Current; {
		case t.s.Objective.Once:
			t.s = t.s.interrupted()
			t.a.watch.cutOff(ctx, c.Worker)
		case c.Approval != nil:
			t.s = t.s.fork()
			t.s.Current.Approval = c.Approval.Again(t.a.o.Now())
		}
	}
	return waited
}

// advance takes the run a step further and commits that, over the end of its
// caller. It reports whether the run then waits with the caller.
func (t *turn) advance(ctx, over context.Context, rev *store.Revision) (abides bool, err error) {
	if err = t.step(ctx); err == nil && t.s.Status == Asking {
		err = t.escalate(over)
	}
	if err != nil {
		return false, err
	}
	abides = t.abides()
	t.abiding = abides
	next, err := t.commit(over, *rev)
	if _, large := errors.AsType[*store.LimitError](err); large && *rev != 0 {
		next, err = t.outgrown(over, *rev, err)
	}
	if err == nil {
		*rev = next
	}
	return abides, err
}

// abides reports whether the caller's patience outlasts the pause of the run, and
// takes the pause from it. A run that a human is asked about is given back at once, since
// the answer takes it up. The run is then another Agent's only if this one
// is cut off.
func (t *turn) abides() bool {
	if t.s.Status != Waiting || t.s.Cause == CauseApproval || t.pause > t.patience {
		return false
	}
	t.patience -= t.pause
	if !t.a.owned {
		t.s.Wait.Due += int64(overdue)
	}
	return true
}

// overdue is for how long another Agent leaves a run alone whose caller holds on.
const overdue = time.Minute

// abide waits until the pause is over or ctx has ended, and wakes the run. If the
// Agent closes before, the run goes on waiting, for who opens the store next.
func (t *turn) abide(ctx context.Context) {
	t.abiding = false
	timer := time.NewTimer(t.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-t.a.upkeep.Context().Done():
		t.s.Wait.Due = t.s.Wait.Since + int64(t.pause)
		return
	}
	t.s = t.s.woken(t.a.o.Now())
}

// stands is the report of a run that another call is live with.
func (a *Agent) stands(ctx context.Context, begun state) *Report {
	s, _, err := a.load(ctx, begun.Objective.Scope.Tenant(), begun.ID)
	if err != nil {
		v := a.veilFor(begun.Objective.Secrets)
		defer a.veils.Put(v)
		s = keptState(v, &begun)
		s.Status = ""
	}
	return newReport(&s)
}

// tell hands the events of a committed step to the hook and the consumer, and
// reports whether the consumer wants to go on.
func (a *Agent) tell(events []Event, yield func(Event) bool) bool {
	on := true
	for _, e := range events {
		if a.o.Hooks.Event != nil {
			a.logHook(a.hooks.Call(func() { a.o.Hooks.Event(e) }))
		}
		if on && yield != nil {
			on = yield(e)
		}
	}
	return on
}

// interrupted returns the run as it goes on without repeating the attempt that
// was prepared, and then perhaps made, when the run was cut off.
func (s state) interrupted() state {
	s = s.fork()
	c := s.Current
	c.End, c.Wrong, c.Faulty = act.Interrupted, "outcome unknown", true
	s.Attempts++
	s.Phase = phaseLearn
	return s
}

// answered returns the run as it goes on after a human's answer.
func (s state) answered(text string) state {
	s = s.fork()
	if s.workerAsks() {
		s.Current.answer(text)
		s.Status = Running
		return s
	}
	g := s.aim()
	g.Answers = appendTo(g.Answers, reason.Answer{Questions: g.Questions, Text: text})
	g.Questions, g.Cause, g.Tried, g.Told, g.Refused = nil, "", nil, false, 0
	s.Escalated = false
	s.Phase, s.Status = phaseAssess, Running
	return s
}

// unanswered returns the run as it goes on without an answer to its worker.
func (s state) unanswered() state {
	s = s.fork()
	c := s.Current
	c.Questions, c.End, c.Wrong = nil, act.Unanswered, "what it asked was not answered in time"
	s.Attempts++
	s.Phase, s.Status = phaseLearn, Running
	return s
}

// retried returns the run, which was blocked, as it is tried again with what a
// human has to say: its aims and what failed stand, the plan and the budget are new.
// A plan of the host's goes on with the task that was blocked.
func (s state) retried(note string, now time.Time) state {
	s = s.fork()
	if s.Ended != 0 {
		s.Wait.Waited += max(0, time.Duration(now.UnixNano()-s.Ended))
	}
	s.Before = Budget(s.used(now))
	for i := range s.Aims {
		if g := &s.Aims[i]; note != "" {
			g.Answers = appendTo(g.Answers, reason.Answer{Questions: []string{clip(s.Reason)}, Text: note})
		}
	}
	g := s.aim()
	g.Blocked, g.Cause, g.Complaint, g.Refused, g.Replans, g.Turns = "", "", "", 0, 0, 0
	g.Tries, g.Denied, g.Away, g.Tried, g.Told, g.Avoid = 0, nil, nil, nil, false, nil
	if len(s.Objective.Tasks) == 0 || s.Deliberations > 0 {
		g.follow(nil, g.Approach, "")
		g.Others = nil
	}
	g.Searched = len(g.Tasks) > 0
	s.Wait.Tries, s.Ended, s.Cause, s.Reason, s.Escalated = 0, 0, "", "", false
	s.Phase, s.Status = phaseAssess, Running
	return s
}

// woken returns the run as it goes on after it has waited.
func (s state) woken(now time.Time) state {
	s = s.fork()
	s.Wait.Waited += max(0, time.Duration(now.UnixNano()-s.Wait.Since))
	s.Wait.Since, s.Wait.Due = 0, 0
	if p := s.Current; p != nil && p.Approval != nil && p.Approval.Decided(now) {
		closed := *p.Approval
		closed.Closed = true
		p.Approval = &closed
	}
	s.Status, s.Cause, s.Reason = Running, "", ""
	s.aim().Away = nil
	return s
}

// abandoned returns the run, which has waited, as it ends for want of time.
func (s state) abandoned(now time.Time) state {
	s = s.woken(now)
	g := s.aim()
	g.Blocked, g.Cause = "what was away was not back in time", CauseInterrupted
	s.Current, s.Phase = nil, phaseLearn
	return s
}

// outgrown ends a run whose next state is too large for a record: it goes back
// to what was committed last, and commits that as the run's end.
func (t *turn) outgrown(ctx context.Context, rev store.Revision, cause error) (store.Revision, error) {
	before, at, err := t.a.load(ctx, t.own.name, t.s.ID)
	if err != nil {
		return 0, err
	}
	if at != rev {
		return 0, fmt.Errorf("%w: %q was moved on by another process", ErrRunning, t.s.ID)
	}
	before.Step++
	before.Cause, before.Reason = CauseInternal, "the run has outgrown its record: "+cause.Error()
	before.Phase = phaseEnd
	t.s, t.lineage, t.events, t.learned = before, t.lineage[:len(before.Deliveries)], nil, false
	return t.commit(ctx, rev)
}

// think returns a decision that can be acted on, or the usage with an error. It commits nothing.
func (t *turn) think(ctx context.Context) (d reason.Decision, err error) {
	if !t.s.Objective.Fresh {
		t.s.Phase = phaseRecall
		search := func(t *turn, ctx context.Context) (phase, error) { return "", t.search(ctx) }
		if _, err := t.enter(ctx, search); err != nil {
			return d, err
		}
		if t.s.Assessment, err = t.session(ctx); err != nil {
			return d, fmt.Errorf("assess: %w", err)
		}
	}
	t.s.Phase, t.patience = phaseReason, t.a.o.Patience
	for {
		next, err := t.enter(ctx, func(t *turn, ctx context.Context) (next phase, err error) {
			_, d, next, err = t.consider(ctx)
			return next, err
		})
		d.Usage = t.s.Usage
		if next == "" || err != nil {
			return d, err
		}
		if t.abides() {
			t.abide(ctx)
		}
		if next != phaseReason || t.s.Status == Waiting {
			return d, t.did.fault
		}
	}
}

// letGo gives a run up whose caller has left it, for others to resume; one that was cut off
// in another way is theirs once its lease has lapsed. It returns what err means to a host.
func (t *turn) letGo(ctx context.Context, err error) error {
	if (ctx.Err() != nil || errors.Is(err, errLeft)) && t.s.Status == Running && !t.a.runs.Closing() {
		_ = lease.Of(ctx).Release(context.WithoutCancel(ctx)) // else it lapses
	}
	return owned(ctx, t.s.ID, err)
}

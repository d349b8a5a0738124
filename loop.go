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

// station is a phase of the loop: its function, and the phases that can follow it in the same
// step.
//
// A phase reads and changes the turn's state and returns the next phase. It calls no other
// phase, commits nothing, and makes no spans. Phases share a step where a commit between them
// would protect nothing.
type station struct {
	run  func(*turn, context.Context) (phase, error)
	with []phase
}

// phases is the loop. A task that its first attempt delivers takes four commits:
//
//   - Assess, Recall: the run exists before the reasoner is asked for the first time, so
//     that a crash in that call leaves a run to resume.
//   - Reason, Assess, Assign: a decision that has been paid for is kept, and so is which
//     attempt begins now.
//   - Act: the attempt has ended. It is not made again.
//   - Verify, Learn, End: what was learned, and that it was. After a crash before this
//     commit the gates verify the attempt again, which their contract allows.
var phases = map[phase]station{
	// Does it work? → Recall: a new aim · Assign: a task · Reason: a new plan ·
	// Ask · Learn: given up
	phaseAssess: {run: (*turn).assess, with: []phase{phaseRecall, phaseAssign}},
	// What is known? → Reason · Assign: a chunk fires, or the plan is the host's ·
	// Learn: no worker can
	phaseRecall: {run: (*turn).recall, with: []phase{phaseAssign}},
	// What to do? → Assess: a plan, or a subgoal · Ask · Reason: refused ·
	// Learn: given up. Waits if the reasoner is away.
	phaseReason: {run: (*turn).reason, with: []phase{phaseAssess}},
	// Which worker? → Act · Learn: no worker may · End: none can be paid. Waits if all are
	// away.
	phaseAssign: {run: (*turn).assign},
	// Do it. → Verify · Learn: the attempt failed by itself · Assign: the worker
	// is away · Ask: the worker asks a question
	phaseAct: {run: (*turn).act},
	// Who can answer the worker? → Act: answered. If none can, a person is asked.
	phaseAsk: {run: (*turn).consult},
	// Is it done? → Learn. Waits if a gate is away.
	phaseVerify: {run: (*turn).verify, with: []phase{phaseLearn}},
	// What is learned? → Assess: the next task, or a new plan · Assign: another
	// attempt · Recall: the aim above · End
	phaseLearn: {run: (*turn).learn, with: []phase{phaseAssess, phaseAssign, phaseEnd}},
	// → Done
	phaseEnd: {run: (*turn).end},
}

// step runs the current phase and those that share its step. A spent budget ends the run, once
// the last attempt is verified and learned from.
func (t *turn) step(ctx context.Context) error {
	t.events, t.learned, t.heard = nil, false, store.Op{}
	if why, err := t.exhausted(ctx); err != nil {
		return err
	} else if why != "" && !slices.Contains(paid, t.s.Phase) {
		t.s.Phase = t.unpaid(CauseBudget, why)
	}
	if t.unheld && t.s.Phase == phaseAct {
		if held, err := t.holdAgain(ctx); err != nil {
			return err
		} else if !held {
			t.s.Phase = phaseAssign
		}
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
			if t.s.Wait.Tries == 0 { // waiting costs no steps
				t.s.Step++
			}
			return nil
		}
	}
}

// exhausted returns which bound of the run, or of a budget that it shares, is reached, or "".
func (t *turn) exhausted(ctx context.Context) (string, error) {
	if why := t.s.bounds().Reached(t.s.spent(t.a.o.Now())); why != "" {
		return why, nil
	}
	return t.own.ledgers.Reached(ctx, t.shares())
}

// paid are the phases that run even if the budget is spent: they use what it has paid for.
var paid = []phase{phaseVerify, phaseLearn, phaseEnd}

// enter runs the current phase, with its span and its log.
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
	if done != nil && err == nil && next == t.s.Phase {
		done(t, ctx.Err()) // if it was cut off, only what it has cost is kept
	} else if done != nil {
		done(t, err)
	}
	t.logFault()
	return next, err
}

// drive takes a run through its steps until it ends, asks, or waits for longer than its caller
// does: it steps, commits, reports the events, and repeats. adopted says that the caller has
// left and the Agent continues the run. The Report is the run's state in the store, also beside
// an error.
//
// Events are reported after the commit of their step, so that no consumer hears of what a crash
// undoes; a crash between the two loses the events, not the step. kept is the state that the store
// has, t.s the one that the next step changes.
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
	// A step that has ended is committed, even if its caller has gone.
	over := context.WithoutCancel(ctx)
	defer func() {
		// An attempt that waits for approval keeps its share, while the Agent is open.
		if t.s.Status != Waiting || t.s.Phase != phaseAct {
			_ = t.unreserve(over) // if it fails, the Agent that resumes the run does it
		}
	}()
	kept := s // the state in the store
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
	if woken || a.leases != nil && rev != 0 && t.s.Status == Running { // of several that resume it one succeeds
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

// wake prepares a run that was read from the store, and reports whether the run has waited. A run that
// the store does not have yet is as it should be. A run in phaseAct whose executor may have been called
// has an attempt without an end. It is made again under its key, unless the Objective is Once; if it
// is Irreversible and a person has approved it, that takes another approval.
func (t *turn) wake(ctx context.Context, rev store.Revision) (waited bool) {
	if !t.adopted {
		t.patience = t.a.o.Patience
	}
	c := t.s.Current
	asked := c != nil && c.Approval != nil && !c.Approval.Closed // so that no executor was called
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
	t.unheld = t.s.Phase == phaseAct
	return waited
}

// advance makes one step and commits it, even if the caller's context ends. It reports whether
// the run then waits and its caller with it.
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

// abides reports whether the run waits and the caller's patience outlasts its pause, which is
// taken from the patience. A run that waits for an approval is returned at once, since the
// ruling resumes it. Until the pause is well over other Agents leave the run alone.
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

// overdue is how long beyond the pause another Agent leaves a run alone whose caller waits.
const overdue = time.Minute

// abide waits until the pause is over or ctx has ended, and wakes the run. If the Agent closes
// before, the run stays Waiting, for the next Agent on the store.
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

// stands returns the report of a run that is live in another call.
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

// tell passes the events of a committed step to the hook and the consumer. It reports false if
// the consumer has left its loop.
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

// interrupted returns the run after its attempt was interrupted: it may have been made, and is
// not made again.
func (s state) interrupted() state {
	s = s.fork()
	c := s.Current
	c.End, c.Wrong, c.Faulty = act.Interrupted, "outcome unknown", true
	s.Attempts++
	s.Phase = phaseLearn
	return s
}

// answered returns the run with a person's answer, ready to continue.
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

// unanswered returns the run after its worker's questions were not answered in time.
func (s state) unanswered() state {
	s = s.fork()
	c := s.Current
	c.Questions, c.End, c.Wrong = nil, act.Unanswered, "what it asked was not answered in time"
	s.Attempts++
	s.Phase, s.Status = phaseLearn, Running
	return s
}

// retried returns a blocked run, ready to be tried again with a person's note. It keeps its aims
// and what failed; plan and budget begin anew. A host's plan continues with the task that was
// blocked. Before holds what the run has used until now, which the new budget does not count, and the
// time for which the run lay blocked counts as waited.
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

// woken returns a run that has waited, ready to continue.
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

// abandoned returns a run that has waited too long, ready to end.
func (s state) abandoned(now time.Time) state {
	s = s.woken(now)
	g := s.aim()
	g.Blocked, g.Cause = "what was away was not back in time", CauseInterrupted
	s.Current, s.Phase = nil, phaseLearn
	return s
}

// outgrown ends a run whose next state is too large for a record: it returns to the state that
// was committed last, and commits that as BLOCKED.
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

// think returns the first decision that the loop would act on, or the usage with an error. It
// commits nothing.
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

// letGo releases the lease of a run whose caller has left, so that other Agents can resume it at
// once. It returns err as the host sees it.
func (t *turn) letGo(ctx context.Context, err error) error {
	if (ctx.Err() != nil || errors.Is(err, errLeft)) && t.s.Status == Running && !t.a.runs.Closing() {
		_ = lease.Of(ctx).Release(ctx) // if it fails, the lease lapses
	}
	return owned(ctx, t.s.ID, err)
}

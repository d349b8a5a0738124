package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// View is what an Agent has of one scope. A run that is not there is store.ErrNotFound; a call that a run's
// state does not allow is [ErrState]; one with whose run others go on at that moment is [ErrRunning].
type View struct {
	agent   *Agent
	scope   memory.Scope
	unnamed bool // it is that of the options
}

// In returns the View of a scope; "" is Options.Scope.
func (a *Agent) In(scope memory.Scope) View {
	return View{a, plain(cmp.Or(scope, a.opts.Scope)), scope == ""}
}

// Resume goes on with a run that was left, and returns as [Agent.Run] does.
func (v View) Resume(ctx context.Context, id string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error { return t.goOn(ctx) })
}

// Retry tries a blocked run again, however often. An attempt that an outage has blocked goes on where it
// waited; any other run goes on after the last task that was delivered, with what is known now. The reasoner
// and the workers are told the note, unless it is "".
func (v View) Retry(ctx context.Context, id, note string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error {
		if t.Status != Blocked {
			return t.wrong("is not blocked")
		}
		if a := t.aim(); t.Cause != Outage || t.Current.Number == 0 {
			a.Tries, a.Replans, a.Refused, a.Complaint, a.Advised = nil, 0, 0, "", 0
			if a.Next == 0 && a.Planner != byHost {
				a.begin(nobody, nil, "")
			}
			t.Phase, t.advice, t.Tried = assessPhase, nil, nil
		}
		if note != "" {
			t.Questions, t.Tried = []string{"What is different now?"}, nil
			t.answer("", fence.Clip(t.clean.Prose(note), maxText))
		}
		t.Status, t.Cause, t.Reason, t.Ended, t.Verdict = Running, "", "", time.Time{}, ""
		t.event("retried", "", "")
		return t.restart(ctx)
	})
}

// restart commits that the run goes on, so that it does so after a crash, too, or in another process.
func (t *turn) restart(ctx context.Context) error {
	if t.agent.idle() {
		t.process = ""
	}
	if err := t.commit(context.WithoutCancel(ctx)); err != nil || t.process == "" {
		return err
	}
	return t.drive(ctx)
}

func (t *turn) wrong(why string) error { return fmt.Errorf("%w: %s %s", ErrState, t.ID, why) }

// Cancel ends a run, as a Stop button does, also if it is blocked or under way: then it waits for the attempt
// to end; where ctx ends first it is canceled all the same. One in another process ends within a second, and
// keeps nothing of what it does meanwhile. The Report's Text names each irreversible call that was, or may
// have been, made: look there before another run makes it. A run that has stored nothing yet leaves nothing.
// After store.ErrNotFound a Run of that ID may yet begin.
func (v View) Cancel(ctx context.Context, id, why string) error {
	for begun := false; ; {
		_, err := v.with(ctx, id, func(ctx context.Context, t *turn) error {
			if begun && t.Status == Canceled { // by who worked on it
				return nil
			}
			return t.cancel(ctx, why)
		})
		switch {
		case begun && missing(err): // it was under way here, and had stored nothing
			return nil
		case !errors.Is(err, ErrRunning):
			return err
		}
		if err := v.agent.untilFree(ctx, runKey(v.scope, id), &canceled{why}); err != nil {
			return err
		}
		begun = true
	}
}

// canceled is the cause of a run that somebody cancels, who may have gone. Who works on the run ends it.
type canceled struct{ why string }

func (c *canceled) Error() string { return "arc: the run is canceled: " + context.Canceled.Error() }
func (c *canceled) Unwrap() error { return context.Canceled }

// errTold is that of one that another process has canceled, and ended. It ends the runs that this one called.
var errTold = &canceled{"the run that called it was canceled"}

// cancel ends the run.
func (t *turn) cancel(ctx context.Context, why string) error {
	if t.Status == Delivered || t.Status == Canceled {
		return t.wrong("has ended")
	}
	t.Status, t.Cause, t.Reason = Canceled, "", fence.Clip(t.clean.Prose(why), maxTold)
	if err := t.stageEnd(ctx); err != nil {
		return err
	}
	return t.commit(context.WithoutCancel(ctx))
}

// Judge says what a run that has ended was worth in a person's eyes; the last verdict counts. A delivery that
// was wrong stops its plan. If what the run taught is no longer kept, the verdict is, and the error is
// store.ErrNotFound: stop the plan by [View.Edit]. If a single attempt has delivered the run, its worker's
// figures are corrected, too; not if several have, or a plan that fired.
func (v View) Judge(ctx context.Context, id string, verdict learn.Verdict, why string) error {
	_, err := v.with(ctx, id, func(ctx context.Context, t *turn) error {
		if !t.Status.ended() {
			return t.wrong("has not ended")
		}
		why := fence.Clip(t.clean.Prose(why), maxTold)
		figures, err := t.corrected(ctx, verdict)
		if err != nil {
			return err
		}
		var forgotten error
		t.stage(func(ctx context.Context, b *store.Batch) error {
			err := t.tenant.layer.StageJudge(ctx, b, t.Scope, t.adviceID(&t.Aims[0]), verdict, why)
			forgotten = nil
			if missing(err) {
				if t.Status == Delivered && t.Aims[0].Advised > 0 { // else nothing was learned of it
					forgotten = err
				}
				err = nil
			}
			if err == nil && figures != nil {
				err = t.tenant.book.In(t.objective.Lessons).Stage(ctx, b, *figures)
			}
			return err
		})
		t.event("judged", string(verdict), why)
		t.Verdict = verdict
		if t.Status == Delivered {
			t.Reason = why
		}
		if err := t.commit(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		return forgotten
	})
	return err
}

// corrected are the figures of the worker that has delivered the run, by a verdict; nil: there is not one.
func (t *turn) corrected(ctx context.Context, verdict learn.Verdict) (*rank.Sample, error) {
	if t.Status != Delivered || len(t.Deliveries) != 1 {
		return nil, nil
	}
	key := partKey(t.Scope, t.ID, deliveryName(t.Deliveries[0]))
	d, _, err := load[delivered](ctx, t.tenant.group.Store(), key)
	if err != nil || t.aim().Planner == byWorker && t.aim().Carried && d.Sample.Outcome == rank.Unknown {
		return nil, err // a plan made all calls, which is no skill
	}
	d.Sample.Outcome = cmp.Or(rank.Outcome(verdict), rank.Unknown) // in the same words
	return &d.Sample, nil
}

// Runs yields the runs of the scope, not of those below it, by their IDs: those that were made are in
// the order of their times. One that is deleted meanwhile may be left out.
func (v View) Runs(ctx context.Context) iter.Seq2[*Report, error] { return v.reports(ctx, false) }

// Unfinished yields the runs of the scope, and of those below it, that have not ended, by their scopes and
// IDs: what waits for a person has Approvals, or a Question.
func (v View) Unfinished(ctx context.Context) iter.Seq2[*Report, error] { return v.reports(ctx, true) }

func (v View) reports(ctx context.Context, unfinished bool) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		t, err := v.agent.tenant(ctx, v.scope)
		if err != nil {
			yield(nil, err)
			return
		}
		for r, err := range t.records(ctx, v.scope, unfinished) {
			if err == nil && unfinished && r.Status.ended() {
				continue
			}
			var report *Report
			if err == nil {
				if report, err = t.report(ctx, r, nil); missing(err) {
					continue // it was deleted meanwhile
				}
			}
			if !yield(report, err) || err != nil {
				return
			}
		}
	}
}

// Report returns the Report of a run.
func (v View) Report(ctx context.Context, id string) (*Report, error) {
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return nil, err
	}
	r, _, err := load[record](ctx, t.group.Store(), recordKey(v.scope, id))
	if missing(err) {
		err = v.without(id)
	}
	if err != nil {
		return nil, err
	}
	return t.report(ctx, &r, nil)
}

// without is the error of a run that is not there.
func (v View) without(id string) error {
	return fmt.Errorf("arc: no run %q in the scope %q: %w", id, cmp.Or(v.scope, "_"), store.ErrNotFound)
}

// Objective returns what a run was asked, as it is kept: without secrets.
func (v View) Objective(ctx context.Context, id string) (Objective, error) {
	return of(ctx, v, func(t *tenant) (Objective, error) {
		o, _, err := load[Objective](ctx, t.group.Store(), partKey(v.scope, id, "objective"))
		return o, err
	})
}

// of asks the tenant of a scope for something.
func of[T any](ctx context.Context, v View, f func(*tenant) (T, error)) (out T, err error) {
	t, err := v.agent.tenant(ctx, v.scope)
	if err == nil {
		out, err = f(t)
	}
	return out, err
}

// Wait returns the Report of a run once it has ended or asks, and OnEvent is told, and follows it through
// approvals and outages.
func (v View) Wait(ctx context.Context, id string) (*Report, error) {
	if _, err := v.Report(ctx, id); missing(err) {
		_ = v.agent.untilFree(ctx, runKey(v.scope, id), nil) // it may be about to begin; an error is that of ctx
	}
	for {
		changed := v.agent.change()
		r, err := v.Report(ctx, id)
		if err != nil || r.Status.ended() || r.Status == Asking {
			v.settled(ctx, id)
			return r, err
		}
		if err := v.agent.await(ctx, changed); err != nil {
			return r, err
		}
	}
}

// Assess says how a session of the scope goes.
func (v View) Assess(ctx context.Context, session string) (meta.Assessment, error) {
	return of(ctx, v, func(t *tenant) (meta.Assessment, error) {
		return t.sessions.Assess(ctx, v.scope, session, meta.Try{}, 0)
	})
}

// Identity returns what is known about whom the scope is of. Its runs are told the facts that are worth
// telling for their objective. If its Profile has AutoInfer, each delivered run with a Situation is an event.
func (v View) Identity(ctx context.Context) (*identity.Identity, error) {
	return of(ctx, v, func(t *tenant) (*identity.Identity, error) {
		return identity.New(t.group, v.scope, v.agent.opts.Memory)
	})
}

// Known returns the plans and warnings of the scope, see learn.Layer.Known.
func (v View) Known(ctx context.Context) (reason.Known, error) {
	return of(ctx, v, func(t *tenant) (reason.Known, error) {
		return t.layer.Known(ctx, v.scope)
	})
}

// Edit takes up what a person has changed in a plan of Known, its Calls or Retired, see learn.Layer.Edit.
func (v View) Edit(ctx context.Context, s reason.Suggestion) (changed bool, err error) {
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return false, err
	}
	clean := v.agent.opts.Sanitizer.KeepPlaceholders()
	s.Calls = slices.Clone(s.Calls)
	for i, c := range s.Calls {
		c.Name, c.Text, c.Inputs = clean.Prose(c.Name), clean.Prose(c.Text), clean.Data(c.Inputs)
		s.Calls[i] = c
	}
	return t.layer.Edit(ctx, v.scope, s)
}

// Why says in a sentence why no plan fires for an objective of the scope, or which one does.
func (v View) Why(ctx context.Context, o Objective) (string, error) {
	o.Scope, o.Fresh = v.scope, false
	o, _, err := v.agent.door(ctx, o)
	if err != nil {
		return "", err
	}
	if len(o.Tasks) > 0 {
		return "it has tasks of its own, and no plan fires in their place", nil
	}
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return "", err
	}
	c := o.asks()
	for n := 0; n == 0 || t.layer.HeldOut(&c); n++ { // as if it were a case that gets its memory
		c.ID = fmt.Sprint("why", n)
	}
	a, err := t.layer.Before(ctx, c)
	return a.Why, err
}

// Memory returns the memory of the scope. Do not keep it: a tenant that was not used for an hour is unloaded,
// and a Space from before does not see what is written later. What is remembered passes Options.Sanitizer,
// which knows no value of Host.Secrets: only runs that name one do.
func (v View) Memory(ctx context.Context) (memory.Space, error) {
	return of(ctx, v, func(t *tenant) (memory.Space, error) {
		return t.bank.In(v.scope), nil
	})
}

// Book returns the figures of the scope's workers; do not keep it, as with Memory. An attempt's cost has that
// of its Judges in it; what a try took that an outage ended counts for the run, and for no worker.
func (v View) Book(ctx context.Context) (*rank.Book, error) {
	return of(ctx, v, func(t *tenant) (*rank.Book, error) {
		return t.book.In(v.scope), t.group.Refresh(ctx)
	})
}

// settled waits until OnEvent is told that a run has ended, or asks: for 5 s, as it may be what waits.
func (v View) settled(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	_ = v.agent.untilFree(ctx, runKey(v.scope, id), nil)
}

// with has f work on a run that is there.
func (v View) with(ctx context.Context, id string, f func(context.Context, *turn) error) (*Report, error) {
	r, err := v.Report(ctx, id)
	switch {
	case missing(err): // nothing is held: it would be in the way of a Run that is about to begin
		v.agent.mu.Lock()
		defer v.agent.mu.Unlock()
		if v.agent.live[runKey(v.scope, id)] != nil {
			err = fmt.Errorf("%w: %s", ErrRunning, id)
		}
		return nil, err
	case err == nil && r.Status.ended():
		v.settled(ctx, id)
	}
	return v.agent.workOn(ctx, v.scope, id, false, func(ctx context.Context, t *turn) error {
		if t.record == nil {
			return v.without(id)
		}
		return f(ctx, t)
	})
}

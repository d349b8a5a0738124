package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/learn"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/memory/identity"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// View is what an Agent has of one scope. A run that is not there is store.ErrNotFound; a call that a run's state
// does not allow is [ErrState]; where another process goes on with the run at that moment, a call may be
// store.ErrConflict, and has changed nothing.
type View struct {
	agent *Agent
	scope memory.Scope
}

// In returns the View of a scope; "" is Options.Scope.
func (a *Agent) In(scope memory.Scope) View {
	if scope == "" {
		scope = a.opts.Scope
	}
	return View{a, plain(scope)}
}

// Resume goes on with a run that was left, and returns as [Agent.Run] does.
func (v View) Resume(ctx context.Context, id string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error { return t.goOn(ctx) })
}

// Answer answers the questions of a run that asks, and goes on with it.
func (v View) Answer(ctx context.Context, id, text string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error {
		if t.Status != Asking {
			return t.wrong("asks nothing")
		}
		t.answer(t.clean.Prose(clip(text, maxText)))
		t.Status, t.Phase = Running, t.Back
		return t.restart(ctx)
	})
}

// Retry tries a blocked run again, from the last task that was delivered on; note, if there is one, is told to the
// reasoner and to workers. What is known now is recalled anew. It is never refused.
func (v View) Retry(ctx context.Context, id, note string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error {
		if t.Status != Blocked {
			return t.wrong("is not blocked")
		}
		a := t.aim()
		a.Tries, a.Replans, a.Refused, a.Complaint, a.Advised = nil, 0, 0, "", 0
		if a.Next == 0 && !a.Given {
			a.begin(nil, "")
		}
		if note != "" {
			t.Questions = []string{"What is different now?"}
			t.answer(t.clean.Prose(clip(note, maxText)))
		}
		t.Status, t.Phase, t.Cause, t.Reason, t.advice = Running, assessPhase, "", "", nil
		t.event("retried", "", "")
		return t.restart(ctx)
	})
}

// restart commits that the run goes on, so that it does so after a crash, too.
func (t *turn) restart(ctx context.Context) error {
	if err := t.commit(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return t.drive(ctx)
}

func (t *turn) wrong(why string) error { return fmt.Errorf("%w: %s %s", ErrState, t.ID, why) }

// Causes of a run that somebody cancels: here, and in another process.
var (
	errCanceled = fmt.Errorf("arc: the run is canceled: %w", context.Canceled)
	errTold     = fmt.Errorf("%w, by another process", errCanceled)
)

// Cancel ends a run, also one that is under way: then it waits for the attempt to end. One in another process ends
// within a second, and keeps nothing of what it does meanwhile.
func (v View) Cancel(ctx context.Context, id, why string) error {
	for {
		_, err := v.with(ctx, id, func(ctx context.Context, t *turn) error {
			if t.Status.ended() {
				return t.wrong("has ended")
			}
			t.Status, t.Cause, t.Reason, t.Ended = Canceled, "", clip(t.clean.Prose(why), maxTold), t.now()
			t.Usage, t.Current = t.Usage.Add(t.Current.Usage), attempt{}
			t.Pending, t.Questions = nil, nil
			t.last()
			return t.commit(context.WithoutCancel(ctx))
		})
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // another process has gone on with it meanwhile
		}
		if !errors.Is(err, ErrRunning) {
			return err
		}
		if err := v.agent.free(ctx, runKey(v.scope, id), errCanceled); err != nil {
			return err
		}
	}
}

// Judge says what a run that has ended was worth in a person's eyes; the last verdict counts. A delivery that was
// wrong stops its plan. Where one attempt has delivered the run, the figures of its worker are corrected, too; of
// several nobody can tell which it was.
func (v View) Judge(ctx context.Context, id string, verdict learn.Verdict, why string) error {
	_, err := v.with(ctx, id, func(ctx context.Context, t *turn) error {
		if !t.Status.ended() {
			return t.wrong("has not ended")
		}
		why := t.clean.Prose(clip(why, maxTold))
		figures, err := t.corrected(ctx, verdict)
		if err != nil {
			return err
		}
		t.stage(func(ctx context.Context, b *store.Batch) error {
			_, err := t.tenant.layer.StageJudge(ctx, b, t.Scope, t.Advice, verdict, why)
			if missing(err) { // it was canceled, or nothing could be recalled for it
				err = nil
			}
			if err == nil && figures != nil {
				err = t.tenant.book.In(t.objective.Lessons).Stage(ctx, b, *figures)
			}
			return err
		})
		t.event("judged", string(verdict), why)
		return t.commit(context.WithoutCancel(ctx))
	})
	return err
}

// corrected are the figures of the worker that has delivered the run, by a verdict; nil: there is not one.
func (t *turn) corrected(ctx context.Context, verdict learn.Verdict) (*rank.Sample, error) {
	if t.Status != Delivered || len(t.Deliveries) != 1 {
		return nil, nil
	}
	d, _, err := load[delivered](ctx, t.tenant.group.Store(), partKey(t.Scope, t.ID, deliveryName(t.Deliveries[0])))
	if err != nil {
		return nil, err
	}
	switch d.Sample.Outcome = rank.Unknown; verdict {
	case learn.Delivered:
		d.Sample.Outcome = rank.Delivered
	case learn.Failed:
		d.Sample.Outcome = rank.Failed
	}
	return &d.Sample, nil
}

// Decide rules on an [act.Approval] of a run that waits, before its Deadline: afterwards silence has ruled, and it is
// [ErrState]. The run goes on by itself: [View.Wait] returns what came of it.
func (v View) Decide(ctx context.Context, r act.Ruling) error {
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return err
	}
	r.By, r.Note = v.agent.opts.Sanitizer.Prose(r.By), v.agent.opts.Sanitizer.Prose(r.Note)
	for p, err := range v.Approvals(ctx) {
		if err != nil {
			return err
		}
		if p.ID != r.Approval || !v.agent.opts.Now().Before(p.Deadline) {
			continue
		}
		a, due := v.agent, dueKey(time.Unix(0, 0), v.scope, p.Run+"//"+p.ID)
		entry := dueEntry{Scope: v.scope, ID: p.Run, Process: a.process.name, Kind: dueRuled}
		ruled := func(b *store.Batch) error { return put(b, due, entry, store.Any) }
		j := act.NewJournal(t.whole, t.prefix+logPrefix(v.scope, p.Run), a.opts.Now, ruled, nil)
		if err := act.Rule(ctx, j, r); err != nil {
			return fmt.Errorf("arc: %w", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.stopped { // else it goes on when the store is opened again
			a.runs.Go(func() {
				if err := a.goOn(due, entry); err != nil {
					a.look() // where it has failed, or another ruling came meanwhile, the scheduler does it
				}
			})
		}
		return nil
	}
	return fmt.Errorf("%w: no run waits for the approval %q", ErrState, r.Approval)
}

// heed has a run go on that a person has ruled on, and then forgets the ruling's dueEntry, which came with it.
func (v View) heed(ctx context.Context, id string, due store.Entry) error {
	a := v.agent
	for {
		changed := a.change()
		_, err := v.Resume(ctx, id)
		switch {
		case errors.Is(err, ErrRunning): // it may be about to stop, and must not miss the news
			if a.free(ctx, runKey(v.scope, id), nil) == nil {
				wait, cancel := context.WithTimeout(ctx, beatEvery)
				_ = a.await(wait, changed)
				cancel()
			}
			if ctx.Err() == nil {
				continue
			}
		case errors.Is(err, store.ErrConflict):
			continue
		}
		if err != nil && !missing(err) {
			return err
		}
		_, err = a.store.Commit(ctx, store.Op{Key: due.Key, Delete: true, If: store.At(due.Rev)})
		return err
	}
}

// Approvals yields what runs of the scope wait for, not those of scopes below it.
func (v View) Approvals(ctx context.Context) iter.Seq2[act.Approval, error] {
	return func(yield func(act.Approval, error) bool) {
		t, err := v.agent.tenant(ctx, v.scope)
		if err != nil {
			yield(act.Approval{}, err)
			return
		}
		for r, err := range t.records(ctx, v.scope) {
			if err != nil {
				yield(act.Approval{}, err)
				return
			}
			for _, p := range r.Pending {
				if r.Status == Waiting && !yield(p, nil) {
					return
				}
			}
		}
	}
}

// Runs yields the runs of the scope, not of those below it, by their IDs: those that were made are in the order of
// their times.
func (v View) Runs(ctx context.Context) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		t, err := v.agent.tenant(ctx, v.scope)
		if err != nil {
			yield(nil, err)
			return
		}
		for r, err := range t.records(ctx, v.scope) {
			var report *Report
			if err == nil {
				report, err = t.report(ctx, r)
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
	return v.agent.report(ctx, t, v.scope, id)
}

// Wait returns the Report of a run once it has ended, or asks a question. It follows the run through approvals and
// outages.
func (v View) Wait(ctx context.Context, id string) (*Report, error) {
	for {
		changed := v.agent.change()
		r, err := v.Report(ctx, id)
		if err != nil || r.Status.ended() || r.Status == Asking {
			return r, err
		}
		if err := v.agent.await(ctx, changed); err != nil {
			return r, err
		}
	}
}

// Journal yields the events of a run that are kept so far.
func (v View) Journal(ctx context.Context, id string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t, err := v.agent.tenant(ctx, v.scope)
		if err == nil {
			_, err = v.Report(ctx, id)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		act.NewJournal(t.group, logPrefix(v.scope, id), nil, nil, nil).Events(ctx, 0)(yield)
	}
}

// Watch yields the events of a run that are kept, from the first on, and follows it until it has ended. With the id ""
// it yields an empty Event at once, and one whenever any run of the Agent may have gone on, until ctx ends: several
// changes may be one Event.
func (v View) Watch(ctx context.Context, id string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for err := error(nil); id == ""; {
			changed := v.agent.change()
			if !yield(Event{}, err) || err != nil {
				return
			}
			err = v.agent.await(ctx, changed)
		}
		t, err := v.agent.tenant(ctx, v.scope)
		if err != nil {
			yield(Event{}, err)
			return
		}
		j, last := act.NewJournal(t.group, logPrefix(v.scope, id), nil, nil, nil), 0
		for {
			changed := v.agent.change()
			r, err := v.Report(ctx, id)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for e, err := range j.Events(ctx, last) {
				if !yield(e, err) || err != nil {
					return
				}
				last++
			}
			if r.Status.ended() {
				return
			}
			if err := v.agent.await(ctx, changed); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// note notes that a run was committed or deleted, by its runKey; "": each may have been.
func (a *Agent) note(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if key == "" || len(a.recent) == maxRecent {
		a.former += uint64(len(a.recent)) + 1
		a.recent = nil
	}
	a.recent = append(a.recent, key)
}

const maxRecent = 2048

// Changed returns the IDs of the runs of the scope that were committed or deleted since a mark, some more than once, and
// the next mark. Of a mark that is 0, or too long ago, the error is store.ErrNotFound: read Runs, and go on from the next
// mark. What other processes commit is known within 100 ms where a run is under way or waited for, else within 5 s.
func (v View) Changed(after uint64) (ids []string, mark uint64, err error) {
	v.agent.follows()
	v.agent.mu.Lock()
	defer v.agent.mu.Unlock()
	recent, first := v.agent.recent, v.agent.former
	if mark = first + uint64(len(recent)); after < first || after > mark {
		return nil, mark, fmt.Errorf("arc: what has changed since the mark: %w", store.ErrNotFound)
	}
	for _, key := range recent[after-first:] {
		if id, ok := strings.CutPrefix(key, runKey(v.scope, "")); ok {
			ids = append(ids, id)
		}
	}
	return ids, mark, nil
}

// change returns a channel that is closed at the next commit of a run.
func (a *Agent) change() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

func (a *Agent) await(ctx context.Context, changed <-chan struct{}) error {
	a.mu.Lock()
	a.awaited++
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.awaited--
		a.mu.Unlock()
	}()
	a.follows()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-a.base.Done():
		return ErrClosed
	}
}

// Assess says how a session of the scope goes, and which approaches its runs that have not ended have left.
func (v View) Assess(ctx context.Context, session string) (meta.Assessment, error) {
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return meta.Assessment{}, err
	}
	var left []string
	for r, err := range t.records(ctx, v.scope) {
		if err != nil {
			return meta.Assessment{}, err
		}
		if r.Session == session && !r.Status.ended() {
			left = append(left, r.aim().left()...)
		}
	}
	return t.sessions.Assess(ctx, v.scope, session, meta.Try{}, 0, left...)
}

// Identity returns what is known about whom the scope is of. Runs of the scope are told the facts that are worth
// telling for their objective. Where its Profile has AutoInfer, each delivered run with a Situation is an event of it.
func (v View) Identity(ctx context.Context) (*identity.Identity, error) {
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return nil, err
	}
	var languages []string
	if m := v.agent.opts.Memory; m != nil {
		languages = m.Languages
	}
	return identity.New(t.group, v.scope, v.agent.opts.Now, v.agent.opts.Sanitizer, languages...)
}

// Known returns the plans and warnings of the scope, see learn.Layer.Known.
func (v View) Known(ctx context.Context) (reason.Known, error) {
	t, err := v.agent.refreshed(ctx, v.scope)
	if err != nil {
		return reason.Known{}, err
	}
	return t.layer.Known(ctx, v.scope)
}

// Why says in a sentence why no plan fires for an objective of the scope, or which one does.
func (v View) Why(ctx context.Context, o Objective) (string, error) {
	o.Scope = v.scope
	o, _, err := v.agent.door(ctx, o)
	if err != nil {
		return "", err
	}
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return "", err
	}
	return t.layer.Why(ctx, o.asks())
}

// Memory returns the memory of the scope, for the work at hand: ask for it again for the next. One that is kept while
// the tenant is unloaded, after an hour of no use, does not see what is written later.
func (v View) Memory(ctx context.Context) (memory.Space, error) {
	t, err := v.agent.refreshed(ctx, v.scope)
	if err != nil {
		return memory.Space{}, err
	}
	return t.bank.In(v.scope), nil
}

// Book returns the figures of workers of the scope, for the work at hand, as Memory does.
func (v View) Book(ctx context.Context) (*rank.Book, error) {
	t, err := v.agent.refreshed(ctx, v.scope)
	if err != nil {
		return nil, err
	}
	return t.book.In(v.scope), nil
}

// with has f work on a run that is there.
func (v View) with(ctx context.Context, id string, f func(context.Context, *turn) error) (*Report, error) {
	if err := store.CheckID(id); err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	return v.agent.with(ctx, v.scope, id, func(ctx context.Context, t *turn) error {
		if t.record == nil {
			return fmt.Errorf("arc: run %q: %w", id, store.ErrNotFound)
		}
		return f(ctx, t)
	})
}

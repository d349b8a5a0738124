package arc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// errLeft is the cause of a run that stops because the Agent does.
var errLeft = fmt.Errorf("%w: another over its store goes on with the run, or the next one", ErrClosed)

// Run works on an objective until the run is delivered or blocked, asks, or waits for a person, and returns
// its Report. It waits for an outage to pass, up to Options.Patience. A Run with the ID of an earlier one
// goes on with that, or returns its Report if it has ended; while it is under way the error is [ErrRunning].
//
// If ctx ends first, the run is left, not ended: it stays as of its last commit, and goes on by [View.Resume]
// or when the store is opened again; one that waits goes on by itself once the wait is over. A Stop button is
// [View.Cancel]: the error then wraps context.Canceled. A run that another's attempt has begun is canceled
// with that while it is at work, else by itself. Beside an error the Report is of what is stored then; nil:
// nothing is, or the store is away.
func (a *Agent) Run(ctx context.Context, o Objective) (*Report, error) { return a.run(ctx, o, nil) }

// Events is Run, and yields the events as they happen, also those that are not kept. The run waits while the
// loop's body works on an event; to leave the loop ends the run's context.
func (a *Agent) Events(ctx context.Context, o Objective) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		events, ended := make(chan Event), make(chan error, 1)
		go func() {
			err := errors.New("arc: code of the host has ended its goroutine")
			defer func() { ended <- err; close(events) }()
			_, err = a.run(ctx, o, func(e Event) {
				select {
				case events <- e:
				case <-ctx.Done():
				}
			})
		}()
		defer func() {
			cancel()
			for range events {
			}
		}()
		for e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err := <-ended; err != nil {
			yield(Event{}, err)
		}
	}
}

// door returns the objective with its defaults and without secrets.
func (a *Agent) door(ctx context.Context, o Objective) (Objective, *redact.Sanitizer, error) {
	above, _ := ctx.Value(place{}).(place)
	o.Scope = plain(cmp.Or(o.Scope, memory.Scope(above.scope), a.opts.Scope))
	o.Lessons = cmp.Or(plain(o.Lessons), o.Scope)
	made := o.ID == ""
	if made { // it sorts by its time
		o.ID = cmp.Or(fence.Cut(above.id, maxRunID-17), a.now().Format("20060102-150405-")+rand.Text()[:10])
	}
	if err := o.check(); err != nil {
		return o, nil, err
	}
	clean, err := a.sanitizer(ctx, o.Secrets)
	if err == nil {
		o.clean(clean)
	}
	if made && above.id != "" { // the same objective is the same run
		raw, _ := codec.Marshal(o) // whose error run returns
		o.ID += "/" + fence.Mark(above.scope, above.id, string(raw))
	}
	return o, clean, err
}

// run is Run, with somebody who is told of the events. The ID of a fresh run is new: nothing is read for it.
func (a *Agent) run(ctx context.Context, o Objective, tell func(Event)) (*Report, error) {
	above, _ := ctx.Value(place{}).(place)
	below, fresh, began := o.ID == "" && above.id != "", o.ID == "" && above.id == "", a.now()
	o, clean, err := a.door(ctx, o)
	if err != nil {
		return nil, err
	}
	raw, err := codec.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrObjective, err)
	}
	digest := sha256.Sum256(raw)
	work := func(ctx context.Context, t *turn) error {
		t.tell = tell
		if t.record != nil {
			if !bytes.Equal(t.Digest, digest[:16]) {
				return fmt.Errorf("%w: %s", ErrTaken, o.ID)
			}
			return t.goOn(ctx)
		}
		t.objective, t.clean, t.record = o, clean, newRecord(&o, a.now())
		t.Digest = digest[:16]
		t.event("begun", "", t.Text)
		t.stage(func(_ context.Context, b *store.Batch) error {
			return b.Put(partKey(o.Scope, o.ID, "objective"), raw, store.Any) // the record is absent
		})
		return t.drive(ctx)
	}
	r, err := a.workOn(ctx, o.Scope, o.ID, fresh, work)
	for below && errors.Is(err, ErrRunning) && ctx.Err() == nil { // by a scheduler, or a twin
		_, _ = View{agent: a, scope: o.Scope}.Wait(ctx, o.ID) // what goes wrong, the next look finds
		r, err = a.workOn(ctx, o.Scope, o.ID, false, work)
	}
	if below && err == nil && r.Ended.Before(began) && (r.Cause == Exhausted || r.Cause == Outage) {
		return View{agent: a, scope: o.Scope}.Retry(ctx, o.ID, "")
	}
	return r, err
}

// Thought is what a run would begin with. Its Report says where the run would stand: running, asking,
// waiting for an outage, or blocked. Fired is 1 where Tasks are those of a plan that fires. Where the
// reasoner wants a subgoal reached first, Text names it, and there are no Tasks yet.
type Thought struct {
	Report
	Advice learn.Advice
	Tasks  []reason.Task // the plan; nil if there is none
}

// Think returns what Run would begin with: it recalls, and asks the reasoner unless a plan fires. Nothing is
// done and nothing is kept; what the reasoner takes does not count towards Options.Daily.
func (a *Agent) Think(ctx context.Context, o Objective) (Thought, error) {
	o, clean, err := a.door(ctx, o)
	if err != nil {
		return Thought{}, err
	}
	at, err := a.tenant(ctx, o.Scope)
	if err != nil {
		return Thought{}, err
	}
	t := &turn{agent: a, tenant: at, objective: o, clean: clean, record: newRecord(&o, a.now())}
	next, advice := assessPhase, &learn.Advice{}
	for t.Status == Running && next != assignPhase && len(t.Aims) == 1 {
		if next, err = phases[next](t, ctx); err == nil && t.Status == Running {
			next, err = t.bounded(ctx, next)
		}
		if err != nil {
			return Thought{}, err
		}
		if t.advice != nil {
			advice = t.advice
		}
	}
	r, err := at.report(ctx, t.record, nil)
	if err != nil {
		return Thought{}, err
	}
	return Thought{Report: *r, Advice: *advice, Tasks: t.Aims[0].Plan}, nil
}

func newRecord(o *Objective, now time.Time) *record {
	// Its Inputs tell runs of one Text apart: they follow it, on a line.
	inputs := string(bytes.Join(append([][]byte{nil}, bytes.Fields(o.Inputs)...), []byte(" ")))
	r := &record{
		ID: o.ID, Scope: o.Scope, Session: o.Session, Text: fence.Clip(o.Text, 1<<10) + fence.Clip(inputs, 100),
		Status: Running, Phase: assessPhase, Began: now, Aims: []aim{{Text: o.Text}},
	}
	if len(o.Tasks) > 0 {
		r.aim().begin(byHost, o.Tasks, "")
	}
	return r
}

// plain is the scope, and the empty one for "_", which is its other name.
func plain(s memory.Scope) memory.Scope {
	if s == "_" {
		return ""
	}
	return s
}

// sanitizer returns the one that knows the named secrets.
func (a *Agent) sanitizer(ctx context.Context, names []string) (*redact.Sanitizer, error) {
	if len(names) == 0 {
		return a.opts.Sanitizer, nil
	}
	values := map[string]string{}
	for _, name := range names {
		if a.host.Secrets == nil {
			return nil, fmt.Errorf("%w: the host has no secret %q", ErrObjective, name)
		}
		value, err := call.Do(ctx, a.opts.Timeout, func(ctx context.Context) (string, error) {
			return a.host.Secrets(ctx, name)
		})
		if err != nil {
			return nil, fmt.Errorf("arc: secret %s: %w", name, err)
		}
		values[name] = value
	}
	clean, err := a.opts.Sanitizer.With(values)
	if err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	return clean, nil
}

// workOn has f work on a run that nobody else works on meanwhile. The turn that f gets has no record if there
// is no such run, which is known of one that is fresh. f ends with a commit, or with an error that stops it.
//
// A run that stops in its middle is left: nobody goes on with it unasked as long as this Agent lives, and its
// record tells so other processes, which would wait for this one. Not left is a run that waits, which goes on
// when that is over, and one of which the error says that nothing has changed, or that another one has it.
func (a *Agent) workOn(
	ctx context.Context, scope memory.Scope, id string, fresh bool, f func(context.Context, *turn) error,
) (*Report, error) {
	at, release, err := a.tenants.hold(ctx, scope)
	if err != nil {
		return nil, err
	}
	defer release()
	caller := ctx
	ctx, own, end, err := a.begin(ctx, runKey(scope, id))
	if err != nil {
		return nil, err
	}
	defer a.runs.Done()
	defer end(true) // where host code ends the goroutine, by runtime.Goexit; after another end it does nothing
	t, err := a.load(ctx, at, scope, id, own, fresh)
	if err == nil {
		err = func() (err error) {
			ctx, end := a.trace(ctx, "run", id, "scope", string(scope))
			defer func() { end(err) }()
			return f(ctx, t)
		}()
	}
	if err = stopped(ctx, caller, err); errors.Is(err, errFenced) && (t == nil || t.rev == 0) { // nobody has it
		err = cmp.Or[error](caller.Err(), errAway)
	}
	if errors.Is(err, store.ErrConflict) {
		err = fmt.Errorf("%w in another process: %w", ErrRunning, err)
	}
	left := false
	if t != nil && t.rev > 0 && !isAny(err, ErrState, ErrTaken, ErrRunning) {
		err = t.stop(caller, err)
		// Where it is due by the time at which it began it is Running as of its last commit.
		left = !isAny(err, nil, errTold) && t.due == dueKey(t.Began, scope, id)
	}
	if left && a.process.changer != nil {
		a.leave(at, t) // before another call can have the run
	}
	end(left)
	if err != nil || t.record != nil && t.Status == Waiting { // another time is due; to look costs a scan
		a.wake()
	}
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		ctx, cancel := context.WithTimeout(ctx, beatEvery) // the store may be what is away
		defer cancel()
		report, gone := View{agent: a, scope: scope}.Report(ctx, id) // of what is stored
		if errors.Is(err, store.ErrConflict) && missing(gone) {
			err = fmt.Errorf("%w, as its scope is erased: %w", errTold, gone)
		}
		return report, err
	}
	return at.report(ctx, t.record, t.said) // which is stored as it is: each step ends with its commit
}

// canceled is what has canceled the run, or a run that has called it; nil: nothing.
func (t *turn) canceled(ctx context.Context) *canceled {
	above, _ := errors.AsType[*canceled](context.Cause(ctx))
	return cmp.Or(t.live.said.Load(), above)
}

// stop ends the run, as of its last commit, if it or its caller is canceled. It returns err, or that.
func (t *turn) stop(ctx context.Context, err error) error {
	said := t.canceled(ctx)
	if said == nil {
		return err
	}
	failed := t.reload(context.WithoutCancel(ctx))
	if failed == nil {
		failed = t.cancel(ctx, said.why)
	}
	if isAny(failed, ErrState, store.ErrNotFound) { // it has ended, or is erased
		return err
	}
	return errors.Join(cmp.Or(err, error(said)), failed)
}

// stopped returns err, or where that is of the end of the run's context the cause: who has stopped it. A
// caller whose own context has ended finds the error of that as well.
func stopped(run, caller context.Context, err error) error {
	cause := context.Cause(run)
	if err == nil || cause == nil || !isAny(err, context.Canceled, cause) {
		return err
	}
	if end := caller.Err(); end != nil && !errors.Is(cause, end) {
		return fmt.Errorf("%w: %w", end, cause)
	}
	return cause
}

// nextOpen is until when the scheduler leaves alone what was left: it goes on by Resume or a next Agent.
var nextOpen = time.Unix(1<<40, 0)

// begin has a piece of work under way, unless one of its key is, until end; left: the scheduler leaves it.
func (a *Agent) begin(
	ctx context.Context, key string,
) (_ context.Context, own *live, end func(left bool), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stop.Err() != nil:
		return nil, nil, nil, ErrClosed
	case a.live[key] != nil:
		return nil, nil, nil, fmt.Errorf("%w: %s", ErrRunning, key)
	}
	own = &live{done: make(chan struct{})}
	ctx, own.cancel = context.WithCancelCause(ctx)
	detach := context.AfterFunc(a.base, func() { own.cancel(errLeft) })
	a.live[key] = own
	a.runs.Add(1)
	return ctx, own, func(left bool) {
		detach()
		own.cancel(nil)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.live[key] != own { // it has ended before
			return
		}
		delete(a.live, key)
		delete(a.rests, key)
		if left {
			a.rests[key] = nextOpen
		}
		close(own.done)
	}, nil
}

// goOn goes on with a run that was interrupted, or that waits and has what it waits for. That it does is
// stored first: others may go on with it as well, and who commits first does.
func (t *turn) goOn(ctx context.Context) error {
	a := t.agent
	switch {
	case t.Status.ended() || t.Status == Asking || a.idle() && t.Process != a.process.name:
		return nil
	case a.process.late():
		return errFenced
	case !t.Left && (t.Status == Running || !t.Wait.Since.IsZero()): // a process works on it, or waits with it
		alive, err := a.process.alive(ctx, a.store, t.Process)
		if err != nil {
			return err
		}
		if alive && t.Process != a.process.name {
			return fmt.Errorf("%w in another process: %s", ErrRunning, t.ID)
		}
	}
	if t.Status == Running && t.Process != a.process.name {
		t.event("taken_up", a.process.name, "from "+t.Process)
	}
	if t.Status == Running && t.Phase == actPhase && t.objective.Once {
		t.Phase = t.block(Interrupted, "an attempt was interrupted, and may be made once")
	}
	t.Status = Running
	return t.restart(ctx)
}

// leave says in the record of a run, as of its last commit, that others may go on with it, by Resume.
func (a *Agent) leave(at *tenant, t *turn) {
	ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
	defer cancel()
	err := at.group.Update(ctx, func(b *store.Batch) error {
		r, rev, err := load[record](ctx, at.group.Store(), t.key) // as of its last commit
		if err != nil || rev != t.rev {
			return err
		}
		r.Left = true
		return codec.Put(b, t.key, r, store.At(rev))
	})
	if err != nil {
		a.opts.Logger.Warn("arc: a run was left", "run", t.ID, "error", err)
	}
}

// untilFree waits until a run is not under way. What is said, if anything, ends it.
func (a *Agent) untilFree(ctx context.Context, key string, said *canceled) error {
	a.mu.Lock()
	l := a.live[key]
	a.mu.Unlock()
	if l == nil {
		return nil
	}
	if said != nil {
		l.said.Store(said)
		l.cancel(said)
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load returns a turn of a run, without a record if there is none.
func (a *Agent) load(
	ctx context.Context, at *tenant, scope memory.Scope, id string, own *live, fresh bool,
) (*turn, error) {
	t := &turn{agent: a, tenant: at, live: own, key: recordKey(scope, id), name: runKey(scope, id)}
	t.process = a.process.name
	mine := func(b *store.Batch) error {
		b.After(func(store.Revision) { a.announce() })
		return b.Check(t.key, store.At(store.Revision(own.rev.Load())))
	}
	t.journal = act.NewJournal(at.group, logPrefix(scope, id), a.opts.Now, mine, func(e Event) { a.told(t, e) })
	st := at.group.Store()
	if fresh {
		return t, nil
	}
	r, rev, err := load[record](ctx, st, t.key)
	if missing(err) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.record = &r
	t.at(rev)
	t.counted = r.Usage.Add(r.Current.Usage)
	if r.Status == Running && r.Phase == actPhase { // it was cut off, and what it took since is in its journal
		took, err := t.answered(ctx)
		if err != nil {
			return nil, err
		}
		r.Current.Usage = r.Current.Usage.Add(took.Since(r.Current.Usage))
	}
	t.due, t.dueOf = r.dueKey(), r.Process
	if t.objective, _, err = load[Objective](ctx, st, partKey(scope, id, "objective")); err != nil {
		return nil, err
	}
	names := t.objective.Secrets
	if a.idle() && a.host.Secrets == nil { // it only stores what a person says
		names = nil
	}
	if t.clean, err = a.sanitizer(ctx, names); err != nil {
		return nil, err
	}
	for _, n := range r.Deliveries {
		d, _, err := load[delivered](ctx, st, partKey(scope, id, deliveryName(n)))
		if err != nil {
			return nil, err
		}
		t.lineage = append(t.lineage, reason.Delivery{Task: d.Task, Output: d.Output})
	}
	return t, nil
}

// reload has the turn be as of the run's last commit: what its step has changed since is dropped.
func (t *turn) reload(ctx context.Context) error {
	stored, err := t.agent.load(ctx, t.tenant, t.Scope, t.ID, t.live, false)
	switch {
	case err != nil:
		return err
	case stored.record == nil:
		return View{agent: t.agent, scope: t.Scope}.without(t.ID)
	}
	stored.tell = t.tell
	*t = *stored
	return nil
}

func deliveryName(attempt int) string { return fmt.Sprintf("delivery/%04d", attempt) }

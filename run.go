package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/alike"
	"github.com/arc-learn/arc/internal/depth"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/internal/roster"
	"github.com/arc-learn/arc/internal/uuids"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Run runs an objective until it is delivered, is blocked, or asks a question, and
// returns its report. If the objective's ID has been run before, Run continues that run
// from its last commit. A run that ends BLOCKED is not an error.
//
// While a part of the host is away (a model that refuses connections or limits
// the rate, a worker, a gate: see reason.Retryable) the run waits, with growing
// pauses, which spend no Budget. After Options.Patience Run returns a Report with
// status Waiting, the Cause, and the time of the Next try. An open Agent then resumes
// the run by itself, a closed one by ResumeDue; Run with the same ID, or View.Resume,
// tries at once. If ctx ends, the run stops and can be resumed.
//
// The error is ErrObjective (ErrTaken matches it too), ErrRunning, or that of ctx or the
// store; except after ErrObjective the run can be resumed. During a Shutdown it is
// store.ErrClosed, or context.Canceled if the Shutdown has cancelled a step. The Report
// beside an error says how the run stands in the store; its Status is "" if the store
// has no such run. The Report is nil after ErrObjective, if ctx had ended before the
// call, and if the run in the store cannot be read.
func (a *Agent) Run(ctx context.Context, o Objective) (*Report, error) {
	return a.start(ctx, o, nil, nil)
}

// Events is Run as a stream: it yields each event of the run, and ends with it. An error
// is yielded last. Breaking out of the loop stops the run at its last commit, from which
// View.Resume continues; one that waits is resumed by an open Agent.
func (a *Agent) Events(ctx context.Context, o Objective) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := a.start(ctx, o, func(e Event) bool { return yield(e, nil) }, nil)
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// Think reasons about an objective and returns the first decision that the loop would act
// on. It executes nothing, learns nothing and stores nothing. Beside an error the Decision
// holds the Usage alone.
func (a *Agent) Think(ctx context.Context, o Objective) (reason.Decision, error) {
	if err := store.CheckContext(ctx); err != nil {
		return reason.Decision{}, err
	}
	s, err := a.begin(o)
	if err != nil {
		return reason.Decision{}, err
	}
	own, err := a.tenant(ctx, s.Objective.Scope)
	if err != nil {
		return reason.Decision{}, err
	}
	defer a.handBack(own)
	t := &turn{a: a, own: own, s: s, veil: a.veilFor(s.Objective.Secrets)}
	defer a.veils.Put(t.veil)
	d, err := t.think(ctx)
	return d, veil.Error(t.veil.San, err)
}

// start begins a run, or continues the one with the objective's id. yield may be nil. For a job,
// which may be nil, it holds on to no run that waits.
func (a *Agent) start(
	ctx context.Context, o Objective, yield func(Event) bool, job *queue.Job,
) (r *Report, err error) {
	for {
		r, err = a.startAs(ctx, o, yield, job)
		// An id that was generated is taken if the clock has stood still over a restart.
		taken := o.ID == "" && errors.Is(err, store.ErrConflict) && r != nil && r.Status == ""
		if !taken {
			return r, err
		}
	}
}

// startAs is start for one id. It marks the run as live before it looks whether the store has the
// run, so that of two callers with one id only one goes on. A run that the store does not have is
// written by the first step, not here: an objective that is refused leaves nothing.
func (a *Agent) startAs(
	ctx context.Context, o Objective, yield func(Event) bool, job *queue.Job,
) (*Report, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	s, err := a.begin(o)
	if err != nil {
		return nil, err
	}
	live, own, err := a.enter(ctx, s.Objective.Scope, s.ID)
	if err != nil {
		return a.stands(ctx, s), err
	}
	defer a.leave(own, s.ID)
	var rev store.Revision
	if o.ID != "" {
		old, at, err := a.load(ctx, own.name, o.ID)
		switch {
		case err == nil:
			s, rev, err = old, at, old.checkSame(&o, a.o.Sanitizer)
			s.Objective.Secrets = maps.Clone(o.Secrets)
		case errors.Is(err, store.ErrNotFound):
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	if s.serves(job) && (s.Status == Asking || s.Status == Blocked) { // which drive leaves as they are
		over, s := context.WithoutCancel(live), s // other runs need it not on the heap
		if rev, err = a.commit(over, a.st, runKey(own.name, s.ID), &s, nil, s.Status, rev); err != nil {
			return a.stands(ctx, s), err
		}
	}
	return a.drive(live, own, s, rev, yield, job != nil)
}

// checkSame returns ErrTaken if the run's objective is not o: see Objective.ID. It compares what
// was stored, in which secrets are hidden: the texts of o are hidden in the same way first. What an
// objective leaves out (a scope, a user, tasks) may be what it was.
func (s *state) checkSame(o *Objective, san *redact.Sanitizer) error {
	was, other := &s.Objective, ""
	if len(o.Secrets) > 0 {
		san = san.Knowing(slices.Sorted(maps.Values(o.Secrets))...)
	}
	task := func(kept, k reason.Task) bool {
		return alike.Text(san, kept.Objective, k.Objective) && alike.JSON(san, kept.Inputs, k.Inputs)
	}
	switch {
	case !alike.Text(san, was.Text, o.Text):
		other = "another text"
	case !alike.JSON(san, was.Inputs, o.Inputs):
		other = "other inputs"
	case o.Scope != "" && o.Scope != was.Scope:
		other = "another scope"
	case o.User != "" && was.User != "" && !alike.Text(san, was.User, o.User):
		other = "another user"
	case len(o.Tasks) > 0 && len(was.Tasks) > 0 && !slices.EqualFunc(was.Tasks, o.Tasks, task):
		other = "other tasks"
	default:
		return nil
	}
	return fmt.Errorf("%w: run %q was begun with %s", ErrTaken, s.ID, other)
}

// decline continues a run whose worker asks, without an answer, and ends a run that waits.
func (a *Agent) decline(ctx context.Context, scope memory.Scope, id string) error {
	_, err := a.reopen(ctx, scope, id, false, func(s state) (state, error) {
		switch {
		case s.workerAsks():
			return s.unanswered(), nil
		case s.Status == Waiting:
			return s.abandoned(a.o.Now()), nil
		}
		return s, ErrLate
	})
	return err
}

// retry continues a Blocked run. For a job, of is its objective, which has to be the run's; it
// does so once for a requeue, and does not wait with a run that waits.
func (a *Agent) retry(
	ctx context.Context, scope memory.Scope, id, note string, of *Objective, job *queue.Job,
) (*Report, error) {
	if err := atMost("note", maxText, len(note)); err != nil {
		return nil, err
	}
	return a.reopen(ctx, scope, id, job != nil, func(s state) (state, error) {
		if of != nil {
			if err := s.checkSame(of, a.o.Sanitizer); err != nil {
				return s, err
			}
		}
		if s.Status != Blocked || job != nil && s.Requeue == requeueOf(job) {
			return s, fmt.Errorf("%w: %q is %s", ErrNotBlocked, id, s.Status)
		}
		s = s.retried(a.hide(&s, note), a.o.Now())
		s.serves(job)
		return s, nil
	})
}

// judgement returns a verdict, which is in Verdicts already, as the learner takes it; before are the Verdicts
// without it. Its memories are those of the objective's own plan: the memories used, and the chunk that fired
// or was learned. A delivery that no source finds wrong counts as helped, once.
func (s *state) judgement(v Verdict, before []Verdict, chunk memory.Record, now time.Time) learn.Judgement {
	g := &s.Aims[0]
	right := func(v Verdict) bool { return v.Right }
	counts := !slices.ContainsFunc(before, Verdict.wrong) &&
		(!s.Objective.Provisional || slices.ContainsFunc(before, right))
	j := learn.Judgement{
		Key: s.verdictKey(s.Judged, v.Right), Right: v.Right, Changed: len(before) == len(s.Verdicts), Why: v.Why,
		Credit: v.Right && !counts && !slices.ContainsFunc(s.Verdicts, Verdict.wrong) &&
			(s.Status == Delivered || s.Objective.Provisional), // else the end of the run counts
		GoalKey: s.prefix() + "/goal/0", Recalled: g.Recalled, Fired: g.Fired,
		Session: s.Session, Objective: g.Text, Situation: g.Situation, Approach: g.Approach, User: s.Objective.User, At: now,
		Scopes:   slices.Compact(slices.Concat([]memory.Scope{s.Objective.Scope}, s.Objective.Also)),
		Memories: slices.Clone(g.Utilized),
	}
	if s.Status == Delivered {
		if g.Fired != "" {
			j.Memories = append(j.Memories, g.Fired)
		} else if chunk.ID != "" {
			j.Memories = append(j.Memories, chunk.ID)
			if chunk.Source.Ref == j.GoalKey {
				j.Made = chunk.ID
			}
		}
	}
	if n := len(s.Deliveries); n > 0 && s.Deliveries[n-1].Made > 0 { // which an earlier version did not know
		j.Counted = append(j.Counted, s.attemptKey(s.Deliveries[n-1].Made))
	}
	for n := range s.Judged {
		j.Counted = append(j.Counted, s.verdictKey(n+1, true))
	}
	for i, d := range s.Deliveries {
		if v.Task == 0 || v.Task == i+1 {
			j.Work = append(j.Work, learn.Outcome{Key: s.attemptKey(d.Made), Skill: d.Task.Skill, Worker: d.Worker})
		}
	}
	return j
}

// reopen continues a run of the scope's tenant. Before, it commits the change to the run, unless
// change is nil. adopted: see drive.
func (a *Agent) reopen(
	ctx context.Context, scope memory.Scope, id string, adopted bool, change func(state) (state, error),
) (*Report, error) {
	ctx, own, s, rev, err := a.enterStored(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	defer a.leave(own, id)
	if change != nil {
		was := s.Status
		if s, err = change(s); err != nil {
			return nil, err
		}
		// The host gives the run's secrets again, which no store has kept, so that an answer that
		// quotes one is hidden like the texts before it.
		var v *veil.Veil
		if len(s.Secrets) > 0 { // the change may contain them
			s.Objective.Secrets = a.givenAgain(ctx, &s)
			v = a.veilFor(s.Objective.Secrets)
			defer a.veils.Put(v)
			v.RevealAll(&s, func(string) {})
		}
		lease.Of(ctx).Keep(true)
		if rev, err = a.commit(context.WithoutCancel(ctx), a.st, runKey(own.name, id), &s, v, was, rev); err != nil {
			return nil, err
		}
	}
	return a.drive(ctx, own, s, rev, nil, adopted)
}

// goOn continues a run that is due, until it waits again. It leaves a run alone that is live
// here or in another Agent.
func (a *Agent) goOn(ctx context.Context, d register.Due) error {
	ctx, own, err := a.enter(ctx, memory.Scope(d.Tenant), d.ID)
	if err != nil {
		return err
	}
	defer a.leave(own, d.ID)
	s, rev, err := a.load(ctx, own.name, d.ID)
	gone := errors.Is(err, store.ErrNotFound)
	// d is from a list that was read before the run was marked as live: the run may have moved on. At
	// is 0 for a run whose replica is gone, else the time at which it was due.
	switch {
	case d.At == 0 && !lease.Of(ctx).Claimed():
		return nil // another Agent has released it since
	case d.At == 0 && (gone || err == nil && s.Status != Running && s.Status != Waiting):
		return lease.Of(ctx).Release(ctx)
	case d.At != 0 && (gone || err == nil && s.Wait.Due != d.At):
		return a.undue(ctx, d, &s)
	}
	if err == nil {
		// A panic here would end the process, and again after each restart.
		panicked := guard.Call(func() { _, err = a.drive(ctx, own, s, rev, nil, true) })
		err = cmp.Or(panicked, err)
	}
	if err == nil || errors.Is(err, ErrRunning) {
		return err
	}
	return errors.Join(err, a.postpone(context.WithoutCancel(ctx), own, d.ID, err, ctx.Err() != nil))
}

// postpone makes a run wait that could not be continued: for longestWait, or for a second if it
// was stopped. Otherwise it would be due at once again, and the background would do nothing else. It
// leaves a run alone that has ended, asks or waits since.
func (a *Agent) postpone(ctx context.Context, own *tenant, id string, why error, stopped bool) error {
	stopped = stopped || a.runs.Closing()
	s, rev, err := a.load(ctx, own.name, id)
	now := a.o.Now().UnixNano()
	due := s.Status == Waiting && s.Wait.Due <= now
	if err != nil || s.Status != Running && (stopped || !due) {
		return err
	}
	if due {
		s.Wait.Waited += max(0, time.Duration(now-s.Wait.Since))
	}
	t := a.between(own, s)
	defer a.veils.Put(t.veil)
	t.watched = len(s.Aims) > 0 && a.o.Hooks.Event != nil // an event tells of an aim
	if stopped {
		t.wait(CauseInterrupted, "the Agent stopped", time.Second)
	} else {
		t.wait(CauseInternal, why.Error(), longestWait)
	}
	if _, err = t.commit(ctx, rev); err != nil {
		return err
	}
	a.tell(t.events, nil)
	return nil
}

// between returns a turn to commit a change of a run that is not live. The run's usage is
// settled already.
func (a *Agent) between(own *tenant, s state) *turn {
	return &turn{
		a: a, own: own, s: s.fork(), key: runKey(own.name, s.ID), listed: s.Wait.Due, was: s.Status,
		paid: s.used(a.o.Now()), veil: a.veilFor(nil),
	}
}

// discard deletes a run of the scope's tenant that is not live, if may returns true for it.
func (a *Agent) discard(ctx context.Context, scope memory.Scope, id string, may func(*state) bool) error {
	ctx, own, s, rev, err := a.enterStored(ctx, scope, id)
	if err != nil {
		return err
	}
	defer a.leave(own, id)
	if !may(&s) {
		return nil
	}
	lease.Of(ctx).Keep(false)
	return a.remove(context.WithoutCancel(ctx), own, &s, rev)
}

// begin returns the first state of a run of the objective. It writes nothing.
func (a *Agent) begin(o Objective) (state, error) {
	err := o.check()
	if user := a.o.Sanitizer.Sanitize(o.User); err == nil && user != o.User { // as memory stores it
		o.User = user
		err = o.check() // it may be longer
	}
	if err != nil {
		hide := a.o.Sanitizer
		if o.Secrets.Check() == nil { // else the error quotes none of them, and they have no bound
			hide = hide.Knowing(slices.Collect(maps.Values(o.Secrets))...)
		}
		return state{}, veil.Error(hide, err)
	}
	now := a.o.Now().UTC()
	if now.Before(time.Unix(0, 0)) || now.After(time.Unix(0, math.MaxInt64)) {
		return state{}, fmt.Errorf("%w: Options.Now is %v, not in 1970 to 2262", ErrObjective, now)
	}
	if a.reasoner == nil && len(o.Tasks) == 0 {
		return state{}, fmt.Errorf("%w: no tasks, and the host has no reasoner", ErrObjective)
	}
	o = o.clone()
	o.Scope = cmp.Or(o.Scope, a.o.Scope)
	err = o.Scope.Check()
	for _, scope := range slices.Concat(o.Also, o.Episodes) {
		if err = cmp.Or(err, scope.Check()); err == nil && scope.Tenant() != o.Scope.Tenant() {
			err = fmt.Errorf("%w: a scope of another tenant", memory.ErrTenant)
		}
	}
	if err != nil {
		return state{}, fmt.Errorf("%w: %w", ErrObjective, err)
	}
	if o.Episodes == nil && o.Actor != "" {
		o.Episodes = []memory.Scope{memory.Scope(o.Scope.Tenant() + "/system/" + o.Actor)}
	} else if o.Episodes == nil {
		of, err := a.scopedTo(o.Scope)
		if err != nil {
			return state{}, err
		}
		o.Episodes = of.episodes
	}
	o.Attempts = cmp.Or(o.Attempts, a.o.Attempts)
	vouched := o.Situation != ""
	o.Situation = cmp.Or(o.Situation, o.Text)
	o.Budget = o.Budget.or(a.o.Budget)
	if o.ID == "" {
		o.ID = a.newID(now)
	}
	session := o.Session
	session = cmp.Or(session, o.ID)
	var secrets map[string]string
	for name, v := range o.Secrets {
		if secrets == nil {
			secrets = make(map[string]string, len(o.Secrets))
		}
		secrets[name] = a.o.Sanitizer.Tag(v)
	}
	return state{
		ID: o.ID, Session: session, Objective: o,
		Status: Running, Phase: phaseAssess, Started: now.UnixNano(), Secrets: secrets,
		Aims: []aim{{Text: o.Text, Situation: o.Situation, Vouched: vouched, Quotes: learn.Case{User: o.User}.Asker()}},
	}, nil
}

// newID draws the next id from the seed. Replicas with one seed draw different ids.
func (a *Agent) newID(now time.Time) string {
	return uuids.Draw(now, uuids.Salted(a.o.Seed, a.o.Replica), a.ids.Add(1))
}

// enter marks a run as live, and returns the run's context and its tenant. Each successful call
// has to be paired with leave.
//
// The order matters: the roster keeps other calls of this process out, then the lease those of other
// replicas; only then does it look whether an Erase, Export or Import holds the tenant, since that
// looks for live runs after it has said so. The tenant comes last: opening it reads the store.
func (a *Agent) enter(ctx context.Context, scope memory.Scope, id string) (context.Context, *tenant, error) {
	run := roster.ID{Tenant: scope.Tenant(), Run: id}
	live, err := a.runs.Enter(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	if a.leases != nil {
		if live, err = a.leases.Enter(live, leaseKey(run)); err != nil {
			a.over(run)
			return nil, nil, owned(ctx, id, err)
		}
		if err = a.leases.Check(live, key.Join(stillKeys, run.Tenant)); err != nil {
			a.over(run)
			return nil, nil, byAnother(err)
		}
	}
	own, err := a.tenant(ctx, scope)
	if err != nil {
		a.over(run)
		return nil, nil, err
	}
	return live, own, nil
}

// enterStored is enter for a run in the store, which it loads.
func (a *Agent) enterStored(
	ctx context.Context, scope memory.Scope, id string,
) (live context.Context, own *tenant, s state, rev store.Revision, err error) {
	if err = errors.Join(store.CheckContext(ctx), key.CheckID("id", id)); err != nil {
		return nil, nil, s, 0, err
	}
	if live, own, err = a.enter(ctx, scope, id); err != nil {
		return nil, nil, s, 0, err
	}
	if s, rev, err = a.load(live, own.name, id); err != nil {
		a.leave(own, id)
	}
	return live, own, s, rev, err
}

// leave marks a run as no longer live.
func (a *Agent) leave(own *tenant, id string) {
	a.handBack(own)
	a.over(roster.ID{Tenant: own.name, Run: id})
}

// over is leave without the tenant.
func (a *Agent) over(run roster.ID) {
	if a.leases != nil {
		a.leases.Leave(leaseKey(run))
	}
	a.runs.Leave(run)
}

// maxConditions is how many conditions, and skills, an objective has at most; maxScopes how
// many scopes to recall from, and with episodes.
const (
	maxConditions = 32
	maxScopes     = 256
)

// atMost returns a *store.LimitError if a field exceeds its limit.
func atMost(field string, limit, got int) error {
	if got > limit {
		return &store.LimitError{Field: field, Limit: limit, Got: got}
	}
	return nil
}

// check returns all problems with an objective as the host gave it.
func (o *Objective) check() error {
	// Alone, since what is said of other fields may quote a secret.
	err := o.Secrets.Check(o.ID, o.Session, o.Actor, o.User, string(o.Scope))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrObjective, err)
	}
	if len(o.Text) <= maxText && fence.Blank(o.Text) {
		err = errors.New("no text")
	}
	err = errors.Join(err, atMost("text", maxText, len(o.Text)), atMost("situation", maxText, len(o.Situation)),
		atMost("inputs", maxText, len(o.Inputs)))
	if len(o.Inputs) > 0 && len(o.Inputs) <= maxText && !json.Valid(o.Inputs) {
		err = errors.Join(err, errors.New("inputs are not JSON"))
	} else {
		err = errors.Join(err, depth.Check("inputs", o.Inputs))
	}
	for _, f := range [...]struct{ name, id string }{{"id", o.ID}, {"session", o.Session}, {"user", o.User}} {
		bad := key.CheckID(f.name, f.id)
		if bad == nil && f.id != "" && fence.Blank(f.id) {
			bad = fmt.Errorf("%s: nothing of %+q shows", f.name, f.id)
		}
		err = errors.Join(err, bad)
	}
	if o.Actor != "" && (memory.Scope(o.Actor).Check() != nil || strings.Contains(o.Actor, "/")) {
		err = errors.Join(err, fmt.Errorf("actor: %w: %.64q is no segment", memory.ErrScope, o.Actor))
	}
	if bad := ledger.Amount(o.Budget).Check(); bad != nil {
		err = errors.Join(err, fmt.Errorf("budget: %w", bad))
	}
	err = errors.Join(err, atMost("also", maxScopes, len(o.Also)), atMost("episodes", maxScopes, len(o.Episodes)),
		atMost("skills", maxConditions, len(o.Skills)))
	for _, name := range o.Skills {
		err = errors.Join(err, key.CheckID("skill", name))
	}
	err = errors.Join(err, atMost("conditions", maxConditions, len(o.Conditions)))
	for k, v := range o.Conditions {
		err = errors.Join(err, atMost("condition", key.MaxID, max(len(k), len(v))))
	}
	if o.Attempts < 0 {
		err = errors.Join(err, fmt.Errorf("attempts: %d is negative", o.Attempts))
	}
	if d := (reason.Decision{Tasks: o.Tasks}); len(o.Tasks) > 0 {
		err = errors.Join(err, d.Check())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrObjective, err)
	}
	return nil
}

// clone returns a copy whose lists and inputs the host cannot change.
func (o Objective) clone() Objective {
	o.Inputs, o.Also, o.Episodes = slices.Clone(o.Inputs), slices.Clone(o.Also), slices.Clone(o.Episodes)
	o.Skills = slices.Clone(o.Skills)
	o.Conditions, o.Secrets, o.Tasks = maps.Clone(o.Conditions), maps.Clone(o.Secrets), detach.Tasks(o.Tasks)
	return o
}

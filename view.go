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
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// View is the Agent as one scope sees it. It holds nothing but the scope: get
// one with [Agent.In] whenever it is needed. It is safe for concurrent use. A
// bad scope is memory.ErrScope at the first use. The zero View is of no Agent, and its
// methods panic.
type View struct {
	a     *Agent
	scope memory.Scope
}

// In returns the view of a scope. "" is Options.Scope.
func (a *Agent) In(scope memory.Scope) View {
	scope = cmp.Or(scope, a.o.Scope)
	return View{a, scope}
}

// within calls fn with the tenant of the view's scope.
func within[T any](ctx context.Context, v View, fn func(*tenant) (T, error)) (out T, err error) {
	own, err := v.a.tenant(ctx, v.scope)
	if err != nil {
		return out, err
	}
	defer v.a.handBack(own)
	return fn(own)
}

// Resume goes on with a run that was interrupted, from its last commit. A run
// that is finished, or waits for an answer, returns its report at once. The
// error is store.ErrNotFound for an id that the scope's tenant has not, and
// otherwise as Agent.Run's.
func (v View) Resume(ctx context.Context, id string) (*Report, error) {
	return v.a.reopen(ctx, v.scope, id, false, nil)
}

// Answer answers the questions of a run that is Asking, and goes on with it. The text has
// at most 64 KiB. What of it is a secret is not kept, as Objective.Secrets says. The error
// is ErrNotAsking if the run has asked nothing, and otherwise as Resume's.
func (v View) Answer(ctx context.Context, id, text string) (*Report, error) {
	if err := atMost("answer", maxText, len(text)); err != nil {
		return nil, err
	}
	return v.a.reopen(ctx, v.scope, id, false, func(s state) (state, error) {
		if s.Status != Asking {
			return s, fmt.Errorf("%w: %q is %s", ErrNotAsking, id, s.Status)
		}
		return s.answered(v.a.hide(&s, text)), nil
	})
}

// Retry goes on with a run that is BLOCKED. The note says what has changed since:
// the reasoner gets it as an answer, beside what failed. At most 64 KiB; "": none.
// The budget begins anew. A run whose Objective has Tasks goes on with the one that
// was blocked. The error is ErrNotBlocked, and otherwise as Resume's.
func (v View) Retry(ctx context.Context, id, note string) (*Report, error) {
	return v.a.retry(ctx, v.scope, id, note, nil, "")
}

// Judge tells what was found out about a delivery after its gates had passed it.
// The chunk, the memories that were used, the workers and the session are credited
// or charged. The same verdict of one source counts once, and a changed one takes
// its place: with the memories as if the first had never been; the session has both.
// An attempt of a worker has come to what the last verdict about it says, and costs what
// it did. The plan of a Provisional delivery becomes a chunk once it was found right as a
// whole, and not wrong by anyone. The error is ErrNotDelivered, ErrRunning while the run
// is live, store.ErrNotFound, or the store's: then Judge can be called again.
func (v View) Judge(ctx context.Context, id string, verdict Verdict) error {
	a := v.a
	if err := errors.Join(key.CheckID("source", verdict.Source), atMost("why", maxText, len(verdict.Why))); err != nil {
		return err
	}
	verdict.Source = a.o.Sanitizer.Sanitize(verdict.Source)
	ctx, own, s, rev, err := a.enterStored(ctx, v.scope, id)
	if err != nil {
		return err
	}
	defer a.leave(own, id)
	if n := len(s.Deliveries); verdict.Task < 0 || verdict.Task > n {
		return fmt.Errorf("%w: task %d of run %q, which has delivered %d", ErrNotDelivered, verdict.Task, id, n)
	}
	if verdict.Task == 0 && s.Status != Delivered {
		return fmt.Errorf("%w: run %q is %s", ErrNotDelivered, id, s.Status)
	}
	i := slices.IndexFunc(s.Verdicts, func(w Verdict) bool { return w.Source == verdict.Source && w.Task == verdict.Task })
	if i >= 0 && s.Verdicts[i].Right == verdict.Right {
		return nil
	}
	if i < 0 && len(s.Verdicts) >= maxFailed {
		return &store.LimitError{Field: "verdicts about a run", Limit: maxFailed, Got: len(s.Verdicts) + 1}
	}
	s.Judged++
	verdict.Why = a.remark(ctx, &s, verdict.Why)
	chunk, err := a.chunk(ctx, &s)
	if err != nil {
		return fmt.Errorf("judge run %q: %w", id, err)
	}
	j := s.judgement(verdict, i >= 0, chunk, a.o.Now().UTC())
	// What was learned is written before the run says so: after a crash between the two, the
	// same verdict counts once.
	if err := own.learner.Judge(ctx, j); err != nil {
		return fmt.Errorf("judge run %q: %w", id, err)
	}
	if i < 0 {
		s.Verdicts = appendTo(s.Verdicts, verdict)
	} else {
		s.Verdicts[i] = verdict
	}
	if s.Objective.Provisional && chunk == "" && len(s.Objective.Tasks) == 0 && s.vouched() {
		r, err := a.pattern(ctx, own, s)
		if err != nil {
			return fmt.Errorf("judge run %q: %w", id, err)
		}
		if r.ID != "" {
			s.Learned = appendTo(s.Learned, r.ID)
		}
	}
	_, err = a.commit(context.WithoutCancel(ctx), a.w, runKey(own.name, id), &s, nil, s.Status, rev)
	return err
}

// chunk returns the chunk that the run has learned last, "" if what it has learned last
// is a failure, or forgotten.
func (a *Agent) chunk(ctx context.Context, s *state) (memory.ID, error) {
	if len(s.Learned) == 0 {
		return "", nil
	}
	r, err := a.bank.In(s.Objective.Scope).Get(ctx, s.Learned[len(s.Learned)-1])
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Kind != memory.Pattern {
		return "", nil
	}
	return r.ID, err
}

// Runs yields the tenant's runs that pass the filter, the latest first, each as it
// was last committed and without its Deliveries, which Resume reads. Runs that
// begin meanwhile may be left out.
func (v View) Runs(ctx context.Context, f Filter) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		for s, err := range v.a.matching(ctx, v.scope, f) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(newReport(&s), nil) {
				return
			}
		}
	}
}

// Report returns how a run stands, as it was last committed, with its Deliveries and
// Aims. It goes on with nothing. The error is store.ErrNotFound for an id that the
// scope's tenant has not.
func (v View) Report(ctx context.Context, id string) (*Report, error) {
	if err := errors.Join(store.CheckContext(ctx), v.scope.Check(), key.CheckID("id", id)); err != nil {
		return nil, err
	}
	s, _, err := v.a.load(ctx, v.scope.Tenant(), id)
	if err != nil {
		return nil, err
	}
	r := newReport(&s)
	r.Aims = s.aims()
	r.Deliveries, err = v.a.lineage(ctx, &s)
	return r, err
}

// Ruling is what a human says to an [Approval].
type Ruling struct {
	Run     string
	Attempt int
	Allow   bool
	// By is who says so, at most 128 bytes. Of those who have to agree each counts once, however
	// the name is spaced and whatever of it does not show.
	By string
	// Note is for whom it concerns: a refusal's is the complaint about the attempt. At
	// most 64 KiB.
	Note string
}

// ErrLate says that no approval is pending for a [Ruling]: its time is over, it was
// decided, or the run has gone another way.
var ErrLate = errors.New("no such approval is pending")

// Approvals yields the attempts of the tenant's runs that wait for a human, those of
// the latest run first.
func (v View) Approvals(ctx context.Context) iter.Seq2[Approval, error] {
	return func(yield func(Approval, error) bool) {
		for s, err := range v.a.matching(ctx, v.scope, Filter{Status: Waiting}) {
			if err != nil {
				yield(Approval{}, err)
				return
			}
			if p := s.approval(); p != nil && !yield(*p, nil) {
				return
			}
		}
	}
}

// Rule takes in what a human says to an Approval. Once enough have agreed, or one has
// refused, the run goes on by itself while the Agent is open, or by ResumeDue; Rule does
// not wait for it. Agreeing twice counts once. The error is ErrLate, ErrRunning while
// the run is just being gone on with, store.ErrNotFound, or the store's.
func (v View) Rule(ctx context.Context, r Ruling) error {
	a := v.a
	err := errors.Join(key.CheckID("by", r.By), atMost("note", maxText, len(r.Note)))
	if err == nil && fence.Blank(r.By) {
		err = errors.New("ruling: by is empty: say by whom it is")
	}
	if err != nil {
		return err
	}
	r.By = a.o.Sanitizer.Sanitize(fence.Line(r.By)) // who looks like another is none
	ctx, own, s, rev, err := a.enterStored(ctx, v.scope, r.Run)
	if err != nil {
		return err
	}
	defer a.upkeep.Poke() // a look before the run was left came to nothing
	defer a.leave(own, r.Run)
	now := a.o.Now()
	if p := s.pending(); p == nil || p.Decided(now) || r.Attempt != s.Attempts+1 {
		return fmt.Errorf("%w: attempt %d of run %q, which is %s", ErrLate, r.Attempt, r.Run, s.Status)
	}
	r.Note = a.remark(ctx, &s, r.Note)
	t := a.between(own, s)
	defer a.veils.Put(t.veil)
	p := *t.s.Current.Approval
	t.s.Current.Approval = &p
	p.Say(r.By, r.Allow, r.Note)
	if p.Decided(now) {
		t.s.Wait.Due = now.UnixNano()
	}
	_, err = t.commit(context.WithoutCancel(ctx), rev)
	return err
}

// Delete removes a run with its outputs, and its session if no other run is of it.
// What the run has taught stays: memories, and how its workers did. The error is
// ErrRunning for a run that is live, and store.ErrNotFound for an id that the
// scope's tenant has not.
func (v View) Delete(ctx context.Context, id string) error {
	return v.a.discard(ctx, v.scope, id, func(*state) bool { return true })
}

// Memory returns the memory of the scope: recalling, remembering, trusting,
// forgetting.
func (v View) Memory() memory.Space { return v.a.bank.In(v.scope) }

// Identity returns what is known about the person or project of the scope, kept
// beside its memories, with the Agent's clock, seed and sanitizer. Runs of the scope
// are told what is worth telling: see reason.Brief.Facts. It holds nothing either. A
// bad scope is memory.ErrScope.
func (v View) Identity() (*identity.Identity, error) {
	return v.a.identity(v.scope)
}

// Assess is the metacognitive assessment of a session: is what it does
// working, and if not, what to do about it.
func (v View) Assess(ctx context.Context, session string) (meta.Assessment, error) {
	return within(ctx, v, func(own *tenant) (meta.Assessment, error) { return own.monitor.Assess(ctx, session) })
}

// Rank returns the workers that can take the task in a situation, best first,
// with the parts of their scores and what a success of theirs has cost;
// rank.Explain puts them into words. A task without Inputs asks about any.
func (v View) Rank(ctx context.Context, situation string, task reason.Task) ([]rank.Scored, error) {
	return within(ctx, v, func(own *tenant) ([]rank.Scored, error) {
		cs := v.a.runner.Candidates(&task, len(task.Inputs) == 0)
		ranking, err := (&turn{a: v.a, own: own}).ranked(ctx, v.a.o.Sanitizer.Sanitize(situation), task.Skill, cs)
		if err == nil {
			err = own.book.Price(ctx, task.Skill, ranking)
		}
		return ranking, err
	})
}

// Costs returns what the attempts of the tenant's workers came to, those that failed too,
// for each skill and day (UTC), from the day of since on. A worker that is away is not
// blamed, and costs what it reports. What reasoners and gates cost is in [Report].Usage.
func (v View) Costs(ctx context.Context, since time.Time) ([]rank.Tally, error) {
	return within(ctx, v, func(own *tenant) ([]rank.Tally, error) { return own.book.Daily(ctx, since) })
}

// Confidence returns how sure the tenant's workers said to be of their last attempts, for
// each skill, and what came of these.
func (v View) Confidence(ctx context.Context) ([]rank.Claims, error) {
	return within(ctx, v, func(own *tenant) ([]rank.Claims, error) { return own.book.Claims(ctx) })
}

// Chunk returns a receipt for the pattern of each run of a session that was
// delivered by deliberation, the latest first. The loop extracts it when the run is
// delivered, and Judge that of a Provisional one: Chunk tells which it was, and tries
// again where memory had rejected it and no source has found the delivery wrong.
func (v View) Chunk(ctx context.Context, session string) ([]memory.Receipt, error) {
	if err := store.CheckContext(ctx); err != nil || session == "" {
		return nil, err
	}
	own, err := v.a.tenant(ctx, v.scope)
	if err != nil {
		return nil, err
	}
	defer v.a.handBack(own)
	var out []memory.Receipt
	for s, err := range v.a.matching(ctx, v.scope, Filter{Session: session, Status: Delivered}) {
		if err != nil {
			return out, err
		}
		if n := len(s.Learned); n > 0 && s.aim().Fired == "" {
			id := s.Learned[n-1]
			out = append(out, memory.Receipt{ID: id, Disposition: memory.Merged, Into: id})
			continue
		}
		if !s.vouched() {
			continue
		}
		r, err := v.a.pattern(ctx, own, s)
		if err != nil {
			return out, fmt.Errorf("chunk of run %q: %w", s.ID, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// vouched reports whether deliberation has delivered the run, no source has found it wrong and,
// where it is Provisional, one has found it right as a whole.
func (s *state) vouched() bool {
	right := func(v Verdict) bool { return v.Right && v.Task == 0 }
	wrong := func(v Verdict) bool { return !v.Right }
	return s.Status == Delivered && s.aim().Fired == "" && !slices.ContainsFunc(s.Verdicts, wrong) &&
		(!s.Objective.Provisional || slices.ContainsFunc(s.Verdicts, right))
}

// pattern remembers the plan of a run that deliberation has delivered.
func (a *Agent) pattern(ctx context.Context, own *tenant, s state) (r memory.Receipt, err error) {
	t := turn{a: a, own: own, s: s}
	if err = t.retell(ctx); err == nil {
		r, err = own.learner.Chunk(ctx, t.outcome(aimDone))
	}
	return r, err
}

// Uplift says how much one memory of the scope adds to the chance that an
// objective is delivered for which it is recalled; see [learn.Learner.UpliftOf].
// Agent.Health has that of the whole scope.
func (v View) Uplift(ctx context.Context, id memory.ID) (meta.Uplift, error) {
	return within(ctx, v, func(own *tenant) (meta.Uplift, error) { return own.learner.UpliftOf(ctx, v.scope, id) })
}

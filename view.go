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

// View is the Agent as one scope sees it. It is a small value without resources: get
// one with [Agent.In] whenever it is needed. It is safe for concurrent use. If the
// scope is malformed, methods return memory.ErrScope. Methods of the zero View panic.
type View struct {
	a     *Agent
	scope memory.Scope
}

// In returns the view of a scope; "" is Options.Scope.
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

// Resume continues an interrupted run from its last commit. For a run that is finished
// or Asking it returns the report at once. The error is store.ErrNotFound if the scope's
// tenant has no run of this id, and else as that of Agent.Run.
func (v View) Resume(ctx context.Context, id string) (*Report, error) {
	return v.a.reopen(ctx, v.scope, id, false, nil)
}

// Answer answers the questions of a run that is Asking, and continues the run. The text has
// at most 64 KiB. Secrets in it are not stored: see Objective.Secrets. The error is
// ErrNotAsking if the run is not Asking, a *store.LimitError where the run's record of 768 KiB
// has no room for the text, as behind a dozen of such length, and else as that of Resume.
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

// Retry continues a run that is BLOCKED, with its whole Budget again. The note says what
// has changed since, in at most 64 KiB; the reasoner reads it beside what failed; "" is
// none. A run whose Objective has Tasks continues with the task that was blocked. The
// error is ErrNotBlocked, a *store.LimitError where the run's record has no room for the note,
// as that of Answer, and else as that of Resume.
func (v View) Retry(ctx context.Context, id, note string) (*Report, error) {
	return v.a.retry(ctx, v.scope, id, note, nil, nil)
}

// Judge records what was found out about a delivery after its gates had passed it. It
// credits or charges the chunk, the memories that were used, the workers, and the session.
//
// In the chunk and the memories a delivery counts as helped, once, while no source finds it
// wrong (a Provisional one if besides a source has found it right), and as misled for each
// source that does. A later verdict of the same source replaces its first, while the
// session's history holds both. The last verdict about a worker's attempt decides whether that was a success; the
// attempt's cost stays. The plan of a Provisional delivery, unless it was the host's, becomes a
// chunk once one source has found the whole delivery right, and none has found it wrong.
//
// The error is ErrNotDelivered, ErrRunning while the run is live, store.ErrNotFound, or
// that of the store: then Judge can be called again.
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
	// The same verdict again changes nothing, so that a host may repeat one whose answer was lost.
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
	before := s.Verdicts
	if s.Verdicts = slices.Clone(before); i < 0 {
		s.Verdicts = appendTo(s.Verdicts, verdict)
	} else {
		s.Verdicts[i] = verdict
	}
	j := s.judgement(verdict, before, chunk, a.o.Now().UTC())
	if j.Credit && j.Fired != "" {
		t := turn{a: a, own: own, s: s}
		if err := t.remind(ctx); err != nil {
			return fmt.Errorf("judge run %q: %w", id, err)
		}
		j.Injected = t.shown.Hits
	}
	// What was learned is written before the run says so: after a crash between the two, the
	// same verdict counts once.
	if err := own.learner.Judge(ctx, j); err != nil {
		return fmt.Errorf("judge run %q: %w", id, err)
	}
	if s.Objective.Provisional && chunk.ID == "" && len(s.Objective.Tasks) == 0 && s.vouched() {
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

// chunk returns the chunk that was learned from the run last, without an ID if the last that was
// learned is a failure, or is forgotten.
func (a *Agent) chunk(ctx context.Context, s *state) (memory.Record, error) {
	if len(s.Learned) == 0 {
		return memory.Record{}, nil
	}
	r, err := a.bank.In(s.Objective.Scope).Get(ctx, s.Learned[len(s.Learned)-1])
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Kind != memory.Pattern {
		return memory.Record{}, nil
	}
	return r, err
}

// Runs yields the runs of the scope's tenant that pass the filter, the latest first, as of
// their last commit. The Reports are without Deliveries; View.Report has these. Runs that
// begin meanwhile may be left out. In place of a run that cannot be read it yields the error, and
// goes on.
func (v View) Runs(ctx context.Context, f Filter) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		for s, err := range v.a.matching(ctx, v.scope, f) {
			var r *Report
			if err == nil {
				r = newReport(&s)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Report returns the report of a run as of its last commit, with its Deliveries and Aims. It
// does not continue the run. The error is store.ErrNotFound if the scope's tenant has no run
// of this id.
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

// Ruling is a person's decision about an [Approval].
type Ruling struct {
	Run     string
	Attempt int
	Allow   bool
	// By is who says so, at most 256 bytes. Of those who have to agree each counts once, however
	// the name is spaced and whatever of it does not show.
	By string
	// Note is for whom it concerns: a refusal's is the complaint about the attempt. At
	// most 64 KiB, of which the first and the last 2 KiB are kept.
	Note string
}

// ErrLate is the error of a [Ruling] about an approval that is not pending: its time is
// over, it was decided, or the run has continued without it.
var ErrLate = errors.New("no such approval is pending")

// Approvals yields the pending approvals of the scope's tenant, those of the latest run first.
func (v View) Approvals(ctx context.Context) iter.Seq2[Approval, error] {
	return func(yield func(Approval, error) bool) {
		for s, err := range v.a.matching(ctx, v.scope, Filter{Status: Waiting}) {
			p := new(Approval)
			if err == nil {
				p = s.approval()
			}
			if p != nil && !yield(*p, err) {
				return
			}
		}
	}
}

// Rule records a person's decision about an Approval. Once enough people have agreed, or
// one has refused, an open Agent resumes the run by itself, a closed one by ResumeDue; Rule
// does not wait for that. A person who agrees twice counts once. The error is ErrLate,
// ErrRunning while the run is being resumed, store.ErrNotFound, or that of the store.
func (v View) Rule(ctx context.Context, r Ruling) error {
	a := v.a
	err := errors.Join(key.CheckID("by", r.By), atMost("note", maxText, len(r.Note)))
	if err == nil && fence.Blank(r.By) {
		err = fmt.Errorf("ruling: by is %w: say by whom it is", memory.ErrEmpty)
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

// Delete deletes a run with its outputs, and its session if no other run belongs to it.
// What was learned from the run stays: memories, and the statistics of workers. The error
// is ErrRunning for a live run, and store.ErrNotFound if the scope's tenant has no run of
// this id.
func (v View) Delete(ctx context.Context, id string) error {
	return v.a.discard(ctx, v.scope, id, func(*state) bool { return true })
}

// Memory returns the memory of the scope, to recall, remember, trust and forget.
func (v View) Memory() memory.Space { return v.a.bank.In(v.scope) }

// Identity returns what is known about the person or project of the scope. It is stored
// beside the scope's memories, and uses the Agent's clock, seed and sanitizer. Runs of the
// scope read its most useful facts in reason.Brief.Facts. It is a small value, as a View is.
// The error is memory.ErrScope for a malformed scope.
func (v View) Identity() (*identity.Identity, error) {
	return v.a.identity(v.scope)
}

// Assess returns the metacognitive assessment of a session: whether what it does works, and
// what to do if it does not.
func (v View) Assess(ctx context.Context, session string) (meta.Assessment, error) {
	return within(ctx, v, func(own *tenant) (meta.Assessment, error) { return own.monitor.Assess(ctx, session) })
}

// Rank returns the workers that can take the task in a situation, best first, with the
// parts of their scores and what a success has cost; rank.Explain puts these into words. A
// task without Inputs stands for one with any Inputs.
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

// Costs returns the attempts, successes and costs of the tenant's workers, for each skill
// and day (UTC), beginning with the day of since. Failed attempts count. An attempt that
// found its worker away costs what it reports, and is no failure. What reasoners and gates
// cost is in [Report].Usage.
func (v View) Costs(ctx context.Context, since time.Time) ([]rank.Tally, error) {
	return within(ctx, v, func(own *tenant) ([]rank.Tally, error) { return own.book.Daily(ctx, since) })
}

// Confidence returns, for each skill, the confidence that the tenant's workers have reported
// for their last attempts, and how many of these succeeded.
func (v View) Confidence(ctx context.Context) ([]rank.Claims, error) {
	return within(ctx, v, func(own *tenant) ([]rank.Claims, error) { return own.book.Claims(ctx) })
}

// Chunk returns a receipt for the pattern of each run of a session that was delivered by
// deliberation, the latest first. The loop stores the pattern when the run is delivered,
// Judge that of a Provisional run. Chunk returns which one it was, and stores it if memory
// had rejected it and no source has found the delivery wrong.
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
			is, err := v.a.bank.In(s.Objective.Scope).Get(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return out, fmt.Errorf("chunk of run %q: %w", s.ID, err)
			}
			if err != nil || is.Kind != memory.Failure { // of an earlier attempt
				out = append(out, memory.Receipt{ID: id, Disposition: memory.Merged, Into: id})
				continue
			}
		}
		if !s.vouched() || len(s.Objective.Tasks) > 0 {
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

// vouched reports whether the run was delivered by deliberation, no source has found it wrong and,
// if it is Provisional, one has found the whole delivery right.
func (s *state) vouched() bool {
	right := func(v Verdict) bool { return v.Right && v.Task == 0 }
	return s.Status == Delivered && s.aim().Fired == "" && !slices.ContainsFunc(s.Verdicts, Verdict.wrong) &&
		(!s.Objective.Provisional || slices.ContainsFunc(s.Verdicts, right))
}

// pattern stores the plan of a run that was delivered by deliberation.
func (a *Agent) pattern(ctx context.Context, own *tenant, s state) (r memory.Receipt, err error) {
	t := turn{a: a, own: own, s: s}
	if err = t.remind(ctx); err == nil {
		r, err = own.learner.Chunk(ctx, t.outcome(aimDone))
	}
	return r, err
}

// Uplift estimates how much one memory of the scope adds to the probability that an
// objective for which it is recalled is delivered; see [learn.Learner.UpliftOf].
// Agent.Health has the uplift of the whole scope.
func (v View) Uplift(ctx context.Context, id memory.ID) (meta.Uplift, error) {
	return within(ctx, v, func(own *tenant) (meta.Uplift, error) { return own.learner.UpliftOf(ctx, v.scope, id) })
}

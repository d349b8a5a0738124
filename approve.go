package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Ruling is what a human says to an [Approval].
type Ruling struct {
	Run     string
	Attempt int
	Allow   bool
	// By is who says so, at most 128 bytes. Of those who have to agree each counts once.
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
func (v View) Rule(ctx context.Context, r Ruling) error { return v.a.rule(ctx, v.scope, r) }

func (a *Agent) rule(ctx context.Context, scope memory.Scope, r Ruling) error {
	err := errors.Join(alive(ctx), key.CheckID("run", r.Run), key.CheckID("by", r.By))
	if err == nil && fence.Blank(r.By) {
		err = errors.New("a ruling says by whom it is")
	}
	if err == nil && len(r.Note) > maxText {
		err = &store.LimitError{Field: "note", Limit: maxText, Got: len(r.Note)}
	}
	if err != nil {
		return err
	}
	r.By = a.o.Sanitizer.Sanitize(r.By)
	ctx, own, err := a.enter(ctx, scope, r.Run)
	if err != nil {
		return err
	}
	defer a.upkeep.Poke() // a look before the run was left came to nothing
	defer a.leave(own, r.Run)
	s, rev, err := a.load(ctx, own.name, r.Run)
	if err != nil {
		return err
	}
	now := a.o.Now()
	if p := s.pending(); p == nil || p.decided(now) || r.Attempt != s.Attempts+1 {
		return fmt.Errorf("%w: attempt %d of run %q, which is %s", ErrLate, r.Attempt, r.Run, s.Status)
	}
	r.Note = clip(a.o.Sanitizer.Knowing(slices.Collect(maps.Values(a.givenAgain(ctx, &s)))...).Sanitize(r.Note))
	t := a.between(own, s)
	defer a.veils.Put(t.veil)
	p := *t.s.Current.Approval
	t.s.Current.Approval = &p
	switch {
	case !r.Allow:
		p.RefusedBy, p.Note = r.By, r.Note
	case !slices.Contains(p.AllowedBy, r.By):
		p.AllowedBy, p.Note = appendTo(p.AllowedBy, r.By), r.Note
	}
	if p.decided(now) {
		t.s.Wait.Due = now.UnixNano()
	}
	_, err = t.commit(context.WithoutCancel(ctx), rev)
	return err
}

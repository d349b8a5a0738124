package arc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/arc-learn/arc/internal/advice"
	"github.com/arc-learn/arc/internal/applied"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

// Proposals yields all proposals of the scope's tenant, also decided and expired ones. Those about
// one subject come in the order in which they were made. In place of one that is damaged it yields
// its ID and store.ErrDamaged, and goes on; it ends after any other error.
func (v View) Proposals(ctx context.Context) iter.Seq2[proposal.Proposal, error] {
	return func(yield func(proposal.Proposal, error) bool) {
		own, err := v.a.tenant(ctx, v.scope)
		if err != nil {
			yield(proposal.Proposal{}, err)
			return
		}
		defer v.a.handBack(own)
		own.proposals.All(ctx)(yield)
	}
}

// Approve applies the whole change of an open proposal or nothing of it, in the name of a person.
// It returns the proposal as "applied", or as "failed" with the reason in Note. The error is
// store.ErrNotFound if the scope's tenant has no proposal of this id, and store.ErrConflict for
// a proposal that is decided, lacks evidence, or is advice only.
func (v View) Approve(ctx context.Context, id, by, note string) (proposal.Proposal, error) {
	return v.decide(ctx, id, "approve", by, note)
}

// Reject closes a proposal that is undecided. The same change is not proposed again for seven days,
// unless the evidence has doubled. One that is damaged it deletes with its effect. The errors are those of Approve.
func (v View) Reject(ctx context.Context, id, by, note string) (proposal.Proposal, error) {
	return v.decide(ctx, id, "reject", by, note)
}

// Undo reverts the change of an applied proposal, unless a later proposal about the same was
// applied. It returns the proposal as "undone", or as still "applied" with the reason in Note.
// The errors are those of Approve.
func (v View) Undo(ctx context.Context, id, by, note string) (proposal.Proposal, error) {
	return v.decide(ctx, id, "undo", by, note)
}

// decide records a verdict about a proposal and lets it take effect: one at a time for a tenant, so that
// the standings which apply reads are those that heed has set last.
func (v View) decide(ctx context.Context, id, verdict, by, note string) (proposal.Proposal, error) {
	return within(ctx, v, func(own *tenant) (p proposal.Proposal, err error) {
		err = own.decides(ctx, func() error {
			var ruled error
			p, ruled = own.proposals.Decide(ctx, id, verdict, by, note)
			return errors.Join(ruled, v.a.heed(context.WithoutCancel(ctx), own)) // carried out though ctx has ended
		})
		return p, err
	})
}

// heed makes the standings of workers, and the goals that are kept, follow the applied proposals.
func (a *Agent) heed(ctx context.Context, own *tenant) error {
	all, err := applied.Of(own.proposals.All(ctx), own.applied.Load())
	if err != nil {
		return err
	}
	own.applied.Store(all)
	a.override(own)
	return nil
}

// goals returns the goals that are kept, by the names of their controllers. Only the tenant of
// Options.Scope has any.
func (a *Agent) goals(own *tenant) map[string]kept {
	if own.name != a.o.Scope.Tenant() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.mu.kept)
}

// override makes the goals that are kept follow the applied proposals. Controllers may share a set.
func (a *Agent) override(own *tenant) {
	all := a.goals(own)
	for _, k := range all {
		var by []goal.Override
		for _, s := range own.applied.Load().Settled() {
			if all[s.Controller].goals == k.goals {
				by = append(by, s.Override)
			}
		}
		if err := k.goals.Override(by...); err != nil {
			a.o.Logger.Error("what was approved does not fit its goal any more", "error", a.o.Sanitizer.Sanitize(err.Error()))
		}
	}
}

// relieved reports whether another worker than the one at the post has the skill and is not paused.
func (a *Agent) relieved(own *tenant, at advice.Post) bool {
	return slices.ContainsFunc(a.runner.Candidates(&reason.Task{Skill: at.Skill}, true), func(c rank.Candidate) bool {
		return c.Name != at.Worker && own.applied.Load().Standing(c.Name, at.Skill) != advice.Paused
	})
}

// apply makes the change of a proposal, and returns the change that undoes it. It is idempotent,
// since it sets absolute values. A change of a worker or a goal takes effect by heed.
//
// The fleet and the goals may have changed since the change was proposed, so that apply checks it
// again: it pauses no worker that is the last one for its skill, and overrides no goal that is gone.
func (a *Agent) apply(ctx context.Context, own *tenant, p proposal.Proposal) (undo json.RawMessage, err error) {
	var w advice.Worker
	var g advice.Goal
	var m advice.Memory
	switch {
	case applied.ToGoal(p.Kind):
		err := advice.Decode(p.Change, &g)
		if err == nil {
			err = a.fits(own, &g)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(advice.Find(own.applied.Load().Settled(), g).Goal)
	case applied.ToWorker(p.Kind):
		if err := advice.Decode(p.Change, &w); err != nil {
			return nil, err
		}
		if !slices.Contains([]string{advice.InTurn, advice.TriedLast, advice.Paused}, w.Standing) {
			return nil, fmt.Errorf("unknown standing %q", w.Standing)
		}
		if w.Standing != advice.InTurn && !a.relieved(own, w.Post) {
			return nil, fmt.Errorf("no other worker can take tasks of skill %q", w.Skill)
		}
		w.Standing = own.applied.Load().Standing(w.Worker, w.Skill)
		return json.Marshal(w)
	case p.Kind == "memory":
		if err := advice.Decode(p.Change, &m); err != nil {
			return nil, err
		}
		if m.Scope.Tenant() != own.name {
			return nil, fmt.Errorf("%w: scope %q", memory.ErrTenant, m.Scope)
		}
		if err := a.bank.In(m.Scope).Archive(ctx, m.Memory, m.Archived); err != nil {
			return nil, err
		}
		m.Archived = !m.Archived
		return json.Marshal(m)
	}
	return nil, fmt.Errorf("an agent makes no changes of kind %q", p.Kind)
}

// fits returns an error if a change does not fit the goals that a controller keeps. If the
// controller is not open the change is accepted, and takes effect when it is.
func (a *Agent) fits(own *tenant, g *advice.Goal) error {
	if own.name != a.o.Scope.Tenant() {
		return fmt.Errorf("%w: goals are kept for %q", memory.ErrTenant, a.o.Scope.Tenant())
	}
	var all []goal.Goal
	if k, ok := a.goals(own)[g.Controller]; ok {
		all = k.goals.All()
		if g.Goal != "" && !slices.ContainsFunc(all, func(is goal.Goal) bool { return is.ID == g.Goal }) {
			return fmt.Errorf("controller %q has no goal %q", g.Controller, g.Goal)
		}
	}
	trial, err := goal.NewGoals(all...)
	if err == nil {
		err = trial.Override(g.Override)
	}
	return err
}

// analyse returns what to propose, from the samples and runs of a tenant, the goals that it keeps,
// and the memories of a scope. It changes nothing, and the same data lead to the same proposals:
// Propose recognises those that are known. Workers that are gone, or that a proposal has
// moved already, are left out.
func (a *Agent) analyse(ctx context.Context, own *tenant, scope memory.Scope) (out []proposal.Proposal, err error) {
	now := a.o.Now()
	var attempts []meta.Outcome
	samples := make(map[advice.Post][]rank.Sample)
	fleet := a.runner.Workers()
	for s, err := range own.book.Samples(ctx, now.Add(-advice.Window)) {
		if codec.Unreadable(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.Unknown || s.At.After(now) || !slices.Contains(fleet, s.Candidate) {
			continue
		}
		attempts = append(attempts, meta.Outcome{Goal: s.Situation.Skill, Success: s.Success, Note: s.Reason, At: s.At})
		at := advice.Post{Worker: s.Candidate, Skill: s.Situation.Skill}
		if own.applied.Load().Standing(at.Worker, at.Skill) == advice.InTurn {
			samples[at] = append(samples[at], s)
		}
	}
	escalated, err := a.escalations(ctx, own.name)
	if err != nil {
		return nil, err
	}
	settled := own.applied.Load().Settled()
	goals := a.goals(own)
	for _, name := range slices.Sorted(maps.Keys(goals)) {
		k := advice.Kept{Controller: name, Goals: goals[name].goals.All(), Settled: settled}
		k.Handed, escalated = advice.Handed(name, escalated)
		k.Handed = slices.DeleteFunc(k.Handed, func(o meta.Outcome) bool {
			return Cause(o.Note) == CauseStuck // such a run has asked no person
		})
		for o, err := range goals[name].by.Outcomes(ctx) {
			if err != nil && !codec.Unreadable(err) {
				return nil, err
			}
			if err == nil {
				k.Outcomes = append(k.Outcomes, o)
			}
		}
		out = append(out, advice.Goals(now, &k)...)
	}
	out = append(out, advice.Skills(now, attempts, escalated)...)
	out = append(out, advice.Workers(now, samples, func(at advice.Post) bool { return a.relieved(own, at) })...)
	space := a.bank.In(scope)
	for r, err := range space.All(ctx) {
		if err != nil {
			return nil, err
		}
		if r.Archived {
			continue
		}
		u, err := own.learner.UpliftOf(ctx, scope, r.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, advice.Memories(scope, &r, u, clip(r.Content))...)
	}
	h, err := space.Health(ctx)
	if err != nil || h.Total == 0 {
		return out, err
	}
	for _, issue := range h.Issues {
		out = append(out, advice.Issue(scope, issue))
	}
	return out, nil
}

// escalations returns the runs of a tenant that were handed to a person, as outcomes of their
// situation.
func (a *Agent) escalations(ctx context.Context, tenant string) (out []meta.Outcome, err error) {
	day := Filter{Since: a.o.Now().Add(-rank.Day)}
	for s, err := range a.matching(ctx, memory.Scope(tenant), day) {
		if err != nil && !codec.Unreadable(err) {
			return nil, err
		}
		if err == nil && s.escalated() {
			out = append(out, meta.Outcome{Key: s.ID, Goal: s.Objective.Situation, Note: string(s.Cause), At: at(s.Started)})
		}
	}
	return out, nil
}

// escalated reports whether a person was asked, or only a person can help: with a permission, an
// approval, a worker, or another plan.
func (s *state) escalated() bool {
	if s.Status == Blocked {
		return slices.Contains([]Cause{CauseStuck, CauseDenied, CausePermission, CauseNoWorker}, s.Cause)
	}
	return s.Status == Asking || slices.ContainsFunc(s.Aims, func(g aim) bool { return len(g.Answers) > 0 })
}

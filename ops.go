package arc

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Think reasons about an objective and returns the decision, once it can be
// acted on. Nothing is executed, learned or kept. With an error, the Decision
// has the Usage and nothing else.
func (a *Agent) Think(ctx context.Context, o Objective) (reason.Decision, error) {
	if err := alive(ctx); err != nil {
		return reason.Decision{}, err
	}
	s, err := a.Begin(o)
	if err != nil {
		return reason.Decision{}, err
	}
	t := &turn{a: a, s: s}
	if !o.Fresh {
		if err := t.recall(ctx); err != nil {
			return reason.Decision{}, err
		}
		if t.s.Assessment, err = a.monitor.Assess(ctx, s.Session); err != nil {
			return reason.Decision{}, fmt.Errorf("assess: %w", err)
		}
	}
	b, err := t.brief(ctx)
	if err != nil {
		return reason.Decision{}, err
	}
	var used reason.Usage
	for refused := 1; ; refused++ {
		d, err := a.deliberate(ctx, b, s.Objective.Budget.Wall)
		used = used.Add(d.Usage)
		d.Usage = used
		if err == nil || ctx.Err() != nil || refused >= a.o.Refusals {
			return d, err
		}
		if answered(err) {
			b.Complaint = a.o.Sanitizer.Sanitize(err.Error())
		}
	}
}

// Recall searches the memory of a scope, best first. Unlike recall for a prompt
// it shows quarantined memories too, unless q.Inject is set.
func (a *Agent) Recall(ctx context.Context, scope memory.Scope, q memory.Query) ([]memory.Hit, error) {
	return a.Memory(scope).Recall(ctx, q)
}

// Assess is the metacognitive assessment of a session: is what it does
// working, and if not, what to do about it.
func (a *Agent) Assess(ctx context.Context, session string) (meta.Assessment, error) {
	return a.monitor.Assess(ctx, session)
}

// Rank returns the workers that can take the task in a situation, best first,
// with the parts of their scores; rank.Explain puts them into words.
func (a *Agent) Rank(ctx context.Context, situation string, task reason.Task) ([]rank.Scored, error) {
	return a.ranked(ctx, &Goal{Situation: situation}, &task)
}

// Chunk returns a receipt for the pattern of each run of a session that was
// delivered by deliberation, in order of their ids. The loop extracts it when
// the run is delivered: Chunk tells which it was, and tries again where memory
// had rejected it.
func (a *Agent) Chunk(ctx context.Context, session string) ([]memory.Receipt, error) {
	var out []memory.Receipt
	for s, err := range a.states(ctx, session) {
		if err != nil {
			return out, err
		}
		g := s.goal()
		if s.Status != Delivered || g.Fired != "" {
			continue
		}
		if n := len(s.Learned); n > 0 {
			id := s.Learned[n-1]
			out = append(out, memory.Receipt{ID: id, Disposition: memory.Merged, Into: id})
			continue
		}
		t := turn{a: a, s: s}
		r, err := a.learner.Chunk(ctx, t.outcome(nextDelivered))
		if err != nil {
			return out, fmt.Errorf("chunk of run %q: %w", s.ID, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Decay puts memories aside that are old and unused. They are archived, not
// deleted.
func (a *Agent) Decay(ctx context.Context, scope memory.Scope) (memory.DecayReport, error) {
	return a.Memory(scope).Decay(ctx)
}

// Consolidate merges memories that say the same.
func (a *Agent) Consolidate(ctx context.Context, scope memory.Scope) (memory.ConsolidateReport, error) {
	return a.Memory(scope).Consolidate(ctx)
}

// UpliftOf says how much one memory of a scope adds to the chance that an
// objective is delivered for which it is recalled; see [learn.Learner.UpliftOf].
// Health has that of the whole scope.
func (a *Agent) UpliftOf(ctx context.Context, scope memory.Scope, id memory.ID) (meta.Uplift, error) {
	setDefault(&scope, a.o.Scope)
	return a.learner.UpliftOf(ctx, scope, id)
}

// Maintain keeps the memory of a scope in order: Decay, then Consolidate. The
// scope "" is Options.Scope. It is idempotent, and may run beside everything
// else; arc has no schedule of its own, see the package comment.
func (a *Agent) Maintain(ctx context.Context, scope memory.Scope) (learn.MaintenanceReport, error) {
	setDefault(&scope, a.o.Scope)
	return a.learner.Maintain(ctx, scope)
}

// Memory returns the memory of a scope, for what the other methods do not
// offer: remembering, forgetting, trusting. "" is Options.Scope.
func (a *Agent) Memory(scope memory.Scope) memory.Space {
	setDefault(&scope, a.o.Scope)
	return a.bank.In(scope)
}

// Identity returns what is known about the person or project of a scope, kept
// beside its memories, with the Agent's clock, seed and sanitizer. "" is
// Options.Scope; a bad scope is memory.ErrScope. It holds nothing: call it
// whenever it is needed.
func (a *Agent) Identity(scope memory.Scope) (*identity.Identity, error) {
	setDefault(&scope, a.o.Scope)
	return identity.New(a.st, scope, &identity.Options{Now: a.o.Now, Seed: a.o.Seed, Sanitizer: a.o.Sanitizer})
}

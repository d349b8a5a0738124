package proposal

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/arc-learn/arc/next/rank"
)

// Policy returns a rank.Policy, for arc.Options, that orders as another one does, and puts workers first or last by the
// proposals that are Approved. One that is paused gets no task that another worker can take. next is asked each time,
// since the figures of an Agent are there once that is open:
//
//	policy := proposals.Policy(func(ctx context.Context) (rank.Policy, error) {
//		figures, err := agent.In("acme").Book(ctx)
//		return figures.Learned(), err
//	})
func (b *Book) Policy(next func(ctx context.Context) (rank.Policy, error)) rank.Policy {
	return &policy{b, next}
}

type policy struct {
	*Book
	next func(ctx context.Context) (rank.Policy, error)
}

// Score implements rank.Policy.
func (p *policy) Score(ctx context.Context, t rank.Task, cs []rank.Candidate) ([]rank.Scored, error) {
	next, err := p.next(ctx)
	if err != nil {
		return nil, err
	}
	scored, err := next.Score(ctx, t, cs)
	if err != nil {
		return nil, err
	}
	standings := p.standings(t.Skill)
	place := map[string]int{first: -1, last: 1, paused: 2}
	slices.SortStableFunc(scored, func(x, y rank.Scored) int {
		return place[standings[x.Name]] - place[standings[y.Name]]
	})
	if i := slices.IndexFunc(scored, func(s rank.Scored) bool { return standings[s.Name] == paused }); i > 0 {
		scored = scored[:i]
	}
	return scored, nil
}

// standings returns those of workers at a skill, by what is approved; the last decision counts.
func (b *Book) standings(skill string) map[string]string {
	of := map[string]string{}
	for p := range b.All(Approved) { // the latest first
		var s standing
		if json.Unmarshal([]byte(p.Change), &s) == nil && s.Skill == skill && of[s.Worker] == "" {
			of[s.Worker] = s.Standing
		}
	}
	return of
}

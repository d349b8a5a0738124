package benchmarks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/rank/replay"
)

// summary describes the rewards of one policy under several seeds.
type summary struct{ Mean, Median, SD float64 } // SD: of the sample, N-1

// summarize describes at least two numbers.
func summarize(vs []float64) (s summary) {
	n := float64(len(vs))
	for _, v := range vs {
		s.Mean += v / n
	}
	sorted := slices.Sorted(slices.Values(vs))
	s.Median = (sorted[(len(vs)-1)/2] + sorted[len(vs)/2]) / 2
	squares := 0.0
	for _, v := range vs {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(squares / (n - 1))
	return s
}

// playSeeds replays the decisions once for each of the seeds 1 to n, with a
// Learner of its own, and returns the rewards.
func playSeeds(ctx context.Context, n int, ds []replay.Decision, o replay.Options, c contestant) (rewards []float64, err error) {
	for seed := range uint64(n) {
		o.Seed = seed + 1
		l, err := c.fresh(o.Seed)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
		}
		r, err := replay.Run(ctx, l, ds, &o)
		if err := errors.Join(err, closeBook(l)); err != nil {
			return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
		}
		rewards = append(rewards, r.Reward)
	}
	return rewards, nil
}

// teach gives the Learner every outcome of the decisions, in the order of the
// log: full information makes it learn from all candidates.
func teach(ctx context.Context, l replay.Learner, ds []replay.Decision) error {
	for i := range ds {
		for j, s := range ds[i].Outcomes {
			s.Key, s.Situation = cmp.Or(s.Key, fmt.Sprintf("train/%d/%d", i, j)), ds[i].Situation
			if err := l.Observe(ctx, s); err != nil {
				return fmt.Errorf("decision %d: %w", i, err)
			}
		}
	}
	return nil
}

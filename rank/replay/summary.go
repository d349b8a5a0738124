package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Summary describes a sample of numbers, such as the rewards of one policy
// under several seeds.
type Summary struct {
	N                int
	Mean, Median, SD float64 // SD: of the sample, N-1
	// Low and High are the 95 % interval of the mean by Student's t, NaN for
	// fewer than two numbers.
	Low, High float64
}

// Summarize describes vs. All figures of an empty sample are NaN.
func Summarize(vs []float64) Summary {
	n := float64(len(vs))
	s := Summary{N: len(vs), Mean: math.NaN(), Median: math.NaN(), SD: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if len(vs) == 0 {
		return s
	}
	s.Mean = 0
	for _, v := range vs {
		s.Mean += v / n
	}
	sorted := slices.Sorted(slices.Values(vs))
	s.Median = (sorted[(len(vs)-1)/2] + sorted[len(vs)/2]) / 2
	if len(vs) < 2 {
		return s
	}
	squares := 0.0
	for _, v := range vs {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(squares / (n - 1))
	half := t975(len(vs)-1) * s.SD / math.Sqrt(n)
	s.Low, s.High = s.Mean-half, s.Mean+half
	return s
}

// t975 is the 97.5 % quantile of Student's t.
func t975(freedom int) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	// Cornish-Fisher expansion, good to three digits from here on.
	const z = 1.959964
	return z + (z*z*z+z)/(4*float64(freedom))
}

// Seeds replays the decisions once for each of the seeds 1 to n, with a
// Learner of its own. Done, if not nil, is called with each Learner when its
// replay is over, to close what it stands on.
func Seeds(ctx context.Context, n int, ds []Decision, opts *Options,
	fresh func(seed uint64) (Learner, error), done func(Learner) error) ([]*Result, error) {
	o := opts.withDefaults()
	var out []*Result
	for seed := range uint64(n) {
		o.Seed = seed + 1
		l, err := fresh(o.Seed)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
		}
		r, err := Run(ctx, l, ds, &o)
		if done != nil {
			if failed := done(l); err == nil {
				err = failed
			}
		}
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Rewards returns the rewards of the results.
func Rewards(rs []*Result) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = r.Reward
	}
	return out
}

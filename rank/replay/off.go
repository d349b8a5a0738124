package replay

import (
	"context"
	"fmt"
	"math"
)

// Estimate is a mean with its standard error and the 95 % interval of the
// normal approximation.
type Estimate struct {
	Value, StdErr, Low, High float64
}

// Report holds estimates of what a policy would have brought per decision.
type Report struct {
	Decisions int
	// Matched counts the decisions in which the policy chooses as the log
	// did, and Effective is the sample size that their weights amount to
	// (Kish, 1965). Estimates from few of them mean little.
	Matched   int
	Effective float64
	// Logged is what the logged choices brought.
	Logged Estimate
	// IPS weights by inverse propensity: unbiased, of large variance
	// (Horvitz and Thompson, 1952).
	IPS Estimate
	// SNIPS divides by the sum of the weights: a small bias, less variance
	// (Swaminathan and Joachims, 2015). NaN if nothing matched.
	SNIPS Estimate
	// DR corrects a model of the rewards by inverse propensity (Dudik,
	// Langford and Li, 2011). The model is each candidate's mean by situation
	// key, shrunk to its mean over all, of the decisions before.
	DR Estimate
}

// Off estimates from a log of single outcomes, whose propensities are known,
// what the Learner's first choices would have brought. The Learner sees the
// logged samples one after the other, each after its decision, in the order
// of the log unless Options say otherwise (InOrder is implied by a Seed of
// zero).
//
// It returns ErrDecision for a decision without propensity or with other than
// one outcome, and the errors of the Learner.
func Off(ctx context.Context, l Learner, ds []Decision, opts *Options) (*Report, error) {
	o := opts.withDefaults()
	o.InOrder = o.InOrder || o.Seed == 0
	var logged, ips, dr []float64
	var weights []float64
	m := means{}
	r := &Report{Decisions: len(ds)}
	for turn, i := range o.order(len(ds)) {
		d := &ds[i]
		if !(d.Propensity > 0 && d.Propensity <= 1) || len(d.Outcomes) != 1 {
			return nil, fmt.Errorf("decision %d: %w: propensity %v, %d outcomes", i, ErrDecision, d.Propensity, len(d.Outcomes))
		}
		ss, err := choose(ctx, l, d)
		if err != nil {
			return nil, fmt.Errorf("decision %d: %w", i, err)
		}
		s := &d.Outcomes[0]
		chosen, worth := ss[0].Candidate.Name, o.Worth(*s)
		weight := 0.0
		if chosen == s.Candidate {
			weight = 1 / d.Propensity
			r.Matched++
		}
		logged = append(logged, worth)
		weights = append(weights, weight)
		ips = append(ips, weight*worth)
		model := m.of(chosen, d.Situation.Key)
		dr = append(dr, model+weight*(worth-m.of(s.Candidate, d.Situation.Key)))
		m.add(s.Candidate, d.Situation.Key, worth)
		if err := observe(ctx, l, d, s, fmt.Sprintf("%s/%d", o.Prefix, turn)); err != nil {
			return nil, fmt.Errorf("decision %d: %w", i, err)
		}
	}
	r.Logged, r.IPS, r.DR = estimate(logged), estimate(ips), estimate(dr)
	r.SNIPS, r.Effective = normalized(weights, logged)
	return r, nil
}

// estimate returns the mean of vs with its error, NaN where there are too few of them.
func estimate(vs []float64) Estimate {
	n, mean, squares := float64(len(vs)), 0.0, 0.0
	for _, v := range vs {
		mean += v / n
	}
	for _, v := range vs {
		squares += (v - mean) * (v - mean)
	}
	return interval(mean, math.Sqrt(squares/(n-1)/n))
}

func interval(value, stdErr float64) Estimate {
	const z = 1.959964 // of 97.5 %
	return Estimate{Value: value, StdErr: stdErr, Low: value - z*stdErr, High: value + z*stdErr}
}

// normalized returns the weighted mean with its error by the delta method,
// and the effective sample size.
func normalized(weights, worths []float64) (Estimate, float64) {
	sum, sum2, total := 0.0, 0.0, 0.0
	for i, w := range weights {
		sum += w
		sum2 += w * w
		total += w * worths[i]
	}
	mean := total / sum
	squares := 0.0
	for i, w := range weights {
		e := w * (worths[i] - mean)
		squares += e * e
	}
	if sum == 0 {
		return interval(math.NaN(), math.NaN()), 0
	}
	return interval(mean, math.Sqrt(squares)/sum), sum * sum / sum2
}

// means is the model of rewards of the doubly robust estimate.
type means map[[2]string]*tally

type tally struct{ n, sum float64 }

// all stands for every situation; a key has no control characters.
const all = "\x00"

func (m means) add(candidate, key string, worth float64) {
	for _, k := range [][2]string{{all, all}, {candidate, all}, {candidate, key}} {
		if m[k] == nil {
			m[k] = new(tally)
		}
		m[k].n++
		m[k].sum += worth
	}
}

// of shrinks the mean of the pair to that of the candidate, and that to the
// mean of all, as if these were worth a few samples.
func (m means) of(candidate, key string) float64 {
	const weight = 5
	mean := 0.0
	for i, k := range [][2]string{{all, all}, {candidate, all}, {candidate, key}} {
		t := m[k]
		switch {
		case t == nil:
		case i == 0:
			mean = t.sum / t.n
		default:
			mean = (t.sum + weight*mean) / (t.n + weight)
		}
	}
	return mean
}

package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/rank"
)

// ErrDecision: a decision lacks candidates or outcomes.
var ErrDecision = errors.New("bad decision")

// Decision is one logged step.
type Decision struct {
	Situation  rank.Situation
	Candidates []rank.Candidate
	// Outcomes are what came of the candidates, each under its name: of all
	// of them if the log has full information, else of the one that was
	// chosen. Key, Situation and At need not be set.
	Outcomes []rank.Sample
}

// outcome returns what came of the candidate, or nil.
func (d *Decision) outcome(candidate string) *rank.Sample {
	for i := range d.Outcomes {
		if d.Outcomes[i].Candidate == candidate {
			return &d.Outcomes[i]
		}
	}
	return nil
}

// Learner is a policy and what it learns from.
type Learner interface {
	rank.Policy
	// Observe takes in what came of a decision.
	Observe(ctx context.Context, s rank.Sample) error
}

// With returns the Learner of a policy of the book.
func With(p rank.Policy, b *rank.Book) Learner {
	return struct {
		rank.Policy
		*rank.Book
	}{p, b}
}

// Fixed returns the Learner of a policy that learns nothing.
func Fixed(p rank.Policy) Learner { return fixed{p} }

type fixed struct{ rank.Policy }

func (fixed) Observe(context.Context, rank.Sample) error { return nil }

// Options of a replay. Nil and the zero value are the defaults.
type Options struct {
	// Seed chooses the order of the decisions.
	Seed uint64
	// InOrder keeps the decisions in the order of the log.
	InOrder bool
	// Prefix begins the keys of samples that have none; empty: "replay". A
	// Book that sees several replays needs one for each.
	Prefix string
	// Worth is what an outcome is worth; nil: [Worth]. It is for counting
	// only: what a Learner sees is the sample.
	Worth func(rank.Sample) float64
}

func (o *Options) withDefaults() Options {
	out := *cmp.Or(o, new(Options))
	if out.Worth == nil {
		out.Worth = Worth
	}
	out.Prefix = cmp.Or(out.Prefix, "replay")
	return out
}

// order returns the indices of n decisions in the order of the replay.
func (o *Options) order(n int) []int {
	order := rand.New(rand.NewPCG(o.Seed, 0)).Perm(n)
	if o.InOrder {
		slices.Sort(order)
	}
	return order
}

// Worth is the Reward of a sample, or if it has none 1 for a known success
// and else 0.
func Worth(s rank.Sample) float64 {
	switch {
	case s.Reward != nil:
		return *s.Reward
	case s.Success && !s.Unknown:
		return 1
	}
	return 0
}

// Result is what came of a replay. Rewards are per decision.
type Result struct {
	// Decisions counts those that were replayed: all with full information,
	// else those in which the Learner chose as the log did.
	Decisions int
	Reward    float64
	// Chosen counts how often each candidate was.
	Chosen map[string]int

	// What follows needs full information, and is NaN without.

	// Best is the reward of the best single candidate in hindsight, whose
	// name is BestName.
	Best     float64
	BestName string
	Oracle   float64 // reward of the best candidate of each decision
}

// GapClosed is where the reward stands between that of the best single
// candidate, 0, and that of the oracle, 1. It is NaN if there is no gap.
func (r *Result) GapClosed() float64 {
	if gap := r.Oracle - r.Best; gap > 0 {
		return (r.Reward - r.Best) / gap
	}
	return math.NaN()
}

// step is one replayed decision.
type step struct {
	decision *Decision
	worth    float64
}

// Run replays the decisions: the Learner's first candidate is chosen, and
// what came of it is observed. Samples without a Key get one that is unique
// in the replay. It returns ErrDecision and the errors of the Learner.
func Run(ctx context.Context, l Learner, ds []Decision, opts *Options) (*Result, error) {
	o := opts.withDefaults()
	r := &Result{Chosen: make(map[string]int)}
	var steps []step
	for turn, i := range o.order(len(ds)) {
		d := &ds[i]
		ss, err := choose(ctx, l, d)
		if err != nil {
			return nil, fmt.Errorf("decision %d: %w", i, err)
		}
		name := ss[0].Candidate.Name
		s := d.outcome(name)
		if s == nil {
			continue
		}
		if err := observe(ctx, l, d, s, fmt.Sprintf("%s/%d", o.Prefix, turn)); err != nil {
			return nil, fmt.Errorf("decision %d: %w", i, err)
		}
		r.Chosen[name]++
		steps = append(steps, step{d, o.Worth(*s)})
	}
	r.Decisions = len(steps)
	r.compare(steps, o.Worth)
	return r, nil
}

func choose(ctx context.Context, l Learner, d *Decision) ([]rank.Scored, error) {
	if len(d.Candidates) == 0 || len(d.Outcomes) == 0 {
		return nil, fmt.Errorf("%w: %d candidates, %d outcomes", ErrDecision, len(d.Candidates), len(d.Outcomes))
	}
	ss, err := guard.Returned(l.Score(ctx, d.Situation, d.Candidates))
	if err != nil {
		return nil, err
	}
	if len(ss) == 0 {
		return nil, rank.ErrNoCandidate
	}
	return ss, nil
}

func observe(ctx context.Context, l Learner, d *Decision, s *rank.Sample, key string) error {
	sample := *s
	sample.Situation = d.Situation
	if sample.Key == "" {
		sample.Key = key
	}
	return guard.Error(l.Observe(ctx, sample))
}

// compare fills in what rewards are compared with.
func (r *Result) compare(steps []step, worth func(rank.Sample) float64) {
	r.Best, r.Oracle = math.NaN(), math.NaN()
	if len(steps) == 0 {
		r.Reward = math.NaN()
		return
	}
	n := float64(len(steps))
	for i := range steps {
		r.Reward += steps[i].worth / n
	}
	totals := make(map[string]float64)
	oracle := 0.0
	for i := range steps {
		d := steps[i].decision
		best := math.Inf(-1)
		for j := range d.Candidates {
			s := d.outcome(d.Candidates[j].Name)
			if s == nil {
				return // not full information
			}
			w := worth(*s)
			totals[s.Candidate] += w
			best = max(best, w)
		}
		oracle += best / n
	}
	r.Oracle, r.Best = oracle, math.Inf(-1)
	for name, total := range totals {
		if total /= n; total > r.Best || total == r.Best && name < r.BestName {
			r.Best, r.BestName = total, name
		}
	}
}

package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// Observed returns the policy of the self-improving loop. A candidate with five judged samples or more (of its last
// 200) scores
//
//	2.0·success + 0.5·confidence on success − 0.3·clamp(mean wall time in minutes, 0, 2)
//
// where confidence counts from five samples with one; all others score their Prior. Ties go to the larger Prior,
// then the smaller Blast, then the order given. It does not explore.
func (b *Book) Observed() Policy { return observed{b} }

// The constants of Observed.
const (
	minSamples       = 5
	successWeight    = 2.0
	confidenceWeight = 0.5
	wallWeight       = 0.3
)

type observed struct{ b *Book }

func (o observed) Score(ctx context.Context, t Task, cs []Candidate) ([]Scored, error) {
	if err := checkAll(ctx, t, cs); err != nil {
		return nil, err
	}
	o.b.mu.Lock()
	defer o.b.mu.Unlock()
	sk := o.b.lookup(t.Skill)
	fs := make([]contender, len(cs))
	for i, c := range cs {
		f := &fs[i]
		f.Scored, f.by = Scored{Candidate: c, Score: c.Prior}, c.Prior
		if sk == nil || sk.pairs[c.Name] == nil {
			continue
		}
		if s := sk.pairs[c.Name].figures(); s.Judged >= minSamples {
			f.Score, f.Warm = warm(s), true
			f.by = f.Score
		}
	}
	return order(fs), nil
}

func warm(s *Stats) float64 {
	score := successWeight*s.Success - wallWeight*min(2, max(0, s.Wall.Minutes()))
	if s.Confidences >= minSamples {
		score += confidenceWeight * s.ConfidenceOnSuccess
	}
	return score
}

// figures returns the Stats of the ring, which are kept until it changes. The caller has the lock for writing.
func (p *pair) figures() *Stats {
	if p.stats == nil {
		s := statsOf(p.rec)
		p.stats = &s
	}
	return p.stats
}

// Weighted returns the policy that picks by chance, in proportion to
//
//	success ∕ (1 + cost per success in US dollars)
//
// over a candidate's attempts of the last 24 hours; without any, the weight is 1. The Score is that weight. For the
// pick no weight is below .02, so that a candidate that failed is tried again.
func (b *Book) Weighted() Policy { return weighted{b} }

const leastWeight = .02

type weighted struct{ b *Book }

func (w weighted) Score(ctx context.Context, t Task, cs []Candidate) ([]Scored, error) {
	if err := checkAll(ctx, t, cs); err != nil {
		return nil, err
	}
	now := w.b.opts.Now().UnixMilli()
	w.b.mu.RLock()
	defer w.b.mu.RUnlock()
	attempts := uint64(0)
	fs := make([]contender, len(cs))
	for i, c := range cs {
		f := &fs[i]
		f.Scored = Scored{Candidate: c, Score: 1}
		if sc := w.b.scopes[w.b.scope]; sc != nil {
			for _, p := range sc.candidates[c.Name] {
				attempts += uint64(p.rec.Totals.Attempts)
			}
			if g := sum(sc.candidates[c.Name], now); g.judged > 0 {
				f.Score, f.Warm = ratio(float64(g.delivered), g.judged)/(1+ratio(g.usd, g.delivered)), true
			}
		}
	}
	seed := mix(w.b.opts.Seed, string(w.b.scope), t.Skill, t.Key) + attempts
	for i := range fs {
		// The least of exponential times with these rates belongs to each candidate in proportion to its rate.
		fs[i].by = math.Log(uniform(mix(seed, fs[i].Name))) / max(leastWeight, fs[i].Score)
	}
	return order(fs), nil
}

// contender is a candidate with what it is ordered by, larger first.
type contender struct {
	Scored
	by float64
}

// order sorts by that, then by Prior, Blast and the order given.
func order(fs []contender) []Scored {
	at := make([]int32, len(fs))
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortFunc(at, func(i, j int32) int {
		a, b := &fs[i], &fs[j]
		if a.by != b.by {
			return cmp.Compare(b.by, a.by)
		}
		return cmp.Or(cmp.Compare(b.Prior, a.Prior), cmp.Compare(a.Blast, b.Blast), cmp.Compare(i, j))
	})
	out := make([]Scored, len(fs))
	for i, j := range at {
		out[i] = fs[j].Scored
	}
	return out
}

// checkAll refuses a decision that cannot be made.
func checkAll(ctx context.Context, t Task, cs []Candidate) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(t.Skill); err != nil {
		return err
	}
	for i := range cs {
		c := &cs[i]
		if len(c.Name) > maxName {
			return fmt.Errorf("%w: a candidate's name of %d bytes is over %d", ErrInvalid, len(c.Name), maxName)
		}
		if !(c.Prior >= 0 && c.Prior <= 1) || !(c.Price >= 0 && c.Price <= maxUSD) {
			return fmt.Errorf("%w: candidate %q has prior %v and price %v", ErrInvalid, c.Name, c.Prior, c.Price)
		}
	}
	return nil
}

// mix hashes a number and texts into a number (FNV-1a and the finalizer of SplitMix64).
func mix(x uint64, texts ...string) uint64 {
	for _, t := range texts {
		x ^= 0xcbf29ce484222325
		for i := range len(t) {
			x = (x ^ uint64(t[i])) * 0x100000001b3
		}
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// uniform returns a number in (0,1].
func uniform(x uint64) float64 { return (float64(x>>11) + 1) / (1 << 53) }

// normal returns a standard normal draw (Box and Muller).
func normal(x uint64) float64 {
	return math.Sqrt(-2*math.Log(uniform(x))) * math.Cos(2*math.Pi*uniform(mix(x, "cos")))
}

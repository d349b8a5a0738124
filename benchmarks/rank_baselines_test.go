package benchmarks

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
)

// tally counts samples and sums what they were worth.
type tally struct{ n, sum float64 }

// table is a policy that keeps a tally per candidate, and by key if it is
// told to.
type table struct {
	byKey bool
	total map[string]float64 // samples, by key
	tally map[[2]string]*tally
	rng   *rand.Rand
	index func(t *table, n, sum, total float64) rank.Parts // the score is Mean + Draw
}

func newTable(seed uint64, index func(t *table, n, sum, total float64) rank.Parts) *table {
	return &table{
		total: make(map[string]float64), tally: make(map[[2]string]*tally),
		rng: rand.New(rand.NewPCG(seed, 1)), index: index,
	}
}

func (t *table) key(s rank.Situation) string {
	if !t.byKey {
		return ""
	}
	return s.Key
}

// Observe counts the sample; one of unknown outcome and without a Reward is
// left out.
func (t *table) Observe(_ context.Context, s rank.Sample) error {
	if s.Unknown && s.Reward == nil {
		return nil
	}
	k := [2]string{s.Candidate, t.key(s.Situation)}
	if t.tally[k] == nil {
		t.tally[k] = new(tally)
	}
	t.tally[k].n++
	t.tally[k].sum += replay.Worth(s)
	t.total[k[1]]++
	return nil
}

// Score orders the candidates by their index, equal ones by a draw.
func (t *table) Score(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]rank.Scored, len(cs))
	for i, c := range cs {
		n, sum := 0.0, 0.0
		if x := t.tally[[2]string{c.Name, t.key(s)}]; x != nil {
			n, sum = x.n, x.sum
		}
		p := t.index(t, n, sum, t.total[t.key(s)])
		out[i] = rank.Scored{Candidate: c, Score: p.Mean + p.Draw, Parts: p, Samples: int(n)}
	}
	t.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b rank.Scored) int { return cmp.Compare(b.Score, a.Score) })
	return out, nil
}

// untried is the index of what has to be tried first.
var untried = rank.Parts{Draw: math.Inf(1)}

// newGreedy returns the Learner that chooses the best mean, after one sample
// of each, but with probability epsilon any candidate.
func newGreedy(epsilon float64, seed uint64) replay.Learner {
	return &greedy{epsilon: epsilon, table: newTable(seed, func(_ *table, n, sum, _ float64) rank.Parts {
		if n == 0 {
			return untried
		}
		return rank.Parts{Mean: sum / n}
	})}
}

type greedy struct {
	*table
	epsilon float64
}

func (g *greedy) Score(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
	out, err := g.table.Score(ctx, s, cs)
	if err != nil || len(out) == 0 || g.rng.Float64() >= g.epsilon {
		return out, err
	}
	i := g.rng.IntN(len(out))
	out[0], out[i] = out[i], out[0]
	return out, nil
}

// newUCB returns the Learner that chooses the largest
// mean + c·√(2·ln t / n) after one sample of each (Auer, Cesa-Bianchi and
// Fischer, 2002, with c = 1).
func newUCB(c float64, seed uint64) replay.Learner {
	return newTable(seed, func(_ *table, n, sum, total float64) rank.Parts {
		if n == 0 {
			return untried
		}
		return rank.Parts{Mean: sum / n, Draw: c * math.Sqrt(2*math.Log(total)/n)}
	})
}

// newThompson returns the Learner that draws from Beta posteriors with a
// uniform prior (Thompson, 1933), by situation key if byKey is set. Worths
// between 0 and 1 count in part for both sides; those beyond are clamped.
// The Parts hold mean and standard deviation of the posterior.
func newThompson(byKey bool, seed uint64) replay.Learner {
	t := newTable(seed, func(t *table, n, sum, _ float64) rank.Parts {
		sum = max(0, min(n, sum))
		a, b := 1+sum, 1+n-sum
		mean := a / (a + b)
		x, y := gamma(t.rng, a), gamma(t.rng, b)
		return rank.Parts{
			Mean: mean, Spread: math.Sqrt(mean * (1 - mean) / (a + b + 1)), Draw: x/(x+y) - mean,
		}
	})
	t.byKey = byKey
	return t
}

// gamma draws from the gamma distribution of the shape, at least 1 (Marsaglia
// and Tsang, 2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

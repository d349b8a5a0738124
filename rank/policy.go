package rank

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// policy is a Policy of the Book: rank, called with the lock held, returns candidates and what orders them.
type policy struct {
	b    *Book
	rank func(sk *skill, t Task, cs []Candidate) []contender
}

func (p policy) Score(ctx context.Context, t Task, cs []Candidate) ([]Scored, error) {
	err := ctx.Err()
	for i := 0; i < len(cs) && err == nil; i++ {
		err = cs[i].check(t.Skill)
	}
	if err != nil || len(cs) == 0 {
		return nil, err
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return order(p.rank(p.b.scope.skill(t.Skill), t, cs), cs), nil
}

// Observed returns the policy of the self-improving loop. A candidate with five judged samples or more (of
// its last 200) scores 2.0·success + 0.5·confidence on success − 0.3·clamp(mean wall time in minutes, 0, 2),
// where confidence counts from five samples with one, and time of all attempts. All others score their Prior.
// Ties go to the larger Prior, then the smaller Blast, then the order given. It does not explore. After an
// outage of 200 attempts nothing is left to score by; what Learned and Ladder go by an outage leaves.
func (b *Book) Observed() Policy { return policy{b, observed} }

// The constants of Observed.
const (
	minSamples       = 5
	successWeight    = 2.0
	confidenceWeight = 0.5
	wallWeight       = 0.3
)

func observed(sk *skill, _ Task, cs []Candidate) []contender {
	fs := make([]contender, len(cs))
	for i := range cs {
		c := &cs[i]
		score := c.Prior
		if s := sk.summary(c.Name); s.Judged >= minSamples {
			wall := time.Duration(ratio(float64(s.Wall)*float64(time.Millisecond), int(s.Attempts)))
			success := ratio(float64(s.Delivered), int(s.Judged))
			score = successWeight*success - wallWeight*min(2, wall.Minutes())
			if s.claims >= minSamples {
				score += confidenceWeight * ratio(float64(s.good)/billion, s.goodClaims)
			}
		}
		fs[i] = contender{i, score, score}
	}
	return fs
}

// Weighted returns the policy that picks by chance, in proportion to success ∕ (1 + cost per success in US
// dollars) over a candidate's attempts of the last 24 hours; without any, the weight is 1. The Score is that
// weight; for the pick it is .02 at least, so that who failed is tried again. It stays until a sample comes.
func (b *Book) Weighted() Policy { return policy{b, b.weighted} }

const leastWeight = .02

func (b *Book) weighted(_ *skill, t Task, cs []Candidate) []contender {
	now := b.now().UnixMilli()
	fs, attempts := make([]contender, len(cs)), uint64(0)
	var s summary
	for i := range cs {
		fs[i], s = contender{of: i, score: 1}, summary{}
		for _, sk := range b.scope.skills {
			r := sk.known(cs[i].Name).rec
			attempts += uint64(r.Attempts)
			s.take(r, now-dayMillis, now)
		}
		if s.Judged > 0 {
			cost := ratio(float64(s.USD+s.Estimated)/billion, int(s.Delivered))
			fs[i].score = ratio(float64(s.Delivered), int(s.Judged)) / (1 + cost)
		}
	}
	seed := mix(b.seed, string(b.scope.name), t.Skill, t.Key) + attempts
	for i := range fs {
		// The least of exponential times with these rates is each candidate's in proportion to its rate.
		fs[i].by = math.Log(uniform(mix(seed, cs[i].Name))) / max(leastWeight, fs[i].score)
	}
	return fs
}

// contender is a candidate, by its place among those given, its score, and what orders it, larger first.
type contender struct {
	of        int
	score, by float64
}

// order sorts by that, then by Prior, Blast and the order given.
func order(fs []contender, cs []Candidate) []Scored {
	slices.SortFunc(fs, func(x, y contender) int {
		if c := cmp.Compare(y.by, x.by); c != 0 {
			return c
		}
		a, b := &cs[x.of], &cs[y.of]
		return cmp.Or(cmp.Compare(b.Prior, a.Prior), cmp.Compare(a.Blast, b.Blast), cmp.Compare(x.of, y.of))
	})
	out := make([]Scored, len(fs))
	for i, f := range fs {
		out[i] = Scored{cs[f.of], f.score}
	}
	return out
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

// uniform returns a number in (0,1).
func uniform(x uint64) float64 { return (float64(x>>12) + .5) / (1 << 52) }

// logistic returns a draw of mean 0 and deviation 1. Its tails are wide: nothing is given up for good.
func logistic(x uint64) float64 {
	u := uniform(x)
	return math.Log(u/(1-u)) * 0.5513288954217921 // √3/π
}

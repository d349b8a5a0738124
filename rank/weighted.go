package rank

import (
	"context"
	"fmt"
	"math"
)

// Weighted returns the policy that draws an order in which a candidate that
// succeeds more often and costs less comes first more often. Its weight, which
// is the Score, is taken from [Book.Health]:
//
//	success rate / (1 + cost per success in US dollars)
//
// and 1 without a sample of known outcome in the last [Day]. A share of the
// probability, Options.Explore, is spread evenly over all candidates, so that
// one of weight zero is still tried now and then; if all weights are zero the
// draw is even. Candidates are drawn one after the other without replacement,
// so the scores of the result need not descend.
//
// The draws depend on the seed, the skill, the situation's key, the
// candidate's name, and how many samples the candidate has ever had for the
// skill, and on nothing else: the same book gives the same order until
// another sample arrives, also after a restart, and whatever the order of the
// input. Decisions that should not share a draw need different situation
// keys.
func (b *Book) Weighted() Policy { return weighted{b} }

type weighted struct{ b *Book }

func (p weighted) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	var buf [few]contender
	b := p.b
	since := b.opts.Now().Add(-Day).UnixNano()
	fs, err := b.field(ctx, buf[:0], s.Skill, cs)
	if err != nil {
		return nil, err
	}
	b.mu.RUnlock() // to read the samples that are not in memory
	var some [few]Health
	healths := some[:0]
	total := 0.0
	for i := range fs {
		h, err := b.health(ctx, cs[i].Name, fs[i].member, since)
		if err != nil {
			return nil, fmt.Errorf("score: %w", err)
		}
		healths = append(healths, h)
		total += h.weight()
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i := range fs {
		f := &fs[i]
		chance := b.chance(healths[i].weight(), total, len(fs))
		// Exponential keys: the smallest of independent exponentials of
		// these rates is each with its chance, and so on down the order
		// (Efraimidis and Spirakis, 2006).
		f.by = math.Log(b.draw(&s, cs[i].Name, f.window)) / chance
	}
	var ranks [few]int32
	out := make([]Scored, len(fs))
	for rank, i := range sortObserved(ranks[:0], fs, cs) {
		f := &fs[i]
		h := healths[i]
		out[rank] = Scored{Candidate: cs[i], Score: h.weight(), Samples: f.window.samples(), Parts: Parts{
			Basis: Drawn, Known: h.Known, Success: h.SuccessRate, Cost: h.CostPerSuccess,
			Chance: b.chance(h.weight(), total, len(fs)),
		}}
	}
	return out, nil
}

func (h Health) weight() float64 { return h.SuccessRate / (1 + h.CostPerSuccess) }

// chance is the probability of coming first among n candidates.
func (b *Book) chance(weight, total float64, n int) float64 {
	even := 1 / float64(n)
	if total == 0 {
		return even
	}
	return b.opts.Explore*even + (1-b.opts.Explore)*weight/total
}

// draw returns a number in (0,1) that is fixed by its arguments and the seed.
func (b *Book) draw(s *Situation, candidate string, w *window) float64 {
	var seen uint64
	if w != nil {
		seen = w.next
	}
	h := mix(b.opts.Seed)
	h = hash(h, s.Skill)
	h = hash(h, s.Key)
	h = hash(h, candidate)
	h = mix(h ^ mix(seen+1))
	return uniform(h)
}

// uniform returns the number in (0,1) that a hash stands for.
func uniform(h uint64) float64 { return (float64(h>>11) + 0.5) / (1 << 53) }

// hash continues h with the bytes of s (FNV-1a) and scrambles the result, so
// that neither the boundaries between strings nor their last bytes show.
func hash(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h + uint64(len(s)))
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

package rank

import (
	"cmp"
	"context"
	"math"
	"slices"
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
	b := p.b
	if err := b.prepare(ctx, cs); err != nil {
		return nil, err
	}
	since := b.opts.Now().Add(-Day).UnixNano()
	draws := make([]float64, len(cs)) // of the input, then of the result
	out := make([]Scored, len(cs))
	order := make([]int, len(cs))
	total := 0.0
	b.mu.RLock()
	defer b.mu.RUnlock()
	bySkill := b.mu.skills[s.Skill]
	for i, c := range cs {
		h := b.healthLocked(c.Name, since)
		out[i] = Scored{Candidate: c, Score: h.SuccessRate / (1 + h.CostPerSuccess)}
		out[i].Parts = Parts{Basis: Drawn, Known: h.Known, Success: h.SuccessRate, Cost: h.CostPerSuccess}
		total += out[i].Score
		var seen uint64
		if w := bySkill[c.Name]; w != nil {
			seen = w.next
			out[i].Samples = len(w.entries)
		}
		draws[i] = b.draw(&s, c.Name, seen)
		order[i] = i
	}
	for i := range out {
		chance := 1 / float64(len(out))
		if total > 0 {
			chance = b.opts.Explore*chance + (1-b.opts.Explore)*out[i].Score/total
		}
		out[i].Parts.Chance = chance
		// Exponential keys: the smallest of independent exponentials of
		// these rates is each with its chance, and so on down the order
		// (Efraimidis and Spirakis, 2006).
		draws[i] = -math.Log(draws[i]) / chance
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(draws[i], draws[j]) })
	sorted := make([]Scored, len(out))
	for i, j := range order {
		sorted[i] = out[j]
	}
	return sorted, nil
}

// draw returns a number in (0,1) that is fixed by its arguments and the seed.
func (b *Book) draw(s *Situation, candidate string, seen uint64) float64 {
	h := mix(b.opts.Seed)
	h = hash(h, s.Skill)
	h = hash(h, s.Key)
	h = hash(h, candidate)
	h = mix(h ^ mix(seen+1))
	return (float64(h>>11) + 0.5) / (1 << 53)
}

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

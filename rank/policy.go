package rank

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank/internal/draw"
	"github.com/arc-learn/arc/store"
)

// contender is a candidate of one decision with its record.
type contender struct {
	by     float64 // what it is ordered by, larger first
	member *member // nil: no name
	window *window // nil: no samples for the skill
}

// field appends the contenders to buf, which is empty, in the order of the input, once all are in memory.
// Unless there is an error, it returns with the lock held for reading.
func (b *Book) field(ctx context.Context, buf []contender, skill string, cs []Candidate) ([]contender, error) {
	if len(cs) == 0 {
		return nil, ErrNoCandidate
	}
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	buf = slices.Grow(buf, len(cs))
	for {
		b.mu.RLock()
		fs, missing, err := b.fieldLocked(buf, skill, cs)
		if err == nil && missing < 0 {
			return fs, nil
		}
		b.mu.RUnlock()
		if err == nil {
			err = b.enlist(ctx, cs[missing:])
		}
		if err != nil {
			return nil, fmt.Errorf("score: %w", err)
		}
	}
}

// enlist reads the candidates that are not in memory.
func (b *Book) enlist(ctx context.Context, cs []Candidate) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	var missing []string
	for i := range cs {
		name := cs[i].Name
		if m, err := b.member(name); err != nil {
			return err
		} else if m != nil || name == "" {
			continue
		}
		if err := key.CheckID("candidate", name); err != nil {
			return fmt.Errorf("%w: %w", ErrCandidate, err)
		}
		missing = append(missing, name)
	}
	return b.restore(ctx, missing...)
}

// fieldLocked also returns the index of a candidate that is not in memory, or -1.
func (b *Book) fieldLocked(fs []contender, skill string, cs []Candidate) ([]contender, int, error) {
	if b.mu.closed {
		return nil, -1, store.ErrClosed
	}
	ps := b.mu.pairs[skill]
	for i := range cs {
		c := &cs[i]
		if !unit(c.Prior) {
			return nil, -1, fmt.Errorf("%w: the prior of %q is %v", ErrCandidate, c.Name, c.Prior)
		}
		var f contender
		if c.Name != "" {
			p := ps[c.Name]
			if p.member == nil {
				p.member = b.mu.members[c.Name]
			}
			if p.member == nil {
				return nil, i, nil
			}
			f.member, f.window = p.member, p.window
		}
		fs = append(fs, f)
	}
	if i := twice(fs, b.mu.made); i >= 0 {
		return nil, -1, fmt.Errorf("%w: %q is named twice", ErrCandidate, cs[i].Name)
	}
	return fs, -1, nil
}

// twice returns the index of a second candidate of the same name, or -1. made is the number of members that
// were ever made.
func twice(fs []contender, made int) int {
	if len(fs) <= few {
		for i := range fs {
			if m := fs[i].member; m != nil && slices.ContainsFunc(fs[:i], func(f contender) bool { return f.member == m }) {
				return i
			}
		}
		return -1
	}
	seen := make([]bool, made)
	for i := range fs {
		m := fs[i].member
		if m == nil {
			continue
		}
		if seen[m.number] {
			return i
		}
		seen[m.number] = true
	}
	return -1
}

// sortObserved appends the indices of the contenders to buf, which is empty,
// in the order of Observed.
func sortObserved(buf []int32, fs []contender, cs []Candidate) []int32 {
	before := func(i, j int32) bool {
		if fs[i].by != fs[j].by {
			return fs[i].by > fs[j].by
		}
		a, b := &cs[i], &cs[j]
		if a.Prior != b.Prior {
			return a.Prior > b.Prior
		}
		return a.Blast < b.Blast || a.Blast == b.Blast && i < j
	}
	buf = slices.Grow(buf, len(fs))
	for i := range int32(len(fs)) {
		buf = append(buf, i)
	}
	if len(fs) > few {
		slices.SortFunc(buf, func(i, j int32) int {
			if before(i, j) {
				return -1
			}
			return +1 // no two are equal, as their indices differ
		})
		return buf
	}
	for i := range buf { // half the time of SortFunc at this size
		j := i
		for ; j > 0 && before(int32(i), buf[j-1]); j-- {
			buf[j] = buf[j-1]
		}
		buf[j] = int32(i)
	}
	return buf
}

// Observed returns the policy that scores by samples once there are enough, and by the card until then. With
// at least five samples of known outcome for the skill the score is
//
//	2.0·success rate + 0.5·confidence − 0.3·min(wall/60 s, 2)
//
// Here wall is the mean, and confidence the mean of the reports on successes, which counts once five samples
// of known outcome have a report. With Options.Calibrated each report counts as the success rate that the
// candidate's reports of that size had ([iar.Calibration.Correct], range by range). With fewer samples the
// score is the prior. Equal scores are ordered by prior (larger first), then by blast (smaller first), then
// as they came.
//
// The policy is greedy: it never tries the second best to learn more. Both scores share one scale: a card that
// claims 1.0 comes before a candidate that succeeds half of the time. [Book.Learned] has neither fault.
func (b *Book) Observed() Policy { return observed{b} }

type observed struct{ b *Book }

func (o observed) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	var buf [few]contender
	fs, err := o.b.field(ctx, buf[:0], s.Skill, cs)
	if err != nil {
		return nil, err
	}
	defer o.b.mu.RUnlock()
	for i := range fs {
		f := &fs[i]
		f.by = cs[i].Prior
		if f.window.warm() {
			f.by = f.window.score
		}
	}
	var ranks [few]int32
	out := make([]Scored, len(fs))
	for rank, i := range sortObserved(ranks[:0], fs, cs) {
		f, o := &fs[i], &out[rank]
		o.Candidate, o.Score, o.Samples = cs[i], f.by, f.window.samples()
		if f.window.warm() {
			f.window.fill(&o.Parts)
			continue
		}
		o.Parts.Basis, o.Parts.Prior = Cold, f.by
		if f.window != nil {
			o.Parts.Known = int(f.window.sums.known)
		}
	}
	return out, nil
}

// Weighted returns the policy that draws an order in which a candidate comes first more often the more often
// it succeeds and the less it costs. Its weight, which is the Score, comes from [Book.Health]:
//
//	success rate / (1 + cost per success in US dollars)
//
// and 1 without a sample of known outcome in the last [Day]. The policy spreads a share of the probability,
// Options.Explore, evenly over all candidates, so that one of weight zero has a chance; if all weights are zero,
// the chances are equal. It draws candidates one after the other without replacement, so the scores of the
// result need not descend.
//
// The draws depend on the seed, the skill, the situation's key, the candidate's name, and how many samples the
// candidate has ever had for the skill, and on nothing else: a book gives the same order until another sample
// arrives, also after a restart, for any order of the input, which tells only nameless candidates apart. Give
// decisions that should not share a draw different situation keys.
func (b *Book) Weighted() Policy { return weighted{b} }

type weighted struct{ b *Book }

func (p weighted) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	var buf [few]contender
	b := p.b
	now := b.opts.Now().UnixNano()
	fs, err := b.field(ctx, buf[:0], s.Skill, cs)
	if err != nil {
		return nil, err
	}
	b.mu.RUnlock() // to read the samples that are not in memory
	var some [few]Health
	healths := some[:0]
	total := 0.0
	for i := range fs {
		h, err := b.health(ctx, cs[i].Name, fs[i].member, now)
		if err != nil {
			return nil, fmt.Errorf("score: %w", err)
		}
		healths = append(healths, h)
		total += h.weight()
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var unnamed uint64 // candidates so far
	for i := range fs {
		f := &fs[i]
		chance := b.chance(healths[i].weight(), total, len(fs))
		// Exponential keys: the smallest of independent exponentials of
		// these rates is each with its chance, and so on down the order
		// (Efraimidis and Spirakis, 2006).
		f.by = math.Log(b.draw(&s, cs[i].Name, f.window, unnamed)) / chance
		if f.member == nil {
			unnamed++
		}
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

// draw returns a number in (0,1) that depends on its arguments and the seed alone. For candidates without a name,
// the number of those before is an argument.
func (b *Book) draw(s *Situation, candidate string, w *window, unnamed uint64) float64 {
	var seen uint64
	if w != nil {
		seen = w.next
	}
	h := draw.Mix(b.opts.Seed)
	h = draw.Hash(h, s.Skill)
	h = draw.Hash(h, s.Key)
	h = draw.Hash(h, candidate)
	if candidate == "" {
		h += unnamed
	}
	h = draw.Mix(h ^ draw.Mix(seen+1))
	return draw.Uniform(h)
}

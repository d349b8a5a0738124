package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank/internal/draw"
	"github.com/arc-learn/arc/rank/internal/skill"
)

// LearnedOptions of [Book.Learned]. Nil and the zero value are the defaults.
type LearnedOptions struct {
	// Greedy leaves bonus and draws out: the order is that of the scores. It is for reading an order, or for a
	// host that explores by itself.
	Greedy bool
	// Seed varies the draws between policies of one Book.
	Seed uint64
}

// Learned returns the policy that learns from every sample of a skill, also from those that have left the
// window. The Score of a candidate is its expected worth in the situation. The worth of a sample is its
// Reward; without one it is
//
//	success − 0.02·log2(1 + wall in seconds) − 0.1·log2(1 + cost in US dollars)
//
// where success is 1 or 0. A doubling of time thus costs two percent of a success. A host that weighs
// differently gives a Reward. Samples of unknown outcome without a Reward teach nothing.
//
// A dollar is a tenth of a success, and ten cents are 1.4 % of one: of two models, the dear one comes first
// if it succeeds a little more often, on easy tasks too. A host that routes between prices and tries once
// gives a Reward in which a dollar weighs more. A host that tries again sets [Situation].Worth to what a
// success is worth in dollars: then the candidates are a ladder, in which the dear one comes once the cheap
// one has failed.
//
// The order is by score + bonus + draw, so the scores of the result need not descend. The bonus, for
// candidates of which little is known, is 0.75 standard deviations of the candidate's mean. The draw is
// normal. Its width is 0.7 times the uncertainty of the score by context, plus of the variance of the mean
// the share (n + 5k)/(n + 200k²), for n samples of the skill and k candidates: a host that has decided often
// will go on, and can wait until exploring pays. The draws depend on both seeds, the skill, the situation,
// the candidate's name and the number of samples that the skill has ever had, and on nothing else: a book
// gives the same order until another sample arrives, also after a restart, for any order of the input. What is
// learned depends on the order in which samples were observed, also on that of samples of one moment. Among
// candidates that the first leads by less than the width of its draw, the one with the smallest Blast goes
// first; but one with ten samples or more does not go before a first one with fewer.
//
// Context is the situation's Key and Features. It moves a candidate's score by how much it has helped to
// predict samples: not at all if candidates do not differ by context. The policy compares candidates on the 8
// nearest of the last 1024 different feature vectors, and knows the 1024 keys used last. All situations of a
// skill must have as many Features as its first one.
//
// Samples with the up to four keys whose words are most like those of a Key, half of them or more, count for
// the Key like two samples at most: a situation in slightly other words is not a new one.
//
// For a candidate that was tried neither with a Key nor with one like it, the first tries of candidates with
// keys move the score, apart for candidates that have delivered before and those that have not. This tells
// specialists, which are good at one kind of situation, from generalists, by how much it has helped to predict
// first tries.
//
// A card's Prior counts while the skill has few samples. The policy notices a candidate whose worth changes
// for good, and learns it anew from there, unless Options.Stationary is set.
func (b *Book) Learned(opts *LearnedOptions) Policy {
	return learned{b: b, opts: *cmp.Or(opts, new(LearnedOptions))}
}

type learned struct {
	b    *Book
	opts LearnedOptions
}

func (l learned) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	if w := s.Worth; !(w.Success >= 0 && w.Success <= maxWorth && w.Second >= 0 && w.Second <= maxWorth) {
		return nil, fmt.Errorf("%w: worth is %v", ErrSituation, w)
	}
	for i, f := range s.Features {
		if !finite(f) {
			return nil, fmt.Errorf("%w: feature %d is %v", ErrSituation, i, f)
		}
	}
	var buf [few]contender
	fs, m, err := l.b.learnedField(ctx, buf[:0], s.Skill, cs)
	if err != nil {
		return nil, err
	}
	defer l.b.mu.RUnlock()
	if s.Worth.Success > 0 {
		return climb(m, &s, cs, fs, l.opts.Greedy), nil
	}
	var x skill.Sight
	x.Look(m, skill.Situation{
		Setting: skill.SettingOf(s.Key), Words: s.Words, Features: s.Features,
		Greedy: l.opts.Greedy, Seed: l.draws(m, &s),
	})
	defer x.Release()
	var room [few]skill.Estimate
	es := slices.Grow(room[:0], len(fs))
	for i := range fs {
		es = append(es, x.Estimate(cs[i].Name, cs[i].Prior))
		fs[i].by = es[i].Total()
	}
	var ranks [few]int32
	out := make([]Scored, len(fs))
	for rank, i := range safest(sortObserved(ranks[:0], fs, cs), cs, es) {
		e, o := &es[i], &out[rank]
		o.Candidate, o.Score, o.Samples = cs[i], e.Mean+e.Context, fs[i].window.samples()
		o.Parts.Basis, o.Parts.Known = Estimated, e.Known
		o.Parts.Mean, o.Parts.Context, o.Parts.Bonus = e.Mean, e.Context, e.Bonus
		o.Parts.Spread, o.Parts.Draw = e.Spread, e.Draw
	}
	return out, nil
}

// acquainted is the number of samples from which on a candidate is known well enough to compare its blast.
const acquainted = 10

// safest puts first the candidate with the smallest blast among those that the first leads by less than its
// spread. A well-known one does not go before a little-known first, which would never be tried.
func safest(order []int32, cs []Candidate, es []skill.Estimate) []int32 {
	first, at := &es[order[0]], 0
	least := first.Mean + first.Context + first.Bonus - first.Spread
	for i, j := range order {
		e := &es[j]
		if cs[j].Blast < cs[order[at]].Blast && e.Mean+e.Context+e.Bonus > least &&
			(e.Known < acquainted || first.Known >= acquainted) {
			at = i
		}
	}
	i := order[at]
	copy(order[1:at+1], order[:at])
	order[0] = i
	return order
}

// draws returns the common seed of the draws of a decision.
func (l learned) draws(m *skill.Model, s *Situation) uint64 {
	x := draw.Mix(l.b.opts.Seed ^ draw.Mix(l.opts.Seed))
	x = draw.Hash(x, s.Skill)
	x = draw.Hash(x, s.Key)
	for _, f := range s.Features {
		x = draw.Mix(x ^ math.Float64bits(f))
	}
	return draw.Mix(x ^ draw.Mix(m.Seen()+1))
}

// learnedField returns the contenders and the model of the skill. It returns
// with the lock held for reading, unless with an error.
func (b *Book) learnedField(
	ctx context.Context, buf []contender, name string, cs []Candidate,
) ([]contender, *skill.Model, error) {
	for {
		fs, err := b.field(ctx, buf, name, cs)
		if err != nil {
			return nil, nil, err
		}
		if m := b.mu.models[name]; m != nil {
			return fs, m, nil
		}
		b.mu.RUnlock()
		if err := key.CheckID("skill", name); err != nil {
			return nil, nil, fmt.Errorf("score: %w: %w", ErrSituation, err)
		}
		if err := b.take(ctx); err != nil {
			return nil, nil, fmt.Errorf("score: %w", err)
		}
		_, err = b.model(ctx, name)
		b.give()
		if err != nil {
			return nil, nil, fmt.Errorf("score: %w", err)
		}
	}
}

// The price of wall time and cost where the host gives no reward: shares of a success, per doubling of
// 1 + seconds and of 1 + US dollars.
const (
	worthOfTime = 0.02
	worthOfCost = 0.1
)

// fact returns what the sample teaches a model.
func (s *Sample) fact() skill.Fact {
	at := &s.Situation
	f := skill.Fact{
		Candidate: s.Candidate, Setting: skill.SettingOf(at.Key), Words: at.Words, Features: at.Features,
		Known: true, Rated: !s.Unknown, Success: s.Success, Failed: at.Failed,
		USD: cmp.Or(s.CostUSD, s.APICostUSD), Seconds: min(s.Wall, MaxWall).Seconds(),
	}
	switch {
	case s.Reward != nil:
		f.Worth, f.Rewarded = *s.Reward, true
	case s.Unknown:
		f.Known = false
	default:
		if s.Success {
			f.Worth = 1
		}
		f.Worth -= worthOfTime * math.Log2(1+f.Seconds)
		f.Worth -= worthOfCost * math.Log2(1+f.USD)
	}
	return f
}

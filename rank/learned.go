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
	// Greedy leaves bonus and draws out: the order is that of the scores. It
	// is for reading an order, or for a host that explores by itself.
	Greedy bool
	// Seed varies the draws between policies of one Book.
	Seed uint64
}

// Learned returns the policy that learns from every sample of a skill, also
// from those that have left the window. The score is what the candidate is
// expected to be worth in the situation. The worth of a sample is its Reward,
// or if it has none
//
//	success − 0.02·log2(1 + wall in seconds) − 0.1·log2(1 + cost in US dollars)
//
// where success is 1 or 0, so that a doubling of time costs two percent of a
// success; a host that weighs differently gives a Reward. Samples of unknown
// outcome without a Reward teach nothing.
//
// A dollar is a tenth of a success and ten cents 1.4 % of one, so that of two models the
// dear one comes first where it succeeds a little more often, on easy tasks too. A host that
// routes between prices and tries once gives a Reward in which a dollar weighs more. One that
// tries again says in [Situation].Worth what a success is worth in dollars: then the candidates
// are a ladder, in which the dear one comes once the cheap one has failed.
//
// The order is that of scores plus a bonus for what little is known of, 0.75
// standard deviations of the candidate's mean, and plus a normal draw. The draw is
// as wide as the score is uncertain by context, times 0.7; of the variance of the
// mean it takes in (n + 5k)/(n + 200k²), for n samples of the skill and k candidates:
// a host that has decided often will go on, and can wait for what is tried to pay.
// So the scores of the result need not descend. The draws depend on both seeds, the
// skill, the situation, the candidate's name and how many samples the skill has
// ever had, and on nothing else: a book gives the same order until another
// sample arrives, also after a restart, whatever the order of the input.
// Of candidates that the first leads by less than the width of its draw, the one of
// the smallest blast comes first, except that one of ten samples or more goes before
// none of fewer.
//
// Context, which is the situation's Key and Features, moves a candidate's
// score by how much it has helped to predict samples: not at all where
// candidates do not differ by context. Candidates in the 8 nearest of the last
// 1024 different feature vectors are compared with each other there; of keys
// the 1024 used last are known. All features of a skill must be as many as
// its first.
//
// What candidates did with the up to four keys whose words are most like a Key's,
// half of them or more, counts there like two samples at most: a situation that reads
// a little differently is not a new one.
//
// Where a candidate was never tried with a Key, nor one like it, what first tries of candidates
// with keys have come to moves its score too: of those that have delivered
// before, and of those that have not. Specialists, each of which is good at one
// kind of situation, are thus told from generalists, by how much that has
// helped to predict first tries.
//
// A card's Prior counts as long as the skill has few samples. A candidate
// whose worth changes for good is noticed, and starts anew from there, unless
// Options.Stationary is set.
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

// acquainted is how many samples of a candidate tell enough to compare its blast.
const acquainted = 10

// safest puts the candidate of the smallest blast first among those that the
// first leads by less than its spread. One that is well known does not go before a
// first that is not, which would never be tried.
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

// draws returns what the draws of a decision have in common.
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

// What wall time and cost are worth where the host gives no reward: shares of
// a success, per doubling of 1 + seconds and of 1 + US dollars.
const (
	worthOfTime = 0.02
	worthOfCost = 0.1
)

// fact returns what a model learns from the sample.
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

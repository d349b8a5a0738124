package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/key"
)

// LearnedOptions of [Book.Learned]. Nil and the zero value are the defaults.
type LearnedOptions struct {
	// Explore scales how much of the uncertainty the draws take in; zero:
	// 0.7. At 1 they are draws from the posterior (Thompson, 1933) of what a
	// context does, below it the policy is greedier, which costs less wherever
	// the number of decisions is not very large.
	Explore float64
	// Greedy leaves bonus and draws out: the order is that of the scores. It
	// is for reading an order, or for a host that explores by itself.
	Greedy bool
	// Seed varies the draws between policies of one Book.
	Seed uint64
}

// What makes Learned try what it knows little of.
const (
	optimism = 0.75 // standard deviations of a mean in its bonus
	patience = 200  // samples × candidates², for half of a mean's variance …
	hurry    = 5    // … and samples each that it begins as if there were
)

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
// The order is that of scores plus a bonus for what little is known of, 0.75
// standard deviations of the candidate's mean, and plus a normal draw. The draw is
// as wide as the score is uncertain by context, times Explore; of the variance of the
// mean it takes in (n + 5k)/(n + 200k²), for n samples of the skill and k candidates:
// a host that has decided often will go on, and can wait for what is tried to pay.
// So the scores of the result need not descend. The draws depend on both seeds, the
// skill, the situation, the candidate's name and how many samples the skill has
// ever had, and on nothing else: a book gives the same order until another
// sample arrives, also after a restart, whatever the order of the input.
// Of candidates that the first leads by less than the width of its draw, the one of
// the smallest blast comes first.
//
// Context, which is the situation's Key and Features, moves a candidate's
// score as far as it has been of use in predicting samples: not at all where
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
// kind of situation, are thus told from generalists, as far as that has been of
// use in predicting first tries.
//
// A card's Prior counts as long as the skill has few samples. A candidate
// whose worth changes for good is noticed, and starts anew from there, unless
// Options.Stationary is set.
func (b *Book) Learned(opts *LearnedOptions) Policy {
	l := learned{b: b}
	if opts != nil {
		l.opts = *opts
	}
	l.opts.Explore = cmp.Or(l.opts.Explore, 0.7)
	return l
}

type learned struct {
	b    *Book
	opts LearnedOptions
}

func (l learned) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	if e := l.opts.Explore; !(e > 0 && e <= 10) {
		return nil, fmt.Errorf("%w: Explore is %v, want a number in (0,10]", ErrOptions, e)
	}
	if w := s.Worth; !(w.Success >= 0 && finite(w.Success) && w.Second >= 0 && finite(w.Second)) {
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
		out := make([]Scored, len(fs))
		l.climb(m, &s, cs, fs, out)
		return out, nil
	}
	var room [few]estimate
	es := slices.Grow(room[:0], len(fs))[:len(fs)]
	l.score(m, &s, cs, fs, es)
	for i := range fs {
		fs[i].by = es[i].mean + es[i].context + es[i].bonus + es[i].draw
	}
	var ranks [few]int32
	out := make([]Scored, len(fs))
	for rank, i := range safest(sortObserved(ranks[:0], fs, cs), cs, es) {
		e, o := &es[i], &out[rank]
		o.Candidate, o.Score, o.Samples = cs[i], e.mean+e.context, fs[i].window.samples()
		o.Parts.Basis, o.Parts.Known = Estimated, e.known
		o.Parts.Mean, o.Parts.Context, o.Parts.Bonus = e.mean, e.context, e.bonus
		o.Parts.Spread, o.Parts.Draw = e.spread, e.draw
	}
	return out, nil
}

// safest puts the candidate of the smallest blast first among those that the
// first leads by less than its spread.
func safest(order []int32, cs []Candidate, es []estimate) []int32 {
	first, at := &es[order[0]], 0
	least := first.mean + first.context + first.bonus - first.spread
	for i, j := range order {
		if e := &es[j]; cs[j].Blast < cs[order[at]].Blast && e.mean+e.context+e.bonus > least {
			at = i
		}
	}
	i := order[at]
	copy(order[1:at+1], order[:at])
	order[0] = i
	return order
}

// estimate is what a model makes of a candidate in a situation.
type estimate struct {
	known                              int
	mean, context, bonus, spread, draw float64
}

// score sets the estimates of the candidates.
func (l learned) score(m *model, s *Situation, cs []Candidate, fs []contender, es []estimate) {
	h := &m.head
	var views [kinds]view
	views[byKey], views[byFeatures] = m.keyView(s.Key, s.Words), m.nearView(s.Features)
	defer views[byFeatures].release()
	seed := l.draws(h, s)
	var none arm
	k := float64(max(1, len(m.arms)))
	doubt := (h.n + hurry*k) / (h.n + patience*k*k)
	w, first := 0.0, [2]float64{}
	if views[byKey].ok {
		w, first = h.transfer.weight(h), [...]float64{h.first(false), h.first(true)}
	}
	least := h.noise2 / mostPrior
	if all := h.total(&views); views[byFeatures].ok && all > 0 { // whoever is good near by is seen there
		least *= 1 - (h.of[byFeatures]-h.weight[byFeatures][0])/all
	}
	lenses, seen := h.lenses(&views), [kinds]evidence{} // of a candidate
	for i := range cs {
		c, e := &cs[i], &es[i]
		a, index := &none, int32(-1)
		if index = fs[i].arm(m, c.Name); index >= 0 {
			a = &m.arms[index]
		}
		mean, variance := a.posterior(h, h.prior(c.Prior), least)
		for k := range views {
			seen[k] = evidence{}
			if v := &views[k]; v.ok && index >= 0 {
				seen[k].n, seen[k].sum = v.evidence(index, a)
			}
		}
		shift, shift2 := combine(&lenses, &seen, h.noise2, mean)
		own := 1.0 // what the candidate's own mean has to say
		if views[byKey].ok && seen[byKey].n == 0 {
			shift, own = shift+w*(first[class(a.proven)]-mean-shift), 1-w
		}
		e.known, e.mean, e.context = int(a.n+0.5), mean, shift
		e.spread = l.opts.Explore * own * math.Sqrt(doubt*variance+shift2)
		if !l.opts.Greedy {
			e.bonus = optimism * (1 - w) * math.Sqrt(variance)
			e.draw = e.spread * normal(hash(seed, c.Name))
		}
	}
}

// lens is what a kind of context says of every candidate.
type lens struct {
	used    bool
	shared  float64 // what it does to all
	shift   float64 // that by its weight
	unknown float64 // variance of a candidate that was not tried there
	// Of each spread: its weight, its variance, and that by the weight. Only what is
	// uncertain by key is worth exploring: a key comes back, features hardly do.
	weight, prior2, variance [len(spreads)]float64
}

// lenses returns those of the kinds of context that the situation has.
func (h *head) lenses(views *[kinds]view) (out [kinds]lens) {
	total, unit := h.total(views), h.scale()
	for k := range views {
		v, x := &views[k], &out[k]
		if !v.ok || total == 0 || h.of[k] < 1e-9*total {
			continue
		}
		x.used, x.shared, x.shift = true, v.shared, h.of[k]/total*v.shared
		for j, s := range spreads {
			x.weight[j], x.prior2[j] = h.weight[k][j]/total, s*s*unit*unit
			if k == byKey {
				x.variance[j] = x.weight[j] * x.prior2[j]
			}
		}
		if k == byKey {
			x.unknown = h.of[k] / total * h.context2[k]
		}
	}
	return out
}

// combine averages over the models what the situation's context does to all
// candidates and to this one.
func combine(lenses *[kinds]lens, seen *[kinds]evidence, noise2, mean float64) (shift, variance float64) {
	for k := range lenses {
		x, e := &lenses[k], &seen[k]
		if !x.used {
			continue
		}
		shift += x.shift
		if e.n == 0 { // nothing but what the spreads say
			variance += x.unknown
			continue
		}
		each, off := noise2/e.n, e.sum/e.n-mean-x.shared
		for j := range spreads {
			share := x.prior2[j] / (x.prior2[j] + each)
			shift += x.weight[j] * share * off
			variance += x.variance[j] * (1 - share)
		}
	}
	return shift, variance
}

// total is the weight of the kinds of context that the situation has.
func (h *head) total(views *[kinds]view) (total float64) {
	for k := range views {
		if views[k].ok {
			total += h.of[k]
		}
	}
	return total
}

// draws returns what the draws of a decision have in common.
func (l learned) draws(h *head, s *Situation) uint64 {
	x := mix(l.b.opts.Seed ^ mix(l.opts.Seed))
	x = hash(x, s.Skill)
	x = hash(x, s.Key)
	for _, f := range s.Features {
		x = mix(x ^ math.Float64bits(f))
	}
	return mix(x ^ mix(h.seen+1))
}

// learnedField returns the contenders and the model of the skill. It returns
// with the lock held for reading, unless with an error.
func (b *Book) learnedField(
	ctx context.Context, buf []contender, skill string, cs []Candidate,
) ([]contender, *model, error) {
	for {
		fs, err := b.field(ctx, buf, skill, cs)
		if err != nil {
			return nil, nil, err
		}
		if m := b.mu.models[skill]; m != nil {
			return fs, m, nil
		}
		b.mu.RUnlock()
		if err := key.CheckID("skill", skill); err != nil {
			return nil, nil, fmt.Errorf("score: %w: %w", ErrSituation, err)
		}
		if err := b.take(ctx); err != nil {
			return nil, nil, fmt.Errorf("score: %w", err)
		}
		_, err = b.model(ctx, skill)
		b.give()
		if err != nil {
			return nil, nil, fmt.Errorf("score: %w", err)
		}
	}
}

// rung is a candidate for the next attempt of a ladder.
type rung struct {
	curve         difficulty
	chance, price float64
	then          float64 // what the best attempt after it is worth
}

// climb ranks for a ladder: by what the attempt and the best one after it are
// worth, those that are not worth their price last.
func (l learned) climb(m *model, s *Situation, cs []Candidate, fs []contender, out []Scored) {
	h, hard := &m.head, m.tried(s.Failed)
	patience := curiosity * math.Sqrt(math.Log1p(h.n))
	if l.opts.Greedy {
		patience = 0
	}
	rungs := make([]rung, len(cs))
	for i := range cs {
		r := firstRating
		if j, ok := m.index[cs[i].Name]; ok && m.arms[j].rating.variance > 0 {
			r = m.arms[j].rating
		}
		g := &rungs[i]
		g.curve = curve(r.at + patience*math.Sqrt(r.variance))
		if !slices.Contains(s.Failed, cs[i].Name) { // once is enough
			g.chance = hard.chance(&g.curve)
		}
		usual := firstCost * m.usual(s.Worth)
		g.price = (usual + r.usd + s.Worth.Second*r.sec) / (1 + r.n)
	}
	for i := range rungs {
		g, after := &rungs[i], hard
		after.failed(&g.curve)
		for j := range rungs {
			if x := &rungs[j]; j != i && x.chance > 0 {
				g.then = max(g.then, s.Worth.Success*after.chance(&x.curve)-(1-g.chance)*x.price)
			}
		}
		net := s.Worth.Success*g.chance - g.price
		if fs[i].by = net + g.then; net <= 0 {
			fs[i].by = net - MaxCostUSD
		}
	}
	for rank, i := range sortObserved(nil, fs, cs) {
		g, o := &rungs[i], &out[rank]
		o.Candidate, o.Samples = cs[i], fs[i].window.samples()
		o.Score = s.Worth.Success*g.chance - g.price
		o.Parts = Parts{Basis: Priced, Success: g.chance, Cost: g.price}
		if j, ok := m.index[cs[i].Name]; ok {
			o.Parts.Known = int(m.arms[j].rating.n + 0.5)
		}
	}
}

// usual is what an attempt costs on average.
func (m *model) usual(w Worth) float64 {
	n, sum := 0.0, 0.0
	for i := range m.arms {
		r := &m.arms[i].rating
		n += r.n
		sum += r.usd + w.Second*r.sec
	}
	return sum / max(n, 1)
}

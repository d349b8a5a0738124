package skill

import (
	"math"

	"github.com/arc-learn/arc/rank/internal/draw"
)

// What makes a Model try what it knows little of.
const (
	optimism = 0.75 // standard deviations of a mean in its bonus
	patience = 200  // samples × candidates², for half of a mean's variance …
	hurry    = 5    // … and samples each that it begins as if there were

	// explore is how much of the uncertainty the draws take in. At 1 they are draws from
	// the posterior (Thompson, 1933) of what a context does, below it the policy is
	// greedier, which costs less wherever the number of decisions is not very large.
	explore = 0.7
)

// Situation is that of one decision.
type Situation struct {
	Setting, Words uint64 // as a Fact has them
	Features       []float64
	Greedy         bool   // without bonus and draws
	Seed           uint64 // what the draws of the decision have in common
}

// Estimate is what a Model makes of a candidate in a situation.
type Estimate struct {
	Known                              int
	Mean, Context, Bonus, Spread, Draw float64
}

// Total is what candidates are ordered by.
func (e *Estimate) Total() float64 { return e.Mean + e.Context + e.Bonus + e.Draw }

// Sight is a situation as a Model sees it, until the Model changes.
type Sight struct {
	m      *Model
	s      Situation
	views  [kinds]view
	lenses [kinds]lens
	doubt  float64    // share of a mean's variance that the draws take in
	least  float64    // variance that the prior of a mean has at least
	first  [2]float64 // what a candidate is worth at a first meeting with the key
	weight float64    // of that
}

// Look makes x the sight of s. The caller releases it.
func (x *Sight) Look(m *Model, s Situation) {
	h := &m.head
	*x = Sight{m: m, s: s, least: h.noise2 / mostPrior}
	x.views = [kinds]view{byKey: m.keyView(s.Setting, s.Words), byFeatures: m.nearView(s.Features)}
	k := float64(max(1, len(m.arms)))
	x.doubt = (h.n + hurry*k) / (h.n + patience*k*k)
	if x.views[byKey].ok {
		x.weight, x.first = h.transfer.weight(h), [...]float64{h.first(false), h.first(true)}
	}
	all := h.total(&x.views)
	if x.views[byFeatures].ok && all > 0 { // a good candidate is seen near by
		x.least *= 1 - (h.of[byFeatures]-h.weight[byFeatures][0])/all
	}
	x.lenses = h.lenses(&x.views, all)
}

// Release gives back what Look borrowed.
func (x *Sight) Release() { x.views[byFeatures].release() }

// Estimate returns what a candidate is worth whose card claims prior.
func (x *Sight) Estimate(name string, prior float64) (e Estimate) {
	h := &x.m.head
	i, a := x.m.arm(name)
	mean, variance := a.posterior(h, h.prior(prior), x.least)
	var seen [kinds]evidence
	for k := range x.views {
		seen[k] = x.views[k].evidence(i, &a)
	}
	shift, shift2 := combine(&x.lenses, &seen, h.noise2, mean)
	own := 1.0 // what the candidate's own mean has to say
	if x.views[byKey].ok && seen[byKey].n == 0 {
		shift, own = shift+x.weight*(x.first[class(a.proven)]-mean-shift), 1-x.weight
	}
	e.Known, e.Mean, e.Context = int(a.n+0.5), mean, shift
	e.Spread = explore * own * math.Sqrt(x.doubt*variance+shift2)
	if !x.s.Greedy {
		e.Bonus = optimism * (1 - x.weight) * math.Sqrt(variance)
		e.Draw = e.Spread * draw.Normal(draw.Hash(x.s.Seed, name))
	}
	return e
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

// lenses returns those of the kinds of context that the situation has, whose weight is
// total.
func (h *head) lenses(views *[kinds]view, total float64) (out [kinds]lens) {
	unit := h.scale()
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
		if e.n == 0 { // nothing is known beyond the spreads
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

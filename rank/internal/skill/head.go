package skill

import (
	"math"

	"github.com/arc-learn/arc/rank/internal/rasch"
)

// These constants are in units of the skill's scale: 1 for successes, the range
// of rewards seen where the host gives rewards.
const (
	priorNoise      = 0.25 // variance of a sample about its prediction …
	priorNoiseN     = 2    // … worth this many samples
	priorSpread     = 0.15 // standard deviation of the candidates' means …
	priorSpreadN    = 3    // … worth this many candidates
	priorMeanWeight = 4    // precision of the prior of their mean, 0.5
	sharedSpread    = 0.15 // standard deviation of what a context does to all
	keepLoss        = 0.9995
	maxEvidence     = 2000 // samples that a mean remembers, the older less
	cardWeight      = 5    // samples of a skill that weigh as much as a card
	refreshEach     = 64   // candidates that one sample looks through
	leastScale      = 1e-9 // rewards that are closer are all the same
	mostPrior       = 2    // samples that a candidate's prior weighs at most, ranked
	maxReward       = 1e9  // as package rank has it
)

// spreads are how far a candidate may differ by context (standard
// deviations). There is one model per spread and kind of context.
var spreads = [...]float64{0, 0.05, 0.1, 0.2, 0.4}

// The kinds of context.
const (
	byKey = iota
	byFeatures
	kinds
)

// head is what a model knows of the skill as a whole.
type head struct {
	seen     uint64  // samples, those of unknown worth included
	n        float64 // samples of known worth
	lo, hi   float64 // of the rewards seen; equal: none
	rewarded bool    // some sample had a reward
	sum2     float64 // of squared errors of prediction, fading …
	n2       float64 // … and of their number
	mean     float64 // of the candidates' means
	spread2  float64 // variance of the candidates' means
	loss     [kinds][len(spreads)]float64
	transfer transfer

	// What follows is computed from the above.
	noise2   float64                      // variance of a sample
	weight   [kinds][len(spreads)]float64 // of each model, their sum is 1
	of       [kinds]float64               // of each kind
	context2 [kinds]float64               // variance by context, as the weights have it
}

// newHead returns the head of a skill without samples.
func newHead() head {
	h := head{mean: 0.5, spread2: priorSpread * priorSpread}
	h.derive()
	return h
}

// ranged reports whether the rewards seen have a range.
func (h *head) ranged() bool { return h.hi-h.lo > leastScale }

// scale is the unit of worth. Before rewards have a range it is a guess.
func (h *head) scale() float64 {
	switch {
	case h.ranged():
		return h.hi - h.lo
	case h.rewarded:
		return max(1, math.Abs(h.hi))
	}
	return 1
}

// derive computes what is computed.
func (h *head) derive() {
	u2 := h.scale() * h.scale()
	h.noise2 = (priorNoiseN*priorNoise*u2 + h.sum2) / (priorNoiseN + h.n2)
	least := math.Inf(1)
	for k := range h.loss {
		for _, l := range h.loss[k] {
			least = min(least, l)
		}
	}
	total := 0.0
	for k := range h.loss {
		h.of[k], h.context2[k] = 0, 0
		for j, l := range h.loss[k] {
			w := math.Exp((least - l) / (2 * h.noise2))
			h.weight[k][j] = w
			h.of[k] += w
			h.context2[k] += w * spreads[j] * spreads[j] * u2
		}
		h.context2[k] /= max(h.of[k], math.SmallestNonzeroFloat64)
		total += h.of[k]
	}
	for k := range h.weight {
		h.of[k] /= total
		for j := range h.weight[k] {
			h.weight[k][j] /= total
		}
	}
}

// widen takes a reward into the range. It reports whether there was one
// before; if not, what was learned of errors and spreads was in another unit
// and is dropped.
func (h *head) widen(reward float64) bool {
	was := h.ranged()
	if !h.rewarded {
		h.lo, h.hi, h.rewarded = reward, reward, true
	}
	h.lo, h.hi = min(h.lo, reward), max(h.hi, reward)
	if !was {
		u := priorSpread * h.scale()
		h.spread2 = u * u
		h.sum2, h.n2 = 0, 0
		h.loss = [kinds][len(spreads)]float64{}
		h.transfer = transfer{}
	}
	return was
}

// low is the worth that a card of zero claims; low plus scale is that of a
// card of one.
func (h *head) low() float64 {
	if h.ranged() {
		return h.lo
	}
	return 0
}

// prior is the mean of the prior of a candidate whose card claims c. The
// card counts while there is nothing better to go by.
func (h *head) prior(c float64) float64 {
	claim := h.low() + c*h.scale()
	return h.mean + (claim-h.mean)*cardWeight/(cardWeight+h.n)
}

// arm is what a model knows of a candidate.
type arm struct {
	n, sum   float64 // of worth; fading beyond maxEvidence
	epoch    uint32  // how often the candidate was seen to change
	up, down change
	proven   bool // it has delivered: a worth in the upper half of the scale
	rating   rasch.Rating
}

// posterior returns mean and variance of the candidate's mean worth, given
// the prior's mean, and a variance that the prior has at least.
func (a *arm) posterior(h *head, prior, least float64) (mean, variance float64) {
	spread2 := max(h.spread2, least)
	precision := 1/spread2 + a.n/h.noise2
	return (prior/spread2 + a.sum/h.noise2) / precision, 1 / precision
}

// earn takes in a sample.
func (a *arm) earn(worth float64) {
	a.n++
	a.sum += worth
	if a.n > maxEvidence {
		a.sum *= maxEvidence / a.n
		a.n = maxEvidence
	}
}

// The constants of change detection, in standard deviations of a sample.
const (
	slack     = 0.35 // of drift per sample that is not a change
	alarm     = 20.0 // accumulated drift that is
	maxError  = 3.0  // of a sample
	keptShare = 0.25 // of the samples since the change that count
)

// change watches for a lasting change in one direction by a cumulative sum
// (Page, 1954), and remembers the samples since the sum was last zero, where
// the change most likely took place.
type change struct {
	drift  float64
	n, sum float64 // of worth, since the drift was zero
}

// drifts takes in the error of a prediction, in standard deviations, positive in
// the direction that is watched. It reports whether there was a change.
func (c *change) drifts(e, worth float64) bool {
	c.drift += e - slack
	c.n++
	c.sum += worth
	if c.drift <= 0 {
		*c = change{}
	}
	return c.drift > alarm
}

// watch looks for a change of the candidate's quality. After one, only
// samples since then count, and those not in full, as they were chosen for
// being extreme; what was known by context is forgotten.
func (a *arm) watch(e, worth float64) {
	e = max(-maxError, min(maxError, e))
	up, down := a.up.drifts(e, worth), a.down.drifts(-e, worth)
	var since change
	switch {
	case down:
		since = a.down
	case up:
		since = a.up
	default:
		return
	}
	*a = arm{n: keptShare * since.n, sum: keptShare * since.sum, epoch: a.epoch + 1, rating: a.rating}
}

// transfer is what first meetings of candidates with keys have taught: whether
// a candidate that has delivered elsewhere is the likelier, or the less likely,
// to deliver where it was never tried. Its two predictions compete: the
// candidate's mean as it ranks, and the mean of all first meetings of candidates
// that have, or have not, delivered before. Each weighs as its errors say
// (Bayesian model averaging, as for the spreads).
type transfer struct {
	first [2]meetings // of candidates that have not delivered, and that have
	loss  [2]float64  // squared errors of the candidate's mean, and of theirs
}

// meetings are first meetings, with worth in units of the scale, in [0,1].
type meetings struct{ n, sum float64 }

const (
	transferOdds   = 10 // of the candidate's mean, before any meeting
	transferPooled = 4  // meetings of all kinds that those of one kind begin with
)

// unit is a worth in units of the scale, in [0,1].
func (h *head) unit(worth float64) float64 { return min(1, max(0, (worth-h.low())/h.scale())) }

func class(proven bool) int {
	if proven {
		return 1
	}
	return 0
}

// expects is what a first meeting is worth, by the meetings so far.
func (t *transfer) expects(proven bool) float64 {
	all := (t.first[0].sum + t.first[1].sum + 1) / (t.first[0].n + t.first[1].n + 2)
	of := t.first[class(proven)]
	return (of.sum + transferPooled*all) / (of.n + transferPooled)
}

// weight is that of expects against the candidate's mean.
func (t *transfer) weight(h *head) float64 {
	noise2 := h.noise2 / (h.scale() * h.scale())
	return 1 / (1 + transferOdds*math.Exp(min(700, (t.loss[1]-t.loss[0])/(2*noise2))))
}

// first is what a candidate is expected to be worth where it was never tried,
// by what first meetings were worth.
func (h *head) first(proven bool) float64 { return h.low() + h.scale()*h.transfer.expects(proven) }

// sane reports whether samples can come to the figures: rewards are bounded, and
// so are their sums.
func sane(fs ...float64) bool {
	for _, f := range fs {
		if !(math.Abs(f) <= 1e36) {
			return false
		}
	}
	return true
}

// summed reports whether sum can be that of n worths, each of which is within
// the bounds of a reward, apart from rounding.
func summed(n, sum float64) bool { return n >= 0 && sane(n) && math.Abs(sum) <= 2*maxReward*n }

package rank

import "math"

// What Learned knows of a skill is a model that every sample with a worth
// changes a little. It has four layers:
//
//   - each candidate has a mean worth, drawn from a normal prior whose mean
//     and spread are those of the skill's candidates (empirical Bayes), so that
//     many candidates with few samples each are told apart only as far as the
//     samples go;
//   - in a context (a situation's key, or the neighbourhood of its features)
//     all candidates may do better or worse, and one candidate may differ from
//     the others; only the second matters for the order;
//   - what a candidate that was never tried in a context does there is
//     predicted by its mean, or by whether it has delivered anywhere: in some
//     skills who is good is good everywhere, in others each candidate is there
//     for one kind of situation (see transfer.go);
//   - how far candidates differ by context is not assumed: several spreads,
//     zero among them, predict every sample before it counts, and each has the
//     weight that its predictions earned (Bayesian model averaging).
//
// The constants are in units of the skill's scale: 1 for successes, the range
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

// arm is what a model knows of a candidate.
type arm struct {
	n, sum   float64 // of worth; fading beyond maxEvidence
	epoch    uint32  // how often the candidate was seen to change
	up, down change
	proven   bool // it has delivered: a worth in the upper half of the scale
	rating   rating
}

// posterior returns mean and variance of the candidate's mean worth, given
// the prior's mean, and a variance that the prior has at least.
func (a *arm) posterior(h *head, prior, least float64) (mean, variance float64) {
	spread2 := max(h.spread2, least)
	precision := 1/spread2 + a.n/h.noise2
	return (prior/spread2 + a.sum/h.noise2) / precision, 1 / precision
}

// add takes in a sample.
func (a *arm) add(worth float64) {
	a.n++
	a.sum += worth
	if a.n > maxEvidence {
		a.sum *= maxEvidence / a.n
		a.n = maxEvidence
	}
}

// model is what Learned knows of a skill. It is changed by update only.
type model struct {
	head     head
	arms     []arm
	index    map[string]int32 // of a candidate in arms
	settings map[uint64]*setting
	near     near
}

func newModel() *model {
	return &model{head: newHead(), index: make(map[string]int32), settings: make(map[uint64]*setting)}
}

// update is what one sample changes. The model is as before until apply.
type update struct {
	head      head
	candidate string
	index     int32 // in arms; their number for a new candidate
	arm       arm

	key     uint64
	setting *setting // nil: no key
	evicted uint64   // key of a context that makes room
	evicts  bool

	point *pointUpdate // nil: no features
}

// fact is a sample as a model sees it.
type fact struct {
	candidate string
	key       string
	features  []float64
	worth     float64
	known     bool // worth is known
	rewarded  bool // worth is the host's reward

	rated    bool // success is known
	success  bool
	usd, sec float64
	failed   []string
}

// learn makes u what a sample changes. A stationary model does not look for
// changes of quality.
func (m *model) learn(u *update, f *fact, stationary bool) {
	*u = update{head: m.head, candidate: f.candidate}
	u.head.seen++
	i, ok := m.index[f.candidate]
	if !ok {
		i = int32(len(m.arms))
	}
	u.index = i
	if ok {
		u.arm = m.arms[i]
	}
	if f.rated {
		hard := m.tried(f.failed)
		u.arm.rating.learn(&hard, f)
	}
	if !f.known {
		return
	}
	h, drift := &u.head, 0.0
	h.n++
	if !f.rewarded || h.widen(f.worth) {
		e := m.predict(u, f)
		h.sum2 = keepLoss*h.sum2 + e*e
		h.n2 = keepLoss*h.n2 + 1
		drift = e / math.Sqrt(h.noise2)
		m.meet(u, f)
	}
	u.arm.add(f.worth)
	u.arm.proven = u.arm.proven || h.unit(f.worth) > 0.5
	if !stationary {
		u.arm.watch(drift, f.worth)
	}
	h.derive()
	m.refresh(u)
	m.place(u, f)
}

// predict scores every model by its prediction of the sample, and returns the
// error of their average.
func (m *model) predict(u *update, f *fact) float64 {
	h := &m.head
	mean, _ := u.arm.posterior(h, h.mean, 0)
	var views [kinds]view
	views[byKey] = m.keyView(f.key)
	views[byFeatures] = m.nearView(f.features)
	defer views[byFeatures].release()
	average := 0.0
	for j := range spreads {
		var p [kinds]float64
		for k := range views {
			p[k] = mean
			if v := &views[k]; v.ok {
				shift, _ := v.shift(h, u.index, &u.arm, mean, spreads[j]*h.scale())
				p[k] += v.shared + shift
			}
		}
		switch { // what cannot predict is neither better nor worse than what can
		case !views[byKey].ok:
			p[byKey] = p[byFeatures]
		case !views[byFeatures].ok:
			p[byFeatures] = p[byKey]
		}
		for k := range p {
			e := f.worth - p[k]
			u.head.loss[k][j] = keepLoss*u.head.loss[k][j] + e*e
			average += h.weight[k][j] * p[k]
		}
	}
	return f.worth - average
}

// refresh estimates mean and spread of the candidates' means: one step of
// expectation maximisation, over all candidates if they are few, else at
// every so many samples.
func (m *model) refresh(u *update) {
	h := &u.head
	if every := uint64(len(m.arms))/refreshEach + 1; h.seen%every != 0 {
		return
	}
	unit := h.scale()
	u2 := unit * unit
	weight := priorMeanWeight / u2
	sum := weight * (h.low() + unit/2)
	each := func(visit func(a *arm)) {
		for i := range m.arms {
			if int32(i) != u.index && m.arms[i].n > 0 {
				visit(&m.arms[i])
			}
		}
		visit(&u.arm)
	}
	each(func(a *arm) {
		w := 1 / (h.spread2 + h.noise2/a.n)
		weight += w
		sum += w * a.sum / a.n
	})
	h.mean = sum / weight
	squares, n := priorSpreadN*priorSpread*priorSpread*u2, float64(priorSpreadN)
	each(func(a *arm) {
		mean, variance := a.posterior(h, h.mean, 0)
		squares += (mean-h.mean)*(mean-h.mean) + variance
		n++
	})
	h.spread2 = squares / n
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

// place takes the sample into its contexts.
func (m *model) place(u *update, f *fact) {
	if f.key != "" {
		u.key = settingID(f.key)
		u.setting = m.settings[u.key].with(u, f.worth)
		if m.settings[u.key] == nil && len(m.settings) >= maxSettings {
			u.evicted, u.evicts = m.idlest(), true
		}
	}
	if m.near.fits(f.features) {
		u.point = m.near.with(u, f)
	}
}

// apply makes the change.
func (m *model) apply(u *update) {
	m.head = u.head
	if int(u.index) == len(m.arms) {
		m.arms = append(m.arms, u.arm)
		m.index[u.candidate] = u.index
	}
	m.arms[u.index] = u.arm
	if u.evicts {
		delete(m.settings, u.evicted)
	}
	if u.setting != nil {
		m.settings[u.key] = u.setting
	}
	if u.point != nil {
		m.near.apply(u.point)
	}
}

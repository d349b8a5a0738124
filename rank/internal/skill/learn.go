package skill

import "math"

// Fact is a sample as a Model sees it.
type Fact struct {
	Candidate string
	Setting   uint64 // of the situation's key: see [SettingOf]
	Words     uint64
	Features  []float64

	Known    bool    // Worth is known
	Rewarded bool    // Worth is the host's reward
	Worth    float64 // of the attempt

	Rated        bool // Success is known
	Again        bool // of an attempt whose cost and time have counted
	Success      bool
	USD, Seconds float64
	Failed       []string
}

// Update is what one sample changes. The Model is as before until Apply.
type Update struct {
	head      head
	candidate string
	index     int32 // in arms; their number for a new candidate
	arm       arm

	id      uint64   // of the setting
	setting *setting // nil: no key
	evicted uint64   // setting that makes room
	evicts  bool

	placed *placed // nil: no features
}

// Learn makes u what a sample changes. A stationary Model does not look for
// changes of quality.
func (m *Model) Learn(u *Update, f *Fact, stationary bool) {
	*u = Update{head: m.head, candidate: f.Candidate}
	u.head.seen++
	if u.index, u.arm = m.arm(f.Candidate); u.index < 0 {
		u.index = int32(len(m.arms))
	}
	if f.Rated {
		hard := m.Tried(f.Failed)
		r, was := &u.arm.rating, u.arm.rating
		if r.Learn(&hard, f.Success, f.USD, f.Seconds); f.Again {
			r.N, r.USD, r.Seconds = was.N, was.USD, was.Seconds
		}
	}
	if !f.Known {
		return
	}
	h, drift := &u.head, 0.0
	h.n++
	if !f.Rewarded || h.widen(f.Worth) {
		v := m.keyView(f.Setting, f.Words)
		e := m.predict(u, f, v)
		h.sum2 = keepLoss*h.sum2 + e*e
		h.n2 = keepLoss*h.n2 + 1
		drift = e / math.Sqrt(h.noise2)
		if v.ok && v.evidence(u.index, &u.arm).n == 0 {
			u.meet(&m.head, f.Worth)
		}
	}
	u.arm.earn(f.Worth)
	u.arm.proven = u.arm.proven || h.unit(f.Worth) > 0.5
	if !stationary {
		u.arm.watch(drift, f.Worth)
	}
	h.derive()
	m.refresh(u)
	m.place(u, f)
}

// predict scores every model by its prediction of the sample, whose key is seen as v, and
// returns the error of their average.
func (m *Model) predict(u *Update, f *Fact, v view) float64 {
	h := &m.head
	mean, _ := u.arm.posterior(h, h.mean, 0)
	views := [kinds]view{byKey: v, byFeatures: m.nearView(f.Features)}
	defer views[byFeatures].release()
	var seen [kinds]evidence
	for k := range views {
		seen[k] = views[k].evidence(u.index, &u.arm)
	}
	average := 0.0
	for j := range spreads {
		var p [kinds]float64
		for k := range views {
			p[k] = mean
			if v := &views[k]; v.ok {
				p[k] += v.shared + v.shift(h, seen[k], mean, spreads[j]*h.scale())
			}
		}
		switch { // what cannot predict is as good as what can
		case !views[byKey].ok:
			p[byKey] = p[byFeatures]
		case !views[byFeatures].ok:
			p[byFeatures] = p[byKey]
		}
		for k := range p {
			e := f.Worth - p[k]
			u.head.loss[k][j] = keepLoss*u.head.loss[k][j] + e*e
			average += h.weight[k][j] * p[k]
		}
	}
	return f.Worth - average
}

// meet takes a first meeting in, which is not counted in the candidate's mean yet; h is
// from before it.
func (u *Update) meet(h *head, worth float64) {
	t := &u.head.transfer
	mean, _ := u.arm.posterior(h, h.mean, h.noise2/mostPrior)
	worth = u.head.unit(worth)
	for i, p := range [...]float64{h.unit(mean), t.expects(u.arm.proven)} {
		t.loss[i] = keepLoss*t.loss[i] + (worth-p)*(worth-p)
	}
	of := &t.first[class(u.arm.proven)]
	of.n++
	of.sum += worth
}

// refresh estimates mean and spread of the candidates' means: one step of
// expectation maximisation, over all candidates if they are few, else at
// every so many samples.
func (m *Model) refresh(u *Update) {
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

// place takes the sample into its contexts.
func (m *Model) place(u *Update, f *Fact) {
	if u.id = f.Setting; u.id != 0 {
		old := m.settings.by[u.id]
		u.setting = old.with(&u.head, u.index, &u.arm, f.Worth, f.Words)
		if old == nil && len(m.settings.by) >= maxSettings {
			u.evicted, u.evicts = m.settings.idlest(), true
		}
	}
	if m.places.Fits(f.Features) {
		u.placed = m.places.with(f.Features, u.index, u.arm.epoch, f.Worth)
	}
}

// Apply makes the change.
func (m *Model) Apply(u *Update) {
	m.head = u.head
	if int(u.index) == len(m.arms) {
		m.arms = append(m.arms, u.arm)
		m.index[u.candidate] = u.index
	}
	m.arms[u.index] = u.arm
	if u.evicts {
		m.settings.evict(u.evicted)
	}
	if u.setting != nil {
		m.settings.replace(u.id, u.setting)
	}
	if u.placed != nil {
		m.places.apply(u.placed)
	}
}

package rank

import (
	"cmp"
	"math"
	"slices"
)

// model is what Learned knows of a skill. It is changed by update only.
type model struct {
	head     head
	arms     []arm
	index    map[string]int32 // of a candidate in arms
	settings map[uint64]*setting
	said     []said // by settings
	near     near
}

func newModel() *model {
	return &model{head: newHead(), index: make(map[string]int32), settings: make(map[uint64]*setting)}
}

// tried is the difficulty of a task at which these have failed.
func (m *model) tried(failed []string) difficulty {
	d := untried
	for _, name := range failed {
		r := firstRating
		if i, ok := m.index[name]; ok {
			r = m.arms[i].rating
		}
		c := curve(r.at)
		d.failed(&c)
	}
	d.norm()
	return d
}

// settingID stands for a situation's key in memory and in the store, so that
// a key that holds a secret need not be sanitized to be found again.
func settingID(key string) uint64 { return hash(0, key) }

// cell is what a candidate did in one context, as it is stored.
type cell struct {
	Arm   int32   `cbor:"1,keyasint,omitempty"`
	Epoch uint32  `cbor:"2,keyasint,omitempty"` // of the candidate; an older cell is void
	N     float64 `cbor:"3,keyasint,omitempty"`
	Sum   float64 `cbor:"4,keyasint,omitempty"`
	// What the cell adds to the context's sums.
	Weight float64 `cbor:"5,keyasint,omitempty"`
	Moved  float64 `cbor:"6,keyasint,omitempty"`
	Used   uint64  `cbor:"7,keyasint,omitempty"` // when, in samples of the skill
}

// setting is what happened in the situations of one key, as it is stored. It is not
// changed once it is in a model.
type setting struct {
	Weight float64 `cbor:"1,keyasint,omitempty"` // precision of the candidates' common shift
	Moved  float64 `cbor:"2,keyasint,omitempty"` // that times their shift
	Used   uint64  `cbor:"3,keyasint,omitempty"`
	Cells  []cell  `cbor:"4,keyasint,omitempty"`
	Words  uint64  `cbor:"300,keyasint,omitempty"`
}

func (c *setting) valid(arms int) bool {
	ok := len(c.Cells) <= maxCells && sane(c.Weight, c.Moved)
	for _, x := range c.Cells {
		ok = ok && x.Arm >= 0 && int(x.Arm) < arms && summed(x.N, x.Sum) && sane(x.Weight, x.Moved)
	}
	return ok
}

func (c *setting) find(arm int32) *cell {
	for i := range c.Cells {
		if c.Cells[i].Arm == arm {
			return &c.Cells[i]
		}
	}
	return nil
}

// What keys of like words say of one another.
const (
	mostKeys = 4 // that speak for another
	mostLike = 2 // samples that those there weigh, together
)

// said are the words of a setting's key.
type said struct {
	key   uint64
	words uint64
}

// like is a setting of another key whose words are much the same.
type like struct {
	*setting
	share float64
}

// likes returns the settings of the keys whose words are most like these.
func (m *model) likes(key uint64, words uint64) (out []like) {
	for _, s := range m.said {
		if share := alike(words, s.words); share > 0 && s.key != key {
			out = append(out, like{m.settings[s.key], share})
		}
	}
	slices.SortFunc(out, func(a, b like) int { // no two were used at once
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.Used, a.Used))
	})
	return out[:min(len(out), mostKeys)]
}

// hearWords notes the words of a setting that is new, or has changed.
func (m *model) hearWords(key uint64, words uint64) {
	i := slices.IndexFunc(m.said, func(s said) bool { return s.key == key })
	if i < 0 && words != 0 {
		i, m.said = len(m.said), append(m.said, said{key: key})
	}
	if i >= 0 {
		m.said[i].words = words
	}
}

// hearsay is what a candidate did where much the same was said, in samples.
func hearsay(likes []like, i int32, a *arm) (n, sum float64) {
	for _, l := range likes {
		if c := l.find(i); c != nil && c.Epoch == a.epoch {
			n += l.share * c.N
			sum += l.share * c.Sum
		}
	}
	if n > mostLike {
		n, sum = mostLike, sum*mostLike/n
	}
	return n, sum
}

// view is what a model knows of one kind of context of a situation.
type view struct {
	ok      bool
	shared  float64  // what the context does to all candidates
	setting *setting // byKey
	likes   []like
	around  *around // byFeatures
}

func (m *model) keyView(key string, words uint64) view {
	if key == "" {
		return view{}
	}
	id := settingID(key)
	v := view{ok: true, setting: m.settings[id], likes: m.likes(id, words)}
	if c := v.setting; c != nil {
		u := sharedSpread * m.head.scale()
		v.shared = c.Moved / (1/(u*u) + c.Weight)
	}
	return v
}

// nearView gathers the samples of the neighbours, the nearer the heavier, and
// what they say of all candidates. It has to be released.
func (m *model) nearView(x []float64) view {
	n := &m.near
	if len(n.points) == 0 || !n.fits(x) {
		return view{}
	}
	a := arounds.Get().(*around)
	a.x = narrow(a.x[:0], x)
	a.found = n.nearest(a.found[:0], a.x)
	if len(a.samples) < len(m.arms) {
		a.samples = make([]evidence, len(m.arms))
	}
	edge := a.found[len(a.found)-1].distance
	if len(a.found) <= neighbours {
		edge *= 2 // too few to say where the neighbourhood ends
	}
	for _, f := range a.found {
		weight := 1.0
		if edge > 0 {
			weight -= float64(f.distance / edge)
		}
		a.gather(m, &n.points[f.slot], weight)
	}
	return view{ok: true, around: a, shared: a.shared(m)}
}

func (a *around) gather(m *model, p *point, weight float64) {
	if weight <= 0 {
		return
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		if c.Epoch != m.arms[c.Arm].epoch {
			continue
		}
		e := &a.samples[c.Arm]
		if e.n == 0 {
			a.touched = append(a.touched, c.Arm)
		}
		e.n += weight * c.N
		e.sum += weight * c.Sum
	}
}

// shared is what the neighbourhood does to all candidates.
func (a *around) shared(m *model) float64 {
	h := &m.head
	u := sharedSpread * h.scale()
	weight, moved := 1/(u*u), 0.0
	prior, precision := h.mean/h.spread2, 1/h.spread2
	for _, i := range a.touched {
		e, arm := &a.samples[i], &m.arms[i]
		mean := (prior + arm.sum/h.noise2) / (precision + arm.n/h.noise2) // as posterior has it
		w := 1 / (h.context2[byFeatures] + h.noise2/e.n)
		weight += w
		moved += w * (e.sum/e.n - mean)
	}
	return moved / weight
}

// release gives back what the view borrowed.
func (v *view) release() {
	a := v.around
	if a == nil {
		return
	}
	for _, i := range a.touched {
		a.samples[i] = evidence{}
	}
	a.touched = a.touched[:0]
	v.around = nil
	arounds.Put(a)
}

// evidence returns number and sum of the candidate's samples in the context.
func (v *view) evidence(i int32, a *arm) (n, sum float64) {
	if v.around != nil {
		return v.around.evidence(i)
	}
	n, sum = hearsay(v.likes, i, a)
	if v.setting != nil {
		if x := v.setting.find(i); x != nil && x.Epoch == a.epoch {
			n, sum = n+x.N, sum+x.Sum
		}
	}
	return n, sum
}

// cold reports whether a candidate was never tried where the view looks.
func (v *view) cold(i int32, a *arm) bool {
	if i < 0 {
		return true
	}
	n, _ := v.evidence(i, a)
	return n == 0
}

// shift is what the context is expected to do to one candidate alone, if
// candidates differ by spread.
func (v *view) shift(h *head, i int32, a *arm, mean, spread float64) float64 {
	n, sum := v.evidence(i, a)
	prior2 := spread * spread
	if n == 0 || prior2 == 0 {
		return 0
	}
	return prior2 / (prior2 + h.noise2/n) * (sum/n - (mean + v.shared))
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

// What wall time and cost are worth where the host gives no reward: shares of
// a success, per doubling of 1 + seconds and of 1 + US dollars.
const (
	worthOfTime = 0.02
	worthOfCost = 0.1
)

// fact is a sample as a model sees it.
type fact struct {
	candidate string
	key       string
	words     uint64
	features  []float64
	worth     float64
	known     bool // worth is known
	rewarded  bool // worth is the host's reward

	rated    bool // success is known
	success  bool
	usd, sec float64
	failed   []string
}

// spent is what the attempt cost, as reported or else as estimated.
func (s *Sample) spent() float64 { return cmp.Or(s.CostUSD, s.APICostUSD) }

// fact returns what a model needs of the sample.
func (s *Sample) fact() fact {
	f := fact{
		candidate: s.Candidate, key: s.Situation.Key, words: s.Situation.Words, features: s.Situation.Features,
		rated: !s.Unknown, success: s.Success, failed: s.Situation.Failed,
		usd: s.spent(), sec: min(s.Wall, MaxWall).Seconds(),
	}
	switch {
	case s.Reward != nil:
		f.worth, f.known, f.rewarded = *s.Reward, true, true
	case !s.Unknown:
		if s.Success {
			f.worth = 1
		}
		f.worth -= worthOfTime * math.Log2(1+min(s.Wall, MaxWall).Seconds())
		f.worth -= worthOfCost * math.Log2(1+s.spent())
		f.known = true
	}
	return f
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
		u.arm.rating.learn(&hard, f.success, f.usd, f.sec)
	}
	if !f.known {
		return
	}
	h, drift := &u.head, 0.0
	h.n++
	if !f.rewarded || h.widen(f.worth) {
		v := m.keyView(f.key, f.words)
		e := m.predict(u, f, v)
		h.sum2 = keepLoss*h.sum2 + e*e
		h.n2 = keepLoss*h.n2 + 1
		drift = e / math.Sqrt(h.noise2)
		m.meet(u, f, &v)
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

// predict scores every model by its prediction of the sample, whose key is seen as v, and
// returns the error of their average.
func (m *model) predict(u *update, f *fact, v view) float64 {
	h := &m.head
	mean, _ := u.arm.posterior(h, h.mean, 0)
	var views [kinds]view
	views[byKey] = v
	views[byFeatures] = m.nearView(f.features)
	defer views[byFeatures].release()
	average := 0.0
	for j := range spreads {
		var p [kinds]float64
		for k := range views {
			p[k] = mean
			if v := &views[k]; v.ok {
				p[k] += v.shared + v.shift(h, u.index, &u.arm, mean, spreads[j]*h.scale())
			}
		}
		switch { // what cannot predict is as good as what can
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

// meet takes a first meeting into the update, which has not counted the sample
// in the candidate's mean yet.
func (m *model) meet(u *update, f *fact, v *view) {
	if !v.ok || !v.cold(u.index, &u.arm) {
		return
	}
	h, t := &m.head, &u.head.transfer
	mean, _ := u.arm.posterior(h, h.mean, h.noise2/mostPrior)
	worth := u.head.unit(f.worth)
	for i, p := range [...]float64{h.unit(mean), t.expects(u.arm.proven)} {
		t.loss[i] = keepLoss*t.loss[i] + (worth-p)*(worth-p)
	}
	of := &t.first[class(u.arm.proven)]
	of.n++
	of.sum += worth
}

// place takes the sample into its contexts.
func (m *model) place(u *update, f *fact) {
	if f.key != "" {
		u.key = settingID(f.key)
		u.setting = m.settings[u.key].with(u, f)
		if m.settings[u.key] == nil && len(m.settings) >= maxSettings {
			u.evicted, u.evicts = m.idlest(), true
		}
	}
	if m.near.fits(f.features) {
		u.point = m.near.with(f.features, u.index, u.arm.epoch, f.worth)
	}
}

// with returns the context with a sample added; c may be nil.
func (c *setting) with(u *update, f *fact) *setting {
	h := &u.head
	out := &setting{Used: h.seen, Words: f.words}
	if c != nil {
		out.Weight, out.Moved, out.Words = c.Weight, c.Moved, cmp.Or(f.words, c.Words)
		out.Cells = slices.Grow(out.Cells, len(c.Cells)+1)
		out.Cells = append(out.Cells, c.Cells...)
	}
	x := out.find(u.index)
	if x == nil {
		x = out.room()
		x.Arm = u.index
	}
	out.Weight -= x.Weight
	out.Moved -= x.Moved
	if x.Epoch != u.arm.epoch {
		*x = cell{Arm: u.index, Epoch: u.arm.epoch}
	}
	x.N++
	x.Sum += f.worth
	x.Used = h.seen
	mean, _ := u.arm.posterior(h, h.mean, 0)
	x.Weight = 1 / (h.context2[byKey] + h.noise2/x.N)
	x.Moved = x.Weight * (x.Sum/x.N - mean)
	out.Weight += x.Weight
	out.Moved += x.Moved
	return out
}

// room returns an empty cell, that of the candidate used longest ago if the
// context is full.
func (c *setting) room() *cell {
	if len(c.Cells) < maxCells {
		c.Cells = append(c.Cells, cell{})
		return &c.Cells[len(c.Cells)-1]
	}
	x := &c.Cells[0]
	for i := range c.Cells {
		if c.Cells[i].Used < x.Used {
			x = &c.Cells[i]
		}
	}
	c.Weight -= x.Weight
	c.Moved -= x.Moved
	*x = cell{}
	return x
}

// idlest returns the key of the context that was used longest ago.
func (m *model) idlest() uint64 {
	var id uint64
	used := uint64(math.MaxUint64)
	for k, c := range m.settings {
		if c.Used < used { // no two are equal: each sample has one key
			id, used = k, c.Used
		}
	}
	return id
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
		m.said = slices.DeleteFunc(m.said, func(s said) bool { return s.key == u.evicted })
	}
	if u.setting != nil {
		m.settings[u.key] = u.setting
		m.hearWords(u.key, u.setting.Words)
	}
	if u.point != nil {
		m.near.apply(u.point)
	}
}

package rank

import (
	"math"
	"slices"
)

// A task has a difficulty, and a candidate a rating: it succeeds with chance
// σ(rating − steep·difficulty), where difficulties are standard normal (Rasch,
// 1960). Who has failed at a task says how difficult it is, so that a
// candidate that is only asked for the hard ones is not taken for a bad one.
const (
	steep      = 4.5  // logits by which tasks differ
	firstRank  = 3.0  // rating that a candidate begins with …
	firstRank2 = 4.0  // … and its variance
	curiosity  = 0.2  // deviations added for what is not known
	firstCost  = 0.25 // share of the mean that a first attempt costs
)

// grid are difficulties, with equal steps between.
var grid = [...]float64{-2.4, -2, -1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.6, 2, 2.4}

// difficulty is a distribution over the grid.
type difficulty [len(grid)]float64

// untried is the difficulty of a task that was not tried.
var untried = func() (d difficulty) {
	for i, x := range grid {
		d[i] = math.Exp(-x * x / 2)
	}
	d.norm()
	return d
}()

func (d *difficulty) norm() {
	sum := 0.0
	for _, w := range d {
		sum += w
	}
	for i := range d {
		d[i] /= max(sum, math.SmallestNonzeroFloat64)
	}
}

// curve is the chance of a success by difficulty.
func curve(rating float64) (c difficulty) {
	for i, x := range grid {
		c[i] = 1 / (1 + math.Exp(steep*x-rating))
	}
	return c
}

// chance is that of a success at a task of this difficulty.
func (d *difficulty) chance(c *difficulty) (p float64) {
	for i, w := range d {
		p += w * c[i]
	}
	return p
}

// failed takes a failure in.
func (d *difficulty) failed(c *difficulty) {
	for i := range d {
		d[i] *= 1 - c[i]
	}
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

// rating is what a candidate can do, in logits, and what its attempts took.
type rating struct {
	at, variance float64
	n, usd, sec  float64
}

var firstRating = rating{at: firstRank, variance: firstRank2}

// learn takes an attempt at a task of the difficulty into the rating, by one
// step of an extended Kalman filter.
func (r *rating) learn(d *difficulty, f *fact) {
	if r.variance == 0 {
		*r = firstRating
	}
	r.n++
	r.usd += f.usd
	r.sec += f.sec
	if r.n > maxEvidence {
		share := maxEvidence / r.n
		r.n, r.usd, r.sec = r.n*share, r.usd*share, r.sec*share
	}
	c := curve(r.at)
	p, slope, y := 0.0, 0.0, 0.0
	for i, w := range d {
		p += w * c[i]
		slope += w * c[i] * (1 - c[i])
	}
	if f.success {
		y = 1
	}
	gain := r.variance * slope / (slope*slope*r.variance + p*(1-p) + 1e-6)
	r.at += gain * (y - p)
	r.variance = max(r.variance-gain*slope*r.variance, leastRank2)
}

// leastRank2 is the variance that a rating keeps: candidates change.
const leastRank2 = 0.01

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

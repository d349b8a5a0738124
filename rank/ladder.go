package rank

import (
	"math"
	"slices"
)

// Ladder returns the policy for tasks that several candidates may try one after the other, where a gate tells
// whether one has solved it: who is to try next, given who has failed (Task.Failed). worth is what a solved
// task is worth in US dollars. Who is not worth the price is left out; when none is left, giving up is best.
//
// A task has a difficulty and a candidate a rating: it succeeds with chance σ(rating − 4.5·difficulty), where
// difficulties are standard normal (Rasch, 1960). Who failed tells how difficult a task is, so that hard ones
// make nobody bad. The order of samples matters a little. First is the best chance per dollar, which makes a
// solved task cheapest (Weitzman, 1979). The Score is what the attempt is worth, less its price.
func (b *Book) Ladder(worth float64) Policy {
	return policy{b, func(sk *skill, t Task, cs []Candidate) []contender { return sk.ladder(worth, t, cs) }}
}

const (
	steep      = 4.5  // logits by which tasks differ
	leastDoubt = 0.01 // variance that a rating keeps: candidates change
	mostRated  = 2000 // attempts that a rating remembers
	curiosity  = 0.5  // deviations of a rating added for what is not known
	firstCost  = 0.25 // share of the mean cost that a first attempt is taken to cost
	leastPrice = 1e-6 // in a task's worth; of those that cost less the likelier one is first
)

// grid are difficulties, equal steps apart; at each the odds of a failure are harder times those before.
var (
	grid   = [...]float64{-2.4, -2, -1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.6, 2, 2.4}
	harder = math.Exp(steep * 0.4)

	firstRating = rating{At: 3, Doubt: 4} // of a candidate that was never tried
)

// difficulty is a distribution over the grid; curve is the chance of a success by difficulty.
type (
	difficulty [len(grid)]float64
	curve      [len(grid)]float64
)

var untried = func() (d difficulty) {
	for i, x := range grid {
		d[i] = math.Exp(-x * x / 2)
	}
	d.scale()
	return d
}()

func (d *difficulty) scale() {
	total := 0.0
	for _, w := range d {
		total += w
	}
	for i := range d {
		d[i] /= max(total, math.SmallestNonzeroFloat64)
	}
}

func (d *difficulty) chance(c *curve) (p float64) {
	for i, w := range d {
		p += w * c[i]
	}
	return p
}

// rating is what a candidate can do, and what its attempts took.
type rating struct {
	At, Doubt   float64 // logits, and their variance
	USD, Priced float64 // of those whose cost is known, which are so many
}

func (r *rating) curve(deviations float64) (c curve) {
	odds := math.Exp(steep*grid[0] - r.At - deviations*math.Sqrt(r.Doubt)) // of a failure
	for i := range c {
		c[i] = 1 / (1 + odds)
		odds *= harder
	}
	return c
}

// learn takes an attempt at a task of the difficulty in, by one step of an extended Kalman filter.
func (r *rating) learn(d difficulty, success bool, billionths int64) {
	if billionths >= 0 {
		r.USD += float64(billionths) / billion
		r.Priced++
	}
	if r.Priced > mostRated {
		r.USD, r.Priced = r.USD*mostRated/r.Priced, mostRated
	}
	c := r.curve(0)
	p, slope, y := d.chance(&c), 0.0, 0.0
	for i, w := range d {
		slope += w * c[i] * (1 - c[i])
	}
	if success {
		y = 1
	}
	gain := r.Doubt * slope / (slope*slope*r.Doubt + p*(1-p) + 1e-6)
	r.At += gain * (y - p)
	r.Doubt = max(r.Doubt-gain*slope*r.Doubt, leastDoubt)
}

// difficulty returns that of a task at which these candidates have failed.
func (sk *skill) difficulty(failed []string) difficulty {
	d := untried
	for _, name := range failed {
		c := sk.known(name).rec.Rating.curve(0)
		for i := range d {
			d[i] *= 1 - c[i]
		}
		d.scale()
	}
	return d
}

// rung is a candidate for the next attempt.
type rung struct{ chance, price float64 }

func (sk *skill) ladder(worth float64, t Task, cs []Candidate) []contender {
	var fs []contender
	for i, g := range sk.rungs(t, cs) {
		if net := worth*g.chance - g.price; net > 0 {
			fs = append(fs, contender{i, net, g.chance / max(g.price, leastPrice*worth)})
		}
	}
	return fs
}

// rungs returns the candidates with their chances at a task and their prices.
func (sk *skill) rungs(t Task, cs []Candidate) []rung {
	hard := sk.difficulty(t.Failed)
	var usd, priced float64
	for _, p := range sk.sorted {
		usd, priced = usd+p.rec.Rating.USD, priced+p.rec.Rating.Priced
	}
	usual := firstCost * usd / max(priced, 1)
	rungs := make([]rung, len(cs))
	for i := range cs {
		g, r := &rungs[i], &sk.known(cs[i].Name).rec.Rating
		g.price = cs[i].Price
		if !slices.Contains(t.Failed, cs[i].Name) { // once is enough
			c := r.curve(curiosity)
			g.chance = hard.chance(&c)
		}
		if g.price == 0 {
			g.price = (usual + r.USD) / (1 + r.Priced)
		}
	}
	return rungs
}

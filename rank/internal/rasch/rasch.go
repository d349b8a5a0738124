// Package rasch says how likely a candidate is to solve a task. A task has a
// difficulty, and a candidate a rating: it succeeds with chance
// σ(rating − steep·difficulty), where difficulties are standard normal (Rasch,
// 1960). Who has failed at a task says how difficult it is, so that a
// candidate that is only asked for the hard ones is not taken for a bad one.
package rasch

import "math"

const (
	steep      = 4.5  // logits by which tasks differ
	first      = 3.0  // rating that a candidate begins with …
	first2     = 4.0  // … and its variance
	least2     = 0.01 // variance that a rating keeps: candidates change
	maxSamples = 2000 // that a rating remembers, the older less
)

// grid are difficulties, with equal steps between.
var grid = [...]float64{-2.4, -2, -1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.6, 2, 2.4}

// Difficulty is a distribution over difficulties.
type Difficulty [len(grid)]float64

// Curve is the chance of a success by difficulty.
type Curve [len(grid)]float64

// Untried is the difficulty of a task that was not tried.
var Untried = func() (d Difficulty) {
	for i, x := range grid {
		d[i] = math.Exp(-x * x / 2)
	}
	d.Norm()
	return d
}()

// Norm makes the sum 1.
func (d *Difficulty) Norm() {
	sum := 0.0
	for _, w := range d {
		sum += w
	}
	for i := range d {
		d[i] /= max(sum, math.SmallestNonzeroFloat64)
	}
}

// Chance is that of a success at a task of this difficulty.
func (d *Difficulty) Chance(c *Curve) (p float64) {
	for i, w := range d {
		p += w * c[i]
	}
	return p
}

// Failed takes a failure in, without Norm.
func (d *Difficulty) Failed(c *Curve) {
	for i := range d {
		d[i] *= 1 - c[i]
	}
}

// Rating is what a candidate can do, in logits, and what its attempts took.
type Rating struct {
	At, Variance    float64
	N, USD, Seconds float64
}

// First is the rating that a candidate begins with.
var First = Rating{At: first, Variance: first2}

// Curve is that of a candidate whose rating is so many deviations higher.
func (r *Rating) Curve(deviations float64) (c Curve) {
	at := r.At + deviations*math.Sqrt(r.Variance)
	for i, x := range grid {
		c[i] = 1 / (1 + math.Exp(steep*x-at))
	}
	return c
}

// Learn takes an attempt at a task of the difficulty into the rating, by one
// step of an extended Kalman filter.
func (r *Rating) Learn(d *Difficulty, success bool, usd, seconds float64) {
	if r.Variance == 0 {
		*r = First
	}
	r.N++
	r.USD += usd
	r.Seconds += seconds
	if r.N > maxSamples {
		share := maxSamples / r.N
		r.N, r.USD, r.Seconds = r.N*share, r.USD*share, r.Seconds*share
	}
	c := r.Curve(0)
	p, slope, y := 0.0, 0.0, 0.0
	for i, w := range d {
		p += w * c[i]
		slope += w * c[i] * (1 - c[i])
	}
	if success {
		y = 1
	}
	gain := r.Variance * slope / (slope*slope*r.Variance + p*(1-p) + 1e-6)
	r.At += gain * (y - p)
	r.Variance = max(r.Variance-gain*slope*r.Variance, least2)
}

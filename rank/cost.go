package rank

import (
	"cmp"
	"math"
)

// The price of tokens where a sample reports tokens and no cost: what the provider of a large model
// asks.
const (
	usdPerTokenIn  = 3e-6
	usdPerTokenOut = 15e-6
)

// Costs sums up what attempts have cost, and how many were successes. The zero value is empty and
// ready. Concurrent use needs a lock of the caller.
type Costs struct {
	// USD is the sum in US dollars, failures and unknown outcomes included.
	USD float64

	successes, failures moments
}

// moments of numbers: how many, their sum, and that of their squares.
type moments struct{ n, sum, squares float64 }

// Add counts one attempt. A sample with tokens, no cost and no estimate counts at 3
// dollars per million tokens in and 15 per million out.
func (c *Costs) Add(s *Sample) {
	usd := charge(s.CostUSD, s.APICostUSD, s.TokensIn, s.TokensOut)
	c.USD += usd
	m := &c.failures
	if s.Success && !s.Unknown {
		m = &c.successes
	}
	m.n++
	m.sum += usd
	m.squares += usd * usd
}

// Merge adds the costs of others.
func (c *Costs) Merge(others *Costs) {
	c.USD += others.USD
	for _, m := range [...][2]*moments{{&c.successes, &others.successes}, {&c.failures, &others.failures}} {
		m[0].n, m[0].sum, m[0].squares = m[0].n+m[1].n, m[0].sum+m[1].sum, m[0].squares+m[1].squares
	}
}

// charge returns what an attempt counts as, in US dollars.
func charge(cost, api float64, in, out int) float64 {
	return cmp.Or(cost, api, float64(in)*usdPerTokenIn+float64(out)*usdPerTokenOut)
}

// z is the quantile of a 95 % interval.
const z = 1.959964

// PerSuccess returns the price of a success: USD over successes. Without costs it is zero.
//
// The interval is that of Fieller (1954) for a ratio of means. With p the rate and a, b the mean costs
// of successes and failures, the ratio is (p·a + (1−p)·b)/p. p and its variance are those of Agresti
// and Coull (1998), with z²/2 successes and failures added, since few attempts do not tell the variance
// of a rate near 0 or 1.
func (c *Costs) PerSuccess() (out Price) {
	n := c.successes.n + c.failures.n
	if n == 0 || c.USD == 0 {
		return out
	}
	if c.successes.n > 0 {
		out.USD = c.USD / c.successes.n
	}
	a, a2 := c.mean(&c.successes)
	b, b2 := c.mean(&c.failures)
	p := (c.successes.n + z*z/2) / (n + z*z)
	p2 := p * (1 - p) / (n + z*z)

	cost := p*a + (1-p)*b
	cost2 := p2*(a-b)*(a-b) + p*p*a2 + (1-p)*(1-p)*b2
	both := p2 * (a - b) // covariance of the mean cost and the rate

	// The interval has the ratios r for which cost − r·p is less than z deviations from 0:
	// x·r² − 2·y·r + w ≤ 0.
	x, y, w := p*p-z*z*p2, cost*p-z*z*both, cost*cost-z*z*cost2
	root := y*y - x*w
	if root < 0 || y+math.Sqrt(root) <= 0 {
		return out
	}
	far := y + math.Sqrt(root)
	if out.Low = max(0, w/far); x > 0 {
		out.High = far / x
	}
	return out
}

// mean returns the mean of a class of attempts and its variance; those of all attempts while the class
// has too few.
func (c *Costs) mean(m *moments) (mean, variance float64) {
	s, f := &c.successes, &c.failures
	all := moments{s.n + f.n, s.sum + f.sum, s.squares + f.squares}
	mean, from := all.sum/all.n, &all
	if m.n > 0 {
		mean = m.sum / m.n
	}
	if m.n > 2 {
		from = m
	}
	spread := max(0, from.squares-from.sum*from.sum/from.n) / max(1, from.n-1)
	return mean, spread / max(1, m.n)
}

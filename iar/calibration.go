package iar

import (
	"fmt"
	"math"
)

// Calibration compares reported confidence with verified outcomes. The zero value is empty and ready.
type Calibration struct {
	// The columns of the reliability table, whose rows are confidence in [0, .1), [.1, .2), … and [.9, 1].
	// Claimed/Counts was claimed, Successes/Counts came of it.
	Counts    [10]int     `json:"counts"`
	Successes [10]int     `json:"successes"`
	Claimed   [10]float64 `json:"claimed"` // sums
}

// Add counts one outcome. A confidence that is no number in [0,1] is an error and counts nothing.
func (c *Calibration) Add(confidence float64, success bool) error {
	if !inUnit(confidence) {
		return fmt.Errorf("confidence %v outside [0,1]", confidence)
	}
	i := min(int(confidence*10), len(c.Counts)-1)
	c.Counts[i]++
	c.Claimed[i] += confidence
	if success {
		c.Successes[i]++
	}
	return nil
}

// count returns how many outcomes were added.
func (c *Calibration) count() (n int) {
	for _, count := range c.Counts {
		n += count
	}
	return n
}

// ECE returns the expected calibration error, in [0,1], 0 best: the distance of mean confidence from the
// success rate, averaged over the bins by their counts (Naeini, Cooper and Hauskrecht 2015). Without outcomes
// it is 0.
func (c *Calibration) ECE() (sum float64) {
	for i, claimed := range c.Claimed {
		sum += math.Abs(claimed - float64(c.Successes[i]))
	}
	return sum / float64(max(1, c.count()))
}

// believed is the number of outcomes, in agreement with what is reported, that every bin begins with in
// Correct.
const believed = 4

// Correct returns the chance of success that the outcomes so far give a reported confidence, both in [0,1].
// It is the isotonic regression of outcomes on confidence over the bins (Zadrozny and Elkan 2002), linear
// between the means of the bins and level beyond them. Without outcomes it is the confidence itself. It never
// falls as confidence rises. NaN is 0.
func (c *Calibration) Correct(confidence float64) float64 {
	confidence = finite(min(1, max(0, confidence)))
	if c.count() == 0 {
		return confidence
	}
	said, was := c.isotonic()
	i := 0
	for i < len(said) && said[i] < confidence {
		i++
	}
	if i == 0 || i == len(said) {
		return was[max(0, i-1)]
	}
	return was[i-1] + (was[i]-was[i-1])*(confidence-said[i-1])/(said[i]-said[i-1])
}

// isotonic returns the mean confidence of each bin and its success rate, made to rise by the max-min formula
// (Barlow et al. 1972): of the runs that begin at the bin or before it, the largest of the smallest rate that
// a run has which ends at the bin or after it.
func (c *Calibration) isotonic() (said, was [10]float64) {
	var successes, counts [len(said) + 1]float64 // of the bins before
	for i, count := range c.Counts {
		middle, n := (float64(i)+0.5)/10, float64(count)+believed
		said[i] = (c.Claimed[i] + believed*middle) / n
		successes[i+1] = successes[i] + float64(c.Successes[i]) + believed*middle
		counts[i+1] = counts[i] + n
	}
	for i := range was {
		for from := range i + 1 {
			least := 1.0
			for to := i + 1; to < len(counts); to++ {
				least = min(least, (successes[to]-successes[from])/(counts[to]-counts[from]))
			}
			was[i] = max(was[i], least)
		}
	}
	return said, was
}

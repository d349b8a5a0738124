package iar

import (
	"fmt"
	"math"
)

// bins is the number of ranges of confidence.
const bins = 10

// Calibration compares reported confidence with verified outcomes. The zero value is empty and ready. It is a plain
// value: copy it, compare it, store it.
type Calibration struct {
	// Bins hold confidence in [0, .1), [.1, .2), … and [.9, 1]. They are the reliability table: Confidence/Count was
	// claimed, Successes/Count came of it.
	Bins [bins]Bin `json:"bins"`
}

// Bin is what a [Calibration] keeps of the outcomes in one range of confidence.
type Bin struct {
	Count      int     `json:"count"`
	Successes  int     `json:"successes"`
	Confidence float64 `json:"confidence"` // sum
	Squared    float64 `json:"squared"`    // sum of (confidence - outcome)²
}

// Add counts one outcome. A confidence that is no number in [0,1] is an error and counts nothing.
func (c *Calibration) Add(confidence float64, success bool) error {
	if !inUnit(confidence) {
		return fmt.Errorf("confidence %v outside [0,1]", confidence)
	}
	b := &c.Bins[min(int(confidence*bins), bins-1)]
	miss := confidence
	if success {
		miss = 1 - confidence
		b.Successes++
	}
	b.Count++
	b.Confidence += confidence
	b.Squared += miss * miss
	return nil
}

// Count returns how many outcomes were added.
func (c *Calibration) Count() (n int) {
	for _, b := range c.Bins {
		n += b.Count
	}
	return n
}

// Brier returns the mean of (confidence - outcome)², in [0,1], 0 best (Brier 1950). Without outcomes it is 0.
func (c *Calibration) Brier() float64 {
	sum := 0.0
	for _, b := range c.Bins {
		sum += b.Squared
	}
	return sum / float64(max(1, c.Count()))
}

// ECE returns the expected calibration error, in [0,1], 0 best: the distance of mean confidence from the success
// rate, averaged over the bins by their counts (Naeini, Cooper and Hauskrecht 2015). Without outcomes it is 0.
func (c *Calibration) ECE() float64 {
	sum := 0.0
	for _, b := range c.Bins {
		sum += math.Abs(b.Confidence - float64(b.Successes))
	}
	return sum / float64(max(1, c.Count()))
}

// believed is the number of outcomes, in agreement with what is reported, that every bin begins with in Correct.
const believed = 4

// Correct returns the chance of success, in [0,1], that the outcomes so far give a reported confidence: the isotonic
// regression of outcomes on confidence over the bins (Zadrozny and Elkan 2002), linear between the means of the bins
// and level beyond them. Without outcomes it is the confidence itself. It never falls as confidence rises. NaN is 0.
func (c *Calibration) Correct(confidence float64) float64 {
	confidence = finite(min(1, max(0, confidence)))
	if c.Count() == 0 {
		return confidence
	}
	said, was := c.isotonic()
	i := 0
	for i < bins && said[i] < confidence {
		i++
	}
	switch i {
	case 0:
		return was[0]
	case bins:
		return was[bins-1]
	}
	share := (confidence - said[i-1]) / (said[i] - said[i-1])
	return was[i-1] + share*(was[i]-was[i-1])
}

// isotonic returns the mean confidence of each bin and its success rate, made to rise by the max-min formula (Barlow
// et al. 1972): the largest, over runs that begin at the bin or before, of the smallest rate of a run that ends at
// the bin or after.
func (c *Calibration) isotonic() (said, was [bins]float64) {
	var successes, counts [bins + 1]float64 // of the bins before
	for i, b := range c.Bins {
		middle, n := (float64(i)+0.5)/bins, float64(b.Count)+believed
		said[i] = (b.Confidence + believed*middle) / n
		successes[i+1] = successes[i] + float64(b.Successes) + believed*middle
		counts[i+1] = counts[i] + n
	}
	for i := range was {
		for from := range i + 1 {
			least := 1.0
			for to := i + 1; to <= bins; to++ {
				least = min(least, (successes[to]-successes[from])/(counts[to]-counts[from]))
			}
			was[i] = max(was[i], least)
		}
	}
	return said, was
}

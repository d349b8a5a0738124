package iar

import (
	"errors"
	"fmt"
	"math"
)

// ErrConfidence is returned for a confidence that is not a number in [0,1].
var ErrConfidence = errors.New("confidence outside [0,1]")

// bins is the number of ranges of confidence.
const bins = 10

// Calibration holds reported confidence against verified outcomes. The zero
// value is empty and ready. It is a plain value: copy it, compare it, store it.
// Concurrent use needs a lock of the caller.
type Calibration struct {
	// Bins hold confidence in [0, 0.1), [0.1, 0.2), … and [0.9, 1]. They are the
	// reliability table: Confidence/Count is what was claimed, Successes/Count
	// what came of it.
	Bins [bins]Bin `json:"bins"`
}

// Bin is what a [Calibration] keeps of the outcomes in one range of confidence.
type Bin struct {
	Count      int     `json:"count"`
	Successes  int     `json:"successes"`
	Confidence float64 `json:"confidence"` // sum
	Squared    float64 `json:"squared"`    // sum of (confidence - outcome)²
}

// Add counts one outcome. A confidence that is not in [0,1] is [ErrConfidence]
// and changes nothing.
func (c *Calibration) Add(confidence float64, success bool) error {
	if !inUnit(confidence) {
		return fmt.Errorf("iar: add %v: %w", confidence, ErrConfidence)
	}
	b := &c.Bins[min(int(confidence*10), len(c.Bins)-1)]
	outcome := 0.0
	if success {
		outcome = 1
		b.Successes++
	}
	b.Count++
	b.Confidence += confidence
	b.Squared += (confidence - outcome) * (confidence - outcome)
	return nil
}

// Count returns how many outcomes were added.
func (c *Calibration) Count() (n int) {
	for _, b := range c.Bins {
		n += b.Count
	}
	return n
}

// Brier returns the mean of (confidence - outcome)² (Brier 1950), in [0,1], 0
// best. It is 0 without outcomes; see [Calibration.Count].
func (c *Calibration) Brier() float64 {
	sum := 0.0
	for _, b := range c.Bins {
		sum += b.Squared
	}
	return sum / float64(max(1, c.Count()))
}

// ECE returns the expected calibration error (Naeini, Cooper and Hauskrecht
// 2015): the distance of mean confidence from the success rate, averaged over
// the 10 bins by their counts, in [0,1], 0 best. It is 0 without outcomes.
func (c *Calibration) ECE() float64 {
	sum := 0.0
	for _, b := range c.Bins {
		sum += math.Abs(b.Confidence - float64(b.Successes))
	}
	return sum / float64(max(1, c.Count()))
}

// believed is the number of outcomes with which a bin begins, in Correct.
const believed = 4

// Correct returns the chance of success, in [0,1], that the outcomes so far
// give a reported confidence. It is the isotonic regression of outcomes on
// confidence over the bins (Zadrozny and Elkan 2002),
// linear between the means of the bins and level beyond them. Each bin begins
// with four outcomes that agree with what is reported, so without outcomes
// Correct returns the confidence itself. It never falls as confidence rises.
// NaN is worth 0.
func (c *Calibration) Correct(confidence float64) float64 {
	confidence = finite(min(1, max(0, confidence)))
	if c.Count() == 0 {
		return confidence
	}
	said, was := c.isotonic()
	i := 0
	for i < len(said) && said[i] < confidence {
		i++
	}
	switch i {
	case 0:
		return was[0]
	case len(said):
		return was[i-1]
	}
	share := (confidence - said[i-1]) / (said[i] - said[i-1])
	return was[i-1] + share*(was[i]-was[i-1])
}

// isotonic returns for each bin the mean confidence, and the success rate made
// to rise: the largest, over the bins up to it, of the smallest rate of a run
// from there to it or beyond (the max-min formula of Barlow et al. 1972).
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

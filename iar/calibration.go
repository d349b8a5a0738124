package iar

import (
	"errors"
	"fmt"
	"math"
)

// ErrConfidence is returned for a confidence that is not a number in [0,1].
var ErrConfidence = errors.New("confidence outside [0,1]")

// bins is how many ranges of confidence are told apart.
const bins = 10

// Calibration holds reported confidence against verified outcomes. The zero
// value is empty and ready. It is a plain value: copy it, compare it, store it.
// Concurrent use needs a lock of the caller.
type Calibration struct {
	// Bins hold confidence in [0, 0.1), [0.1, 0.2), … and [0.9, 1].
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

// Merge adds the outcomes of another Calibration.
func (c *Calibration) Merge(o Calibration) {
	for i, b := range o.Bins {
		c.Bins[i].Count += b.Count
		c.Bins[i].Successes += b.Successes
		c.Bins[i].Confidence += b.Confidence
		c.Bins[i].Squared += b.Squared
	}
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

// Reliability is one row of a reliability table.
type Reliability struct {
	Low, High  float64 // the range of confidence
	Count      int
	Confidence float64 // mean
	Success    float64 // rate
}

// Table returns the reliability table: a row for each bin that has outcomes,
// in order of confidence.
func (c *Calibration) Table() []Reliability {
	var rows []Reliability
	for i, b := range c.Bins {
		if b.Count == 0 {
			continue
		}
		n := float64(b.Count)
		rows = append(rows, Reliability{
			Low: float64(i) / 10, High: float64(i+1) / 10,
			Count: b.Count, Confidence: b.Confidence / n, Success: float64(b.Successes) / n,
		})
	}
	return rows
}

// believed is how many outcomes a bin begins with, in Correct.
const believed = 4

// Correct returns what a reported confidence is worth, in [0,1]: the chance of
// success that the outcomes so far give it. It is the isotonic regression of
// outcomes on confidence (pool adjacent violators; Zadrozny and Elkan 2002) over
// the bins, each of which begins with four outcomes that agree with what is
// reported; linear between the means of the bins and level beyond them. It never
// falls as confidence rises. Without outcomes, confidence is taken at its word.
// One that is not a number is worth 0.
func (c *Calibration) Correct(confidence float64) float64 {
	confidence = min(1, max(0, number(confidence)))
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

// isotonic returns for each bin the mean of what was said and the rate of what
// was, neighbours whose rates fall being pooled until none do.
func (c *Calibration) isotonic() (said, was [bins]float64) {
	type pool struct{ sum, weight, bins float64 }
	var pools []pool
	for i, b := range c.Bins {
		middle, n := (float64(i)+0.5)/float64(len(c.Bins)), float64(b.Count)+believed
		said[i] = (b.Confidence + believed*middle) / n
		p := pool{float64(b.Successes) + believed*middle, n, 1}
		for k := len(pools) - 1; k >= 0 && pools[k].sum*p.weight >= p.sum*pools[k].weight; k-- {
			p = pool{p.sum + pools[k].sum, p.weight + pools[k].weight, p.bins + pools[k].bins}
			pools = pools[:k]
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		for range int(p.bins) {
			was[i] = p.sum / p.weight
			i++
		}
	}
	return said, was
}

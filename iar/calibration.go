package iar

import (
	"errors"
	"fmt"
	"math"
)

// ErrConfidence is returned for a confidence that is not a number in [0,1].
var ErrConfidence = errors.New("confidence outside [0,1]")

// Calibration holds reported confidence against verified outcomes. The zero
// value is empty and ready. It is a plain value: copy it, compare it, store it.
// Concurrent use needs a lock of the caller.
type Calibration struct {
	// Bins hold confidence in [0, 0.1), [0.1, 0.2), … and [0.9, 1].
	Bins [10]Bin `json:"bins"`
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

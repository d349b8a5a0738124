package uplift

import (
	"encoding/binary"
	"math"
)

const (
	// depths is the number of counts of failures that are told apart.
	depths = 8
	// weight is how many tries the belief before them counts as. Chosen on
	// the ALFWorld trials of Reflexion (benchmarks/pivot_test.go), where the
	// calibration error falls from 0.038 with 1 to 0.032 with 4.
	weight = 4
)

// count is a number of tries, and how many of them delivered.
type count struct{ tries, successes int }

// posterior moves a belief by what was counted: the mean, and how much it
// weighs.
func (c count) posterior(belief float64) (mean, weighs float64) {
	weighs = weight + float64(c.tries)
	return (belief*weight + float64(c.successes)) / weighs, weighs
}

// Odds count tries by the number of failures before them: of all approaches
// together, or of one. The zero Odds are empty.
type Odds struct{ counts [2 * depths]count }

// again is the count of tries of an approach after its own failures.
func (o *Odds) again(failures int) *count { return &o.counts[depth(failures)] }

// other is the count of first tries of an approach after failures of others.
func (o *Odds) other(failures int) *count { return &o.counts[depths+depth(failures)] }

// depth is the index of a number of failures.
func depth(failures int) int { return min(failures, depths-1) }

// Count adds a try: one after same failures of its approach, and all of any, at
// its goal.
func (o *Odds) Count(same, all int, success bool) {
	c := o.again(same)
	if same == 0 && all > 0 {
		c = o.other(all)
	}
	c.tries++
	if success {
		c.successes++
	}
}

// deliver is the belief that a try after some failures of the same approach
// delivers. Before any count, a goal is a coin of unknown bias,
// Beta(½, ½): each failure after the first j lowers the chance by the factor
// j/(j+1). What was counted after j failures corrects that, for j and all that
// follow.
func (o *Odds) deliver(failures int) float64 {
	mean := 0.5
	for j := range depth(failures) + 1 {
		if j > 0 {
			mean *= float64(j) / float64(j+1)
		}
		mean, _ = o.again(j).posterior(mean) // however sure it is
	}
	return mean
}

// Estimate is how likely a try is to deliver, with the middle 90 % of the
// posterior by the normal law, and the count that it rests on.
type Estimate struct {
	Mean, Low, High  float64
	Tries, Successes int
}

// Estimate says how likely another try of an approach delivers that failed same
// times at a goal that failed all times, and the first try of another one. Own
// are the odds of that approach, which move what is known of all.
func (o *Odds) Estimate(own *Odds, same, all int) (again, other Estimate) {
	mean, weighs := own.again(same).posterior(o.deliver(same))
	// Before its first try, another approach is to the goal what the first one
	// was, less what the coin's failures take.
	belief, _ := o.again(0).posterior(0.5)
	first, sure := o.other(all).posterior(belief / float64(depth(all)+1))
	return estimate(mean, weighs, o.again(same)), estimate(first, sure, o.other(all))
}

func estimate(mean, weighs float64, c *count) Estimate {
	const z = 1.645 // the normal law's 95th percentile
	half := z * math.Sqrt(mean*(1-mean)/(weighs+1))
	return Estimate{mean, max(0, mean-half), min(1, mean+half), c.tries, c.successes}
}

// Append appends the counts in order, as varints.
func (o *Odds) Append(b []byte) []byte {
	for _, c := range o.counts {
		b = binary.AppendUvarint(b, uint64(c.tries))
		b = binary.AppendUvarint(b, uint64(c.successes))
	}
	return b
}

// OddsOf returns the odds of which b are the bytes, and whether it is.
func OddsOf(b []byte) (o Odds, ok bool) {
	for i := range o.counts {
		c := &o.counts[i]
		for _, field := range [...]*int{&c.tries, &c.successes} {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return o, false
			}
			*field, b = int(v), b[n:]
		}
		if c.successes < 0 || c.successes > c.tries {
			return o, false
		}
	}
	return o, len(b) == 0
}

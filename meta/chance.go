package meta

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/arc-learn/arc/store"
)

// Chance estimates how likely a try is to deliver.
type Chance struct {
	// Deliver is the mean of the posterior, in [0,1].
	Deliver float64 `cbor:"1,keyasint,omitempty"`
	// Low and High are the middle 90 % of the posterior, by the normal law.
	Low  float64 `cbor:"2,keyasint,omitempty"`
	High float64 `cbor:"3,keyasint,omitempty"`
	// Failures is how often the goal has failed in the session since it was
	// last delivered: by the approach for Again, by any for Other.
	Failures int `cbor:"4,keyasint,omitempty"`
	// Tries were made after as many failures (seven and more count as
	// seven), in all sessions, and Successes of them delivered.
	Tries     int `cbor:"5,keyasint,omitempty"`
	Successes int `cbor:"6,keyasint,omitempty"`
}

// Chances are the two tries that a pivot decides between.
type Chances struct {
	Again Chance `cbor:"1,keyasint,omitempty"` // another try of the same approach
	Other Chance `cbor:"2,keyasint,omitempty"` // the first try of another one
}

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

// odds counts tries by the number of failures before them: of all approaches
// together, or of one.
type odds struct {
	key    string // where they are stored
	counts [2 * depths]count
	pulse  pulse // of all approaches together
}

// after returns the odds with one more try: one after same failures of its
// approach, and all of any, at its goal.
func (o odds) after(same, all int, success bool) odds {
	c := o.again(same)
	if same == 0 && all > 0 {
		c = o.other(all)
	}
	c.tries++
	if success {
		c.successes++
	}
	return o
}

// again is the count of tries of an approach after its own failures.
func (o *odds) again(failures int) *count { return &o.counts[depth(failures)] }

// other is the count of first tries of an approach after failures of others.
func (o *odds) other(failures int) *count { return &o.counts[depths+depth(failures)] }

// depth is the index of a number of failures.
func depth(failures int) int { return min(failures, depths-1) }

// deliver is the belief, and its weight, that a try after some failures of the
// same approach delivers. Before any count, a goal is a coin of unknown bias,
// Beta(½, ½): each failure after the first j lowers the chance by the factor
// j/(j+1). What was counted after j failures corrects that, for j and all that
// follow.
func (o *odds) deliver(failures int) (mean, weighs float64) {
	mean = 0.5
	for j := range depth(failures) + 1 {
		if j > 0 {
			mean *= float64(j) / float64(j+1)
		}
		mean, weighs = o.again(j).posterior(mean)
	}
	return mean, weighs
}

// chances estimates both, for an approach that failed same times at a goal
// that failed all times. Own are the counts of that approach, which move what
// is known of all.
func (o *odds) chances(own *odds, same, all int) Chances {
	mean, weighs := o.deliver(same)
	if own != nil {
		mean, weighs = own.again(same).posterior(mean)
	}
	// Before its first try, another approach is to the goal what the first one
	// was, less what the coin's failures take.
	belief, _ := o.again(0).posterior(0.5)
	first, sure := o.other(all).posterior(belief / float64(depth(all)+1))
	return Chances{Again: chance(mean, weighs, same, o.again(same)), Other: chance(first, sure, all, o.other(all))}
}

func chance(mean, weighs float64, failures int, c *count) Chance {
	const z = 1.645 // the normal law's 95th percentile
	half := z * math.Sqrt(mean*(1-mean)/(weighs+1))
	return Chance{mean, max(0, mean-half), min(1, mean+half), failures, c.tries, c.successes}
}

// storedOdds are odds as they are stored: the counts in order, as varints.
type storedOdds struct {
	Counts []byte `cbor:"1,keyasint,omitempty"`
	Pulse  []byte `cbor:"2,keyasint,omitempty"`
}

func (o *odds) stored() *storedOdds {
	s := &storedOdds{Counts: make([]byte, 0, 4*depths), Pulse: o.pulse}
	for _, c := range o.counts {
		s.Counts = binary.AppendUvarint(s.Counts, uint64(c.tries))
		s.Counts = binary.AppendUvarint(s.Counts, uint64(c.successes))
	}
	return s
}

// approachKey names an approach for all processes, whatever its case and
// spacing: FNV-1a of its canonical form. Two that share one share their odds.
func approachKey(text string) uint64 {
	h, gap := uint64(14695981039346656037), false
	for i := range len(text) {
		c := text[i]
		switch {
		case c == ' ' || c >= '\t' && c <= '\r':
			gap = true
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if gap {
			h = (h ^ ' ') * 1099511628211
			gap = false
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// oddsOf returns the odds of an approach, empty ones if there are none. The
// caller has the turn.
func (m *Monitor) oddsOf(ctx context.Context, approach uint64) (*odds, error) {
	if o, ok := m.odds.Get(approach); ok {
		return o, nil
	}
	o, err := m.readOdds(ctx, oddsKey(approach))
	if err == nil {
		m.odds.Add(approach, o)
	}
	return o, err
}

// readOdds reads the odds of a key, empty ones if it has none.
func (m *Monitor) readOdds(ctx context.Context, k string) (*odds, error) {
	var s storedOdds
	if found, err := m.decode(ctx, k, &s); !found {
		return &odds{key: k}, err
	}
	o, rest, ok := &odds{key: k, pulse: s.Pulse}, s.Counts, true
	for i := range o.counts {
		c := &o.counts[i]
		for _, field := range [...]*int{&c.tries, &c.successes} {
			v, n := binary.Uvarint(rest)
			ok = ok && n > 0
			*field, rest = int(v), rest[max(0, n):]
		}
		ok = ok && 0 <= c.successes && c.successes <= c.tries
	}
	if !ok || len(rest) > 0 {
		return nil, fmt.Errorf("%w: %q does not hold counts", store.ErrDamaged, k)
	}
	return o, nil
}

// Chances estimates whether another try of an approach at a goal delivers, and
// whether the first try of another approach does, given how they failed in the
// session since the goal was last delivered. The estimates rest on all outcomes
// that the Monitor has recorded, of any session, by the number of failures
// before them; those of the approach itself count most. Texts that differ in
// case and spacing only name the same approach.
//
// They are predictions, not causes: other approaches may have been tried on
// easier goals. The errors are those of Assess.
func (m *Monitor) Chances(ctx context.Context, session, goal, approach string) (c Chances, err error) {
	err = m.inSession(ctx, session, func(s *history) error {
		own, err := m.oddsOf(ctx, approachKey(approach))
		if err == nil {
			same, all := s.tried(failureOf(goal, approach))
			c = m.all.chances(own, same, all)
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("chances in %.64q: %w", session, err)
	}
	return c, nil
}

// pulse holds the last resonances of all sessions, oldest first, in hundredths.
// It is immutable.
type pulse []byte

// pulseLength is the number of resonances that are kept.
const pulseLength = 64

// beat returns the pulse with one more.
func (p pulse) beat(resonance *float64) pulse {
	if resonance == nil {
		return p
	}
	next := make(pulse, 0, pulseLength)
	return append(append(next, p[max(0, len(p)+1-pulseLength):]...), byte(math.Round(100**resonance)))
}

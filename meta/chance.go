package meta

import (
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/uplift"
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

// odds are those of all approaches together, or of one.
type odds struct {
	flush.Late
	uplift.Odds
	stored storedOdds // as they were written last
	// pulse holds the last resonances of all sessions, oldest first, in
	// hundredths. It is of all approaches together.
	pulse []byte
}

// pulseLength is the number of resonances that are kept.
const pulseLength = 64

// storedOdds are odds as they are stored: the counts in order, as varints.
type storedOdds struct {
	Counts []byte `cbor:"1,keyasint,omitempty"`
	Pulse  []byte `cbor:"2,keyasint,omitempty"`
}

func newOdds(key string, counts uplift.Odds, pulse []byte) *odds {
	o := &odds{Odds: counts, pulse: pulse}
	o.Late = flush.LateOf(key, func(buf []byte) ([]byte, error) {
		o.stored = storedOdds{o.Append(o.stored.Counts[:0]), o.pulse}
		return codec.Append(buf, key, &o.stored)
	})
	return o
}

// chances estimates both, for an approach that failed same times at a goal
// that failed all times. Own are the odds of that approach.
func (o *odds) chances(own *odds, same, all int) Chances {
	again, other := o.Estimate(&own.Odds, same, all)
	chance := func(e uplift.Estimate, failures int) Chance {
		return Chance{e.Mean, e.Low, e.High, failures, e.Tries, e.Successes}
	}
	return Chances{Again: chance(again, same), Other: chance(other, all)}
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

// The rule of Assess by chances.
const (
	pivotChance = 0.25 // chance below which another try does not pay
	pivotTries  = 5    // tries after as many failures that say so
)

// pivot reports whether what was learned speaks for another approach.
func (c *Chances) pivot() bool {
	return c.Again.Tries >= pivotTries && c.Again.Deliver < pivotChance && c.Again.Deliver < c.Other.Deliver
}

// words gives both estimates, their bounds, and what they rest on.
func (c *Chances) words() string {
	words := func(c Chance) string {
		return fmt.Sprintf("%.2f (%.2f to %.2f; after %d failures %d of %d tries did)",
			c.Deliver, c.Low, c.High, c.Failures, c.Successes, c.Tries)
	}
	return fmt.Sprintf("another try delivers with a chance of %s, another approach of %s", words(c.Again), words(c.Other))
}

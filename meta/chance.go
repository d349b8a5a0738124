package meta

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/uplift"
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

// odds are those of all approaches together, or of one.
type odds struct {
	key string // where they are stored
	uplift.Odds
	// pulse holds the last resonances of all sessions, oldest first, in
	// hundredths. It is of all approaches together.
	pulse []byte
}

// pulseLength is the number of resonances that are kept.
const pulseLength = 64

// chances estimates both, for an approach that failed same times at a goal
// that failed all times. Own are the odds of that approach.
func (o *odds) chances(own *odds, same, all int) Chances {
	again, other := o.Estimate(&own.Odds, same, all)
	chance := func(e uplift.Estimate, failures int) Chance {
		return Chance{e.Mean, e.Low, e.High, failures, e.Tries, e.Successes}
	}
	return Chances{Again: chance(again, same), Other: chance(other, all)}
}

// storedOdds are odds as they are stored: the counts in order, as varints.
type storedOdds struct {
	Counts []byte `cbor:"1,keyasint,omitempty"`
	Pulse  []byte `cbor:"2,keyasint,omitempty"`
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
	o, err := m.readOdds(ctx, m.oddsKey(approach))
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
	counts, ok := uplift.OddsOf(s.Counts)
	if !ok {
		return nil, fmt.Errorf("%w: %q does not hold counts", store.ErrDamaged, k)
	}
	return &odds{k, counts, s.Pulse}, nil
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
	err = m.inSession(ctx, "chances in", session, func(s *history) error {
		own, err := m.oddsOf(ctx, approachKey(approach))
		if err == nil {
			same, all := s.tried(failureOf(goal, approach))
			c = m.all.chances(own, same, all)
		}
		return err
	})
	return c, err
}

package rank

import (
	"context"
	"fmt"
	"time"
)

// HighConfidence is the reported confidence from which a failure counts as a
// high-confidence failure.
const HighConfidence = 0.8

// Stats are the figures of one candidate and skill over its last [Window]
// samples. Means of nothing are zero.
type Stats struct {
	Samples   int // in the window
	Known     int // of known outcome
	Successes int

	SuccessRate float64 // of Known

	Confident           int     // samples of known outcome with a confidence
	Confidence          float64 // mean over Confident
	ConfidenceOnSuccess float64
	ConfidenceOnFailure float64
	// HighConfidenceFailures counts failures that reported HighConfidence or
	// more.
	HighConfidenceFailures int

	// Means over Samples. What was not reported counts as zero.
	Wall                time.Duration
	CostUSD             float64
	TokensIn, TokensOut float64
}

// Stats returns the figures of a candidate for a skill; all zero if it has no
// samples. It takes time that does not depend on their number.
func (b *Book) Stats(ctx context.Context, candidate, skill string) (Stats, error) {
	m, err := b.ready(ctx, candidate)
	if err != nil {
		return Stats{}, fmt.Errorf("stats of %q: %w", candidate, err)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	w := m.windows[skill]
	if w == nil {
		return Stats{}, nil
	}
	s := &w.sums
	return Stats{
		Samples:                int(s.samples),
		Known:                  int(s.known),
		Successes:              int(s.successes),
		SuccessRate:            mean(float64(s.successes), s.known),
		Confident:              int(s.confident),
		Confidence:             mean(s.confidence.float(), s.confident),
		ConfidenceOnSuccess:    mean(s.confidenceSuccess.float(), s.confidentSuccesses),
		ConfidenceOnFailure:    mean(s.confidenceFailure.float(), s.confident-s.confidentSuccesses),
		HighConfidenceFailures: int(s.highFailures),
		Wall:                   time.Duration(mean(float64(s.wall), s.samples)),
		CostUSD:                mean(s.cost.float(), s.samples),
		TokensIn:               mean(float64(s.in), s.samples),
		TokensOut:              mean(float64(s.out), s.samples),
	}, nil
}

func mean(sum float64, n int64) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// Day is how far back [Book.Health] and [Book.Weighted] look.
const Day = 24 * time.Hour

// Health is how a candidate did over the last [Day], over all skills, as far
// as the windows reach.
type Health struct {
	Known       int     // samples of known outcome
	Successes   int     // of these
	SuccessRate float64 // of Known; 1 if there are none
	CostUSD     float64 // of all samples
	// CostPerSuccess is CostUSD over Successes, in US dollars; zero if there
	// are none.
	CostPerSuccess float64
}

// Health returns how the candidate did over the last Day, both ends included.
func (b *Book) Health(ctx context.Context, candidate string) (h Health, err error) {
	m, err := b.ready(ctx, candidate)
	if err == nil {
		h, err = b.health(ctx, candidate, m, b.opts.Now().Add(-Day).UnixNano())
	}
	if err != nil {
		return Health{}, fmt.Errorf("health of %q: %w", candidate, err)
	}
	return h, nil
}

// health returns the figures since then; m may be nil. Samples that are not in memory
// are read, window by window: all of them may be more than memory holds.
func (b *Book) health(ctx context.Context, candidate string, m *member, since int64) (Health, error) {
	var sum sums
	b.mu.RLock()
	awake := m.awake(since)
	if awake && m != nil {
		for _, w := range m.windows {
			sum.addSince(w, since)
		}
	}
	b.mu.RUnlock()
	if awake {
		return sum.health(), nil
	}
	if err := b.take(ctx); err != nil {
		return Health{}, err
	}
	defer b.give()
	for skill, w := range m.windows {
		if w.latest < since {
			continue
		}
		if err := b.wake(ctx, candidate, skill, w); err != nil {
			return Health{}, err
		}
		sum.addSince(w, since)
	}
	return sum.health(), nil
}

// awake reports whether the samples since then are in memory; m may be nil.
func (m *member) awake(since int64) bool {
	if m == nil {
		return true
	}
	for _, w := range m.windows {
		if w.ring == nil && w.latest >= since {
			return false
		}
	}
	return true
}

// addSince adds the samples of a window since then that are in memory.
func (s *sums) addSince(w *window, since int64) {
	if w.latest < since {
		return
	}
	for i := range w.ring {
		if w.ring[i].at >= since {
			s.add(&w.ring[i], +1)
		}
	}
}

func (s *sums) health() Health {
	h := Health{Known: int(s.known), Successes: int(s.successes), SuccessRate: 1, CostUSD: s.cost.float()}
	h.CostPerSuccess = mean(h.CostUSD, s.successes)
	if s.known > 0 {
		h.SuccessRate = float64(s.successes) / float64(s.known)
	}
	return h
}

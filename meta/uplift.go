package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/uplift"
	"github.com/arc-learn/arc/store"
)

// Uplift is how much a treatment adds to the chance of success. The treatment helps if
// Low is above 0, and harms if High is below 0. Between, nothing can be told yet.
type Uplift struct {
	// Mean is the estimate, in [-1,1]: 0.2 are 20 points. Low and High are
	// a 95 % interval that holds at every moment: looking after each episode,
	// and stopping at will, does not make it wrong more often. It is [-1,1]
	// until each arm has ten episodes.
	Mean, Low, High   float64
	Treated, Withheld int     // episodes
	With, Without     float64 // success rates; 0 without episodes
}

// String says it in words.
func (u Uplift) String() string {
	rates := fmt.Sprintf("%.0f %% of %d with, %.0f %% of %d without", 100*u.With, u.Treated, 100*u.Without, u.Withheld)
	measured := fmt.Sprintf("%+.1f points (%+.1f to %+.1f; %s)", 100*u.Mean, 100*u.Low, 100*u.High, rates)
	switch {
	case u.Low > 0:
		return "helps by " + measured
	case u.High < 0:
		return "harms by " + measured
	case u.Treated+u.Withheld == 0:
		return "not measured: nothing was withheld by chance"
	case u.Low <= -1 && u.High >= 1:
		return fmt.Sprintf("cannot tell yet: %d with, %d without", u.Treated, u.Withheld)
	}
	// The estimate itself may be off to either side, also of equal rates.
	return fmt.Sprintf("cannot tell yet: between %+.1f and %+.1f points (%s)", 100*u.Low, 100*u.High, rates)
}

// RecordEpisode adds an episode to the experiments of its treatments. It is
// idempotent on e.Key, and written behind like an outcome. The errors are those
// of Record.
func (m *Monitor) RecordEpisode(ctx context.Context, e Episode) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("record episode: %w", err)
	}
	return m.exclusive(ctx, "record episode", e.Key, func() error {
		if m.j != nil {
			entry := e
			if err := m.enterEvent(ctx, &happened{Episode: &entry}, "episode", e.Key); err != nil {
				return err
			}
		}
		return m.recordEpisode(ctx, &e)
	})
}

// recordEpisode adds an episode that was not added before. The caller has the turn.
func (m *Monitor) recordEpisode(ctx context.Context, e *Episode) error {
	marker := m.episodeKey(e.Key)
	if found, err := m.found(ctx, marker); found || err != nil {
		return err
	}
	ops := []store.Op{{Key: marker, Value: present}}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(e.Treatments))) {
		t, err := m.trial(ctx, name)
		if err != nil {
			return err
		}
		t.Add(e.Chance, e.Treated, e.Success)
		k := m.treatmentKey(name)
		value, err := m.block.encode(k, &t)
		if err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: k, Value: value})
	}
	return m.w.Add(ctx, ops...)
}

// trial reads the experiment of a treatment, an empty one if it is damaged. The caller has the turn.
func (m *Monitor) trial(ctx context.Context, name string) (t uplift.Trial, err error) {
	found, err := m.decode(ctx, m.treatmentKey(name), &t)
	if errors.Is(err, store.ErrDamaged) {
		err = nil
	}
	if !found || !t.Valid() {
		return uplift.Trial{}, err
	}
	return t, nil
}

// Uplift says how much a treatment adds to the chance of success, as measured
// by RecordEpisode. One that was never recorded has no episodes and the interval
// [-1,1]. The errors are those of Assess.
func (m *Monitor) Uplift(ctx context.Context, treatment string) (u Uplift, err error) {
	if err := checkName("treatment", treatment); err != nil {
		return u, fmt.Errorf("uplift: %w", err)
	}
	var t uplift.Trial
	err = m.exclusive(ctx, "uplift of", treatment, func() (err error) { t, err = m.trial(ctx, treatment); return err })
	if err != nil {
		return u, err
	}
	u.Mean, u.Low, u.High = t.Interval()
	u.Treated, u.With = t.Treated.Episodes, rate(t.Treated.Successes, t.Treated.Episodes)
	u.Withheld, u.Without = t.Untreated.Episodes, rate(t.Untreated.Successes, t.Untreated.Episodes)
	return u, nil
}

// rate is n of all, 0 without any.
func rate(n, of int) float64 { return float64(n) / float64(max(1, of)) }

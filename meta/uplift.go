package meta

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/uplift"
	"github.com/arc-learn/arc/store"
)

// Episode is one draw of an experiment: chance decided whether the treatments
// were given, and this is what came of it.
type Episode struct {
	// Key makes RecordEpisode idempotent, for all time. Required.
	Key string
	// Treatments are what was given together or withheld together, at most
	// 64; each is an experiment of its own. Required.
	Treatments []string
	// Treated says whether they were given.
	Treated bool
	// Chance is the probability with which they are given, in (0,1).
	Chance float64
	// Success is what is to be raised.
	Success bool
}

// maxTreatments bounds the treatments of an Episode.
const maxTreatments = 64

func (e *Episode) check() error {
	var errs []error
	for _, s := range append([]string{e.Key}, e.Treatments...) {
		if s == "" {
			errs = append(errs, fmt.Errorf("%w: an empty name", ErrOutcome))
		} else if err := key.CheckID("episode", s); err != nil {
			errs = append(errs, fmt.Errorf("%w: %w", ErrOutcome, err))
		}
	}
	if n := len(e.Treatments); n == 0 || n > maxTreatments {
		errs = append(errs, fmt.Errorf("%w: %d treatments", ErrOutcome, n))
	}
	if !(e.Chance > 0 && e.Chance < 1) {
		errs = append(errs, fmt.Errorf("%w: a chance of %v", ErrOutcome, e.Chance))
	}
	return errors.Join(errs...)
}

// Uplift is how much a treatment adds to the chance of success.
type Uplift struct {
	// Mean is the estimate, in [-1,1]: 0.2 are 20 points. Low and High are
	// a 95 % interval that holds at every moment: looking after each
	// episode, and stopping when one likes, does not make it wrong more
	// often. It is [-1,1] until each arm has ten episodes.
	Mean, Low, High   float64
	Treated, Withheld int     // episodes
	With, Without     float64 // success rates; 0 without episodes
}

// Helps reports whether the treatment raises the chance for sure, Harms
// whether it lowers it. If neither, one cannot tell yet.
func (u Uplift) Helps() bool { return u.Low > 0 }

// Harms is the opposite of Helps.
func (u Uplift) Harms() bool { return u.High < 0 }

// String says it in words.
func (u Uplift) String() string {
	measured := fmt.Sprintf("%+.1f points (%+.1f to %+.1f; %.0f %% of %d with, %.0f %% of %d without)",
		100*u.Mean, 100*u.Low, 100*u.High, 100*u.With, u.Treated, 100*u.Without, u.Withheld)
	switch {
	case u.Helps():
		return "helps by " + measured
	case u.Harms():
		return "harms by " + measured
	case u.Treated+u.Withheld == 0:
		return "not measured"
	case u.Low <= -1 && u.High >= 1:
		return fmt.Sprintf("cannot tell yet: %d with, %d without", u.Treated, u.Withheld)
	}
	return "cannot tell yet: " + measured
}

func upliftOf(t uplift.Trial) Uplift {
	u := Uplift{Treated: t.Treated.Episodes, Withheld: t.Untreated.Episodes}
	u.Mean, u.Low, u.High = t.Interval()
	u.With = float64(t.Treated.Successes) / float64(max(1, u.Treated))
	u.Without = float64(t.Untreated.Successes) / float64(max(1, u.Withheld))
	return u
}

func episodeKey(k string) string      { return key.Join(space, "episode", k) }
func treatmentKey(name string) string { return key.Join(space, "uplift", name) }

// RecordEpisode adds an episode to the experiments of its treatments. It is
// idempotent on e.Key, and written behind like an outcome. The errors are those
// of Record.
func (m *Monitor) RecordEpisode(ctx context.Context, e Episode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("record episode: %w", err)
	}
	if err := m.recordEpisode(ctx, &e); err != nil {
		return fmt.Errorf("record episode %q: %w", e.Key, err)
	}
	if m.opts.Sync {
		return m.Flush(ctx)
	}
	return nil
}

func (m *Monitor) recordEpisode(ctx context.Context, e *Episode) error {
	if err := m.take(ctx); err != nil {
		return err
	}
	defer m.give()
	marker := episodeKey(e.Key)
	_, err := m.get(ctx, marker)
	if err == nil {
		return m.w.Add(ctx) // adds nothing, reports what went wrong before
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	ops := []store.Op{{Key: marker, Value: present}}
	for i, name := range e.Treatments {
		if slices.Contains(e.Treatments[:i], name) {
			continue
		}
		t, err := m.trial(ctx, name)
		if err != nil {
			return err
		}
		t.Add(e.Chance, e.Treated, e.Success)
		k := treatmentKey(name)
		v, err := codec.Encode(k, t)
		if err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: k, Value: v})
	}
	return m.w.Add(ctx, ops...)
}

// trial reads the experiment of a treatment. The caller has the turn.
func (m *Monitor) trial(ctx context.Context, name string) (t uplift.Trial, err error) {
	e, err := m.get(ctx, treatmentKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if err := codec.Decode(e, &t); err != nil {
		return t, err
	}
	if !t.Valid() {
		return t, fmt.Errorf("%w: %q holds an impossible trial", store.ErrDamaged, e.Key)
	}
	return t, nil
}

// Uplift says how much a treatment adds to the chance of success, as measured
// by RecordEpisode; the zero Uplift but for its interval if it was never
// recorded. The errors are those of Assess.
func (m *Monitor) Uplift(ctx context.Context, treatment string) (Uplift, error) {
	if treatment == "" {
		return Uplift{}, fmt.Errorf("uplift: %w: the treatment is empty", ErrOutcome)
	}
	if err := key.CheckID("treatment", treatment); err != nil {
		return Uplift{}, fmt.Errorf("uplift: %w: %w", ErrOutcome, err)
	}
	if err := m.take(ctx); err != nil {
		return Uplift{}, fmt.Errorf("uplift of %q: %w", treatment, err)
	}
	defer m.give()
	t, err := m.trial(ctx, treatment)
	if err != nil {
		return Uplift{}, fmt.Errorf("uplift of %q: %w", treatment, err)
	}
	return upliftOf(t), nil
}

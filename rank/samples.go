package rank

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Samples returns the samples of all candidates and skills that the windows
// keep and that ended at since or later, in order of candidate and skill; the
// zero time is all of them. It writes what is pending and reads the store:
// a call takes time in proportion to all that is kept. It yields the errors of
// the store and store.ErrClosed, and then ends.
func (b *Book) Samples(ctx context.Context, since time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		if err := b.w.Flush(ctx); err != nil {
			yield(Sample{}, fmt.Errorf("samples: %w", err))
			return
		}
		slots := key.Prefix(b.space, "slot")
		for e, err := range b.st.Scan(ctx, store.Range{Prefix: slots}) {
			var s Sample
			if err == nil {
				s, err = decodeSample(e, slots)
			}
			if err != nil {
				yield(Sample{}, fmt.Errorf("samples: %w", err))
				return
			}
			if !s.At.Before(since) && !yield(s, nil) {
				return
			}
		}
	}
}

func decodeSample(e store.Entry, prefix string) (Sample, error) {
	var r record
	if err := codec.Decode(e, &r); err != nil {
		return Sample{}, err
	}
	p := key.Split(e.Key[len(prefix):]) // candidate, skill and slot
	if len(p) != 3 || !r.valid() {
		return Sample{}, fmt.Errorf("%w: %q is not a sample", store.ErrDamaged, e.Key)
	}
	return r.sample(p[0], p[1]), nil
}

// Forget takes the samples for which drop is true out of the windows, and forgets
// that they were observed. The means that [Book.Learned] has learned from them
// stay, which hold no text. An hour of [Book.Left] is a sample without a Key. It reads
// all samples.
func (b *Book) Forget(ctx context.Context, drop func(Sample) bool) error {
	if b.j != nil {
		return b.forgetShared(ctx, drop)
	}
	type of struct{ candidate, skill string }
	gone := make(map[of][]string)
	for s, err := range b.Samples(ctx, time.Time{}) {
		if err != nil {
			return err
		}
		if pair := (of{s.Candidate, s.Situation.Skill}); drop(s) {
			gone[pair] = append(gone[pair], s.Key)
		}
	}
	for t, err := range b.Left(ctx, time.Time{}) {
		if err != nil {
			return err
		}
		at := Sample{Candidate: t.Candidate, Situation: Situation{Skill: t.Skill}, At: t.From}
		if drop(at) {
			k := key.Join(b.space, "left", t.Candidate, t.Skill, hourPart(hourOf(t.From.UnixNano())))
			if err := b.w.Add(ctx, store.Op{Key: k, Delete: true}); err != nil {
				return fmt.Errorf("forget: %w", err)
			}
		}
	}
	for pair, keys := range gone {
		if err := b.rewrite(ctx, pair.candidate, pair.skill, keys); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	return nil
}

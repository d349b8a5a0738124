package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// effect is what a feedback says of a record.
type effect uint8

const (
	unused effect = iota + 1
	helped
	misled // outweighs the others
)

// counts are by effect.
type counts [misled + 1]int

// situation has the counts of one, by its hash.
type situation struct {
	Hash   uint64 `cbor:"1,keyasint"`
	Counts counts `cbor:"3,keyasint,omitzero"`
}

const maxFeedback, maxUses, maxSituations = 1000, 10, 32

// Feedback moves the counters of memories that a task was shown: Helped of what it utilized, Unused of the
// rest where that is known, Misled of what misled. What helped leaves the archive.
func (s Space) Feedback(ctx context.Context, f Feedback) error {
	err := cmp.Or(store.CheckID(f.Key), store.Limit("shown", len(f.Shown), maxFeedback),
		store.Limit("misled", len(f.Misled), maxFeedback), store.Limit("situation", len(f.Situation), MaxText))
	if err != nil {
		return fmt.Errorf("memory: feedback: %w", err)
	}
	key := s.scope.Key(feedbackKind, hashed(f.Key))
	return s.update(ctx, func(b *store.Batch) error {
		old, c, err := codec.Load[marker](ctx, b, key)
		n := marker{At: s.b.o.Now().UnixMicro(), Situation: hashOf(f.Situation), Effects: f.effects()}
		if n.At-old.At > markersLast.Microseconds() {
			old = marker{}
		}
		all := maps.Clone(n.Effects)
		maps.Copy(all, old.Effects)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(all)) {
			err := s.edit(ctx, b, id, func(r *record) error {
				m, is := r.own(), n.Effects[id]
				m.count(old.Effects[id], old.Situation, -1, old.At)
				m.count(is, n.Situation, 1, n.At)
				r.Archived = r.Archived && is != helped
				return nil
			})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return codec.Put(b, key, n, c)
	})
}

// effects returns what f says of which records.
func (f *Feedback) effects() map[ID]effect {
	said := map[ID]effect{}
	if f.Utilized != nil {
		for _, id := range f.Shown {
			said[id] = unused
			if slices.Contains(f.Utilized, id) {
				said[id] = helped
			}
		}
	}
	for _, id := range f.Misled {
		said[id] = misled
	}
	maps.DeleteFunc(said, func(id ID, _ effect) bool { return store.CheckID(string(id)) != nil })
	return said
}

func hashOf(situation string) uint64 {
	if situation == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(situation))
	return max(h.Sum64(), 1)
}

// count counts an effect at a time, or with -1 takes it back. Counts do not fall below zero. 0 is no effect.
func (m *more) count(e effect, hash uint64, by int, at int64) {
	if e == 0 {
		return
	}
	m.Counts.add(e, by)
	switch i := slices.Index(m.Uses, at); {
	case e == helped && by > 0:
		m.Uses = latest(append(slices.Clone(m.Uses), at), maxUses)
	case e == helped && i >= 0:
		m.Uses = slices.Delete(slices.Clone(m.Uses), i, i+1)
	}
	known := slices.ContainsFunc(m.Situations, func(s situation) bool { return s.Hash == hash })
	if hash != 0 && (known || by > 0) { // one that was dropped has nothing to take back
		m.in(hash).add(e, by)
	}
}

// in returns the counts in a situation to change, which becomes the latest one.
func (m *more) in(hash uint64) *counts {
	here, all := situation{Hash: hash}, slices.Clone(m.Situations)
	if i := slices.IndexFunc(all, func(s situation) bool { return s.Hash == hash }); i >= 0 {
		here, all = all[i], slices.Delete(all, i, i+1)
	}
	all = append(all, here)
	m.Situations = all[max(0, len(all)-maxSituations):]
	return &m.Situations[len(m.Situations)-1].Counts
}

// latest returns the n latest times in order.
func latest(times []int64, n int) []int64 {
	slices.Sort(times)
	return times[max(0, len(times)-n):]
}

func (c *counts) add(e effect, by int) { c[e] = max(0, c[e]+by) }

func (c *counts) sum(o counts) {
	for e, n := range o {
		c[e] += n
	}
}

// sum adds the counters of another record.
func (m *more) sum(o *more) {
	m.Counts.sum(o.Counts)
	m.Uses = latest(slices.Concat(m.Uses, o.Uses), maxUses)
	for _, s := range o.Situations {
		m.in(s.Hash).sum(s.Counts)
	}
}

// effectiveness is the mean of the Beta posterior with the prior Beta(1,1); in a situation its prior is the
// overall mean, with the same weight.
func (m *more) effectiveness(hash uint64) float64 {
	overall := m.Counts.posterior(0.5)
	for _, s := range m.Situations {
		if s.Hash == hash && hash != 0 {
			return s.Counts.posterior(overall)
		}
	}
	return overall
}

func (c *counts) posterior(mean float64) float64 {
	const weight, little = 2, 0.5
	h := float64(c[helped])
	return (weight*mean + h) / (weight + h + float64(c[misled]) + little*float64(c[unused]))
}

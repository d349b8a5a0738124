package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

const maxFeedback = 1000

// effect is what a feedback says of a record.
type effect uint8

const (
	failed effect = iota + 1
	helped
	misled // outweighs the others
)

// feedbackMarker is what a Feedback has counted, so that another of its Key can take it back.
type feedbackMarker struct {
	At        int64    `cbor:"1,keyasint"`
	Situation uint64   `cbor:"2,keyasint,omitempty"`
	IDs       []ID     `cbor:"3,keyasint,omitempty"`
	Effects   []effect `cbor:"4,keyasint,omitempty"` // of the IDs
}

// Feedback moves the counters of memories that a task was shown. In a task that was delivered, Helped of those that
// it utilized, and Failed of the others that were shown; in any task, Misled of those that misled.
func (s Space) Feedback(ctx context.Context, f Feedback) error {
	err := s.b.g.Update(ctx, func(b *store.Batch) error { return s.StageFeedback(ctx, b, f) })
	if err != nil {
		return fmt.Errorf("memory: feedback: %w", err)
	}
	return nil
}

// StageFeedback is Feedback into a batch, as [Space.StageRemember] is Remember.
func (s Space) StageFeedback(ctx context.Context, b *store.Batch, f Feedback) error {
	err := cmp.Or(s.scope.Check(), store.CheckID(f.Key), limit("shown", len(f.Shown), maxFeedback),
		limit("misled", len(f.Misled), maxFeedback), limit("situation", len(f.Situation), MaxText))
	if err != nil {
		return err
	}
	now := s.b.now()
	n := feedbackMarker{At: now, Situation: situationHash(f.Situation)}
	n.IDs, n.Effects = s.effects(&f)
	key := s.scope.Key(feedbackKind, hashed(f.Key))
	var old feedbackMarker
	e, err := b.Get(ctx, key)
	if err == nil {
		err = codec.Unmarshal(e.Value, &old)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if now-old.At > markersLast.Microseconds() {
		old = feedbackMarker{}
	}
	if len(n.IDs)+len(old.IDs) == 0 {
		return nil
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.IDs, n.IDs)))) {
		err := s.edit(ctx, b, id, func(rec *stored) (bool, error) {
			c := rec.counters()
			if i := slices.Index(old.IDs, id); i >= 0 {
				c.add(old.Effects[i], old.Situation, -1, old.At)
			}
			if i := slices.Index(n.IDs, id); i >= 0 {
				c.add(n.Effects[i], n.Situation, 1, now)
				rec.Archived = rec.Archived && n.Effects[i] != helped
			}
			rec.Stats = c
			return true, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	value, err := codec.Marshal(&n)
	if err != nil {
		return err
	}
	return b.Put(key, value, store.At(e.Rev))
}

// effects returns what f says of which records, in order of id.
func (s Space) effects(f *Feedback) (ids []ID, effects []effect) {
	said := map[ID]effect{}
	if f.Delivered && f.Utilized != nil {
		used := map[ID]bool{}
		for _, id := range f.Utilized {
			used[s.resolve(id)] = true
		}
		for _, id := range f.Shown {
			if id = s.resolve(id); used[id] {
				said[id] = helped
			} else {
				said[id] = failed
			}
		}
	}
	for _, id := range f.Misled {
		said[s.resolve(id)] = misled
	}
	for id := range said {
		if store.CheckID(string(id)) == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		effects = append(effects, said[id])
	}
	return ids, effects
}

func situationHash(s string) uint64 {
	if s == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(s))
	return max(h.Sum64(), 1)
}

// add counts an effect at a time, or with -1 takes it back. Counts do not fall below zero.
func (c *stats) add(e effect, hash uint64, by int, at int64) {
	c.counts.add(e, by)
	if i := slices.Index(c.Uses, at); e == helped && by < 0 && i >= 0 {
		c.Uses = slices.Delete(c.Uses, i, i+1)
	} else if e == helped && by > 0 {
		c.Uses = append(c.Uses, at)
		slices.Sort(c.Uses)
		c.Uses = c.Uses[max(0, len(c.Uses)-maxUses):]
	}
	i := slices.IndexFunc(c.Situations, func(s situation) bool { return s.Hash == hash })
	switch {
	case hash == 0 || i < 0 && by < 0:
	case i < 0:
		c.Situations = append(c.Situations, situation{Hash: hash})
		c.Situations = c.Situations[max(0, len(c.Situations)-maxSituations):]
		c.Situations[len(c.Situations)-1].add(e, by)
	default:
		at := c.Situations[i]
		at.add(e, by)
		c.Situations = append(slices.Delete(c.Situations, i, i+1), at)
	}
}

func (c *counts) add(e effect, by int) {
	n := map[effect]*int{failed: &c.Failed, helped: &c.Helped, misled: &c.Misled}[e]
	if n != nil { // nil: of a later version
		*n = max(0, *n+by)
	}
}

// sum adds the counters of another record.
func (c *stats) sum(o *stats) {
	if o == nil {
		return
	}
	plus := func(c *counts, o counts) {
		c.Helped, c.Failed, c.Misled = c.Helped+o.Helped, c.Failed+o.Failed, c.Misled+o.Misled
	}
	plus(&c.counts, o.counts)
	c.Uses = append(c.Uses, o.Uses...)
	slices.Sort(c.Uses)
	c.Uses = c.Uses[max(0, len(c.Uses)-maxUses):]
	for _, s := range o.Situations {
		i := slices.IndexFunc(c.Situations, func(t situation) bool { return t.Hash == s.Hash })
		if i < 0 && len(c.Situations) < maxSituations {
			c.Situations = append(c.Situations, s)
		} else if i >= 0 {
			plus(&c.Situations[i].counts, s.counts)
		}
	}
}

// effectiveness is the mean of the Beta posterior with the prior Beta(1,1); in a situation its prior is the overall
// mean, with the same weight.
func (c *stats) effectiveness(hash uint64) float64 {
	if c == nil {
		return 0.5
	}
	overall := c.posterior(0.5)
	for _, s := range c.Situations {
		if hash != 0 && s.Hash == hash {
			return s.posterior(overall)
		}
	}
	return overall
}

func (c *counts) posterior(mean float64) float64 {
	const weight, unused = 2, 0.5
	h := float64(c.Helped)
	return (weight*mean + h) / (weight + h + float64(c.Misled) + unused*float64(c.Failed))
}

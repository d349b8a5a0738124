package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Feedback says what became of the records that a task was shown.
type Feedback struct {
	// Key makes Feedback idempotent: one Key counts once, until Release. Required, at most 256 bytes.
	Key string
	// Injected are the records that the task was shown, Utilized those of them that it used. A record
	// that is in Utilized alone is ignored.
	Injected, Utilized []ID
	// Misled are records that led astray, injected or not. Misled outweighs Utilized.
	Misled []ID
	// Delivered says that the task was delivered. If it was not, only Misled counts.
	Delivered bool
	// Actor is who gives the feedback, if not the host: at most 256 bytes. Of one Actor, a record
	// counts one feedback an hour, and it counts those of at most 32 Actors an hour.
	Actor string
	// Situation is the situation that the feedback counts for, besides the overall counts; "": none. A
	// record keeps the last 32 situations, as hashes.
	Situation string
	// Undo takes back what a Feedback with the same lists has counted. It has a Key of its own. Counts
	// do not fall below zero.
	Undo bool
	// Of is the Key of the Feedback that Undo takes back, or of the Derived Draft that was Strengthened.
	// Undo leaves what that has not counted, as its Actor had had a say or it did not name the record as
	// used, and what was taken back before; without such a Feedback it changes nothing. Required with an
	// Actor.
	Of string
}

func (f *Feedback) check() error {
	var of error
	if f.Undo && f.Actor != "" {
		of = required("of", f.Of)
	}
	return cmp.Or(
		of, required("key", f.Key), key.CheckID("of", f.Of), key.CheckID("key", f.Key), key.CheckID("actor", f.Actor),
		limit("injected", maxFeedback, len(f.Injected)), limit("utilized", maxFeedback, len(f.Utilized)),
		limit("misled", maxFeedback, len(f.Misled)), limit("situation", MaxText, len(f.Situation)))
}

// of returns what the feedback says of the record with an id in Injected or Misled; 0: nothing.
func (f *Feedback) of(id ID) tally.Effect {
	switch {
	case slices.Contains(f.Misled, id):
		return tally.Misled
	case !f.Delivered:
		return 0
	case slices.Contains(f.Utilized, id):
		return tally.Helped
	case len(f.Utilized)+len(f.Misled) == 0:
		return tally.Quiet
	default:
		return tally.Failed
	}
}

// Feedback moves the counters of the records that a task was shown: in a delivered task, Helped of
// those that it used and Failed of the others; in any task, Misled of those that misled. It is
// visible at once, and on disk within 50 ms or, with Options.Sync, when Feedback returns. Ids that
// the scope does not know are ignored: a record of another scope gets its feedback there.
//
// An error of the store may be that of earlier feedback, which the Bank tries again. Call again
// with the same Key if in doubt.
func (s Space) Feedback(ctx context.Context, f Feedback) error {
	done, err := s.ready(ctx)
	defer done()
	if err == nil {
		err = f.check()
	}
	if err == nil {
		err = s.b.apply(ctx, s.b.shardFor(s.scope), &f)
	}
	if err == nil && s.b.o.Sync {
		err = s.b.w.Flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("memory: feedback: %w", err)
	}
	return nil
}

func (b *Bank) apply(ctx context.Context, sh *shard, f *Feedback) error {
	marker := sh.at.FeedbackKey(f.Key)
	sh.edit.Lock()
	defer sh.edit.Unlock()
	return b.applyLocked(ctx, sh, f, marker)
}

func (b *Bank) applyLocked(ctx context.Context, sh *shard, f *Feedback, marker string) error {
	if _, err := b.late.Get(ctx, marker); !errors.Is(err, store.ErrNotFound) {
		return err // nil: it was applied before
	}
	now := b.now()
	var of applied
	var undone string
	named := f.Undo && f.Of != ""
	if named {
		var err error
		undone, of, err = b.applied(ctx, sh, f.Of)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
	}
	var few struct {
		changes [usual]table.Change
		ops     [1 + usual]store.Op
	}
	var is struct {
		applied
		helped [usual]ID
	}
	is.At, is.Helped = tally.InstantOf(now), is.helped[:0]
	changes := sh.effects(few.changes[:0], &is.applied, f, of, now, b.o.uses())
	value := make([]byte, 0, stored.CountsSize*(1+len(changes)))
	value, err := codec.Append(value, marker, &is.applied)
	if err != nil {
		return err
	}
	ops := append(few.ops[:0], store.Op{Key: marker, Value: slices.Clip(value)})
	if b.o.Shared {
		ops[0].If = store.Absent
	}
	if named { // what is taken back is not taken back twice
		op, err := takenBack(undone, of, is.Unheeded)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	again, err := b.late.Count(ctx, sh.Table, sh.at.Counts, ops, value[len(value):], changes...)
	if again {
		return b.applyLocked(ctx, sh, f, marker)
	}
	return err
}

// takenBack returns the write that a feedback does not count for these records any more.
func takenBack(marker string, of applied, ids []ID) (store.Op, error) {
	of.Unheeded = slices.Compact(slices.Sorted(slices.Values(append(of.Unheeded, ids...))))
	return stored.Put(marker, &of)
}

// applied returns what the feedback or the draft with the key has counted, and under which marker.
func (b *Bank) applied(ctx context.Context, sh *shard, k string) (marker string, is applied, err error) {
	for _, marker = range [2]string{sh.at.FeedbackKey(k), sh.mergedKey(ident.Keyed(string(sh.scope), k))} {
		e, err := b.late.Get(ctx, marker)
		if err == nil {
			err = codec.Decode(e, &is)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return marker, is, err
		}
	}
	return "", is, store.ErrNotFound
}

// usual is the number of records up to which feedback needs no memory but the new counters. Most
// feedback is about fewer.
const usual = 8

// saying is what a feedback says of a record.
type saying struct {
	effect tally.Effect
	id     ID // that names it there
}

// effects appends to changes the new counters of the records that the feedback names. An Undo leaves
// what of, which it takes back, has not counted. To is it adds what f has counted: an Undo nothing.
func (sh *shard) effects(
	changes []table.Change, is *applied, f *Feedback, of applied, now time.Time, keep int,
) []table.Change {
	var few [usual]saying
	changes, said := sh.said(changes, few[:0], f)
	table.Clone(changes)
	hash := tally.Hash(f.Situation)
	for i, s := range said {
		e, n := changes[i].Entry, changes[i].Counts
		switch {
		case f.Undo:
			same := func(id ID) bool { return sh.entry(id) == e }
			helped := f.Of == "" || s.effect != tally.Helped || slices.ContainsFunc(of.Helped, same)
			if helped && !slices.ContainsFunc(of.Unheeded, same) {
				n.Add(s.effect, hash, -1)
			}
			is.Unheeded = append(is.Unheeded, s.id)
		case n.Heeds(f.Actor, now):
			if n.Take(s.effect, hash, now, keep); s.effect == tally.Helped {
				is.Helped = append(is.Helped, s.id)
			}
		default:
			is.Unheeded = append(is.Unheeded, s.id)
		}
	}
	return changes
}

// said appends to said what the feedback says, and to changes the record. A record that the
// feedback names twice, also by a former id, counts once.
func (sh *shard) said(changes []table.Change, said []saying, f *Feedback) ([]table.Change, []saying) {
	for _, ids := range [2][]ID{f.Injected, f.Misled} {
		for _, id := range ids {
			e, eff := sh.entry(id), f.of(id)
			if e == nil || eff == 0 {
				continue
			}
			if i := slices.IndexFunc(changes, func(c table.Change) bool { return c.Entry == e }); i >= 0 {
				said[i].effect = max(said[i].effect, eff)
				continue
			}
			changes, said = append(changes, table.Change{Entry: e}), append(said, saying{eff, id})
		}
	}
	return changes, said
}

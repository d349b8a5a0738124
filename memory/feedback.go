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
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Feedback says what became of the records that were shown for a task.
type Feedback struct {
	// Key makes it idempotent: one Key counts once, for all time. Required,
	// at most 256 bytes.
	Key string
	// Injected are the records that were shown, Utilized those of them that
	// were used. A record that is utilized but was not injected is ignored.
	Injected, Utilized []ID
	// Misled are records that led astray, injected or not. It outweighs
	// Utilized.
	Misled []ID
	// Delivered says that the task was delivered. If not, nobody helped and
	// nobody is blamed but Misled.
	Delivered bool
	// Actor is whom it comes from, if not the host: at most 256 bytes. What one
	// Actor has to say of a record counts once an hour, and a record takes it from
	// at most 32 of them an hour.
	Actor string
	// Situation is the situation that it counts for, besides the overall
	// counts; "": none. A record keeps the last 32 of them, as hashes.
	Situation string
	// Undo takes back what a Feedback with the same lists has counted, under a
	// Key of its own. Counts do not fall below zero.
	Undo bool
	// Of is the Key of that Feedback: what it has not counted, since its Actor had
	// had a say, is not taken back, nor what was taken back before, and nothing is if
	// there was none. Required with an Actor.
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

// of returns what the feedback says of the record that an id in Injected or
// Misled names, 0 for nothing.
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

// Feedback moves the counters of the records that were shown: of those that
// were used in a task that was delivered, Helped; of the others in it, Failed;
// of those that misled, Misled. It is visible at once, and on disk within 50
// ms or, with Options.Sync, when Feedback returns. Ids that the scope does not
// know are ignored: a record that was found in another scope gets its feedback
// there.
//
// An error of the store may be that of earlier feedback, which is tried again;
// call it again with the same Key if in doubt.
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
	named := f.Undo && f.Of != ""
	if named {
		var err error
		if of, err = b.applied(ctx, sh.at.FeedbackKey(f.Of)); errors.Is(err, store.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
	}
	var few struct {
		changes [usual]table.Change
		ops     [1 + usual]store.Op
	}
	changes, unheeded := sh.effects(few.changes[:0], f, of.Unheeded, now, b.o.uses())
	value := make([]byte, 0, stored.CountsSize*(1+len(changes)))
	value, err := codec.Append(value, marker, &applied{tally.InstantOf(now), unheeded})
	if err != nil {
		return err
	}
	ops := append(few.ops[:0], store.Op{Key: marker, Value: slices.Clip(value)})
	if b.o.Shared {
		ops[0].If = store.Absent
	}
	if named { // what is taken back is not taken back twice
		op, err := takenBack(sh.at.FeedbackKey(f.Of), of, unheeded)
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

// takenBack writes that a feedback does not count for records any more.
func takenBack(marker string, of applied, ids []ID) (store.Op, error) {
	of.Unheeded = slices.Compact(slices.Sorted(slices.Values(append(of.Unheeded, ids...))))
	return stored.Put(marker, &of)
}

// applied returns what a feedback has counted.
func (b *Bank) applied(ctx context.Context, marker string) (is applied, err error) {
	e, err := b.late.Get(ctx, marker)
	if err == nil {
		err = codec.Decode(e, &is)
	}
	return is, err
}

// usual is the number of records that most feedbacks are about, at most: they
// need no memory but that of the new counters.
const usual = 8

// saying is what a feedback says of a record.
type saying struct {
	effect tally.Effect
	id     ID // that names it there
}

// effects appends to changes the new counters of the records that the feedback
// is about, those aside that what it takes back did not count. It returns those that it does not
// count either, of an Undo all: these are not there to be taken back.
func (sh *shard) effects(
	changes []table.Change, f *Feedback, not []ID, now time.Time, keep int,
) (_ []table.Change, unheeded []ID) {
	var few [usual]saying
	changes, said := sh.said(changes, few[:0], f)
	table.Clone(changes)
	hash := tally.Hash(f.Situation)
	for i, s := range said {
		e, n := changes[i].Entry, changes[i].Counts
		switch {
		case f.Undo:
			if !slices.ContainsFunc(not, func(id ID) bool { return sh.entry(id) == e }) {
				n.Add(s.effect, hash, -1)
			}
			unheeded = append(unheeded, s.id)
		case n.Heeds(f.Actor, now):
			n.Take(s.effect, hash, now, keep)
		default:
			unheeded = append(unheeded, s.id)
		}
	}
	return changes, unheeded
}

// said appends to said what the feedback says, and to changes of which record. A record that
// is named twice, by a former id too, counts once.
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

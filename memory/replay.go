package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// replayDepth is how many ranks count in a replay: what was further down cannot
// fall.
const replayDepth = 50

// maxApart is the number of records from which a record is known to stay apart.
// One that has so many is not tried any more, until its texts change.
const maxApart = 32

// errFollows: a merger is stored, and its counters are not.
var errFollows = errors.New("counters")

// replayed is a text that has to be found as well after a merger as before.
type replayed struct {
	text  string
	holds *entry // before
	rank  int    // before
}

// replays returns the distinct texts of the two records.
func (m *merger) replays() []replayed {
	var out []replayed
	add := func(trigger, content string, e *entry) {
		if trigger+content != "" {
			out = append(out, replayed{text: cutText(trigger + " " + content), holds: e})
		}
	}
	for _, side := range []struct {
		r *Record
		e *entry
	}{{m.first, m.stays.entry}, {m.second, m.goes.entry}} {
		add(side.r.Trigger, side.r.Content, side.e)
		for _, v := range side.r.Variants {
			add(v.Trigger, v.Content, side.e)
		}
	}
	return out
}

func cutText(s string) string {
	if len(s) > MaxText {
		s = strings.ToValidUTF8(s[:MaxText], "")
	}
	return s
}

// try merges the two if that is no loss, and reports whether it did. They are
// made one in memory, which can be undone, before anything is stored. The
// caller holds edit.
func (s Space) try(ctx context.Context, sh *shard, sc *scratch, m *merger) (bool, error) {
	texts := m.replays()
	var err error
	for i := range texts {
		if texts[i].rank, err = s.rankOf(sc, texts[i].text, texts[i].holds); err != nil {
			return false, err
		}
	}
	var vector []float32
	if e := m.goes.entry; e.dim != 0 || !sh.vectorless(e) {
		if vector, err = s.b.vector(ctx, sh, e); err != nil {
			return false, err
		}
	}
	counts := m.stays.counts().sum(m.goes.counts())
	counts.Said = max(counts.Said, instant(m.goes.known), instant(m.goes.at)) // Decay takes it as that young
	// Of no revision: what the store has under this id is not this record.
	trial := leaving{newEntry(m.rec, m.stays.stowed, counts, 0), s.b.document(m.rec, m.stays.stowed), true}
	sh.put(trial.entry, trial.doc, m.stays, m.goes)
	for i := 0; i < len(texts) && err == nil; i++ {
		var rank int
		if rank, err = s.rankOf(sc, texts[i].text, trial.entry); err == nil && rank > texts[i].rank {
			s.b.undo(sh, m, trial, vector)
			return false, nil
		}
	}
	if err == nil {
		err = s.b.join(ctx, sh, m, trial)
	}
	if err != nil && !errors.Is(err, errFollows) {
		s.b.undo(sh, m, trial, vector)
		return false, err
	}
	return true, err
}

// undo makes two of the one record on trial.
func (b *Bank) undo(sh *shard, m *merger, trial leaving, vector []float32) {
	// The one that went first: from here on its id leads to it.
	sh.putVector(newEntry(m.second, m.goes.stowed, m.goes.counts(), m.goes.rev), m.goes.doc, vector)
	sh.put(newEntry(m.first, m.stays.stowed, m.stays.counts(), m.stays.rev), m.stays.doc, trial)
	b.bodies.Remove(m.stays.entry)
	b.bodies.Remove(m.goes.entry)
	b.wanted(sh)
}

// rankOf returns at which place e is found by a text, by words alone, from 1 on;
// replayDepth+1 if it is not among the first.
func (s Space) rankOf(sc *scratch, text string, e *entry) (int, error) {
	if err := s.query(&Query{Text: text, Archived: true}, sc); err != nil {
		return 0, err
	}
	sc.query.replaying = true
	sc.find(replayDepth)
	i := slices.IndexFunc(sc.found, func(f found) bool { return f.entry == e })
	if i < 0 {
		return replayDepth + 1, nil
	}
	rank := 1
	for j := range sc.found {
		if sc.found[j].ratio > sc.found[i].ratio {
			rank++
		}
	}
	return min(rank, replayDepth+1), nil
}

// part notes with e, one of the two, that they stay apart.
func (b *Bank) part(ctx context.Context, sh *shard, m *merger, e *entry) error {
	now := sh.find(e.id)
	rec := *m.first
	if now.id != m.stays.id {
		rec = *m.second
	}
	rec.apart = append(slices.Clip(rec.apart), apartMark(m.first, m.second))
	return b.rewrite(ctx, sh, now, &rec)
}

// apart reports whether two records are known to stay apart.
func apart(a, b *Record) bool {
	if len(a.apart)+len(b.apart) == 0 {
		return false
	}
	mark := apartMark(a, b)
	return slices.Contains(a.apart, mark) || slices.Contains(b.apart, mark)
}

// apartMark names two records with their texts, in either order.
func apartMark(a, b *Record) uint64 {
	if a.ID > b.ID {
		a, b = b, a
	}
	parts := []string{"apart"}
	for _, r := range []*Record{a, b} {
		parts = append(parts, string(r.ID), r.Trigger, r.Content)
		for _, v := range r.Variants {
			parts = append(parts, v.Trigger, v.Content)
		}
	}
	sum := digest(parts...)
	return binary.BigEndian.Uint64(sum[:])
}

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// ConsolidateReport says what Consolidate did. Tried = Merged + Apart, and
// Before = After + Merged unless others write to the scope meanwhile.
type ConsolidateReport struct {
	Before int // records
	Tried  int // pairs of near-duplicates, by this call
	Merged int // records that are now part of another
	Apart  int // pairs that stay apart, because as one they were found worse
	After  int // records
}

// Consolidate merges near-duplicates that are records of their own: of the same kind, trust, Actor and
// Thread, derived from the same records, trigger and content each at least 0.9 similar, with the same
// numbers and negations, and no Episodes. The one with the earlier At and Known stays, so that queries as
// of then find what they did; at the same times the one with more feedback, else the one with the smaller
// ID. If one has the earlier At and the other the earlier Known, the two stay apart. So do two that state
// slots differently, or whose slots got another value between them or within an hour of them. The record
// that stays takes over the text and source of the other as a Variant, its Links, and its counters, which
// are added up. The id of the other leads to it.
//
// Consolidate verifies each merge by replay before it stores it: it recalls each of the texts, by words
// alone. If the merged record then ranks below the rank that the record with that text had, among the first
// 50, the two stay apart until one of their texts changes. Meanwhile readers may see the two as one.
//
// Each merge is one commit. A second call finds nothing to do. A call after an
// interruption goes on. If another Bank has changed one of the two, and this one has not heard of it, they
// are tried once more.
func (s Space) Consolidate(ctx context.Context) (ConsolidateReport, error) {
	var report ConsolidateReport
	sh, done, err := s.holding(ctx)
	defer done()
	if sh == nil {
		return report, err
	}
	all := table.ByTime(sh.Snapshot())
	report.Before, report.After = len(all), len(all)
	sc := s.b.scratch.Get().(*scratch)
	defer s.b.release(sc)
	for _, e := range all {
		if e.Flags&table.Episode != 0 {
			continue
		}
		for id := ID(e.Name()); id != "" && err == nil; {
			id, err = s.consolidate(ctx, sh, sc, id, &report)
		}
		if s.b.o.Shared && errors.Is(err, store.ErrConflict) {
			err = nil // another Bank has changed one of the two
		}
		if err != nil {
			break
		}
	}
	if err = cmp.Or(err, s.b.w.Flush(ctx)); err != nil {
		return report, fmt.Errorf("memory: consolidate: %w", err)
	}
	return report, nil
}

// consolidate tries to merge the record with the id and the one most like it. It returns the id of the
// record to try next, or "" if there is nothing to merge.
func (s Space) consolidate(ctx context.Context, sh *shard, sc *scratch, id ID, report *ConsolidateReport) (ID, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := sh.entry(id)
	if e == nil || e.Key != ident.Of(id) {
		return "", nil // gone, or part of another already
	}
	m, err := s.b.pair(ctx, sh, sc, e)
	if m == nil || err != nil {
		return "", err
	}
	merged, err := s.try(ctx, sh, sc, m)
	switch {
	case merged:
		report.Merged++
		report.After--
		id = m.rec.ID
	case err == nil:
		if err = s.b.part(ctx, sh, m, e); err == nil {
			report.Apart++
		}
	}
	report.Tried = report.Merged + report.Apart
	return id, err
}

// merger is two records that become one.
type merger struct {
	stays, goes   table.Leaving
	first, second *Record // what they are
	rec           *Record // what they become
}

// pair returns the merger of e and the record most like it, or nil. The caller
// holds edit.
func (b *Bank) pair(ctx context.Context, sh *shard, sc *scratch, e *table.Entry) (*merger, error) {
	rec, err := b.record(ctx, sh, e)
	if err != nil || len(rec.apart) == maxApart {
		return nil, err
	}
	var best *merger
	var alike float64
	similar, err := b.similar(ctx, sh, sc, b.document(rec, stowedWith(e)), e.Flags&table.Kinds, consolidateSimilarity)
	if err != nil {
		return nil, err
	}
	for _, p := range similar {
		o, sum := p.Entry, p.trigger+p.content
		alikeKept := (o.Flags^e.Flags)&(table.Kinds|table.Quarantined) == 0 && o.Actor == e.Actor && o.Thread == e.Thread
		if o.Key == e.Key || !alikeKept || sum <= alike {
			continue
		}
		other, err := b.record(ctx, sh, o)
		if err != nil {
			return nil, err
		}
		if apart(rec, other) || !duplicates(rec, other) {
			continue
		}
		m := b.merger(e, o, rec, other)
		if m == nil {
			continue
		}
		at := m.second.At.UnixMicro()
		if !sh.Overtaken(m.stays.Entry, at) && !sh.Overtaken(m.goes.Entry, at) {
			best, alike = m, sum
		}
	}
	return best, nil
}

// merger returns the merger of two records; nil if they stay apart.
func (b *Bank) merger(e, o *table.Entry, rec, other *Record) *merger {
	stays, goes, first, second := e, o, rec, other
	if stronger(o, e) {
		stays, goes, first, second = o, e, other, rec
	}
	if stays.At > goes.At || stays.Known > goes.Known {
		stays, goes, first, second = goes, stays, second, first
	}
	if stays.At > goes.At || stays.Known > goes.Known {
		return nil // as of some time, one that was found would not be
	}
	n := joined(first, second)
	if n == nil {
		return nil
	}
	return &merger{
		stays: b.leaving(stays, first, true), first: first,
		goes: b.leaving(goes, second, false), second: second, rec: n,
	}
}

func stronger(a, b *table.Entry) bool {
	if x, y := a.Counts().Feedback(), b.Counts().Feedback(); x != y {
		return x > y
	}
	return table.Before(a, b) < 0
}

// join stores the merger of two records, which readers see as one already, with their counters. It waits for those
// that are written behind.
func (b *Bank) join(ctx context.Context, sh *shard, m *merger, trial table.Leaving) error {
	stays, goes := m.stays, m.goes
	put, err := sh.encodeRecord(m.rec, stowedWith(stays.Entry))
	if err != nil {
		return err
	}
	put.If = store.At(stays.Rev)
	id := ID(goes.Name())
	commit := []store.Op{put, {Key: sh.key(stored.Records, id), Delete: true, If: store.At(goes.Rev)}}
	vector, err := b.unwritten(ctx, sh, id)
	if err != nil {
		return err
	}
	sum := trial.Counts().Clone()
	counts, err := stored.AppendCounts(nil, nil, sh.at.Counts, table.Change{Entry: trial.Entry, Counts: sum})
	if err != nil {
		return err
	}
	counts = append(counts, store.Op{Key: sh.key(stored.Counts, id), Delete: true})
	for i, of := range []*table.Entry{stays.Entry, goes.Entry} {
		if b.o.Shared { // others count too
			counts[i].If = store.At(of.Counts().Rev)
		} else if _, ok := b.w.Pending(counts[i].Key); ok {
			if err := b.w.Flush(ctx); err != nil {
				return err
			}
		}
	}
	rev, err := b.st.Commit(ctx, slices.Concat(commit, vector, counts)...)
	if err != nil {
		return err
	}
	sum.Rev = rev
	sh.Put(newEntry(m.rec, stowedWith(stays.Entry), sum, rev), trial.Doc, trial)
	b.bodies.Remove(stays.Entry)
	b.bodies.Remove(goes.Entry)
	b.vectors.Want(sh.Table.Scope)
	return nil
}

// replayDepth is how many ranks count in a replay: a record that was further down cannot fall.
const replayDepth = 50

// replayed is a text that recall has to find as well after a merger as before.
type replayed struct {
	text  string
	holds *table.Entry // before
	rank  int          // before
}

// replays returns the distinct texts of the two records.
func (m *merger) replays() []replayed {
	var out []replayed
	add := func(trigger, content string, e *table.Entry) {
		if trigger+content != "" {
			text := trigger + " " + content
			text = strings.ToValidUTF8(text[:min(len(text), MaxText)], "")
			out = append(out, replayed{text: text, holds: e})
		}
	}
	for _, side := range []struct {
		r *Record
		e *table.Entry
	}{{m.first, m.stays.Entry}, {m.second, m.goes.Entry}} {
		add(side.r.Trigger, side.r.Content, side.e)
		for _, v := range side.r.Variants {
			add(v.Trigger, v.Content, side.e)
		}
	}
	return out
}

// try merges the two if recall loses nothing, and reports whether it did. It merges them in memory first,
// where it can undo that, and stores the merger afterwards. The caller holds edit.
func (s Space) try(ctx context.Context, sh *shard, sc *scratch, m *merger) (bool, error) {
	texts := m.replays()
	var err error
	for i := range texts {
		if texts[i].rank, err = s.rankOf(sc, texts[i].text, texts[i].holds); err != nil {
			return false, err
		}
	}
	var vector []float32
	if e := m.goes.Entry; e.Dim != 0 || !sh.Vectorless(e) {
		if vector, err = s.b.vector(ctx, sh, e); err != nil {
			return false, err
		}
	}
	counts := m.stays.Counts().Sum(m.goes.Counts())
	counts.Said = max(counts.Said, tally.Instant(m.goes.Known), tally.Instant(m.goes.At)) // Decay takes it as that young
	// It has no revision: the store has another record under this id.
	trial := s.b.leaving(newEntry(m.rec, stowedWith(m.stays.Entry), counts, 0), m.rec, true)
	sh.Put(trial.Entry, trial.Doc, m.stays, m.goes)
	for i := 0; i < len(texts) && err == nil; i++ {
		var rank int
		if rank, err = s.rankOf(sc, texts[i].text, trial.Entry); err == nil && rank > texts[i].rank {
			s.b.undo(sh, m, trial, vector)
			return false, nil
		}
	}
	if err == nil {
		err = s.b.join(ctx, sh, m, trial)
	}
	if err != nil {
		s.b.undo(sh, m, trial, vector)
		return false, s.b.unsure(ctx, sh, err, m.stays.Entry, m.goes.Entry)
	}
	return true, nil
}

// undo takes a merger in memory back.
func (b *Bank) undo(sh *shard, m *merger, trial table.Leaving, vector []float32) {
	// First the one that went: from here on its id leads to it again.
	sh.PutVector(newEntry(m.second, stowedWith(m.goes.Entry), m.goes.Counts(), m.goes.Rev), m.goes.Doc, vector)
	sh.Put(newEntry(m.first, stowedWith(m.stays.Entry), m.stays.Counts(), m.stays.Rev), m.stays.Doc, trial)
	b.bodies.Remove(m.stays.Entry)
	b.bodies.Remove(m.goes.Entry)
	b.vectors.Want(sh.Table.Scope)
}

// rankOf returns the rank of e in a recall of a text by words alone, from 1 on; replayDepth+1 if it is not
// among the first.
func (s Space) rankOf(sc *scratch, text string, e *table.Entry) (int, error) {
	if err := s.prepare(&Query{Text: text, Archived: true}, sc); err != nil {
		return 0, err
	}
	return sc.Rank(e, replayDepth), nil
}

// part notes with e, one of the two, that the two stay apart.
func (b *Bank) part(ctx context.Context, sh *shard, m *merger, e *table.Entry) error {
	now := sh.Find(e.Key)
	rec := *m.first
	if now.Key != m.stays.Key {
		rec = *m.second
	}
	rec.apart = append(slices.Clip(rec.apart), apartMark(m.first, m.second))
	return b.rewrite(ctx, sh, now, &rec)
}

// Decay archives a record that is older than unusedAfter and had fewer than minUses uses. With the default
// half-life its recency is below 0.06 then.
const (
	unusedAfter = 30 * 24 * time.Hour
	minUses     = 2
)

// DecayReport says what Decay did. Total = Kept + Archived + Already + Removed.
type DecayReport struct {
	Total    int // records
	Kept     int // in use, or young
	Archived int // by this call
	Already  int // archived before
	Removed  int // passing Episodes, by this call
}

// Decay archives unused records: those with fewer than two feedbacks that were neither used, said again,
// made, nor dated within the last 30 days. A Fact that states the current value of a Slot stays at any
// age. A text in quarantine does not supersede a trusted one here.
//
// Decay removes Passing Episodes that it would archive, and deletes nothing else: Query.Archived finds
// archived records, and to be said or used again brings one back. Fading needs no call: recency is computed
// when it is read.
func (s Space) Decay(ctx context.Context) (DecayReport, error) {
	var report DecayReport
	sh, done, err := s.holding(ctx)
	defer done()
	if sh == nil {
		return report, err
	}
	err = s.b.decay(ctx, sh, &report)
	report.Kept = report.Total - report.Archived - report.Already - report.Removed
	if err != nil {
		return report, fmt.Errorf("memory: decay: %w", err)
	}
	return report, nil
}

func (b *Bank) decay(ctx context.Context, sh *shard, report *DecayReport) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	cutoff := b.now().Add(-unusedAfter).UnixMicro()
	unused := func(e *table.Entry) bool {
		return e.Counts().Feedback() < minUses && max(e.Changed(), e.At) <= cutoff
	}
	var idle, passing []*table.Entry
	for _, e := range sh.Snapshot() {
		report.Total++
		switch {
		case e.Flags&table.Passing != 0 && unused(e):
			passing = append(passing, e)
		case e.Counts().Archived:
			report.Already++
		case unused(e) && !sh.Current(e):
			idle = append(idle, e)
		}
	}
	for chunk := range slices.Chunk(idle, maxGroupOps/4) {
		if err := b.archive(ctx, sh, chunk, true); err != nil {
			return err
		}
		report.Archived += len(chunk)
	}
	for chunk := range slices.Chunk(passing, eraseChunk) {
		if err := b.erase(ctx, sh, chunk); err != nil {
			return err
		}
		report.Removed += len(chunk)
	}
	return b.w.Flush(ctx)
}

// Archive archives a record as Decay does, or brings an archived one back. The change is on disk when
// Archive returns. It is idempotent. As after Decay, to be said or used again brings the record back.
func (s Space) Archive(ctx context.Context, id ID, archived bool) error {
	return s.change(ctx, "archive", id, func(sh *shard, e *table.Entry) error {
		if e.Counts().Archived == archived {
			return nil
		}
		if err := s.b.archive(ctx, sh, []*table.Entry{e}, archived); err != nil {
			return err
		}
		return s.b.w.Flush(ctx)
	})
}

// archive archives the records, or brings them back. The caller holds edit.
func (b *Bank) archive(ctx context.Context, sh *shard, es []*table.Entry, archived bool) error {
	for {
		var changes []table.Change
		for _, e := range es {
			c := e.Counts().Clone()
			c.Archived = archived
			changes = append(changes, table.Change{Entry: e, Counts: c})
		}
		if again, err := b.late.Count(ctx, sh.Table, sh.at.Counts, nil, nil, changes...); !again {
			return err
		}
	}
}

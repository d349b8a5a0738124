package memory

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/store"
)

// ConsolidateReport says what Consolidate did. Before = After + Merged.
type ConsolidateReport struct {
	Before int // records
	Merged int // records that are now part of another
	After  int
}

// Consolidate merges near-duplicates that were kept apart: of the same kind
// and trust, trigger and content both at least 0.9 similar, with the same
// numbers and negations, no Episodes. The one with more feedback stays, or
// else the older; the other becomes a Variant of it with its text and source,
// the counters are added up, and its id leads to the one that stays.
//
// Each merge is one commit, and the counters follow; a second call finds
// nothing to do, and one after an interruption goes on.
func (s Space) Consolidate(ctx context.Context) (ConsolidateReport, error) {
	var report ConsolidateReport
	if err := s.ready(ctx); err != nil {
		return report, err
	}
	sh := s.b.shard(s.scope)
	if sh == nil {
		return report, nil
	}
	all := byTime(sh.snapshot())
	report.Before, report.After = len(all), len(all)
	var sc index.Scratch
	for _, e := range all {
		if e.flags&isEpisode != 0 {
			continue
		}
		for id := e.name(); id != ""; {
			next, err := s.b.consolidate(ctx, sh, &sc, id)
			if err != nil {
				return report, fmt.Errorf("memory: consolidate: %w", err)
			}
			if id = next; id != "" {
				report.Merged++
				report.After--
			}
		}
	}
	if err := s.b.w.Flush(ctx); err != nil {
		return report, fmt.Errorf("memory: consolidate: %w", err)
	}
	return report, nil
}

// consolidate merges the record with the id with one like it, and returns the
// id of the one that stays, or "" if there is nothing to merge.
func (b *Bank) consolidate(ctx context.Context, sh *shard, sc *index.Scratch, id ID) (ID, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := sh.entry(id)
	if e == nil || e.id != keyOf(id) {
		return "", nil // gone, or part of another already
	}
	m, err := b.pair(ctx, sh, sc, e)
	if m == nil || err != nil {
		return "", err
	}
	return m.rec.ID, b.join(ctx, sh, m)
}

// merger is two records that become one.
type merger struct {
	stays, goes leaving
	rec         *Record // what they become
}

// pair returns the merger of e and the record most like it, or nil. The caller
// holds edit.
func (b *Bank) pair(ctx context.Context, sh *shard, sc *index.Scratch, e *entry) (*merger, error) {
	rec, err := b.record(ctx, sh, e)
	if err != nil {
		return nil, err
	}
	d := b.document(rec, e.stowed)
	var best *merger
	var alike float64
	similar, err := b.similar(ctx, sh, sc, d, e.flags&kindFlags, consolidateSimilarity)
	if err != nil {
		return nil, err
	}
	for _, p := range similar {
		o, sum := p.entry, p.trigger+p.content
		if o.id == e.id || (o.flags^e.flags)&(kindFlags|isQuarantined) != 0 || sum <= alike {
			continue
		}
		other, err := b.record(ctx, sh, o)
		if err != nil {
			return nil, err
		}
		stays, goes := e, o
		first, second := rec, other
		if stronger(o, e) {
			stays, goes, first, second = o, e, other, rec
		}
		if n := joined(first, second); n != nil && !sh.overtaken(stays, second) {
			alike = sum
			best = &merger{
				stays: leaving{stays, b.document(first, stays.stowed), true}, goes: leaving{goes, b.document(second, goes.stowed), false}, rec: n,
			}
		}
	}
	return best, nil
}

func stronger(a, b *entry) bool {
	if x, y := a.counts().feedback(), b.counts().feedback(); x != y {
		return x > y
	}
	return before(a, b) < 0
}

// joined returns the record that stays with the other as part of it, or nil if
// that would be too large.
func joined(stays, goes *Record) *Record {
	n := stays.clone()
	v := variantOf(stays, goes)
	v.ID = goes.ID
	n.Variants = append(n.Variants, v)
	for _, v := range goes.Variants {
		if v.Content == "" {
			v.Trigger, v.Content = goes.Trigger, goes.Content
		}
		if v.Trigger == n.Trigger && v.Content == n.Content {
			v.Trigger, v.Content = "", ""
		}
		n.Variants = append(n.Variants, v)
	}
	if len(n.Plan) == 0 {
		n.Plan = goes.Plan
	}
	if len(n.Variants) > maxVariants || n.size() > MaxRecord {
		return nil
	}
	return &n
}

// join stores the merger of two records and makes it visible. If it ends after
// the commit and before the counters follow, Open adds them up.
func (b *Bank) join(ctx context.Context, sh *shard, m *merger) error {
	stays, goes := m.stays, m.goes
	put, err := sh.encodeRecord(m.rec, stays.stowed)
	if err != nil {
		return err
	}
	put.If = store.At(stays.rev)
	id := goes.name()
	commit := []store.Op{put, {Key: sh.recordKey(id), Delete: true, If: store.At(goes.rev)}}
	vector, err := b.unwritten(ctx, sh, id)
	if err != nil {
		return err
	}
	commit = append(commit, vector...)
	e := newEntry(m.rec, stays.stowed, stays.counts().sum(goes.counts()), 0)
	ops, err := sh.encodeCounts(nil, change{e, e.counts()})
	if err != nil {
		return err
	}
	if e.rev, err = b.st.Commit(ctx, commit...); err != nil {
		return err
	}
	sh.put(e, b.document(m.rec, e.stowed), stays, goes)
	b.bodies.Remove(stays.entry)
	b.bodies.Remove(goes.entry)
	b.wanted(sh)
	_, err = b.add(ctx, append(ops, store.Op{Key: sh.countsKey(id), Delete: true})...)
	return err
}

package memory

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/lexical"
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
	var sc lexical.Scratch
	for _, e := range all {
		if e.rec.Kind == Episode {
			continue
		}
		for id := e.rec.ID; id != ""; {
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
func (b *Bank) consolidate(ctx context.Context, sh *shard, sc *lexical.Scratch, id ID) (ID, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := sh.entry(id)
	if e == nil || e.rec.ID != id {
		return "", nil // gone, or part of another already
	}
	stays, goes := sh.pair(sc, e)
	if goes == nil {
		return "", nil
	}
	return stays.rec.ID, b.join(ctx, sh, stays, goes)
}

// pair returns the record most like e with e, first the one that stays.
func (sh *shard) pair(sc *lexical.Scratch, e *entry) (stays, goes *entry) {
	d := document(e.rec)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	var alike float64
	for _, p := range sh.mu.index.Similar(sc, d.Trigger, d.Content, consolidateSimilarity) {
		o := sh.mu.entries[p.Slot]
		if o.rec.ID == e.rec.ID || o.rec.Kind != e.rec.Kind || o.rec.Trusted != e.rec.Trusted {
			continue
		}
		a, b := e, o
		if stronger(b, a) {
			a, b = b, a
		}
		if sum := p.Trigger + p.Content; sum > alike && joined(a.rec, b.rec) != nil {
			stays, goes, alike = a, b, sum
		}
	}
	return stays, goes
}

func stronger(a, b *entry) bool {
	if x, y := a.counts.feedback(), b.counts.feedback(); x != y {
		return x > y
	}
	return older(a.rec, b.rec)
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
func (b *Bank) join(ctx context.Context, sh *shard, stays, goes *entry) error {
	rec := joined(stays.rec, goes.rec)
	put, err := sh.encodeRecord(rec)
	if err != nil {
		return err
	}
	put.If = store.At(stays.rev)
	sum := stays.counts.sum(goes.counts)
	ops, err := sh.encodeCounts(nil, change{rec.ID, sum})
	if err != nil {
		return err
	}
	rev, err := b.st.Commit(ctx, put, store.Op{Key: sh.recordKey(goes.rec.ID), Delete: true, If: store.At(goes.rev)})
	if err != nil {
		return err
	}
	sh.put(rec, document(rec), sum, rev, goes.rec.ID)
	_, err = b.add(ctx, append(ops, store.Op{Key: sh.countsKey(goes.rec.ID), Delete: true})...)
	return err
}

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/index"
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

// Consolidate merges near-duplicates that were kept apart: of the same kind,
// trust, Actor and Thread, derived from the same records, trigger and content
// both at least 0.9 similar, with the same numbers and negations, no Episodes.
// The earlier by At and by Known stays, so that queries as of then find what
// they did; of those of the same times the one with more feedback, or else the
// one with the smaller ID. Two of which neither is the earlier are not merged,
// nor are two that state slots differently, or of whose slots something else was
// said between them or within an hour of them.
// The other becomes a Variant of it with its text and source, the counters are
// added up, further Links are taken over, and its id leads to the one that
// stays.
//
// Each merge is verified by replay before it is stored: asked for in the words
// of each of the texts that are to be one, the one record must not come later,
// by words alone, than the record that had the text came before, among the
// first 50. Otherwise the two stay apart, and that is remembered until one of
// their texts changes. While this is decided, readers may see the two as one.
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
	sc := s.b.scratch.Get().(*scratch)
	defer s.b.release(sc)
	for _, e := range all {
		if e.flags&isEpisode != 0 {
			continue
		}
		for id := e.name(); id != ""; {
			var err error
			if id, err = s.consolidate(ctx, sh, sc, id, &report); err != nil {
				return report, fmt.Errorf("memory: consolidate: %w", err)
			}
		}
	}
	if err := s.b.w.Flush(ctx); err != nil {
		return report, fmt.Errorf("memory: consolidate: %w", err)
	}
	return report, nil
}

// consolidate tries the record with the id and the one most like it, and returns
// the id of the record to try next, or "" if there is nothing to merge.
func (s Space) consolidate(ctx context.Context, sh *shard, sc *scratch, id ID, report *ConsolidateReport) (ID, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := sh.entry(id)
	if e == nil || e.id != keyOf(id) {
		return "", nil // gone, or part of another already
	}
	m, err := s.b.pair(ctx, sh, &sc.index, e)
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
	stays, goes   leaving
	first, second *Record // what they are
	rec           *Record // what they become
}

// pair returns the merger of e and the record most like it, or nil. The caller
// holds edit.
func (b *Bank) pair(ctx context.Context, sh *shard, sc *index.Scratch, e *entry) (*merger, error) {
	rec, err := b.record(ctx, sh, e)
	if err != nil || len(rec.apart) == maxApart {
		return nil, err
	}
	var best *merger
	var alike float64
	similar, err := b.similar(ctx, sh, sc, b.document(rec, e.stowed), e.flags&kindFlags, consolidateSimilarity)
	if err != nil {
		return nil, err
	}
	for _, p := range similar {
		o, sum := p.entry, p.trigger+p.content
		if o.id == e.id || (o.flags^e.flags)&(kindFlags|isQuarantined) != 0 || o.actor != e.actor || o.thread != e.thread || sum <= alike {
			continue
		}
		other, err := b.record(ctx, sh, o)
		if err != nil {
			return nil, err
		}
		m := b.merger(e, o, rec, other)
		if m != nil && duplicates(rec, other) && !sh.overtaken(m.stays.entry, m.second) && !sh.overtaken(m.goes.entry, m.second) && !apart(rec, other) {
			best, alike = m, sum
		}
	}
	return best, nil
}

// merger returns what becomes of two records, nil if they cannot be one.
func (b *Bank) merger(e, o *entry, rec, other *Record) *merger {
	stays, goes, first, second := e, o, rec, other
	if stronger(o, e) {
		stays, goes, first, second = o, e, other, rec
	}
	if stays.at > goes.at || stays.known > goes.known {
		stays, goes, first, second = goes, stays, second, first
	}
	if stays.at > goes.at || stays.known > goes.known {
		return nil // as of some time, one that was found would not be
	}
	n := joined(first, second)
	if n == nil {
		return nil
	}
	return &merger{
		stays: leaving{stays, b.document(first, stays.stowed), true}, goes: leaving{goes, b.document(second, goes.stowed), false},
		first: first, second: second, rec: n,
	}
}

func stronger(a, b *entry) bool {
	if x, y := a.counts().feedback(), b.counts().feedback(); x != y {
		return x > y
	}
	return before(a, b) < 0
}

// joined returns the record that stays with the other as part of it, or nil if
// that would be too large, or were revoked by other sources than the two are.
func joined(stays, goes *Record) *Record {
	links, ok := joinedLinks(stays, goes)
	if !ok || !slices.Equal(stays.Quotes, goes.Quotes) || !stays.Trusted && !alikeDerived(stays, goes) {
		return nil
	}
	n := stays.clone()
	n.Links, n.apart = links, nil
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

// joinedLinks returns the links of two records that become one: those of both,
// but for those between them. It reports false if they were derived from
// different records, or one from the other and said by somebody else.
func joinedLinks(stays, goes *Record) (links []Link, ok bool) {
	within := func(l Link) bool { return l.To == stays.ID || l.To == goes.ID }
	missing := func(l Link, in []Link) bool { return !within(l) && !slices.Contains(in, l) }
	for _, side := range [][2]*Record{{stays, goes}, {goes, stays}} {
		for _, l := range side[0].Links {
			if l.Rel == "" && (missing(l, side[1].Links) || within(l) && stays.Source != goes.Source) {
				return nil, false
			}
			if missing(l, links) {
				links = append(links, l)
			}
		}
	}
	return links, len(links) <= MaxLinks
}

// join stores the merger of two records, which are visible as the one on trial
// already. If it ends after the commit and before the counters follow, Open adds
// them up.
func (b *Bank) join(ctx context.Context, sh *shard, m *merger, trial leaving) error {
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
	ops, err := sh.encodeCounts(nil, nil, change{trial.entry, trial.counts()})
	if err != nil {
		return err
	}
	rev, err := b.st.Commit(ctx, commit...)
	if err != nil {
		return err
	}
	sh.put(newEntry(m.rec, stays.stowed, trial.counts(), rev), trial.doc, trial)
	b.bodies.Remove(stays.entry)
	b.bodies.Remove(goes.entry)
	b.wanted(sh)
	if _, err := b.add(ctx, append(ops, store.Op{Key: sh.countsKey(id), Delete: true})...); err != nil {
		return fmt.Errorf("%w: %w", errFollows, err)
	}
	return nil
}

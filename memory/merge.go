package memory

import (
	"context"
	"slices"

	"github.com/arc-learn/arc/internal/lexical"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Similarities from which on two records say the same.
const (
	mergeSimilarity       = 0.85 // Remember
	consolidateSimilarity = 0.9  // Consolidate
)

// maxVariants is the number of variants that a record keeps. After that, a
// near-duplicate in other words is a record of its own, and the source of one
// in the same words is not noted.
const maxVariants = 16

// Similarity tells how alike two texts are, in [0,1]: the cosine of the
// counts of their stemmed words, function words weighing an eighth. It is
// symmetrical, does not depend on word order, and is 1 for texts of the same
// words, 0 for texts that share none or have none. Salton and McGill,
// Introduction to Modern Information Retrieval, 1983.
func Similarity(a, b string) float64 {
	return text.Similarity(text.Append(nil, a), text.Append(nil, b))
}

// twin returns the record that c is to be merged into, or nil: the most
// similar one, among equals a trusted one, then the one with the earlier At and
// then the smaller ID.
func (sh *shard) twin(sc *lexical.Scratch, c candidate) *entry {
	r := c.rec
	if r.Kind == Episode {
		return nil
	}
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	var best *entry
	var alike float64
	for _, p := range sh.mu.index.Similar(sc, c.doc.Trigger, c.doc.Content, mergeSimilarity) {
		e := sh.mu.entries[p.Slot]
		if e.rec.Kind != r.Kind || !takes(e.rec, r) {
			continue
		}
		if sum := p.Trigger + p.Content; best == nil || sum > alike || sum == alike && preferred(e.rec, best.rec) {
			best, alike = e, sum
		}
	}
	return best
}

func preferred(a, b *Record) bool {
	if a.Trusted != b.Trusted {
		return a.Trusted
	}
	return older(a, b)
}

func older(a, b *Record) bool {
	if c := a.At.Compare(b.At); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}

// takes reports whether the near-duplicate r can become part of old.
func takes(old, r *Record) bool {
	if old.Trusted != r.Trusted && !confirms(old, r) {
		return false
	}
	if v := variantOf(old, r); v.Content != "" && len(old.Variants) >= maxVariants && !hasVariant(old, v) {
		return false
	}
	return old.size()+r.size() <= MaxRecord
}

// confirms reports whether r is the verified outcome that makes the
// quarantined record old trusted: it says exactly the same, and comes from a
// run that none of old's texts comes from.
func confirms(old, r *Record) bool {
	if old.Trusted || r.Source.Origin != Derived || old.Trigger != r.Trigger || old.Content != r.Content {
		return false
	}
	sameRun := func(s Source) bool { return s.Run == r.Source.Run }
	return !sameRun(old.Source) && !slices.ContainsFunc(old.Variants, func(v Variant) bool { return sameRun(v.Source) })
}

// variantOf returns r as a variant of old.
func variantOf(old, r *Record) Variant {
	v := Variant{Source: r.Source, At: r.At, Trigger: r.Trigger, Content: r.Content}
	if v.Trigger == old.Trigger && v.Content == old.Content {
		v.Trigger, v.Content = "", ""
	}
	return v
}

// hasVariant reports whether old has the texts of v from the source of v.
func hasVariant(old *Record, v Variant) bool {
	if v.Content == "" && v.Source == old.Source {
		return true
	}
	return slices.ContainsFunc(old.Variants, func(o Variant) bool {
		return o.Source == v.Source && o.Trigger == v.Trigger && o.Content == v.Content
	})
}

// absorb returns old with r as part of it: old itself if that changes nothing.
func absorb(old, r *Record) *Record {
	v := variantOf(old, r)
	confirmed := confirms(old, r)
	planned := len(old.Plan) == 0 && len(r.Plan) > 0
	noted := hasVariant(old, v) || len(old.Variants) == maxVariants
	if !confirmed && !planned && noted {
		return old
	}
	n := old.clone()
	if planned || confirmed { // what a quarantined record would run was not verified
		n.Plan = slices.Clone(r.Plan)
	}
	n.Trusted = old.Trusted || confirmed
	if !noted {
		n.Variants = append(n.Variants, v)
	}
	return &n
}

// merge makes r part of the record with the id. It reports false if that is
// not possible any more.
func (b *Bank) merge(ctx context.Context, sh *shard, r *Record, id ID) (Receipt, bool, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	old := sh.entry(id)
	if old == nil || !takes(old.rec, r) {
		return Receipt{}, false, nil
	}
	rec := absorb(old.rec, r)
	if rec != old.rec {
		if err := b.rewrite(ctx, sh, old, rec); err != nil {
			return Receipt{}, false, err
		}
	}
	receipt := Receipt{ID: rec.ID, Disposition: Merged, Into: rec.ID}
	c := old.counts.clone()
	c.Said, c.Archived = instantOf(r.Known), false
	if r.Source.Origin == Derived {
		receipt.Disposition = Strengthened
		c.Helped++
		c.used(r.Known)
	}
	ops, err := sh.encodeCounts(nil, change{rec.ID, c})
	if err != nil {
		return Receipt{}, false, err
	}
	if r.ID != "" {
		op, err := sh.encodeReceipt(r.ID, receipt)
		if err != nil {
			return Receipt{}, false, err
		}
		ops = append(ops, op)
	}
	taken, err := b.add(ctx, ops...)
	if taken {
		sh.count(change{rec.ID, c})
	}
	if err != nil {
		return Receipt{}, false, err
	}
	return receipt, true, b.w.Flush(ctx)
}

// rewrite stores a record anew and makes that visible. The caller holds edit.
func (b *Bank) rewrite(ctx context.Context, sh *shard, old *entry, rec *Record) error {
	op, err := sh.encodeRecord(rec)
	if err != nil {
		return err
	}
	op.If = store.At(old.rev)
	rev, err := b.st.Commit(ctx, op)
	if err != nil {
		return err
	}
	sh.put(rec, document(rec), old.counts, rev)
	return nil
}

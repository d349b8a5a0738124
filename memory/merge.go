package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Similarity returns how alike two texts are, in [0,1]: the cosine of the counts of their
// stemmed words, function words weighing an eighth. It is symmetrical and does not depend on
// word order. It is 1 for texts of the same words, 0 for texts that share none or have none.
// Salton and McGill, Introduction to Modern Information Retrieval, 1983.
func Similarity(a, b string) float64 {
	return text.Similarity(text.Append(nil, a), text.Append(nil, b))
}

// twin returns the record that c is to be merged into, or nil: the most similar one, among
// equals a trusted one, then the one with the earlier At, then the smaller ID.
func (b *Bank) twin(ctx context.Context, sh *shard, sc *scratch, c candidate) (*table.Entry, error) {
	r := c.rec
	if r.Kind == Episode {
		return nil, nil
	}
	var best *table.Entry
	var alike float64
	least := mergeSimilarity
	if r.Kind == Fact {
		least = sameSimilarity
	}
	similar, err := b.similar(ctx, sh, sc, c.doc, r.Kind.flag(), least)
	if err != nil {
		return nil, err
	}
	for _, p := range similar {
		e, sum := p.Entry, p.trigger+p.content
		if best != nil && (sum < alike || sum == alike && !preferred(e, best)) {
			continue
		}
		old, err := b.record(ctx, sh, e)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if takes(old, r) && !sh.Overtaken(e, r.At.UnixMicro()) {
			best, alike = e, sum
		}
	}
	return best, nil
}

func preferred(a, b *table.Entry) bool {
	if x, y := a.Flags.Trusted(), b.Flags.Trusted(); x != y {
		return x
	}
	return table.Before(a, b) < 0
}

// alike is a record that says nearly the same as a draft, with the similarity of trigger and
// content.
type alike struct {
	*table.Entry
	trigger, content float64
}

// similar returns the records of a kind whose texts are at least that similar to those of d.
func (b *Bank) similar(
	ctx context.Context, sh *shard, sc *scratch, d index.Doc, kind table.Flags, least float64,
) ([]alike, error) {
	l := index.NewLikeness(d.Trigger, d.Content, least)
	var out []alike
	for _, e := range sc.Like(sh.Table, l, kind) {
		r, err := b.record(ctx, sh, e)
		if errors.Is(err, store.ErrNotFound) {
			continue // it has just gone, or else what returns it says so
		}
		if err != nil {
			return nil, err
		}
		if t, c, ok := l.Of(b.lexicon.Terms(r.Trigger), b.lexicon.Terms(r.Content)); ok {
			out = append(out, alike{e, t, c})
		}
	}
	return out, nil
}

// trusts reports whether r is trusted by its origin: Derived as much as the least trusted of
// what it quotes and of its parents. A parent that is not there is not trusted.
func (sh *shard) trusts(r *Record) bool {
	if r.Source.Origin != Derived {
		return r.Source.Origin == Host
	}
	return !slices.ContainsFunc(r.Quotes, func(s Source) bool { return !s.Origin.trusted() }) &&
		!slices.ContainsFunc(r.Links, func(l Link) bool {
			if l.Rel != "" {
				return false
			}
			parent := sh.entry(l.To)
			return parent == nil || !parent.Flags.Trusted()
		})
}

// merge makes r part of the record with the id. It reports false if that is not possible any
// more.
func (b *Bank) merge(ctx context.Context, sh *shard, r *Record, id ID) (Receipt, bool, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := sh.entry(id)
	if e == nil {
		return Receipt{}, false, nil
	}
	old, err := b.record(ctx, sh, e)
	if err != nil || !takes(old, r) || sh.Overtaken(e, r.At.UnixMicro()) {
		return Receipt{}, false, err
	}
	rec := absorb(old, r)
	if rec != old {
		if err := b.rewrite(ctx, sh, e, rec); err != nil {
			return Receipt{}, false, err
		}
		e = sh.entry(id)
	}
	receipt := Receipt{ID: rec.ID, Disposition: Merged, Into: rec.ID}
	if r.Source.Origin == Derived {
		receipt.Disposition = Strengthened
	}
	var ops []store.Op
	if r.ID != "" {
		op, err := sh.encodeReceipt(r.ID, receipt)
		if err != nil {
			return Receipt{}, false, err
		}
		ops = append(ops, op)
	}
	for again := true; again; {
		c, all := e.Counts().Clone(), slices.Clip(ops)
		c.Said, c.Archived = tally.InstantOf(r.Known), false
		if r.Source.Origin == Derived && c.Heeds(r.asker(), r.Known) {
			c.Helped++
			c.Used(r.Known, b.o.uses())
			if r.ID != "" {
				op, err := stored.Put(sh.mergedKey(string(r.ID)), &applied{At: c.Said, Helped: []ID{rec.ID}})
				if err != nil {
					return Receipt{}, false, err
				}
				all = append(all, op)
			}
		}
		again, err = b.late.Count(ctx, sh.Table, sh.at.Counts, all, nil, table.Change{Entry: e, Counts: c})
	}
	if err != nil {
		return Receipt{}, false, err
	}
	return receipt, true, b.w.Flush(ctx)
}

package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/search"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/succession"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// meaningBelief is the probability that a Fact replaces the one nearest by its vector. See
// docs/benchmarks.md.
const meaningBelief = 0.5

// telling returns what a record tells, if it may replace another one.
func telling(r *Record) succession.Telling {
	if r.Passing || r.Kind.learned() {
		return succession.Telling{}
	}
	return succession.Tell(r.Content, r.Kind == Fact)
}

// succeed guesses what the new record e replaces, and keeps the guess. A guess needs no commit of
// its own: one that a crash loses hides nothing.
func (b *Bank) succeed(ctx context.Context, sh *shard, sc *scratch, e *table.Entry, c *candidate) {
	if t := telling(c.rec); t.MayReplace() {
		b.suspect(ctx, sh, e, b.earlier(ctx, sh, sc, e, c, t))
	}
}

// suspect keeps what else a record perhaps replaces. The next call returns an error of the write.
func (b *Bank) suspect(ctx context.Context, sh *shard, by *table.Entry, more []stored.Guess) {
	if len(more) == 0 {
		return
	}
	sh.edit.Lock() // others guess too, or forget it
	defer sh.edit.Unlock()
	if sh.entry(ID(by.Name())) == nil {
		return
	}
	k := sh.key(stored.Guesses, ID(by.Name()))
	var known []stored.Guess
	before, err := b.late.Get(ctx, k)
	if err == nil {
		known, err = stored.GuessesOf(before)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return // Open says so
	}
	more = slices.DeleteFunc(more, func(g stored.Guess) bool {
		return slices.ContainsFunc(known, func(o stored.Guess) bool {
			return o.Old == g.Old && !g.Evidence.Outweighs(o.Evidence)
		})
	})
	if op, err := stored.Put(k, append(known, more...)); err == nil && len(more) > 0 {
		if taken, _ := b.late.Add(ctx, op); taken {
			sh.guess(by, more)
		}
	}
}

// resemble guesses by its vector what the Fact e replaces: the nearest earlier Fact of its actor, if
// no other is about as near, or e speaks of a change. An Extractor that reads e later may take the
// guess back.
func (b *Bank) resemble(ctx context.Context, sh *shard, e *table.Entry, x []float32) {
	if e.Flags&table.Fact == 0 || x == nil {
		return
	}
	r, err := b.record(ctx, sh, e)
	if err != nil {
		return // it has just gone
	}
	t := telling(r)
	if !t.MayReplace() {
		return
	}
	sc := b.scratch.Get().(*scratch)
	defer b.release(sc)
	if o := sc.Closest(sh.Table, e, x, t.Changes(), b.o.MinCosine); o != nil {
		if old, err := b.record(ctx, sh, o); err == nil && t.OfSame(telling(old)) {
			b.suspect(ctx, sh, e, []stored.Guess{{Old: string(old.ID), Probability: meaningBelief, Evidence: table.ByMeaning}})
		}
	}
}

// earlier returns what e perhaps replaces: the earlier records of its kind and actor that are most
// like it, if they are enough so.
func (b *Bank) earlier(
	ctx context.Context, sh *shard, sc *scratch, e *table.Entry, c *candidate, t succession.Telling,
) (out []stored.Guess) {
	belief, ok := t.Belief(e.Flags&table.Fact != 0)
	if !ok {
		return nil
	}
	near := sc.Kin(sh.Table, e, c.doc.Content, len(c.rec.Content), belief.Least)
	if near == nil {
		return nil // as nearly always
	}
	own, all := search.Content(sh.Table, c.doc.Content), make([]succession.Earlier, 0, len(near))
	for _, o := range near {
		if r, err := b.record(ctx, sh, o); err == nil { // else it has just gone
			words := search.Content(sh.Table, b.lexicon.Terms(r.Content))
			all = append(all, succession.Earlier{Name: string(r.ID), Telling: telling(r), Content: words})
		}
	}
	of := table.ByOverlap
	if belief.Change {
		of = table.ByCue
	}
	for _, id := range t.Replaced(belief, own, all) {
		out = append(out, stored.Guess{Old: id, Probability: belief.Probability, Evidence: of})
	}
	return out
}

func (sh *shard) guess(by *table.Entry, kept []stored.Guess) {
	for _, g := range kept {
		sh.Suspect(ident.Of(g.Old), table.Guess{By: by.Key, Probability: g.Probability, Of: g.Evidence})
	}
}

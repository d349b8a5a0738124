package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/succession"
	"github.com/arc-learn/arc/store"
)

// What is compared, and from when on it counts. See docs/benchmarks.md.
const (
	compared      = 4    // earlier records
	asked         = 20   // words by which these are looked for
	postings      = 512  // of these words, but for the two rarest
	lighter       = 0.75 // of what its length says may a text weigh
	meaningBelief = 0.5
	alikeMeaning  = 0.43 // nearer than what is next, of what is above MinCosine
)

// telling returns what a record tells, if it is one that may replace another.
func telling(r *Record) succession.Telling {
	if r.Passing || r.Kind.learned() {
		return succession.Telling{}
	}
	return succession.Tell(r.Content, r.Kind == Fact)
}

// succeed guesses what the new record e replaces, and has that kept. A guess
// needs no commit of its own: one that a crash loses hides nothing.
func (b *Bank) succeed(ctx context.Context, sh *shard, sc *scratch, e *entry, c *candidate) {
	if t := telling(c.rec); t.MayReplace() {
		b.suspect(ctx, sh, e, b.earlier(ctx, sh, sc, e, c, t))
	}
}

// suspect has kept what else a record perhaps replaces. The next call reports what cannot be written.
func (b *Bank) suspect(ctx context.Context, sh *shard, by *entry, more []storedGuess) {
	if len(more) == 0 {
		return
	}
	sh.edit.Lock() // others guess too, or forget it
	defer sh.edit.Unlock()
	if sh.entry(by.name()) == nil {
		return
	}
	k := sh.guessKey(by.name())
	var known []storedGuess
	before, err := b.read(ctx, k)
	if err == nil {
		known, err = decodeGuesses(before)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return // Open says so
	}
	more = slices.DeleteFunc(more, func(g storedGuess) bool {
		return slices.ContainsFunc(known, func(o storedGuess) bool {
			return o.Old == g.Old && !g.Evidence.outweighs(o.Evidence)
		})
	})
	if value, err := codec.Encode(k, append(known, more...)); err == nil && len(more) > 0 {
		if taken, _ := b.add(ctx, store.Op{Key: k, Value: value}); taken {
			sh.guess(by, more)
		}
	}
}

// resemble guesses by its vector what the Fact e replaces: the Fact before it, of its
// actor, that is nearest, if no other is about as near, or e speaks of a change. An Extractor
// that reads e afterwards takes the guess back, if it says so.
func (b *Bank) resemble(ctx context.Context, sh *shard, e *entry, x []float32) {
	if e.flags&isFact == 0 || x == nil {
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
	if o := b.closest(sh, e, x, t.Changes()); o != nil {
		if old, err := b.record(ctx, sh, o); err == nil && t.OfSame(telling(old)) {
			b.suspect(ctx, sh, e, []storedGuess{{old.ID, meaningBelief, ByMeaning}})
		}
	}
}

// closest returns the Fact before e, of its actor, whose vector is nearest to x, if it is
// near, and unless e speaks of a change by far the nearest.
func (b *Bank) closest(sh *shard, e *entry, x []float32, cue bool) *entry {
	sc := b.scratch.Get().(*scratch)
	defer b.release(sc)
	h := &sc.hybrid.Vector
	sh.mu.Enter()
	defer sh.mu.Leave()
	if !h.Ask(x) {
		return nil
	}
	near, least := sh.vectors.Search(h, 2, uint32(kindFlags&^isFact), 0, sh.notBefore(e)), b.o.MinCosine
	if !cue && len(near) == 2 {
		least = max(least, near[1].Cosine) + alikeMeaning*(1-least)
	}
	if len(near) == 0 || !cue && len(near) < 2 || near[0].Cosine < least {
		return nil // where there is no other, nothing says how near is near
	}
	return sh.rows[near[0].Slot]
}

// earlier returns what e perhaps replaces: of the records of its kind and actor
// that were before it, those that are most like it, if they are enough so.
func (b *Bank) earlier(ctx context.Context, sh *shard, sc *scratch, e *entry, c *candidate, t succession.Telling) (out []storedGuess) {
	belief, ok := t.Belief(e.flags&isFact != 0)
	if !ok {
		return nil
	}
	near := sh.kin(sc, e, c, belief.Least)
	if near == nil {
		return nil // as nearly always
	}
	own, all := sh.content(c.doc.Content), make([]succession.Earlier, 0, len(near))
	for _, o := range near {
		if r, err := b.record(ctx, sh, o); err == nil { // else it has just gone
			all = append(all, succession.Earlier{Name: string(r.ID), Telling: telling(r), Content: sh.content(b.terms(r.Content))})
		}
	}
	of := ByOverlap
	if belief.Change {
		of = ByCue
	}
	for _, id := range t.Replaced(belief, own, all) {
		out = append(out, storedGuess{ID(id), belief.Probability, of})
	}
	return out
}

// kin returns the earlier records of e's kind and actor that are most like it by its
// rarest words, nil if none of them can share enough. What they weigh is taken to go with the
// length of the text: a quarter less at most.
func (sh *shard) kin(sc *scratch, e *entry, c *candidate, least float64) (near []*entry) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	may := false
	for _, k := range sh.index.Kin(&sc.index, index.Query{
		Terms: c.doc.Content, K: compared, Exclude: index.Flags(kindFlags &^ e.flags), Skip: sh.notBefore(e),
	}, asked, postings) {
		o := sh.rows[k.Row]
		near = append(near, o)
		size := float64(len(o.text)) / float64(len(c.rec.Content))
		may = may || o.flags&isCold == 0 && k.Share >= least*min(1, lighter*size)
	}
	if !may {
		return nil
	}
	return near
}

// notBefore reports of which rows the records are by another actor than e, or not before it, or
// what e was drawn from.
func (sh *shard) notBefore(e *entry) func(row uint32) bool {
	var from []ident.Key
	if e.from().Origin == Derived {
		for _, l := range e.links() {
			from = append(from, ident.Of(l.To))
		}
	}
	return func(row uint32) bool {
		o := sh.rows[row]
		return o.actor != e.actor || !e.after(o) || slices.ContainsFunc(from, o.is)
	}
}

// content returns what the words of a text weigh in the scope.
func (sh *shard) content(terms []text.Term) (c succession.Content) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	for i, t := range terms {
		if !t.Stop && !slices.Contains(terms[:i], t) {
			c = append(c, succession.Word{Text: t.Text, Weight: sh.index.Weight(t)})
		}
	}
	return c
}

func (sh *shard) guess(by *entry, kept []storedGuess) {
	sh.mu.Change(func() {
		for _, g := range kept {
			k := ident.Of(g.Old)
			sh.guesses[k] = append(sh.guesses[k], guess{by.id, g.Probability, g.Evidence})
		}
	})
}

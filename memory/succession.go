package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/succession"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Evidence says by what a record is taken to replace another.
type Evidence string

// The evidence.
const (
	ByCue     Evidence = "cue"     // the later one speaks of a change, and of the same
	ByOverlap Evidence = "overlap" // it says nearly the same, in other values
	ByMeaning Evidence = "meaning" // by the Embedder's vectors it is about the same
	// ByExtractor: Options.Extractor has read another value of the same in it.
	ByExtractor Evidence = "extractor"
)

// Replaced says that a record is perhaps not current any more: nothing hides it.
// The zero Replaced says that nothing speaks for that.
type Replaced struct {
	By          ID       // the record that perhaps replaces it
	Probability float64  // that it does
	Evidence    Evidence // what speaks for it
}

// guess is a record that perhaps replaces another.
type guess struct {
	by ident.Key
	p  float64
	of Evidence
}

// What is compared, and from when on it counts. See docs/benchmarks.md.
const (
	compared      = 4    // earlier records
	asked         = 20   // words by which these are looked for
	postings      = 512  // of these words, but for the two rarest
	lighter       = 0.75 // of what its length says may a text weigh
	asRelevant    = 0.7  // relevance of the later one, of that of the earlier
	lessRelevant  = 0.2  // with a cue, whose words are not those of the question
	reordered     = 10   // hits
	meaningBelief = 0.5
	alikeMeaning  = 0.43 // nearer than what is next, of what is above MinCosine
	halfAsNear    = 0.5  // cosine with the question, of that of the earlier one
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
			return o.Old == g.Old && (o.Evidence != ByMeaning || g.Evidence == ByMeaning)
		})
	})
	if value, err := codec.Encode(k, append(known, more...)); err == nil && len(more) > 0 {
		if taken, _ := b.add(ctx, store.Op{Key: k, Value: value}); taken {
			sh.guess(by, more)
		}
	}
}

// resemble guesses by its vector what the Fact e replaces: the Fact before it, of its
// actor, that is nearest, if no other is about as near, or e speaks of a change.
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
	h := &sc.hybrid.vector
	sh.mu.Enter()
	defer sh.mu.Leave()
	if sh.vectors == nil || !h.Ask(x) {
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

// notBefore reports of which rows the records are by another actor than e, or not before it.
func (sh *shard) notBefore(e *entry) func(row uint32) bool {
	return func(row uint32) bool {
		o := sh.rows[row]
		return o.actor != e.actor || !e.after(o)
	}
}

// after reports whether e tells of a later time than o, or was made later.
func (e *entry) after(o *entry) bool { return e.at > o.at || e.at == o.at && e.seq > o.seq }

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

// storedGuess is what a record perhaps replaces.
type storedGuess struct {
	Old         ID       `cbor:"1,keyasint"`
	Probability float64  `cbor:"2,keyasint"`
	Evidence    Evidence `cbor:"3,keyasint"`
}

func (sh *shard) guessKey(id ID) string { return key.Join(root, guessPart, sh.part, string(id)) }

func (sh *shard) guess(by *entry, kept []storedGuess) {
	sh.mu.Change(func() {
		for _, g := range kept {
			k := ident.Of(g.Old)
			sh.guesses[k] = append(sh.guesses[k], guess{by.id, g.Probability, g.Evidence})
		}
	})
}

// decodeGuesses returns what an entry says that a record perhaps replaces.
func decodeGuesses(e store.Entry) (kept []storedGuess, err error) {
	if err := codec.Decode(e, &kept); err != nil {
		return nil, err
	}
	for _, g := range kept {
		if g.Old == "" || !(g.Probability >= 0 && g.Probability <= 1) {
			return nil, fmt.Errorf("%w: %q: impossible guess", store.ErrDamaged, e.Key)
		}
	}
	return kept, nil
}

// loadGuesses reads what perhaps replaces what. Guesses of records that are gone
// are left where they are: they say nothing.
func (b *Bank) loadGuesses(ctx context.Context, in *stored, shards parts) error {
	for e, err := range in.under(ctx, guessPart) {
		if err != nil {
			return err
		}
		kept, err := decodeGuesses(e)
		if err != nil {
			return err
		}
		if sh, by, _ := shards.record(e.Key); by != nil {
			sh.guess(by, kept)
		}
	}
	return nil
}

// doubt notes what something perhaps replaces, of what was found from one on. The
// search of sh is in.
func (sc *scratch) doubt(sh *shard, from int) {
	if q := &sc.query; len(sh.guesses) == 0 || q.all || q.alone || q.triggered || q.model != nil {
		return
	}
	doubted := func(k ident.Key) bool { return len(sh.guesses[k]) > 0 }
	for i := range sc.found[from:] {
		f := &sc.found[from+i]
		f.doubted = doubted(f.id) || f.more != nil && slices.ContainsFunc(f.more.former, doubted)
	}
}

// mark says of a hit what perhaps replaces it.
type mark struct {
	old, by *entry
	p       float64
	of      Evidence
}

// order puts what is current before what it perhaps replaces, among the first
// ten, and brings in what is not among the hits. It hides nothing that was among
// those ten, and keeps the number of hits. A question about the past is answered
// as it was.
func (sc *scratch) order(best []found) []found {
	sc.marks = sc.marks[:0]
	q := &sc.query
	doubted := func(f found) bool { return f.doubted }
	if !slices.ContainsFunc(best[:min(len(best), reordered)], doubted) || succession.AsksOfPast(q.asked) {
		return best
	}
	for i := 0; i < min(len(best), reordered); i++ {
		for range maxSteps {
			if !best[i].doubted {
				break
			}
			m, at := q.later(best, i)
			if m.by == nil {
				break
			}
			sc.marks = append(sc.marks, m)
			if at >= 0 && at < i {
				break // it comes first already
			}
			f := best[max(at, i)]
			if at < 0 {
				f.entry, f.tally, f.doubted = m.by, m.by.counts(), true
			}
			best = q.lead(best, i, at, f)
		}
	}
	return best
}

// lead puts f, which is the hit at a place, or not among the hits if that is -1, before
// the i-th.
func (q *query) lead(best []found, i, at int, f found) []found {
	if at < 0 {
		if len(best) < q.k {
			best = append(best, found{})
		}
		at = len(best) - 1
	}
	copy(best[i+1:at+1], best[i:at])
	best[i] = f
	return best
}

// later returns the latest record that perhaps replaces the i-th hit, as far as
// the query sees it and finds it as relevant, and its place, or -1 if it is not
// among the hits.
func (q *query) later(best []found, i int) (m mark, at int) {
	f := &best[i]
	m.old, at = f.entry, -1
	f.sh.mu.Enter()
	defer f.sh.mu.Leave()
	for k := range f.keys() {
		guesses := f.sh.guesses[k]
		for _, g := range guesses {
			by := f.sh.findLocked(g.by)
			if by == nil || !by.after(f.entry) || !replaces(by, f.entry) || m.by != nil && !by.after(m.by) || q.excludes(by, by.counts()) != "" || q.standing(f.sh, by) != by {
				continue
			}
			n := slices.IndexFunc(best, func(o found) bool { return o.entry == by && o.sh == f.sh })
			if n >= 0 && !g.heeded(guesses, f, &best[n]) || n < 0 && g.of == ByMeaning {
				continue
			}
			m.by, m.p, m.of, at = by, g.p, g.of, n
		}
	}
	return m, at
}

// heeded reports whether a query orders by the guess, of those of f: whether what perhaps replaces f
// answers the question as well. Words go before vectors where both have guessed.
func (g guess) heeded(guesses []guess, f, by *found) bool {
	switch g.of {
	case ByMeaning:
		byWords := func(o guess) bool { return o.by == g.by && o.of != ByMeaning }
		return by.cosine > 0 && by.cosine >= halfAsNear*f.cosine && !slices.ContainsFunc(guesses, byWords)
	case ByCue:
		return by.relevance >= lessRelevant*f.relevance
	}
	return by.relevance >= asRelevant*f.relevance
}

// replaced returns what perhaps replaces e.
func (sc *scratch) replaced(e *entry) Replaced {
	for _, m := range sc.marks {
		if m.old == e {
			return Replaced{m.by.name(), m.p, m.of}
		}
	}
	return Replaced{}
}

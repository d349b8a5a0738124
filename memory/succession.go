package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
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
	by idKey
	p  float64
	of Evidence
}

// What is compared, and from when on it counts. See docs/benchmarks.md.
const (
	maxStatement  = 40   // words of a text that may replace another
	compared      = 4    // earlier records
	asked         = 20   // words by which these are looked for
	postings      = 512  // of these words, but for the two rarest
	lighter       = 0.75 // of what its length says may a text weigh
	cueOverlap    = 0.34 // share of the words of the one that has less, with a cue
	plainOverlap  = 0.5  // without
	alikeMost     = 0.9  // of what is most alike
	asRelevant    = 0.7  // relevance of the later one, of that of the earlier
	lessRelevant  = 0.2  // with a cue, whose words are not those of the question
	reordered     = 10   // hits
	cueBelief     = 0.75
	overlapBelief = 0.6
	meaningBelief = 0.5
	alikeMeaning  = 0.43 // nearer than what is next, of what is above MinCosine
	halfAsNear    = 0.5  // cosine with the question, of that of the earlier one
)

// tells reports whether a text of the kind may replace another: it states
// something, in few words, as a Fact or of who speaks.
func tells(r *Record) (ws []string, ok bool) {
	if r.Passing || r.Kind != Fact && r.Kind != Episode || strings.Contains(r.Content, "?") || len(r.Content) > 16*maxStatement {
		return nil, false
	}
	ws = foldedWords(r.Content)
	return ws, len(ws) <= maxStatement && (r.Kind == Fact || firstPerson.in(r.Content, ws))
}

// mayChange reports whether a text, of which ws are the words, may speak of what an
// earlier one tells of the same.
func mayChange(r *Record, ws []string, old *Record) bool {
	was, ok := tells(old)
	return ok && !saysSame(r.Content, old.Content) && !ofAnother(r.Content, ws, old.Content, was)
}

// succeed guesses what the new record e replaces, and has that kept. A guess
// needs no commit of its own: one that a crash loses hides nothing.
func (b *Bank) succeed(ctx context.Context, sh *shard, sc *scratch, e *entry, c *candidate) {
	ws, ok := tells(c.rec)
	if !ok || holdsCues.in(c.rec.Content, ws) {
		return
	}
	b.suspect(ctx, sh, e, b.earlier(ctx, sh, sc, e, c, ws))
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
	ws, ok := tells(r)
	if !ok || holdsCues.in(r.Content, ws) {
		return
	}
	if o := b.closest(sh, e, x, changeCues.in(r.Content, ws)); o != nil {
		if old, err := b.record(ctx, sh, o); err == nil && mayChange(r, ws, old) {
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
	sh.mu.enter()
	defer sh.mu.leave()
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
func (b *Bank) earlier(ctx context.Context, sh *shard, sc *scratch, e *entry, c *candidate, ws []string) (out []storedGuess) {
	least, p, of := plainOverlap, overlapBelief, ByOverlap
	if changeCues.in(c.rec.Content, ws) {
		least, p, of = cueOverlap, cueBelief, ByCue
	} else if e.flags&isFact == 0 {
		return nil
	}
	near := sh.kin(sc, e, c, least)
	if near == nil {
		return nil // as nearly always
	}
	type likeness struct {
		r             *Record
		overlap, like float64
	}
	own, alike := sh.content(c.doc.Content), make([]likeness, 0, len(near))
	for _, o := range near {
		if r, err := b.record(ctx, sh, o); err == nil { // else it has just gone
			overlap, like := own.compare(sh.content(b.terms(r.Content)))
			alike = append(alike, likeness{r, overlap, like})
		}
	}
	if !slices.ContainsFunc(alike, func(l likeness) bool { return l.overlap >= least }) {
		return nil
	}
	slices.SortFunc(alike, func(a, b likeness) int { return cmp.Compare(b.like, a.like) })
	best := 0.0
	for _, l := range alike {
		if l.like < alikeMost*best || !mayChange(c.rec, ws, l.r) {
			continue
		}
		if best = max(best, l.like); l.overlap >= least {
			out = append(out, storedGuess{l.r.ID, p, of})
		}
	}
	return out
}

// kin returns the earlier records of e's kind and actor that are most like it by its
// rarest words, nil if none of them can share enough. What they weigh is taken to go with the
// length of the text: a quarter less at most.
func (sh *shard) kin(sc *scratch, e *entry, c *candidate, least float64) (near []*entry) {
	sh.mu.enter()
	defer sh.mu.leave()
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

// content is the distinct words of a text, function words aside, with what they
// weigh in its scope.
type content []weighed

type weighed struct {
	word   string
	weight float64
}

func (sh *shard) content(terms []text.Term) (c content) {
	sh.mu.enter()
	defer sh.mu.leave()
	for i, t := range terms {
		if !t.Stop && !slices.Contains(terms[:i], t) {
			c = append(c, weighed{t.Text, sh.index.Weight(t)})
		}
	}
	return c
}

// compare returns what two texts have in common: as a share of the one that has
// less words, and of the mean of both.
func (c content) compare(o content) (overlap, like float64) {
	var both, own, other float64
	for i := range o {
		other += o[i].weight
	}
	for i := range c {
		own += c[i].weight
		for j := range o {
			if o[j].word == c[i].word {
				both += c[i].weight
				break
			}
		}
	}
	if both == 0 {
		return 0, 0
	}
	return both / min(own, other), 2 * both / (own + other)
}

// storedGuess is what a record perhaps replaces.
type storedGuess struct {
	Old         ID       `cbor:"1,keyasint"`
	Probability float64  `cbor:"2,keyasint"`
	Evidence    Evidence `cbor:"3,keyasint"`
}

func (sh *shard) guessKey(id ID) string { return key.Join(root, guessPart, sh.part, string(id)) }

func (sh *shard) guess(by *entry, kept []storedGuess) {
	sh.mu.change(func() {
		for _, g := range kept {
			k := keyOf(g.Old)
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
	doubted := func(k idKey) bool { return len(sh.guesses[k]) > 0 }
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
	if !slices.ContainsFunc(best[:min(len(best), reordered)], doubted) || pastCues.in(q.asked, foldedWords(q.asked)) {
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
	f.sh.mu.enter()
	defer f.sh.mu.leave()
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

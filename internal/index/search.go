package index

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// Query asks for records.
type Query struct {
	Terms []text.Term
	// K is how many records are wanted; 0: all that match.
	K int
	// Gate is the share of the best score from which on records are wanted in
	// any case, in [0,1]; 0: only the K best are.
	Gate float64
	// Asker says that the query is about the one who asks it: what the other
	// side said counts less.
	Asker bool
	// Exclude are the flags of which a record may have none.
	Exclude Flags
	// Half has, by a term, one that counts half as often for it.
	Half map[string]string
	// Skip, if not nil, leaves out the rows for which it returns true.
	Skip func(row uint32) bool
	// First, if not nil, says which of two rows is the better one when their
	// scores are equal, so that this does not hang on the order of puts. Only
	// Threads needs to know.
	First func(a, b uint32) bool
}

// Match is a record that a query found. Ratio is its score over the sum of the
// weights of the query's terms, each its idf times that of the term.
// Relevance, in (0,1), tells the same as a probability: with even odds, that
// the record is evidence for what was asked, rather than the best of a scope
// that knows nothing about it. Both depend on no other record that was found.
type Match struct {
	Row              uint32
	Ratio, Relevance float64
}

// Scratch is memory that searches use again. The zero value is ready; it
// serves one search at a time, of any index.
type Scratch struct {
	search
	named   uint32 // the actor whom the query names, and no other
	words   []word
	seen    map[string]bool
	after   []float32 // the sum of the words' bounds from each one on
	scores  []float32 // by row, zero between searches
	touched []uint32  // rows without a thread that have a score
	matches []Match
	own     []word // of the text whose kin is looked for
	kin     []Kin
	rank    ranking
	shared  []shared // by row, zero between uses; see similar.go
	single  []uint32 // rows without a thread that may be wanted
	bits    []uint64 // by row, zero between uses

	// Of threads, see chunks.go.
	states  []state  // by chunk, zero between searches
	chunks  []uint32 // that have hits
	open    []uint32 // those that may have wanted records
	settled []uint32 // rows in threads that have a score
	hits    []hit
	local   local
	tallies []tally // by thread, zero between searches
	found   []uint32
	threads []Thread
}

// search is what one search reads.
type search struct {
	q        *Query
	cols     *columns
	th       threads
	norms    *norms
	total    float64 // U
	size     float64 // sum of the weights of the terms by their kind
	most     float32 // largest factor of a score
	threaded bool    // some records are in threads
	// content says that function words count only beside others.
	content bool
}

// word is a distinct term of a query.
type word struct {
	text   string
	term   *term // nil: no record has it
	stop   bool
	df     int
	weight float64 // weight of the term by its kind · idf
	share  float64 // of it that counts: less than 1 of a word that stands for another
	gain   float32 // weight · share · (k1+1)
	bounds uint32  // as of a term
	rows   []uint32
	counts []uint8
	row    [1]uint32
	count  [1]uint8
}

// Search returns the records that match the query and are wanted: the K best,
// those that are as good as the last of these, and those with Gate of the best
// score; in no order. A function word counts only beside another, unless the
// query has no others. The result is valid until the next use of sc.
func (ix *Index) Search(sc *Scratch, q *Query) []Match {
	ix.begin(sc, q)
	defer sc.end()
	least, done := float32(0), 0
	for ; done < len(sc.words); done++ {
		w := &sc.words[done]
		if w.stop && sc.content || sc.after[done] < least {
			break // it makes no record a candidate any more
		}
		sc.walk(w, done)
		if sc.after[0] > 2*sc.after[done+1] && sc.worthwhile(done+1) {
			least = sc.sample(least)
		}
	}
	sc.weighChunks(sc.narrow(done, least))
	return sc.wanted()
}

// begin readies sc for a search.
func (ix *Index) begin(sc *Scratch, q *Query) {
	sc.search = search{q: q, cols: &ix.cols, th: ix.threads, norms: ix.norms}
	if n := int(ix.rows); len(sc.scores) < n {
		sc.scores = make([]float32, n+n/4)
	}
	if len(sc.states) < len(sc.th) {
		sc.states = make([]state, len(sc.th))
	}
	ix.weigh(sc, q.Terms)
	sc.most, sc.threaded = 1, len(sc.th) > 0
	if sc.named = ix.onlyNamed(sc.words); sc.named != 0 {
		sc.most += actorNamed
	}
	sc.content = slices.ContainsFunc(sc.words, func(w word) bool { return !w.stop })
	sc.after = slices.Grow(sc.after[:0], len(sc.words)+1)[:len(sc.words)+1]
	sc.after[len(sc.words)] = 0
	for i := len(sc.words) - 1; i >= 0; i-- {
		w := &sc.words[i]
		if w.term != nil {
			w.rows, w.counts = w.term.view(&w.row, &w.count)
			w.bounds = w.term.bounds
		}
		if half, ok := q.Half[w.text]; ok && ix.terms[half] != nil {
			w.join(ix.terms[half])
		}
		sc.after[i] = sc.after[i+1] + sc.bound(w)
	}
}

// join adds the postings of a term that counts half as often as w itself.
func (w *word) join(half *term) {
	var row [1]uint32
	var count [1]uint8
	rows, counts := half.view(&row, &count)
	own, n := w.rows, w.counts
	w.rows, w.counts = make([]uint32, 0, len(own)+len(rows)), make([]uint8, 0, len(own)+len(rows))
	for len(own)+len(rows) > 0 {
		next, c := uint32(math.MaxUint32), 0
		if len(own) > 0 {
			next = own[0]
		}
		if len(rows) > 0 {
			next = min(next, rows[0])
		}
		if len(own) > 0 && own[0] == next {
			c += 2 * int(n[0])
			own, n = own[1:], n[1:]
		}
		if len(rows) > 0 && rows[0] == next {
			c += int(counts[0])
			rows, counts = rows[1:], counts[1:]
		}
		w.rows, w.counts = append(w.rows, next), append(w.counts, uint8(min(c, maxCount)))
	}
	shortest := half.bounds & 255
	if w.term != nil {
		shortest = min(shortest, w.bounds&255)
	}
	w.bounds = uint32(slices.Max(w.counts))<<8 | shortest
}

// bound returns the most that a word gives to a record.
func (sc *Scratch) bound(w *word) float32 {
	if len(w.rows) == 0 {
		return 0
	}
	w.gain = float32(w.weight * w.share * (k1 + 1))
	p := float32(w.bounds>>8) * sc.norms.inv[uint8(w.bounds)]
	if sc.threaded {
		p *= 1 + windowSum
	}
	return w.gain * sc.most * saturate(p)
}

// end lets go of what the search read.
func (sc *Scratch) end() {
	for _, row := range sc.touched {
		sc.scores[row] = 0
	}
	for _, row := range sc.settled {
		sc.scores[row] = 0
	}
	for _, id := range sc.chunks {
		sc.states[id] = state{}
	}
	clear(sc.words)
	clear(sc.seen)
	sc.touched, sc.settled, sc.words = sc.touched[:0], sc.settled[:0], sc.words[:0]
	sc.chunks, sc.open, sc.hits = sc.chunks[:0], sc.open[:0], sc.hits[:0]
	sc.search = search{}
}

// skips reports whether Query.Skip leaves out a record that has a score, which it has no
// more then. That is asked only of what would be wanted: the answer may lie far away.
func (sc *Scratch) skips(row uint32) bool {
	if sc.q.Skip == nil || !sc.q.Skip(row) {
		return false
	}
	sc.scores[row] = skipped
	return true
}

// skipped is the score of a record that Query.Skip leaves out.
const skipped = -1e30

// walk adds what the word, which is the n-th, gives to the records that hold
// it and are in no thread. Of the others it notes in which chunks they are.
func (sc *Scratch) walk(w *word, n int) {
	meta, scores, touched, counts := sc.cols.meta, sc.scores, sc.touched, w.counts
	special := sc.q.Exclude | dead | asks
	if sc.q.Asker {
		special |= other
	}
	for i, row := range w.rows {
		m := meta[row]
		count, gain := counts[i], w.gain
		if sc.threaded {
			if cell := sc.cols.chunk[row]; cell != 0 {
				if flagsOf(m)&dead == 0 { // also what is left out counts as surroundings
					sc.hit(cell, row, w, n, count, uint8(m))
				}
				continue
			}
		}
		if flagsOf(m)&special != 0 || sc.named != 0 {
			if flagsOf(m)&(sc.q.Exclude|dead) != 0 {
				continue
			}
			gain *= sc.factor(row, m)
		}
		if scores[row] == 0 {
			touched = append(touched, row)
		}
		scores[row] += float32(gain * sc.saturated(count, uint8(m)))
	}
	sc.touched = touched
}

// factor returns by what the score of a record is multiplied.
func (sc *Scratch) factor(row, meta uint32) float32 {
	f := float32(1)
	if flagsOf(meta)&asks != 0 {
		f += justAsks
	}
	if sc.q.Asker && flagsOf(meta)&other != 0 {
		f += otherAsked
	}
	if sc.named != 0 && sc.cols.actor[row] == sc.named {
		f += actorNamed
	}
	return f
}

func (sc *Scratch) saturated(count, length uint8) float32 {
	if count == 1 {
		return sc.norms.once[length]
	}
	return saturate(float32(count) * sc.norms.inv[length])
}

// worthwhile reports whether walking the n-th word would cost more than to find
// out that it need not be.
func (sc *Scratch) worthwhile(n int) bool {
	return n < len(sc.words) && len(sc.words[n].rows) > 2*samples+(len(sc.touched)+len(sc.chunks))/4
}

// maxRanked is the largest K for which the work is cut short.
const maxRanked = 256

// ranking are the best scores so far, in ascending order.
type ranking struct {
	best []float32
	k    int
}

func (r *ranking) reset(k int) {
	if r.best, r.k = r.best[:0], k; k > maxRanked {
		r.k = 0
	}
}

// wants reports whether a score is among the best.
func (r *ranking) wants(s float32) bool {
	return len(r.best) < r.k || r.k > 0 && s > r.best[0]
}

func (r *ranking) add(s float32) {
	if len(r.best) < r.k {
		r.best = append(r.best, 0)
		copy(r.best[1:], r.best)
	}
	at := 1
	for ; at < len(r.best) && r.best[at] < s; at++ {
		r.best[at-1] = r.best[at]
	}
	r.best[at-1] = s
}

// least returns the least score that is wanted, going by those that were added:
// 0 if they are fewer than wanted.
func (r *ranking) least(gate float64) float32 {
	if r.k == 0 || len(r.best) < r.k {
		return 0
	}
	if gate > 0 {
		return min(r.best[0], float32(gate)*r.best[r.k-1])
	}
	return r.best[0]
}

// rounding is what a bound is lowered by, so that rounding loses nothing.
const rounding = 1 - 1e-5

// improve returns a score such that no record below it is wanted, going by the
// scores so far, if least is one.
func (sc *Scratch) improve(least float32) float32 {
	sc.rank.reset(sc.q.K)
	if sc.rank.k == 0 || len(sc.touched)+len(sc.settled) < sc.rank.k {
		return least
	}
	bar := least
	for _, rows := range [...][]uint32{sc.touched, sc.settled} {
		for _, row := range rows {
			if s := sc.scores[row]; s > bar && !sc.skips(row) {
				sc.rank.add(s)
				if len(sc.rank.best) == sc.rank.k {
					bar = sc.rank.best[0]
				}
			}
		}
	}
	return max(least, rounding*sc.rank.least(sc.q.Gate))
}

// narrow adds what the words from the n-th on give to the records that may
// still be wanted, and to the chunks that may hold such records, which are
// fewer after each. It leaves those chunks in open.
func (sc *Scratch) narrow(n int, least float32) float32 {
	sc.open = append(sc.open[:0], sc.chunks...)
	sc.single = sc.single[:0]
	for _, row := range sc.touched {
		if s := sc.scores[row]; s > 0 && s+sc.after[n] >= least {
			sc.single = append(sc.single, row)
		}
	}
	for ; ; n++ {
		sc.prune(least, sc.after[n])
		if sc.after[n] == 0 {
			return least
		}
		if w := &sc.words[n]; len(w.rows) > 0 {
			if len(w.rows) > 8*len(sc.open) {
				sc.pruneByPlace(least, sc.after[n])
			}
			sc.complete(w, n)
			if sc.after[n+1] > 0 {
				least = sc.sample(least)
			}
		}
	}
}

// prune leaves in single and open only what may come to least, if rest is the
// most that can be added.
func (sc *Scratch) prune(least, rest float32) {
	single, open := sc.single[:0], sc.open[:0]
	for _, row := range sc.single {
		if sc.scores[row]+rest >= least {
			single = append(single, row)
		}
	}
	for _, id := range sc.open {
		if st := &sc.states[id]; st.bound*sc.most+rest >= least {
			open = append(open, id)
		} else {
			st.closed = true
		}
	}
	sc.single, sc.open = single, open
}

// pruneByPlace does what prune does for chunks, with a better bound.
func (sc *Scratch) pruneByPlace(least, rest float32) {
	open := sc.open[:0]
	for _, id := range sc.open {
		if least == 0 || sc.boundByPlace(id)*sc.most+rest >= least {
			open = append(open, id)
		} else {
			sc.states[id].closed = true
		}
	}
	sc.open = open
}

// complete does what walk does, for what is in single and open: it looks at all
// postings, or looks up what it needs where that is much less.
func (sc *Scratch) complete(w *word, n int) {
	count := len(sc.single) + maxChunk/2*len(sc.open)
	if len(w.rows) < 4*count {
		for i, row := range w.rows {
			sc.credit(w, n, row, w.counts[i])
		}
		return
	}
	sc.mark()
	defer clear(sc.bits)
	rows, counts := w.rows, w.counts
	if len(rows) < 16*count {
		for i, row := range rows {
			if sc.bits[row/64]>>(row%64)&1 != 0 {
				sc.credit(w, n, row, counts[i])
			}
		}
		return
	}
	for base, set := range sc.bits {
		for ; set != 0; set &= set - 1 {
			row := uint32(base*64 + bits.TrailingZeros64(set))
			i := gallop(rows, row)
			if rows, counts = rows[i:], counts[i:]; len(rows) == 0 {
				return
			}
			if rows[0] == row {
				sc.credit(w, n, row, counts[0])
			}
		}
	}
}

// credit adds a posting to what its record has.
func (sc *Scratch) credit(w *word, n int, row uint32, count uint8) {
	if !sc.threaded {
		if old := sc.scores[row]; old > 0 {
			m := sc.cols.meta[row]
			gain := w.gain
			if flagsOf(m)&(asks|other) != 0 || sc.named != 0 {
				gain *= sc.factor(row, m)
			}
			sc.scores[row] = old + float32(gain*sc.saturated(count, uint8(m)))
		}
		return
	}
	if cell := sc.cols.chunk[row]; cell != 0 {
		if sc.isOpen(chunkOf(cell)) || cell&(nearPrev|nearNext) != 0 {
			if m := sc.cols.meta[row]; flagsOf(m)&dead == 0 {
				sc.hit(cell, row, w, n, count, uint8(m))
			}
		}
	} else if sc.scores[row] > 0 {
		m := sc.cols.meta[row]
		sc.scores[row] += float32(w.gain * sc.factor(row, m) * sc.saturated(count, uint8(m)))
	}
}

// mark sets the bits of the rows in single, and of those that count in the
// chunks in open.
func (sc *Scratch) mark() {
	if n := len(sc.cols.meta)/64 + 1; len(sc.bits) < n {
		sc.bits = make([]uint64, n+n/4)
	}
	set := func(row uint32) { sc.bits[row/64] |= 1 << (row % 64) }
	for _, row := range sc.single {
		set(row)
	}
	for _, id := range sc.open {
		c := sc.th[id]
		for _, row := range c.rows {
			set(row)
		}
		if p := sc.th.chunk(c.prev); p != nil {
			for _, row := range p.rows[max(0, len(p.rows)-reach):] {
				set(row)
			}
		}
		if x := sc.th.chunk(c.next); x != nil {
			for _, row := range x.rows[:min(reach, len(x.rows))] {
				set(row)
			}
		}
	}
}

// gallop returns the number of rows below row: it looks near the front first.
func gallop(rows []uint32, row uint32) int {
	step := 1
	for step <= len(rows) && rows[step-1] < row {
		step *= 2
	}
	from := step / 2
	i, _ := slices.BinarySearch(rows[from:min(step, len(rows))], row)
	return from + i
}

// wanted returns what is wanted of the records that were ranked.
func (sc *Scratch) wanted() []Match {
	least := sc.rank.least(sc.q.Gate)
	if sc.q.K > maxRanked {
		least = sc.leastOfMany()
	}
	sc.matches = sc.matches[:0]
	for _, rows := range [...][]uint32{sc.single, sc.settled} {
		for _, row := range rows {
			if s := sc.scores[row]; s > 0 && s >= least && !sc.skips(row) {
				sc.matches = append(sc.matches, sc.match(row, s))
			}
		}
	}
	return sc.matches
}

// leastOfMany is what ranking.least is for a large K.
func (sc *Scratch) leastOfMany() float32 {
	sc.rank.best = sc.rank.best[:0]
	for _, rows := range [...][]uint32{sc.single, sc.settled} {
		for _, row := range rows {
			if s := sc.scores[row]; s > 0 && !sc.skips(row) {
				sc.rank.best = append(sc.rank.best, s)
			}
		}
	}
	n := len(sc.rank.best)
	if sc.q.K >= n {
		return 0
	}
	slices.Sort(sc.rank.best)
	least := sc.rank.best[n-sc.q.K]
	if gate := sc.q.Gate; gate > 0 {
		least = min(least, float32(gate)*sc.rank.best[n-1])
	}
	return least
}

func (sc *Scratch) match(row uint32, s float32) Match {
	r := float64(s) / sc.total
	return Match{row, r, relevance(r, sc.size)}
}

// knows reports whether sc.words has the text, of a query with n terms.
func (sc *Scratch) knows(s string, n int) bool {
	if n <= 64 {
		return slices.ContainsFunc(sc.words, func(w word) bool { return w.text == s })
	}
	if sc.seen == nil {
		sc.seen = make(map[string]bool)
	}
	if len(sc.words) == 0 {
		clear(sc.seen)
	}
	known := sc.seen[s]
	sc.seen[s] = true
	return known
}

// weigh fills sc.words with the distinct terms of the query, those that are in
// the fewest records first and function words last.
func (ix *Index) weigh(sc *Scratch, query []text.Term) {
	sc.words, sc.total, sc.size = sc.words[:0], 0, 0
	records := roundUp(ix.Len(), minRecords)
	for _, t := range query {
		if sc.knows(t.Text, len(query)) {
			continue
		}
		sc.words = append(sc.words, word{text: t.Text, term: ix.terms[t.Text], stop: t.Stop, share: 1})
	}
	for i := range sc.words {
		w := &sc.words[i]
		if w.term == nil && !w.stop && len(query) <= maxSpelled {
			t := ix.spelt.nearest(w.text)
			if t != nil && !slices.ContainsFunc(sc.words, func(o word) bool { return o.term == t }) {
				w.text, w.term, w.share = t.text, t, misspelt
			}
		}
		if w.term != nil {
			w.df = int(w.term.df)
		}
		kind := text.Term{Stop: w.stop}.Weight()
		w.weight = kind * idf(records, w.df)
		sc.size += kind
		sc.total += w.weight
	}
	sc.total = max(sc.total, minInformation)
	slices.SortStableFunc(sc.words, func(a, b word) int {
		if a.stop != b.stop {
			if a.stop {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.df, b.df)
	})
}

package index

import (
	"cmp"
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
	// Asker says that the query is about the one who asks it: what that one
	// said counts more.
	Asker bool
	// Exclude are the flags of which a record may have none.
	Exclude Flags
	// Skip, if not nil, leaves out the slots for which it returns true.
	Skip func(slot uint32) bool
}

// Match is a record that a query found. Ratio is its score over the sum of the
// weights of the query's terms, each its idf times that of the term.
// Relevance, in (0,1), tells the same as a probability: with even odds, that
// the record is evidence for what was asked, rather than the best of a scope
// that knows nothing about it. Both depend on no other record that was found.
type Match struct {
	Slot             uint32
	Ratio, Relevance float64
}

// Scratch is memory that searches use again. The zero value is ready; it
// serves one search at a time, of any index.
type Scratch struct {
	search
	words   []word
	seen    map[string]bool
	after   []float32 // the sum of the words' bounds from each one on
	scores  []float32 // by slot, zero between searches
	touched []uint32  // slots that have a score
	matches []Match
	best    []float32
	need    []uint32

	// Of threads, see chunks.go.
	states  []state // by chunk, zero between searches
	chunks  []uint32
	hits    []hit
	local   local
	tallies []tally // by thread, zero between searches
	found   []uint32
	threads []Thread
}

// search is what one search reads.
type search struct {
	q     *Query
	cols  *columns
	th    *threads
	norms *norms
	limit uint32
	actor uint32 // the one that the query names
	asker bool
	total float64 // U
	size  float64 // sum of the weights of the terms by their kind
	most  float32 // largest factor of a score
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
	gain   float32 // weight · (k1+1)
	slots  []uint32
	counts []uint8
	slot   [1]uint32
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
		if rest := sc.after[done+1]; rest > 0 && sc.after[0]-rest > rest {
			least = sc.least()
		}
	}
	sc.weighChunks(done)
	sc.finish(done)
	return sc.take()
}

// begin readies sc for a search.
func (ix *Index) begin(sc *Scratch, q *Query) {
	sc.search = search{q: q, limit: ix.limit.Load(), cols: ix.cols.Load(), th: ix.threads.Load(), norms: ix.norms.Load()}
	if len(sc.scores) < int(sc.limit) {
		sc.scores = make([]float32, int(sc.limit)+int(sc.limit)/4)
	}
	if len(sc.states) < len(sc.th.chunks) {
		sc.states = make([]state, len(sc.th.chunks))
	}
	ix.weigh(sc, q.Terms)
	sc.most = 1
	if sc.asker = q.Asker && ix.selves.Load() > 0; sc.asker {
		sc.most += selfAsked
	}
	if sc.actor = ix.actorNamed(sc.words); sc.actor != 0 {
		sc.most += actorNamed
	}
	sc.content = slices.ContainsFunc(sc.words, func(w word) bool { return !w.stop })
	sc.after = slices.Grow(sc.after[:0], len(sc.words)+1)[:len(sc.words)+1]
	sc.after[len(sc.words)] = 0
	for i := len(sc.words) - 1; i >= 0; i-- {
		w := &sc.words[i]
		sc.after[i] = sc.after[i+1] + sc.bound(w)
	}
}

// bound fills in the postings of a word, and returns the most that it gives to
// a record.
func (sc *Scratch) bound(w *word) float32 {
	if w.term == nil {
		return 0
	}
	w.slots, w.counts = w.term.view(sc.limit, &w.slot, &w.count)
	if len(w.slots) == 0 {
		return 0
	}
	w.gain = float32(w.weight * (k1 + 1))
	bounds := w.term.bounds.Load()
	p := float32(bounds>>8) * sc.norms.inv[uint8(bounds)]
	if len(sc.th.chunks) > 0 {
		p *= 1 + windowSum
	}
	return w.gain * sc.most * saturate(p)
}

// end lets go of what the search read.
func (sc *Scratch) end() {
	for _, slot := range sc.touched {
		sc.scores[slot] = 0
	}
	for _, id := range sc.chunks {
		sc.states[id] = state{}
	}
	clear(sc.words)
	clear(sc.seen)
	sc.touched, sc.chunks, sc.hits, sc.words = sc.touched[:0], sc.chunks[:0], sc.hits[:0], sc.words[:0]
	sc.search = search{}
}

// skipped is the score of a record that Query.Skip leaves out.
const skipped = -1e30

// walk adds what the word, which is the n-th, gives to the records that hold
// it. It notes which chunks of threads they are in.
func (sc *Scratch) walk(w *word, n int) {
	meta, chunk, exclude := sc.cols.meta, sc.cols.chunk, sc.q.Exclude|dead
	if len(sc.th.chunks) > 0 {
		exclude = dead // also what is left out counts as surroundings
	}
	scores, counts := sc.scores, w.counts
	for i, slot := range w.slots {
		m := meta[slot].Load()
		if flagsOf(m)&exclude != 0 {
			continue
		}
		count := counts[i]
		if cell := chunk[slot].Load(); cell != 0 {
			sc.hit(cell, w, n, count, uint8(m))
		}
		if flagsOf(m)&sc.q.Exclude != 0 {
			continue
		}
		old := scores[slot]
		if old == 0 {
			old = sc.touch(slot)
		}
		scores[slot] = old + float32(w.gain*sc.factor(slot, m)*sc.saturated(count, uint8(m)))
	}
}

// touch notes that a record has a score, and returns what that begins with.
func (sc *Scratch) touch(slot uint32) float32 {
	sc.touched = append(sc.touched, slot)
	if sc.q.Skip != nil && sc.q.Skip(slot) {
		return skipped
	}
	return 0
}

// factor returns by what the score of a record is multiplied.
func (sc *Scratch) factor(slot, meta uint32) float32 {
	f := float32(1)
	if flagsOf(meta)&asks != 0 {
		f += justAsks
	}
	if sc.asker && flagsOf(meta)&self != 0 {
		f += selfAsked
	}
	if sc.actor != 0 && sc.cols.actor[slot] == sc.actor {
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

// least returns a score such that no record below it is wanted, going by the
// scores so far.
func (sc *Scratch) least() float32 {
	k := sc.q.K
	if k <= 0 || len(sc.touched) < k {
		return 0
	}
	worst, best := sc.kth(k)
	if worst <= 0 {
		return 0
	}
	if sc.q.Gate > 0 {
		worst = min(worst, float32(sc.q.Gate)*best)
	}
	return worst * (1 - 1e-5) // rounding loses nothing
}

// kth returns the k-th best score, or 0 if there are fewer, and the best.
func (sc *Scratch) kth(k int) (worst, best float32) {
	top := sc.best[:0] // in ascending order
	for _, slot := range sc.touched {
		s := sc.scores[slot]
		switch {
		case s <= 0 || len(top) == k && s <= top[0]:
			continue
		case len(top) < k:
			top = append(top, 0)
			copy(top[1:], top)
		}
		at := 1
		for ; at < len(top) && top[at] < s; at++ {
			top[at-1] = top[at]
		}
		top[at-1] = s
	}
	sc.best = top
	if len(top) < k {
		return 0, 0
	}
	return top[0], top[k-1]
}

// finish adds what the words from the n-th on give to those records that may
// be wanted.
func (sc *Scratch) finish(n int) {
	if n == len(sc.words) || sc.after[n] == 0 {
		return
	}
	least, rest := sc.least(), sc.after[n]
	sc.need = sc.need[:0]
	for _, slot := range sc.touched {
		if s := sc.scores[slot]; s > 0 && s+rest >= least {
			sc.need = append(sc.need, slot)
		}
	}
	sc.needAround()
	slices.Sort(sc.need)
	sc.need = slices.Compact(sc.need)
	sc.forget()
	for i := n; i < len(sc.words); i++ {
		sc.complete(&sc.words[i], i)
	}
	for _, id := range sc.chunks {
		sc.weighChunk(id, false)
	}
}

// complete does what walk does for the slots in need that have a score.
func (sc *Scratch) complete(w *word, n int) {
	slots, counts := w.slots, w.counts
	for _, slot := range sc.need {
		i := gallop(slots, slot)
		if slots, counts = slots[i:], counts[i:]; len(slots) == 0 {
			return
		}
		if slots[0] != slot {
			continue
		}
		m := sc.cols.meta[slot].Load()
		if cell := sc.cols.chunk[slot].Load(); cell != 0 {
			if flagsOf(m)&dead == 0 {
				sc.hit(cell, w, n, counts[0], uint8(m))
			}
		} else if sc.scores[slot] > 0 {
			sc.scores[slot] += float32(w.gain * sc.factor(slot, m) * sc.saturated(counts[0], uint8(m)))
		}
	}
}

// gallop returns the number of slots below slot: it looks near the front first.
func gallop(slots []uint32, slot uint32) int {
	step := 1
	for step <= len(slots) && slots[step-1] < slot {
		step *= 2
	}
	from := step / 2
	i, _ := slices.BinarySearch(slots[from:min(step, len(slots))], slot)
	return from + i
}

// take returns what is wanted of the records that have a score.
func (sc *Scratch) take() []Match {
	least := float32(0)
	if sc.q.K > 0 && sc.q.K < len(sc.touched) {
		var best float32
		least, best = sc.kth(sc.q.K)
		if sc.q.Gate > 0 {
			least = min(least, float32(sc.q.Gate)*best)
		}
	}
	sc.matches = sc.matches[:0]
	for _, slot := range sc.touched {
		if s := sc.scores[slot]; s > 0 && s >= least {
			sc.matches = append(sc.matches, sc.match(slot, s))
		}
	}
	return sc.matches
}

func (sc *Scratch) match(slot uint32, s float32) Match {
	r := float64(s) / sc.total
	return Match{slot, r, relevance(r, sc.size)}
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
	records := roundRecords(ix.Len())
	for _, t := range query {
		if sc.knows(t.Text, len(query)) {
			continue
		}
		w := word{text: t.Text, term: ix.terms.get(t.Text), stop: t.Stop}
		if w.term != nil {
			w.df = int(w.term.df.Load())
		}
		w.weight = t.Weight() * idf(records, w.df)
		sc.size += t.Weight()
		sc.total += w.weight
		sc.words = append(sc.words, w)
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

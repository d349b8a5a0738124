package index

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/text"
)

// Query asks an Index.
type Query struct {
	Text  string
	Days  [][]text.Term         // that it names, each as in a Doc: records of one of them come first
	K     int                   // the K best, and those that are as good as the last of them; 0: all
	Gate  float64               // also those whose Ratio is at least this share of the best
	Wants func(row uint32) bool // what may be found; nil: all
}

// Match is a record that a query found.
type Match struct {
	Row            uint32
	Ratio          float64 // orders matches: of 1 where a record is about half of what the query asks for
	Named, Another bool    // the query names one actor: this is that actor's, or somebody else's
}

// scratch is memory that searches use again.
type scratch struct {
	words   []word
	rest    []float32       // by word: the most that it and those after it can add
	scores  []float32       // by row, zero between searches
	tau     []float32       // by row: how much of the word at hand it has, and stands near; zero between words
	touched []uint32        // rows with a score: the candidates
	now     []uint32        // rows that the word at hand counts for
	closed  bool            // no others become candidates
	least   float32         // what has no such score in the end is not wanted
	total   float64         // the score of a record with a Ratio of 1
	named   uint32          // the one actor whom it names
	ofDay   map[uint32]bool // rows of the days that it names; nil: it names none
	content bool            // it has other words than function words
}

// word is a word of a query, or a form of one, as it counts.
type word struct {
	text string
	term *term // or unknown
	stop bool
	open bool // its forms count, too
	gain float32
}

var unknown term // has no postings

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Search returns what q finds, best first.
//
// It is MaxScore (Turtle and Flood 1995). The rarest words are walked first, and bring candidates, until what
// is left cannot lift a new record among the K best; common words are then looked up for the candidates only.
// rest[n] is the most that the words from the n-th on add to any record, and scores only grow, so the K-th
// best score of now (least) is at most that of the end: a record without a score is out once rest[n] < least,
// one with a score s once s + rest[n] < least. Both hold at each step, so when they are looked at changes the
// time and not what is found (TestAgainstAScan).
func (ix *Index) Search(q *Query) []Match {
	sc := scratches.Get().(*scratch)
	defer func() { // also when Wants panics
		for _, r := range sc.touched {
			sc.scores[r] = 0
		}
		clear(sc.words)
		sc.words, sc.touched = sc.words[:0], sc.touched[:0]
		scratches.Put(sc)
	}()
	ix.weigh(sc, q)
	n := 0
	for ; n < len(sc.words); n++ {
		w, rest := &sc.words[n], sc.words[n+1:]
		if w.stop && sc.content || sc.rest[n] < sc.least {
			break // no new candidates
		}
		ix.walk(sc, w)
		if len(rest) > 0 && 2*sc.rest[n+1] < sc.rest[0] && len(sc.touched) < 4*rest[0].df() {
			sc.raise(q) // it may end the loop, in less time than the next word takes
		}
	}
	for sc.closed = true; n < len(sc.words); n++ {
		sc.prune(sc.rest[n])
		if w := &sc.words[n]; w.df() < 40*len(sc.touched) { // a candidate takes as long as 40 postings
			ix.walk(sc, w)
		} else {
			ix.lookUp(sc, w)
			sc.raise(q)
		}
	}
	sc.raise(q)
	return ix.found(sc, q)
}

// found returns the candidates that have come to least.
func (ix *Index) found(sc *scratch, q *Query) (out []Match) {
	sc.prune(0)
	out = make([]Match, 0, len(sc.touched))
	for _, r := range sc.touched {
		if !q.wants(r) {
			continue
		}
		m := Match{Row: r, Ratio: float64(sc.scores[r]) / sc.total}
		m.Named = sc.named != 0 && ix.actors[r] == sc.named
		m.Another = sc.named != 0 && !m.Named
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(b.Row, a.Row))
	})
	return out
}

// prune leaves only what may come to least, if rest is the most that can be added.
func (sc *scratch) prune(rest float32) {
	sc.touched = slices.DeleteFunc(sc.touched, func(r uint32) bool {
		if sc.scores[r]+rest >= sc.least {
			return false
		}
		sc.scores[r] = 0
		return true
	})
}

func (w *word) df() int         { return len(w.term.postings) }
func (w *word) weight() float64 { return text.Term{Stop: w.stop}.Weight() }

// weigh readies sc for a search: the distinct words and their forms, the rarest first, function words last.
func (ix *Index) weigh(sc *scratch, q *Query) {
	if n := len(ix.rows); len(sc.scores) < n {
		sc.scores, sc.tau = make([]float32, n+n/4), make([]float32, n+n/4)
	}
	var buf [64]text.Term
	terms := ix.an.Append(buf[:0], q.Text)
	sc.ofDay, sc.closed, sc.least = ix.ofDays(q.Days), false, math.SmallestNonzeroFloat32
	terms = append(terms, slices.Concat(q.Days...)...)
	for _, t := range terms {
		if len(sc.words) < 256 && !slices.ContainsFunc(sc.words, func(w word) bool { return w.text == t.Text }) {
			known := cmp.Or(ix.terms[t.Text], &unknown)
			sc.words = append(sc.words, word{text: t.Text, term: known, stop: t.Stop, open: t.Open})
		}
	}
	ix.gain(sc, len(terms) <= 64)
	most := float32(1) // of factor
	if sc.named = ix.actor(sc.words); sc.named != 0 {
		most += ActorNamed
	}
	if sc.ofDay != nil {
		most += dayNamed
	}
	sc.words = slices.DeleteFunc(sc.words, func(w word) bool { return w.df() == 0 })
	slices.SortStableFunc(sc.words, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), a.df()-b.df())
	})
	sc.rest = append(sc.rest[:0], make([]float32, len(sc.words)+1)...)
	for i, w := range slices.Backward(sc.words) {
		sc.rest[i] = sc.rest[i+1] + w.gain*most
	}
}

// gain says how much each word gives at most: (k1+1)·ln(1 + (N-df+½)/(df+½)) of BM25, an eighth of that for a
// function word; and of the sum without k1+1, which is what the query asks for, the total: less of a long
// query, of which a part is more. Words that may be forms of one come behind those of the query and give a
// share of it, which is as rare as all of them together. A word that nothing has is taken for misspelt; that
// of a day also counts for what was told on the day after.
func (ix *Index) gain(sc *scratch, forms bool) {
	records := max(len(ix.rows)-len(ix.free), 1)
	records = max(minRecords, 1<<bits.Len(uint(records-1))) // rounded up, so that idf seldom changes
	sc.content = false
	asked, size := 0.0, 0.0
	for i := range len(sc.words) {
		w := &sc.words[i]
		df, from := w.df(), len(sc.words)
		share := float32(formOf)
		if w.text[0] == '@' {
			share = toldAfter
			day, _ := time.Parse("@01-02 2006", w.text+" 2024") // a leap year
			ix.addNear(sc, ix.terms[day.AddDate(0, 0, 1).Format("@01-02")])
		} else if (df == 0 || w.open) && !w.stop && forms {
			like := ix.forms(w.text)
			if df == 0 && len(like) == 0 {
				like = append(like, ix.nearest(w.text))
			}
			df += ix.addNear(sc, like...)
		}
		w = &sc.words[i] // which may have moved
		weight := w.weight() * math.Log1p((float64(max(records, df)-df)+0.5)/(float64(df)+0.5))
		w.gain = float32(weight * (k1 + 1))
		for j := from; j < len(sc.words); j++ {
			sc.words[j].gain = share * w.gain
		}
		size += w.weight()
		asked += weight
		sc.content = sc.content || !w.stop
	}
	sc.total = max(asked, minInformation) / math.Pow(max(size, 4)/4, 0.75)
}

// addNear adds forms of the word at hand that the query does not have itself, and returns in how many records
// they are, counted once for each form.
func (ix *Index) addNear(sc *scratch, terms ...*term) (df int) {
	for _, t := range terms {
		known := slices.ContainsFunc(sc.words, func(o word) bool { return o.term == t })
		if t != nil && !known && len(sc.words) < 256 {
			sc.words = append(sc.words, word{text: t.text, term: t})
			df += len(t.postings)
		}
	}
	return df
}

// actor returns the one actor whom words name, 0 where they name none or several.
func (ix *Index) actor(words []word) (named uint32) {
	for _, w := range words {
		for id := range ix.names[w.text] {
			if named != 0 && named != id {
				return 0
			}
			named = id
		}
	}
	return named
}

func (q *Query) wants(r uint32) bool { return q.Wants == nil || q.Wants(r) }

// ofDays returns the rows of some days: those that have all words of one. No days: nil.
func (ix *Index) ofDays(days [][]text.Term) (rows map[uint32]bool) {
	if len(days) > 0 {
		rows = map[uint32]bool{}
	}
	for _, d := range days {
		for _, p := range cmp.Or(ix.terms[d[len(d)-1].Text], &unknown).postings {
			lacks := func(w text.Term) bool {
				_, has := cmp.Or(ix.terms[w.Text], &unknown).find(p.row())
				return !has
			}
			if !slices.ContainsFunc(d, lacks) {
				rows[p.row()] = true
			}
		}
	}
	return rows
}

// factor is what counts more or less of a row, whichever of the words it has.
func (ix *Index) factor(sc *scratch, r uint32) float32 {
	f, x := float32(1), ix.rows[r]
	if x.asks {
		f += justAsks
	}
	if sc.named != 0 && ix.actors[r] == sc.named {
		f += ActorNamed
	}
	if !x.linked && sc.ofDay[r] {
		f += dayNamed
	}
	return f
}

// neighbour is a row near another in its thread, and how much of a word of one counts for the other.
type neighbour struct {
	row   uint32
	share float32
}

// around returns a row and its neighbours. What a row gives to others and what it takes of them differ: what
// was said before a record counts more for it than what was said after.
func (ix *Index) around(r uint32, shares *[2][reach]float32, buf *[1 + 2*reach]neighbour) []neighbour {
	n, own := 1, open[ix.rows[r].length]
	if buf[0] = (neighbour{r, 1}); !ix.rows[r].linked {
		return buf[:n]
	}
	for side := range shares {
		at := ix.links[r][side]
		for d := 0; d < reach && at != 0; d++ {
			if x := ix.rows[at-1]; x.linked {
				buf[n] = neighbour{at - 1, own * shares[side][d] * open[x.length]}
				n++
			}
			at = ix.links[at-1][side]
		}
	}
	return buf[:n]
}

// walk adds what a word gives to the records that have it or stand near one that does.
func (ix *Index) walk(sc *scratch, w *word) {
	var buf [1 + 2*reach]neighbour
	tau, now := sc.tau, sc.now[:0]
	for _, has := range w.term.postings {
		r := has.row()
		x := &ix.rows[r]
		p := has.count() * norms[x.length]
		if !x.linked { // the short way of the loop below
			ix.credit(sc, w, r, p)
			continue
		}
		for _, o := range ix.around(r, &given, &buf) {
			if tau[o.row] == 0 {
				now = append(now, o.row)
			}
			tau[o.row] += o.share * p
		}
	}
	for _, r := range now {
		ix.credit(sc, w, r, tau[r])
		tau[r] = 0
	}
	sc.now = now[:0]
}

// lookUp adds what a common word gives to the candidates.
func (ix *Index) lookUp(sc *scratch, w *word) {
	var buf [1 + 2*reach]neighbour
	for _, r := range sc.touched {
		tau := float32(0)
		for _, o := range ix.around(r, &taken, &buf) {
			if i, ok := w.term.find(o.row); ok {
				tau += o.share * (w.term.postings[i].count() * norms[ix.rows[o.row].length])
			}
		}
		if tau > 0 {
			ix.credit(sc, w, r, tau)
		}
	}
}

// credit adds what a word gives to a record, which is a candidate from then on, unless it is too late.
func (ix *Index) credit(sc *scratch, w *word, r uint32, tau float32) {
	if sc.scores[r] == 0 {
		if sc.closed {
			return
		}
		sc.touched = append(sc.touched, r)
	}
	gain := w.gain * tau / (tau + k1)
	if sc.named != 0 || sc.ofDay != nil || ix.rows[r].asks {
		gain *= ix.factor(sc, r)
	}
	sc.scores[r] += gain
}

// raise raises least to a score below which nothing is wanted, going by the scores so far: that of the K-th
// best, and what the Gate lets in. Its time goes with K.
func (sc *scratch) raise(q *Query) {
	if q.K == 0 || q.K > 256 || len(sc.touched) < q.K {
		return
	}
	best := make([]float32, 0, 257) // of no variable size: on the stack
	for _, r := range sc.touched {
		s := sc.scores[r]
		if s < sc.least || len(best) == q.K && s <= best[0] || !q.wants(r) {
			continue
		}
		at, _ := slices.BinarySearch(best, s)
		if best = slices.Insert(best, at, s); len(best) > q.K {
			best = slices.Delete(best, 0, 1)
		}
	}
	if len(best) < q.K {
		return
	}
	kth := best[0]
	if q.Gate > 0 {
		kth = min(kth, float32(q.Gate)*best[q.K-1])
	}
	const rounding = 1 - 1e-5 // scores are sums in another order for each row
	sc.least = max(sc.least, rounding*kth)
}

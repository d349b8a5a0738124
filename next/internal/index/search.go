package index

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/arc-learn/arc/next/internal/text"
)

// Query asks an Index.
type Query struct {
	Text    string
	At      time.Time             // when it is asked, with its zone: "yesterday" is the day before
	K       int                   // the K best, and those that are as good as the last of them; 0: all
	Gate    float64               // also those whose Ratio is at least this share of the best
	Exclude Flags                 // rows that have any of these are left out
	Skip    func(row uint32) bool // rows that are left out; nil: none
}

// Match is a record that a query found. Ratio orders matches. Lexical says how much of the query it is about, whatever
// else there is. Relevance is how likely it answers the query: Lexical, and less where the query names an actor and
// others say more of it. All are greater than 0; Lexical and Relevance are at most 1.
type Match struct {
	Row                       uint32
	Ratio, Lexical, Relevance float64
}

// scratch is memory that searches use again.
type scratch struct {
	words   []word
	rest    []float32 // by word: the most that it and those after it can add
	scores  []float32 // by row, zero between searches
	tau     []float32 // by row, zero between words
	touched []uint32  // rows with a score
	now     []uint32  // rows that the word at hand counts for
	best    []float32
	total   float64 // what the query asks for
	size    float64 // its words
	named   uint32  // the one actor whom it names
	days    []text.Day
	asker   bool
	content bool // it has other words than function words
}

// word is a word of a query, or a form of one, as it counts.
type word struct {
	text string
	term *term
	stop bool
	near bool // a form or spelling of a word of the query
	idf  float64
	gain float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Search returns what q finds, best first.
//
// It walks the postings of the rarest words, until what is left cannot lift a new record among the K best, and
// looks common words up for the candidates only.
func (ix *Index) Search(q *Query) []Match {
	sc := scratches.Get().(*scratch)
	defer func() { // also when Skip panics
		sc.end()
		scratches.Put(sc)
	}()
	ix.weigh(sc, q)
	least, n := float32(0), 0
	for ; n < len(sc.words); n++ {
		w := &sc.words[n]
		if w.stop && sc.content || sc.rest[n] < least {
			break // no new candidates
		}
		ix.walk(sc, w, false)
		if n+1 < len(sc.words) && sc.rest[0] > 2*sc.rest[n+1] && len(sc.touched) < 4*sc.words[n+1].df() {
			least = ix.least(sc, q, least)
		}
	}
	for ; n < len(sc.words); n++ {
		if w := &sc.words[n]; w.df() > 0 {
			sc.prune(least, sc.rest[n])
			if w.df() < 40*len(sc.touched) {
				ix.walk(sc, w, true)
			} else {
				ix.look(sc, w)
				least = ix.least(sc, q, least)
			}
		}
	}
	least = max(least, ix.least(sc, q, least))
	return ix.found(sc, q, least)
}

// found returns the candidates that have come to least.
func (ix *Index) found(sc *scratch, q *Query, least float32) (out []Match) {
	for _, r := range sc.touched {
		if s := sc.scores[r]; s > 0 && s >= least && ix.wants(q, r) {
			ratio := float64(s) / sc.total
			out = append(out, Match{Row: r, Ratio: ratio, Lexical: lexical(ratio, sc.size)})
		}
	}
	slices.SortFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(b.Row, a.Row))
	})
	attributed := ix.attributed(sc, out)
	for i := range out {
		out[i].Relevance = attributed * out[i].Lexical
	}
	return out
}

// prune leaves only what may come to least, if rest is the most that can be added.
func (sc *scratch) prune(least, rest float32) {
	n := 0
	for _, r := range sc.touched {
		if sc.scores[r]+rest >= least {
			sc.touched[n] = r
			n++
		} else {
			sc.scores[r] = 0
		}
	}
	sc.touched = sc.touched[:n]
}

func (sc *scratch) end() {
	for _, r := range sc.touched {
		sc.scores[r] = 0
	}
	for _, r := range sc.now {
		sc.tau[r] = 0
	}
	clear(sc.words)
	sc.words, sc.touched, sc.now = sc.words[:0], sc.touched[:0], sc.now[:0]
}

func (w *word) df() int {
	if w.term == nil {
		return 0
	}
	return len(w.term.rows)
}

// weigh readies sc for a search: the distinct words and their forms, the rarest first and function words last.
func (ix *Index) weigh(sc *scratch, q *Query) {
	if n := len(ix.rows); len(sc.scores) < n {
		sc.scores, sc.tau = make([]float32, n+n/4), make([]float32, n+n/4)
	}
	var buf [64]text.Term
	terms := ix.an.Append(buf[:0], q.Text)
	sc.days, sc.asker = ix.an.Days(q.Text, q.At), asksOfSelf(q.Text)
	for _, d := range sc.days {
		terms = ix.an.AppendDay(terms, d)
	}
	sc.named, sc.content, sc.total, sc.size = 0, false, 0, 0
	several := false
	for _, t := range terms {
		if len(sc.words) >= 256 {
			break
		}
		if !slices.ContainsFunc(sc.words, func(w word) bool { return w.text == t.Text }) {
			sc.words = append(sc.words, word{text: t.Text, term: ix.terms[t.Text], stop: t.Stop, near: t.Open})
		}
	}
	records := roundUp(ix.live, minRecords)
	for i := range len(sc.words) {
		w := &sc.words[i]
		open, df, from := w.near, w.df(), len(sc.words)
		w.near = false
		share := float32(formOf)
		if next, ok := dayAfter(w.text); ok {
			share = toldAfter
			if t := ix.terms[next]; t != nil {
				sc.words = append(sc.words, word{text: next, term: t, near: true})
				w = &sc.words[i]
			}
		} else if (w.term == nil || open) && !w.stop && len(terms) <= 64 {
			df += ix.addForms(sc, w.text, w.term == nil)
			w = &sc.words[i]
		}
		kind := text.Term{Stop: w.stop}.Weight()
		w.idf = kind * idf(records, df)
		w.gain = float32(w.idf * (k1 + 1))
		for j := from; j < len(sc.words); j++ {
			sc.words[j].idf, sc.words[j].gain = w.idf, share*w.gain
		}
		sc.size += kind
		sc.total += w.idf
		sc.content = sc.content || !w.stop
	}
	for _, w := range sc.words {
		for _, a := range ix.names[w.text] {
			several = several || sc.named != 0 && sc.named != a.id
			sc.named = a.id
		}
	}
	if several {
		sc.named = 0
	}
	sc.total = max(sc.total, minInformation)
	slices.SortStableFunc(sc.words, func(a, b word) int {
		if a.stop != b.stop {
			if a.stop {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.df(), b.df())
	})
	most := float32(1)
	if sc.named != 0 {
		most += actorNamed
	}
	if len(sc.days) > 0 {
		most += dayNamed
	}
	spread := float32(1)
	if len(ix.tails) > 0 {
		spread += windowSum
	}
	sc.rest = slices.Grow(sc.rest[:0], len(sc.words)+1)[:len(sc.words)+1]
	sc.rest[len(sc.words)] = 0
	for i := len(sc.words) - 1; i >= 0; i-- {
		w := &sc.words[i]
		sc.rest[i] = sc.rest[i+1]
		if w.term != nil {
			sc.rest[i] += w.gain * most * saturate(float32(w.term.most)*ix.norms.inv[w.term.shortest]*spread)
		}
	}
}

// addForms adds the forms of a word, or, where there is neither it nor a form, what it may be a misspelling of. It
// returns how many records have one, counted once for each form.
func (ix *Index) addForms(sc *scratch, w string, missing bool) (df int) {
	near := ix.forms(w)
	if len(near) == 0 && missing {
		if t := ix.nearest(w); t != nil {
			near = append(near, t)
		}
	}
	for _, t := range near {
		if len(sc.words) < 256 && !slices.ContainsFunc(sc.words, func(o word) bool { return o.term == t }) {
			sc.words = append(sc.words, word{text: t.text, term: t, near: true})
			df += len(t.rows)
		}
	}
	return df
}

func (ix *Index) wants(q *Query, r uint32) bool {
	return ix.rows[r].flags&q.Exclude == 0 && (q.Skip == nil || !q.Skip(r))
}

// named reports whether a row is of a day that the query names.
func (ix *Index) named(sc *scratch, r uint32) bool {
	for _, d := range sc.days {
		code := ix.rows[r].day
		if d.Year == 0 {
			code &= 1<<9 - 1
		}
		if code == dayCode(d) {
			return true
		}
	}
	return false
}

// factor is what counts more or less of a row, whichever of the words it has.
func (ix *Index) factor(sc *scratch, r uint32) float32 {
	f, x := float32(1), ix.rows[r]
	if x.marks&asks != 0 {
		f += justAsks
	}
	if sc.asker && x.marks&other != 0 {
		f += otherAsked
	}
	if sc.named != 0 && x.actor == sc.named {
		f += actorNamed
	}
	if len(sc.days) > 0 && ix.named(sc, r) {
		f += dayNamed
	}
	return f
}

// walk adds what a word gives to all records that have it or stand near one that does; with known, only to those
// that have a score already.
func (ix *Index) walk(sc *scratch, w *word, known bool) {
	if w.term == nil {
		return
	}
	rows, links, inv, tau, now := ix.rows, ix.links, &ix.norms.inv, sc.tau, sc.now[:0]
	for i, r := range w.term.rows {
		x := &rows[r]
		near := x.marks&linked != 0
		if known && !near && sc.scores[r] == 0 {
			continue
		}
		p := float32(w.term.counts[i]) * inv[x.length]
		if !near {
			ix.credit(sc, w, r, p)
			continue
		}
		if tau[r] == 0 {
			now = append(now, r)
		}
		tau[r] += p
		l, h := links[r], open[x.length]*p
		for d, at := 0, l.next; d < reach && at != 0; d++ { // r is before them
			if y := &rows[at-1]; y.marks&linked != 0 {
				if tau[at-1] == 0 {
					now = append(now, at-1)
				}
				tau[at-1] += before[d] * h * open[y.length]
			}
			at = links[at-1].next
		}
		for d, at := 0, l.prev; d < reach && at != 0; d++ {
			if y := &rows[at-1]; y.marks&linked != 0 {
				if tau[at-1] == 0 {
					now = append(now, at-1)
				}
				tau[at-1] += after[d] * h * open[y.length]
			}
			at = links[at-1].prev
		}
	}
	for _, r := range now {
		if !known || sc.scores[r] != 0 {
			ix.credit(sc, w, r, tau[r])
		}
		tau[r] = 0
	}
	sc.now = now[:0]
}

// credit adds what a word gives to a record.
func (ix *Index) credit(sc *scratch, w *word, r uint32, tau float32) {
	if sc.scores[r] == 0 {
		sc.touched = append(sc.touched, r)
	}
	gain := w.gain * saturate(tau)
	if sc.named != 0 || sc.days != nil || ix.rows[r].marks&(asks|other) != 0 {
		gain *= ix.factor(sc, r)
	}
	sc.scores[r] += gain
}

// look adds what a common word gives to the candidates.
func (ix *Index) look(sc *scratch, w *word) {
	own := func(r uint32) float32 {
		i, ok := slices.BinarySearch(w.term.rows, r)
		if !ok {
			return 0
		}
		return float32(w.term.counts[i]) * ix.norms.inv[ix.rows[r].length]
	}
	for _, r := range sc.touched {
		x, tau := ix.rows[r], own(r)
		if x.marks&linked != 0 {
			l, h := ix.links[r], open[x.length]
			for d, at := 0, l.prev; d < reach && at != 0; d++ {
				tau += before[d] * h * open[ix.rows[at-1].length] * own(at-1)
				at = ix.links[at-1].prev
			}
			for d, at := 0, l.next; d < reach && at != 0; d++ {
				tau += after[d] * h * open[ix.rows[at-1].length] * own(at-1)
				at = ix.links[at-1].next
			}
		}
		if tau > 0 {
			ix.credit(sc, w, r, tau)
		}
	}
}

// least returns a score below which nothing is wanted, going by the scores so far.
func (ix *Index) least(sc *scratch, q *Query, known float32) float32 {
	if q.K == 0 || len(sc.touched) < q.K {
		return known
	}
	sc.best = sc.best[:0]
	for _, r := range sc.touched {
		s := sc.scores[r]
		if len(sc.best) == q.K && s <= sc.best[0] || !ix.wants(q, r) {
			continue
		}
		if len(sc.best) < q.K {
			sc.best = append(sc.best, 0)
			copy(sc.best[1:], sc.best)
		}
		at := 1
		for ; at < len(sc.best) && sc.best[at] < s; at++ {
			sc.best[at-1] = sc.best[at]
		}
		sc.best[at-1] = s
	}
	if len(sc.best) < q.K {
		return known
	}
	least := sc.best[0]
	if q.Gate > 0 {
		least = min(least, float32(q.Gate)*sc.best[q.K-1])
	}
	const rounding = 1 - 1e-5 // scores are sums in another order for each row
	return max(known, rounding*least)
}

// Word is a word of a query, and what it counts.
type Word struct {
	Text  string  // as it is indexed
	Share float64 // of the query's weight; the shares of a query add up to 1
	Found bool    // the record has it
	Near  string  // if not: the form or other spelling of it that the record has, or ""
}

// Explain returns what each word of q counts, and which the row has.
func (ix *Index) Explain(q *Query, r uint32) (out []Word) {
	sc := scratches.Get().(*scratch)
	defer func() {
		sc.end()
		scratches.Put(sc)
	}()
	ix.weigh(sc, q)
	has := func(t *term) bool {
		if t == nil {
			return false
		}
		_, ok := slices.BinarySearch(t.rows, r)
		return ok
	}
	total := 0.0
	for _, w := range sc.words {
		if !w.near {
			total += w.idf
			out = append(out, Word{Text: w.text, Share: w.idf, Found: has(w.term)})
		}
	}
	for i := range out {
		out[i].Share /= max(total, math.SmallestNonzeroFloat64)
		if out[i].Found {
			continue
		}
		for _, t := range append(ix.forms(out[i].Text), ix.nearest(out[i].Text)) {
			if out[i].Near == "" && has(t) {
				out[i].Near = t.text
			}
		}
	}
	return out
}

// asksOfSelf reports whether a question is about the one who asks it: it has I or we in one of their forms, and
// does not ask what the other side has said or done ("what did you tell me").
func asksOfSelf(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) })
	self := false
	for i, w := range words {
		switch w {
		case "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves":
			self = true
		case "you":
			if i > 0 && (words[i-1] == "did" || words[i-1] == "have" || words[i-1] == "had") || i+1 < len(words) && said(words[i+1]) {
				return false
			}
		}
	}
	return self
}

func said(w string) bool {
	return strings.HasSuffix(w, "ed") || slices.Contains([]string{"said", "told", "gave", "made", "wrote"}, w)
}

// Package index finds records by the words of their texts: BM25, in which a record counts with what is said
// around it in its thread, and a bare word finds its forms.
//
// An [Index] is of one scope, so that no figure of a scope reaches another. Records are rows: the Index
// numbers them, and its owner keeps what a row stands for. Any number of searches may run at once;
// [Index.Insert] and [Index.Remove] need the Index for themselves. The owner's RWMutex sees to that, since it
// guards what the rows stand for as well.
package index

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/internal/text"
)

// Doc is what is indexed of a record.
type Doc struct {
	Trigger string // counts twice
	Content string
	Actor   string      // who said it, by name; "": none. Records of whom a question names come first
	Thread  string      // the conversation that [Index.Join] puts it in, "" for none
	Day     []text.Term // the words of its date, which count in no length; the last is of the day of the year
}

// Index finds the records of one scope. Create one with [New].
type Index struct {
	an      *text.Analyzer
	order   func(a, b uint32) int // of the rows of a thread
	terms   map[string]*term
	near    map[string][]*term        // by what forms of a word have in common; see nearKeys
	names   map[string]map[uint32]int // by a word of an actor's name: the actor's number, and how many records
	threads map[string][]uint32       // the rows of each, in order
	free    []uint32                  // rows of removed records
	rows    []row
	actors  []uint32 // by row, as the next; 0: nobody
	links   []link   // grown where there are threads
}

// row is what a search needs of every record. It is small, since searches wait for memory.
type row struct {
	length uint8
	linked bool // it has a thread, and is short enough to count with its neighbours
	asks   bool // it is a short question
}

// link has the rows before and after in a thread, plus one.
type link [2]uint32

// term is a word with its postings in order of row.
type term struct {
	text     string
	stop     bool // all records had it as a function word; "does" and "doe" have one stem
	postings []posting
}

// posting is a row that has a term, and in the last byte how often.
type posting uint32

func (p posting) row() uint32    { return uint32(p) >> 8 }
func (p posting) count() float32 { return float32(p & 255) }

// maxRows bounds the rows whose words are found, so that a posting has four bytes.
const maxRows = 1 << 24

// find returns where the posting of a row is, or belongs.
func (t *term) find(r uint32) (i int, ok bool) {
	last := len(t.postings) - 1
	if i = last; i < 0 || t.postings[i].row() < r { // as in most inserts
		return last + 1, false
	}
	if t.postings[i].row() > r {
		i, _ = slices.BinarySearch(t.postings, posting(r<<8))
	}
	return i, t.postings[i].row() == r
}

// New returns an empty Index of texts in the languages of an. order compares rows of a thread, none equal.
func New(an *text.Analyzer, order func(a, b uint32) int) *Index {
	return &Index{an: an, order: order, terms: map[string]*term{}, near: map[string][]*term{},
		names: map[string]map[uint32]int{}, threads: map[string][]uint32{}}
}

// Terms are the terms of some Docs.
type Terms struct {
	docs  []entry
	terms []text.Term // of a lexicon
	pairs []uint64    // in order: number of a term, doc, and what it counts there, of 32, 24 and 8 bits
}

// entry is what an Index keeps of a Doc beside its terms.
type entry struct {
	actor  []text.Term
	thread string
	row    row
}

// Analyze returns the terms of docs, at most 2^24, for an Index in the same languages. It takes most of the
// time of Insert, and no lock: do it before. What has many docs looks each word up once: the pairs of a term
// stand together, so Insert finds it once for all docs that have it.
func Analyze(an *text.Analyzer, docs ...Doc) *Terms {
	lex := an.Lexicon()
	defer lex.Done()
	t := &Terms{docs: make([]entry, len(docs)), pairs: make([]uint64, 0, 40*len(docs))}
	var buf [64]uint32
	for i := range docs {
		d, e, length := &docs[i], &t.docs[i], 0.0
		add := func(s string, weight uint64) (numbers []uint32) {
			numbers = lex.Append(buf[:0], s)
			for _, n := range numbers {
				t.pairs = append(t.pairs, uint64(n)<<32|uint64(i)<<8|weight)
				length += float64(weight) * lex.Terms[n].Weight()
			}
			return numbers
		}
		add(d.Content, 1)
		add(d.Trigger, 2)
		for _, n := range add(d.Actor, 1) {
			e.actor = append(e.actor, lex.Terms[n])
		}
		for _, w := range d.Day {
			t.pairs = append(t.pairs, uint64(lex.Number(w))<<32|uint64(i)<<8|1)
		}
		lengthCode := min(math.Round(8*math.Log2(max(length, 1))), 255) // eight steps an octave
		e.thread, e.row = d.Thread, row{length: uint8(lengthCode)}
		e.row.linked = d.Thread != "" && open[e.row.length] > 0
		e.row.asks = length <= shortAsk && strings.HasSuffix(strings.TrimRightFunc(d.Content, unicode.IsSpace), "?")
	}
	t.terms = lex.Terms
	slices.Sort(t.pairs)
	return t
}

// Insert indexes what was analyzed and returns the row of the first record: that of a removed record, or else
// the next, from 0 on. Several records have the next rows.
func (ix *Index) Insert(d *Terms) (first uint32) {
	first = uint32(len(ix.rows))
	if n := len(ix.free); n > 0 && len(d.docs) == 1 {
		first, ix.free = ix.free[n-1], ix.free[:n-1]
	} else {
		ix.rows = append(ix.rows, make([]row, len(d.docs))...)
		ix.actors = append(ix.actors, make([]uint32, len(d.docs))...)
	}
	for i := range d.docs {
		e, r := &d.docs[i], first+uint32(i)
		ix.rows[r], ix.actors[r] = e.row, ix.enter(e.actor, 1)
	}
	var t *term
	for i, p := range d.pairs {
		r := first + uint32(p)>>8
		if r >= maxRows {
			continue
		}
		if w := &d.terms[p>>32]; t == nil || d.pairs[i-1]>>32 != p>>32 {
			if t = ix.terms[w.Text]; t == nil {
				t = &term{text: w.Text, stop: true}
				ix.terms[t.text] = t
			}
			if t.stop && !w.Stop {
				t.stop = false
				ix.learn(t, true)
			}
		}
		if at, again := t.find(r); again {
			t.postings[at] += min(posting(p&255), 255-t.postings[at]&255)
		} else {
			t.postings = slices.Insert(t.postings, at, posting(r<<8|uint32(p&255)))
		}
	}
	return first
}

// Remove takes out a row. d is Analyze of the Doc that was inserted.
func (ix *Index) Remove(r uint32, d *Terms) {
	if thread := d.docs[0].thread; thread != "" {
		ix.leave(r, thread)
	}
	ix.enter(d.docs[0].actor, -1)
	for _, p := range d.pairs {
		t := ix.terms[d.terms[p>>32].Text]
		if t == nil {
			continue
		}
		if i, ok := t.find(r); ok {
			t.postings = slices.Delete(t.postings, i, i+1)
		}
		if len(t.postings) == 0 {
			delete(ix.terms, t.text)
			ix.learn(t, false)
		}
	}
	ix.rows[r] = row{}
	ix.free = append(ix.free, r)
}

// Join puts a row that was inserted into its thread, where the order has it, and leave takes it out.
func (ix *Index) Join(r uint32, thread string) {
	if thread == "" {
		return
	}
	ix.links = append(ix.links, make([]link, len(ix.rows)-len(ix.links))...)
	rows := ix.threads[thread]
	i, _ := slices.BinarySearchFunc(rows, r, ix.order)
	rows = slices.Insert(rows, i, r)
	ix.threads[thread] = rows
	ix.connect(rows, i)
	ix.connect(rows, i+1)
}

func (ix *Index) leave(r uint32, thread string) {
	rows := ix.threads[thread]
	i, _ := slices.BinarySearchFunc(rows, r, ix.order)
	rows = slices.Delete(rows, i, i+1)
	ix.threads[thread] = rows
	if len(rows) == 0 {
		delete(ix.threads, thread)
	}
	ix.connect(rows, i)
	ix.links[r] = link{}
}

// connect links the i-th row of a thread with that before it.
func (ix *Index) connect(rows []uint32, i int) {
	var before, after uint32
	if i > 0 {
		before = rows[i-1] + 1
	}
	if i < len(rows) {
		after = rows[i] + 1
		ix.links[rows[i]][0] = before
	}
	if before != 0 {
		ix.links[before-1][1] = after
	}
}

// Latest returns the last n rows of a thread, in order.
func (ix *Index) Latest(thread string, n int) []uint32 {
	rows := ix.threads[thread]
	return slices.Clone(rows[max(0, len(rows)-max(0, n)):])
}

// enter counts n more records of an actor, and returns the actor's number; 0: no actor.
func (ix *Index) enter(terms []text.Term, n int) uint32 {
	if len(terms) == 0 {
		return 0
	}
	h := fnv.New32a()
	for _, t := range terms {
		h.Write([]byte(t.Text + "\x00"))
	}
	id := max(h.Sum32(), 1)
	for _, t := range terms {
		if t.Stop {
			continue
		}
		if ix.names[t.Text] == nil {
			ix.names[t.Text] = map[uint32]int{}
		}
		ix.names[t.Text][id] += n
		if ix.names[t.Text][id] == 0 {
			delete(ix.names[t.Text], id)
		}
		if len(ix.names[t.Text]) == 0 {
			delete(ix.names, t.Text)
		}
	}
	return id
}

// The recipe. k1 and b are those of BM25 (Robertson and Zaragoza 2009); the other numbers were fitted to
// dialogue with marked evidence, see docs/benchmarks.md.
const (
	k1, b          = 0.9, 0.9
	reach          = 3    // neighbours in a thread, on each side, that count with a record
	ActorNamed     = 0.28 // a record of the one actor whom the query names counts so much more
	toldAfter      = 0.9  // the word for the day after counts so much of that for the day
	dayNamed       = 1.0  // a record of a day that the query names; not in talk, which is of other days, too
	justAsks       = -0.25
	shortAsk       = 16 // words
	minRecords     = 1024
	usualLength    = 64
	minInformation = 6.5 // what a query asks for at least: few common words are not all that somebody means
	formOf         = 0.6 // another form or spelling counts so much of the word itself
)

// What a record gives to those before and after it in its thread, by distance, and what it takes of them.
var given = [2][reach]float32{{0.15, 0.12, 0.06}, {0.3, 0.18, 0.09}}
var taken = [2][reach]float32{given[1], given[0]}

// norms are what a count is multiplied by, by length code, and open how much a record takes of and gives to
// its neighbours. The usual length is a constant, not BM25's mean: other records do not change a score.
var norms, open = func() (n, h [256]float32) {
	for code := range n {
		length := math.Exp2(float64(code) / 8)
		n[code] = float32(1 / (1 - b + b*length/usualLength))
		if length <= 96 {
			h[code] = float32(min(1, 32/length*32/length))
		}
	}
	return n, h
}()

// Package lexical is an inverted index in memory that finds records by the
// terms of their texts.
//
// The score is BM25F over the fields trigger, content and actor: weighted term
// frequencies are added up over the fields before they are saturated, with one
// length norm for the record (Robertson and Zaragoza, The Probabilistic
// Relevance Framework: BM25 and Beyond, 2009, §3.5 and §3.6).
//
// An [Index] is not safe for concurrent use by itself: reads may overlap one
// another, a write may overlap nothing.
package lexical

import (
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// Constants of BM25F. The field weights multiply term frequencies.
const (
	k1 = 1.2
	b  = 0.75

	triggerWeight = 2.0
	contentWeight = 1.0
	actorWeight   = 1.0
)

// Two statistics are smoothed, so that in a scope of usual size one more
// record that has nothing to do with a query leaves the scores of the others
// exactly as they were: the number of records counts as at least minRecords,
// and the mean length is rounded up to a power of two, at least minLength.
const (
	minRecords = 1024
	minLength  = 32
)

// minInformation is the least that a query counts as asking for, in units of
// idf: that of a word which one record in minRecords holds. A few function
// words or common words alone thus make no record very relevant.
const minInformation = 6.5

// Doc is what is indexed of a record. Extra are further terms under which it
// is found; they do not add to its length, nor to what is compared.
type Doc struct {
	Trigger, Content, Actor, Extra []text.Term
}

// Index finds slots, which are numbers that the owner gives to records. It
// gives a slot to one record only, ever.
type Index struct {
	ids    map[string]uint32 // term text -> number
	terms  []term            // by number
	free   []uint32          // numbers without a term
	docs   []doc             // by slot
	length []float64         // by slot; apart from docs, since every posting reads it
	live   int
	total  float64 // of length
}

type term struct {
	text  string
	stop  bool
	mark  bool
	posts []posting // in order of slot
}

type posting struct {
	slot uint32
	tf   float32 // weighted, over the fields
}

type doc struct {
	terms            []uint32 // distinct, for deletion
	trigger, content vector
}

// New returns an empty Index.
func New() *Index { return &Index{ids: make(map[string]uint32)} }

// Len returns the number of records.
func (ix *Index) Len() int { return ix.live }

// Put indexes d as slot, which was never used before and is larger than all
// that were.
func (ix *Index) Put(slot uint32, d Doc) {
	for uint32(len(ix.docs)) <= slot {
		ix.docs = append(ix.docs, doc{})
		ix.length = append(ix.length, 0)
	}
	in, length := doc{}, 0.0
	tf := make(map[uint32]float32)
	add := func(terms []text.Term, weight float64) {
		for _, t := range terms {
			tf[ix.intern(t)] += float32(weight)
			length += weight * t.Weight()
		}
	}
	add(d.Trigger, triggerWeight)
	add(d.Content, contentWeight)
	add(d.Actor, actorWeight)
	for _, t := range d.Extra {
		if id := ix.intern(t); tf[id] == 0 {
			tf[id] = contentWeight
		}
	}
	in.trigger, _ = ix.vector(d.Trigger) // true: add has interned all terms
	in.content, _ = ix.vector(d.Content) // as above
	in.terms = make([]uint32, 0, len(tf))
	for id, n := range tf {
		ix.terms[id].posts = append(ix.terms[id].posts, posting{slot, n})
		in.terms = append(in.terms, id)
	}
	ix.docs[slot] = in
	ix.length[slot] = length
	ix.live++
	ix.total += length
}

// Delete removes slot.
func (ix *Index) Delete(slot uint32) {
	d := &ix.docs[slot]
	for _, id := range d.terms {
		t := &ix.terms[id]
		i, _ := t.find(slot)
		t.posts = slices.Delete(t.posts, i, i+1)
		if len(t.posts) == 0 {
			delete(ix.ids, t.text)
			*t = term{}
			ix.free = append(ix.free, id)
		}
	}
	ix.live--
	ix.total -= ix.length[slot]
	ix.docs[slot], ix.length[slot] = doc{}, 0
}

func (t *term) find(slot uint32) (int, bool) {
	return slices.BinarySearchFunc(t.posts, slot, func(p posting, slot uint32) int {
		return int(int64(p.slot) - int64(slot))
	})
}

func (ix *Index) intern(t text.Term) uint32 {
	if id, ok := ix.ids[t.Text]; ok {
		return id
	}
	entry := term{text: t.Text, stop: t.Stop, mark: t.Mark}
	if n := len(ix.free); n > 0 {
		id := ix.free[n-1]
		ix.free = ix.free[:n-1]
		ix.terms[id] = entry
		ix.ids[t.Text] = id
		return id
	}
	id := uint32(len(ix.terms))
	ix.terms = append(ix.terms, entry)
	ix.ids[t.Text] = id
	return id
}

// idf is ln(1 + (N - df + 0.5) / (df + 0.5)), with N as smoothed above.
func (ix *Index) idf(df int) float64 {
	n := float64(max(ix.live, minRecords))
	return math.Log1p((n - float64(df) + 0.5) / (float64(df) + 0.5))
}

func (ix *Index) meanLength() float64 {
	mean := ix.total / float64(max(ix.live, 1))
	if mean <= minLength {
		return minLength
	}
	return math.Exp2(math.Ceil(math.Log2(mean)))
}

// Package hybrid finds records by words and by vectors at once.
package hybrid

import (
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/vector"
)

// How many of the nearest vectors are candidates, at least and for each hit
// that is asked for.
const (
	minNearest  = 128
	nearestPerK = 4
)

// Rated is what a search says of a record. Ratio compares the records of one
// query; package index has that of words. Relevance is a probability, Lexical
// the part of it that the words have, and Cosine that with the query.
type Rated struct{ Ratio, Relevance, Lexical, Cosine float64 }

// Match is a row that a search has found.
type Match struct {
	Row uint32
	Rated
}

// Fusion says what a cosine adds to the words of a query.
type Fusion struct {
	Alone  bool    // there are no words
	Min    float64 // cosine above which it adds something, in (0,1)
	Weight float64 // what a cosine of 1 adds, in units of Parts.Lexical's x
}

// fuse completes r, whose Lexical and Cosine are known. The fourth root of the
// odds is the ratio of the words' score, times a factor of the query. What a
// vector adds there does not depend on how relevant the record is already.
func (f Fusion) fuse(r *Rated) {
	if f.Alone {
		r.Relevance = max(0, r.Cosine)
		r.Ratio = r.Relevance
		return
	}
	x := math.Sqrt(math.Sqrt(r.Lexical / (1 - r.Lexical)))
	if r.Cosine > f.Min {
		x += f.Weight * (r.Cosine - f.Min) / (1 - f.Min)
	}
	odds := x * x * x * x
	r.Ratio, r.Relevance = x, max(r.Lexical, odds/(1+odds)) // rounding takes nothing from words
}

// Scope is what is searched. Vectors is nil where there are none.
type Scope struct {
	Words   *index.Index
	Vectors *vector.Set
}

// Scratch is memory that searches use again. The zero value is ready; it
// serves one search at a time.
type Scratch struct {
	Vector  vector.Scratch // has the vector of the query
	matches []Match
	ratios  []float64 // for sorting
	marks   []uint64  // a bit for each row
}

// Search returns the ask.K best, and all of which the ratio is at least ask.Gate
// of the best, perhaps with others. Candidates are the nearest vectors, and as
// many records of the index as can be among those once cosines are added. k is
// how many hits the caller wants in the end. Words is memory for the index. The
// matches are valid until the next search.
func (s *Scratch) Search(in Scope, words *index.Scratch, ask index.Query, k int, f Fusion) []Match {
	unseen := Rated{} // the most that a record is worth that neither has named
	s.matches = s.matches[:0]
	if in.Vectors != nil {
		n := max(minNearest, nearestPerK*k)
		near := in.Vectors.Search(&s.Vector, n, uint32(ask.Exclude), 0, ask.Skip)
		if len(near) == n {
			unseen.Cosine = near[n-1].Cosine
		}
		s.addNearest(in, words, near, ask, f)
	}
	nearest := len(s.matches)
	for n, complete := ask.K, f.Alone; !complete; {
		ask.K *= 4
		unseen.Lexical = 1
		s.matches = s.matches[:nearest]
		found := in.Words.Search(words, &ask)
		for _, m := range found {
			unseen.Lexical = min(unseen.Lexical, m.Relevance)
			if s.marked(m.Row) {
				continue
			}
			r := Rated{Lexical: m.Relevance}
			if in.Vectors != nil {
				r.Cosine, _ = in.Vectors.Cosine(&s.Vector, m.Row) // 0: it has none
			}
			f.fuse(&r)
			s.matches = append(s.matches, Match{m.Row, r})
		}
		if complete = ask.K == 0 || len(found) < ask.K; !complete {
			f.fuse(&unseen)
			complete = unseen.Ratio < s.needed(n, ask.Gate)
		}
	}
	for _, m := range s.matches[:nearest] {
		s.unmark(m.Row)
	}
	s.matches = slices.DeleteFunc(s.matches, func(m Match) bool { return m.Ratio <= 0 })
	return s.matches
}

// addNearest adds the nearest, with what their words are worth, and marks them.
func (s *Scratch) addNearest(in Scope, words *index.Scratch, near []vector.Match, ask index.Query, f Fusion) {
	for _, m := range near {
		s.matches = append(s.matches, Match{m.Slot, Rated{Cosine: m.Cosine}})
		s.mark(m.Slot)
	}
	if !f.Alone {
		slices.SortFunc(s.matches, func(a, b Match) int { return int(a.Row) - int(b.Row) })
		ask.K, ask.Gate = 0, 0
		// What the query leaves out is not among the marked ones.
		ask.Skip = func(row uint32) bool { return !s.marked(row) }
		for _, m := range in.Words.Search(words, &ask) {
			i, ok := slices.BinarySearchFunc(s.matches, m.Row, func(o Match, row uint32) int { return int(o.Row) - int(row) })
			if ok {
				s.matches[i].Lexical = m.Relevance
			}
		}
	}
	for i := range s.matches {
		f.fuse(&s.matches[i].Rated)
	}
}

// needed returns the ratio that is as good as that of the n best, and as gate of
// the best.
func (s *Scratch) needed(n int, gate float64) float64 {
	if len(s.matches) < n {
		return 0
	}
	s.ratios = s.ratios[:0]
	for _, m := range s.matches {
		s.ratios = append(s.ratios, m.Ratio)
	}
	slices.Sort(s.ratios)
	return min(gate*s.ratios[len(s.ratios)-1], s.ratios[len(s.ratios)-n])
}

func (s *Scratch) mark(row uint32) {
	word := int(row / 64)
	if word >= len(s.marks) {
		s.marks = append(s.marks, make([]uint64, word+1-len(s.marks)+word/4)...)
	}
	s.marks[word] |= 1 << (row % 64)
}

func (s *Scratch) unmark(row uint32) { s.marks[row/64] &^= 1 << (row % 64) }

func (s *Scratch) marked(row uint32) bool {
	return int(row/64) < len(s.marks) && s.marks[row/64]&(1<<(row%64)) != 0
}

package index

import (
	"math/bits"
	"slices"
	"unicode"

	"github.com/arc-learn/arc/internal/text"
)

// misspelt is what a word counts that stands in for one that no record has.
const misspelt = 0.6

const (
	spelledFrom = text.FuzzyFrom
	maxSpelled  = 64 // terms of a query whose words may stand for others
	perBucket   = 8  // spellings, about
)

// spellings find the terms that one edit makes of a word. An edit leaves what is before
// the middle letter of a term as it is, or what is after it: a term is under both, with
// its first letter and its length. The buckets are those of linear hashing, which
// splits one at a time (Litwin 1980).
type spellings struct {
	buckets [][]spelling
	n       int // in them
}

// spelling is a term under one of its keys.
type spelling struct {
	key  uint32
	odd  uint32 // the letters that it has an odd number of, by their last five bits
	term *term
}

// lettersOf returns the letters of a word, or nil if an edit makes another word of it:
// it is short, or not of letters.
func lettersOf(w string) []rune {
	letters := []rune(w)
	if len(letters) < spelledFrom || slices.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return nil
	}
	return letters
}

// oddOf returns spelling.odd, of which an edit changes two bits at most.
func oddOf(letters []rune) (odd uint32) {
	for _, r := range letters {
		odd ^= 1 << (r & 31)
	}
	return odd
}

// keysOf returns under what a term of n letters is that is w, or one edit away.
func keysOf(w []rune, n int) [2]uint32 {
	hash := func(h uint32, letters []rune) uint32 {
		for _, r := range letters {
			h = (h ^ uint32(r)) * 0x9e3779b1
			h ^= h >> 15
		}
		return h
	}
	before, after := hash(0, []rune{'<', rune(n)}), hash(0, []rune{'>', rune(n), w[0]})
	return [2]uint32{hash(before, w[:n/2]), hash(after, w[len(w)-(n-1)/2:])}
}

// at returns the bucket of a key.
func (s *spellings) at(key uint32) *[]spelling {
	round := bits.Len(uint(len(s.buckets) - 1))
	i := int(key & (1<<round - 1))
	if i >= len(s.buckets) {
		i -= 1 << (round - 1)
	}
	return &s.buckets[i]
}

// learn makes a term found by words that are one edit away.
func (s *spellings) learn(t *term) {
	letters := lettersOf(t.text)
	if letters == nil || t.stop {
		return
	}
	for _, key := range keysOf(letters, len(letters)) {
		if s.n == perBucket*len(s.buckets) {
			s.split()
		}
		in := s.at(key)
		*in = append(*in, spelling{key, oddOf(letters), t})
		s.n++
	}
}

// split adds a bucket, and divides the one that has what belongs there.
func (s *spellings) split() {
	n := len(s.buckets)
	s.buckets = append(s.buckets, nil)
	if n == 0 {
		return
	}
	from := &s.buckets[n&^(1<<(bits.Len(uint(n))-1))]
	all := *from
	*from = nil
	for _, x := range all {
		in := s.at(x.key)
		*in = append(*in, x)
	}
}

// unlearn takes back what learn did.
func (s *spellings) unlearn(t *term) {
	letters := lettersOf(t.text)
	if letters == nil || t.stop {
		return
	}
	for _, key := range keysOf(letters, len(letters)) {
		in := s.at(key)
		*in = slices.DeleteFunc(*in, func(x spelling) bool { return x.term == t })
		s.n--
	}
}

// nearest returns the term that w, which no record has, is most likely to mean: of
// those that begin alike and are one edit away, that of most records.
func (s *spellings) nearest(w string) (best *term) {
	letters := lettersOf(w)
	if letters == nil || s.n == 0 {
		return nil
	}
	odd := oddOf(letters)
	for n := max(len(letters)-1, spelledFrom); n <= len(letters)+1; n++ {
		for _, key := range keysOf(letters, n) {
			for _, x := range *s.at(key) {
				if x.key != key || bits.OnesCount32(x.odd^odd) > 2 || !text.Near(x.term.text, w) {
					continue
				}
				if t := x.term; best == nil || t.df > best.df || t.df == best.df && t.text < best.text {
					best = t
				}
			}
		}
	}
	return best
}

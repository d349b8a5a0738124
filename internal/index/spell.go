package index

import (
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
)

// misspelt is what a word counts that stands in for one that no record has.
const misspelt = 0.6

const (
	spelledFrom = text.FuzzyFrom
	maxSpelled  = 64 // terms of a query whose words may stand for others
)

// letters are what an edit of a word leaves as they are, if it is not one of the
// first letter: that with the second one, or that with the last.
type letters struct {
	first, other rune
	end          bool // other is the last
}

// lettersOf returns the letters under which a word is found in spite of an edit,
// or false if an edit makes another word of it: it is short, or not of letters.
func lettersOf(w string) (by [2]letters, ok bool) {
	n := 0
	for _, r := range w {
		if !unicode.IsLetter(r) {
			return by, false
		}
		switch n++; n {
		case 1:
			by[0].first, by[1].first = r, r
		case 2:
			by[0].other = r
		}
		by[1].other = r
	}
	by[1].end = true
	return by, n >= spelledFrom
}

// learn makes a term found by words that are one edit away.
func (ix *Index) learn(t *term) {
	if by, ok := lettersOf(t.text); ok && !t.stop {
		for _, l := range by {
			ix.spellings[l] = append(ix.spellings[l], t)
		}
	}
}

// unlearn takes back what learn did.
func (ix *Index) unlearn(t *term) {
	by, ok := lettersOf(t.text)
	if !ok || t.stop {
		return
	}
	for _, l := range by {
		ts := ix.spellings[l]
		for i, o := range ts {
			if o == t {
				ts[i], ts[len(ts)-1] = ts[len(ts)-1], nil
				ix.spellings[l] = ts[:len(ts)-1]
				break
			}
		}
		if len(ts) == 1 {
			delete(ix.spellings, l)
		}
	}
}

// nearest returns the term that w, which no record has, is most likely to mean: of
// those that begin alike and are one edit away, that of most records.
func (ix *Index) nearest(w string) (best *term) {
	by, ok := lettersOf(w)
	if !ok {
		return nil
	}
	for _, l := range by {
		for _, t := range ix.spellings[l] {
			if d := len(t.text) - len(w); d > utf8.UTFMax || -d > utf8.UTFMax || !text.Near(t.text, w) {
				continue
			}
			if best == nil || t.df > best.df || t.df == best.df && t.text < best.text {
				best = t
			}
		}
	}
	return best
}

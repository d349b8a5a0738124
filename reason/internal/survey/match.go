package survey

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Constants of the match: the usual k1 of BM25, a b a little below the usual
// 0.75, the bytes that are read of a text, and those of an objective.
const (
	matchK1      = 1.2
	matchB       = 0.6
	maxMatched   = 64 << 10
	maxObjective = 64 << 10
)

// matcher ranks texts by the terms of an objective, less its function words:
// BM25 with fields (Robertson, Zaragoza & Taylor 2004), where a word of a name
// counts several times.
type matcher struct {
	// nameWeight is how often a word of a name counts.
	nameWeight float64
	// terms are those of the objective, each once.
	terms    []string
	begins   [1 << 15]bool // trigrams with which words of the terms begin
	short    bool          // a term has less than three bytes, or is not in ASCII
	df       []float64     // texts with the term
	texts    []scored
	n, total float64 // texts and their bytes, those without a term included
	buf      []text.Term
}

// scored is a text with a term of the objective. Only these are kept: a codebase
// of a million lines costs what its matches cost.
type scored struct {
	name   string
	weight float64
	length float64
	tf     []float64 // by term
	score  float64
	terms  []string // that it has, those that count most first
}

// newMatcher returns a matcher for an objective. The error is a
// *store.LimitError.
func newMatcher(objective string, nameWeight float64) (*matcher, error) {
	if len(objective) > maxObjective {
		return nil, &store.LimitError{Field: "objective of a source", Limit: maxObjective, Got: len(objective)}
	}
	m := &matcher{nameWeight: nameWeight}
	for _, t := range text.Append(nil, objective) {
		if !t.Stop && !slices.Contains(m.terms, t.Text) {
			m.terms = append(m.terms, t.Text)
			if len(t.Text) < 3 || strings.ContainsFunc(t.Text, func(r rune) bool { return r >= utf8.RuneSelf }) {
				m.short = true
			} else {
				m.begins[trigram(t.Text)] = true
			}
		}
	}
	m.df = make([]float64, len(m.terms))
	return m, nil
}

// trigram takes five bits of each of the first three bytes, which do not tell
// case.
func trigram[T string | []byte](s T) int { return int(s[0]&31)<<10 | int(s[1]&31)<<5 | int(s[2]&31) }

// mayHave reports whether a line can have a term: most have none and need not
// be taken apart. The stemmer changes the ends of words only, with three
// irregular exceptions such as "dying".
func (m *matcher) mayHave(line []byte) bool {
	for i := range max(0, len(line)-2) {
		if m.begins[trigram(line[i:])] {
			return true
		}
	}
	return m.short
}

// match takes a text in and reports whether it has a term of the objective.
func (m *matcher) match(name string, content []byte, weight float64) bool {
	content = content[:min(len(content), maxMatched)]
	s := scored{name: name, weight: weight, length: float64(len(name) + len(content)), tf: make([]float64, len(m.terms))}
	m.count(&s, strings.ReplaceAll(name, "/", " "), m.nameWeight)
	for line := range bytes.Lines(content) {
		if m.mayHave(line) {
			m.count(&s, string(line), 1)
		}
	}
	m.n++
	m.total += s.length
	if slices.Max(append(s.tf, 0)) == 0 {
		return false
	}
	m.texts = append(m.texts, s)
	return true
}

// count adds the terms of the words to those that s has.
func (m *matcher) count(s *scored, words string, weight float64) {
	m.buf = text.Append(m.buf[:0], words)
	for _, t := range m.buf {
		if i := slices.Index(m.terms, t.Text); i >= 0 {
			if s.tf[i] == 0 {
				m.df[i]++
			}
			s.tf[i] += weight
		}
	}
}

// best returns the k texts with the highest scores.
func (m *matcher) best(k int) []scored {
	for i := range m.texts {
		m.score(&m.texts[i])
	}
	slices.SortFunc(m.texts, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	return m.texts[:min(len(m.texts), k)]
}

// score sets the score of s, and its terms in the order of what they add to it.
// The inverse document frequency is that of Lucene, which is never negative.
func (m *matcher) score(s *scored) {
	parts := make(map[string]float64)
	for i, tf := range s.tf {
		if tf > 0 {
			idf := math.Log1p((m.n - m.df[i] + 0.5) / (m.df[i] + 0.5))
			x := tf / (1 - matchB + matchB*s.length*m.n/m.total)
			parts[m.terms[i]] = s.weight * idf * x / (matchK1 + x)
			s.score += parts[m.terms[i]]
			s.terms = append(s.terms, m.terms[i])
		}
	}
	slices.SortStableFunc(s.terms, func(a, b string) int { return cmp.Compare(parts[b], parts[a]) })
}

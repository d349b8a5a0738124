package reason

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
)

// Weights and bounds of the match. The words of a path count eight times.
const (
	matchText  = 64 << 10 // bytes of a file
	matchK1    = 1.2      // BM25's usual k1, and b a little below its usual 0.75
	matchB     = 0.6
	matchPath  = 8
	matchTests = 0.5
	matchProse = 0.4
)

// matcher scores files by the terms of an objective, less its function words.
// It keeps counts of these terms only.
type matcher struct {
	terms []string
	index map[string]int
	begin beginnings
	df    []int
	files []matched
	total float64 // length of all
	buf   []text.Term
}

type matched struct {
	path   string
	weight float64   // of the kind of file
	length float64   // bytes
	tf     []float32 // by term; nil: none
}

func newMatcher(objective string) *matcher {
	m := &matcher{index: make(map[string]int)}
	for _, t := range text.Append(nil, objective) {
		if _, ok := m.index[t.Text]; !ok && !t.Stop {
			m.index[t.Text] = len(m.terms)
			m.terms = append(m.terms, t.Text)
			m.begin.add(t.Text)
		}
	}
	m.df = make([]int, len(m.terms))
	return m
}

func (m *matcher) add(name string, content []byte) {
	if len(m.terms) == 0 {
		return
	}
	f := matched{path: name, weight: fileWeight(name), length: float64(len(name) + min(len(content), matchText))}
	m.count(&f, strings.ReplaceAll(name, "/", " "), matchPath)
	for line := range bytes.Lines(content[:min(len(content), matchText)]) {
		if !m.begin.in(line) {
			continue
		}
		m.count(&f, string(line), 1)
	}
	for i, n := range f.tf {
		if n > 0 {
			m.df[i]++
		}
	}
	m.total += f.length
	m.files = append(m.files, f)
}

func (m *matcher) count(f *matched, s string, weight int) {
	m.buf = text.Append(m.buf[:0], s)
	for _, t := range m.buf {
		if i, ok := m.index[t.Text]; ok {
			if f.tf == nil {
				f.tf = make([]float32, len(m.terms))
			}
			f.tf[i] += float32(weight)
		}
	}
}

// beginnings are the first three bytes of words, by a hash: most lines have
// none of them and need not be taken apart. The stemmer changes the ends of
// words only, but for three irregular ones such as "dying".
type beginnings struct {
	set   [1 << 15]bool
	short bool // a word has less than three bytes, or is not in ASCII
}

func (b *beginnings) add(term string) {
	if len(term) < 3 || strings.ContainsFunc(term, func(r rune) bool { return r >= utf8.RuneSelf }) {
		b.short = true
		return
	}
	b.set[trigram(term[0], term[1], term[2])] = true
}

func (b *beginnings) in(line []byte) bool {
	for i := 2; i < len(line); i++ {
		if b.set[trigram(line[i-2], line[i-1], line[i])] {
			return true
		}
	}
	return b.short
}

// trigram takes five bits of each byte, which do not tell case.
func trigram(x, y, z byte) int { return int(x&31)<<10 | int(y&31)<<5 | int(z&31) }

// fileWeight is less for what is probably not to be changed by itself.
func fileWeight(name string) float64 {
	switch {
	case isTest(name):
		return matchTests
	case slices.Contains(prose, language(name)):
		return matchProse
	}
	return 1
}

// best returns the files with the highest scores.
func (m *matcher) best() []CodeMatch {
	n := float64(len(m.files))
	average := max(1, m.total/max(1, n))
	var out []CodeMatch
	for i := range m.files {
		f := &m.files[i]
		var score float64
		var parts []termScore
		for j, tf := range f.tf {
			if tf == 0 {
				continue
			}
			df := float64(m.df[j])
			idf := math.Log1p((n - df + 0.5) / (df + 0.5))
			x := float64(tf) / (1 - matchB + matchB*f.length/average)
			s := idf * x / (matchK1 + x)
			score += s
			parts = append(parts, termScore{m.terms[j], s})
		}
		if len(parts) == 0 {
			continue
		}
		slices.SortStableFunc(parts, func(a, b termScore) int { return cmp.Compare(b.score, a.score) })
		c := CodeMatch{Path: f.path, Score: score * f.weight}
		for _, p := range parts {
			c.Terms = append(c.Terms, p.term)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b CodeMatch) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Path, b.Path))
	})
	return out[:min(len(out), maxSurveyMatches)]
}

type termScore struct {
	term  string
	score float64
}

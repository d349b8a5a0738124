package index_test

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

// length returns a record's length as the index rounds it: to eight steps an
// octave.
func length(d index.Doc) float64 {
	l := 0.0
	for _, f := range fields(d) {
		for _, t := range f.terms {
			l += f.weight * t.Weight()
		}
	}
	return math.Exp2(math.Round(8*math.Log2(max(1, l))) / 8)
}

type field struct {
	terms  []text.Term
	weight float64
}

func fields(d index.Doc) []field { return []field{{d.Trigger, 2}, {d.Content, 1}, {d.Actor, 1}} }

// frequencies returns the term frequencies of a record.
func frequencies(d index.Doc) map[string]float64 {
	tf := make(map[string]float64)
	for _, f := range fields(d) {
		for _, t := range f.terms {
			tf[t.Text] += f.weight
		}
	}
	for _, t := range d.Extra {
		if tf[t.Text] == 0 {
			tf[t.Text] = 1
		}
	}
	for _, t := range d.Date {
		tf[t.Text]++
	}
	return tf
}

func distinct(terms []text.Term) []text.Term {
	var out []text.Term
	for _, t := range terms {
		if !slices.ContainsFunc(out, func(o text.Term) bool { return o.Text == t.Text }) {
			out = append(out, t)
		}
	}
	return out
}

// order returns the rows of a thread in order.
func (n naive) order(thread string) []uint32 {
	var out []uint32
	for row, d := range n {
		if d.Thread == thread {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(n[a].At, n[b].At), cmp.Compare(n[a].Tie, n[b].Tie), cmp.Compare(a, b))
	})
	return out
}

func logIDF(size, df float64) float64 { return math.Log(1 + (size-df+0.5)/(df+0.5)) }

// usual is the length of the lower quartile, at least 64, rounded up to a
// power of two.
func (n naive) usual() float64 {
	var all []float64
	for _, d := range n {
		all = append(all, length(d))
	}
	slices.Sort(all)
	if len(all) == 0 {
		return 64
	}
	return max(64, math.Exp2(math.Ceil(math.Log2(all[(len(all)+3)/4-1]))))
}

// scan is what is computed of all texts, before a search of them.
type scan struct {
	tf     map[uint32]map[string]float64
	length map[uint32]float64
	df     map[string]float64
	stop   map[string]bool
	orders map[string][]uint32
	usual  float64
}

func (n naive) scan() *scan {
	s := &scan{map[uint32]map[string]float64{}, map[uint32]float64{}, map[string]float64{}, map[string]bool{}, map[string][]uint32{}, n.usual()}
	for row, d := range n {
		s.tf[row], s.length[row] = frequencies(d), length(d)
		for _, terms := range [][]text.Term{d.Trigger, d.Content, d.Actor, d.Extra, d.Date} {
			for _, t := range terms {
				s.stop[t.Text] = s.stop[t.Text] || t.Stop
			}
		}
		for t := range s.tf[row] {
			s.df[t]++
		}
		if d.Thread != "" && s.orders[d.Thread] == nil {
			s.orders[d.Thread] = n.order(d.Thread)
		}
	}
	return s
}

func (s *scan) own(row uint32, t asked) float64 {
	return s.of(row, t) / (0.1 + 0.9*s.length[row]/s.usual)
}

// of is how often a record has a word, or what counts half for it.
func (s *scan) of(row uint32, t asked) float64 {
	if len(t.half) == 0 || s.df[t.half] == 0 {
		return s.tf[row][t.Text]
	}
	return 2*s.tf[row][t.Text] + s.tf[row][t.half]
}

// tau is what a record counts for a term, with what is around it.
func (s *scan) tau(row uint32, thread string, term asked) float64 {
	tau := s.own(row, term)
	order := s.orders[thread]
	i := slices.Index(order, row)
	for j, w := range map[int]float64{-3: .09, -2: .18, -1: .3, 1: .15, 2: .12, 3: .06} {
		if thread != "" && i+j >= 0 && i+j < len(order) {
			near := order[i+j]
			tau += openness(s.length[row]) * w * openness(s.length[near]) * s.own(near, term)
		}
	}
	return tau
}

func openness(l float64) float64 {
	switch {
	case l <= 32:
		return 1
	case l <= 96:
		return 32 / l * 32 / l
	}
	return 0
}

// asked is a word of a query as it counts.
type asked struct {
	text.Term
	share float64
	half  string
}

// words are those of a query. One that no record has stands for that which begins
// alike, is one edit away, and which most records have, the first of equals.
func (s *scan) words(q *index.Query) (out []asked) {
	query := distinct(q.Terms)
	for _, t := range query {
		best, n := t.Text, 0.0
		for w, df := range s.df {
			long := len(t.Text) >= 5 && len(w) >= 5 && !strings.ContainsAny(w+t.Text, "0123456789")
			known := t.Stop || s.df[t.Text] > 0 || s.stop[w] || slices.ContainsFunc(out, func(o asked) bool { return o.Text == w }) ||
				slices.ContainsFunc(query, func(o text.Term) bool { return o.Text == w })
			if long && !known && w[0] == t.Text[0] && edits(w, t.Text) <= 1 && (df > n || df == n && w < best) {
				best, n = w, df
			}
		}
		if n > 0 {
			out = append(out, asked{text.Term{Text: best}, 0.6, q.Half[best]})
		} else {
			out = append(out, asked{t, 1, q.Half[t.Text]})
		}
	}
	return out
}

// edits is the number of letters to add, leave out, change or exchange with the
// next, that make b of a.
func edits(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return edits(a[1:], b[1:])
	}
	n := min(edits(a[1:], b), edits(a, b[1:]), edits(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		n = min(n, edits(a[2:], b[2:]))
	}
	return n + 1
}

// total is what a query asks for.
func (n naive) total(q *index.Query) float64 {
	u, scan := 0.0, n.scan()
	for _, t := range scan.words(q) {
		u += t.Weight() * logIDF(n.size(), scan.df[t.Text])
	}
	return max(6.5, u)
}

func (n naive) size() float64 {
	return math.Exp2(math.Ceil(math.Log2(max(1024, float64(len(n))))))
}

// search scores by the formula of recipe.go, from the texts alone: it returns
// the ratios of all records that match.
func (n naive) search(q *index.Query) map[uint32]float64 {
	scan := n.scan()
	out, query, named, total := map[uint32]float64{}, scan.words(q), n.named(scan.words(q)), n.total(q)
	onlyStops := !slices.ContainsFunc(query, func(t asked) bool { return !t.Stop })
	for row, d := range n {
		if d.Flags&q.Exclude != 0 || q.Skip != nil && q.Skip(row) {
			continue
		}
		s, counts := 0.0, false
		for _, t := range query {
			tau := scan.tau(row, d.Thread, t)
			counts = counts || tau > 0 && (onlyStops || !t.Stop)
			s += t.share * t.Weight() * logIDF(n.size(), scan.df[t.Text]) * 1.9 * tau / (tau + 0.9)
		}
		if counts {
			out[row] = s * n.factor(row, q, named) / total
		}
	}
	return out
}

// factor is what the score of a record is multiplied by.
func (n naive) factor(row uint32, q *index.Query, named string) float64 {
	d, f, l := n[row], 1.0, 0.0
	for _, x := range fields(d) {
		for _, t := range x.terms {
			l += x.weight * t.Weight()
		}
	}
	if d.Asks && l <= 16 {
		f -= 0.25
	}
	if q.Asker && d.Other {
		f -= 0.5
	}
	if named != "" && nameOf(d) == named {
		f += 0.28
	}
	return f
}

func nameOf(d index.Doc) string {
	s := ""
	for _, t := range d.Actor {
		s += t.Text + " "
	}
	return s
}

// named returns the only actor that the query names, or "".
func (n naive) named(words []asked) string {
	found := map[string]bool{}
	for _, d := range n {
		for _, a := range d.Actor {
			if !a.Stop && slices.ContainsFunc(words, func(t asked) bool { return t.Text == a.Text }) {
				found[nameOf(d)] = true
			}
		}
	}
	if len(found) == 1 {
		for name := range found {
			return name
		}
	}
	return ""
}

func curve(r float64, q *index.Query) float64 {
	size := 0.0
	for _, t := range distinct(q.Terms) {
		size += t.Weight()
	}
	x := math.Pow(1.125*r*math.Pow(max(size, 4)/4, 0.75), 4)
	return x / (1 + x)
}

// threads returns the ratios of the threads that match.
func (n naive) threads(q *index.Query) map[string]float64 {
	best, all := map[string][]float64{}, map[string][]uint32{}
	ratios := n.search(q)
	for row, d := range n {
		if d.Thread == "" {
			continue
		}
		all[d.Thread] = append(all[d.Thread], row)
		if r, ok := ratios[row]; ok {
			best[d.Thread] = append(best[d.Thread], r)
		}
	}
	long, sum := map[string]float64{}, 0.0
	for name, rows := range all {
		for _, row := range rows {
			long[name] += length(n[row])
		}
		sum += long[name]
	}
	usual := max(256, math.Exp2(math.Ceil(math.Log2(sum/float64(len(all))))))
	out, scan, total := map[string]float64{}, n.scan(), n.total(q)
	for name, rs := range best {
		slices.Sort(rs)
		slices.Reverse(rs)
		s := 0.0
		for _, r := range rs[:min(3, len(rs))] {
			s += 0.3 * r * total
		}
		for _, t := range scan.words(q) {
			tf, df := 0.0, 0.0
			for other, rows := range all {
				held := 0.0
				for _, row := range rows {
					held += scan.of(row, t)
				}
				if held > 0 {
					df++
				}
				if other == name {
					tf = held
				}
			}
			s += t.share * t.Weight() * logIDF(math.Exp2(math.Ceil(math.Log2(max(64, float64(len(all)))))), df) * 2.2 * tf / (tf + 1.2*(0.25+0.75*long[name]/usual))
		}
		out[name] = s / (2.1 * total)
	}
	return out
}

func requireThreads(t *rapid.T, n naive, got []index.Thread, q *index.Query) {
	want, ratios := n.threads(q), n.search(q)
	k := len(want)
	if q.K > 0 {
		k = min(k, q.K)
	}
	require.Len(t, got, k)
	for i, th := range got {
		require.Contains(t, want, th.Name)
		require.InEpsilon(t, want[th.Name], th.Ratio, closeness)
		require.InEpsilon(t, curve(want[th.Name], q), th.Relevance, 1e-4)
		require.True(t, i == 0 || got[i-1].Ratio >= th.Ratio)
		require.NotEmpty(t, th.Best)
		for _, m := range th.Best {
			require.Equal(t, th.Name, n[m.Row].Thread)
			require.InEpsilon(t, ratios[m.Row], m.Ratio, closeness)
		}
		delete(want, th.Name)
	}
	for _, r := range want {
		require.True(t, len(got) > 0 && got[len(got)-1].Ratio >= r*(1-closeness))
	}
}

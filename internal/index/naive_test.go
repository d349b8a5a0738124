package index_test

import (
	"cmp"
	"math"
	"slices"

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
	orders map[string][]uint32
	usual  float64
}

func (n naive) scan() *scan {
	s := &scan{map[uint32]map[string]float64{}, map[uint32]float64{}, map[string]float64{}, map[string][]uint32{}, n.usual()}
	for row, d := range n {
		s.tf[row], s.length[row] = frequencies(d), length(d)
		for t := range s.tf[row] {
			s.df[t]++
		}
		if d.Thread != "" && s.orders[d.Thread] == nil {
			s.orders[d.Thread] = n.order(d.Thread)
		}
	}
	return s
}

func (s *scan) own(row uint32, term string) float64 {
	return s.tf[row][term] / (0.1 + 0.9*s.length[row]/s.usual)
}

// tau is what a record counts for a term, with what is around it.
func (s *scan) tau(row uint32, thread, term string) float64 {
	tau := s.own(row, term)
	order := s.orders[thread]
	i := slices.Index(order, row)
	for j, w := range map[int]float64{-3: .15, -2: .3, -1: .5, 1: .25, 2: .2, 3: .1} {
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

// total is what a query asks for.
func (n naive) total(q *index.Query) float64 {
	u, scan := 0.0, n.scan()
	for _, t := range distinct(q.Terms) {
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
	out, query, named, scan, total := map[uint32]float64{}, distinct(q.Terms), n.named(q), n.scan(), n.total(q)
	onlyStops := !slices.ContainsFunc(query, func(t text.Term) bool { return !t.Stop })
	for row, d := range n {
		if d.Flags&q.Exclude != 0 || q.Skip != nil && q.Skip(row) {
			continue
		}
		s, counts := 0.0, false
		for _, t := range query {
			tau := scan.tau(row, d.Thread, t.Text)
			counts = counts || tau > 0 && (onlyStops || !t.Stop)
			s += t.Weight() * logIDF(n.size(), scan.df[t.Text]) * 2.2 * tau / (tau + 1.2)
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
		f += 0.25
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
func (n naive) named(q *index.Query) string {
	found := map[string]bool{}
	for _, d := range n {
		for _, a := range d.Actor {
			if !a.Stop && slices.ContainsFunc(q.Terms, func(t text.Term) bool { return t.Text == a.Text }) {
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
	x := math.Pow(r*math.Pow(max(size, 4)/4, 0.75), 4)
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
		for _, t := range distinct(q.Terms) {
			tf, df := 0.0, 0.0
			for other, rows := range all {
				held := 0.0
				for _, row := range rows {
					held += scan.tf[row][t.Text]
				}
				if held > 0 {
					df++
				}
				if other == name {
					tf = held
				}
			}
			s += t.Weight() * logIDF(math.Exp2(math.Ceil(math.Log2(max(64, float64(len(all)))))), df) * 2.2 * tf / (tf + 1.2*(0.25+0.75*long[name]/usual))
		}
		out[name] = s / (1.9 * total)
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

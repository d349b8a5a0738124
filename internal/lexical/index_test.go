package lexical_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/lexical"
	"github.com/arc-learn/arc/internal/text"
)

func doc(trigger, content, actor string) lexical.Doc {
	return lexical.Doc{
		Trigger: text.Append(nil, trigger),
		Content: text.Append(nil, content),
		Actor:   text.Append(nil, actor),
	}
}

// naive scores by the formula of the package comment, from the texts alone.
type naive map[uint32]lexical.Doc

func (n naive) frequencies(d lexical.Doc) (tf map[string]float64, length float64) {
	tf = make(map[string]float64)
	for _, f := range []struct {
		terms  []text.Term
		weight float64
	}{{d.Trigger, 2}, {d.Content, 1}, {d.Actor, 1}} {
		for _, t := range f.terms {
			tf[t.Text] += f.weight
			length += f.weight * t.Weight()
		}
	}
	return tf, length
}

func (n naive) search(query []text.Term) map[uint32]float64 {
	df, total, size := map[string]float64{}, 0.0, math.Max(float64(len(n)), 1024)
	for _, d := range n {
		tf, length := n.frequencies(d)
		total += length
		for t := range tf {
			df[t]++
		}
	}
	mean := math.Max(32, math.Exp2(math.Ceil(math.Log2(total/math.Max(1, float64(len(n)))))))
	idf := func(t string) float64 { return math.Log(1 + (size-df[t]+0.5)/(df[t]+0.5)) }
	ideal := 0.0
	for _, t := range query {
		ideal += t.Weight() * idf(t.Text)
	}
	out := make(map[uint32]float64)
	for slot, d := range n {
		tf, length := n.frequencies(d)
		s, counts := 0.0, !slices.ContainsFunc(query, func(t text.Term) bool { return !t.Stop })
		for _, t := range query {
			counts = counts || !t.Stop && tf[t.Text] > 0
		}
		for _, t := range query {
			if !counts {
				break
			}
			f := tf[t.Text]
			s += t.Weight() * idf(t.Text) * 2.2 * f / (f + 1.2*(0.25+0.75*length/mean))
		}
		if y := 0.8 * s / math.Max(6.5, ideal); y > 0.8 {
			out[slot] = 0.8 + 0.2*(1-math.Exp(-(y-0.8)/0.2))
		} else if y > 0 {
			out[slot] = y
		}
	}
	return out
}

func (n naive) similar(trigger, content []text.Term, least float64) []uint32 {
	marks := func(terms []text.Term) map[string]int {
		m := map[string]int{}
		for _, t := range terms {
			if t.Mark {
				m[t.Text]++
			}
		}
		return m
	}
	alike := func(a, b []text.Term) bool {
		return len(a) == 0 && len(b) == 0 ||
			text.Similarity(a, b) >= least && maps.Equal(marks(a), marks(b))
	}
	var out []uint32
	for slot, d := range n {
		if alike(trigger, d.Trigger) && alike(content, d.Content) && len(trigger)+len(content) > 0 {
			out = append(out, slot)
		}
	}
	slices.Sort(out)
	return out
}

var vocabulary = strings.Fields("go build test cycle import store memory vet lint not never 8080 17 fooBar the of is a to")

func sentence(t *rapid.T, label string, least, most int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), least, most).Draw(t, label), " ")
}

// The index finds what a scan of all texts finds, with the same relevance,
// through puts and deletes.
func TestAgainstScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ix, model, next := lexical.New(), naive{}, uint32(0)
		var sc lexical.Scratch
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				d := doc(sentence(t, "trigger", 0, 6), sentence(t, "content", 0, 8), sentence(t, "actor", 0, 1))
				ix.Put(next, d)
				model[next] = d
				next++
			},
			"delete": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nothing to delete")
				}
				slot := rapid.SampledFrom(slices.Sorted(maps.Keys(model))).Draw(t, "slot")
				ix.Delete(slot)
				delete(model, slot)
			},
			"search": func(t *rapid.T) {
				query := text.Append(nil, sentence(t, "query", 0, 5))
				want, got := model.search(query), ix.Search(&sc, query)
				require.Len(t, got, len(want))
				for _, m := range got {
					require.InDelta(t, want[m.Slot], m.Relevance, 1e-9)
					require.True(t, m.Relevance > 0 && m.Relevance < 1)
				}
			},
			"similar": func(t *rapid.T) {
				trigger, content := text.Append(nil, sentence(t, "trigger", 0, 6)), text.Append(nil, sentence(t, "content", 0, 8))
				if len(model) > 0 && rapid.Bool().Draw(t, "nearly") {
					d := model[rapid.SampledFrom(slices.Sorted(maps.Keys(model))).Draw(t, "slot")]
					trigger = text.Append(slices.Clone(d.Trigger), sentence(t, "more trigger", 0, 1))
					content = text.Append(slices.Clone(d.Content), sentence(t, "more content", 0, 1))
					if n := len(content); n > 1 && rapid.Bool().Draw(t, "less") {
						content = slices.Delete(content, n/2, n/2+1)
					}
				}
				least := rapid.SampledFrom([]float64{0.5, 0.85, 0.9, 1}).Draw(t, "min")
				var got []uint32
				for _, p := range ix.Similar(&sc, trigger, content, least) {
					got = append(got, p.Slot)
				}
				require.Equal(t, model.similar(trigger, content, least), got)
			},
			"": func(t *rapid.T) { require.Equal(t, len(model), ix.Len()) },
		})
	})
}

func TestSimilarAgreesWithText(t *testing.T) {
	t.Parallel()
	a, b := "go build reports an import cycle in the store", "the store has an import cycle that go build reports"
	ix := lexical.New()
	ix.Put(3, doc("", a, ""))
	var sc lexical.Scratch
	pairs := ix.Similar(&sc, nil, text.Append(nil, b), 0.5)
	require.Len(t, pairs, 1)
	require.Equal(t, uint32(3), pairs[0].Slot)
	require.Equal(t, text.Similarity(text.Append(nil, a), text.Append(nil, b)), pairs[0].Content)
}

func TestExtraTermsAreFound(t *testing.T) {
	t.Parallel()
	ix := lexical.New()
	d := doc("", "import cycle", "")
	d.Extra = text.Append(nil, "import loop")
	ix.Put(0, d)
	var sc lexical.Scratch
	require.Len(t, ix.Search(&sc, text.Append(nil, "loop")), 1)
	require.Len(t, ix.Similar(&sc, nil, d.Content, 1), 1, "they are not compared")
	ix.Delete(0)
	require.Empty(t, ix.Search(&sc, text.Append(nil, "loop")))
}

func TestWords(t *testing.T) {
	t.Parallel()
	ix := lexical.New()
	ix.Put(0, doc("", "the import cycle", ""))
	var sc lexical.Scratch
	words := ix.Words(&sc, text.Append(nil, "the cycle of death"), 0)
	sum := 0.0
	for _, w := range words {
		sum += w.Share
		require.Equal(t, w.Text == "the" || w.Text == "cycl", w.Found, w.Text)
	}
	require.InDelta(t, 1, sum, 1e-12)
	require.Len(t, words, 4)
	most := slices.MaxFunc(words, func(a, b lexical.Word) int { return cmp.Compare(a.Share, b.Share) })
	require.Equal(t, "death", most.Text, "the rarest asks for most")
}

func corpus(n int) (*lexical.Index, func() []text.Term) {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 8, 20_000)
	word := func() string {
		return fmt.Sprintf("w%c%c%d", 'a'+zipf.Uint64()%26, 'a'+zipf.Uint64()%26, zipf.Uint64())
	}
	words := func(n int) []text.Term {
		var ws []string
		for range n {
			ws = append(ws, word())
		}
		return text.Append(nil, strings.Join(ws, " "))
	}
	ix := lexical.New()
	for i := range n {
		ix.Put(uint32(i), lexical.Doc{Trigger: words(8), Content: words(22)})
	}
	return ix, func() []text.Term { return words(5) }
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ix, query := corpus(n)
			q := query()
			var sc lexical.Scratch
			b.ReportAllocs()
			for b.Loop() {
				ix.Search(&sc, q)
			}
		})
	}
}

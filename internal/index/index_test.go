package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

func doc(trigger, content, actor string) index.Doc {
	return index.Doc{
		Trigger: text.Append(nil, trigger),
		Content: text.Append(nil, content),
		Actor:   text.Append(nil, actor),
	}
}

// naive holds what an index should hold.
type naive map[uint32]index.Doc

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
	for row, d := range n {
		if alike(trigger, d.Trigger) && alike(content, d.Content) && len(trigger)+len(content) > 0 {
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return out
}

func (n naive) doc(row uint32) (trigger, content []text.Term) {
	return n[row].Trigger, n[row].Content
}

func (n naive) rows() []uint32 { return slices.Sorted(maps.Keys(n)) }

// wanted says what of the matches a query wants; near are those of which
// rounding may decide.
func wanted(all map[uint32]float64, q *index.Query) (must, may []uint32) {
	scores := slices.Sorted(maps.Values(all))
	least := 0.0
	if q.K > 0 && q.K < len(scores) {
		least = scores[len(scores)-q.K]
		if q.Gate > 0 {
			least = min(least, q.Gate*scores[len(scores)-1])
		}
	}
	for row, r := range all {
		if r >= least*(1+closeness) {
			must = append(must, row)
		} else if r >= least*(1-closeness) {
			may = append(may, row)
		}
	}
	return must, may
}

var vocabulary = strings.Fields("go build test cycle import store memory vet lint stove impart cicle not never 8080 17 fooBar the of is a to")

func sentence(t *rapid.T, label string, least, most int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), least, most).Draw(t, label), " ")
}

func terms(t *rapid.T, label string, least, most int) []text.Term {
	return text.Append(nil, sentence(t, label, least, most))
}

func drawDoc(t *rapid.T) index.Doc {
	return index.Doc{
		Trigger: terms(t, "trigger", 0, 6),
		Content: terms(t, "content", 0, 8),
		Actor:   text.Append(nil, rapid.SampledFrom([]string{"", "cycle", "Ann Store", "the import"}).Draw(t, "actor")),
		Extra:   terms(t, "extra", 0, 2),
		Date:    terms(t, "date", 0, 2),
		Flags:   index.Flags(rapid.IntRange(0, 3).Draw(t, "flags")),
		Thread:  rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "thread"),
		At:      int64(rapid.IntRange(0, 9).Draw(t, "at")),
		Tie:     int64(rapid.IntRange(0, 2).Draw(t, "tie")),
		Asks:    rapid.Bool().Draw(t, "asks"),
		Other:   rapid.Bool().Draw(t, "other"),
	}
}

// The index finds what a scan of all texts finds, with the same relevance,
// through puts, deletes and changes of flags.
func TestAgainstScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ix, model, next := index.New(), naive{}, uint32(0)
		var sc index.Scratch
		some := func(t *rapid.T) uint32 {
			if len(model) == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(model.rows()).Draw(t, "row")
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				next += uint32(rapid.IntRange(0, 2).Draw(t, "skip"))
				d := drawDoc(t)
				ix.Put(next, d)
				model[next] = d
				next++
			},
			"talk": func(t *rapid.T) {
				thread := rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "thread")
				span := rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "span")
				rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				for i := range rapid.IntRange(1, 60).Draw(t, "turns") {
					d := index.Doc{Thread: thread, At: int64(i/2 + rng.IntN(span))}
					for range 1 + rng.IntN(4) {
						d.Content = text.Append(d.Content, vocabulary[rng.IntN(len(vocabulary))])
					}
					if rng.IntN(10) == 0 {
						d.Content = slices.Repeat(d.Content, 30)
					}
					ix.Put(next, d)
					model[next] = d
					next++
				}
			},
			"silence": func(t *rapid.T) {
				for _, row := range model.rows() {
					if row%4 != 0 && model[row].Thread != "" {
						ix.Delete(row, model[row])
						delete(model, row)
					}
				}
			},
			"delete": func(t *rapid.T) {
				row := some(t)
				ix.Delete(row, model[row])
				delete(model, row)
			},
			"flags": func(t *rapid.T) {
				row := some(t)
				d := model[row]
				d.Flags = index.Flags(rapid.IntRange(0, 3).Draw(t, "flags"))
				ix.SetFlags(row, d.Flags)
				model[row] = d
			},
			"search": func(t *rapid.T) {
				q := index.Query{
					Terms:   terms(t, "query", 0, 5),
					K:       rapid.IntRange(0, 3).Draw(t, "k"),
					Gate:    rapid.SampledFrom([]float64{0, 0.5, 0.8, 1}).Draw(t, "gate"),
					Exclude: index.Flags(rapid.IntRange(0, 3).Draw(t, "exclude")),
				}
				q.Asker = rapid.Bool().Draw(t, "asker")
				if rapid.Bool().Draw(t, "half") {
					q.Half = map[string]string{"go": "test", "lint": "store", "8080": "the"}
				}
				if rapid.Bool().Draw(t, "filter") {
					q.Skip = func(row uint32) bool { return row%3 == 0 }
				}
				requireMatches(t, model.search(&q), ix.Search(&sc, &q), &q)
				requireThreads(t, model, ix.Threads(&sc, &q), &q)
			},
			"similar": func(t *rapid.T) {
				trigger, content := terms(t, "trigger", 0, 6), terms(t, "content", 0, 8)
				if len(model) > 0 && rapid.Bool().Draw(t, "nearly") {
					d := model[some(t)]
					trigger = text.Append(slices.Clone(d.Trigger), sentence(t, "more trigger", 0, 1))
					content = text.Append(slices.Clone(d.Content), sentence(t, "more content", 0, 1))
					if n := len(content); n > 1 && rapid.Bool().Draw(t, "less") {
						content = slices.Delete(content, n/2, n/2+1)
					}
				}
				least := rapid.SampledFrom([]float64{0.5, 0.85, 0.9, 1}).Draw(t, "min")
				var got []uint32
				for _, p := range similar(ix, &sc, trigger, content, least, model.doc) {
					got = append(got, p.Row)
				}
				require.Equal(t, model.similar(trigger, content, least), got)
			},
			"": func(t *rapid.T) { require.Equal(t, len(model), ix.Len()) },
		})
	})
}

// closeness is by how much sums of single precision, over threads of hundreds of
// records, may differ from those of double precision.
const closeness = 1e-4

func requireMatches(t *rapid.T, all map[uint32]float64, got []index.Match, q *index.Query) {
	must, may := wanted(all, q)
	found := map[uint32]bool{}
	for _, m := range got {
		require.False(t, found[m.Row], "twice")
		found[m.Row] = true
		require.Contains(t, all, m.Row)
		require.InEpsilon(t, all[m.Row], m.Ratio, closeness)
		require.InEpsilon(t, curve(all[m.Row], q), m.Relevance, 1e-4)
		require.True(t, m.Relevance > 0 && m.Relevance < 1)
		require.True(t, slices.Contains(must, m.Row) || slices.Contains(may, m.Row), "not wanted")
	}
	for _, row := range must {
		require.True(t, found[row], "%d is missing", row)
	}
}

// pair is a record that says nearly the same as a text.
type pair struct {
	Row              uint32
	Trigger, Content float64
}

// similar returns the records whose texts, which doc returns, are at least that
// similar.
func similar(
	ix *index.Index, sc *index.Scratch, trigger, content []text.Term, least float64, doc func(uint32) (t, c []text.Term),
) (out []pair) {
	l := index.NewLikeness(trigger, content, least)
	for _, row := range ix.Like(sc, l) {
		if t, c, ok := l.Of(doc(row)); ok {
			out = append(out, pair{row, t, c})
		}
	}
	return out
}

func TestSimilarAgreesWithText(t *testing.T) {
	t.Parallel()
	a, b := "go build reports an import cycle in the store", "the store has an import cycle that go build reports"
	ix, docs := index.New(), naive{3: doc("", a, "")}
	ix.Put(3, docs[3])
	var sc index.Scratch
	pairs := similar(ix, &sc, nil, text.Append(nil, b), 0.5, docs.doc)
	require.Len(t, pairs, 1)
	require.Equal(t, uint32(3), pairs[0].Row)
	require.Equal(t, text.Similarity(text.Append(nil, a), text.Append(nil, b)), pairs[0].Content)
}

// Texts that differ in numbers alone are many where a program writes them.
func TestSimilarAsksAboutFewThatDifferInNumbers(t *testing.T) {
	t.Parallel()
	ix, docs := index.New(), naive{}
	for i := range uint32(400) {
		d := doc("", fmt.Sprintf("the nightly backup of rack %d has finished on machine %d without any error", i/20, 100+i%20), "")
		ix.Put(i, d)
		docs[i] = d
	}
	var sc index.Scratch
	asked := 0
	pairs := similar(ix, &sc, nil, docs[77].Content, 0.9, func(row uint32) (trigger, content []text.Term) {
		asked++
		return docs.doc(row)
	})
	require.Len(t, pairs, 1)
	require.Equal(t, uint32(77), pairs[0].Row)
	require.LessOrEqual(t, asked, 40, "those with the same rack or the same machine")
}

func TestExtraTermsAreFound(t *testing.T) {
	t.Parallel()
	ix := index.New()
	d := doc("", "import cycle", "")
	d.Extra = text.Append(nil, "import loop")
	d.Date = text.Append(nil, "May 2026")
	ix.Put(0, d)
	var sc index.Scratch
	find := func(s string) []index.Match {
		return ix.Search(&sc, &index.Query{Terms: text.Append(nil, s)})
	}
	require.Len(t, find("loop"), 1)
	require.Len(t, find("may"), 1)
	docs := naive{0: d}
	require.Len(t, similar(ix, &sc, nil, d.Content, 1, docs.doc), 1, "they are not compared")
	ix.Delete(0, d)
	require.Empty(t, find("loop"))
	require.Empty(t, find("may"))
}

func TestWords(t *testing.T) {
	t.Parallel()
	ix := index.New()
	ix.Put(0, doc("", "the import cycle", ""))
	var sc index.Scratch
	words := ix.Words(&sc, text.Append(nil, "the cycle of death"), 0)
	sum := 0.0
	for _, w := range words {
		sum += w.Share
		require.Equal(t, w.Text == "the" || w.Text == "cycl", w.Found, w.Text)
	}
	require.InDelta(t, 1, sum, 1e-12)
	require.Len(t, words, 4)
	require.Equal(t, "death", words[0].Text, "the rarest asks for most")
}

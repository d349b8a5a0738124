package index_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

var english, _ = text.New()

func analyzer(t require.TestingT, languages ...string) *text.Analyzer {
	an, err := text.New(languages...)
	require.NoError(t, err)
	return an
}

// corpus is an Index with the texts of its rows, and their places in their threads.
type corpus struct {
	*index.Index
	docs []index.Doc
	at   []int
	n    int // rows inserted so far
}

func newCorpus(t require.TestingT, contents ...string) *corpus {
	c := &corpus{}
	c.Index = index.New(analyzer(t), func(a, b uint32) int { return c.at[a] - c.at[b] })
	for _, s := range contents {
		c.insert(index.Doc{Content: s})
	}
	return c
}

func (c *corpus) insert(d index.Doc) uint32 {
	c.n++
	return c.insertAt(d, c.n)
}

func (c *corpus) insertAt(d index.Doc, at int) uint32 {
	r := c.Insert(index.Analyze(english, d))
	more := max(0, int(r)+1-len(c.docs))
	c.docs, c.at = append(c.docs, make([]index.Doc, more)...), append(c.at, make([]int, more)...)
	c.docs[r], c.at[r] = d, at
	c.Join(r, d.Thread)
	return r
}

// find returns the contents of what a question finds, best first.
func (c *corpus) find(q index.Query) (out []string) {
	for _, m := range c.Search(&q) {
		out = append(out, c.docs[m.Row].Content)
	}
	return out
}

// Bare words find their forms and signs are words, without any language being named.
func TestWordsFindTheirForms(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"пароль", "Ротация паролей каждые 90 дней"}, {"İzmir", "İzmir'de toplantı var"}, {"شاي", "يحب الشاي الأخضر"},
		{"Passwort", "Passwörter werden monatlich gewechselt"}, {"ספר", "הספר על השולחן"}, {"hasło", "Hasła zmieniamy co miesiąc"},
		{"contraseña", "Las contraseñas caducan"}, {"utilisateur", "Les utilisateurs de l'équipe"}, {"équipe", "Les utilisateurs de l'équipe"},
		{"kitap", "Kitaplarımızı sattık"}, {"सड़क", "सड़कों पर पानी है"}, {"σχολείο", "των σχολείων"}, {"서버", "서버를 다시 시작했다"},
		{"会議", "明日の会議は中止"}, {"lakás", "Budapesti lakásokban"}, {"salasana", "Salasanoja vaihdetaan"}, {"hrad", "Na hradu"},
		{"recieve", "Receive the parcel"}, {"pjano", "The piano"}, {"C++", "We write C++ here"}, {"C#", "A service in C#."}, {".NET", "Runs on .NET 8"},
		{"👍", "ok 👍🏽"}, {"parse", "parseHTTP fails"}, {"Disney", "We have Disney+"},
	} {
		require.Equal(t, []string{c[1]}, newCorpus(t, c[1], "nothing of that").find(index.Query{Text: c[0]}), c[0])
	}
	for _, c := range [][2]string{{"C", "We write C++ here"}, {"C++", "The vitamin C"}, {"C", "A service in C#."}, {"77", "reader 9780"}, {"cat", "dog"}} {
		require.Empty(t, newCorpus(t, c[1]).find(index.Query{Text: c[0]}), c)
	}
}

func TestExactBeforeNear(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 10_000 {
		all = append(all, fmt.Sprintf("reader %d likes shelf %d", i, i%7))
	}
	ix := newCorpus(t, all...)
	require.Equal(t, all[77], ix.find(index.Query{Text: "reader 77", K: 10, Gate: .8})[0])
	ix = newCorpus(t, "паролей", "пароли", "пароль", "парк")
	require.Equal(t, "пароль", ix.find(index.Query{Text: "пароль"})[0])
	require.NotContains(t, ix.find(index.Query{Text: "пароль"}), "парк")
	for _, m := range ix.Search(&index.Query{Text: "пароль the"}) {
		require.Positive(t, m.Ratio)
	}
}

// day are the words of a day in March; year "": of any.
func day(year string, n int) (words []text.Term) {
	for _, w := range append(strings.Fields(year), "march", fmt.Sprintf("@03-%02d", n)) {
		words = append(words, text.Term{Text: w})
	}
	return words
}

// A day that a question names comes first.
func TestNamedDay(t *testing.T) {
	t.Parallel()
	ix := newCorpus(t)
	for n := 1; n <= 12; n++ {
		said := "we decide on the standup: item"
		if n == 6 {
			said = "the standup was short: item"
		}
		ix.insert(index.Doc{Content: fmt.Sprint(said, n), Day: day("2025", n)})
	}
	ix.insert(index.Doc{Content: "we decide on the standup: item6 of the year before", Day: day("2024", 6)})
	for _, year := range []string{"2025", ""} {
		q := index.Query{Text: "What did we decide in the standup?", Days: [][]text.Term{day(year, 6)}}
		require.Contains(t, ix.find(q)[0], "item6", year)
		require.Equal(t, year == "", strings.Contains(ix.find(q)[0], "before"))
	}
}

// Whom a question names.
func TestNamedActor(t *testing.T) {
	t.Parallel()
	ix := newCorpus(t)
	anna := ix.insert(index.Doc{Content: "I like to go sailing, always", Actor: "Anna"})
	ix.insert(index.Doc{Content: "Anna likes to go sailing", Actor: "Ben"})
	ix.insert(index.Doc{Content: "A red bicycle", Actor: "Ben"})
	ms := ix.Search(&index.Query{Text: "Does Anna like sailing?"})
	require.Equal(t, anna, ms[0].Row)
	require.Greater(t, ms[0].Ratio, ms[1].Ratio)
	require.Equal(t, []bool{true, false, false, true}, []bool{ms[0].Named, ms[0].Another, ms[1].Named, ms[1].Another})
	both := ix.Search(&index.Query{Text: "Do Anna and Ben like sailing?"})[0]
	require.False(t, both.Named || both.Another)
}

func TestThreads(t *testing.T) {
	t.Parallel()
	ix := newCorpus(t)
	rows := map[string]uint32{}
	for i, s := range []string{"three", "one", "four", "two"} { // in another order than said
		rows[s] = ix.insertAt(index.Doc{Content: s, Thread: "t"}, []int{3, 1, 4, 2}[i])
	}
	latest := func(n int) (out []string) {
		for _, r := range ix.Latest("t", n) {
			out = append(out, ix.docs[r].Content)
		}
		return out
	}
	require.Equal(t, []string{"one", "two", "three", "four"}, latest(9))
	require.Equal(t, []string{"three", "four"}, latest(2))
	require.Empty(t, ix.Latest("u", 2))
	require.Empty(t, ix.Latest("t", -1))
	require.Equal(t, []string{"four", "three", "two", "one"}, ix.find(index.Query{Text: "four"}), "what is near counts as well")
	require.Equal(t, []string{"two", "three", "four", "one"}, ix.find(index.Query{Text: "two"}), "more what comes after")
	ix.Remove(rows["four"], index.Analyze(analyzer(t), ix.docs[rows["four"]]))
	require.Equal(t, []string{"two", "three"}, latest(2))
}

// What is quadratic in any of these takes minutes here.
func TestManyOfAKind(t *testing.T) {
	t.Parallel()
	const n = 40_000
	ix := newCorpus(t)
	for i := range n { // the newest first
		ix.insertAt(index.Doc{Content: "hello there", Thread: "t"}, -i)
	}
	require.Equal(t, []uint32{1, 0}, ix.Latest("t", 2))
	require.NotEmpty(t, ix.Search(&index.Query{Text: "hello", K: n, Gate: .8}))
	var words strings.Builder
	for i := range n {
		fmt.Fprintf(&words, "alike%s ", strings.Map(func(r rune) rune { return r + 'a' - '0' }, fmt.Sprint(n+i)))
	}
	d := index.Analyze(analyzer(t), index.Doc{Content: words.String()})
	r := ix.Insert(d)
	require.NotEmpty(t, ix.Search(&index.Query{Text: "alikeééé"}))
	ix.Remove(r, d)
	require.Empty(t, ix.Search(&index.Query{Text: "alikeééé"}))
}

// Searches run at once, and beside changes under their owner's lock; one that panics leaves nothing to the next.
func TestConcurrentSearches(t *testing.T) {
	t.Parallel()
	var mu sync.RWMutex
	ix := newCorpus(t, "the build fails on shelf 0")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 200 {
				mu.RLock()
				if i%10 == 0 {
					assert.Panics(t, func() { ix.Search(&index.Query{Text: "shelf", K: 1, Wants: func(uint32) bool { panic("host") }}) })
				}
				ms := ix.Search(&index.Query{Text: "build fails", K: 3, Gate: .8})
				assert.Len(t, ms, len(ix.Search(&index.Query{Text: "build fails"})), "all are as good")
				mu.RUnlock()
			}
		})
	}
	for i := range 200 {
		d := index.Analyze(analyzer(t), index.Doc{Content: fmt.Sprint("the build fails on shelf ", i%9)})
		mu.Lock()
		if r := ix.Insert(d); i%3 == 0 {
			ix.Remove(r, d)
		}
		mu.Unlock()
	}
	all.Wait()
}

// draws are documents and questions of few words, so that all meet.
var (
	drawWord = rapid.SampledFrom(strings.Fields("build builds fails the of not anna ben 17 2025 shelf shelves кот коты паролей пароль foo.bar C++ шкаф buidl"))
	drawText = rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 19).Draw(t, "long") == 0 {
			return strings.Repeat("build of shelf ", 60)
		}
		end := rapid.SampledFrom([]string{"", "", "?", "."}).Draw(t, "end")
		return strings.Join(rapid.SliceOfN(drawWord, 0, 9).Draw(t, "words"), " ") + end
	})
	drawDoc = rapid.Custom(func(t *rapid.T) index.Doc {
		return index.Doc{
			Content: drawText.Draw(t, "content"), Trigger: rapid.SampledFrom([]string{"", "", "build", "shelf of anna"}).Draw(t, "trigger"),
			Actor:  rapid.SampledFrom([]string{"", "Anna", "Ben", "assistant"}).Draw(t, "actor"),
			Thread: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "thread"),
			Day:    day("2025", rapid.IntRange(1, 3).Draw(t, "day")),
		}
	})
)

// After inserts and removals an Index answers as one that has only what is left, and its K best are those of all.
func TestAgainstAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ix, live, most := newCorpus(t), map[uint32]index.Doc{}, 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				r := rapid.SampledFrom(slices.Sorted(keys(live))).Draw(t, "row")
				ix.Remove(r, index.Analyze(analyzer(t), live[r]))
				delete(live, r)
				continue
			}
			d := drawDoc.Draw(t, "doc")
			ix.n++
			r := ix.insertAt(d, 1000*rapid.IntRange(1, 3).Draw(t, "at")+ix.n)
			require.NotContains(t, live, r)
			live[r] = d
			most = max(most, len(live))
			require.Less(t, int(r), most, "rows are used again")
		}
		fresh := newCorpus(t)
		for _, r := range slices.Sorted(keys(live)) {
			fresh.insertAt(live[r], ix.at[r])
		}
		q := index.Query{Text: drawText.Draw(t, "question")}
		if rapid.Bool().Draw(t, "of a day") {
			q.Days = [][]text.Term{day("", 2)}
		}
		all, other := ix.Search(&q), scores(fresh, q)
		require.Equal(t, len(all), len(other))
		for _, m := range all {
			require.InDelta(t, other[ix.at[m.Row]], m.Ratio, 1e-5)
		}
		q.K = rapid.IntRange(1, 5).Draw(t, "k")
		q.Gate = rapid.SampledFrom([]float64{0, .5, .8}).Draw(t, "gate")
		some := ix.Search(&q)
		for i, m := range all {
			if wanted := i < q.K || q.Gate > 0 && m.Ratio > q.Gate*all[0].Ratio+1e-4; wanted {
				require.Greater(t, len(some), i)
				require.InDelta(t, m.Ratio, some[i].Ratio, 1e-5)
			}
		}
	})
}

func scores(c *corpus, q index.Query) map[int]float64 {
	out := map[int]float64{}
	for _, m := range c.Search(&q) {
		out[c.at[m.Row]] = m.Ratio
	}
	return out
}

func keys[V any](m map[uint32]V) func(func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// The score of records without threads, forms and dates is BM25 as written down here.
func TestAgainstAScan(t *testing.T) {
	t.Parallel()
	an := analyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(strings.Fields("cat cats dog bird the of in")), 1, 30), 1, 12).Draw(t, "docs")
		q := rapid.SliceOfN(rapid.SampledFrom(strings.Fields("cat dog bird the fish horse cow")), 1, 9).Draw(t, "q")
		ix := newCorpus(t)
		count := func(words []string) (tf map[text.Term]float64, length float64) {
			tf = map[text.Term]float64{}
			for _, w := range an.Append(nil, strings.Join(words, " ")) {
				tf[w]++
				length += w.Weight()
			}
			return tf, length
		}
		df := map[text.Term]float64{}
		for _, d := range docs {
			ix.insert(index.Doc{Content: strings.Join(d, " ")})
			tf, _ := count(d)
			for w := range tf {
				df[w]++
			}
		}
		want, asked, size := map[uint32]float64{}, 0.0, 0.0
		words, _ := count(q)
		content := false
		idf := func(w text.Term) float64 { return w.Weight() * math.Log(1+(1024-df[w]+.5)/(df[w]+.5)) }
		for w := range words {
			asked, size = asked+idf(w), size+w.Weight()
			content = content || !w.Stop
		}
		for r, d := range docs {
			tf, length := count(d)
			length = math.Exp2(math.Round(8*math.Log2(max(1, length))) / 8)
			s, found := 0.0, false
			for w := range words {
				p := tf[w] / (.1 + .9*length/64)
				s += idf(w) * 1.9 * p / (p + .9)
				found = found || p > 0 && (!w.Stop || !content)
			}
			if found {
				want[uint32(r)] = s / max(asked, 6.5) * math.Pow(max(size, 4)/4, .75)
			}
		}
		got := ix.Search(&index.Query{Text: strings.Join(q, " ")})
		require.Len(t, got, len(want))
		for _, m := range got {
			require.InDelta(t, want[m.Row], m.Ratio, 1e-5)
		}
		require.True(t, slices.IsSortedFunc(got, func(a, b index.Match) int { return cmp.Compare(b.Ratio, a.Ratio) }))
	})
}

// A word that nearly all records have is looked up for the few that the rare words have found, and counts for
// them as it does where every record is scored.
func TestCommonWordsAreLookedUp(t *testing.T) {
	c := newCorpus(t)
	for n := range 2000 {
		d := index.Doc{Content: fmt.Sprint("the order came, shipment ", n), Thread: "talk"}
		if n%500 == 100 {
			d.Content = strings.Repeat("order ", n/500) + "zebra"
		}
		c.insert(d)
	}
	score := func(k int) map[uint32]float64 {
		out := map[uint32]float64{}
		for _, m := range c.Search(&index.Query{Text: "the zebra order", K: k}) {
			out[m.Row] = m.Ratio
		}
		return out
	}
	best, all := score(4), score(0)
	require.GreaterOrEqual(t, len(best), 4)
	require.Greater(t, len(all), 1000)
	for row, ratio := range best {
		require.InEpsilon(t, all[row], ratio, 1e-4)
	}
}

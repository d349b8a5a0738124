package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

// A word that no record has finds those of the commonest word that begins as it does and
// is one edit away, of those of one count the first, whatever was deleted before.
func TestMisspeltWordsFindTheNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[abcдé]{4,9}`)
		ix, rows := index.New(), map[string][]uint32{}
		said := rapid.SliceOfN(words, 1, 60).Draw(t, "said")
		for row, w := range said {
			ix.Put(uint32(row), index.Doc{Content: []text.Term{{Text: w}}})
			rows[w] = append(rows[w], uint32(row))
		}
		for _, row := range rapid.SliceOf(rapid.IntRange(0, len(said)-1)).Draw(t, "deleted") {
			w := said[row]
			ix.Delete(uint32(row), index.Doc{Content: []text.Term{{Text: w}}})
			rows[w] = slices.DeleteFunc(rows[w], func(r uint32) bool { return r == uint32(row) })
		}
		asked := words.Draw(t, "asked")
		best := asked
		if len(rows[asked]) == 0 && utf8.RuneCountInString(asked) >= 5 {
			first, _ := utf8.DecodeRuneInString(asked)
			for w, in := range rows {
				r, _ := utf8.DecodeRuneInString(w)
				near := r == first && utf8.RuneCountInString(w) >= 5 && text.Near(w, asked)
				if n := len(rows[best]); near && len(in) > 0 && (len(in) > n || len(in) == n && w < best) {
					best = w
				}
			}
		}
		var found []uint32
		for _, m := range ix.Search(new(index.Scratch), &index.Query{Terms: []text.Term{{Text: asked}}}) {
			found = append(found, m.Row)
		}
		slices.Sort(found)
		require.Equal(t, rows[best], append(rows[best][:0:0], found...), "%s for %s of %v", best, asked, said)
	})
}

// BenchmarkAbsent searches for eight words of the records and some that no record has:
// every other one of these is one letter from a word of the records.
func BenchmarkAbsent(b *testing.B) {
	syllables := []string{"ba", "ke", "li", "mo", "nu", "pra", "ste", "tri", "vo", "zur"}
	for _, n := range []int{100_000, 1_000_000} {
		for name, word := range map[string]func(i int) string{
			"syllables": func(i int) (w string) {
				for ; i > 0 || w == ""; i /= 10 {
					w += syllables[i%10]
				}
				return w + "t"
			},
			"letters": func(i int) string { // as in English, four to thirteen of them
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				w := make([]byte, 4+rng.IntN(5)+rng.IntN(6))
				for j := range w {
					w[j] = "eeeeeetttttaaaaooooiiiinnnsssrrrhhddlluccmfypgwbvkxqjz"[rng.IntN(54)]
				}
				return string(w)
			},
		} {
			ix := index.New()
			for i := 0; i < n; i += 10 {
				var d index.Doc
				for j := i; j < i+10; j++ {
					d.Content = append(d.Content, text.Term{Text: word(j)})
				}
				ix.Put(uint32(i/10), d)
			}
			for _, absent := range []int{0, 1, 8, 64} {
				b.Run(fmt.Sprintf("words=%d/%s/absent=%d", n, name, absent), func(b *testing.B) {
					queries := make([]index.Query, 100)
					rng := rand.New(rand.NewPCG(5, 6))
					for i := range queries {
						queries[i].K = 10
						for j := range max(8, absent) {
							w := []byte(word(rng.IntN(n)))
							if j < absent {
								w[len(w)/2] = "wx"[j%2]
							}
							if j < absent && j%2 == 0 {
								w[len(w)/2-1] = 'q'
							}
							queries[i].Terms = append(queries[i].Terms, text.Term{Text: string(w)})
						}
					}
					var sc index.Scratch
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						ix.Search(&sc, &queries[i%len(queries)])
					}
				})
			}
		}
	}
}

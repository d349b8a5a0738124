package text_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/text"
)

func terms(s string) []string {
	var out []string
	for _, t := range text.Append(nil, s) {
		out = append(out, t.Text)
	}
	return out
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  \n\t!? ...", nil},
		{"Running the builds", []string{"run", "the", "build"}},
		{"import cycles", terms("Import CYCLE")},
		{"fooBar", []string{"foobar", "foo", "bar"}},
		{"foo_bar", []string{"foo_bar", "foo", "bar"}},
		{"HTTPServer", []string{"httpserver", "http", "server"}},
		{"parseHTTP2", []string{"parsehttp2", "pars", "http2"}},
		{"main.go", []string{"main.go", "main", "go"}},
		{"go.mod's", terms("go.mod's")},
		{"か\u3099んば", terms("がんば")}, // as file systems part letter and mark
		{"v1.26.8", []string{"v1.26.8", "v1", "26"}},
		{"3.14 1,024 8080", []string{"3.14", "1,024", "8080"}},
		{"user's", []string{"user"}},
		{"Käse GRÜẞE", []string{"käse", "grüße"}},
		{"東京", []string{"東", "東京", "京"}},
		{"서버를 API서버", []string{"서버", "버를", "api", "서버"}},
		{"집", []string{"집"}},
		{"น้ำมัน", []string{"น้", "น้ำ", "ำ", "ำมั", "มั", "มัน", "น"}},
		{"Go C++ C#", []string{"go", "c", "c"}},
		{"I", []string{"i"}},
		{"XML", []string{"xml"}},
	} {
		require.Equal(t, c.want, terms(c.in), "%q", c.in)
	}
}

// A typographic apostrophe is an apostrophe.
func TestApostrophe(t *testing.T) {
	t.Parallel()
	require.Equal(t, terms("user's don't"), terms("user\u2019s don\u2019t"))
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in         string
		stop, mark bool
	}{
		{"build", false, false}, {"the", true, false}, {"not", true, true}, {"never", true, true},
		{"don't", true, true}, {"8080", false, true}, {"p17", false, true}, {"without", false, true},
	} {
		got := text.Append(nil, c.in)
		require.Len(t, got, 1, c.in)
		require.Equal(t, [2]bool{c.stop, c.mark}, [2]bool{got[0].Stop, got[0].Mark}, c.in)
	}
}

func TestLongWordIsCut(t *testing.T) {
	t.Parallel()
	for _, w := range []string{strings.Repeat("a", 5000), strings.Repeat("é", 5000)} {
		for _, got := range terms(w) {
			require.LessOrEqual(t, len(got), 128)
			require.True(t, utf8.ValidString(got))
		}
	}
}

func TestLetters(t *testing.T) {
	t.Parallel()
	for s, n := range map[string]int{"": 0, "  fix it ": 6, "сбой": 4, "重启支付网关": 18, "결제 오류": 13, "カード": 7, "ก": 1} {
		require.Equal(t, n, text.Letters(s), s)
	}
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	sim := func(a, b string) float64 {
		return text.Similarity(text.Append(nil, a), text.Append(nil, b))
	}
	require.Equal(t, 1.0, sim("the build fails", "Build: fails THE"))
	require.Equal(t, 0.0, sim("import cycle", "unused variable"))
	require.Equal(t, 0.0, sim("", ""))
	require.InDelta(t, 0.5, sim("red green", "red blue"), 1e-12)
	require.Greater(t, sim("is it the same build", "build"), 0.9, "function words weigh little")
}

func TestSimilarityProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOf(rapid.SampledFrom(strings.Fields("the of build builds fooBar foo bar not 17 東京 naïve x"))).
			Filter(func(ws []string) bool { return len(ws) > 0 })
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		x, y := text.Append(nil, strings.Join(a, " ")), text.Append(nil, strings.Join(b, " "))
		s := text.Similarity(x, y)
		require.Equal(t, s, text.Similarity(y, x))
		require.True(t, s >= 0 && s <= 1)
		require.Equal(t, 1.0, text.Similarity(x, x))
		shuffled := rapid.Permutation(a).Draw(t, "shuffled")
		require.Equal(t, s, text.Similarity(text.Append(nil, strings.Join(shuffled, " ")), y))
	})
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"fooBar", "a_b.c:d", "\xff\xfe", "'''", "_", "é\u0301", strings.Repeat("A", 300), "İSTANBUL"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, term := range text.Append(nil, s) {
			if term.Text == "" {
				t.Fatalf("empty term in %q", s)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	const s = "The nightly build of parseHTTP2 fails with an import cycle between store and memory; move the shared type down."
	var terms []text.Term
	b.ReportAllocs()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		terms = text.Append(terms[:0], s)
	}
}

func BenchmarkSimilarity(b *testing.B) {
	x := text.Append(nil, "go build reports an import cycle between two packages of the module")
	y := text.Append(nil, "an import cycle between packages is reported by go build")
	b.ReportAllocs()
	for b.Loop() {
		text.Similarity(x, y)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	var got []string
	for _, x := range text.Plain.Append(nil, "The builds of fooBar don't run, Käse") {
		require.False(t, x.Stop)
		require.Equal(t, x.Text == "don't", x.Mark)
		got = append(got, x.Text)
	}
	require.Equal(t, []string{"the", "builds", "of", "foobar", "foo", "bar", "don't", "run", "käse"}, got)
	require.Equal(t, text.Append(nil, "The builds"), text.English.Append(nil, "The builds"))
}

// Words that share a place in the memo do not share terms.
func TestManyWords(t *testing.T) {
	t.Parallel()
	for range 2 {
		for i := range 100_000 {
			w := fmt.Sprint("w", i)
			require.Equal(t, w, text.Append(nil, w)[0].Text)
		}
	}
}

func TestNear(t *testing.T) {
	for _, near := range [][2]string{{"crush", "crush"}, {"crush", "crsh"}, {"crush", "crushy"}, {"crush", "crash"}, {"crush", "cursh"}, {"grün", "grüne"}, {"жизнь", "жизн"}, {"", "a"}} {
		require.True(t, text.Near(near[0], near[1]), near)
		require.True(t, text.Near(near[1], near[0]), near)
	}
	for _, far := range [][2]string{{"crush", "crashy"}, {"crush", "crushing"}, {"crush", "curhs"}, {"", "ab"}, {"ab", "cd"}} {
		require.False(t, text.Near(far[0], far[1]), far)
		require.False(t, text.Near(far[1], far[0]), far)
	}
}

package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/text"
)

func analyzer(t require.TestingT, languages ...string) *text.Analyzer {
	a, err := text.New(languages...)
	require.NoError(t, err)
	return a
}

func terms(t require.TestingT, s string, languages ...string) (out []string) {
	for _, x := range analyzer(t, languages...).Append(nil, s) {
		out = append(out, x.Text)
	}
	return out
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want string
	}{
		{"", ""}, {"  \n\t!? ...", ""}, {"Running the builds", "run the build"}, {"fooBar foo_bar", "foobar foo bar foo_bar foo bar"},
		{"parseHTTP2", "parsehttp2 pars http2"}, {"main.go", "main.go main go"}, {"3.14 1,024 10:30", "3.14 1,024 10 30"},
		{"user's don’t", "user don't"}, {"l'homme İzmir'de", "l'homm homm izmir'd izmir"}, {"Käse GRÜẞE", "kase grusse"},
		{"C++ C# .NET C++11", "c++ c# .net net c++ 11"}, {"Disney+ a+b x.y", "disney+ disney a b x.i"}, {"end.Next", "end.next end next"},
		{"ok 👍🏽 ❤️", "ok 👍 ❤"}, {"東京", "東 東京 京"}, {"か\u3099ん", "が がん ん"}, {"서버를 API서버 집", "서버 버를 api 서버 집"},
		{"пароль паролей", "парол парол"}, {"Ελλάδας", "ελλαδασ"}, {"ł", "l"}, {"Ｃ＋＋　８０", "c++ 80"},
	} {
		require.Equal(t, c.want, strings.Join(terms(t, c.in), " "), "%q", c.in)
	}
	require.Equal(t, []string{"haus", "haus"}, terms(t, "Häuser Haus", "de"))
	require.Equal(t, []string{"haus", "run"}, terms(t, "Häuser running", "en", "de"))
	require.Equal(t, terms(t, "プログラム"), terms(t, "ﾌﾟﾛｸﾞﾗﾑ"), "half width")
	require.Equal(t, terms(t, "كتاب"), terms(t, "كتـاب"), "a stretched letter")
	require.Equal(t, []string{"running"}, terms(t, "running", "pl"), "no stemmer")
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in         string
		stop, open bool
	}{{"build", false, false}, {"the", true, false}, {"don't", true, false}, {"пароль", false, true}, {"Passwörter", false, true}, {"8080", false, false}} {
		got := analyzer(t).Append(nil, c.in)
		require.Equal(t, [2]bool{c.stop, c.open}, [2]bool{got[0].Stop, got[0].Open}, c.in)
	}
	require.False(t, analyzer(t, "ru").Append(nil, "пароль")[0].Open)
	for _, word := range []string{"بالمدرسة", "паролями"} { // whatever letters the codes of other languages have
		require.Equal(t, terms(t, word, "de"), terms(t, word, "mar", "kru"))
	}
	require.Same(t, analyzer(t), analyzer(t, "en"))
	_, err := text.New("English")
	require.Error(t, err)
}

func TestFold(t *testing.T) {
	t.Parallel()
	require.Equal(t, text.Fold("Run  the\nBuild."), text.Fold("run the build"))
	require.Equal(t, text.Fold("Cafe\u0301"), text.Fold("café"))
	require.Equal(t, text.Fold("Ｒｅｖ　Ａ"), text.Fold("rev a"))
	for _, c := range [][2]string{{"C++", "C"}, {"Rev A", "Rev B"}, {"is it?", "is it"}, {"a b", "b a"}, {"not x", "x"}, {"1.5", "15"}, {"5²", "52"},
		{"the key userId", "the key userid"}, {"10 MB", "10 Mb"}, {"/data/A", "/data/a"}, {"Ab1", "ab1"}, {"dQw4w9WgXcQ", "dqw4w9wgxcq"}} {
		require.NotEqual(t, text.Fold(c[0]), text.Fold(c[1]))
	}
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"fooBar", "a_b.c:d", "\xff\xfe", "'''", "_", "é\u0301", strings.Repeat("A", 300), "İSTANBUL", "C++", ".5", "+", "3月6日", "👍"} {
		f.Add(s)
	}
	a := analyzer(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, x := range a.Append(nil, s) {
			if x.Text == "" || len(x.Text) > 4*128 || utf8.ValidString(s) && !utf8.ValidString(x.Text) {
				t.Fatalf("term %q in %q", x.Text, s)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	const s = "The nightly build of parseHTTP2 fails with an import cycle between store and memory; move the shared type down."
	a := analyzer(b)
	var out []text.Term
	b.ReportAllocs()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		out = a.Append(out[:0], s)
	}
}

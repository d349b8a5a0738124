package text_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kljensen/snowball/english"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/text"
)

// Most are words with which the description of the algorithm explains its
// steps.
func TestStemOfTheDescription(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"user's": "user", "caresses": "caress", "ties": "tie", "cries": "cri", "gas": "gas", "this": "this",
		"gaps": "gap", "kiwis": "kiwi", "luxuriated": "luxuri", "hopping": "hop", "hoping": "hope",
		"agreed": "agre", "feed": "feed", "cry": "cri", "by": "by", "say": "say", "skies": "sky", "dying": "die",
		"generate": "generat", "generously": "generous", "inning": "inning", "innings": "inning",
		"inning's": "inning", "proceeding": "proceed", "apology": "apolog", "hopeful": "hope",
	} {
		require.Equal(t, want, stemOf(t, word), word)
	}
}

// The stems are those of another implementation, for every word of this
// repository. Apostrophes are left out: that implementation looks for the
// exceptions before it removes them, and makes "in" of "inning's".
func TestStemOfOurWords(t *testing.T) {
	t.Parallel()
	words := 0
	for _, word := range ourWords(t) {
		require.Equal(t, english.Stem(word, true), stemOf(t, word), word)
		words++
	}
	require.Greater(t, words, 3000)
}

// And for words that nobody wrote, most of them with suffixes that a rule is
// about.
func TestStemOfAnyWord(t *testing.T) {
	t.Parallel()
	suffixes := strings.Fields(`s es ies ied sses us ss y ly li ed eed ing edly eedly ingly at bl iz
		tional enci anci abli entli izer ization ational ation ator alism aliti alli fulness ousli ousness
		iveness iviti biliti bli logi fulli lessli alize icate iciti ical ful ness ative al ance ence er ic
		able ible ant ement ment ent ism ate iti ous ive ize sion tion e ll`)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{1,3}|[a-z]{1,8}|(gener|commun|arsen)[a-z]{0,3}|y?[aeiouy]?[bdlnty]{1,2}[aeiou][lwxy]?`).Draw(t, "word")
		for _, s := range rapid.SliceOfN(rapid.SampledFrom(suffixes), 0, 3).Draw(t, "suffixes") {
			word += s
		}
		require.Equal(t, english.Stem(word, true), stemOf(t, word), word)
	})
}

func stemOf(t require.TestingT, word string) string {
	terms := text.Append(nil, word)
	require.Len(t, terms, 1, word)
	return terms[0].Text
}

// ourWords returns the words of the documents and sources of this repository,
// in lower case, each once.
func ourWords(t *testing.T) []string {
	word := regexp.MustCompile(`[a-z]+`)
	seen := map[string]bool{}
	var out []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".go" && ext != ".md" {
			return err
		}
		data, err := os.ReadFile(path)
		for _, w := range word.FindAllString(strings.ToLower(string(data)), -1) {
			if !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
		return err
	})
	require.NoError(t, err)
	return out
}

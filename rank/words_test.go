package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func TestWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zäß0-9]{1,5}`), 0, 20).Draw(t, "words")
		want := rank.WordsOf(strings.Join(words, " "))
		slices.Reverse(words)
		require.Equal(t, want, rank.WordsOf(strings.Join(append(words, words...), ", ")))
	})
	require.Equal(t, rank.WordsOf("build undefined name"), rank.WordsOf("Build: undefined Name!"))
	require.Zero(t, rank.WordsOf(" – "))
}

// specialists are ten candidates, of which each mends what is said in one way, and
// three situations that read a little differently each.
func specialists(t *testing.T, b *rank.Book) (cs []rank.Candidate, said func(kind, i int) rank.Situation) {
	t.Helper()
	said = func(kind, i int) rank.Situation {
		s := fmt.Sprintf("step%d: mistake%d in sort%d of kind%d, variant%d", kind, kind, kind, kind, i)
		return rank.Situation{Key: s, Words: rank.WordsOf(s)}
	}
	for i := range 10 {
		cs = append(cs, rank.Candidate{Name: fmt.Sprint("c", i), Prior: 0.5})
	}
	for kind := range 5 {
		for i := range 10 {
			name := fmt.Sprint("c", (kind*3+i*7)%10)
			require.NoError(t, b.Observe(t.Context(), rank.Sample{
				Key: fmt.Sprint(kind, i), Candidate: name, Situation: said(kind, kind), Success: name == fmt.Sprint("c", kind),
			}))
		}
	}
	return cs, said
}

// Who delivered in a situation comes first in one of much the same words, also after a
// restart, and of several openers; in one of other words who has not delivered does.
func TestLearnedGoesByLikeWords(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		st, o := store.NewMem(), &rank.Options{Now: clock(noon), Shared: shared}
		book, err := rank.Open(t.Context(), st, o)
		require.NoError(t, err)
		cs, said := specialists(t, book)
		require.NoError(t, book.Close())
		book = open(t, st, o)
		require.NoError(t, book.Refresh(t.Context()))
		for kind := range 10 {
			order, err := book.Learned(&rank.LearnedOptions{Greedy: true}).Score(t.Context(), said(kind, 77), cs)
			require.NoError(t, err)
			first := order[0].Candidate.Name
			if kind < 5 {
				require.Equal(t, fmt.Sprint("c", kind), first)
			} else {
				require.GreaterOrEqual(t, first, "c5")
			}
			s := said(kind, 77)
			s.Words = 0 // nothing says what it is like
			order, err = book.Learned(&rank.LearnedOptions{Greedy: true}).Score(t.Context(), s, cs)
			require.NoError(t, err)
			require.GreaterOrEqual(t, order[0].Candidate.Name, "c5")
		}
	}
}

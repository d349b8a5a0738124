package lexicon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/lexicon"
)

func words(terms []text.Term) (out []string) {
	for _, t := range terms {
		out = append(out, t.Text)
	}
	return out
}

// A text is indexed by what it says, by who says it unless that is a role, and by its day.
func TestDoc(t *testing.T) {
	t.Parallel()
	x := lexicon.New(text.English)
	at := time.Date(2026, 5, 7, 12, 0, 0, 0, time.UTC)
	d, buf := x.Doc(nil, &lexicon.Text{
		Trigger: "imports", Content: "cycles", Actor: "Ann", Thread: "t", At: at, Extra: []string{"hosts", "", "caches"}, Tie: 7,
	})
	require.Equal(t, words(x.Terms("imports")), words(d.Trigger))
	require.Equal(t, words(x.Terms("cycles")), words(d.Content))
	require.Equal(t, []string{"ann"}, words(d.Actor))
	require.Equal(t, words(x.Terms("hosts caches")), words(d.Extra))
	require.Contains(t, words(d.Date), "2026")
	require.Equal(t, int64(7), d.Tie)
	require.Equal(t, "t", d.Thread)
	more, _ := x.Doc(buf, &lexicon.Text{Content: "lunch", Actor: "user", At: at, Machine: true})
	require.Empty(t, more.Actor)
	require.Equal(t, words(x.Terms("cycles")), words(d.Content), "terms of before stay as they are")
	require.Nil(t, x.Terms(""))
}

// A query that names a day looks for what is dated so.
func TestQueryNamesDays(t *testing.T) {
	t.Parallel()
	x := lexicon.New(text.English)
	d, _ := x.Doc(nil, &lexicon.Text{Content: "lunch", At: time.Date(2026, 5, 7, 12, 0, 0, 0, time.UTC)})
	terms, half := x.Query(nil, "lunch on 7 May")
	day := words(d.Date)[2]
	require.Contains(t, words(terms), day)
	require.NotEmpty(t, half[day], "the day after")
	require.NotEqual(t, words(lexicon.New(text.Plain).Terms("imports")), words(x.Terms("imports")))
}

package benchmarks

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

var day0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// facts opens a scope with facts of increasing At.
func facts(t *testing.T, now time.Time, contents ...string) memory.Space {
	bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Now: func() time.Time { return now }, Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bank.Close()) })
	s := bank.In("letta/people")
	for i, c := range contents {
		remember(t, s, c, day0.Add(time.Duration(i)*time.Hour))
	}
	return s
}

func remember(t *testing.T, s memory.Space, content string, at time.Time) memory.Receipt {
	r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: content, At: at})
	require.NoError(t, err)
	return r
}

// place returns the place of a text among the first ten, from 0; 10 if it is not
// there.
func place(t *testing.T, s memory.Space, question, content string) int {
	hits, err := s.Recall(t.Context(), memory.Query{Text: question})
	require.NoError(t, err)
	i := slices.IndexFunc(hits, func(h memory.Hit) bool { return h.Record.Content == content })
	if i < 0 {
		return 10
	}
	return i
}

// Changes of facts about people, by Letta's leaderboard: the current fact comes
// first, and a change leaves what it is not about where it was. The second half
// of the groups was looked at once.
func TestLetta(t *testing.T) {
	groups := letta(t)
	for part, gs := range map[string][]changing{"tuned on": groups[:len(groups)/2], "looked at once": groups[len(groups)/2:]} {
		current, kept, merged, changes, others := 0, 0, 0, 0, 0
		for n, g := range gs {
			for i, u := range g.Updates {
				s := facts(t, day0.AddDate(3, 0, 31), g.Facts...)
				if r := remember(t, s, u.New, day0.AddDate(0, 0, 30)); r.Disposition != memory.Stored {
					merged++
				}
				changes++
				if at := place(t, s, u.Question, u.New); at == 0 {
					current++
				} else if testing.Verbose() && part == "tuned on" && n < 12 {
					t.Logf("%d: %s\n  old %s\n  new %s", at, u.Question, g.Facts[u.Old], u.New)
				}
				for j, other := range g.Updates {
					if j == i || other.Old == u.Old {
						continue
					}
					others++
					if place(t, s, other.Question, g.Facts[other.Old]) <= place(t, s, other.Question, u.New) {
						kept++
					}
				}
			}
		}
		t.Logf("%s: %d changes: current first %.1f %%, merged %d; %d other questions: kept %.1f %%",
			part, changes, percent(current, changes), merged, others, percent(kept, others))
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

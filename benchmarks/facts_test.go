package benchmarks

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

var day0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// people is a scope of facts.
type people struct {
	memory.Space
	bank *memory.Bank
}

// facts opens a scope with facts of increasing At.
func facts(t *testing.T, now time.Time, contents ...string) people {
	bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Now: func() time.Time { return now }, Seed: 1, Embedder: embedder(t), MinCosine: *minCosine})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bank.Close()) })
	s := people{bank.In("letta/people"), bank}
	for i, c := range contents {
		s.remember(t, c, day0.Add(time.Duration(i)*time.Hour))
	}
	return s
}

func (s people) remember(t *testing.T, content string, at time.Time) memory.Receipt {
	r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: content, At: at})
	require.NoError(t, err)
	require.NoError(t, s.bank.Embed(t.Context()))
	return r
}

// place returns the place of a text among the first ten, from 0; 10 if it is not
// there.
func place(t *testing.T, s people, question, content string) int {
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
				if r := s.remember(t, u.New, day0.AddDate(0, 0, 30)); r.Disposition != memory.Stored {
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

// Changes of facts, and facts that hold beside one another, by a person who had
// not seen what orders them: the current one comes first, and what still holds
// is neither hidden nor put behind what does not replace it.
func TestPairs(t *testing.T) {
	type count struct{ all, first, before, hidden, wrong int }
	counts := map[string]*count{}
	for _, p := range pairs(t) {
		s := facts(t, day0.AddDate(3, 0, 31), append(slices.Clone(p.Others), p.Old)...)
		r := s.remember(t, p.New, day0.AddDate(0, 0, 30))
		hits, err := s.Recall(t.Context(), memory.Query{Text: p.Question})
		require.NoError(t, err)
		at := func(content string) int {
			return slices.IndexFunc(hits, func(h memory.Hit) bool { return h.Record.Content == content })
		}
		right, other := p.New, p.Old
		if p.Both {
			right, other = p.Old, p.New
		}
		i, j := at(right), at(other)
		k := at(p.Old)
		wrong := p.Both && k >= 0 && hits[k].Replaced.By == r.ID
		name := map[bool]string{false: "changes", true: "both hold"}[p.Both]
		for _, kind := range []string{name, name + ", " + p.Kind} {
			c := counts[kind]
			if c == nil {
				c = new(count)
				counts[kind] = c
			}
			c.all++
			countIf(&c.first, i == 0)
			countIf(&c.before, i >= 0 && (j < 0 || i < j))
			countIf(&c.hidden, k < 0 || r.Disposition != memory.Stored)
			countIf(&c.wrong, wrong)
		}
		if testing.Verbose() && (i != 0 || wrong) && !strings.Contains(*pairsFile, "held") {
			t.Logf("%s %d %d %v: %s\n  old %s\n  new %s", name, i, j, wrong, p.Question, p.Old, p.New)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		t.Logf("%s: %d, right first %.0f %%, before the other %.0f %%, taken for a change %.0f %%, old one not found %d",
			kind, c.all, percent(c.first, c.all), percent(c.before, c.all), percent(c.wrong, c.all), c.hidden)
	}
}

func countIf(n *int, b bool) {
	if b {
		*n++
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

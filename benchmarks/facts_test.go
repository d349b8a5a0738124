package benchmarks

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
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
	s := read(t, now, nil)
	for i, c := range contents {
		s.remember(t, c, day0.Add(time.Duration(i)*time.Hour))
	}
	return s
}

// read opens an empty scope, of which x reads what is remembered.
func read(t *testing.T, now time.Time, x memory.Extractor) people {
	bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{
		Now: func() time.Time { return now }, Seed: 1, Embedder: embedder(t), MinCosine: *minCosine, Extractor: x,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bank.Close()) })
	return people{bank.In("letta/people"), bank}
}

func (s people) remember(t *testing.T, content string, at time.Time) memory.Receipt {
	r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: content, At: at})
	require.NoError(t, err)
	require.NoError(t, s.bank.Embed(t.Context()))
	if err := s.bank.Extract(t.Context()); err != nil {
		t.Log(err)
	}
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

// Changes of facts, and facts that hold beside one another, by people who had
// not seen what orders them: the current one comes first, and what still holds
// is neither hidden nor put behind what does not replace it.
func TestPairs(t *testing.T) {
	for path, ps := range pairs(t) {
		measurePairs(t, path, ps, nil)
	}
}

// The same with an Extractor, by the answers that a language model has given to its
// prompts: of the later text alone, as where the option is set late, or of all. The
// bars are those of issue 15.
func TestPairsRead(t *testing.T) {
	for path, ps := range pairs(t) {
		m := recorded(t, strings.TrimSuffix(path, ".json")+"-answers.json")
		x, err := reason.NewExtractor(m)
		require.NoError(t, err)
		changes, both := measurePairs(t, path, ps, func(p pair) memory.Extractor { return reading{x, p} })
		m.done(t)
		require.GreaterOrEqual(t, percent(changes.first, changes.all), 65.0)
		require.LessOrEqual(t, percent(both.wrong, both.all), 3.0)
		require.Zero(t, changes.hidden+both.hidden)
	}
}

// reading is an Extractor that has not been there yet when the earlier texts came,
// unless all are read.
type reading struct {
	memory.Extractor
	pair
}

func (x reading) Extract(ctx context.Context, r memory.Record, known []memory.Record) ([]memory.Statement, error) {
	if !*readAll && r.Content != x.New {
		return nil, nil
	}
	return x.Extractor.Extract(ctx, r, known)
}

// pairCount is how many of a kind of pairs came out how.
type pairCount struct{ all, first, before, unfound, hidden, wrong int }

func measurePairs(t *testing.T, path string, ps []pair, extractor func(pair) memory.Extractor) (changes, both pairCount) {
	counts := map[string]*pairCount{"changes": {}, "both hold": {}}
	for _, p := range ps {
		var x memory.Extractor
		if extractor != nil {
			x = extractor(p)
		}
		s := read(t, day0.AddDate(3, 0, 31), x)
		var old memory.Receipt
		for i, c := range append(slices.Clone(p.Others), p.Old) {
			old = s.remember(t, c, day0.Add(time.Duration(i)*time.Hour))
		}
		there := place(t, s, p.Question, p.Old) < 10
		r := s.remember(t, p.New, day0.AddDate(0, 0, 30))
		hits, err := s.Recall(t.Context(), memory.Query{Text: p.Question})
		require.NoError(t, err)
		// Of a text, or of what was read in it.
		of := func(id memory.ID) func(h memory.Hit) bool {
			return func(h memory.Hit) bool {
				return h.Record.ID == id || slices.ContainsFunc(h.Record.Links, func(l memory.Link) bool { return l.To == id && l.Rel == "" })
			}
		}
		right, other := r.ID, old.ID
		if p.Both {
			right, other = other, right
		}
		i, j := slices.IndexFunc(hits, of(right)), slices.IndexFunc(hits, of(other))
		k := slices.IndexFunc(hits, func(h memory.Hit) bool { return h.Record.ID == old.ID })
		wrong := p.Both && k >= 0 && hits[k].Replaced.By == r.ID
		name := map[bool]string{false: "changes", true: "both hold"}[p.Both]
		for _, kind := range []string{name, name + ", " + p.Kind} {
			c := counts[kind]
			if c == nil {
				c = new(pairCount)
				counts[kind] = c
			}
			c.all++
			countIf(&c.first, i == 0)
			countIf(&c.before, i >= 0 && (j < 0 || i < j))
			countIf(&c.unfound, !there)
			countIf(&c.hidden, there && k < 0 || r.Disposition != memory.Stored)
			countIf(&c.wrong, wrong)
		}
		if testing.Verbose() && (i != 0 || wrong) && !strings.HasSuffix(path, "-b.json") {
			t.Logf("%s %d %d %v: %s\n  old %s\n  new %s", name, i, j, wrong, p.Question, p.Old, p.New)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		t.Logf("%s: %s: %d, right first %.0f %%, before the other %.0f %%, taken for a change %.0f %%, old one hidden %d, not found before either %d",
			path, kind, c.all, percent(c.first, c.all), percent(c.before, c.all), percent(c.wrong, c.all), c.hidden, c.unfound)
	}
	return *counts["changes"], *counts["both hold"]
}

func countIf(n *int, b bool) {
	if b {
		*n++
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

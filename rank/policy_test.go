package rank_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func policies(book *rank.Book) map[string]rank.Policy {
	return map[string]rank.Policy{"observed": book.Observed(), "weighted": book.Weighted(), "learned": book.Learned(nil)}
}

func TestBadCandidates(t *testing.T) {
	t.Parallel()
	for name, policy := range policies(open(t, store.NewMem(), nil)) {
		for _, cs := range [][]rank.Candidate{nil, {}} {
			_, err := policy.Score(t.Context(), rank.Situation{}, cs)
			require.ErrorIs(t, err, rank.ErrNoCandidate, name)
		}
		many := make([]rank.Candidate, 100)
		for i := range many {
			many[i].Name = fmt.Sprint(i)
		}
		many[99].Name = "5"
		for _, cs := range [][]rank.Candidate{
			{{Name: "a", Prior: math.NaN()}},
			{{Name: "a"}, {Name: "b", Prior: math.Inf(1)}},
			{{Name: "a", Prior: math.Inf(-1)}},
			{{Name: "a", Prior: 1.01}},
			{{Name: "a", Prior: -0.01}},
			{{Name: "a"}, {Name: "b"}, {Name: "a"}},
			{{Name: "a\x00b"}},
			many,
		} {
			_, err := policy.Score(t.Context(), rank.Situation{}, cs)
			require.ErrorIs(t, err, rank.ErrCandidate, name)
		}
		ss, err := policy.Score(t.Context(), rank.Situation{}, []rank.Candidate{{}, {}, {Name: "a"}})
		require.NoError(t, err, "several may have no name")
		require.Len(t, ss, 3)
	}
}

func TestBasisOfAScore(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for i := range 5 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "known", Success: true}))
	}
	cs := []rank.Candidate{{Name: "known"}, {Name: "new"}}
	basis := func(p rank.Policy) map[string]rank.Basis {
		ss, err := p.Score(t.Context(), rank.Situation{}, cs)
		require.NoError(t, err)
		out := map[string]rank.Basis{}
		for _, s := range ss {
			out[s.Candidate.Name] = s.Parts.Basis
		}
		return out
	}
	require.Equal(t, map[string]rank.Basis{"known": rank.Warm, "new": rank.Cold}, basis(book.Observed()))
	require.Equal(t, map[string]rank.Basis{"known": rank.Drawn, "new": rank.Drawn}, basis(book.Weighted()))
	require.Equal(t, map[string]rank.Basis{"known": rank.Estimated, "new": rank.Estimated}, basis(book.Learned(nil)))
}

func TestObservedTies(t *testing.T) {
	t.Parallel()
	cs := []rank.Candidate{
		{Name: "far", Prior: 0.5, Blast: 3},
		{Name: "near", Prior: 0.5, Blast: 1},
		{Name: "near too", Prior: 0.5, Blast: 1},
		{Name: "claims more", Prior: 0.6, Blast: 4},
	}
	ss, err := open(t, store.NewMem(), nil).Observed().Score(t.Context(), rank.Situation{}, cs)
	require.NoError(t, err)
	var names []string
	for _, s := range ss {
		names = append(names, s.Candidate.Name)
	}
	require.Equal(t, []string{"claims more", "near", "near too", "far"}, names)
}

func TestManyCandidates(t *testing.T) {
	t.Parallel()
	cs := make([]rank.Candidate, 1000)
	for i := range cs {
		cs[i] = rank.Candidate{Name: fmt.Sprint(i), Prior: float64(i%100) / 100, Blast: i % 7}
	}
	ss, err := open(t, store.NewMem(), nil).Observed().Score(t.Context(), rank.Situation{}, cs)
	require.NoError(t, err)
	require.True(t, slices.IsSortedFunc(ss, func(a, b rank.Scored) int {
		switch {
		case a.Score != b.Score:
			return int(math.Copysign(1, b.Score-a.Score))
		default:
			return a.Candidate.Blast - b.Candidate.Blast
		}
	}))
}

// TestWeightedDraws checks over many situations, each with its own draw, that
// candidates come first, and come second after a given first, as often as
// their chances say. The draws are fixed by the seed.
func TestWeightedDraws(t *testing.T) {
	t.Parallel()
	const draws = 20_000
	book := open(t, store.NewMem(), nil)
	for i := range 10 {
		for name, successes := range map[string]int{"good": 10, "fair": 4, "bad": 0} {
			require.NoError(t, book.Observe(t.Context(), rank.Sample{
				Key: fmt.Sprint(name, i), Candidate: name, Success: i < successes,
			}))
		}
	}
	cs := []rank.Candidate{{Name: "good"}, {Name: "fair"}, {Name: "bad"}}
	chance := map[string]float64{}
	first, second := map[string]float64{}, map[string]float64{}
	for i := range draws {
		ss, err := book.Weighted().Score(t.Context(), rank.Situation{Key: fmt.Sprint(i)}, cs)
		require.NoError(t, err)
		for _, s := range ss {
			chance[s.Candidate.Name] = s.Parts.Chance
		}
		first[ss[0].Candidate.Name]++
		if ss[0].Candidate.Name == "good" {
			second[ss[1].Candidate.Name]++
		}
	}
	require.InDelta(t, 0.05/3, chance["bad"], 1e-12, "nothing is absorbed at zero")
	within := func(want, got, n float64) {
		t.Helper()
		require.InDelta(t, want, got/n, 4*math.Sqrt(want*(1-want)/n))
	}
	for name, c := range chance {
		within(c, first[name], draws)
	}
	within(chance["fair"]/(chance["fair"]+chance["bad"]), second["fair"], first["good"])
}

func TestWeightedRepeats(t *testing.T) {
	t.Parallel()
	cs := make([]rank.Candidate, 12)
	for i := range cs {
		cs[i].Name = fmt.Sprint("c", i)
	}
	order := func(book *rank.Book, s rank.Situation) []rank.Scored {
		ss, err := book.Weighted().Score(t.Context(), s, cs)
		require.NoError(t, err)
		return ss
	}
	st := store.NewMem()
	book := open(t, st, nil)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "c3"}))
	a := order(book, rank.Situation{Skill: "s", Key: "k"})
	require.Equal(t, a, order(book, rank.Situation{Skill: "s", Key: "k"}))
	require.NotEqual(t, a, order(book, rank.Situation{Skill: "s", Key: "l"}))
	require.NotEqual(t, a, order(book, rank.Situation{Skill: "sk", Key: ""}))
	require.NoError(t, book.Close())
	require.Equal(t, a, order(open(t, st, nil), rank.Situation{Skill: "s", Key: "k"}), "after a restart")
	other := open(t, st, &rank.Options{Now: clock(noon), Seed: 1})
	require.NotEqual(t, a, order(other, rank.Situation{Skill: "s", Key: "k"}), "with another seed")
	b := order(other, rank.Situation{Skill: "s", Key: "k"})
	moved := false
	for i := range 5 { // of unknown outcome: the weights stay, the draw does not
		require.NoError(t, other.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint("more", i), Candidate: "c5", Situation: rank.Situation{Skill: "s"}, Unknown: true,
		}))
		moved = moved || index(b, "c5") != index(order(other, rank.Situation{Skill: "s", Key: "k"}), "c5")
	}
	require.True(t, moved)
}

// TestPermutation: the order of the input changes nobody's score, nor the
// order of the result where there are no ties.
func TestPermutation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		book, err := rank.Open(t.Context(), store.NewMem(), &rank.Options{Now: clock(noon)})
		require.NoError(rt, err)
		cs := make([]rank.Candidate, rapid.IntRange(1, 40).Draw(rt, "candidates"))
		for i := range cs {
			cs[i] = rank.Candidate{Name: fmt.Sprint("c", i), Prior: rapid.Float64Range(0, 1).Draw(rt, "prior"), Blast: i}
			for j := range rapid.IntRange(0, 7).Draw(rt, "samples") {
				require.NoError(rt, book.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(i, "/", j), Candidate: cs[i].Name, Success: rapid.Bool().Draw(rt, "success"),
					CostUSD: rapid.Float64Range(0, 2).Draw(rt, "cost"),
				}))
			}
		}
		shuffled := rapid.Permutation(cs).Draw(rt, "order")
		for name, policy := range policies(book) {
			a, err := policy.Score(t.Context(), rank.Situation{}, cs)
			require.NoError(rt, err)
			b, err := policy.Score(t.Context(), rank.Situation{}, shuffled)
			require.NoError(rt, err)
			for i := range a { // a chance is a share of a sum, which rounds
				require.InDelta(rt, a[i].Parts.Chance, b[i].Parts.Chance, 1e-12)
				a[i].Parts.Chance, b[i].Parts.Chance = 0, 0
			}
			require.Equal(rt, a, b, name)
		}
		require.NoError(rt, book.Close())
	})
}

func TestExplainSaysWhatWasLost(t *testing.T) {
	t.Parallel()
	book, cs := crew(t, 3)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "new", Candidate: "newcomer", Unknown: true}))
	cs = append(cs,
		rank.Candidate{Name: "newcomer", Prior: 0.5},
		rank.Candidate{Name: "careless", Prior: 0.5, Blast: 4},
		rank.Candidate{Name: "modest", Prior: 0.2}, rank.Candidate{})
	ss, err := book.Observed().Score(t.Context(), rank.Situation{Skill: "build"}, cs)
	require.NoError(t, err)
	t.Log("\n" + rank.Explain(ss))
	require.Contains(t, rank.Explain(ss), "most of it wall time")
	require.Contains(t, rank.Explain(ss), "(unnamed)")

	ss, err = book.Observed().Score(t.Context(), rank.Situation{Skill: "other"}, cs[2:])
	require.NoError(t, err)
	text := rank.Explain(ss)
	t.Log("\n" + text)
	require.Contains(t, text, "later in the input")
	require.Contains(t, text, "larger blast")
	require.Contains(t, text, "0.3 behind the first")

	ss, err = book.Weighted().Score(t.Context(), rank.Situation{Skill: "build"}, cs)
	require.NoError(t, err)
	t.Log("\n" + rank.Explain(ss))
	require.Contains(t, rank.Explain(ss), "no outcome in the last day")
	require.Contains(t, rank.Explain(ss), "drawn after the first")
	require.Equal(t, "score 2 over 3 samples", rank.Scored{Score: 2, Samples: 3}.Reason())
}

// More candidates than have their samples in memory are ranked too, and a candidate
// with more skills than that has its health.
func TestMoreCandidatesThanMemoryHolds(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	const n = 5000
	cs := make([]rank.Candidate, n)
	for i := range cs {
		cs[i] = rank.Candidate{Name: fmt.Sprintf("c%04d", i), Prior: 0.5}
		require.NoError(t, book.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint(i), Candidate: cs[i].Name, Situation: rank.Situation{Skill: "work"}, Success: i%2 == 0,
		}))
		require.NoError(t, book.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint("x", i), Candidate: "all-rounder", Situation: rank.Situation{Skill: fmt.Sprint("skill", i)}, Success: i%5 == 0,
		}))
	}
	for name, policy := range policies(book) {
		ss, err := policy.Score(t.Context(), rank.Situation{Skill: "work"}, cs)
		require.NoError(t, err, name)
		require.Len(t, ss, n, name)
		again, err := policy.Score(t.Context(), rank.Situation{Skill: "work"}, cs)
		require.NoError(t, err, name)
		require.Equal(t, ss, again, name)
		if name == "weighted" {
			for _, s := range ss {
				require.Equal(t, 1, s.Parts.Known, s.Candidate.Name)
			}
		}
	}
	h, err := book.Health(t.Context(), "all-rounder")
	require.NoError(t, err)
	require.Equal(t, []any{n, n / 5}, []any{h.Known, h.Successes})
}

// TestCandidateNamedTwice has more candidates than a word has bits, so that some share one.
func TestCandidateNamedTwice(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	var all []rank.Candidate
	for i := range 80 {
		all = append(all, rank.Candidate{Name: fmt.Sprint("c", i)})
	}
	score := func(cs ...rank.Candidate) error {
		_, err := book.Observed().Score(t.Context(), rank.Situation{}, cs)
		return err
	}
	require.NoError(t, score(all...))
	require.NoError(t, score(all[0], all[64], rank.Candidate{}, all[1], all[65], rank.Candidate{}))
	for _, i := range []int{0, 64, 65} {
		require.ErrorIs(t, score(all[0], all[64], all[1], all[65], all[i]), rank.ErrCandidate)
	}
}

// The chances of Weighted are those with which candidates come first, of candidates
// without a name too.
func TestWeightedChancesHold(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for i := range 4 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "half", Success: i%2 == 0}))
	}
	cs := []rank.Candidate{{Blast: 1}, {Name: "half"}, {Blast: 2}, {Blast: 3}, {Name: "new"}}
	const n = 20_000
	first, chance, total := map[rank.Candidate]float64{}, map[rank.Candidate]float64{}, 0.0
	for i := range n {
		ss, err := book.Weighted().Score(t.Context(), rank.Situation{Key: fmt.Sprint(i)}, cs)
		require.NoError(t, err)
		first[ss[0].Candidate] += 1.0 / n
		for _, s := range ss {
			chance[s.Candidate] = s.Parts.Chance
		}
	}
	for _, c := range cs {
		total += chance[c]
		require.InDelta(t, chance[c], first[c], 4*math.Sqrt(0.25/n), "%+v", c)
	}
	require.InDelta(t, 1, total, 1e-12)
}

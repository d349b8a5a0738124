package rank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

var trio = []rank.Candidate{{Name: "strong", Prior: 0.5}, {Name: "twin", Prior: 0.5}, {Name: "cheap", Prior: 0.5}}

// climb has cheap and its twin solve easy tasks alone, strong also the hard ones,
// and strong asked for the hard ones only.
func climb(t *testing.T, st store.Store) *rank.Book {
	book := open(t, st, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	observe := func(i int, name string, ok bool, usd float64, failed ...string) {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint(i, name), Candidate: name, Success: ok, CostUSD: usd,
			Situation: rank.Situation{Skill: "solve", Failed: failed},
		}))
	}
	for i := range 300 {
		hard := rng.IntN(4) == 0
		observe(i, "cheap", !hard, 0.05)
		if hard {
			observe(i, "twin", false, 0.06, "cheap")
			observe(i, "strong", rng.IntN(10) > 0, 1, "cheap", "twin")
		}
	}
	return book
}

func TestLadderGoesByWhoHasFailed(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := climb(t, st)
	next := func(success float64, failed ...string) []rank.Scored {
		ss, err := book.Learned(nil).Score(t.Context(), rank.Situation{
			Skill: "solve", Failed: failed, Worth: rank.Worth{Success: success},
		}, trio)
		require.NoError(t, err)
		return ss
	}
	first := next(3)
	require.Equal(t, "cheap", first[0].Candidate.Name)
	require.Equal(t, rank.Priced, first[0].Parts.Basis)
	second := next(3, "cheap")
	require.Equal(t, "strong", second[0].Candidate.Name, "the twin fails where cheap does")
	require.Greater(t, second[0].Parts.Success, 0.5, "it was asked for hard tasks only")
	require.LessOrEqual(t, next(0.5, "cheap", "twin")[0].Score, 0.0, "not worth its price")
	require.NoError(t, book.Close())
	book = open(t, st, nil)
	require.Equal(t, second, next(3, "cheap"), "and after a restart")
	_, err := book.Learned(nil).Score(t.Context(), rank.Situation{Worth: rank.Worth{Success: -1}}, trio)
	require.ErrorIs(t, err, rank.ErrSituation)
}

func TestPurse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rank.Purse{
			Each: rapid.Float64Range(0.01, 10).Draw(t, "each"), Tasks: rapid.IntRange(1, 1000).Draw(t, "tasks"),
			Spent: rapid.Float64Range(0, 1e4).Draw(t, "spent"),
		}
		richer := p
		richer.Spent *= 0.5
		require.GreaterOrEqual(t, richer.Worth(rank.Worth{}).Success, p.Worth(rank.Worth{}).Success)
		require.LessOrEqual(t, p.Worth(rank.Worth{Success: 1}).Success, 1.0)
		price := rapid.Float64Range(0, 100).Draw(t, "price")
		require.True(t, !p.Affords(0, price) || richer.Affords(0, price))
		require.True(t, !p.Affords(0, price) || p.Affords(0, price/2))
		require.True(t, p.Affords(0, 0), "what is free is always affordable")
	})
}

// Candidates that the draw might swap are ordered by their blast.
func TestSmallerBlastFirst(t *testing.T) {
	t.Parallel()
	cs := []rank.Candidate{{Name: "wide", Prior: 0.5, Blast: 4}, {Name: "narrow", Prior: 0.5}}
	for seed := range uint64(200) {
		book := open(t, store.NewMem(), &rank.Options{Now: clock(noon), Seed: seed})
		ss, err := book.Learned(nil).Score(t.Context(), rank.Situation{}, cs)
		require.NoError(t, err)
		require.Equal(t, "narrow", ss[0].Candidate.Name)
	}
}

// However deep in debt a purse is, a success has a price: without one the ladder would
// spend what it likes.
func TestPurseInDebtHasAPrice(t *testing.T) {
	t.Parallel()
	for _, spent := range []float64{0, 1, 1e3, 1e6, rank.MaxCostUSD} {
		w := rank.Purse{Each: 0.001, Tasks: 3, Spent: spent}.Worth(rank.Worth{Second: 0.01})
		require.Positive(t, w.Success, "spent %v", spent)
		require.Equal(t, 0.01, w.Second)
	}
}

// A candidate of which nothing is rated is the same as one that is not known.
func TestUnratedCandidateFailsLikeAnUnknownOne(t *testing.T) {
	t.Parallel()
	order := func(unknown bool) []rank.Scored {
		book := open(t, store.NewMem(), nil)
		observe := func(key, name string, s rank.Sample) {
			s.Key, s.Candidate = key, name
			require.NoError(t, book.Observe(t.Context(), s))
		}
		observe("1", "known", rank.Sample{Success: true})
		if unknown {
			observe("2", "mute", rank.Sample{Unknown: true})
		}
		ss, err := book.Learned(nil).Score(t.Context(),
			rank.Situation{Failed: []string{"mute"}, Worth: rank.Worth{Success: 1}}, []rank.Candidate{{Name: "known"}})
		require.NoError(t, err)
		return ss
	}
	require.Equal(t, order(false), order(true))
}

// A Worth beyond all money is refused, so that no score is infinite.
func TestScoresUnderAPriceAreNumbers(t *testing.T) {
	t.Parallel()
	book := climb(t, store.NewMem())
	require.NoError(t, book.Observe(t.Context(), rank.Sample{
		Key: "slow", Candidate: "cheap", Situation: rank.Situation{Skill: "solve"}, Wall: rank.MaxWall,
	}))
	rapid.Check(t, func(rt *rapid.T) {
		money := rapid.OneOf(rapid.Float64Min(0), rapid.Float64Range(0, 10), rapid.SampledFrom([]float64{math.MaxFloat64, 1e300, 1e30}))
		s := rank.Situation{Skill: "solve", Worth: rank.Worth{Success: money.Draw(rt, "success"), Second: money.Draw(rt, "second")}}
		s.Failed = rapid.SliceOfN(rapid.SampledFrom([]string{"cheap", "twin", "strong", "other"}), 0, 300).Draw(rt, "failed")
		ss, err := book.Learned(nil).Score(ctx(t), s, trio)
		if err != nil {
			require.ErrorIs(rt, err, rank.ErrSituation)
			require.Greater(rt, max(s.Worth.Success, s.Worth.Second), 1e12)
			return
		}
		for _, x := range ss {
			require.False(rt, math.IsNaN(x.Score) || math.IsInf(x.Score, 0), "%+v", x)
			require.True(rt, x.Parts.Success >= 0 && x.Parts.Success <= 1, "%+v", x)
		}
	})
}

// A larger blast is no reason never to be tried: the best of eight is found, though its
// blast is the largest and each situation a new one.
func TestLargerBlastIsTried(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		book := open(t, store.NewMem(), &rank.Options{Now: clock(noon), Seed: seed})
		rng := rand.New(rand.NewPCG(seed, 1))
		cs := []rank.Candidate{{Name: "wide", Prior: 0.5, Blast: 3}}
		for i := range 7 {
			cs = append(cs, rank.Candidate{Name: fmt.Sprint("narrow", i), Prior: 0.5})
		}
		wide := 0
		for i := range 500 {
			s := rank.Situation{Key: fmt.Sprint(i)}
			ss, err := book.Learned(nil).Score(t.Context(), s, cs)
			require.NoError(t, err)
			name := ss[0].Candidate.Name
			if name == "wide" {
				wide++
			}
			require.NoError(t, book.Observe(t.Context(), rank.Sample{
				Key: fmt.Sprint(i), Candidate: name, Situation: s, Success: name == "wide" || rng.IntN(2) == 0,
			}))
		}
		require.Greater(t, wide, 250, "seed %d", seed)
	}
}

// A task at which a strong candidate has failed again and again is a hard one, however
// often that was.
func TestManyFailuresLeaveAChance(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for i := range 20_000 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "strong", Success: true}))
	}
	ss, err := book.Learned(nil).Score(t.Context(),
		rank.Situation{Failed: slices.Repeat([]string{"strong"}, 5000), Worth: rank.Worth{Success: 1}}, trio[1:])
	require.NoError(t, err)
	require.Positive(t, ss[0].Parts.Success)
}

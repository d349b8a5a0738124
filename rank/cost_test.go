package rank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// The interval holds the true cost per success about as often as it says, for
// costs of several shapes, failures that cost more or less than successes, rates
// from rare to usual, and few attempts to many.
func TestCostPerSuccessIsCovered(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	priced := func(success, failure float64) func(bool) float64 {
		return func(ok bool) float64 {
			if ok {
				return success * r.ExpFloat64()
			}
			return failure * r.ExpFloat64()
		}
	}
	for _, c := range []struct {
		name             string
		draw             func(success bool) float64
		success, failure float64 // mean costs
	}{
		{"constant", func(bool) float64 { return 1 }, 1, 1},
		{"uniform", func(bool) float64 { return r.Float64() }, 0.5, 0.5},
		{"lognormal", func(bool) float64 { return math.Exp(r.NormFloat64()) }, math.Exp(0.5), math.Exp(0.5)},
		{"exponential", priced(1, 1), 1, 1},
		{"failures are dear", priced(1, 3), 1, 3},
		{"failures are cheap", priced(3, 1), 3, 1},
	} {
		for _, n := range []int{10, 20, 50, 200} {
			for _, p := range []float64{0.1, 0.3, 0.5, 0.8, 0.95} {
				rare := float64(n) * min(p, 1-p) // whichever is expected less often
				if float64(n)*p < 2 {
					continue
				}
				truth := (p*c.success + (1-p)*c.failure) / p
				const trials = 10_000
				covered := 0
				for range trials {
					var all rank.Costs
					for range n {
						ok := r.Float64() < p
						all.Add(&rank.Sample{Success: ok, CostUSD: c.draw(ok)})
					}
					price := all.PerSuccess()
					if price.Low <= truth && (price.High == 0 || truth <= price.High) {
						covered++
					}
				}
				rate := float64(covered) / trials
				require.GreaterOrEqual(t, rate, 0.88, "%s, %d attempts, rate %v", c.name, n, p)
				if rare >= 3 { // else few values are possible, and the interval is wider than it needs to be
					require.GreaterOrEqual(t, rate, 0.90, "%s, %d attempts, rate %v", c.name, n, p)
					require.LessOrEqual(t, rate, 0.98, "%s, %d attempts, rate %v", c.name, n, p)
				}
			}
		}
	}
}

func TestCostPerSuccess(t *testing.T) {
	t.Parallel()
	of := func(ss ...rank.Sample) rank.Price {
		var c rank.Costs
		for i := range ss {
			c.Add(&ss[i])
		}
		return c.PerSuccess()
	}
	require.Zero(t, of())
	require.Zero(t, of(rank.Sample{Success: true}, rank.Sample{}), "nothing was paid for")

	none := of(rank.Sample{CostUSD: 1}, rank.Sample{CostUSD: 3})
	require.Zero(t, none.USD, "there is no success")
	require.Positive(t, none.Low, "but it will not be free")
	require.Zero(t, none.High)
	require.Equal(t, "no success (95 %: $1.1 or more)", none.String())

	failed, done := rank.Sample{CostUSD: 0.5}, rank.Sample{Success: true, CostUSD: 1}
	some := of(done, done, done, failed, failed, done, done, done)
	require.InDelta(t, 7.0/6, some.USD, 1e-9, "failures are paid for by successes")
	require.Less(t, some.Low, some.USD)
	require.Greater(t, some.High, some.USD)

	unknown := rank.Sample{Unknown: true, Success: true, CostUSD: 1}
	require.InDelta(t, 2, of(done, unknown).USD, 1e-9, "what is not known to be a success is none")
	require.InDelta(t, 18, of(rank.Sample{Success: true, TokensIn: 1e6, TokensOut: 1e6}).USD, 1e-9)
}

func TestExplainTellsThePrice(t *testing.T) {
	t.Parallel()
	b, err := rank.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer b.Close()
	for i := range 20 {
		s := rank.Sample{Key: fmt.Sprint(i), Candidate: "dear", Situation: rank.Situation{Skill: "sum"}, Success: i%2 == 0, CostUSD: 0.3}
		require.NoError(t, b.Observe(t.Context(), s))
		s.Key, s.Situation.Skill, s.CostUSD = s.Key+"/other", "other", 9
		require.NoError(t, b.Observe(t.Context(), s))
	}
	cs := []rank.Candidate{{Name: "dear"}, {Name: "new"}}
	ss, err := b.Observed().Score(t.Context(), rank.Situation{Skill: "sum"}, cs)
	require.NoError(t, err)
	require.NotContains(t, rank.Explain(ss), "$")
	require.NoError(t, b.Price(t.Context(), "sum", ss))
	require.Nil(t, ss[1].Price)
	require.Contains(t, rank.Explain(ss), "$0.6 a success (95 %: $0.43 to $1)")
}

// A ladder is not in the order of its scores: who comes later may be worth as much or more by itself.
func TestExplainOfALadder(t *testing.T) {
	t.Parallel()
	ss, err := climb(t, store.NewMem()).Learned(nil).Score(t.Context(), rank.Situation{Skill: "solve", Worth: rank.Worth{Success: 3}}, trio)
	require.NoError(t, err)
	require.Equal(t, rank.Priced, ss[0].Parts.Basis)
	lines := strings.Split(rank.Explain(ss), "\n")
	require.Regexp(t, `^1\. cheap .*: chance 0\.\d+ at 0\.0\d+ USD an attempt, worth \d+\.\d+ USD by itself$`, lines[0])
	require.Regexp(t, `USD by itself; 0\.\d+ behind the first$`, lines[2])
	ss[1].Score = ss[0].Score + 1
	require.Regexp(t, "; worth more after the first than before it\n", rank.Explain(ss))
}

// The price of a success lies in its interval, which is positive.
func TestPriceLiesInItsInterval(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c rank.Costs
		usd := rapid.OneOf(rapid.Float64Range(0, 10), rapid.Float64Range(0, rank.MaxCostUSD), rapid.SampledFrom([]float64{0, 1, 1e-9}))
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			c.Add(&rank.Sample{Success: rapid.Bool().Draw(t, "success"), CostUSD: usd.Draw(t, "usd")})
		}
		p := c.PerSuccess()
		for _, f := range []float64{p.USD, p.Low, p.High} {
			require.True(t, f >= 0 && !math.IsInf(f, 0), "%+v", p)
		}
		if p.High > 0 {
			require.LessOrEqual(t, p.Low, p.High)
		}
	})
}

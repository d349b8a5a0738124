package rank_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func open(t testing.TB, st store.Store, now func() time.Time, seed uint64) *rank.Book {
	b, err := rank.Open(context.Background(), store.NewGroup(st), now, seed, nil)
	require.NoError(t, err)
	return b
}

// learner is a Book with its candidates and clock.
type learner struct {
	t     *testing.T
	book  *rank.Book
	cs    []rank.Candidate
	clock time.Time
}

func newLearner(t *testing.T, k int, seed uint64) *learner {
	l := &learner{t: t, clock: time.Unix(1_700_000_000, 0)}
	l.book = open(t, store.NewMem(), func() time.Time { return l.clock }, seed)
	for i := range k {
		l.cs = append(l.cs, rank.Candidate{Name: fmt.Sprint("c", i)})
	}
	return l
}

// stream serves tasks with three models, and calls change before each.
func stream(t *testing.T, average float64, tasks int, change func(i int, l *learner, success []float64)) (prices []float64, chosen []int) {
	l := newLearner(t, 3, 1)
	success := []float64{.55, .75, .9}
	l.cs[0].Price, l.cs[1].Price, l.cs[2].Price = .001, .01, .06
	p, err := l.book.Pacer("tickets", average)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range tasks {
		if change != nil {
			change(i, l, success)
		}
		task := rank.Task{Skill: "s", Key: strconv.Itoa(i % 3)}
		s, err := p.Learned().Score(context.Background(), task, l.cs)
		require.NoError(t, err)
		j, err := strconv.Atoi(s[0].Name[1:])
		require.NoError(t, err)
		out, p1 := rank.Failed, success[min(j, 2)]
		if rng.Float64() < p1 {
			out = rank.Delivered
		}
		usd := s[0].Price * (.5 + rng.Float64()) // what is paid differs from what was expected
		require.NoError(t, p.Observe(context.Background(), rank.Sample{Candidate: s[0].Name, Task: task, Outcome: out, Usage: rank.Usage{CostUSD: &usd}, At: l.clock}))
		prices, chosen = append(prices, usd), append(chosen, j)
	}
	return prices, chosen
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}

func TestPacerKeepsTheAverage(t *testing.T) {
	for _, average := range []float64{.002, .006, .012, .025, .05} {
		prices, _ := stream(t, average, 2000, nil)
		require.InEpsilon(t, average, mean(prices), .005, "average price of %v", average)
	}
}

func TestPacerTakesUpAPriceCut(t *testing.T) {
	_, chosen := stream(t, .01, 1200, func(i int, l *learner, _ []float64) {
		if i == 1000 {
			l.cs[2].Price = .008
		}
	})
	share := 0.0
	for _, c := range chosen[1100:] {
		if c == 2 {
			share += .01
		}
	}
	require.Greater(t, share, .6, "of the second hundred after the cut")
}

func TestPacerTakesUpANewCandidate(t *testing.T) {
	_, chosen := stream(t, .01, 1200, func(i int, l *learner, success []float64) {
		if i == 1000 {
			success[2] = .95
			l.cs = append(l.cs[:2:2], rank.Candidate{Name: "c3", Price: .009})
		}
	})
	share := 0.0
	for _, c := range chosen[1100:] {
		if c == 3 {
			share += .01
		}
	}
	require.Greater(t, share, .8, "of the second hundred after it came")
}

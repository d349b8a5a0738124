package rank_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// firstTries returns how many candidates are tried, in the order of Learned,
// until one delivers in each of ten situations that come up three times each.
func firstTries(t *testing.T, seed uint64, delivers func(candidate, situation int) bool) (tries []int) {
	t.Helper()
	b := open(t, store.NewMem(), &rank.Options{Seed: seed})
	var cs []rank.Candidate
	for i := range 10 {
		cs = append(cs, rank.Candidate{Name: fmt.Sprint("c", i), Prior: 0.5})
	}
	n := 0
	for sit := range 10 {
		for range 3 {
			s := rank.Situation{Key: fmt.Sprint("s", sit)}
			left, tried := slices.Clone(cs), 0
			for done := false; !done && len(left) > 0; {
				order, err := b.Learned(nil).Score(t.Context(), s, left)
				require.NoError(t, err)
				next := order[0].Candidate
				i := slices.Index(cs, next)
				done = delivers(i, sit)
				tried, n = tried+1, n+1
				require.NoError(t, b.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(n), Candidate: next.Name, Situation: s, Success: done}))
				left = slices.DeleteFunc(left, func(c rank.Candidate) bool { return c == next })
			}
			tries = append(tries, tried)
		}
	}
	return tries
}

// Where each candidate is there for one kind of situation, those that have
// delivered elsewhere are tried last in a new one; where some are good
// everywhere, they are tried first. Both are learned.
func TestLearnedTransfers(t *testing.T) {
	t.Parallel()
	var specialists, generalists, again float64
	const seeds = 30
	for seed := range uint64(seeds) {
		of := rand.New(rand.NewPCG(seed, 5)).Perm(10)
		tries := firstTries(t, seed+1, func(c, s int) bool { return of[s] == c })
		for s := 5; s < 10; s++ {
			specialists += float64(tries[3*s]) / (5 * seeds)
			again += float64(tries[3*s+2]) / (5 * seeds)
		}
		tries = firstTries(t, seed+1, func(c, _ int) bool { return c == of[0] || c == of[1] })
		for s := 5; s < 10; s++ {
			generalists += float64(tries[3*s]) / (5 * seeds)
		}
	}
	t.Logf("specialists %.2f, the third time %.2f; generalists %.2f", specialists, again, generalists)
	require.Less(t, specialists, 2.3, "at random it takes 5.5, by elimination 2")
	require.Less(t, again, 1.3)
	require.Less(t, generalists, 1.3)
}

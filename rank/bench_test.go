package rank_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// crew returns a Book in which n candidates have 20 samples each, and them.
func crew(tb testing.TB, n int) (*rank.Book, []rank.Candidate) {
	tb.Helper()
	book := open(tb, store.NewMem(), nil)
	cs := make([]rank.Candidate, n)
	for i := range cs {
		cs[i] = rank.Candidate{Name: fmt.Sprintf("candidate-%02d", i), Prior: 0.5}
		for j := range 20 {
			confidence := float64(j) / 20
			require.NoError(tb, book.Observe(tb.Context(), rank.Sample{
				Key:       fmt.Sprintf("%d/%d", i, j),
				Candidate: cs[i].Name, Situation: rank.Situation{Skill: "build"},
				Success: (i*7+j)%5 != 0, Confidence: &confidence, Wall: time.Duration(i+1) * time.Second, CostUSD: 0.01,
			}))
		}
	}
	return book, cs
}

func BenchmarkScore(b *testing.B) {
	for _, n := range []int{4, 16, 64} {
		book, cs := crew(b, n)
		s := rank.Situation{Skill: "build"}
		for _, p := range []struct {
			name   string
			policy rank.Policy
		}{{"observed", book.Observed()}, {"weighted", book.Weighted()}, {"learned", book.Learned(nil)}} {
			b.Run(fmt.Sprintf("%s/n=%d", p.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.policy.Score(b.Context(), s, cs); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	book := open(b, store.NewMem(), nil)
	ctx := context.Background()
	keys := 0
	confidence := 0.9
	b.ReportAllocs()
	for b.Loop() {
		keys++
		err := book.Observe(ctx, rank.Sample{
			Key: fmt.Sprintf("run/%d", keys), Candidate: "c", Situation: rank.Situation{Skill: "build", Key: "go"},
			Success: true, Confidence: &confidence, Wall: time.Second, CostUSD: 0.01, TokensIn: 1200, TokensOut: 300,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScoreInContext scores 16 candidates by key and features: with 32
// keys, and 256 points of 8 features that lie about at random.
func BenchmarkScoreInContext(b *testing.B) {
	book, cs := crew(b, 16)
	rng := rand.New(rand.NewPCG(1, 1))
	var s rank.Situation
	for i := range 1024 {
		if i%4 == 0 {
			s = rank.Situation{Skill: "build", Key: fmt.Sprint(i % 32), Features: make([]float64, 8)}
			for j := range s.Features {
				s.Features[j] = rng.NormFloat64()
			}
		}
		require.NoError(b, book.Observe(b.Context(), rank.Sample{
			Key: fmt.Sprint(i), Candidate: cs[i%16].Name, Situation: s, Success: i%3 == 0,
		}))
	}
	byKey := s
	byKey.Features = nil
	for name, s := range map[string]rank.Situation{"key": byKey, "features": s} {
		b.Run(name, func(b *testing.B) {
			learned := book.Learned(nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := learned.Score(b.Context(), s, cs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCrowd scores 10⁵ candidates: all new to the Book, and once they are
// known.
func BenchmarkCrowd(b *testing.B) {
	cs := make([]rank.Candidate, 100_000)
	for i := range cs {
		cs[i] = rank.Candidate{Name: fmt.Sprint("candidate-", i), Prior: float64(i%100) / 100}
	}
	s := rank.Situation{Skill: "build"}
	for name, policy := range map[string]func(*rank.Book) rank.Policy{
		"observed": (*rank.Book).Observed,
		"learned":  func(b *rank.Book) rank.Policy { return b.Learned(nil) },
	} {
		b.Run(name+"/new", func(b *testing.B) {
			for b.Loop() {
				book, err := rank.Open(b.Context(), store.NewMem(), nil)
				require.NoError(b, err)
				_, err = policy(book).Score(b.Context(), s, cs)
				require.NoError(b, err)
				require.NoError(b, book.Close())
			}
		})
		b.Run(name+"/known", func(b *testing.B) {
			book := open(b, store.NewMem(), nil)
			for b.Loop() {
				_, err := policy(book).Score(b.Context(), s, cs)
				require.NoError(b, err)
			}
		})
	}
}

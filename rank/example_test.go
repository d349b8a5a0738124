package rank_test

import (
	"context"
	"fmt"
	"time"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// observed returns a Book in which «tidy» always worked for the skill
// «format», and «rewrite», which is slower, three times out of five.
func observed(ctx context.Context) *rank.Book {
	book, err := rank.Open(ctx, store.NewMem(), nil)
	if err != nil {
		panic(err)
	}
	for i := range 5 {
		for _, s := range []rank.Sample{
			{Candidate: "tidy", Success: true, Wall: 3 * time.Second},
			{Candidate: "rewrite", Success: i < 3, Wall: 30 * time.Second, CostUSD: 0.25},
		} {
			s.Key = fmt.Sprint(s.Candidate, i)
			s.Situation.Skill = "format"
			if err := book.Observe(ctx, s); err != nil {
				panic(err)
			}
		}
	}
	return book
}

// A candidate that was seen to work comes before one that says it would.
func Example() {
	ctx := context.Background()
	book := observed(ctx)
	defer book.Close()
	cards := []rank.Candidate{
		{Name: "newcomer", Prior: 0.9, Blast: 1},
		{Name: "rewrite", Prior: 0.8},
		{Name: "tidy", Prior: 0.5},
	}
	ss, err := book.Observed().Score(ctx, rank.Situation{Skill: "format"}, cards)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(rank.Explain(ss))
	// Output:
	// 1. tidy 1.985: 5 of 5 outcomes known: success +2, confidence +0, wall time -0.015
	// 2. rewrite 1.05: 5 of 5 outcomes known: success +1.2, confidence +0, wall time -0.15; 0.935 behind the first, most of it success
	// 3. newcomer 0.9: the card's prior 0.9, with 0 of the 5 known outcomes that trust takes; 1.085 behind the first
}

// The weight of a candidate falls with the cost of its successes; no candidate
// is ever without a chance.
func ExampleBook_Weighted() {
	ctx := context.Background()
	book := observed(ctx)
	defer book.Close()
	cards := []rank.Candidate{{Name: "tidy"}, {Name: "rewrite"}}
	ss, err := book.Weighted().Score(ctx, rank.Situation{Skill: "format", Key: "web"}, cards)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range ss {
		fmt.Printf("%s: weight %.3f, %s\n", s.Candidate.Name, s.Score, s.Reason())
	}
	// Output:
	// tidy: weight 1.000, success rate 1 and 0 USD a success in the last day, first with chance 0.6924
	// rewrite: weight 0.424, success rate 0.6 and 0.4167 USD a success in the last day, first with chance 0.3076
}

func ExampleBook_Stats() {
	ctx := context.Background()
	book := observed(ctx)
	defer book.Close()
	s, err := book.Stats(ctx, "rewrite", "format")
	fmt.Println(s.Samples, s.SuccessRate, s.Wall, s.CostUSD, err)
	// Output: 5 0.6 30s 0.25 <nil>
}

// A host's own rule is a policy too.
func ExamplePolicyFunc() {
	var cautious rank.Policy = rank.PolicyFunc(
		func(_ context.Context, _ rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
			if len(cs) == 0 {
				return nil, rank.ErrNoCandidate
			}
			best := cs[0]
			for _, c := range cs {
				if c.Blast < best.Blast {
					best = c
				}
			}
			return []rank.Scored{{Candidate: best, Score: 1}}, nil
		})
	ss, err := cautious.Score(context.Background(), rank.Situation{}, []rank.Candidate{
		{Name: "deploy", Blast: 4}, {Name: "dry run"},
	})
	fmt.Println(ss[0].Candidate.Name, ss[0].Reason(), err)
	// Output: dry run score 1 over 0 samples <nil>
}

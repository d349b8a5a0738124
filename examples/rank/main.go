// Rank asks three policies who should take a step, and why not the others.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func main() {
	ctx := context.Background()
	book, err := rank.Open(ctx, store.NewMem(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer book.Close()
	if err := remember(ctx, book); err != nil {
		log.Fatal(err)
	}
	// Newcomer has done nothing yet, but its card promises everything.
	cards := []rank.Candidate{{Name: "newcomer", Prior: 1}, {Name: "quick", Prior: 0.5}, {Name: "thorough", Prior: 0.5}}
	for _, p := range []struct {
		name   string
		policy rank.Policy
	}{
		{"observed", book.Observed()},
		{"learned", book.Learned(&rank.LearnedOptions{Greedy: true})}, // no draws, to read it
	} {
		for _, key := range []string{"typo", "redesign"} {
			ss, err := p.policy.Score(ctx, rank.Situation{Skill: "edit", Key: key}, cards)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s, for a %s:\n%s\n", p.name, key, rank.Explain(ss))
		}
	}
}

// remember observes 60 edits: quick is good at typos, and thorough at
// everything, if it is given time.
func remember(ctx context.Context, book *rank.Book) error {
	for i := range 60 {
		key := []string{"typo", "redesign"}[i%2]
		for _, s := range []rank.Sample{
			{Candidate: "quick", Success: key == "typo" || i%10 == 1, Wall: 2 * time.Second},
			{Candidate: "thorough", Success: i%6 != 0, Wall: 90 * time.Second},
		} {
			s.Key = fmt.Sprintf("edit-%d/%s", i, s.Candidate)
			s.Situation = rank.Situation{Skill: "edit", Key: key}
			if err := book.Observe(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

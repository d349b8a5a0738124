// Rank asks two policies which worker should take a step, and why not another.
//
//	go run ./examples/rank
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// cards are the candidates. Newcomer has done nothing yet, but its card
// promises everything.
var cards = []rank.Candidate{
	{Name: "newcomer", Prior: 1}, {Name: "quick", Prior: 0.5}, {Name: "thorough", Prior: 0.5},
}

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
	fmt.Println("Sixty edits were observed, every other one a redesign.")
	for _, name := range []string{"quick", "thorough"} {
		s, err := book.Stats(ctx, name, "edit")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("  %-9s delivered %2.0f %%, in %2.0f s each\n", name, 100*s.SuccessRate, s.Wall.Seconds())
	}
	fmt.Println("  newcomer  was never tried; its card claims 1.00")

	learned := book.Learned(&rank.LearnedOptions{Greedy: true}) // without draws of chance
	typo, redesign := rank.Situation{Skill: "edit", Key: "typo"}, rank.Situation{Skill: "edit", Key: "redesign"}
	show(ctx, "Observed sums up the last 200 samples, for any edit:", book.Observed(), typo)
	show(ctx, "Learned estimates what a candidate is worth, for a typo:", learned, typo)
	show(ctx, "and for a redesign:", learned, redesign)
}

// show prints the order of a policy with the parts of each score.
func show(ctx context.Context, title string, p rank.Policy, s rank.Situation) {
	order, err := p.Score(ctx, s, cards)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("\n%s\n", title)
	for i, c := range order {
		fmt.Printf("  %d. %-9s %.2f = %s\n", i+1, c.Candidate.Name, c.Score, parts(c.Parts))
	}
}

// parts says what a score is the sum of. Scored.Reason has more digits.
func parts(p rank.Parts) string {
	switch p.Basis {
	case rank.Warm:
		return fmt.Sprintf("success %+.2f, confidence %+.2f, wall time %+.2f", p.Success, p.Confidence, p.Wall)
	case rank.Estimated:
		return fmt.Sprintf("anywhere %.2f (%d samples), in this situation %+.2f", p.Mean, p.Known, p.Context)
	}
	return fmt.Sprintf("its card %.2f, trusted until 5 outcomes are known", p.Prior)
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

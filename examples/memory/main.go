// Memory keeps facts, a rule and an experience, and finds them again: by words, by a day, by what holds now.
//
//	go run ./examples/memory
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

func main() {
	ctx := context.Background()
	now := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	// store.NewMem keeps nothing after the program; store/badger.Open keeps a directory.
	group := store.NewGroup(store.NewMem()) // badger.Open has a store that stays
	bank, err := memory.Open(ctx, group, &memory.Options{Now: func() time.Time { return now }})
	check(err)
	defer bank.Close()
	ann := bank.In("acme/ann") // a tenant and a user: nothing of another scope is found here

	// Of two facts in one slot the later one holds.
	january, february := now.AddDate(0, -2, 0), now.AddDate(0, -1, 0)
	all, err := ann.RememberAll(ctx, []memory.Draft{
		{Kind: memory.Fact, Slot: "budget", Content: "Ann's budget is 500 euros.", At: january},
		{Kind: memory.Fact, Slot: "budget", Content: "Ann's budget went up to 800 euros.", At: february},
		{Kind: memory.Episode, Content: "In the standup we decided to ship on Friday.", At: now.AddDate(0, 0, -4)},
		{Kind: memory.Rule, Trigger: "invoice", Content: "Invoices go to billing@example.com, never to Ann."},
		{Kind: memory.Pattern, Trigger: "the build is red", Content: "Look at the cache first: it was full twice."},
	})
	check(err)

	for _, question := range []string{
		"What is Ann's budget?",
		"What did we decide on March 6?",
		"Please send the invoice.",
		"The build is red again.",
	} {
		fmt.Println(question)
		hits, err := ann.Recall(ctx, memory.Query{Text: question, K: 2, Floor: .2})
		check(err)
		for _, h := range hits {
			fmt.Printf("  %.2f %-8s %s\n", h.Score, h.Record.Kind, h.Content)
		}
	}

	// What helped is ranked higher the next time, what misled lower.
	hits, err := ann.Recall(ctx, memory.Query{Text: "red build"})
	check(err)
	found := []memory.ID{hits[0].ID}
	check(ann.Feedback(ctx, memory.Feedback{Key: "run/7", Shown: found, Utilized: found}))

	// Why is the former budget not among the hits? A later fact in its slot has replaced it.
	why, err := ann.Explain(ctx, memory.Query{Text: "What is Ann's budget?"}, all[0].ID)
	check(err)
	fmt.Println("the 500 euros:", why)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

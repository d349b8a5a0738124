// Memory keeps a conversation and finds in it what holds now, what held then,
// and that it does not know.
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
	day := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 9, 0, 0, 0, time.UTC) }
	now := day(time.November, 21)
	bank, err := memory.Open(ctx, store.NewMem(), &memory.Options{Now: func() time.Time { return now }, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer bank.Close()
	space := bank.In("acme/alice")
	said := func(at time.Time, thread, actor, text string) memory.Draft {
		return memory.Draft{Kind: memory.Episode, At: at, Thread: thread, Actor: actor, Content: text}
	}
	home := func(d memory.Draft, city string) memory.Draft {
		d.Slot = memory.Slot{Subject: "Alice", Attribute: "home", Value: city}
		return d
	}
	kept, err := space.RememberAll(ctx, []memory.Draft{
		home(said(day(time.March, 2), "spring", "Alice", "I live in Paris."), "Paris"),
		said(day(time.March, 2), "spring", "Bob", "What do you do about the noise?"),
		said(day(time.March, 2), "spring", "Alice", "I sleep with earplugs."),
		home(said(day(time.September, 9), "autumn", "Alice", "I moved to Berlin."), "Berlin"),
		{Kind: memory.Fact, At: day(time.May, 4), Content: "The release goes out on Tuesdays."},
		{Kind: memory.Fact, At: day(time.June, 1), Content: "The door code is kept by the porter."},
	})
	if err != nil {
		log.Fatal(err)
	}
	ask := func(q memory.Query) {
		q.K, q.Floor = 1, 0.3
		hits, err := space.Recall(ctx, q)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(q.Text)
		if !q.At.IsZero() {
			fmt.Print(" As of ", q.At.Format("January"), ".")
		}
		fmt.Println()
		for _, h := range hits {
			fmt.Printf("  %s (relevance %.2f)\n", h.Record.Content, h.Parts.Relevance)
			if h.Superseded != nil {
				fmt.Println("  no longer:", h.Superseded.Content)
			}
		}
		if len(hits) == 0 {
			fmt.Println("  not known")
		}
	}
	ask(memory.Query{Text: "Where does Alice live?"})
	ask(memory.Query{Text: "Where does Alice live?", At: day(time.July, 1)})
	ask(memory.Query{Text: "How does Alice cope with noise?"})
	ask(memory.Query{Text: "Who won the chess tournament?"})

	why, err := space.Explain(ctx, memory.Query{Text: "Where does Alice live?"}, kept[0].ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Why not Paris?\n  %s\n", why.Reason)
}

package rank_test

import (
	"context"
	"fmt"
	"time"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func Example() {
	ctx, now := context.Background(), time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC)
	book, err := rank.Open(ctx, store.NewGroup(store.NewMem()), func() time.Time { return now }, 0, nil)
	if err != nil {
		panic(err)
	}
	task := rank.Task{Skill: "triage", Key: "billing"}
	outcomes := map[string][]rank.Outcome{
		"small": {rank.Delivered, rank.Failed, rank.Failed, rank.Delivered, rank.Failed, rank.Failed},
		"large": {rank.Delivered, rank.Delivered, rank.Away, rank.Delivered, rank.Delivered, rank.Delivered},
	}
	usd := .01
	for _, name := range []string{"small", "large"} {
		for i, o := range outcomes[name] {
			s := rank.Sample{Run: fmt.Sprint("ticket/", i), Candidate: name, Task: task, Outcome: o, Wall: 2 * time.Second, Usage: rank.Usage{CostUSD: &usd}}
			if err := book.Observe(ctx, s); err != nil {
				panic(err)
			}
		}
	}
	// A person finds that a delivery was wrong: the same Run corrects it.
	if err := book.Observe(ctx, rank.Sample{Run: "ticket/3", Candidate: "small", Task: task, Outcome: rank.Failed, Usage: rank.Usage{CostUSD: &usd}}); err != nil {
		panic(err)
	}
	candidates := []rank.Candidate{{Name: "small", Prior: .8}, {Name: "large", Prior: .8}, {Name: "new", Prior: .5}}
	ranked, err := book.Observed().Score(ctx, task, candidates)
	if err != nil {
		panic(err)
	}
	for _, s := range ranked {
		fmt.Printf("%s %.2f\n", s.Name, s.Score)
	}
	fmt.Println(book.Explain(task, candidates)[1])
	for candidate, skill := range book.Candidates() {
		d := book.Day(candidate, skill, now)
		fmt.Println(candidate, d.Attempts, d.Delivered, d.Priced, *d.CostUSD)
	}
	// Output:
	// large 1.99
	// new 0.50
	// small 0.33
	// large: 5 of its last 5 judged attempts delivered, 1 more tell nothing about skill; 6 told a cost, of $0.0100 in the mean; expected worth 0.89, and 0.08 for what is not known
	// large 6 5 6 0.06
	// small 6 1 6 0.06
}

// What a choice of models has saved, beside each model alone.
func ExampleBook_Day() {
	ctx, now := context.Background(), time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC)
	book, err := rank.Open(ctx, store.NewGroup(store.NewMem()), func() time.Time { return now }, 0, nil)
	if err != nil {
		panic(err)
	}
	models := []rank.Candidate{{Name: "small", Price: .01}, {Name: "large", Price: .1}}
	for kind, of := range map[string][2]int{"letter": {90, 10}, "law": {10, 50}} { // so many tasks for each
		for i, m := range models {
			for n := range of[i] {
				o := rank.Delivered
				if m.Name == "small" && kind == "law" && n%2 > 0 {
					o = rank.Failed
				}
				s := rank.Sample{Candidate: m.Name, Task: rank.Task{Skill: kind}, Outcome: o, Usage: rank.Usage{CostUSD: &m.Price}}
				if err := book.Observe(ctx, s); err != nil {
					panic(err)
				}
			}
		}
	}
	tasks, spent := map[string]int{}, 0.0
	for model, kind := range book.Candidates() {
		for d := range 31 { // the last 31 days are kept
			s := book.Day(model, kind, now.AddDate(0, 0, -d))
			tasks[kind] += s.Attempts
			if s.CostUSD != nil {
				spent += *s.CostUSD
			}
		}
	}
	for _, m := range models { // rank.Candidates with a Price
		usd, solved := 0.0, 0.0
		for kind, n := range tasks {
			s := book.Stats(m.Name, kind)
			usd += float64(n) * m.Price
			solved += float64(n*s.Delivered) / float64(max(1, s.Judged))
		}
		fmt.Printf("%s alone: %.0f solved for $%.2f, $%.2f more\n", m.Name, solved, usd, usd-spent)
	}
	// Output:
	// small alone: 130 solved for $1.60, $-5.40 more
	// large alone: 160 solved for $16.00, $9.00 more
}

// Health asks an agent how it is doing: whether memory helps, by how much, and
// what to look at. Memory gives a cook the recipe, and withholds it for a fifth
// of the dinners, drawn by chance, so that the report can compare the two.
//
//	go run ./examples/health
package main

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

func main() {
	ctx := context.Background()
	begin := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	var asked atomic.Int64 // how often the clock was, each time a second later
	agent, err := arc.Open(ctx, "", arc.Host{
		Reasoner: reason.ReasonerFunc(plan),
		Workers:  []act.Worker{{Card: rank.Candidate{Name: "cook"}, Executor: act.ExecutorFunc(cook)}},
		Gates:    []act.Gate{act.GateFunc(taste)},
	}, &arc.Options{
		Now:      func() time.Time { return begin.Add(time.Duration(asked.Add(1)) * time.Second) },
		Seed:     1,
		Attempts: 1,
		Learn:    learn.Options{Holdout: 0.2, FireAfter: -1},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	recipe := memory.Draft{Kind: memory.Pattern, Trigger: "a guest orders goulash", Content: "Goulash takes caraway and much paprika."}
	kept, err := agent.In("").Memory().Remember(ctx, recipe)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 120 {
		_, err := agent.Run(ctx, arc.Objective{
			ID: fmt.Sprintf("dinner-%03d", i), Text: fmt.Sprintf("cook goulash for table %d", i), Situation: "a guest orders goulash",
			Inputs: fmt.Appendf(nil, `{"table": %d}`, i),
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	h, err := agent.Health(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(h)
	u, err := agent.In("").Uplift(ctx, kept.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("of that, the recipe alone:\n  %v\n", u)
}

func plan(_ context.Context, b reason.Brief) (reason.Decision, error) {
	d := reason.Decision{Approach: "cook it", Tasks: []reason.Task{{Objective: b.Objective}}}
	for _, m := range slices.Concat(b.Memories, b.Background) {
		d.Applied = append(d.Applied, m.Record.ID)
	}
	return d, nil
}

// cook always claims 0.95. Without the recipe it is right for every other table.
func cook(_ context.Context, w act.Work) (act.Result, error) {
	var table int
	if _, err := fmt.Sscanf(w.Objective, "cook goulash for table %d", &table); err != nil {
		return act.Result{}, err
	}
	made := "plain stew"
	for _, m := range w.Memories {
		if strings.Contains(m.Record.Content, "caraway") {
			made = "goulash"
		}
	}
	if table%2 == 0 {
		made = "goulash"
	}
	return act.Result{
		Output:     fmt.Appendf(nil, "%q", made),
		Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.95, Summary: "cooked " + made},
	}, nil
}

func taste(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
	return act.Verdict{Pass: string(r.Output) == `"goulash"`, Complaint: "there is no caraway in it"}, nil
}

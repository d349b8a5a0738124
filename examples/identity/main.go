// Identity keeps what is known about a person, tells a task only what is worth
// its tokens there, and forgets nothing that was refused.
//
//	go run ./examples/identity
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func main() {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) // a clock that the example sets
	bank, err := memory.Open(ctx, store.NewMem(), nil) // or badger.Open(dir, nil), to keep it
	check(err)
	defer bank.Close()
	me, err := identity.New(bank, "acme/ann", &identity.Options{Seed: 1, Now: func() time.Time { return now }})
	check(err)

	// What Ann has said, and what a conversation gave away.
	tests := add(ctx, me, identity.Draft{Content: "prefers table-driven tests in Go"})
	add(ctx, me, identity.Draft{Content: "10 years of experience with Go"})
	add(ctx, me, identity.Draft{Content: "working on a parser for invoices"})
	add(ctx, me, identity.Draft{Content: "grows tomatoes"})
	add(ctx, me, identity.Draft{Content: "salary is 90k", Visibility: identity.Local})
	rust := add(ctx, me, identity.Draft{Content: "Rust", Category: identity.Expertise, Source: identity.Conversation, Ref: "chat-17"})

	// Four more times it turned out that she meant it.
	for i := range 4 {
		tests, err = me.Validate(ctx, tests.ID, identity.Validation{Reason: fmt.Sprintf("review %d", i+1)})
		check(err)
	}
	fmt.Printf("%q is %s now\n", tests.Content, tests.Maturity)

	// A colleague knows Rust, not Ann. The rejection blocks that suggestion for
	// good, but not rustic things.
	_, err = me.Reject(ctx, rust.ID, "that was about a colleague")
	check(err)
	for _, guess := range []string{"writes async Rust", "restores rustic furniture"} {
		_, err = me.Add(ctx, identity.Draft{Content: guess, Source: identity.Inferred})
		fmt.Printf("%q:\n  %s\n", guess, outcome(err))
	}

	// Forty days later, a task with little room.
	now = now.AddDate(0, 0, 40)
	p, err := me.Project(ctx, "write tests for the invoice parser in Go", identity.Budget{Tokens: 65})
	check(err)
	fmt.Printf("\nWorth telling, by value for the task, in %d of 65 tokens:\n", p.Tokens)
	for _, f := range p.Facts {
		fmt.Println(chosen(f))
	}
	for _, l := range p.Left {
		f, err := me.Get(ctx, l.ID)
		check(err)
		fmt.Println(left(l, f.Content))
	}

	// Take it elsewhere: all of it, or what others may see.
	there, err := identity.New(bank, "elsewhere/ann", nil)
	check(err)
	document, err := me.Export(ctx, identity.Local)
	check(err)
	report, err := there.Import(ctx, document)
	check(err)
	refused, err := there.Rejections(ctx)
	check(err)
	fmt.Printf("\nmoved %d facts, and %d rejection: %s\n", report.Added, len(refused), because(refused[0]))
	work(ctx, document, now)
	life(ctx)
}

func chosen(f identity.Projected) string { return fmt.Sprintf("  %.2f  %s", f.Value, f.Content) }

func left(l identity.Left, content string) string {
	return fmt.Sprintf("  no    %s: %s", content, l.Reason)
}

func because(r identity.Rejection) string { return r.Reasons[len(r.Reasons)-1] }

// work has an agent do something for Ann. Reasoner and worker are told what is worth
// telling, and what they name as used has one more validation.
func work(ctx context.Context, document []byte, now time.Time) {
	var used memory.ID
	agent, err := arc.Open(ctx, "", arc.Host{ // "" keeps it in memory
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
			fmt.Print("\nThe reasoner is told:\n", memory.Render(b.Facts[:1])) // reason.LLM shows all
			used = b.Facts[0].Record.ID
			return reason.Decision{Applied: []memory.ID{used}, Tasks: []reason.Task{{Objective: b.Objective}}}, nil
		}),
		Workers: []act.Worker{{Card: rank.Candidate{Name: "writer"}, Executor: act.ExecutorFunc(writer)}},
		Gates:   []act.Gate{act.NoGate},
	}, &arc.Options{Now: func() time.Time { return now }, Seed: 1})
	check(err)
	defer agent.Close()
	ann, err := agent.In("acme/ann").Identity()
	check(err)
	_, err = ann.Import(ctx, document)
	check(err)
	_, err = agent.Run(ctx, arc.Objective{Text: "write tests for the invoice parser", Scope: "acme/ann"})
	check(err)
	fact, err := ann.Get(ctx, used)
	check(err)
	fmt.Printf("%q has %d validations now\n", fact.Content, fact.Validations)
	fmt.Printf("a run is told %d tokens at most\n", identity.DefaultTokens)
}

func writer(context.Context, act.Work) (act.Result, error) {
	return act.Result{Reflection: iar.Reflection{Status: iar.Success, Confidence: 1, Summary: "written"}}, nil
}

func add(ctx context.Context, me *identity.Identity, d identity.Draft) identity.Fact {
	f, err := me.Add(ctx, d)
	check(err)
	return f
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "kept as a candidate"
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

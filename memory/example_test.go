package memory_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

func Example() {
	ctx := context.Background()
	bank, err := memory.Open(ctx, store.NewGroup(store.NewMem()), nil)
	if err != nil {
		panic(err)
	}
	defer bank.Close()
	anna := bank.In("acme/anna")
	_, err = anna.RememberAll(ctx, []memory.Draft{
		{Kind: memory.Fact, Content: "Anna is allergic to penicillin."},
		{Kind: memory.Pattern, Trigger: "the lint step fails", Content: "run gofmt on generated files first"},
		{Kind: memory.Rule, Content: "Answer in English."},
	})
	if err != nil {
		panic(err)
	}
	hits, err := anna.Recall(ctx, memory.Query{Text: "lint is failing"})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Println(h.Record.Kind, h.Record.Content)
	}
	// Output:
	// rule Answer in English.
	// pattern run gofmt on generated files first
}

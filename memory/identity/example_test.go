package identity_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

func Example() {
	ctx := context.Background()
	me, err := identity.New(store.NewGroup(store.NewMem()), "acme/user-42", nil)
	if err != nil {
		panic(err)
	}
	_, err = me.Add(ctx, identity.Fact{Content: "prefers table-driven tests", Category: "preference"})
	if err != nil {
		panic(err)
	}
	guess, err := me.Add(ctx, identity.Fact{Content: "writes all in Rust", Source: identity.Conversation})
	if err != nil {
		panic(err)
	}
	tell := func() {
		facts, _, err := me.Project(ctx, "write tests for the parser", 0, 0)
		if err != nil {
			panic(err)
		}
		for _, f := range facts {
			fmt.Printf("%s (%s, %.1f)\n", f.Content, f.Maturity, f.Confidence)
		}
	}
	tell()
	fmt.Println("The person says no:")
	if err := me.Reject(ctx, guess.ID, "it was a colleague"); err != nil {
		panic(err)
	}
	tell()
	// Output:
	// prefers table-driven tests (established, 1.0)
	// writes all in Rust (candidate, 0.5)
	// The person says no:
	// prefers table-driven tests (established, 1.0)
}

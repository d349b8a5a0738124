package proposal_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/store"
)

func Example() {
	ctx := context.Background()
	book, err := proposal.Open(ctx, store.NewGroup(store.NewMem()), "acme", nil)
	if err != nil {
		panic(err)
	}
	p, err := book.Propose(ctx, proposal.Proposal{Kind: "config", Subject: "timeout of the build",
		Reason: "4 of 50 builds ran out of time", Change: "timeout: 20m", Samples: 50})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Status)
	p, err = book.Decide(ctx, p.ID, proposal.Approved, "anna", "builds have grown")
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Status, p.Note)
	approved, err := book.List(ctx, proposal.Approved) // a host reads what holds now
	if err != nil {
		panic(err)
	}
	fmt.Println(approved[0].Change)
	// Output:
	// ready
	// approved anna: builds have grown
	// timeout: 20m
}

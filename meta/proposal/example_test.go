package proposal_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
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

// An Agent whose workers a person may pause: its figures say who is first, and what was approved who is not asked.
func ExampleBook_Policy() {
	host := func(ctx context.Context, st store.Store, proposals *proposal.Book) (agent *arc.Agent, err error) {
		policy := proposals.Policy(func(ctx context.Context) (rank.Policy, error) {
			figures, err := agent.In("acme").Book(ctx)
			if err != nil {
				return nil, err
			}
			return figures.Learned(), nil
		})
		agent, err = arc.New(ctx, st, arc.Host{}, &arc.Options{Policy: policy})
		return agent, err
	}
	_ = host
}

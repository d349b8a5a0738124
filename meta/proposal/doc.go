// Package proposal keeps changes that a person decides about.
//
// A [Proposal] is a change with the evidence for it. The [Book] keeps the
// proposals of a tenant, takes a person's verdict on each, and has
// Options.Apply make the change, or undo it:
//
//	b, err := proposal.Open(ctx, st, &proposal.Options{Apply: apply})
//	p, err := b.Propose(ctx, proposal.Proposal{
//		Kind:    "config",
//		Subject: "deploy",
//		Change:  []byte(`{"limit": 3}`),
//		Reason:  "deploy fails more often than not",
//		Samples: 55,
//	})
//	p, err = b.Decide(ctx, p.ID, "approve", "ada", "agreed")
//
// A proposal gathers evidence until its Samples reach what it Needs, and is open
// from then on. It expires after seven days without a verdict.
//
// A Book is safe for concurrent use, and has nothing to close: each method
// returns after its commit. Several Books may share a store. A verdict that
// another Book was faster with is store.ErrConflict.
//
// The package proposes nothing by itself: an Agent does, by what keeps failing.
package proposal

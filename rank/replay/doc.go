// Package replay tries ranking policies on logged decisions, before a host
// trusts them with live ones.
//
// A [Decision] is one step of the past: its situation, the candidates there
// were, and what came of them. A [Learner] is a policy with what it learns
// from; [With] makes one of a policy and its Book, and [Fixed] one of a policy
// that learns nothing. [Run] lets a Learner decide the steps again and learn
// from its own choices only.
//
//	book, err := rank.Open(ctx, store.NewMem(), nil)
//	defer book.Close()
//	r, err := replay.Run(ctx, replay.With(book.Learned(nil), book), log, &replay.Options{Seed: 1})
//	fmt.Printf("%.3f, best single candidate %.3f, per-step oracle %.3f\n", r.Reward, r.Best, r.Oracle)
//
// Where a log knows what every candidate would have done, the result compares
// the Learner with the best single candidate in hindsight and with the oracle
// of each step. Where it knows only what the logged choice did, [Run] keeps
// the steps in which the Learner chooses the same (Li, Chu, Langford and Wang,
// 2011). A Learner is used by one goroutine at a time.
package replay

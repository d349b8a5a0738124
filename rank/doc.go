// Package rank says which candidate to try: which model, agent or tool should
// take a step, going by what each has done before.
//
// A [Candidate] is something that can take a step, a [Situation] is the step,
// a [Sample] is what came of one attempt. The [Book] keeps the samples, and a
// [Policy] turns them into an order with reasons, best first.
//
//	book, err := rank.Open(ctx, st, nil)
//	defer book.Close()
//	err = book.Observe(ctx, rank.Sample{
//		Key:       "run-7/step-2/attempt-1",
//		Candidate: "gofmt",
//		Situation: rank.Situation{Skill: "format"},
//		Success:   true,
//		Wall:      80 * time.Millisecond,
//	})
//	ss, err := book.Observed().Score(ctx, rank.Situation{Skill: "format"}, cards)
//	fmt.Print(rank.Explain(ss))
//
// Three policies come with the Book. [Book.Observed] is a fixed formula over
// success, confidence and wall time, greedy and easy to predict.
// [Book.Weighted] draws an order in which the better and cheaper come first
// more often. Both see the last [Window] samples of a candidate and skill.
// [Book.Learned] is the one to start with: it learns from all samples, goes by
// the situation where that helps, tries out what it does not know, and notices
// when a candidate changes. Unless told by [Situation].Worth, or by the
// Reward of samples, it takes a dollar for a tenth of a success, and the dear model for
// easy tasks too. Package replay tries any of them on a log.
//
// All types are safe for concurrent use. Samples are in memory at once and in
// the store with the next group of writes. A store holds one book, and one
// Book at a time may have it open.
//
// What is not here: the package runs nothing and knows nothing of what a
// candidate is. Names of candidates and skills and the keys of samples are
// identifiers: they are stored as they are given. Secrets are taken out of
// the situation's key only.
package rank

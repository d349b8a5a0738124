// Package rank orders candidates: which model, agent or tool should take a step, by what each
// has done before.
//
// A [Candidate] is something that can take a step, a [Situation] is the step, and a [Sample] is
// the outcome of one attempt. The [Book] keeps the samples. A [Policy] turns them into an order
// with reasons, best first.
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
// Three policies come with the Book. Start with [Book.Learned]: it learns from all samples, uses
// the situation where that helps, explores candidates that it knows little about, and notices when
// a candidate changes. [Book.Observed] is a fixed formula over success, confidence and wall time,
// greedy and easy to predict; it sees the last [Window] samples of a candidate and skill.
// [Book.Weighted] draws an order in which better and cheaper candidates come first more often; it
// sees those of the last [Day].
//
// Unless [Situation].Worth or the Reward of samples says otherwise, Learned values a dollar at a
// tenth of a success, and so prefers the dear model for easy tasks too. Package replay tries any
// policy on a log.
//
// A Book and its policies may be used concurrently. Samples are in memory at once, and in the store
// with the next group of writes. A store holds one book per tenant, which one Book at a time may
// have open, unless Options.Shared is set.
//
// The package runs nothing, and does not know what a candidate is. Names of candidates and skills,
// and keys of samples, are identifiers, stored as they are. The sanitizer takes secrets out of a
// situation's key only.
package rank

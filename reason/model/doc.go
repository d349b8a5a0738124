// Package model holds what a host puts around a [reason.Model]: each function
// takes a model and returns one, and does one thing.
//
//	budget, err := model.NewBudget(&model.BudgetOptions{Tokens: 1_000_000})
//	...
//	m := model.Timeout(client, time.Minute, nil)           // also if client ignores its context
//	m = model.Limit(m, &model.LimitOptions{Requests: 600}) // what the provider admits
//	m = model.Charge(m, budget)                            // each try costs
//	m = model.Retry(m, nil)                                // what another try may mend
//	m = model.Cache(m, nil)                                // a hit is neither tried, charged nor limited
//	m = model.Log(m, logger, nil)
//
// The order above is a good one: what is further out sees less. [Trace] makes
// spans, of tries or of calls as it stands inside or around Retry. [Record] keeps
// calls of a real model in a file that can be read and committed, and [Replay]
// answers from it in tests; inside Retry it keeps each try, else what came of
// them.
//
// An Agent asks its reasoner again by itself when a model is busy, up to the
// deadline of a deliberation, and each time makes all the tries of a Retry: few
// are enough there, or none.
//
// Every model that comes back streams if and only if the one inside does, and
// its effect is on streams too: [reason.As] finds its Streamer, never the one
// inside. It has Unwrap, so that As finds other powers. It may be used
// concurrently, and answers as [reason.Generate] does: with a response or an
// error, whatever the model inside does. A context that ends also ends every
// wait here.
//
// What is not there: switching to another model when one fails (that is what
// package rank is for), and repair of answers, which is reason.LLM's.
package model

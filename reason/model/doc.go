// Package model has wrappers of a [reason.Model]. Each takes a model, returns a
// model and does one thing.
//
//	m := model.Timeout(client, time.Minute)                // ends calls of a client that hangs
//	m = model.Limit(m, &model.LimitOptions{Requests: 600}) // what the provider admits
//	m = model.Trace(m, &model.TraceOptions{TracerProvider: spans})
//	m = model.Price(m, model.Rate{In: 3, Out: 15})        // US dollars for a million tokens
//
// The order above is a good one: the limit does not count as time of the model,
// and the span shows the wait. [Record] writes the calls of a real model to a
// file that people can read and commit, and [Replay] answers from it in tests.
//
// A wrapped model streams if and only if the model inside does, and the wrapper
// works on streams too: [reason.As] finds its Streamer, never the one inside.
// Unwrap returns the model inside, so that As finds other methods of it.
//
// All models here are safe for concurrent use. They answer as [reason.Generate]
// does, with a response or an error, whatever the model inside does. When a
// context ends, every wait here ends with it, and the error is that of the
// context. A nil context is an error.
//
// What is not here, because another package owns it:
//
//   - Trying again. A run of an Agent waits, and asks its reasoner again, when
//     [reason.Retryable] says so, and repeats an attempt whose worker returns
//     act.Transient or act.RateLimitError. A wrapper that also waited would
//     multiply the tries, and its waits would spend the budget.
//   - Budgets of tokens and cost: Objective.Budget of the loop. Price says what is counted.
//   - Switching to another model when one fails: package rank.
//   - Repair of answers: [reason.LLM].
package model

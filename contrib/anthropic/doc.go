// Package anthropic is a model for arc on Anthropic's Messages API.
//
//	m := anthropic.New(sdk.NewClient(option.WithAPIKey(key)), sdk.ModelClaudeSonnet5, nil)
//
// The client is the host's, from github.com/anthropics/anthropic-sdk-go, and what
// the host sets on it holds for each call. Only the retries of the client are off:
// an agent's loop asks again when an error says that another try may help
// (reason.Retryable), and the wait spends none of the run's budget. Generate asks
// for at most ten minutes' worth of tokens, some 21,000 (the SDK refuses more),
// Stream for as many as the model has.
//
// The schema of a request is enforced by the API (structured outputs) where it
// can be. The API takes no schema with a value of any type, as that of a
// reasoner's decision is. Such a schema is told in words, and the caller checks the
// answer, as reason.LLM does.
package anthropic

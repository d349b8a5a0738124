// Package openai is a model and an embedder for arc on the chat completions and
// embeddings of OpenAI, and of every endpoint that speaks the same protocol.
//
//	client := sdk.NewClient(option.WithBaseURL("http://localhost:8080/v1/"), option.WithAPIKey(key))
//	m := openai.New(client, "gpt-oss-120b", &openai.Options{Schema: openai.Object})
//
// The client is the host's, from github.com/openai/openai-go/v3, and what the
// host sets on it holds for each call: address, key, headers, limits of time, or
// fields such as option.WithJSONSet("reasoning_effort", "low"). Only the retries
// of the client are off: an agent's loop asks again when an error says that another
// try may help (reason.Retryable), and the wait spends none of the run's budget.
//
// Endpoints differ in what they know. [Options] say how a schema is passed on,
// in words if need be, and leave out what an endpoint or a model refuses. Both
// types are safe for concurrent use.
package openai

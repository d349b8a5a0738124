// Package ollama is a model and an embedder for arc on an Ollama server, over
// plain net/http.
//
//	m, err := ollama.New("http://localhost:11434", "qwen3", &ollama.Options{
//		Parameters: map[string]any{"num_ctx": 65536},
//	})
//
// A [Model] streams, and passes the schema of a request on as the format of the
// answer. An [Embedder] makes the vectors of a memory.Bank. Both are safe for
// concurrent use and retry nothing: an agent's loop asks again when an
// error says that another try may help (reason.Retryable).
//
// The context of a model is the parameter num_ctx, in tokens, and by default it
// is far smaller than the prompts that a reasoner makes. A prompt that is longer
// is an error, and an answer that reaches its end stops for its length; servers
// from before October 2025 cut the prompt instead, without saying so.
package ollama

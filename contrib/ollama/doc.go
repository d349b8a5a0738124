// Package ollama is a model and an embedder for arc on an Ollama server, over
// plain net/http.
//
//	m, err := ollama.New("http://localhost:11434", "qwen3", &ollama.Options{
//		Parameters: map[string]any{"num_ctx": 65536},
//	})
//
// A [Model] streams, and passes the schema of a request on as the format of the
// answer. An [Embedder] makes the vectors of a memory.Bank. Both are safe for
// concurrent use and retry nothing: wrap the Model in model.Retry of
// reason/model.
//
// Ollama cuts a prompt that is longer than its context without saying so. The
// context is the parameter num_ctx, and by default it is far smaller than the
// prompts that a reasoner makes.
package ollama

package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/memory"
)

// Embedder is a [memory.Embedder]. NewEmbedder makes one. It is safe for
// concurrent use.
type Embedder struct{ server }

var _ memory.Embedder = (*Embedder)(nil)

// NewEmbedder returns the embedding model of that name on the server at base.
// It asks the server for nothing. The server cuts texts that are too long for
// the model.
func NewEmbedder(base, model string, opts *Options) (*Embedder, error) {
	s, err := connect(base, model, opts)
	if err != nil {
		return nil, err
	}
	return &Embedder{s}, nil
}

// Model names the model. A model that is pulled again under the same name
// counts as the same.
func (e *Embedder) Model() string { return "ollama/" + e.model }

// Embed makes the vectors, and none of a text without a word. A failed call is a *reason.ModelError.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	var asked []string
	var at []int
	for i, text := range texts {
		if strings.TrimSpace(text) != "" {
			asked, at = append(asked, text), append(at, i)
		}
	}
	out := make([][]float32, len(texts))
	if len(asked) == 0 {
		return out, nil
	}
	in := map[string]any{"input": asked}
	if len(e.o.Parameters) > 0 {
		in["options"] = e.o.Parameters
	}
	body, err := e.post(ctx, "api/embed", in)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var answer struct{ Embeddings [][]float32 }
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return nil, provider.Fail(ctx, err)
	}
	if len(answer.Embeddings) != len(asked) {
		return nil, fmt.Errorf("ollama: %d vectors for %d texts", len(answer.Embeddings), len(asked))
	}
	for i, v := range answer.Embeddings {
		out[at[i]] = v
	}
	return out, nil
}

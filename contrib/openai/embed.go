package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/arc-learn/arc/reason"
)

// Embedder is a memory.Embedder at an endpoint. It may be used concurrently.
type Embedder struct{ model *Model }

// NewEmbedder returns the embedding model of that name, without asking the endpoint for anything. Of the
// Options, URL, Key, KeyEnv and Client count; "/embeddings" is added to the URL.
func NewEmbedder(name string, o *Options) *Embedder { return &Embedder{New(name, o)} }

// Model is the name.
func (e *Embedder) Model() string { return e.model.name }

// Embed asks for a vector of each text; nil is one that the endpoint left out. Errors are a *[reason.Error].
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	answer, err := e.model.post(ctx, "/embeddings", object{"model": e.model.name, "input": texts})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var out struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 64<<20)).Decode(&out); err != nil {
		return nil, &reason.Error{Class: reason.Invalid, Err: fmt.Errorf("openai: embeddings: %w", err)}
	}
	vectors := make([][]float32, len(texts))
	for _, d := range out.Data {
		if d.Index >= 0 && d.Index < len(vectors) {
			vectors[d.Index] = d.Embedding
		}
	}
	return vectors, nil
}

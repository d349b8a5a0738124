package openai

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/memory"
)

// maxInput is where texts are cut, in bytes. OpenAI refuses more than 8192 tokens,
// and dense text has about two bytes in each.
const maxInput = 16 << 10

// Embedder is a [memory.Embedder]. NewEmbedder makes one. It is safe for
// concurrent use.
type Embedder struct {
	embeddings sdk.EmbeddingService
	model      string
}

var _ memory.Embedder = (*Embedder)(nil)

// NewEmbedder returns the embedding model of that name at the client's endpoint.
// Of a text that is longer than 16 KiB, only so much is embedded.
func NewEmbedder(client sdk.Client, model string) *Embedder {
	return &Embedder{client.Embeddings, model}
}

// Model names the model.
func (e *Embedder) Model() string { return "openai/" + e.model }

// Embed makes the vectors, and none of a text without a word. A failed call is a
// *reason.ModelError.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	var asked []string
	var at []int
	for i, text := range texts {
		if strings.TrimSpace(text) != "" {
			asked, at = append(asked, strings.ToValidUTF8(text[:min(len(text), maxInput)], "")), append(at, i)
		}
	}
	out := make([][]float32, len(texts))
	if len(asked) == 0 {
		return out, nil
	}
	answer, err := e.embeddings.New(ctx, sdk.EmbeddingNewParams{
		Model: e.model, Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: asked},
	}, perCall...)
	if err != nil {
		return nil, provider.Fail(ctx, err)
	}
	if answer == nil { // it was null
		return nil, provider.None(nil)
	}
	if len(answer.Data) != len(asked) {
		return nil, fmt.Errorf("openai: %d vectors for %d texts", len(answer.Data), len(asked))
	}
	for _, v := range answer.Data {
		if v.Index < 0 || int(v.Index) >= len(at) || out[at[v.Index]] != nil {
			return nil, fmt.Errorf("openai: a vector of text %d of %d, or a second one", v.Index+1, len(asked))
		}
		numbers := make([]float32, len(v.Embedding))
		for i, x := range v.Embedding {
			numbers[i] = float32(x)
		}
		out[at[v.Index]] = numbers
	}
	return out, nil
}

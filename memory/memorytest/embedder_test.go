package memorytest_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/embed"
	"github.com/arc-learn/arc/memory/memorytest"
)

// altered is a good embedder with one fault.
type altered struct {
	embed.Hashed
	name func() string
	with func(ctx context.Context, texts []string, out [][]float32, err error) ([][]float32, error)
}

func (a altered) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := a.Hashed.Embed(ctx, texts)
	if a.with == nil {
		return out, err
	}
	return a.with(ctx, texts, out, err)
}

func (a altered) Model() string {
	if a.name != nil {
		return a.name()
	}
	return a.Hashed.Model()
}

func TestEmbedders(t *testing.T) {
	t.Parallel()
	require.NoError(t, memorytest.CheckEmbedder(t.Context(), embed.Hashed{}))
	require.NoError(t, memorytest.CheckEmbedder(t.Context(), altered{}))
}

// Each rule finds the embedder that breaks it.
func TestBrokenEmbedders(t *testing.T) {
	t.Parallel()
	// each changes the vectors of a call that went well.
	each := func(change func(texts []string, out [][]float32) [][]float32) altered {
		return altered{with: func(_ context.Context, texts []string, out [][]float32, err error) ([][]float32, error) {
			if err != nil {
				return nil, err
			}
			return change(texts, out), nil
		}}
	}
	var names, calls, running atomic.Int64
	var last [][]float32
	for what, broken := range map[string]altered{
		"bytes, not 1":    {name: func() string { return "" }},
		"name changes":    {name: func() string { return fmt.Sprint("model ", names.Add(1)) }},
		"bytes, not 1 to": {name: func() string { return strings.Repeat("m", 257) }},
		"ctx has ended": {with: func(_ context.Context, texts []string, _ [][]float32, _ error) ([][]float32, error) {
			return embed.Hashed{}.Embed(context.Background(), texts)
		}},
		"vectors for": each(func(_ []string, out [][]float32) [][]float32 { return out[:min(1, len(out))] }),
		"texts, the first": {with: func(_ context.Context, texts []string, out [][]float32, err error) ([][]float32, error) {
			return out, tooLong(texts, err)
		}},
		"not finite":          each(func(_ []string, out [][]float32) [][]float32 { return put(out, float32(math.NaN())) }),
		"numbers; others":     each(func(_ []string, out [][]float32) [][]float32 { return cutLast(out) }),
		"the limit 4096":      each(func(_ []string, out [][]float32) [][]float32 { return widen(out) }),
		"has no vector":       each(func(_ []string, out [][]float32) [][]float32 { return make([][]float32, len(out)) }),
		"same vector":         each(func(_ []string, out [][]float32) [][]float32 { return constant(out) }),
		"others of the batch": each(func(_ []string, out [][]float32) [][]float32 { slices.Reverse(out); return out }),
		"or by itself": each(func(texts []string, out [][]float32) [][]float32 {
			if len(texts) == 3 && calls.Add(1) == 1 {
				last = out
			} else if len(texts) == 3 {
				return last
			}
			return out
		}),
		"at the same time": each(func(texts []string, out [][]float32) [][]float32 {
			if len(texts) > 3 && running.Add(1) > 2 {
				slices.Reverse(out)
			}
			return out
		}),
	} {
		require.ErrorContains(t, memorytest.CheckEmbedder(t.Context(), broken), what, what)
	}
}

func tooLong(texts []string, err error) error {
	for _, s := range texts {
		if len(s) > 1<<16 {
			return fmt.Errorf("%d bytes are too many", len(s))
		}
	}
	return err
}

func put(out [][]float32, x float32) [][]float32 {
	for _, v := range out {
		if len(v) > 0 {
			v[0] = x
		}
	}
	return out
}

func cutLast(out [][]float32) [][]float32 {
	if n := len(out); n > 1 && out[n-1] != nil {
		out[n-1] = out[n-1][1:]
	}
	return out
}

func widen(out [][]float32) [][]float32 {
	for i := range out {
		out[i] = slices.Concat(out[i], make([]float32, 4096))
	}
	return out
}

func constant(out [][]float32) [][]float32 {
	for i := range out {
		out[i] = []float32{1, 2, 3}
	}
	return out
}

func ExampleCheckEmbedder() {
	fmt.Println(memorytest.CheckEmbedder(context.Background(), embed.Hashed{}))
	// Output: <nil>
}

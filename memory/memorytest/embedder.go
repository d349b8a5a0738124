package memorytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/memory"
)

// same is how near, as a cosine, two vectors of one text have to be. Models
// that run on several cores or machines do not repeat the last bits.
const same = 0.9999

// CheckEmbedder holds e to what memory relies on, and returns all offences in
// one error:
//
//   - one vector for each text, in their order, also for none, for an empty text
//     and for one of 128 KiB; nil or all zero says that the text has none
//   - all of one dimension, at most memory.MaxDimension, of finite numbers
//   - the vector of a text depends on the text alone: not on the others of the
//     batch, nor on earlier calls, nor on what the caller does to slices
//     afterwards, nor on calls at the same time (run the test with -race)
//   - texts that have nothing in common have different vectors
//   - an error once ctx has ended
//   - Model is not empty, has at most 256 bytes, and stays the same
//
// Vectors of one text are the same if their cosine is at least 0.9999. It calls
// Embed some twenty times, and puts 128 KiB of text to it.
func CheckEmbedder(ctx context.Context, e memory.Embedder) error {
	c := embedderCheck{ctx: ctx, e: e}
	if name := e.Model(); name == "" || len(name) > 256 {
		c.complain("the model's name has %d bytes, not 1 to 256", len(name))
	}
	c.texts()
	c.slices()
	c.atOnce()
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := e.Embed(ended, []string{"too late"}); err == nil {
		c.complain("it embeds although ctx has ended")
	}
	if a, b := e.Model(), e.Model(); a != b {
		c.complain("the model's name changes from %q to %q", a, b)
	}
	return errors.Join(c.errs...)
}

type embedderCheck struct {
	ctx  context.Context
	e    memory.Embedder
	dim  int
	errs []error
}

func (c *embedderCheck) complain(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("memorytest: embedder: "+format, args...))
}

// embed returns the vectors of texts, or nil after a complaint.
func (c *embedderCheck) embed(texts ...string) [][]float32 {
	out, err := c.e.Embed(c.ctx, texts)
	switch {
	case err != nil:
		c.complain("%d texts, the first %.20q: %w", len(texts), first(texts), err)
		return nil
	case len(out) != len(texts):
		c.complain("%d vectors for %d texts", len(out), len(texts))
		return nil
	}
	for i, v := range out {
		if slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
			c.complain("the vector of %.20q has a number that is not finite", texts[i])
			return nil
		}
		if v == nil {
			continue
		}
		if c.dim == 0 {
			c.dim = len(v)
		}
		if len(v) != c.dim || len(v) > memory.MaxDimension {
			c.complain("the vector of %.20q has %d numbers; others %d, the limit %d",
				texts[i], len(v), c.dim, memory.MaxDimension)
			return nil
		}
	}
	return out
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

func alike(a, b []float32) bool { return slices.Equal(a, b) || cosine(a, b) >= same }

// cosine is 0 unless both have a direction.
func cosine(a, b []float32) float64 {
	dot, x, y := 0.0, 0.0, 0.0
	for i := range min(len(a), len(b)) {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}

var embeddable = []string{
	"the cat sleeps on the warm roof", "go build reports an import cycle", "the invoice of March is unpaid",
	"Grüße aus Zürich", "x", "the cat sleeps on the warm roof",
}

// texts checks texts of all lengths, and that the company does not matter.
func (c *embedderCheck) texts() {
	c.embed()
	c.embed("")
	c.embed(strings.Repeat("a long text about many things. ", 1<<17/31))
	batch := c.embed(embeddable...)
	if batch == nil {
		return
	}
	if len(batch[0]) == 0 || cosine(batch[0], batch[0]) == 0 {
		c.complain("%q has no vector", embeddable[0])
	}
	if cosine(batch[0], batch[1]) >= same || cosine(batch[0], batch[2]) >= same {
		c.complain("different texts have the same vector")
	}
	for i, text := range embeddable {
		if alone := c.embed(text); alone != nil && !alike(alone[0], batch[i]) {
			c.complain("the vector of %q depends on the others of the batch", text)
		}
	}
}

// slices checks that what is passed and returned is the caller's.
func (c *embedderCheck) slices() {
	texts := slices.Clone(embeddable[:3])
	before := c.embed(texts...)
	if before == nil {
		return
	}
	kept := make([][]float32, len(before))
	for i := range before {
		kept[i] = slices.Clone(before[i])
		clear(before[i])
	}
	clear(texts)
	after := c.embed(embeddable[:3]...)
	for i := range after {
		if !alike(kept[i], after[i]) {
			c.complain("the vector of %q changes with what the caller does to slices, or by itself", embeddable[i])
			return
		}
	}
}

func (c *embedderCheck) atOnce() {
	want := c.embed(embeddable...)
	if want == nil {
		return
	}
	bad := make([]bool, 4)
	var wg sync.WaitGroup
	for g := range bad {
		wg.Go(func() {
			i := g % len(embeddable)
			got, err := c.e.Embed(c.ctx, embeddable[i:])
			if bad[g] = err != nil || len(got) != len(embeddable)-i; bad[g] {
				return
			}
			for j, v := range got {
				bad[g] = bad[g] || !alike(v, want[i+j])
			}
		})
	}
	wg.Wait()
	if slices.Contains(bad, true) {
		c.complain("it gives other results when goroutines use it at the same time")
	}
}

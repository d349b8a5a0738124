package learn

import (
	"bytes"
	"encoding/json"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
)

// decoded caches the chunks of patterns. Callers must not change them.
type decoded struct {
	*lru.Cache[memory.ID, cached]
}

// cached is the chunk of a plan, or the error of decoding it.
type cached struct {
	plan  json.RawMessage
	chunk *chunk.Chunk
	err   error
}

// cacheSize is the number of chunks that are kept decoded.
const cacheSize = 256

// chunk returns the chunk of a pattern.
func (d decoded) chunk(r *memory.Record) (*chunk.Chunk, error) {
	if c, ok := d.Get(r.ID); ok && bytes.Equal(c.plan, r.Plan) {
		return c.chunk, c.err
	}
	c, err := chunk.Decode(r.Plan)
	d.Add(r.ID, cached{r.Plan, c, err})
	return c, err
}

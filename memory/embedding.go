package memory

import (
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/store"
)

// embedding is what a Bank has for vectors, with or without an Embedder.
type embedding struct{ embedder.Embedder }

// start prepares for vectors. The Bank is not in use yet.
func (v *embedding) start(host Embedder, noted embedder.Model) error {
	if host == nil {
		return v.Start(nil, "", noted)
	}
	name := ""
	if err := guard.Call(func() { name = host.Model() }); err != nil {
		return fmt.Errorf("embedder: model: %w", err)
	}
	if name == "" {
		return fmt.Errorf("embedder's model: %w", ErrEmpty)
	}
	if err := key.CheckID("embedder's model", name); err != nil {
		return err
	}
	return v.Start(host, name, noted)
}

// note returns the model, and what notes it in the store, if it is not there.
func (v *embedding) note() (m embedder.Model, ops []store.Op, err error) {
	m, unnoted := v.Unnoted()
	if !unnoted {
		return m, nil, nil
	}
	value, err := codec.Encode(modelKey(), m)
	return m, []store.Op{{Key: modelKey(), Value: value}}, err
}

// wanted tells the Embedder that there are records without a vector.
func (v *embedding) wanted(sh *shard) { v.Want(string(sh.scope)) }

// embedded is the text of a record that is embedded.
func embedded(r *Record) string {
	if r.Trigger == "" {
		return r.Content
	}
	return r.Trigger + "\n" + r.Content
}

// pending returns how many records of the shard wait for a vector.
func (v *embedding) pending(sh *shard) int {
	if !v.Works() {
		return 0
	}
	return sh.Pending()
}

// Package outputs keeps what workers have made.
package outputs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Keys is the part behind a tenant that leads from the key of an attempt to a large output.
const Keys = "output"

// Max is in bytes of an output within the record of a run: a larger one is a record of its own.
const Max = 2 << 10

// JSON is JSON that a worker made. A large one is a record of its own.
type JSON struct {
	Inline json.RawMessage `cbor:"1,keyasint,omitempty" json:"inline,omitempty"`
	Key    string          `cbor:"2,keyasint,omitempty" json:"key,omitempty"`
	// Marked: its record lacks a secret that cannot be had back.
	Marked bool `cbor:"70,keyasint,omitempty" json:"marked,omitempty"`
}

// Store writes an output that is too large for a run's record to one of its own. Doing it again
// for the same attempt changes nothing.
func Store(ctx context.Context, st store.Store, tenant, attempt string, raw json.RawMessage) (JSON, error) {
	k := key.Under(tenant, Keys, attempt)
	value, err := codec.Encode(k, raw)
	if err != nil {
		return JSON{}, err
	}
	if _, err = st.Commit(context.WithoutCancel(ctx), store.Op{Key: k, Value: value}); err != nil {
		return JSON{}, err
	}
	return JSON{Key: k}, nil
}

// Read returns the output, wherever it is kept.
func (o JSON) Read(ctx context.Context, st store.Store) (raw json.RawMessage, err error) {
	if o.Key == "" {
		return o.Inline, nil
	}
	e, err := st.Get(ctx, o.Key)
	if err == nil {
		err = codec.Decode(e, &raw)
	}
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return raw, nil
}

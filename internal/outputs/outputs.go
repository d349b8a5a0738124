// Package outputs stores the outputs of workers.
package outputs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Keys is the part of a large output's key behind the tenant. The key of the attempt follows it.
const Keys = "output"

// Max is the size in bytes up to which an output is part of the run's record. A larger one is a separate record.
const Max = 2 << 10

// JSON is the output of a worker. A large one is a separate record.
type JSON struct {
	Inline json.RawMessage `cbor:"1,keyasint,omitempty" json:"inline,omitempty"`
	Key    string          `cbor:"2,keyasint,omitempty" json:"key,omitempty"`
	// Marked: the stored output lacks a secret that cannot be put back.
	Marked bool `cbor:"70,keyasint,omitempty" json:"marked,omitempty"`
}

// Store writes an output that is too large for a run's record as a separate record. It is idempotent for an attempt.
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

// Read returns the output, also one that is a separate record.
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

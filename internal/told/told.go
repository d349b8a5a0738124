// Package told records of which kinds of failure a tenant's people were told today.
package told

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Keys is the part of the record's key behind the tenant.
const Keys = "told"

// told has, for one day, the step of a run that was told, by kind of failure.
type told struct {
	Day   int64             `cbor:"1,keyasint,omitempty"` // since 1970
	Steps map[uint64]uint64 `cbor:"2,keyasint,omitempty"`
}

// Check returns an error if an entry does not decode as this package's record.
func Check(e store.Entry) error { return codec.Decode(e, new(told)) }

// First reports whether a step of a run is the first of its tenant, at any opener of the store, that meets a
// kind of failure on the day of now (by UTC). It reports the same again for the same step.
func First(ctx context.Context, st store.Store, tenant string, now time.Time, kind, step uint64) (bool, error) {
	k, day := key.Under(tenant, Keys, ""), now.Unix()/int64(rank.Day/time.Second)
	for {
		var all told
		e, err := st.Get(ctx, k)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, fmt.Errorf("escalate: %w", err)
		}
		// If the record is unreadable, or the clock was put back, a person is told again rather than not.
		if codec.Decode(e, &all) != nil || all.Day < day || all.Day > day+1 || all.Steps == nil {
			all = told{day, map[uint64]uint64{}}
		}
		if of, ok := all.Steps[kind]; ok {
			return of == step, nil
		}
		all.Steps[kind] = step
		value, err := codec.Encode(k, all)
		if err == nil {
			_, err = st.Commit(ctx, store.Op{Key: k, Value: value, If: store.At(e.Rev)})
		}
		if !errors.Is(err, store.ErrConflict) {
			return err == nil, err
		}
	}
}

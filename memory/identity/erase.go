package identity

import (
	"context"
	"fmt"
	"iter"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// parts are all that an identity is kept under, with what decodes their records.
var parts = [...]struct {
	name   string
	decode func(store.Entry) error
}{
	{profilePart, decode[storedProfile]}, {factPart, decode[storedFact]}, {canonPart, decode[claimed]},
	{rejectionPart, decode[storedRejection]}, {suggestionPart, decode[suggested]}, {headPart, decode[ring]},
	{eventPart, decode[storedEvent]}, {markPart, decode[mark]}, {rollupPart, decode[rollup]},
}

func decode[T any](e store.Entry) error { return codec.Decode(e, new(T)) }

// Entries yields all that a store holds about the persons and projects of a scope and of
// those below it, as it lies there: what Erase removes. It ends after the first error.
func Entries(ctx context.Context, st store.Store, scope memory.Scope) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		x, err := New(st, scope, nil)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for _, part := range parts {
			own := x.key(part.name, "")
			for _, prefix := range [...]string{own, key.Prefix(own), key.Join(root, part.name, string(scope)) + "/"} {
				for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
					if err == nil && prefix == own && e.Key != own {
						break // the key itself comes first
					}
					if !yield(e, err) || err != nil {
						return
					}
					if prefix == own {
						break
					}
				}
			}
		}
	}
}

// Check returns why an entry cannot be one of those that Entries yields of a scope, or
// nil: memory.ErrTenant for one of a scope elsewhere, store.ErrDamaged for one that no
// Identity has written.
func Check(e store.Entry, scope memory.Scope) error {
	p := key.Split(e.Key)
	for _, part := range parts {
		if len(p) != 3 && len(p) != 4 || p[0] != root || p[1] != part.name {
			continue
		}
		if of := memory.Scope(p[2]); p[2] != scopePart(scope) && (of.Check() != nil || !of.Within(scope)) {
			return fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
		}
		return part.decode(e)
	}
	return fmt.Errorf("%w: %q is no identity", store.ErrDamaged, e.Key)
}

// Erase removes what is known about the persons and projects of a scope and of
// those below it. After an error a part may be gone: call it again.
func Erase(ctx context.Context, st store.Store, scope memory.Scope) error {
	for e, err := range Entries(ctx, st, scope) {
		if err == nil {
			_, err = st.Commit(ctx, store.Op{Key: e.Key, Delete: true})
		}
		if err != nil {
			return fmt.Errorf("identity: erase %q: %w", scope, err)
		}
	}
	return nil
}

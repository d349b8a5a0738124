package identity

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Erase removes what is known about the persons and projects of a scope and of
// those below it. After an error a part may be gone: call it again.
func Erase(ctx context.Context, st store.Store, scope memory.Scope) error {
	x, err := New(st, scope, nil)
	if err != nil {
		return err
	}
	parts := [...]string{
		profilePart, factPart, canonPart, rejectionPart, suggestionPart, headPart, eventPart, markPart, rollupPart,
	}
	for _, part := range parts {
		own := x.key(part, "")
		for _, prefix := range [...]string{own, key.Prefix(own), key.Join(root, part, string(scope)) + "/"} {
			for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
				if err == nil && (prefix != own || e.Key == own) {
					_, err = st.Commit(ctx, store.Op{Key: e.Key, Delete: true})
				}
				if err != nil {
					return fmt.Errorf("identity: erase %q: %w", scope, err)
				}
				if prefix == own {
					break // the key itself comes first
				}
			}
		}
	}
	return nil
}

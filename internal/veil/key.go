package veil

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// tagKey is the record of the key by which secrets are tagged.
const tagKey = "tags"

// Keyed gives a Sanitizer the key that the store has, or draws one, unless it has one.
func Keyed(ctx context.Context, st store.Store, san *redact.Sanitizer) (*redact.Sanitizer, error) {
	if san.Tag("") != "" {
		return san, nil
	}
	e, err := st.Get(ctx, tagKey)
	if errors.Is(err, store.ErrNotFound) {
		drawn := make([]byte, 32)
		rand.Read(drawn) // never fails: it ends the process instead
		var value []byte
		if value, err = codec.Encode(tagKey, drawn); err == nil {
			_, err = st.Commit(ctx, store.Op{Key: tagKey, Value: value, If: store.Absent})
		}
		if err == nil {
			return san.WithKey(drawn), nil
		} else if !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("key of the tags: %w", err)
		}
		e, err = st.Get(ctx, tagKey) // another was first
	}
	var secret []byte
	if err == nil {
		err = codec.Decode(e, &secret)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the tags: %w", err)
	}
	return san.WithKey(secret), nil
}

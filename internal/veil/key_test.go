package veil_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// late has another Agent keep its key after the first read found none.
type late struct {
	store.Store
	other *redact.Sanitizer
}

func (l *late) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := l.Store.Get(ctx, key)
	if l.other == nil {
		var lost error
		if l.other, lost = veil.Keyed(ctx, l.Store, new(redact.Sanitizer)); lost != nil {
			return store.Entry{}, lost
		}
	}
	return e, err
}

// Of two Agents that open one store at once, both tag by the key of the first.
func TestKeyOfTheFirst(t *testing.T) {
	t.Parallel()
	st := &late{Store: store.NewMem()}
	san, err := veil.Keyed(t.Context(), st, new(redact.Sanitizer))
	require.NoError(t, err)
	const text = "password=hunter2-and-more"
	require.Contains(t, san.Sanitize(text), "[REDACTED:")
	require.Equal(t, st.other.Sanitize(text), san.Sanitize(text))
}

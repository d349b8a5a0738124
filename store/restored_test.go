package store_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

// raced is a store that another process uses between a look at it and the first commit.
type raced struct {
	store.Store
	meanwhile func()
}

func (r *raced) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if do := r.meanwhile; do != nil {
		r.meanwhile = nil
		do()
	}
	return r.Store.Commit(ctx, ops...)
}

// Of two that restore into one store at the same time, the one that is too late deletes nothing of
// the other's, which was told that all is there.
func TestRestoreDeletesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	ctx, from, to := t.Context(), store.NewMem(), store.NewMem()
	_, err := from.Commit(ctx, store.Op{Key: "a", Value: []byte("1")}, store.Op{Key: "b", Value: []byte("2")})
	require.NoError(t, err)
	var file bytes.Buffer
	_, err = store.Backup(ctx, from, &file)
	require.NoError(t, err)
	late := &raced{to, func() {
		n, err := store.Restore(ctx, to, bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		require.Equal(t, 2, n)
	}}
	_, err = store.Restore(ctx, late, bytes.NewReader(file.Bytes()))
	require.ErrorIs(t, err, store.ErrConflict)
	e, err := to.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(e.Value))
}

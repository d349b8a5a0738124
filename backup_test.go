package arc_test

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// A backup of one store becomes another, in which everything goes on.
func TestBackup(t *testing.T) {
	t.Parallel()
	from, to := store.NewMem(), disk(t)
	a := populate(t, from)
	var file bytes.Buffer
	n, err := a.Backup(t.Context(), &file)
	require.NoError(t, err)
	before := scan(t, a, from)
	require.Len(t, before, n)
	for _, read := range []func() (int, error){
		func() (int, error) { return a.Verify(t.Context()) },
		func() (int, error) { return store.Verify(bytes.NewReader(file.Bytes())) },
		func() (int, error) { return store.Restore(t.Context(), to, bytes.NewReader(file.Bytes())) },
	} {
		m, err := read()
		require.NoError(t, err)
		require.Equal(t, n, m)
	}
	require.Equal(t, before, scan(t, nil, to))
	b := empty(t, to)
	for _, scope := range []memory.Scope{"acme/anna", "ajax"} {
		require.Equal(t, string(export(t, a, scope)), string(export(t, b, scope)))
		run(t, b, arc.Objective{Text: "go on", Scope: scope})
	}
}

// Verify names what is damaged, wherever it lies, and nothing else.
func TestVerifyNamesDamage(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	a := populate(t, st)
	n, all := 0, scan(t, a, st)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		v := all[k]
		if n++; n%40 != 0 || len(v) < 6 || strings.Contains(k, "\x00status\x00") {
			continue
		}
		bad := []byte(v)
		bad[len(bad)-1] ^= 1
		_, err := st.Commit(t.Context(), store.Op{Key: k, Value: bad})
		require.NoError(t, err)
		_, err = a.Verify(t.Context())
		require.ErrorIs(t, err, store.ErrDamaged)
		require.ErrorContains(t, err, strconv.Quote(k))
		_, err = st.Commit(t.Context(), store.Op{Key: k, Value: []byte(v)})
		require.NoError(t, err)
	}
	_, err := a.Verify(t.Context())
	require.NoError(t, err)
}

package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

var sharingRules = []rule{
	{"slices passed in are not kept", slicesIn},
	{"slices returned belong to the caller", slicesOut},
}

func slicesIn(t tb, st store.Store) {
	value := []byte("one")
	ops := []store.Op{{Key: "a", Value: value}, put("b", "two")}
	commit(t, st, ops...)
	copy(value, "xxx")
	ops[0], ops[1] = store.Op{}, store.Op{}
	requireValue(t, st, "a", "one")
	requireValue(t, st, "b", "two")

	// A large value may take another way than a small one.
	large := make([]byte, store.MaxValue)
	commit(t, st, store.Op{Key: "large", Value: large})
	large[len(large)-1] = 1
	e, err := st.Get(t.Context(), "large")
	require.NoError(t, err)
	require.Len(t, e.Value, len(large))
	require.Zero(t, e.Value[len(large)-1])
}

func slicesOut(t tb, st store.Store) {
	commit(t, st, put("a", "one"), put("b", "two"))
	spoil := func(e store.Entry) {
		full := e.Value[:cap(e.Value)] // also what lies behind the value
		for i := range full {
			full[i] = 'x'
		}
	}
	want := map[string]string{"a": "one", "b": "two"}
	spoil(requireValue(t, st, "a", "one"))
	require.Equal(t, want, values(scan(t, st, store.Range{})))
	kept := scan(t, st, store.Range{})
	for _, e := range scan(t, st, store.Range{}) {
		spoil(e)
	}
	require.Equal(t, want, values(kept), "entries of an earlier scan")
	require.Equal(t, want, values(scan(t, st, store.Range{})))

	held := requireValue(t, st, "a", "one")
	commit(t, st, put("a", "ONE"))
	commit(t, st, del("a"))
	require.Equal(t, "one", string(held.Value), "an entry that is held while its key changes")
}

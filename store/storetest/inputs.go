package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

var inputRules = []rule{
	{"a bad key is ErrKey and stores nothing", badKeys},
	{"a key named twice is ErrKey and stores nothing", keyTwice},
	{"what is over a limit is a LimitError and stores nothing", overLimits},
	{"what is at a limit is stored", atLimits},
	{"a context that ended stores nothing", endedContext},
	{"a nil context is an error", nilContext},
}

// requireRefused commits ops beside a good one and wants none of it stored.
func requireRefused(t tb, st store.Store, want error, ops ...store.Op) {
	t.Helper()
	before := scan(t, st, store.Range{})
	rev, err := st.Commit(t.Context(), append([]store.Op{put("good", "1")}, ops...)...)
	require.Zero(t, rev, "the revision beside an error")
	if want != nil {
		require.ErrorIs(t, err, want)
	} else {
		limit := new(store.LimitError)
		require.ErrorAs(t, err, &limit)
		require.Greater(t, limit.Got, limit.Limit)
		require.NotEmpty(t, limit.Field)
	}
	require.Equal(t, before, scan(t, st, store.Range{}))
}

func badKeys(t tb, st store.Store) {
	for _, key := range []string{"", "\xff", "a\xc3", "\xed\xa0\x80", "a\x80b"} {
		requireRefused(t, st, store.ErrKey, put(key, "1"))
		requireRefused(t, st, store.ErrKey, del(key))
		_, err := st.Get(t.Context(), key)
		require.ErrorIs(t, err, store.ErrKey, "get %q", key)
	}
}

func keyTwice(t tb, st store.Store) {
	requireRefused(t, st, store.ErrKey, put("a", "1"), put("a", "1"))
	requireRefused(t, st, store.ErrKey, put("a", "1"), put("b", "1"), del("a"))
	requireRefused(t, st, store.ErrKey, del("a"), del("a"))
	ops := []store.Op{}
	for i := range 100 {
		ops = append(ops, put(fmt.Sprint("k", i), "1"))
	}
	requireRefused(t, st, store.ErrKey, append(ops, put("k50", "1"))...)
}

func overLimits(t tb, st store.Store) {
	long := strings.Repeat("k", store.MaxKey+1)
	requireRefused(t, st, nil, put(long, "1"))
	requireRefused(t, st, nil, del(long))
	_, err := st.Get(t.Context(), long)
	limit := new(store.LimitError)
	require.ErrorAs(t, err, &limit, "get of a long key")

	requireRefused(t, st, nil, put("a", strings.Repeat("v", store.MaxValue+1)))
	half := strings.Repeat("v", store.MaxCommitBytes/2)
	requireRefused(t, st, nil, put("a", half), put("b", half))
	var ops []store.Op
	for i := range store.MaxCommitOps {
		ops = append(ops, put(fmt.Sprint("k", i), ""))
	}
	requireRefused(t, st, nil, ops...)
}

func atLimits(t tb, st store.Store) {
	long := strings.Repeat("k", store.MaxKey)
	large := strings.Repeat("v", store.MaxValue)
	rest := strings.Repeat("w", store.MaxCommitBytes-store.MaxValue-store.MaxKey-len("rest"))
	commit(t, st, put(long, large), put("rest", rest))
	requireValue(t, st, long, large)
	requireValue(t, st, "rest", rest)

	var ops []store.Op
	for i := range store.MaxCommitOps {
		ops = append(ops, put(fmt.Sprintf("many/%05d", i), "1"))
	}
	commit(t, st, ops...)
	require.Len(t, scan(t, st, store.Range{Prefix: "many/"}), store.MaxCommitOps)
}

func endedContext(t tb, st store.Store) {
	commit(t, st, put("a", "1"))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, ctx := range []context.Context{canceled, late} {
		rev, err := st.Commit(ctx, put("a", "2"), put("b", "2"))
		require.ErrorIs(t, err, ctx.Err(), "commit")
		require.Zero(t, rev)
		_, err = st.Get(ctx, "a")
		require.ErrorIs(t, err, ctx.Err(), "get")
		require.ErrorIs(t, scanError(ctx, st), ctx.Err(), "scan")
	}
	require.Equal(t, map[string]string{"a": "1"}, values(scan(t, st, store.Range{})))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fill(t, st, many)
	n := 0
	var last error
	for _, err := range st.Scan(ctx, store.Range{Prefix: "k"}) {
		n++
		last = err
		cancel()
	}
	require.ErrorIs(t, last, context.Canceled, "a scan whose context ends")
	require.LessOrEqual(t, n, many)
}

// scanError returns the error with which a scan of everything ends.
func scanError(ctx context.Context, st store.Store) error {
	var last error
	for _, err := range st.Scan(ctx, store.Range{}) {
		last = err
	}
	return last
}

func nilContext(t tb, st store.Store) {
	var none context.Context
	commit(t, st, put("a", "1"))
	_, err := st.Commit(none, put("a", "2"))
	require.Error(t, err, "commit")
	_, err = st.Get(none, "a")
	require.Error(t, err, "get")
	require.Error(t, scanError(none, st), "scan")
	requireValue(t, st, "a", "1")
}

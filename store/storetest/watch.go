package storetest

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest/internal/feedtest"
)

var watchRules = []rule{
	{"watch yields what exists and then what changes", isA(watchOrder)},
	{"watch keeps to prefix and after", isA(watchRange)},
	{"watch misses nothing between now and later", isA(watchGapless)},
	{"watch ends with its context, and with the store", isA(watchEnds)},
	{"watch shares no slices", isA(watchSlices)},
	{"watches say what was committed", isA(func(t tb, st watchedStore) { feedsOf(t, st) })},
}

type watchedStore interface {
	store.Store
	store.Watcher
}

// isA skips a rule for a store that is no S.
func isA[S store.Store](check func(t tb, st S)) func(t tb, st store.Store) {
	return func(t tb, st store.Store) { check(t, as[S](t, st)) }
}

// as returns st as an S, which not all stores are.
func as[S store.Store](t tb, st store.Store) S {
	s, ok := st.(S)
	if !ok {
		t.Skipf("%T is no %v", st, reflect.TypeFor[S]())
	}
	return s
}

// watch collects what Watch yields until the key last comes, and calls
// started after the first entry.
func watch(t tb, st watchedStore, prefix string, after store.Revision, last string, started func()) []store.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []store.Entry
	for e, err := range st.Watch(ctx, prefix, after) {
		require.NoError(t, err, "watch; so far: %v", all)
		all = append(all, e)
		if e.Deleted {
			require.Empty(t, e.Value, "a deletion has no value")
		}
		if e.Key == last {
			break
		}
		if len(all) == 1 {
			started()
		}
	}
	for i := 1; i < len(all); i++ {
		require.GreaterOrEqual(t, all[i].Rev, all[i-1].Rev, "in order of revision: %v", all)
	}
	return all
}

func watchOrder(t tb, st watchedStore) {
	commit(t, st, put("c", "1"))
	commit(t, st, put("gone", "1"))
	rev := commit(t, st, put("a", "1"))
	commit(t, st, del("gone"))
	commit(t, st, put("b", "1"))
	commit(t, st, put("c", "2"))
	var changed []store.Revision
	got := watch(t, st, "", 0, "last", func() {
		changed = []store.Revision{
			commit(t, st, put("b", "2")),
			commit(t, st, del("a")),
			commit(t, st, put("a", "3")),
			commit(t, st, put("last", "")),
		}
	})
	require.Equal(t, []string{"a", "b", "c", "b", "a", "a", "last"}, keys(got))
	require.Equal(t, rev, got[0].Rev)
	require.Equal(t, []string{"1", "1", "2", "2", "", "3", ""}, func() (vs []string) {
		for i, e := range got {
			require.Equal(t, i == 4, e.Deleted, "%v", e)
			vs = append(vs, string(e.Value))
		}
		return vs
	}())
	for i, rev := range changed {
		require.Equal(t, rev, got[3+i].Rev)
	}
}

func watchRange(t tb, st watchedStore) {
	commit(t, st, put("w/old", "1"))
	rev := commit(t, st, put("w/seen", "1"), put("other", "1"))
	commit(t, st, put("w/new", "1"), put("x", "1"))
	got := watch(t, st, "w/", rev, "w/last", func() {
		commit(t, st, put("other", "2"), put("w", "2"))
		commit(t, st, put("w/old", "2"), put("x", "2"))
		commit(t, st, put("w/last", "2"))
	})
	require.Equal(t, []string{"w/new", "w/old", "w/last"}, keys(got))
}

// watchGapless begins to watch while a writer is busy: each of its keys comes
// once, whether it was there before or not.
func watchGapless(t tb, st watchedStore) {
	const n = 300
	key := func(i int) string { return fmt.Sprintf("g%04d", i) }
	commit(t, st, put(key(0), "1"))
	half := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for i := 1; i < n; i++ {
			if i == n/2 {
				close(half)
			}
			if _, err := st.Commit(t.Context(), put(key(i), "1")); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	<-half
	got := watch(t, st, "g", 0, key(n-1), func() {})
	require.NoError(t, <-done)
	want := []string{}
	for i := range n {
		want = append(want, key(i))
	}
	require.Equal(t, want, keys(got))
}

func watchEnds(t tb, st watchedStore) {
	commit(t, st, put("a", "1"))
	end := func(ctx context.Context, body func()) error {
		var last error
		for _, err := range st.Watch(ctx, "", 0) {
			last = err
			if err == nil {
				body()
			}
		}
		return last
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.ErrorIs(t, end(ctx, cancel), context.Canceled)
	require.ErrorIs(t, end(ctx, func() {}), context.Canceled, "ended before")
	ctx, cancelLate := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelLate()
	require.ErrorIs(t, end(ctx, func() {}), context.DeadlineExceeded)
	var none context.Context
	require.Error(t, end(none, func() {}), "nil context")

	watched, closed := make(chan struct{}), make(chan error, 1)
	go func() {
		closed <- end(t.Context(), func() { close(watched) })
	}()
	<-watched
	require.NoError(t, st.Close())
	require.ErrorIs(t, <-closed, store.ErrClosed, "closed while it waits")
	require.ErrorIs(t, end(t.Context(), func() {}), store.ErrClosed, "closed before")
}

func watchSlices(t tb, st watchedStore) {
	commit(t, st, put("a", "one"))
	value := []byte("two")
	first := true
	for _, e := range watch(t, st, "", 0, "last", func() {
		commit(t, st, store.Op{Key: "b", Value: value})
		copy(value, "xxx")
		commit(t, st, put("last", ""))
	}) {
		if e.Key == "b" {
			require.Equal(t, "two", string(e.Value))
		}
		first = false
		for i := range e.Value {
			e.Value[i] = 'x'
		}
	}
	require.False(t, first)
	requireValue(t, st, "a", "one")
	requireValue(t, st, "b", "two")
}

// feedsOf checks runs of writers and watches against a log of what was committed.
func feedsOf(t tb, handles ...feedtest.Store) {
	feedtest.Check(t, &feedtest.Options{Open: func() ([]feedtest.Store, error) { return handles, nil }})
}

package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

// follow collects what a Watch yields.
func follow(t *testing.T, st *postgres.Store, after store.Revision) <-chan store.Entry {
	ctx, cancel := context.WithCancel(t.Context())
	found, done := make(chan store.Entry, 10_000), make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range st.Watch(ctx, "", after) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("watch: %v", err)
				}
				return
			}
			found <- e
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return found
}

func next(t *testing.T, from <-chan store.Entry) store.Entry {
	t.Helper()
	select {
	case e := <-from:
		return e
	case <-time.After(10 * time.Second):
		require.FailNow(t, "a watch yields nothing")
		return store.Entry{}
	}
}

func put(t *testing.T, st store.Store, key string) store.Revision {
	t.Helper()
	rev, err := st.Commit(t.Context(), store.Op{Key: key, Value: []byte(key)})
	require.NoError(t, err)
	return rev
}

// A commit that began first and ends last is neither skipped by a Watch that has gone on,
// nor by one that begins meanwhile, nor by one that is taken up after what it yielded.
func TestLateCommitIsNotSkipped(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	first := put(t, st, "first")
	early := follow(t, st, 0)
	require.Equal(t, "first", next(t, early).Key)

	conn, err := pgx.Connect(t.Context(), conninfo)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	late, err := conn.Begin(t.Context())
	require.NoError(t, err)
	var rev int64
	sealed := binary.BigEndian.AppendUint32(nil, crc32.Checksum([]byte("late"), crc32.MakeTable(crc32.Castagnoli)))
	require.NoError(t, late.QueryRow(t.Context(), "SELECT rev FROM "+name+".arc_commit(2, $1, $2, '{0}', '{1}')",
		[][]byte{[]byte("late")}, [][]byte{sealed}).Scan(&rev))
	second := put(t, st, "second")
	require.Greater(t, second, store.Revision(rev))
	_, err = st.Commit(t.Context(), store.Op{Key: "first", Delete: true})
	require.NoError(t, err)
	meanwhile := follow(t, st, 0)
	resumed := follow(t, st, first)
	select {
	case e := <-early:
		require.FailNow(t, "a watch went past a commit at work", "%+v", e)
	case e := <-meanwhile:
		require.FailNow(t, "a watch that begins went past a commit at work", "%+v", e)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, late.Commit(t.Context()))
	for _, w := range []<-chan store.Entry{early, meanwhile, resumed} {
		require.Equal(t, store.Revision(rev), next(t, w).Rev)
		require.Equal(t, second, next(t, w).Rev)
	}
	require.True(t, next(t, early).Deleted)
	last := put(t, st, "last")
	for _, w := range []<-chan store.Entry{early, meanwhile, resumed} {
		require.Equal(t, last, next(t, w).Rev, "a deletion from before a watch is none of its changes")
	}
}

// A long transaction of others does not hold back what is watched, nor where a Watch looks
// so often that no wait of it is long.
func TestLongTransactionOfOthers(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), database(t))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, poll := range []time.Duration{0, time.Millisecond} {
		st, err := postgres.Open(t.Context(), conninfo, &postgres.Options{Schema: schema(t), Poll: poll})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, st.Close()) })
		other, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = other.Exec(t.Context(), "SELECT pg_current_xact_id()")
		require.NoError(t, err)
		found := follow(t, st, 0)
		for i := range 5 {
			rev := put(t, st, fmt.Sprint("k", i))
			require.Equal(t, rev, next(t, found).Rev)
		}
		require.NoError(t, other.Rollback(t.Context()))
	}
}

// Connections that are cut, the listener's too, lose nothing.
func TestWatchThroughCuts(t *testing.T) {
	st := open(t, schema(t))
	put(t, st, "k000")
	found := follow(t, st, 0)
	require.Equal(t, "k000", next(t, found).Key)
	want := []string{}
	for i := range 100 {
		if i%10 == 0 {
			run(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
		}
		key := fmt.Sprintf("k%03d", i+1)
		for {
			_, err := st.Commit(t.Context(), store.Op{Key: key, Value: []byte(key), If: store.Absent})
			if err == nil || errors.Is(err, store.ErrConflict) { // a try before had an unknown outcome
				break
			}
		}
		want = append(want, key)
	}
	got := []string{}
	for range want {
		got = append(got, next(t, found).Key)
	}
	require.Equal(t, want, got)
}

// The first Watch of a Store begins to listen while the Store closes.
func TestFirstWatchBesideClose(t *testing.T) {
	name := schema(t)
	for range 50 {
		st, err := postgres.Open(t.Context(), database(t), &postgres.Options{Schema: name})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			for _, err := range st.Watch(t.Context(), "", 0) {
				ended <- err
			}
		}()
		require.NoError(t, st.Close())
		require.ErrorIs(t, <-ended, store.ErrClosed)
	}
}

// What was pruned before it was read is an error, not a gap.
func TestWatchThatFellBehind(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	put(t, st, "a")
	var last error
	for _, err := range st.Watch(t.Context(), "", 0) {
		if last = err; err != nil {
			break
		}
		for i := range 5 {
			put(t, st, fmt.Sprint(i))
		}
		run(t, "SELECT "+name+".arc_prune('0 seconds')")
	}
	require.ErrorContains(t, last, "pruned before they were read")
}

// So is the rest of a commit that was read in part, where that commit is the last one pruned.
func TestWatchThatFellBehindInACommit(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	put(t, st, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var last error
	n := 0
	for e, err := range st.Watch(ctx, "", 0) {
		if last = err; err != nil || e.Key == "next" {
			break
		}
		switch n++; n {
		case 1:
			ops := make([]store.Op, 300)
			for i := range ops {
				ops[i].Key = fmt.Sprintf("k%03d", i)
			}
			_, err := st.Commit(t.Context(), ops...)
			require.NoError(t, err)
		case 2:
			put(t, st, "next")
			run(t, "SELECT "+name+".arc_prune('0 seconds')")
			run(t, fmt.Sprintf("UPDATE %s.arc_meta SET pruned = %d", name, e.Rev)) // as if no id was between the two
		}
	}
	require.ErrorContains(t, last, "pruned before they were read", "after %d entries", n)
}

// Pruning keeps the last change and what is not old.
func TestPrune(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	for i := range 10 {
		put(t, st, fmt.Sprint(i))
	}
	kept := func() int { return count(t, "SELECT count(*) FROM "+name+".arc_changes") }
	run(t, "SELECT "+name+".arc_prune('1 hour')")
	require.Equal(t, 10, kept())
	run(t, "SELECT "+name+".arc_prune('0 seconds')")
	require.Equal(t, 1, kept())
	short, err := postgres.Open(t.Context(), conninfo, &postgres.Options{Schema: name, Keep: 50 * time.Millisecond})
	require.NoError(t, err)
	defer short.Close()
	put(t, st, "x")
	put(t, st, "y")
	within(t, "the Store prunes", func() bool { return kept() == 1 })
}

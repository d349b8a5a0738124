package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

// suite runs the conformance suite at a connection string.
func suite(t *testing.T, at string) {
	var names sync.Map
	storetest.Run(t, func(dir string) (store.Store, error) {
		name, there := names.Load(dir)
		if !there {
			name = schema(t)
			names.Store(dir, name)
		}
		return postgres.Open(t.Context(), at, &postgres.Options{Schema: name.(string)})
	}, storetest.Options{})
}

func TestStore(t *testing.T) {
	need(t)
	suite(t, dsn)
}

// A commit that is begun within a transaction of the host holds off those of other stores until the
// transaction ends: so a follower sees it first, or never.
func TestInTx(t *testing.T) {
	name, ctx := schema(t), t.Context()
	st, other := open(t, dsn, postgres.Options{Schema: name}), open(t, dsn, postgres.Options{Schema: name})
	prefix := store.Scope("acme").TenantPrefix()
	q, err := queue.Open(ctx, store.NewGroup(store.Sub(other, prefix)), nil)
	require.NoError(t, err)
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	for _, commits := range []bool{false, true} {
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		in := st.InTx(tx)
		_, err = in.Get(ctx, "none")
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = in.Commit(ctx, store.Op{Key: "none", Check: true, If: store.At(7)})
		require.ErrorIs(t, err, store.ErrConflict)
		enqueue, err := queue.Open(ctx, store.NewGroup(store.Sub(in, prefix)), nil)
		require.NoError(t, err)
		job, _, err := enqueue.Add(ctx, queue.Draft{Subject: "ship order 7"})
		require.NoError(t, err)
		got := make(chan store.Revision, 1)
		go func() {
			rev, err := other.Commit(context.WithoutCancel(ctx), store.Op{Key: "beside", Value: []byte("1")})
			assert.NoError(t, err)
			got <- rev
		}()
		require.Eventually(t, func() bool {
			return len(execute(t, dsn, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")) > 0
		}, 10*time.Second, 5*time.Millisecond)
		require.Empty(t, got)
		if !commits {
			require.NoError(t, tx.Rollback(ctx))
			<-got
			_, err = q.Claim(ctx)
			require.ErrorIs(t, err, queue.ErrEmpty)
			continue
		}
		require.NoError(t, tx.Commit(ctx))
		rev := <-got
		claimed, err := q.Claim(ctx)
		require.NoError(t, err)
		require.Equal(t, job.ID, claimed.ID)
		for e, err := range st.Scan(ctx, store.Range{Prefix: "beside"}) {
			require.NoError(t, err)
			require.Equal(t, rev, e.Rev)
		}
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	_, err = st.InTx(tx).Commit(ctx, store.Op{Key: "a", Value: []byte("1")})
	require.ErrorContains(t, err, "read committed")
	require.NoError(t, tx.Rollback(ctx))
}

// Deleted keys are told for as long as Keep, and no longer; after Compact nothing deleted is in the table.
func TestPurge(t *testing.T) {
	name, ctx := schema(t), t.Context()
	st := open(t, dsn, postgres.Options{Schema: name, Keep: 50 * time.Millisecond})
	rev, err := st.Commit(ctx, store.Op{Key: "a", Value: []byte("a secret")},
		store.Op{Key: "b", Value: []byte("1")})
	require.NoError(t, err)
	changes := func(after store.Revision) (keys []string) {
		for e, err := range st.Changes(ctx, "", after) {
			require.NoError(t, err)
			keys = append(keys, fmt.Sprint(e.Key, e.Deleted))
		}
		return keys
	}
	_, err = st.Commit(ctx, store.Op{Key: "a", Delete: true})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return slices.Equal(changes(rev), []string{"true"}) },
		10*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{"bfalse", "false"}, changes(0), "everything again")
	require.Equal(t, []string{"true"}, changes(1000), "from a former life of the database")
	require.Equal(t, []string{"false"}, changes(store.Latest))

	long := open(t, dsn, postgres.Options{Schema: name})
	for _, op := range []store.Op{{Key: "c", Value: []byte("a secret")}, {Key: "c", Value: []byte("x")},
		{Key: "b", Delete: true}} {
		rev, err = long.Commit(ctx, op)
		require.NoError(t, err)
	}
	require.NoError(t, long.Compact(ctx))
	require.Equal(t, []any{int64(1)}, execute(t, dsn, "SELECT count(*) FROM "+name+".arc_entries"))
	execute(t, dsn, "CREATE EXTENSION IF NOT EXISTS pageinspect")
	rows := "SELECT lp_off FROM heap_page_items(get_raw_page('" + name +
		".arc_entries', 0)) WHERE t_data IS NOT NULL"
	require.Len(t, execute(t, dsn, rows), 1, "rows of what was replaced are cleared away")
}

// What is purged of one tenant is told to its followers, and to those of all, and to no other tenant's.
func TestPurgeOfATenant(t *testing.T) {
	ctx, st := t.Context(), open(t, dsn, postgres.Options{Schema: schema(t)})
	commit := func(op store.Op) store.Revision {
		rev, err := st.Commit(ctx, op)
		require.NoError(t, err)
		return rev
	}
	var rev store.Revision
	for _, key := range []string{"due/1", "t/acmé/a", "t/boss/a", "t/boss\\/a", "t/boss\x00/a", "t/boss/b"} {
		rev = commit(store.Op{Key: key})
	}
	remove := func(key string) (at store.Revision) {
		at = commit(store.Op{Key: key, Delete: true})
		require.NoError(t, st.Compact(ctx))
		return at
	}
	told := func(after store.Revision) (prefixes []string) {
		for _, prefix := range []string{"", "due/", "t/acmé/", "t/acmé/s/", "t/boss/", "t/boss\\/", "t/boss\x00/", "t/bos", "t/new/"} {
			for e, err := range st.Changes(ctx, prefix, after) {
				require.NoError(t, err)
				require.Empty(t, e.Key)
				require.GreaterOrEqual(t, e.Rev, after)
				if e.Deleted {
					prefixes = append(prefixes, prefix)
				}
			}
		}
		return prefixes
	}
	require.Empty(t, told(rev))
	boss := remove("t/boss/b")
	require.Equal(t, []string{"", "due/", "t/boss/", "t/bos"}, told(rev), "and to whoever may have keys of several")
	require.Empty(t, told(boss))
	due := remove("due/1")
	require.Equal(t, []string{"", "due/", "t/bos"}, told(boss))
	remove("t/acmé/a")
	require.Equal(t, []string{"", "due/", "t/acmé/", "t/acmé/s/", "t/bos"}, told(due))
	require.Equal(t, []string{"", "due/", "t/acmé/", "t/acmé/s/", "t/boss/", "t/bos"}, told(rev))
}

// Who follows a tenant has PostgreSQL read what has changed of that tenant alone, however much others have written.
func TestQuietTenant(t *testing.T) {
	name, ctx := schema(t), t.Context()
	st := open(t, dsn, postgres.Options{Schema: name})
	write := func(tenant string, n int) (rev store.Revision) {
		var ops []store.Op
		for i := range n {
			ops = append(ops, store.Op{Key: fmt.Sprint("t/", tenant, "/", i)})
		}
		rev, err := st.Commit(ctx, ops...)
		require.NoError(t, err)
		return rev
	}
	rev := write("acme", 4000)
	write("boss", 4000)
	write("acme", 1)
	require.NoError(t, st.Close()) // so that its statistics are told
	execute(t, dsn, "ANALYZE "+name+".arc_entries")
	read := func() int64 {
		n := execute(t, dsn, "SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'arc_entries'", name)
		return n[0].(int64)
	}
	was := read()
	st = open(t, dsn, postgres.Options{Schema: name})
	n := 0
	for _, err := range st.Changes(ctx, "t/acme/", rev) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 2, n)
	require.NoError(t, st.Close())
	require.Eventually(t, func() bool { return read() > was }, 10*time.Second, 10*time.Millisecond)
	require.Less(t, read()-was, int64(10))
}

// A Layer and a Queue that have not heard of a deletion before a Compact go on, with what there is.
func TestAwayForTooLong(t *testing.T) {
	name, ctx := schema(t), t.Context()
	var layers []*learn.Layer
	var queues []*queue.Queue
	var st *postgres.Store
	for range 2 {
		st = open(t, dsn, postgres.Options{Schema: name})
		l, err := learn.New(ctx, st, &learn.Options{Scope: "acme"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		q, err := queue.Open(ctx, store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix())), nil)
		require.NoError(t, err)
		layers, queues = append(layers, l), append(queues, q)
	}
	told := func() (texts []string) {
		a, err := layers[1].Before(ctx, learn.Case{Text: "refund the order"})
		require.NoError(t, err)
		for _, h := range a.Memories {
			texts = append(texts, h.Record.Content)
		}
		return texts
	}
	memories := layers[0].Memory("acme")
	r, err := memories.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "refund in euros"})
	require.NoError(t, err)
	require.Equal(t, []string{"refund in euros"}, told())
	_, err = queues[1].Claim(ctx)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.NoError(t, memories.Forget(ctx, r.ID))
	_, err = memories.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "refund within a day"})
	require.NoError(t, err)
	_, _, err = queues[0].Add(ctx, queue.Draft{Subject: "ship order 7"})
	require.NoError(t, err)
	require.NoError(t, st.Compact(ctx))
	for range 3 {
		require.Equal(t, []string{"refund within a day"}, told())
	}
	j, err := queues[1].Claim(ctx)
	require.NoError(t, err)
	require.Equal(t, "ship order 7", j.Subject)
}

// Processes that open a database at once make one schema; a search_path and another store in the database
// change nothing; what is no store of arc, or a newer one, is refused; no right to create is needed
// afterwards.
func TestSchema(t *testing.T) {
	name, ctx := schema(t), t.Context()
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			st, err := postgres.Open(ctx, dsn+" options='-c search_path=nowhere'", &postgres.Options{Schema: name})
			if err == nil {
				_, err = st.Commit(ctx, store.Op{Key: "a", Value: []byte(name)})
				err = errors.Join(err, st.Close())
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	another := open(t, dsn, postgres.Options{Schema: schema(t)})
	_, err := another.Get(ctx, "a")
	require.ErrorIs(t, err, store.ErrNotFound)

	execute(t, dsn, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { execute(t, dsn, "DROP OWNED BY "+name); execute(t, dsn, "DROP ROLE "+name) })
	for _, on := range []string{"USAGE ON SCHEMA ", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ",
		"USAGE, SELECT ON ALL SEQUENCES IN SCHEMA "} {
		execute(t, dsn, "GRANT "+on+name+" TO "+name)
	}
	st := open(t, dsn+" user="+name, postgres.Options{Schema: name})
	_, err = st.Commit(ctx, store.Op{Key: "a", Value: []byte("of a role without rights")})
	require.NoError(t, err)
	_, err = st.Commit(ctx, store.Op{Key: random(4000), Value: nil})
	require.ErrorIs(t, err, store.ErrInvalid)

	given := schema(t) // by somebody who may make schemas
	execute(t, dsn, "CREATE SCHEMA "+given+" AUTHORIZATION "+name)
	_, err = open(t, dsn+" user="+name, postgres.Options{Schema: given}).Get(ctx, "a")
	require.ErrorIs(t, err, store.ErrNotFound)

	execute(t, dsn, "UPDATE "+name+".arc_meta SET version = 2")
	_, err = postgres.Open(ctx, dsn, &postgres.Options{Schema: name})
	require.ErrorIs(t, err, store.ErrVersion)
	execute(t, dsn, "ALTER TABLE "+name+".arc_meta RENAME version TO edition")
	_, err = postgres.Open(ctx, dsn, &postgres.Options{Schema: name})
	require.ErrorIs(t, err, store.ErrForeign)
	execute(t, dsn, "DROP FUNCTION "+name+".arc_put")
	_, err = st.Commit(ctx, store.Op{Key: "a", Value: nil})
	require.ErrorIs(t, err, store.ErrVersion, "the schema has moved on beneath an open store")
	_, err = postgres.Open(ctx, "host=127.0.0.1 password=hunter2222 port=x", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2222")
}

// random is a text that does not compress.
func random(n int) string {
	r, b := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.IntN(90))
	}
	return string(b)
}

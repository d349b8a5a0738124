package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// What an Agent erases stands in no table any more, whoever has written it, and what stays of
// others is as it was.
func TestEraseLeavesNoChange(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	work := func(context.Context, act.Work) (act.Result, error) {
		return act.Result{Output: []byte(`"walrus"`), Reflection: iar.Reflection{Status: iar.Success, Confidence: .9, Summary: "done"}}, nil
	}
	a, err := arc.New(t.Context(), st, shippers(work), &arc.Options{Replica: "a", Lease: replicaLease})
	require.NoError(t, err)
	defer a.Close()
	for _, scope := range []memory.Scope{"acme/anna", "acme/bert"} {
		_, err = a.In(scope).Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the walrus of " + string(scope)})
		require.NoError(t, err)
		_, err := a.Run(t.Context(), arc.Objective{Text: "feed the walrus of " + string(scope), Scope: scope})
		require.NoError(t, err)
	}
	said := func(table, word string) int {
		return count(t, fmt.Sprintf("SELECT count(*) FROM %s.%s WHERE position('%s'::bytea in value) > 0", name, table, word))
	}
	others := said("arc_entries", "acme/bert")
	require.NoError(t, a.Erase(t.Context(), "acme/anna"))
	require.Zero(t, said("arc_entries", "acme/anna"))
	require.Zero(t, said("arc_changes", "acme/anna"), "a Watch of another process could still read it")
	require.Equal(t, others, said("arc_entries", "acme/bert"))
	require.NotZero(t, said("arc_changes", "acme/bert"))
}

// A Watch that is behind a Purge hears of the last change of each key.
func TestWatchBehindAPurge(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	commit := func(op store.Op) store.Revision {
		rev, err := st.Commit(t.Context(), op)
		require.NoError(t, err)
		return rev
	}
	commit(store.Op{Key: "w/0", Value: []byte("first")})
	var told []string
	for e, err := range st.Watch(t.Context(), "w/", 0) {
		require.NoError(t, err)
		if told = append(told, fmt.Sprintf("%s %s %v", e.Key, e.Value, e.Deleted)); len(told) == 1 { // behind from here on
			commit(store.Op{Key: "w/1", Value: []byte("stays")})
			commit(store.Op{Key: "w/2", Value: []byte("goes")})
			commit(store.Op{Key: "w/2", Delete: true})
			commit(store.Op{Key: "w/3", Value: []byte("is deleted")})
			commit(store.Op{Key: "w/3", Delete: true})
			commit(store.Op{Key: "w/3", Value: []byte("and comes again")})
			require.NoError(t, st.Purge(t.Context()))
			commit(store.Op{Key: "w/4", Value: []byte("last")})
		}
		if e.Key == "w/4" {
			break
		}
	}
	require.Equal(t, []string{
		"w/0 first false", "w/1 stays false", "w/2  true", "w/3 and comes again false", "w/4 last false",
	}, told)
	require.NoError(t, st.Purge(t.Context()))
	require.NoError(t, st.Close())
	require.ErrorIs(t, st.Purge(t.Context()), store.ErrClosed)
}

// Options.Patience is for the connection: a Purge and the first read of a Watch take as long
// as they have to.
func TestOutlastsPatience(t *testing.T) {
	for what, c := range map[string]struct {
		table string
		call  func(st *postgres.Store) error
	}{
		"purge": {"arc_changes", func(st *postgres.Store) error { return st.Purge(t.Context()) }},
		"watch": {"arc_entries", func(st *postgres.Store) error {
			for _, err := range st.Watch(t.Context(), "", 0) {
				return err
			}
			return nil
		}},
	} {
		t.Run(what, func(t *testing.T) {
			name := schema(t)
			st, err := postgres.Open(t.Context(), database(t), &postgres.Options{Schema: name, Patience: 500 * time.Millisecond})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, st.Close()) })
			put(t, st, "key")
			conn, err := pgx.Connect(t.Context(), database(t))
			require.NoError(t, err)
			defer conn.Close(context.WithoutCancel(t.Context()))
			_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE "+name+"."+c.table)
			require.NoError(t, err)
			called := make(chan error, 1)
			go func() { called <- c.call(st) }()
			within(t, "it waits for the lock", func() bool {
				return count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
					AND query LIKE '%`+name+`%' AND clock_timestamp() - query_start > '1 s'`) == 1
			})
			_, err = conn.Exec(t.Context(), "COMMIT")
			require.NoError(t, err)
			require.NoError(t, <-called)
		})
	}
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

// held returns a transaction that holds the locks of a commit of the key "held", of
// which nothing is seen.
func held(t *testing.T, name string) pgx.Tx {
	conn, err := pgx.Connect(t.Context(), conninfo)
	require.NoError(t, err)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock('"+name+".arc_entries'::regclass::oid::int, 0)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return tx
}

const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%arc_commit%' AND pid <> pg_backend_pid()"

func count(t *testing.T, sql string) (n int) {
	conn, err := pgx.Connect(context.Background(), conninfo)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	require.NoError(t, conn.QueryRow(context.Background(), sql).Scan(&n))
	return n
}

// definite is what package store lets stand for "nothing was written".
var definite = []error{
	store.ErrNotFound, store.ErrConflict, store.ErrClosed, store.ErrFull, store.ErrScarce, store.ErrLocked, store.ErrDamaged,
	store.ErrForeign, store.ErrNewer, store.ErrKey, store.ErrFailed, context.Canceled, context.DeadlineExceeded,
}

// A connection that ends while a commit is under way leaves an unknown outcome, and so
// does a server that takes too long; neither looks like an error that is definite.
func TestUnknownOutcome(t *testing.T) {
	name := schema(t)
	open(t, name)
	st, err := postgres.Open(t.Context(), conninfo, &postgres.Options{Schema: name, Patience: 500 * time.Millisecond})
	require.NoError(t, err)
	defer st.Close()
	for _, cut := range []bool{true, false} {
		tx := held(t, name)
		ended := make(chan error, 1)
		go func() {
			_, err := st.Commit(t.Context(), store.Op{Key: "held"})
			ended <- err
		}()
		within(t, "the commit waits", func() bool { return count(t, waiting) == 1 })
		if cut {
			run(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%arc_commit%' AND pid <> pg_backend_pid()")
		}
		err := <-ended
		require.ErrorContains(t, err, "outcome unknown")
		for _, d := range definite {
			require.NotErrorIs(t, err, d)
		}
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// The end of a context does not end a commit that was sent: its outcome is the
// server's.
func TestContextEndsDuringACommit(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	tx := held(t, name)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := st.Commit(ctx, store.Op{Key: "held"})
		ended <- err
	}()
	within(t, "the commit waits", func() bool { return count(t, waiting) == 1 })
	cancel()
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-ended)
	_, err := st.Get(t.Context(), "held")
	require.NoError(t, err)
}

// What the server rolled back for its own reasons is tried again.
func TestRolledBackIsTriedAgain(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	run(t, `CREATE SEQUENCE `+name+`.tries; CREATE FUNCTION `+name+`.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('`+name+`.tries') <= 3 THEN RAISE 'not now' USING ERRCODE = 'serialization_failure'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON `+name+`.arc_entries FOR EACH ROW EXECUTE FUNCTION `+name+`.refuse()`)
	_, err := st.Commit(t.Context(), store.Op{Key: "a", If: store.Absent})
	require.NoError(t, err)
	require.Equal(t, 5, count(t, "SELECT nextval('"+name+".tries')"))
}

// Isolation levels that a commit cannot work in are refused, and so is what the server
// does not have: with an error of its own, at once.
func TestSettingsThatCannotBe(t *testing.T) {
	name := schema(t)
	open(t, name)
	for _, level := range []string{"serializable", "repeatable read"} {
		config, err := pgxpool.ParseConfig(conninfo)
		require.NoError(t, err)
		config.ConnConfig.RuntimeParams["default_transaction_isolation"] = level
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		defer pool.Close()
		st, err := postgres.New(t.Context(), pool, &postgres.Options{Schema: name})
		require.NoError(t, err)
		defer st.Close()
		_, err = st.Commit(t.Context(), store.Op{Key: "a"})
		require.ErrorContains(t, err, "read committed")
	}
	_, err := postgres.Open(t.Context(), conninfo+" dbname=nowhere", nil)
	require.ErrorContains(t, err, "nowhere")
	_, err = postgres.Open(t.Context(), "host=/nowhere", &postgres.Options{Patience: 50 * time.Millisecond})
	require.ErrorContains(t, err, "no connection")
	_, err = postgres.Open(t.Context(), "no conninfo", nil)
	require.Error(t, err)
}

// The error of a conninfo that cannot be read shows no part of a password.
func TestNoErrorShowsAPassword(t *testing.T) {
	for info, want := range map[string]string{
		"postgres://ann:s3cret@db.invalid:x/db": "port", "host=db.invalid password = s3cret sslmode=zzz": "sslmode",
		`password=a\ s3cret port=x`: "port", "password=a s3cret port=1": "quotes", `password="a s3cret" port=1`: "quotes",
		"password = s3cret pool_max_conns=x": "pool_max_conns",
	} {
		_, err := postgres.Open(t.Context(), info, nil)
		require.ErrorContains(t, err, want, info)
		require.NotContains(t, fmt.Sprintf("%v %+v", err, err), "s3cret", info)
		if bad, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			require.NotContains(t, bad.ConnString, "s3cret")
		}
	}
}

// A server that is away for a moment is waited for.
func TestServerRestarts(t *testing.T) {
	if database(t); server == nil {
		t.Skip("SKIPPED: the server is not ours")
	}
	st := open(t, schema(t))
	rev := put(t, st, "before")
	require.NoError(t, server.Crash(t.Context(), 200*time.Millisecond))
	e, err := st.Get(t.Context(), "before")
	require.NoError(t, err)
	require.Equal(t, rev, e.Rev)
	for {
		next, err := st.Commit(t.Context(), store.Op{Key: "after", If: store.Absent})
		if err == nil {
			require.Greater(t, next, rev)
		}
		if err == nil || errors.Is(err, store.ErrConflict) {
			break
		}
		require.ErrorContains(t, err, "outcome unknown")
	}
}

// A pooler may refuse a connection without the code that the protocol asks for.
func TestRefusalWithoutACode(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			pooler := pgproto3.NewBackend(conn, conn)
			_, _ = pooler.ReceiveStartupMessage() // what it says does not matter
			pooler.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Message: "the pool is full"})
			_ = pooler.Flush() // the other side may have gone
			_ = conn.Close()
		}
	}()
	_, err = postgres.Open(t.Context(), "postgres://me@"+listener.Addr().String()+"/arc?sslmode=disable", &postgres.Options{Patience: 50 * time.Millisecond})
	require.ErrorContains(t, err, "no connection")
	require.ErrorContains(t, err, "the pool is full")
	require.NoError(t, listener.Close())
	<-ended
}

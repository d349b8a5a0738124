package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/contrib/postgres/pgtest"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

// The server of all tests: one that they start, or that of ARC_POSTGRES_URL, which no
// test restarts.
var (
	server   *pgtest.Server
	conninfo = os.Getenv("ARC_POSTGRES_URL")
	missing  error
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(remoteSchema) != "" {
		be(serve(os.Stdin, os.Stdout))
	}
	if os.Getenv(replicaSchema) != "" {
		be(replica(context.Background()))
	}
	if conninfo == "" {
		if server, missing = pgtest.Start(context.Background(), "max_connections=300"); missing == nil {
			conninfo = server.Conninfo()
		} else {
			fmt.Fprintln(os.Stderr, "SKIPPED: contrib/postgres:", missing)
		}
	}
	ours := goleak.IgnoreAnyFunction("github.com/arc-learn/arc/contrib/postgres/pgtest.(*Server).launch.func1") // also after a restart
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), ours, goleak.Cleanup(func(code int) {
		if server != nil {
			if err := server.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
		os.Exit(code)
	}))
}

// be ends a process that a test has started as a part of it.
func be(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// database returns where to connect. Without a server the test is skipped.
func database(t testing.TB) string {
	t.Helper()
	if missing != nil {
		t.Skip("SKIPPED: ", missing)
	}
	return conninfo
}

// pooled is conninfo, a URL or keywords and values, with at most so many connections.
func pooled(conns int) string {
	if !strings.Contains(conninfo, "://") {
		return fmt.Sprintf("%s pool_max_conns=%d", conninfo, conns)
	}
	if strings.Contains(conninfo, "?") {
		return fmt.Sprintf("%s&pool_max_conns=%d", conninfo, conns)
	}
	return fmt.Sprintf("%s?pool_max_conns=%d", conninfo, conns)
}

var schemas atomic.Int64

// schema returns the name of one that is dropped after the test.
func schema(t testing.TB) string {
	name := fmt.Sprintf("t%d_%d", os.Getpid(), schemas.Add(1))
	t.Cleanup(func() { run(t, "DROP SCHEMA IF EXISTS "+name+" CASCADE") })
	return name
}

// run executes statements on a connection of its own.
func run(t testing.TB, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), database(t))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), sql)
	require.NoError(t, err, sql)
}

func open(t testing.TB, name string) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(context.Background(), database(t), &postgres.Options{Schema: name})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

func TestStore(t *testing.T) {
	database(t)
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, schema(t)) })
}

func TestDurable(t *testing.T) {
	names := map[string]string{}
	storetest.RunDurable(t, func(dir string) (store.Store, error) {
		if names[dir] == "" {
			names[dir] = schema(t)
		}
		return postgres.Open(t.Context(), database(t), &postgres.Options{Schema: names[dir]})
	}, &storetest.Lacks{Lock: true})
}

func TestShared(t *testing.T) {
	database(t)
	storetest.RunShared(t, func(t *testing.T) (a, b store.Store) {
		name := schema(t)
		return faulty{open(t, name), name}, faulty{open(t, name), name}
	})
}

// within waits for what must happen at some time.
func within(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 10*time.Second, 5*time.Millisecond, what)
}

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

const bouncerConfig = `[databases]
postgres = host=%[1]s port=5432
[pgbouncer]
listen_port = 6432
unix_socket_dir = %[1]s
auth_type = trust
auth_file = %[1]s/users
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
`

// bouncer starts a PgBouncer in transaction mode and returns where it listens.
func bouncer(t *testing.T) string {
	database(t)
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
		_, err = os.Stat(path)
	}
	if err != nil || server == nil {
		t.Skip("SKIPPED: no PgBouncer, or no server of ours: ", err)
	}
	config := filepath.Join(server.Dir(), "pgbouncer.ini")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, bouncerConfig, server.Dir()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(server.Dir(), "users"), []byte(`"arc" ""`), 0o644))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := server.Command(context.Background(), path, config)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
	at := "host=" + server.Dir() + " port=6432 user=arc dbname=postgres"
	within(t, "PgBouncer takes connections", func() bool {
		conn, err := pgx.Connect(context.Background(), at+" default_query_exec_mode=exec")
		return err == nil && conn.Close(context.Background()) == nil
	})
	return at + " default_query_exec_mode=exec"
}

// The whole suite behind a pooler that gives each transaction another connection.
func TestBehindPgBouncer(t *testing.T) {
	at := bouncer(t)
	behind := func(t *testing.T, name string) store.Store {
		st, err := postgres.Open(t.Context(), at, &postgres.Options{Schema: name})
		require.NoError(t, err)
		return st
	}
	storetest.Run(t, func(t *testing.T) store.Store { return behind(t, schema(t)) })
	storetest.RunShared(t, func(t *testing.T) (a, b store.Store) {
		name := schema(t)
		return behind(t, name), open(t, name) // and a second without the pooler
	})
}

package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/postgres"
)

// dsnVariable has the connection string of the tests' server, for processes that the tests start.
const dsnVariable = "ARC_POSTGRES"

// bin is where PostgreSQL's programs are; "" if there are none.
func bin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

// server is a PostgreSQL that a test has started, which ends with the test's process.
type server struct {
	dir    string
	port   int
	attr   *syscall.SysProcAttr
	cmd    *exec.Cmd
	exited chan struct{}
}

// program runs one of a server's programs as a user who is not root.
func (s *server) program(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	return cmd
}

// start makes a cluster and starts its server, with settings as in postgresql.conf.
func start(settings ...string) (s *server, err error) {
	s = &server{attr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}}
	if s.dir, err = os.MkdirTemp("", "arcpg"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		owner, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		s.attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	out, err := s.program(filepath.Join(bin(), "initdb"), "-D", s.dir+"/data", "-U", "arc", "-A", "trust",
		"--no-sync",
		"-E", "UTF8", "--locale", "C").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{"-D", s.dir + "/data", "-k", s.dir, "-p", strconv.Itoa(s.port), "-c",
		"listen_addresses=127.0.0.1",
		"-c", "max_connections=200"}
	for _, set := range settings {
		args = append(args, "-c", set)
	}
	return s, s.launch(args)
}

func (s *server) launch(args []string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd, s.exited = s.program(filepath.Join(bin(), "postgres"), args...), make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	for {
		conn, err := pgx.Connect(context.Background(), s.dsn())
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-s.exited:
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("postgres ended: %s", said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) dsn() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=arc dbname=postgres sslmode=disable", s.port)
}

// stop ends the server, after its sessions if sig is SIGTERM, at once if it is SIGINT, as in a crash if
// SIGQUIT.
func (s *server) stop(sig syscall.Signal) {
	_ = s.cmd.Process.Signal(sig)
	<-s.exited
}

// again starts a server that was stopped.
func (s *server) again() error { return s.launch(s.cmd.Args[1:]) }

// shared is the server of all tests. dsn is how to reach it.
var (
	shared *server
	dsn    = os.Getenv(dsnVariable)
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case dsn != "": // a process that a test has started, or a server that somebody else has
	case bin() == "":
		fmt.Fprintln(os.Stderr, "SKIPPED: contrib/postgres: no PostgreSQL is installed: apt-get install "+
			"postgresql pgbouncer")
	default:
		if shared, err = start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		dsn = shared.dsn()
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		if shared != nil {
			shared.stop(syscall.SIGINT)
			err = os.RemoveAll(shared.dir)
		}
		if err != nil {
			code = 1
		}
		os.Exit(code)
	}))
}

// need skips a test where there is no server.
func need(t testing.TB) {
	t.Helper()
	if dsn == "" {
		t.Skip("SKIPPED: no PostgreSQL is installed")
	}
}

var schemas atomic.Int64

// schema returns the name of one that is dropped after the test.
func schema(t testing.TB) string {
	need(t)
	name := fmt.Sprintf("t%d_%d", os.Getpid(), schemas.Add(1))
	t.Cleanup(func() { execute(t, dsn, "DROP SCHEMA IF EXISTS "+name+" CASCADE") })
	return name
}

// execute runs statements on a connection of its own, and returns the first column of the last one's rows.
func execute(t testing.TB, at, sql string, args ...any) (found []any) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, at)
	require.NoError(t, err)
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sql, args...)
	require.NoError(t, err, sql)
	found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (any, error) {
		values, err := row.Values()
		return slices.Concat(values, []any{nil})[0], err
	})
	require.NoError(t, err, sql)
	return found
}

func open(t testing.TB, at string, o postgres.Options) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), at, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

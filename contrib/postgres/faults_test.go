package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

// The suite behind a PgBouncer that gives each transaction another connection.
func TestBehindPgBouncer(t *testing.T) {
	need(t)
	path := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(path); err != nil || shared == nil {
		t.Skip("SKIPPED: no PgBouncer is installed, or the server is none of the tests'")
	}
	config, port := filepath.Join(shared.dir, "pgbouncer.ini"), shared.port+1
	require.NoError(t, os.WriteFile(config,
		fmt.Appendf(nil, "[databases]\npostgres = host=127.0.0.1 port=%d user=arc\n[pgbouncer]\n"+
			"listen_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"+
			"default_pool_size = 8\nmax_client_conn = 500\n", shared.port, port), 0o644))
	cmd := shared.program(path, config)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	})
	at := fmt.Sprintf("host=127.0.0.1 port=%d user=arc dbname=postgres sslmode=disable", port)
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), at+" default_query_exec_mode=simple_protocol")
		return err == nil && conn.Close(t.Context()) == nil
	}, 10*time.Second, 20*time.Millisecond)
	suite(t, at)
}

// wire is a TCP proxy before a server. It can be cut; then it takes connections again.
type wire struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	mute  atomic.Bool  // what the server says is lost, and the connection with it
	gone  atomic.Int64 // connections before that number are dropped without a word, as by a firewall
	n     int64
}

func newWire(t *testing.T, to int) (w *wire, at string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w = &wire{Listener: l}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", to))
			if err != nil {
				_ = client.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, client, server)
			w.n++
			n := w.n
			w.mu.Unlock()
			all.Go(func() { _, _ = io.Copy(muted{server, w, n, false}, client); _ = server.Close() })
			all.Go(func() { _, _ = io.Copy(muted{client, w, n, true}, server); _ = client.Close() })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
		all.Wait()
	})
	return w, fmt.Sprintf("host=127.0.0.1 port=%d user=arc dbname=postgres sslmode=disable",
		l.Addr().(*net.TCPAddr).Port)
}

type muted struct {
	net.Conn
	w      *wire
	n      int64
	answer bool
}

func (m muted) Write(b []byte) (int, error) {
	if m.n <= m.w.gone.Load() {
		return len(b), nil
	}
	if m.answer && m.w.mute.Load() {
		return 0, io.ErrClosedPipe
	}
	return m.Conn.Write(b)
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// Two stores write while the connections of one are cut again and again. What was acknowledged is there, what
// was of unknown outcome is there or not, and a follower knows all of it in the end and saw no key go back.
func TestCut(t *testing.T) {
	need(t)
	if shared == nil {
		t.Skip("SKIPPED: the server is none of the tests'")
	}
	name := schema(t)
	w, at := newWire(t, shared.port)
	stores := []*postgres.Store{open(t, at, postgres.Options{Schema: name}),
		open(t, dsn, postgres.Options{Schema: name})}
	known, since := map[string]store.Entry{}, store.Revision(0)
	follow := func() {
		for e, err := range stores[0].Changes(t.Context(), "", since) {
			if err != nil {
				return // it is read again from since on
			}
			if e.Key == "" {
				since = e.Rev
			} else {
				require.GreaterOrEqual(t, e.Rev, known[e.Key].Rev)
				known[e.Key] = e
			}
		}
	}
	var writing sync.WaitGroup
	var unknown atomic.Int64
	may := make([]map[string][]string, 8) // by writer and key: the values that it may have in the end
	for i := range may {
		writing.Go(func() {
			may[i] = map[string][]string{}
			at := map[string]store.Revision{}
			for n := range 60 {
				key, value := fmt.Sprint(i, "/", n%5), fmt.Sprint(n)
				rev, err := stores[i%2].Commit(context.WithoutCancel(t.Context()),
					store.Op{Key: key, Value: []byte(value), If: store.At(at[key])})
				if err == nil {
					at[key], may[i][key] = rev, []string{value}
					continue
				}
				if !errors.Is(err, store.ErrConflict) { // which an earlier commit has caused that took place after all
					require.NotErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "the outcome is unknown")
					may[i][key] = append(may[i][key], value)
					unknown.Add(1)
				}
				e, err := stores[1].Get(t.Context(), key)
				if err != nil {
					require.ErrorIs(t, err, store.ErrNotFound)
				}
				at[key] = e.Rev
			}
		})
	}
	ended := make(chan struct{})
	go func() { writing.Wait(); close(ended) }()
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
			w.cut()
		}
		follow()
	}
	follow()
	for _, may := range may {
		for key, values := range may {
			require.Contains(t, values, string(known[key].Value), key)
		}
	}
	t.Log(unknown.Load(), "outcomes were unknown")
}

// An answer that is lost is an outcome that is not known, though the commit took place: it is not made again.
func TestLostAnswer(t *testing.T) {
	need(t)
	if shared == nil {
		t.Skip("SKIPPED: the server is none of the tests'")
	}
	w, at := newWire(t, shared.port)
	name := schema(t)
	st, other := open(t, at, postgres.Options{Schema: name}), open(t, dsn, postgres.Options{Schema: name})
	_, err := st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("1")})
	require.NoError(t, err)
	w.mute.Store(true)
	_, err = st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("2")})
	w.mute.Store(false)
	require.ErrorContains(t, err, "the outcome is unknown")
	require.Eventually(t, func() bool {
		e, err := other.Get(t.Context(), "a")
		return err == nil && string(e.Value) == "2"
	}, 5*time.Second, 5*time.Millisecond)
	_, err = st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("3")})
	require.NoError(t, err, "by another connection")
}

// All idle connections are gone without a word: the next call finds another one within its Patience.
func TestIdleConnections(t *testing.T) {
	need(t)
	if shared == nil {
		t.Skip("SKIPPED: the server is none of the tests'")
	}
	w, at := newWire(t, shared.port)
	st := open(t, at+" pool_max_conns=8", postgres.Options{Schema: schema(t), Patience: 12 * time.Second})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range st.Scan(t.Context(), store.Range{}) {
			}
		})
	}
	all.Wait()
	<-time.After(1100 * time.Millisecond) // from then on they are idle
	w.mu.Lock()
	w.gone.Store(w.n)
	w.mu.Unlock()
	_, err := st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("1")})
	require.NoError(t, err)
	_, err = st.Get(t.Context(), "a")
	require.NoError(t, err)
	w.cut() // else Close says goodbye to them for 15 s
}

// A server becomes one that only reads, and its standby is promoted: commits on connections of the former one
// are tried again, and made by the latter.
func TestFailover(t *testing.T) {
	need(t)
	first, err := start("wal_level=replica", "hot_standby=on")
	require.NoError(t, err)
	defer os.RemoveAll(first.dir)
	defer first.stop(syscall.SIGQUIT)
	second := &server{attr: first.attr, dir: first.dir + "/second", port: first.port + 1}
	out, err := first.program(filepath.Join(bin(), "pg_basebackup"), "-h", "127.0.0.1", "-p",
		fmt.Sprint(first.port), "-U", "arc",
		"-D", second.dir+"/data", "-R", "-c", "fast", "-X", "stream").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, second.launch([]string{"-D", second.dir + "/data", "-k", first.dir, "-p",
		fmt.Sprint(second.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"}))
	defer second.stop(syscall.SIGQUIT)
	require.Eventually(t, func() bool { // it follows
		return fmt.Sprint(execute(t, first.dsn(),
			"SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")[0]) == "1"
	}, 20*time.Second, 50*time.Millisecond)
	execute(t, first.dsn(), "ALTER SYSTEM SET synchronous_standby_names = '*'")
	execute(t, first.dsn(), "SELECT pg_reload_conf()")

	at := fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=arc dbname=postgres sslmode=disable", first.port,
		second.port)
	st := open(t, at, postgres.Options{})
	ctx := context.WithoutCancel(t.Context())
	rev, err := st.Commit(ctx, store.Op{Key: "before", Value: []byte("1")})
	require.NoError(t, err)
	execute(t, second.dsn(), "SELECT pg_promote()")
	execute(t, first.dsn(), "ALTER SYSTEM SET default_transaction_read_only = on")
	execute(t, first.dsn(), "SELECT pg_reload_conf()")
	require.Eventually(t, func() bool {
		return execute(t, first.dsn(), "SHOW transaction_read_only")[0] == "on"
	}, 10*time.Second, 10*time.Millisecond)
	after, err := st.Commit(ctx, store.Op{Key: "after", Value: []byte("1")},
		store.Op{Key: "before", Check: true, If: store.At(rev)})
	require.NoError(t, err)
	require.Greater(t, after, rev)
	require.Equal(t, []any{int64(2)}, execute(t, second.dsn(), "SELECT count(*) FROM arc.arc_entries"))
}

// Without a server a call ends with Patience, and a closed store at once; with one that comes back it goes
// on.
func TestServerAway(t *testing.T) {
	need(t)
	s, err := start()
	require.NoError(t, err)
	defer os.RemoveAll(s.dir)
	var told bytes.Buffer
	st := open(t, s.dsn(), postgres.Options{Logger: slog.New(slog.NewTextHandler(&told, nil))})
	_, err = st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("1")})
	require.NoError(t, err)
	q, err := queue.Open(t.Context(), store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix())), nil)
	require.NoError(t, err)
	s.stop(syscall.SIGQUIT) // as in a crash
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = st.Get(brief, "a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "no connection or no answer", "the cause is said")
	for _, err = range st.Scan(brief, store.Range{}) {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.Equal(t, 1, strings.Count(told.String(), "trying again")) // of a call that tries for long
	brief, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err = q.Add(brief, queue.Draft{Subject: "dropped"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 10*time.Second, "Patience is 30 s")
	got := make(chan error, 1)
	go func() {
		_, err := st.Commit(context.WithoutCancel(t.Context()),
			store.Op{Key: "a", Value: []byte("2"), If: store.At(1)})
		got <- err
	}()
	require.NoError(t, s.again())
	if err := <-got; err != nil { // it was sent to a connection that was gone already
		require.ErrorContains(t, err, "the outcome is unknown")
	}
	e, err := st.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Contains(t, []string{"1", "2"}, string(e.Value))
	for j, err := range q.List(t.Context(), "") {
		require.NoError(t, err)
		require.Empty(t, j, "what was not sent")
	}
	s.stop(syscall.SIGQUIT)
	go func() {
		_, err := st.Get(t.Context(), "a")
		got <- err
	}()
	require.NoError(t, st.Close())
	require.ErrorIs(t, <-got, store.ErrClosed)
}

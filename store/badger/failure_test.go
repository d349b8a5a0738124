package badger_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var definite = []error{
	store.ErrNotFound, store.ErrConflict, store.ErrClosed, store.ErrFull, store.ErrLocked, store.ErrDamaged,
	store.ErrForeign, store.ErrNewer, store.ErrKey, store.ErrFailed, context.Canceled,
}

func requireFailed(t *testing.T, st *badger.Store) {
	t.Helper()
	_, err := st.Commit(t.Context(), put("b", "1", store.Any))
	require.ErrorIs(t, err, store.ErrFailed)
	_, err = st.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrFailed)
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		require.ErrorIs(t, err, store.ErrFailed)
	}
	for _, err := range st.Watch(t.Context(), "", 0) {
		require.ErrorIs(t, err, store.ErrFailed)
	}
}

// The error of a disk may come before or after the commit took effect: the
// store says that it does not know, and nothing more until it is reopened.
func TestFailedCommit(t *testing.T) {
	eio := errors.New("input/output error")
	for name, fails := range map[string]func(commit func() error) error{
		"before": func(func() error) error { return eio },
		"after":  func(commit func() error) error { return errors.Join(commit(), eio) },
		"panic":  func(func() error) error { panic("badger") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st := open(t, dir)
			_, err := st.Commit(t.Context(), put("a", "1", store.Any))
			require.NoError(t, err)
			watched := make(chan error, 1)
			first := make(chan struct{})
			go func() {
				var last error
				for _, err := range st.Watch(t.Context(), "", 0) {
					if last = err; err == nil {
						close(first)
					}
				}
				watched <- last
			}()
			<-first
			st.OnCommit(fails)
			rev, err := st.Commit(t.Context(), put("a", "2", store.Any))
			require.Zero(t, rev)
			require.ErrorContains(t, err, "outcome unknown")
			for _, d := range definite {
				require.NotErrorIs(t, err, d)
			}
			requireFailed(t, st)
			require.ErrorIs(t, <-watched, store.ErrFailed)
			require.NoError(t, st.Close())
			_, err = st.Get(t.Context(), "a")
			require.ErrorIs(t, err, store.ErrClosed)

			st = open(t, dir)
			e, err := st.Get(t.Context(), "a")
			require.NoError(t, err)
			want := map[string]string{"before": "1", "after": "2", "panic": "1"}[name]
			require.Equal(t, want, string(e.Value))
			_, err = st.Commit(t.Context(), put("a", "3", store.At(e.Rev)))
			require.NoError(t, err)
		})
	}
}

// A failed sync of the value log is a line in Badger's log and nothing else.
// A commit during which that happens is not acknowledged.
func TestFailedSyncThatIsOnlyLogged(t *testing.T) {
	var logged bytes.Buffer
	st, err := badger.Open(t.TempDir(), &badger.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	require.NoError(t, err)
	defer st.Close()
	_, err = st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	st.LogError("unrelated trouble: %v", "x")
	_, err = st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	st.OnCommit(func(commit func() error) error {
		st.LogError("Error while curlf sync: %v\n", "input/output error")
		return commit()
	})
	_, err = st.Commit(t.Context(), put("a", "2", store.Any))
	require.ErrorContains(t, err, "outcome unknown")
	requireFailed(t, st)
	require.Equal(t, 1, strings.Count(logged.String(), "store has failed"))
}

// Badger does not notice that its directory has gone: it writes to files that
// have no name any more.
func TestDirectoryGone(t *testing.T) {
	dir := made(t)
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	require.NoError(t, os.Rename(dir, dir+".away"))
	_, err = st.Commit(t.Context(), put("b", "1", store.Any))
	require.ErrorIs(t, err, store.ErrFailed)
	requireFailed(t, st)
	require.ErrorIs(t, st.Close(), fs.ErrNotExist)
	require.NoError(t, os.Rename(dir+".away", dir))
	require.NoError(t, st.Close())
	requireHolds(t, dir)
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	st, err := badger.Open(dir, &badger.Options{MinFree: 100 << 20})
	require.NoError(t, err)
	free := uint64(100 << 20)
	st.OnFree(func() uint64 { return free })
	_, err = st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)

	free--
	_, err = st.Commit(t.Context(), put("a", "2", store.Any))
	require.ErrorIs(t, err, store.ErrFull)
	e, err := st.Get(t.Context(), "a")
	require.NoError(t, err, "reads go on")
	require.Equal(t, "1", string(e.Value))

	free = 100 << 20
	_, err = st.Commit(t.Context(), put("a", "3", store.Any))
	require.NoError(t, err, "there is space again")

	free = 8<<20 - 1 // less than what is left to write
	require.ErrorIs(t, st.Close(), store.ErrFull)
	_, err = st.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = badger.Open(dir, nil)
	require.ErrorIs(t, err, store.ErrLocked, "Badger still runs")
	free = 8 << 20
	require.NoError(t, st.Close())
	require.NoError(t, st.Close())
	st = open(t, dir)
	e, err = st.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "3", string(e.Value))
}

// Where Badger cannot make its next log, it has written nothing.
func TestLogThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	_, err := st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	st.OnCommit(func(func() error) error {
		return errors.New("writeRequests error: cannot create new mem table error: too many open files")
	})
	_, err = st.Commit(t.Context(), put("a", "2", store.Any))
	require.ErrorIs(t, err, store.ErrFailed)
	requireFailed(t, st)
}

// A disk that hangs keeps a commit, and so Close, for as long as Patience says.
// What they left goes on, and another Close waits for it.
func TestCloseOnADiskThatHangs(t *testing.T) {
	dir := made(t)
	st, err := badger.Open(dir, &badger.Options{Patience: 50 * time.Millisecond})
	require.NoError(t, err)
	inside, disk := make(chan struct{}), make(chan struct{})
	st.OnCommit(func(commit func() error) error {
		close(inside)
		<-disk
		return commit()
	})
	committed := make(chan error)
	go func() {
		_, err := st.Commit(context.Background(), put("b", "1", store.Any))
		committed <- err
	}()
	<-inside
	for range 2 {
		require.ErrorIs(t, st.Close(), context.DeadlineExceeded)
	}
	_, err = st.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = badger.Open(dir, nil)
	require.ErrorIs(t, err, store.ErrLocked)
	close(disk)
	<-committed // in time, or its outcome is unknown
	require.Eventually(t, func() bool { return st.Close() == nil }, 10*time.Second, time.Millisecond)
	requireHolds(t, dir)
}

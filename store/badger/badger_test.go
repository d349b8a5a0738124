package badger_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
	"github.com/arc-learn/arc/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(dir string) (store.Store, error) { return badger.Open(dir, nil) }, nil)
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	st, err := badger.Open(t.TempDir(), nil)
	require.NoError(t, err)
	for range 3 {
		_, err := st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("1")})
		require.NoError(t, err)
	}
	for range st.Scan(t.Context(), store.Range{}) {
		break
	}
	require.NoError(t, st.Close())
	goleak.VerifyNone(t, before)
}

// A scan that its host never ends holds up neither commits nor Close.
func TestCloseDoesNotWaitForScan(t *testing.T) {
	st := open(t, t.TempDir())
	for _, k := range []string{"a", "b"} {
		_, err := st.Commit(t.Context(), store.Op{Key: k})
		require.NoError(t, err)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range st.Scan(t.Context(), store.Range{}) {
			if last = err; err == nil {
				close(entered)
				<-leave
				break
			}
		}
		ended <- last
	}()
	<-entered
	_, err := st.Commit(t.Context(), store.Op{Key: "c"})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	close(leave)
	require.NoError(t, <-ended)
}

// A scan sees what it began with, although that is overwritten so often that
// the tables in which it was are gone.
func TestScanSurvivesCompactions(t *testing.T) {
	dir := t.TempDir()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	const keys, rounds = 8, 100 // of 512 KiB: several memtables
	write := func(v byte) store.Revision {
		value := make([]byte, 64<<10)
		value[0] = v
		var ops []store.Op
		for i := range keys {
			ops = append(ops, store.Op{Key: string(rune('a' + i)), Value: value})
		}
		rev, err := st.Commit(t.Context(), ops...)
		require.NoError(t, err)
		return rev
	}
	check := func(st *badger.Store, v byte, rev store.Revision, first func()) {
		n := 0
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			require.Equal(t, v, e.Value[0])
			require.Equal(t, rev, e.Rev)
			if n == 0 {
				first()
			}
			n++
		}
		require.Equal(t, keys, n)
	}
	var last store.Revision
	check(st, 0, write(0), func() {
		for i := range rounds {
			last = write(byte(i + 1))
		}
	})
	check(st, rounds, last, func() {})
	require.NoError(t, st.Close())
	check(open(t, dir), rounds, last, func() {})
}

// A backup of each kind of store comes back in the other.
func TestBackupBetweenStores(t *testing.T) {
	st := garbage(t, t.TempDir())
	var first, second bytes.Buffer
	n, err := store.Backup(t.Context(), st, &first)
	require.NoError(t, err)
	want := first.String()
	mem := store.NewMem()
	_, err = store.Restore(t.Context(), mem, &first)
	require.NoError(t, err)
	_, err = store.Backup(t.Context(), mem, &second)
	require.NoError(t, err)
	dir := t.TempDir()
	other, err := badger.Open(dir, nil)
	require.NoError(t, err)
	got, err := store.Restore(t.Context(), other, &second)
	require.NoError(t, err)
	require.Equal(t, n, got)
	require.NoError(t, other.Close())
	var third bytes.Buffer
	_, err = store.Backup(t.Context(), open(t, dir), &third)
	require.NoError(t, err)
	require.Equal(t, want, third.String())
}

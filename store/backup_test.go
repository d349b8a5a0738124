package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

func full(t testing.TB, entries int) *store.Mem {
	st := store.NewMem()
	for i := range entries {
		_, err := st.Commit(context.Background(), store.Op{Key: fmt.Sprintf("key/%05d", i), Value: bytes.Repeat([]byte{byte(i)}, i%3000)})
		require.NoError(t, err)
	}
	return st
}

func contents(t testing.TB, st store.Store) map[string]string {
	all := map[string]string{}
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		all[e.Key] = string(e.Value)
	}
	return all
}

func TestBackupComesBack(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		st := full(t, n)
		var b bytes.Buffer
		got, err := store.Backup(t.Context(), st, &b)
		require.NoError(t, err)
		require.Equal(t, n, got)
		got, err = store.Verify(bytes.NewReader(b.Bytes()))
		require.NoError(t, err)
		require.Equal(t, n, got)
		other := store.NewMem()
		got, err = store.Restore(t.Context(), other, &b)
		require.NoError(t, err)
		require.Equal(t, n, got)
		require.Equal(t, contents(t, st), contents(t, other))
	}
}

// The largest entries fit, and a commit of the restore never has too many.
func TestBackupOfLargeEntries(t *testing.T) {
	st := store.NewMem()
	for i := range 5 {
		_, err := st.Commit(t.Context(), store.Op{Key: fmt.Sprint(i), Value: make([]byte, store.MaxValue)})
		require.NoError(t, err)
	}
	for i := range 3 {
		var ops []store.Op
		for j := range store.MaxCommitOps {
			ops = append(ops, store.Op{Key: fmt.Sprintf("small/%d/%d", i, j)})
		}
		_, err := st.Commit(t.Context(), ops...)
		require.NoError(t, err)
	}
	var b bytes.Buffer
	_, err := store.Backup(t.Context(), st, &b)
	require.NoError(t, err)
	other := store.NewMem()
	_, err = store.Restore(t.Context(), other, &b)
	require.NoError(t, err)
	require.Equal(t, contents(t, st), contents(t, other))
}

// Commits while a backup is written are not in it.
func TestBackupIsConsistent(t *testing.T) {
	st := full(t, 2000)
	want := contents(t, st)
	var b bytes.Buffer
	_, err := store.Backup(t.Context(), st, writer(func(p []byte) (int, error) {
		_, err := st.Commit(t.Context(), store.Op{Key: "key/00000", Value: []byte("late")}, store.Op{Key: "z"}, store.Op{Key: "key/01999", Delete: true})
		require.NoError(t, err)
		return b.Write(p)
	}))
	require.NoError(t, err)
	other := store.NewMem()
	_, err = store.Restore(t.Context(), other, &b)
	require.NoError(t, err)
	require.Equal(t, want, contents(t, other))
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Whatever byte of a backup is changed or cut off, that is an error, and the
// store is as empty as before.
func TestDamagedBackup(t *testing.T) {
	var b bytes.Buffer
	_, err := store.Backup(t.Context(), full(t, 900), &b)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		data := bytes.Clone(b.Bytes())
		at := random.IntN(len(data))
		switch i % 3 {
		case 0:
			data[at] ^= 1 << random.IntN(8)
		case 1:
			data = data[:at]
		case 2:
			clear(data[at:min(at+64, len(data))])
			if bytes.Equal(data, b.Bytes()) {
				continue
			}
		}
		st := store.NewMem()
		_, err := store.Restore(t.Context(), st, bytes.NewReader(data))
		typed := errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrNewer)
		require.True(t, typed, "%v", err)
		require.Empty(t, contents(t, st))
	}
}

// What was cut off before it began is told as it is, and no bytes that it has not.
func TestEmptyBackup(t *testing.T) {
	for text, want := range map[string]string{"": "it is empty", "arc": `it begins with "arc"`} {
		_, err := store.Restore(t.Context(), store.NewMem(), strings.NewReader(text))
		require.ErrorIs(t, err, store.ErrForeign)
		require.ErrorContains(t, err, want)
	}
}

// What is cut short behind its first word is damaged, and a reader's error is that alone.
func TestBackupThatIsNotRead(t *testing.T) {
	var whole bytes.Buffer
	_, err := store.Backup(t.Context(), store.NewMem(), &whole)
	require.NoError(t, err)
	away := errors.New("the network is away")
	for n := range whole.Len() {
		if n >= len("arcbackup") {
			_, err = store.Verify(bytes.NewReader(whole.Bytes()[:n]))
			require.ErrorIs(t, err, store.ErrDamaged, n)
		}
		_, err = store.Verify(io.MultiReader(bytes.NewReader(whole.Bytes()[:n]), iotest.ErrReader(away)))
		require.ErrorIs(t, err, away)
		for _, other := range []error{store.ErrDamaged, store.ErrForeign, store.ErrNewer} {
			require.NotErrorIs(t, err, other, n)
		}
	}
}

func TestRestoreRefusesAStoreInUse(t *testing.T) {
	st := full(t, 1)
	var b bytes.Buffer
	_, err := store.Backup(t.Context(), st, &b)
	require.NoError(t, err)
	_, err = store.Restore(t.Context(), st, &b)
	require.ErrorIs(t, err, store.ErrConflict)
	require.Len(t, contents(t, st), 1)
}

func TestBackupErrors(t *testing.T) {
	st := full(t, 1000)
	full := errors.New("no room")
	_, err := store.Backup(t.Context(), st, writer(func([]byte) (int, error) { return 0, full }))
	require.ErrorIs(t, err, full)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.Backup(ctx, st, writer(func(p []byte) (int, error) { return len(p), nil }))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, st.Close())
	_, err = store.Backup(t.Context(), st, &bytes.Buffer{})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = store.Restore(t.Context(), st, &bytes.Buffer{})
	require.ErrorIs(t, err, store.ErrClosed)
}

func FuzzRestore(f *testing.F) {
	var b bytes.Buffer
	_, err := store.Backup(f.Context(), full(f, 20), &b)
	require.NoError(f, err)
	f.Add(b.Bytes())
	f.Add([]byte("arcbackup1\n\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		st := store.NewMem()
		n, err := store.Restore(t.Context(), st, bytes.NewReader(data))
		if got := len(contents(t, st)); got != n || err != nil && n != 0 {
			t.Fatalf("restore(%x): %d entries, and %d are there (%v)", data, n, got, err)
		}
	})
}

func ExampleBackup() {
	ctx := context.Background()
	st := store.NewMem()
	if _, err := st.Commit(ctx, store.Op{Key: "greeting", Value: []byte("hello")}); err != nil {
		fmt.Println(err)
	}
	var file bytes.Buffer
	fmt.Println(store.Backup(ctx, st, &file))
	fmt.Println(store.Verify(bytes.NewReader(file.Bytes())))
	other := store.NewMem() // or one of another kind
	fmt.Println(store.Restore(ctx, other, &file))
	e, err := other.Get(ctx, "greeting")
	fmt.Println(string(e.Value), err)
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 <nil>
	// hello <nil>
}

package badger_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store/badger"
)

// The test binary plays another process when this variable names one of them.
const childEnv = "ARC_BADGER_TEST_CHILD"

var children = map[string]func(dir string, args []string) error{
	"write": writeUntilKilled,
	"hold":  holdUntilTold,
}

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv(childEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childCommand(name, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append([]string{dir}, args...)...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func open(t testing.TB, dir string) *badger.Store {
	t.Helper()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

// fingerprint returns the hash of every file in a directory, by path.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	walk(t, dir, func(path string, data []byte) {
		if data == nil {
			sums[path] = "directory"
			return
		}
		sums[path] = fmt.Sprintf("%d bytes, %x", len(data), sha256.Sum256(data[:used(data)]))
	})
	return sums
}

// walk calls fn with each file below a directory, and with each directory,
// whose data is nil.
func walk(t *testing.T, dir string, fn func(path string, data []byte)) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if f.IsDir() {
			fn(f.Name(), nil)
			walk(t, filepath.Join(dir, f.Name()), func(path string, data []byte) { fn(filepath.Join(f.Name(), path), data) })
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // Badger removed it meanwhile
		}
		require.NoError(t, err)
		if data == nil {
			data = []byte{}
		}
		fn(f.Name(), data)
	}
}

// copyDir copies the files of a store, with holes where they have zeros at the
// end: Badger's logs are much longer than what is in them. It begins anew while
// Badger makes or removes files.
func copyDir(t *testing.T, from string) (to string) {
	t.Helper()
	listed := func() (names []string) {
		require.NoError(t, filepath.WalkDir(from, func(path string, _ fs.DirEntry, _ error) error {
			names = append(names, path)
			return nil
		}))
		return names
	}
	for before := []string(nil); !slices.Equal(before, listed()); {
		before, to = listed(), t.TempDir()
		walk(t, from, func(path string, data []byte) {
			path = filepath.Join(to, path)
			if data == nil {
				require.NoError(t, os.Mkdir(path, 0o700))
				return
			}
			require.NoError(t, os.WriteFile(path, data[:used(data)], 0o600))
			require.NoError(t, os.Truncate(path, int64(len(data))))
		})
	}
	return to
}

// used returns the length of data without the zeros at its end.
func used(data []byte) int {
	n := len(data)
	for n > 0 && data[n-1] == 0 {
		n--
	}
	return n
}

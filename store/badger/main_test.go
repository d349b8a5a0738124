package badger_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
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

// fingerprint returns the hash of every file in a directory, by name.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if f.IsDir() {
			sums[f.Name()] = "directory"
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		sums[f.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return sums
}

// copyDir copies the files of a store, with holes where they have zeros at the
// end: Badger's logs are much longer than what is in them.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	files, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(from, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // Badger removed it meanwhile
		}
		require.NoError(t, err)
		name := filepath.Join(to, f.Name())
		require.NoError(t, os.WriteFile(name, data[:used(data)], 0o600))
		require.NoError(t, os.Truncate(name, int64(len(data))))
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

package badger_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// rotten flips a bit of a file without a trace, as a disk does.
func rotten(t *testing.T, name string, at float64, bit byte) {
	t.Helper()
	info, err := os.Stat(name)
	require.NoError(t, err)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	data[int(at*float64(len(data)))] ^= bit
	require.NoError(t, os.WriteFile(name, data, 0o600))
	require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
}

// many returns the directory of a closed store with tables on two levels.
func many(t *testing.T) (dir string, content map[string]string) {
	dir = filepath.Join(t.TempDir(), "store")
	content = map[string]string{}
	for n := range 2 {
		st, err := badger.Open(dir, nil)
		require.NoError(t, err)
		for i := range 500 {
			key := fmt.Sprintf("%d/%03d", (n+i)%3, i)
			content[key] = strings.Repeat(fmt.Sprint(key, n), 100)
			_, err := st.Commit(t.Context(), put(key, content[key], store.Any))
			require.NoError(t, err)
		}
		if n == 0 {
			require.NoError(t, st.Purge(t.Context()))
		}
		require.NoError(t, st.Close())
	}
	return dir, content
}

// A bit that flips in a store that was closed, without a trace in the times of its
// files, is found by whoever reads what it may concern.
func TestRottenTables(t *testing.T) {
	dir, content := many(t)
	tables, err := filepath.Glob(filepath.Join(dir, "g*", "*.sst"))
	require.NoError(t, err)
	require.Len(t, tables, 2)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	refused, reported := 0, 0
	for range 10 * *flips {
		for _, table := range tables {
			rel, err := filepath.Rel(dir, table)
			require.NoError(t, err)
			sick := copyDir(t, dir)
			restoreTimes(t, dir, sick)
			at, bit := random.Float64(), byte(1)<<random.IntN(8)
			rotten(t, filepath.Join(sick, rel), at, bit)
			before := fingerprint(t, sick)
			st, err := badger.Open(sick, nil)
			if err != nil {
				require.ErrorIs(t, err, store.ErrDamaged)
				require.Equal(t, before, fingerprint(t, sick))
				refused++
				continue
			}
			for key, value := range content {
				e, err := st.Get(t.Context(), key)
				if err == nil {
					require.Equal(t, value, string(e.Value), "%s at %f", rel, at)
				} else {
					require.ErrorIs(t, err, store.ErrDamaged)
				}
			}
			seen, last := 0, error(nil)
			for _, err := range st.Scan(t.Context(), store.Range{Prefix: "1/"}) {
				if last = err; err == nil {
					seen++
				}
			}
			require.True(t, last != nil || seen == 334, "%d of 334, and no error", seen)
			require.ErrorIs(t, st.Purge(t.Context()), store.ErrDamaged)
			require.NoError(t, st.Close())
			require.NoFileExists(t, filepath.Join(sick, badger.CleanName))
			reported++
			rotten(t, filepath.Join(sick, rel), at, bit)
			requireContent(t, sick, content)
		}
	}
	t.Logf("%d refused, %d reported", refused, reported)
	require.NotZero(t, reported)
}

// restoreTimes gives a copy the times of the original, for which arc.clean vouches.
func restoreTimes(t *testing.T, dir, sick string) {
	t.Helper()
	walk(t, dir, func(path string, _ []byte) {
		info, err := os.Stat(filepath.Join(dir, path))
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(filepath.Join(sick, path), info.ModTime(), info.ModTime()))
	})
}

func requireContent(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	n := 0
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, content[e.Key], string(e.Value))
		n++
	}
	require.Len(t, content, n)
	require.NoError(t, st.Close())
}

// Nothing vouches for a store that is open, or that was not closed, or of which a
// file has another time or size.
func TestWhatIsVouchedFor(t *testing.T) {
	dir := made(t)
	st := open(t, dir)
	require.NoFileExists(t, filepath.Join(dir, badger.CleanName))
	require.NoError(t, st.Close())
	require.FileExists(t, filepath.Join(dir, badger.CleanName))
	st = open(t, dir)
	require.NoError(t, st.Purge(t.Context())) // which makes a log that is not used
	require.NoError(t, st.Close())
	require.FileExists(t, filepath.Join(dir, badger.CleanName))
	tables, err := filepath.Glob(filepath.Join(dir, "g*", "*.sst"))
	require.NoError(t, err)
	require.Len(t, tables, 1)
	info, err := os.Stat(tables[0])
	require.NoError(t, err)
	rotten(t, tables[0], 0, 1)
	require.NoError(t, os.Chtimes(tables[0], info.ModTime(), info.ModTime().Add(1)))
	requireRefused(t, dir, store.ErrDamaged, "sst")
	rotten(t, tables[0], 0, 1)
	require.NoError(t, os.Remove(filepath.Join(dir, badger.CleanName)))
	rotten(t, tables[0], 0, 1)
	requireRefused(t, dir, store.ErrDamaged, "sst")
}

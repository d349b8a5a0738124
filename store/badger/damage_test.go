package badger_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
	"github.com/arc-learn/arc/store/badger/internal/files"
)

var flips = flag.Int("flips", 1, "bits that TestDamagedFiles flips in each file, one at a time")

func TestDamagedValue(t *testing.T) {
	for name, spoil := range map[string]func(rec []byte) []byte{
		"value":    func(rec []byte) []byte { rec[len(rec)-1] ^= 1; return rec },
		"revision": func(rec []byte) []byte { rec[11] ^= 1; return rec },
		"checksum": func(rec []byte) []byte { rec[0] ^= 1; return rec },
		"short":    func(rec []byte) []byte { return rec[:11] },
		"empty":    func([]byte) []byte { return nil },
		"moved":    func([]byte) []byte { return badger.Record("other", []byte("1"), 2) },
	} {
		t.Run(name, func(t *testing.T) {
			st := open(t, t.TempDir())
			for _, key := range []string{"a", "sick", "z"} {
				_, err := st.Commit(t.Context(), put(key, "1", store.Any))
				require.NoError(t, err)
			}
			require.NoError(t, st.Spoil("sick", spoil))
			requireNamed(t, st)
			for _, key := range []string{"a", "z"} {
				_, err := st.Get(t.Context(), key)
				require.NoError(t, err)
			}
			_, err := st.Commit(t.Context(), put("sick", "2", store.Any))
			require.NoError(t, err, "an unconditional write heals it")
			_, err = st.Get(t.Context(), "sick")
			require.NoError(t, err)
		})
	}
}

// requireNamed wants every way to the key "sick" to say that it is damaged.
func requireNamed(t *testing.T, st *badger.Store) {
	t.Helper()
	_, err := st.Get(t.Context(), "sick")
	require.ErrorIs(t, err, store.ErrDamaged)
	require.ErrorContains(t, err, `"sick"`)
	var last error
	for _, last = range st.Scan(t.Context(), store.Range{}) {
	}
	require.ErrorIs(t, last, store.ErrDamaged)
	require.ErrorContains(t, last, `"sick"`)
	for _, cond := range []store.Condition{store.Absent, store.At(3)} {
		_, err = st.Commit(t.Context(), put("sick", "2", cond))
		require.ErrorIs(t, err, store.ErrDamaged)
	}
}

// filled returns directories with the same content: of a store that was closed
// and of one that was killed, before and after a rewrite.
func filled(t *testing.T) (states map[string]string, content map[string]string) {
	dir := t.TempDir()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	content, states = map[string]string{}, map[string]string{}
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			key := fmt.Sprintf("key/%03d", i)
			content[key] = strings.Repeat(key, 1+i%100)
			_, err := st.Commit(t.Context(), put(key, content[key], store.Any))
			require.NoError(t, err)
		}
	}
	fill(0, 200)
	states["killed"] = copyDir(t, dir)
	require.NoError(t, st.Close())
	states["closed"] = copyDir(t, dir)
	st, err = badger.Open(dir, nil)
	require.NoError(t, err)
	require.NoError(t, st.Purge(t.Context()))
	fill(0, 100) // the same again
	states["rewritten"] = copyDir(t, dir)
	require.NoError(t, st.Close())
	states["rewritten and closed"] = copyDir(t, dir)
	if *flips < 3 {
		delete(states, "killed")
		delete(states, "closed")
		delete(states, "rewritten and closed")
	}
	for _, dir := range states {
		walk(t, dir, func(path string, data []byte) { // mostly zeros
			if strings.HasSuffix(path, ".vlog") || strings.HasSuffix(path, ".mem") {
				require.NoError(t, os.Truncate(filepath.Join(dir, path), int64(min(len(data), used(data)+4096))))
			}
		})
	}
	return states, content
}

// silent opens a directory and returns an error if something is wrong with it
// that the store did not report, or if it changed what it refused.
func silent(t *testing.T, dir string, content map[string]string) (refused bool, err error) {
	t.Helper()
	before := fingerprint(t, dir)
	st, err := badger.Open(dir, nil)
	if err != nil {
		typed := errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrForeign)
		require.True(t, typed, "%v", err)
		require.Equal(t, before, fingerprint(t, dir), "%v", err)
		return true, nil
	}
	defer func() { require.NoError(t, st.Close()) }()
	n := 0
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
			return false, nil
		}
		if content[e.Key] != string(e.Value) {
			return false, fmt.Errorf("%q holds %q", e.Key, e.Value)
		}
		n++
	}
	if n != len(content) {
		return false, fmt.Errorf("%d of %d entries are there, and no error", n, len(content))
	}
	return false, nil
}

// Whatever happens to one file, the store says so and changes nothing, so that
// it is whole when the file is; or it holds what it held.
func TestDamagedFiles(t *testing.T) {
	states, content := filled(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	opens, refusals := 0, 0
	for state, dir := range states {
		refused, err := silent(t, copyDir(t, dir), content)
		require.NoError(t, err)
		require.False(t, refused, state)
		walk(t, dir, func(path string, whole []byte) {
			if whole == nil {
				return
			}
			for what, damage := range damages(random, *flips) {
				what = fmt.Sprintf("%s: %s: %s", state, path, what)
				sick := copyDir(t, dir)
				damage(t, filepath.Join(sick, path))
				refused, err := silent(t, sick, content)
				require.NoError(t, err, what)
				if opens++; refused {
					refusals++
					require.NoError(t, os.WriteFile(filepath.Join(sick, path), whole, 0o600))
					refused, err = silent(t, sick, content)
					require.NoError(t, err, what)
					require.False(t, refused, what)
				}
				require.NoError(t, os.RemoveAll(sick)) // thousands would fill the disk
			}
		})
	}
	t.Logf("%d damaged copies, %d refused", opens, refusals)
}

// damages are flipped bits, zeros, files cut short, and no file at all.
func damages(random *rand.Rand, flips int) map[string]func(t *testing.T, name string) {
	all := map[string]func(t *testing.T, name string){
		"removed": func(t *testing.T, name string) { require.NoError(t, os.Remove(name)) },
	}
	rewrite := func(change func(data []byte) []byte) func(t *testing.T, name string) {
		return func(t *testing.T, name string) {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(name, change(data), 0o600))
		}
	}
	for i := range flips {
		at, bit := random.Float64(), byte(1)<<random.IntN(8)
		all[fmt.Sprintf("flip %d: %.6f, %d", i, at, bit)] = rewrite(func(data []byte) []byte {
			if n := used(data); n > 0 {
				data[int(at*float64(n))] ^= bit
			}
			return data
		})
		switch i % 3 {
		case 0:
			all[fmt.Sprintf("cut %d: %.6f", i, at)] = rewrite(func(data []byte) []byte {
				return data[:int(at*float64(used(data)))]
			})
		case 1:
			all[fmt.Sprintf("zeros %d: %.6f", i, at)] = rewrite(func(data []byte) []byte {
				from := int(at * float64(used(data)))
				clear(data[from:min(from+1+random.IntN(4096), len(data))])
				return data
			})
		case 2:
			all[fmt.Sprintf("zeros to the end %d: %.6f", i, at)] = rewrite(func(data []byte) []byte {
				clear(data[int(at*float64(used(data))):])
				return data
			})
		}
	}
	for _, n := range []int{1, 5} {
		all[fmt.Sprintf("cut by %d", n)] = rewrite(func(data []byte) []byte {
			return data[:max(0, used(data)-n)]
		})
	}
	return all
}

// A log that lost its end says how much is missing, and the host may accept
// that.
func TestMissingCommitsAreCounted(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	_, err := st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	short := copyDir(t, dir)
	for range 7 {
		_, err := st.Commit(t.Context(), put("a", "2", store.Any))
		require.NoError(t, err)
	}
	mark, err := os.ReadFile(filepath.Join(dir, badger.MarkName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(short, badger.MarkName), mark, 0o600))

	_, err = badger.Open(short, nil)
	require.ErrorIs(t, err, store.ErrDamaged)
	require.ErrorContains(t, err, "the last 7 commits are missing")
	require.NoError(t, os.Remove(filepath.Join(short, badger.MarkName)))
	requireHolds(t, short)

	other := made(t)
	require.NoError(t, os.WriteFile(filepath.Join(other, badger.MarkName), mark, 0o600))
	_, err = badger.Open(other, nil)
	require.ErrorIs(t, err, store.ErrDamaged)
	require.ErrorContains(t, err, "another store")
}

func FuzzRecord(f *testing.F) {
	f.Add("key", badger.Record("key", []byte("value"), 7))
	f.Add("key", badger.Record("key", nil, 0))
	f.Add("", []byte("short"))
	f.Fuzz(func(t *testing.T, key string, rec []byte) {
		value, rev, err := badger.Unrecord(key, rec)
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("unrecord(%q, %x): %v", key, rec, err)
			}
			return
		}
		if again := badger.Record(key, value, rev); string(again) != string(rec) {
			t.Fatalf("record(%q, %x, %d): got %x, want %x", key, value, rev, again, rec)
		}
	})
}

// Where the sync of MANIFEST fails, Badger withdraws the table that it has just
// named there; its log stays. A table that is missed otherwise is damage.
func TestWithdrawnTable(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	_, err := st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	killed := copyDir(t, dir)
	require.NoError(t, st.Close())

	name := filepath.Join(killed, badger.ManifestName)
	manifest, err := os.ReadFile(name)
	require.NoError(t, err)
	other := t.TempDir()
	require.NoError(t, files.ReplaceManifest(other, []files.Listed{{ID: 77}}))
	more, err := os.ReadFile(filepath.Join(other, badger.ManifestName))
	require.NoError(t, err)
	more = more[8:] // without the header
	require.NoError(t, os.WriteFile(name, append(manifest, more...), 0o600))
	requireHolds(t, killed)
	requireHolds(t, killed)

	closed, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	require.NoError(t, err)
	require.Len(t, closed, 1)
	require.NoError(t, os.Remove(closed[0]))
	requireRefused(t, dir, store.ErrDamaged, "missing")
}

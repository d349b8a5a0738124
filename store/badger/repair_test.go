package badger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// missed reports whether a repair said that it may lack a key.
func missed(r *badger.Repaired, key string) bool {
	for _, m := range r.Missing {
		if (m.From == "" || m.From <= key) && (m.To == "" || key <= m.To) {
			return true
		}
	}
	return r.Commits > 0
}

// Whatever happens to one file, a repair makes a store of the rest, names what it
// lacks, and leaves the damaged one as it is.
func TestRepair(t *testing.T) {
	states, content := filled(t)
	random := rand.New(rand.NewPCG(5, 6))
	kept, lost := 0, 0
	check := func(what, sick string, damaged bool) {
		before := fingerprint(t, sick)
		to := filepath.Join(t.TempDir(), "repaired")
		r, err := badger.Repair(sick, to)
		require.NoError(t, err, what)
		require.Equal(t, before, fingerprint(t, sick), what)
		require.Equal(t, damaged, damaged || len(r.Missing) > 0 || r.Commits > 0, what)
		st := open(t, to)
		got := map[string]string{}
		for _, e := range state(t, st) {
			got[e.Key] = string(e.Value)
		}
		require.Len(t, got, r.Entries, what)
		for key, value := range content {
			if kept++; got[key] != value {
				lost++
				require.True(t, missed(r, key), "%s: %s is not there, and not missed", what, key)
			}
		}
		_, err = st.Commit(t.Context(), put("a", "1", store.Absent))
		require.NoError(t, err, what)
		require.NoError(t, st.Close())
		require.NoError(t, os.RemoveAll(to))
	}
	for state, dir := range states {
		check(state, dir, false)
		walk(t, dir, func(path string, data []byte) {
			if data == nil || filepath.Ext(path) == ".vlog" {
				return
			}
			for what, damage := range damages(random, *flips) {
				sick := copyDir(t, dir)
				damage(t, filepath.Join(sick, path))
				check(fmt.Sprintf("%s: %s: %s", state, path, what), sick, true)
				require.NoError(t, os.RemoveAll(sick)) // thousands would fill the disk
			}
		})
	}
	t.Logf("%d of %d entries were lost", lost, kept)
}

// A list of tables that lost its last change, whole, is not seen to be damaged. What the tables have is kept, and named.
func TestRepairByAListThatIsShort(t *testing.T) {
	states, content := filled(t)
	sick := states["rewritten"]
	list := filepath.Join(sick, "g000001", "MANIFEST")
	require.NoError(t, os.Truncate(list, 8)) // its head
	_, err := badger.Open(sick, nil)
	require.ErrorIs(t, err, store.ErrDamaged)
	to := filepath.Join(t.TempDir(), "repaired")
	r, err := badger.Repair(sick, to)
	require.NoError(t, err)
	require.True(t, missed(r, "key/150"), r.Missing)
	st := open(t, to)
	got := state(t, st)
	require.NoError(t, st.Close())
	require.Len(t, got, len(content))
	for _, e := range got {
		require.Equal(t, content[e.Key], string(e.Value), e.Key)
	}
}

func TestRepairRefuses(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	to := filepath.Join(t.TempDir(), "repaired")
	_, err := badger.Repair(dir, to)
	require.ErrorIs(t, err, store.ErrLocked)
	require.NoDirExists(t, to)
	require.NoError(t, st.Close())
	_, err = badger.Repair(dir, dir)
	require.ErrorIs(t, err, store.ErrForeign)
}

// One bit of a table, wherever it is, costs a repair no more than the record that it
// is in, and at worst the block. What it costs is named.
func TestRepairFlippedBit(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	content := map[string]string{}
	for i := range 12 {
		key, value := fmt.Sprintf("key%02d", i), fmt.Sprintf("value%02d", i)
		for _, op := range []store.Op{put(key, "former", store.Any), put(key, value, store.Any)} {
			_, err := st.Commit(t.Context(), op)
			require.NoError(t, err)
		}
		content[key] = value
	}
	_, err := st.Commit(t.Context(), store.Op{Key: "key07", Delete: true})
	require.NoError(t, err)
	delete(content, "key07")
	require.NoError(t, st.Close())
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	require.NoError(t, err)
	require.Len(t, tables, 1)
	data, err := os.ReadFile(tables[0])
	require.NoError(t, err)

	repaired := func(at int, bit byte) (r *badger.Repaired, lost []string) {
		data[at] ^= bit
		require.NoError(t, os.WriteFile(tables[0], data, 0o600))
		data[at] ^= bit
		to := t.TempDir()
		r, err := badger.Repair(dir, to)
		require.NoError(t, err, at)
		require.NotEmpty(t, r.Missing, at)
		st, err := badger.Open(to, nil)
		require.NoError(t, err, at)
		got := map[string]string{}
		for _, e := range state(t, st) {
			got[e.Key] = string(e.Value)
		}
		require.NoError(t, st.Close())
		require.Len(t, got, r.Entries)
		for key, value := range content {
			if got[key] != value {
				lost = append(lost, key)
				require.True(t, missed(r, key), "%d: %s is not there, and not missed", at, key)
			}
			delete(got, key)
		}
		for key := range got {
			require.True(t, missed(r, key), "%d: %s was deleted and is there, and not missed", at, key)
		}
		return r, lost
	}
	value08 := bytes.Index(data, []byte("value08"))
	require.Positive(t, value08)
	const header, meta = 12, 3 // of the record, and of Badger's entry before it
	for what, at := range map[string]int{"meta": value08 - header - meta, "version": value08 - header - meta - 1} {
		_, lost := repaired(at, 1)
		require.Empty(t, lost, what)
	}
	_, lost := repaired(value08, 1)
	require.Equal(t, []string{"key08"}, lost)
	random := rand.New(rand.NewPCG(7, 8))
	for at := 0; at < len(data); at += 1 + random.IntN(max(1, 60/(*flips))) {
		repaired(at, 1<<random.IntN(8))
	}
}

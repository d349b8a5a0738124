package badger_test

import (
	"fmt"
	"math/rand/v2"
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
			}
		})
	}
	t.Logf("%d of %d entries were lost", lost, kept)
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

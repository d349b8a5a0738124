package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

// Any number of processes may find that there is no schema yet.
func TestManyOpenAtOnce(t *testing.T) {
	name := schema(t)
	database(t)
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			st, err := postgres.Open(t.Context(), conninfo, &postgres.Options{Schema: name})
			if err == nil {
				_, err = st.Commit(t.Context(), store.Op{Key: fmt.Sprint(i)})
				require.NoError(t, st.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	n := 0
	for _, err := range open(t, name).Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, len(errs), n)
}

func TestNewerSchema(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	_, err := st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("1")})
	require.NoError(t, err)
	run(t, "UPDATE "+name+".arc_meta SET version = 99")
	_, err = postgres.Open(t.Context(), conninfo, &postgres.Options{Schema: name})
	require.ErrorIs(t, err, store.ErrNewer)
	_, err = st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("2")})
	require.ErrorIs(t, err, store.ErrNewer, "who was there before writes no more")
	e, err := st.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(e.Value))
}

// A schema of version 1 is brought to this one by the first that opens it.
func TestOlderSchema(t *testing.T) {
	name := schema(t)
	rev := put(t, open(t, name), "key")
	run(t, "DROP FUNCTION "+name+".arc_take; UPDATE "+name+".arc_meta SET version = 1")
	st := open(t, name)
	next, err := st.CommitFirst(t.Context(), []string{"key"}, []string{"key"}, func(_ int, e store.Entry) ([]store.Op, error) {
		return []store.Op{{Key: e.Key, Value: []byte("next"), If: store.At(rev)}}, nil
	})
	require.NoError(t, err)
	require.Greater(t, next, rev)
}

func TestForeignSchema(t *testing.T) {
	for _, table := range []string{"arc_entries (id int)", "arc_meta (id int)"} {
		name := schema(t)
		database(t)
		run(t, "CREATE SCHEMA "+name+"; CREATE TABLE "+name+"."+table)
		_, err := postgres.Open(t.Context(), conninfo, &postgres.Options{Schema: name})
		require.ErrorIs(t, err, store.ErrForeign)
	}
}

func TestSchemaNames(t *testing.T) {
	for _, name := range []string{"A", "a-b", `a"b`, "1a", "ä", "a.b", " "} {
		_, err := postgres.Open(t.Context(), "host=/nowhere", &postgres.Options{Schema: name})
		require.ErrorContains(t, err, "lower-case", name)
	}
}

// Two stores of one database know nothing of one another, nor do they wait.
func TestStoresShareADatabase(t *testing.T) {
	a, b := open(t, schema(t)), open(t, schema(t))
	_, err := a.Commit(t.Context(), store.Op{Key: "k", Value: []byte("a")})
	require.NoError(t, err)
	_, err = b.Get(t.Context(), "k")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = b.Commit(t.Context(), store.Op{Key: "k", Value: []byte("b"), If: store.Absent})
	require.NoError(t, err)
}

// A server into which a dump was restored counts its transactions from the start.
func TestRevisionsGrowAfterARestore(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	rev, err := st.Commit(t.Context(), store.Op{Key: "a"})
	require.NoError(t, err)
	const ahead = 1_000_000
	run(t, fmt.Sprintf("UPDATE %[1]s.arc_entries SET rev = rev + %[2]d; UPDATE %[1]s.arc_changes SET rev = rev + %[2]d", name, ahead))
	_, err = st.Commit(t.Context(), store.Op{Key: "a"})
	require.ErrorIs(t, err, store.ErrFailed, "a store that was open meanwhile")
	again := open(t, name)
	next, err := again.Commit(t.Context(), store.Op{Key: "a", If: store.At(rev + ahead)})
	require.NoError(t, err)
	require.Greater(t, next, rev+ahead)
}

func TestDamagedValue(t *testing.T) {
	name := schema(t)
	st := open(t, name)
	_, err := st.Commit(t.Context(), store.Op{Key: "a", Value: []byte("one")}, store.Op{Key: "b", Value: []byte("two")})
	require.NoError(t, err)
	run(t, "UPDATE "+name+".arc_entries SET value = set_byte(value, 5, 0) WHERE key = 'a'")
	_, err = st.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrDamaged)
	require.ErrorContains(t, err, `"a"`)
	_, err = st.Get(t.Context(), "b")
	require.NoError(t, err)
	for _, err = range st.Scan(t.Context(), store.Range{}) {
	}
	require.ErrorIs(t, err, store.ErrDamaged)
}

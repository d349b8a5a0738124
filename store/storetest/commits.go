package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

var commitRules = []rule{
	{"delete removes the key", deleteRemoves},
	{"a commit of no ops does nothing", func(t tb, st store.Store) {
		before := commit(t, st, put("a", "1"))
		rev, err := st.Commit(t.Context())
		require.NoError(t, err)
		require.Zero(t, rev)
		require.Equal(t, before, requireValue(t, st, "a", "1").Rev)
	}},
	{"conditions decide on the revision", conditions},
	{"conditions are checked before anything is written", conditionsFirst},
	{"a conflict leaves nothing behind", conflictLeavesNothing},
	{"a commit is seen as a whole", commitIsWhole},
	{"concurrent increments are not lost", increments},
	{"concurrent commits that conflict do not spoil others", groups},
}

func deleteRemoves(t tb, st store.Store) {
	commit(t, st, del("absent"))
	commit(t, st, put("a", "1"), put("b", "2"))
	commit(t, st, del("a"))
	requireAbsent(t, st, "a")
	require.Equal(t, []string{"b"}, keys(scan(t, st, store.Range{})))
	commit(t, st, del("b"), put("a", "3"))
	require.Equal(t, map[string]string{"a": "3"}, values(scan(t, st, store.Range{})))
}

func conditions(t tb, st store.Store) {
	for i, c := range []struct {
		state string // of the key: "present" in its second version, "gone" after its second, or "absent"
		cond  func(first, second store.Revision) store.Condition
		holds bool
	}{
		{"present", always(store.Any), true},
		{"present", always(store.Absent), false},
		{"present", always(store.At(0)), false},
		{"present", atFirst, false},
		{"present", atSecond, true},
		{"absent", always(store.Any), true},
		{"absent", always(store.Absent), true},
		{"absent", always(store.At(0)), true},
		{"absent", always(store.At(1)), false},
		{"gone", always(store.Any), true},
		{"gone", always(store.Absent), true},
		{"gone", always(store.At(0)), true},
		{"gone", atFirst, false},
		{"gone", atSecond, false},
	} {
		for _, remove := range []bool{false, true} {
			key := fmt.Sprintf("%s/%d/%v", c.state, i, remove)
			var first, second store.Revision
			if c.state != "absent" {
				first = commit(t, st, put(key, "1"))
				second = commit(t, st, put(key, "1"))
			}
			if c.state == "gone" {
				commit(t, st, del(key))
			}
			op := store.Op{Key: key, Value: []byte("2"), Delete: remove, If: c.cond(first, second)}
			rev, err := st.Commit(t.Context(), op)
			what := fmt.Sprintf("%+v", op)
			if !c.holds {
				require.ErrorIs(t, err, store.ErrConflict, what)
				require.Zero(t, rev, what)
			} else {
				require.NoError(t, err, what)
			}
			switch {
			case !c.holds && c.state == "present":
				require.Equal(t, second, requireValue(t, st, key, "1").Rev, what)
			case c.holds && !remove:
				require.Equal(t, rev, requireValue(t, st, key, "2").Rev, what)
			default:
				requireAbsent(t, st, key)
			}
		}
	}
}

func always(c store.Condition) func(first, second store.Revision) store.Condition {
	return func(store.Revision, store.Revision) store.Condition { return c }
}

func atFirst(first, _ store.Revision) store.Condition { return store.At(first) }

func atSecond(_, second store.Revision) store.Condition { return store.At(second) }

func conditionsFirst(t tb, st store.Store) {
	rev := commit(t, st, put("a", "1"))
	// Each condition holds of the store as it was, whatever the other ops do.
	next := commit(t, st,
		store.Op{Key: "b", Value: []byte("1"), If: store.Absent},
		store.Op{Key: "a", Delete: true, If: store.At(rev)})
	requireAbsent(t, st, "a")
	require.Equal(t, next, requireValue(t, st, "b", "1").Rev)
}

func conflictLeavesNothing(t tb, st store.Store) {
	rev := commit(t, st, put("a", "1"), put("b", "1"))
	bad := store.Op{Key: "x", Value: []byte("new"), If: store.At(rev)}
	ops := []store.Op{put("a", "new"), put("c", "new"), del("b")}
	for at := range len(ops) + 1 { // wherever in the commit it is
		mixed := append(append(append([]store.Op{}, ops[:at]...), bad), ops[at:]...)
		_, err := st.Commit(t.Context(), mixed...)
		require.ErrorIs(t, err, store.ErrConflict)
		require.Equal(t, map[string]string{"a": "1", "b": "1"}, values(scan(t, st, store.Range{})))
		require.Equal(t, rev, requireValue(t, st, "a", "1").Rev)
		requireAbsent(t, st, "c")
		requireAbsent(t, st, "x")
	}
}

// commitIsWhole scans while a writer changes all keys at once.
func commitIsWhole(t tb, st store.Store) {
	const width, rounds = 8, 60
	write := func(v int) error {
		var ops []store.Op
		for i := range width {
			ops = append(ops, put(fmt.Sprint("w", i), strconv.Itoa(v)))
		}
		_, err := st.Commit(t.Context(), ops...)
		return err
	}
	require.NoError(t, write(0))
	done := make(chan error, 1)
	go func() {
		for v := range rounds {
			if err := write(v + 1); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for finished := false; !finished; {
		select {
		case err := <-done:
			require.NoError(t, err)
			finished = true
		default:
		}
		got := scan(t, st, store.Range{Prefix: "w"})
		require.Len(t, got, width)
		for _, e := range got {
			require.Equal(t, string(got[0].Value), string(e.Value), "half of a commit")
			require.Equal(t, got[0].Rev, e.Rev, "half of a commit")
		}
	}
	requireValue(t, st, "w0", strconv.Itoa(rounds))
}

func increments(t tb, st store.Store) {
	const workers, each = 8, 25
	var mu sync.Mutex
	seen := map[store.Revision]bool{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := inParallel(workers, func(int) error {
		for range each {
			rev, err := increment(ctx, st, "n")
			if err != nil {
				return err
			}
			mu.Lock()
			twice := seen[rev]
			seen[rev] = true
			mu.Unlock()
			if twice {
				return fmt.Errorf("two commits have revision %d", rev)
			}
		}
		return nil
	})
	require.NoError(t, errs)
	e := requireValue(t, st, "n", strconv.Itoa(workers*each))
	for rev := range seen {
		require.LessOrEqual(t, rev, e.Rev, "the last increment has the largest revision")
	}
}

// increment adds one to a number in the store, as every reader-writer does it:
// read, commit on the condition that nobody was faster, else again.
func increment(ctx context.Context, st store.Store, key string) (store.Revision, error) {
	for {
		e, err := st.Get(ctx, key)
		n := 0
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return 0, err
		default:
			if n, err = strconv.Atoi(string(e.Value)); err != nil {
				return 0, err
			}
		}
		rev, err := st.Commit(ctx, store.Op{Key: key, Value: []byte(strconv.Itoa(n + 1)), If: store.At(e.Rev)})
		if !errors.Is(err, store.ErrConflict) {
			return rev, err
		}
	}
}

// groups has each worker write its own keys and contend for a shared one, so
// that a store which joins commits to groups has some that fail in each.
func groups(t tb, st store.Store) {
	const workers, each = 8, 20
	var mu sync.Mutex
	won := 0
	errs := inParallel(workers, func(w int) error {
		for i := range each {
			own := fmt.Sprintf("own/%d/%d", w, i)
			shared := fmt.Sprintf("shared/%d", i)
			if _, err := st.Commit(t.Context(), put(own, "x")); err != nil {
				return err
			}
			_, err := st.Commit(t.Context(),
				store.Op{Key: shared, Value: []byte(strconv.Itoa(w)), If: store.Absent},
				put(own+"/won", "x"))
			if err != nil && !errors.Is(err, store.ErrConflict) {
				return err
			}
			_, errGet := st.Get(t.Context(), own+"/won")
			if (err == nil) != (errGet == nil) {
				return fmt.Errorf("commit: %v, but get: %v", err, errGet)
			}
			if err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		}
		return nil
	})
	require.NoError(t, errs)
	require.Equal(t, each, won, "each shared key has one winner")
	require.Len(t, scan(t, st, store.Range{Prefix: "shared/"}), each)
	require.Len(t, scan(t, st, store.Range{Prefix: "own/"}), workers*each+each)
}

// inParallel joins the errors of n concurrent calls.
func inParallel(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

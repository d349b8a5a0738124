package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest/internal/feedtest"
)

// Lacks declares what a durable store cannot do. The zero value declares
// nothing: every rule is checked. A rule that is not checked is a skipped
// subtest.
type Lacks struct {
	// Lock: several openers may share the data, as clients of a server do.
	Lock bool
}

// RunDurable checks what has to hold across closing and opening again. Open
// opens the data in the directory dir, which exists and is empty at first; a
// store that keeps no files takes dir for a name. Lacks may be nil. The suite
// closes what it opens.
func RunDurable(t *testing.T, open func(dir string) (store.Store, error), lacks *Lacks) {
	if lacks == nil {
		lacks = &Lacks{}
	}
	for _, r := range durableRules {
		t.Run(r.name, func(t *testing.T) {
			if r.lock && lacks.Lock {
				t.Skip("declared as lacking: Lock")
			}
			r.check(t, t.TempDir(), open)
		})
	}
}

type openFunc = func(dir string) (store.Store, error)

var durableRules = []struct {
	name  string
	lock  bool
	check func(t tb, dir string, open openFunc)
}{
	{"an empty store opens again", false, func(t tb, dir string, open openFunc) {
		for range 3 {
			reopened(t, dir, open, func(st store.Store) {
				require.Empty(t, scan(t, st, store.Range{}))
			})
		}
	}},
	{"entries and revisions outlive a close", false, entriesOutlive},
	{"deletions outlive a close", false, deletionsOutlive},
	{"revisions go on growing after a close", false, revisionsGrow},
	{"conditions hold across a close", false, conditionsAcross},
	{"watches across closes say what was committed", false, feedsAcross},
	{"a second opener is ErrLocked and does no harm", true, secondOpener},
}

// reopened opens the store for the time of fn.
func reopened(t tb, dir string, open openFunc, fn func(st store.Store)) {
	t.Helper()
	st, err := open(dir)
	require.NoError(t, err, "open")
	fn(st)
	require.NoError(t, st.Close(), "close")
}

func entriesOutlive(t tb, dir string, open openFunc) {
	var want []store.Entry
	for round := range 4 {
		reopened(t, dir, open, func(st store.Store) {
			require.Equal(t, want, scan(t, st, store.Range{}), "after %d rounds", round)
			for i := range 50 {
				commit(t, st,
					put(fmt.Sprintf("new/%d/%d", round, i), fmt.Sprint(round, i)),
					put(fmt.Sprintf("changed/%d", i), fmt.Sprint(round, i)))
			}
			want = scan(t, st, store.Range{})
			require.Len(t, want, 50*(round+2))
		})
	}
}

func deletionsOutlive(t tb, dir string, open openFunc) {
	reopened(t, dir, open, func(st store.Store) {
		fill(t, st, many)
		commit(t, st, put("kept", "1"))
	})
	reopened(t, dir, open, func(st store.Store) {
		for _, e := range scan(t, st, store.Range{Prefix: "k0"}) {
			commit(t, st, del(e.Key))
		}
	})
	reopened(t, dir, open, func(st store.Store) {
		for _, e := range scan(t, st, store.Range{Prefix: "k1"}) {
			commit(t, st, del(e.Key))
		}
		require.Equal(t, []string{"kept"}, keys(scan(t, st, store.Range{})))
	})
	reopened(t, dir, open, func(st store.Store) {
		require.Equal(t, []string{"kept"}, keys(scan(t, st, store.Range{})))
	})
}

func revisionsGrow(t tb, dir string, open openFunc) {
	var last store.Revision
	for i := range 4 {
		reopened(t, dir, open, func(st store.Store) {
			rev := commit(t, st, put("a", fmt.Sprint(i)))
			require.Greater(t, rev, last)
			last = commit(t, st, del("a")) // no entry holds the last revision
			require.Greater(t, last, rev)
		})
	}
}

func conditionsAcross(t tb, dir string, open openFunc) {
	var stale, rev store.Revision
	reopened(t, dir, open, func(st store.Store) {
		stale = commit(t, st, put("a", "1"))
		rev = commit(t, st, put("a", "2"))
	})
	reopened(t, dir, open, func(st store.Store) {
		_, err := st.Commit(t.Context(), store.Op{Key: "a", If: store.At(stale)})
		require.ErrorIs(t, err, store.ErrConflict)
		_, err = st.Commit(t.Context(), store.Op{Key: "a", If: store.Absent})
		require.ErrorIs(t, err, store.ErrConflict)
		commit(t, st, store.Op{Key: "a", Value: []byte("3"), If: store.At(rev)})
		requireValue(t, st, "a", "3")
	})
}

func secondOpener(t tb, dir string, open openFunc) {
	reopened(t, dir, open, func(st store.Store) {
		commit(t, st, put("a", "1"))
		for range 2 {
			second, err := open(dir)
			if err == nil {
				require.NoError(t, second.Close())
			}
			require.ErrorIs(t, err, store.ErrLocked)
			commit(t, st, put("b", "1"))
			requireValue(t, st, "a", "1")
		}
	})
	reopened(t, dir, open, func(st store.Store) {
		require.Equal(t, []string{"a", "b"}, keys(scan(t, st, store.Range{})))
	})
}

// feedsAcross is feedsOf a store that is closed beside calls in flight and opened again.
func feedsAcross(t tb, dir string, open openFunc) {
	reopened(t, dir, open, func(st store.Store) { as[feedtest.Store](t, st) }) // or it is skipped
	feedtest.Check(t, &feedtest.Options{Rounds: 1, Open: func() ([]feedtest.Store, error) {
		st, err := open(dir)
		if err != nil {
			return nil, err
		}
		return []feedtest.Store{st.(feedtest.Store)}, nil
	}})
}

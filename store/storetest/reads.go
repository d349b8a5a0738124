package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

var readRules = []rule{
	{"a backup comes back in another store", func(t tb, st store.Store) {
		want := fill(t, st, many)
		var file bytes.Buffer
		n, err := store.Backup(t.Context(), st, &file)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		for _, e := range scan(t, st, store.Range{}) {
			commit(t, st, del(e.Key))
		}
		n, err = store.Restore(t.Context(), st, &file)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
		require.Equal(t, want, values(scan(t, st, store.Range{})))
	}},
	{"get returns what was put", getReturnsPut},
	{"get of an absent key is ErrNotFound", func(t tb, st store.Store) {
		requireAbsent(t, st, "a")
		commit(t, st, put("ab", "1"))
		requireAbsent(t, st, "a")
		requireAbsent(t, st, "abc")
	}},
	{"an entry has the revision of its last commit", entryRevision},
	{"scan yields in bytewise key order", scanOrder},
	{"scan keeps to prefix, after and limit", scanRange},
	{"scan yields values and revisions", scanEntries},
	{"scan sees the store as of its beginning", scanSnapshot},
	{"scan begins when the loop does, each time", scanBegins},
	{"leaving a scan releases it", scanBreak},
}

func getReturnsPut(t tb, st store.Store) {
	commit(t, st, put("a", "1"))
	requireValue(t, st, "a", "1")
	commit(t, st, put("a", "2"), put("b", ""))
	requireValue(t, st, "a", "2")
	requireValue(t, st, "b", "")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	commit(t, st, put("every byte", string(every)))
	requireValue(t, st, "every byte", string(every))
}

func entryRevision(t tb, st store.Store) {
	first := commit(t, st, put("a", "1"), put("b", "1"))
	second := commit(t, st, put("b", "2"))
	require.Greater(t, second, first, "a later commit has a larger revision")
	require.Equal(t, first, requireValue(t, st, "a", "1").Rev)
	require.Equal(t, second, requireValue(t, st, "b", "2").Rev)
	third := commit(t, st, del("a"))
	require.Greater(t, third, second, "a later commit has a larger revision")
	fourth := commit(t, st, put("a", "1"))
	require.Greater(t, fourth, third, "a later commit has a larger revision")
	require.Equal(t, fourth, requireValue(t, st, "a", "1").Rev)
}

// ordered are keys in bytewise order that tempt an encoding to sort or to
// refuse them otherwise.
var ordered = []string{
	"\x00", "\x00\x00", "\x01", " ", "!badger!", "%", "..", "/", "//", "A", "Z", "_", "a", "a\x00", "a\x00b",
	"a ", "a.b", "a/b", "aa", "aaa", "ab", "b", "z", "\x7f", "\u0080", "é", "ÿ", "日本", "\ufffd", "😀", "\U0010ffff",
}

func scanOrder(t tb, st store.Store) {
	require.Empty(t, scan(t, st, store.Range{}), "an empty store")
	for i := range ordered {
		commit(t, st, put(ordered[i*7%len(ordered)], "x"))
	}
	require.Equal(t, ordered, keys(scan(t, st, store.Range{})))
	for _, k := range ordered {
		requireValue(t, st, k, "x")
	}
}

func scanRange(t tb, st store.Store) {
	var ops []store.Op
	for _, k := range ordered {
		ops = append(ops, put(k, "x"))
	}
	commit(t, st, ops...)
	bounds := append([]string{"", "aab", "a\x00a", "c", "~"}, ordered...)
	for _, prefix := range bounds {
		for _, after := range bounds {
			for _, limit := range []int{0, 1, 3} {
				r := store.Range{Prefix: prefix, After: after, Limit: limit}
				require.Equal(t, pick(ordered, r), keys(scan(t, st, r)), "scan %#v", r)
			}
		}
	}
}

// pick says what a range means.
func pick(sorted []string, r store.Range) []string {
	picked := []string{}
	for _, k := range sorted {
		if strings.HasPrefix(k, r.Prefix) && k > r.After && (r.Limit <= 0 || len(picked) < r.Limit) {
			picked = append(picked, k)
		}
	}
	return picked
}

func scanEntries(t tb, st store.Store) {
	one := commit(t, st, put("a", "1"), put("b", "1"))
	two := commit(t, st, put("b", "2"), put("c", ""))
	got := scan(t, st, store.Range{})
	require.Equal(t, map[string]string{"a": "1", "b": "2", "c": ""}, values(got))
	require.Equal(t, []store.Revision{one, two, two}, []store.Revision{got[0].Rev, got[1].Rev, got[2].Rev})
}

// many is more than an implementation will fetch at once.
const many = 700

func fill(t tb, st store.Store, n int) map[string]string {
	t.Helper()
	model := map[string]string{}
	var ops []store.Op
	for i := range n {
		k := fmt.Sprintf("k%04d", i*2)
		model[k] = fmt.Sprint("old ", i)
		ops = append(ops, put(k, model[k]))
	}
	commit(t, st, ops...)
	return model
}

func scanSnapshot(t tb, st store.Store) {
	for _, n := range []int{4, many} {
		for _, e := range scan(t, st, store.Range{}) {
			commit(t, st, del(e.Key))
		}
		want := fill(t, st, n)
		got := map[string]string{}
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "k"}) {
			require.NoError(t, err)
			if len(got) == 0 {
				for i := range n {
					k := fmt.Sprintf("k%04d", i*2)
					change := put(k, "new")
					if i%2 == 1 {
						change = del(k)
					}
					commit(t, st, change, put(fmt.Sprintf("k%04d", i*2+1), "new"))
				}
				for range st.Scan(t.Context(), store.Range{Limit: 3}) {
					requireValue(t, st, "k0000", "new") // a body may call any method
				}
			}
			got[e.Key] = string(e.Value)
		}
		require.Equal(t, want, got, "a scan of %d keys while they change", n)
	}
}

func scanBegins(t tb, st store.Store) {
	all := st.Scan(t.Context(), store.Range{})
	count := func() int {
		n := 0
		for _, err := range all {
			require.NoError(t, err)
			n++
		}
		return n
	}
	commit(t, st, put("a", "1"))
	require.Equal(t, 1, count(), "a commit between Scan and the loop")
	commit(t, st, put("b", "1"))
	require.Equal(t, 2, count(), "the second loop")
}

func scanBreak(t tb, st store.Store) {
	fill(t, st, many)
	for range 200 {
		for _, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			break
		}
	}
	commit(t, st, put("a", "1"))
	requireValue(t, st, "a", "1")
	require.Len(t, scan(t, st, store.Range{}), many+1)
}

package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

var modelRules = []rule{
	{"random commits agree with a map", agreesWithMap},
}

// agreesWithMap runs random commits and reads against a store and against a
// map that does the same in the plainest way. Each run has its own prefix.
func agreesWithMap(t tb, st store.Store) {
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		m := &model{tb: t, st: st, prefix: fmt.Sprintf("run%d/", runs), entries: map[string]store.Entry{}}
		rt.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"get":    m.get,
			"scan":   m.scan,
		})
	})
}

type model struct {
	tb      tb
	st      store.Store
	prefix  string
	entries map[string]store.Entry
	last    store.Revision
}

func (m *model) key(rt *rapid.T, label string) string {
	return m.prefix + rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', '\x00', '😀'}), 0, 2, -1).Draw(rt, label)
}

func (m *model) commit(rt *rapid.T) {
	ops := rapid.SliceOfNDistinct(rapid.Custom(m.op), 1, 5, func(op store.Op) string { return op.Key }).Draw(rt, "ops")
	rev, err := m.st.Commit(m.tb.Context(), ops...)
	for _, op := range ops {
		if op.If.Holds(m.entries[op.Key].Rev) {
			continue
		}
		if !errors.Is(err, store.ErrConflict) {
			rt.Fatalf("commit(%+v): got %v, want a conflict on %q", ops, err, op.Key)
		}
		return
	}
	if err != nil {
		rt.Fatalf("commit(%+v): %v", ops, err)
	}
	if rev <= m.last {
		rt.Fatalf("commit(%+v): revision %d after %d", ops, rev, m.last)
	}
	m.last = rev
	for _, op := range ops {
		delete(m.entries, op.Key)
		if !op.Delete {
			m.entries[op.Key] = store.Entry{Key: op.Key, Value: op.Value, Rev: rev}
		}
	}
}

func (m *model) op(rt *rapid.T) store.Op {
	op := store.Op{Key: m.key(rt, "key"), Delete: rapid.Bool().Draw(rt, "delete")}
	if !op.Delete {
		op.Value = rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "value")
	}
	switch rapid.IntRange(0, 5).Draw(rt, "if") {
	case 0:
		op.If = store.Absent
	case 1:
		op.If = store.At(m.last)
	case 2, 3:
		op.If = store.At(m.entries[op.Key].Rev)
	}
	return op
}

func (m *model) get(rt *rapid.T) {
	key := m.key(rt, "key")
	got, err := m.st.Get(m.tb.Context(), key)
	want, ok := m.entries[key]
	switch {
	case !ok && !errors.Is(err, store.ErrNotFound):
		rt.Fatalf("get(%q): got %+v, %v, want not found", key, got, err)
	case ok && err != nil:
		rt.Fatalf("get(%q): got %v, want %+v", key, err, want)
	case ok && !same(got, want):
		rt.Fatalf("get(%q): got %+v, want %+v", key, got, want)
	}
}

func (m *model) scan(rt *rapid.T) {
	r := store.Range{Prefix: m.key(rt, "prefix"), Limit: rapid.IntRange(0, 4).Draw(rt, "limit")}
	if rapid.Bool().Draw(rt, "has after") {
		r.After = m.key(rt, "after")
	}
	want := pick(slices.Sorted(maps.Keys(m.entries)), r)
	n := 0
	for got, err := range m.st.Scan(m.tb.Context(), r) {
		if err != nil {
			rt.Fatalf("scan(%+v): %v", r, err)
		}
		if n == len(want) || !same(got, m.entries[want[n]]) {
			rt.Fatalf("scan(%+v): got %+v at %d, want the keys %q", r, got, n, want)
		}
		n++
	}
	if n != len(want) {
		rt.Fatalf("scan(%+v): got %d entries, want the keys %q", r, n, want)
	}
}

func same(a, b store.Entry) bool {
	return a.Key == b.Key && a.Rev == b.Rev && !a.Deleted && string(a.Value) == string(b.Value)
}

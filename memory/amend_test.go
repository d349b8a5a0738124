package memory_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// lossy is a store whose next commit takes place, and fails all the same.
type lossy struct {
	store.Store
	fail bool
}

var errLost = errors.New("connection lost")

func (l *lossy) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := l.Store.Commit(ctx, ops...)
	if l.fail && err == nil {
		l.fail = false
		return 0, errLost
	}
	return rev, err
}

// Amend writes records as they are, all or none, if they are still what was read; what
// is in memory is what is in the store, whatever became of the commit.
func TestAmend(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), &lossy{Store: store.NewMem()}
	bank, err := memory.Open(ctx, st, nil)
	require.NoError(t, err)
	space := bank.In("acme/ann/" + memory.Apart)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := func(id, plan string) memory.Record {
		return memory.Record{ID: memory.ID(id), Kind: memory.Fact, Content: "text of " + id, Thread: "facts", At: at, Known: at, Plan: []byte(plan), Trusted: true}
	}
	put := func(was, is memory.Record) error { return space.Amend(ctx, memory.Amended{Was: was, Is: is}) }
	read := func(id string) memory.Record {
		r, err := space.Get(ctx, memory.ID(id))
		require.NoError(t, err)
		return r
	}
	require.NoError(t, put(memory.Record{}, record("one", `{"n":1}`)))
	one := read("one")
	require.Equal(t, memory.Scope("acme/ann/@identity"), one.Scope)
	require.JSONEq(t, `{"n":1}`, string(one.Plan))
	require.ErrorIs(t, put(memory.Record{}, record("one", `{}`)), store.ErrConflict, "it is there")
	require.ErrorIs(t, put(record("two", `{}`), record("two", `{}`)), store.ErrConflict, "it is not there")
	require.NoError(t, put(one, record("one", `{"n":2}`)))
	require.ErrorIs(t, put(one, record("one", `{"n":3}`)), store.ErrConflict, "it has changed")
	require.ErrorIs(t, space.Amend(ctx, memory.Amended{Is: record("two", `{}`)}, memory.Amended{Was: one}), store.ErrConflict)
	_, err = space.Get(ctx, "two")
	require.ErrorIs(t, err, store.ErrNotFound, "all or none")

	for want, spoil := range map[error]func(*memory.Record){ // what would keep the Bank from opening
		memory.ErrKind:   func(r *memory.Record) { r.Kind = "note" },
		memory.ErrOrigin: func(r *memory.Record) { r.Source.Origin = "hearsay" },
		memory.ErrEmpty:  func(r *memory.Record) { r.Content = " \n" },
	} {
		for _, was := range []memory.Record{{}, read("one")} {
			is := record(cmp.Or(string(was.ID), "two"), `{}`)
			spoil(&is)
			require.ErrorIs(t, put(was, is), want)
		}
	}
	_, err = space.Get(ctx, "two")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.JSONEq(t, `{"n":2}`, string(read("one").Plan))

	st.fail = true
	require.ErrorIs(t, put(memory.Record{}, record("two", `{"n":1}`)), errLost)
	require.JSONEq(t, `{"n":1}`, string(read("two").Plan), "its outcome was not known, and is now")
	st.fail = true
	require.ErrorIs(t, space.Amend(ctx, memory.Amended{Was: read("two")}), errLost)
	_, err = space.Get(ctx, "two")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, space.Amend(ctx, memory.Amended{Was: memory.Record{ID: "one", Plan: read("one").Plan}, Is: record("one", `{"n":4}`)}))

	hits, err := space.Recall(ctx, memory.Query{Text: "text of one"})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	latest, err := space.Latest(ctx, "facts", 9)
	require.NoError(t, err)
	require.Len(t, latest, 1)
	require.NoError(t, bank.Close())
	bank, err = memory.Open(ctx, st, nil)
	require.NoError(t, err)
	space = bank.In("acme/ann/" + memory.Apart)
	require.JSONEq(t, `{"n":4}`, string(read("one").Plan))
	require.NoError(t, bank.Erase(ctx, "acme/ann"))
	_, err = space.Get(ctx, "one")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, bank.Close())
	require.ErrorIs(t, space.Amend(ctx), store.ErrClosed)
	require.ErrorIs(t, bank.In("a/b/c/d/e/f/g/h/i").Amend(ctx), memory.ErrScope, "a ninth segment is of Apart alone")
	require.NoError(t, memory.Scope("a/b/c/d/e/f/g/h/@identity").Check())
}

// A record that could not be read again is not written.
func TestAmendChecks(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	s := open(t, st, newClock()).In("acme")
	fact := func(change func(*memory.Record)) memory.Record {
		r := memory.Record{ID: "x", Kind: memory.Fact, Content: "ann prefers tea"}
		change(&r)
		return r
	}
	var limit *store.LimitError
	for name, c := range map[string]struct {
		is  memory.Record
		err any
	}{
		"no kind":    {fact(func(r *memory.Record) { r.Kind = "" }), memory.ErrKind},
		"no content": {fact(func(r *memory.Record) { r.Content = " " }), memory.ErrEmpty},
		"origin":     {fact(func(r *memory.Record) { r.Source.Origin = "mars" }), memory.ErrOrigin},
		"plan":       {fact(func(r *memory.Record) { r.Plan = []byte("{") }), memory.ErrPlan},
		"id":         {fact(func(r *memory.Record) { r.ID = "a\x00b" }), memory.ErrID},
		"too long":   {fact(func(r *memory.Record) { r.Content = strings.Repeat("tea ", memory.MaxText) }), &limit},
	} {
		err := s.Amend(t.Context(), memory.Amended{Is: fact(func(r *memory.Record) { r.ID = "good" })}, memory.Amended{Is: c.is})
		if want, ok := c.err.(error); ok {
			require.ErrorIs(t, err, want, name)
		} else {
			require.ErrorAs(t, err, c.err, name)
		}
	}
	require.Empty(t, recall(t, open(t, st, newClock()).In("acme"), memory.Query{}))
}

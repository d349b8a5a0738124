package meta_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// What was stored with the time of each ending opens, and is added to; another
// Monitor's endings are seen.
func TestEndingsOfBeforeOpen(t *testing.T) {
	t.Parallel()
	type timed struct {
		Run       string    `cbor:"1,keyasint,omitempty"`
		Situation string    `cbor:"2,keyasint,omitempty"`
		Approach  string    `cbor:"3,keyasint,omitempty"`
		Delivered bool      `cbor:"4,keyasint,omitempty"`
		At        time.Time `cbor:"5,keyasint,omitempty"`
	}
	st, k := store.NewMem(), key.Join("meta", "past", "acme")
	old, err := codec.Encode(k, []timed{{"one", "s", "a", true, time.Unix(1, 0)}, {"two", "s", "b", false, time.Unix(2, 0)}})
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), store.Op{Key: k, Value: old})
	require.NoError(t, err)
	open := func() *meta.Monitor {
		m, err := meta.Open(t.Context(), st, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.Close()) })
		return m
	}
	m, other := open(), open()
	want := []meta.Ending{{Run: "one", Situation: "s", Approach: "a", Delivered: true}, {Run: "two", Situation: "s", Approach: "b"}}
	for range 2 { // read, and as it was read
		past, _, err := m.Past(t.Context(), "acme", "")
		require.NoError(t, err)
		require.Equal(t, want, past)
	}
	for range 2 {
		require.NoError(t, other.Conclude(t.Context(), "acme", meta.Ending{Run: "three", Situation: "s", Approach: "c"}))
	}
	require.NoError(t, other.Flush(t.Context()))
	want = append(want, meta.Ending{Run: "three", Situation: "s", Approach: "c"})
	past, _, err := m.Past(t.Context(), "acme", "")
	require.NoError(t, err)
	require.Equal(t, want, past)
	past, _, err = m.Past(t.Context(), "acme/other", "")
	require.NoError(t, err)
	require.Empty(t, past)

	require.NoError(t, m.Retract(t.Context(), "acme", "two"))
	require.NoError(t, m.Retract(t.Context(), "acme", "none"))
	past, _, err = m.Past(t.Context(), "acme", "")
	require.NoError(t, err)
	require.Equal(t, []meta.Ending{want[0], want[2]}, past)
	for _, run := range []string{"one", "three"} {
		require.NoError(t, m.Retract(t.Context(), "acme", run))
	}
	past, _, err = m.Past(t.Context(), "acme", "")
	require.NoError(t, err)
	require.Empty(t, past)
}

// The last eight are kept.
func TestEndingsAreBounded(t *testing.T) {
	t.Parallel()
	m, err := meta.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	for i := range 11 {
		require.NoError(t, m.Conclude(t.Context(), "acme", meta.Ending{Run: fmt.Sprint(i), Delivered: true}))
	}
	past, _, err := m.Past(t.Context(), "acme", "")
	require.NoError(t, err)
	require.Len(t, past, 8)
	require.Equal(t, "3", past[0].Run)
	require.Equal(t, "10", past[7].Run)
}

// Those of a situation are told apart, also where it is longer than what is kept of it.
func TestEndingsOfASituation(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	long := strings.Repeat("the door is stuck, ", 20)
	for run, situation := range []string{long, "it rains", long} {
		require.NoError(t, m.Conclude(t.Context(), "acme", meta.Ending{Run: fmt.Sprint(run), Situation: situation}))
	}
	for situation, want := range map[string][]string{
		long: {"0", "2"}, "it rains": {"1"}, "it snows": nil, "": nil,
	} {
		all, past, err := m.Past(t.Context(), "acme", situation)
		require.NoError(t, err)
		require.Len(t, all, 3)
		var runs []string
		for _, e := range past {
			runs = append(runs, e.Run)
		}
		require.Equal(t, want, runs, situation)
	}
}

// A User that no ID can be is refused, as that of an Outcome, and holds up no other ending.
func TestEndingsOfNoUser(t *testing.T) {
	m, err := meta.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	for _, user := range []string{strings.Repeat("u", 600<<10), "a\x00b", "b\xffb"} {
		require.ErrorIs(t, m.Conclude(t.Context(), "acme", meta.Ending{Run: "one", User: user}), meta.ErrInvalid)
	}
	require.NoError(t, m.Conclude(t.Context(), "acme", meta.Ending{Run: "two", User: "bob"}))
}

package register_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// TestPlaces holds the stretches of a register against a list that is sorted and cut.
func TestPlaces(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		st := store.NewMem()
		var all []register.Run
		scopes := map[string]memory.Scope{}
		for i := range rapid.IntRange(0, 300).Draw(t, "runs") {
			r := register.Run{Tenant: "acme", ID: fmt.Sprint("run", i)}
			r.Began = day.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "began"))).UnixNano()
			status := rapid.SampledFrom([]string{"open", "over"}).Draw(t, "status")
			scopes[r.ID] = rapid.SampledFrom([]memory.Scope{"acme", "acme/a", "acme/b"}).Draw(t, "scope")
			_, err := st.Commit(t.Context(), store.Op{Key: r.ByStatus(new(key.Block), status), Value: []byte(scopes[r.ID])})
			require.NoError(t, err)
			all = append(all, r)
		}
		since := day.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "since")))
		until := day.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "until")))
		scope := rapid.SampledFrom([]memory.Scope{"", "acme", "acme/a"}).Draw(t, "within")
		in := register.List{
			Prefixes: []string{register.OfStatus("acme", "open"), register.OfStatus("acme", "over")},
			From:     register.At(until), To: register.At(since.Add(-1)),
		}
		var got, want []string
		for place, err := range in.Places(t.Context(), st, scope) {
			require.NoError(t, err)
			got = append(got, register.ID(place))
		}
		slices.SortFunc(all, func(a, b register.Run) int {
			if a.Began != b.Began {
				return int(b.Began - a.Began)
			}
			return slices.Compare([]byte(a.ID), []byte(b.ID))
		})
		for _, r := range all {
			at := time.Unix(0, r.Began)
			if !at.Before(since) && !at.After(until) && scopes[r.ID].Within(scope) {
				want = append(want, r.ID)
			}
		}
		require.Equal(t, want, got)
	})
	require.Less(t, register.At(time.Unix(0, math.MaxInt64).AddDate(1000, 0, 0)), register.At(day))
	require.Less(t, register.At(day), register.At(time.Time{}))
	require.Less(t, register.At(time.Time{}), register.End)
}

func TestAllDue(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	for i, r := range []register.Run{{Tenant: "b", ID: "x"}, {Tenant: "a", ID: "y"}} {
		_, err := st.Commit(t.Context(), store.Op{Key: r.ByTime(int64(100 - i))})
		require.NoError(t, err)
	}
	var got []string
	for d, err := range register.AllDue(t.Context(), st, 0) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(d.At, d.Tenant, d.ID))
	}
	require.Equal(t, []string{"99ay", "100bx"}, got)
	for _, damaged := range []string{key.Join("arc/due", "never", "a", "z"), key.Join("arc/due", "0")} {
		_, err := st.Commit(t.Context(), store.Op{Key: damaged})
		require.NoError(t, err)
	}
	got = nil
	for d, err := range register.AllDue(t.Context(), st, 0) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(d.At, d.Tenant, d.ID))
	}
	require.Equal(t, []string{"99ay", "100bx", "1az"}, got, "one damaged key costs others nothing")
}

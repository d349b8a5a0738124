package ident_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/ident"
)

// What the package makes is kept as it is; of what others make, the hash is.
func TestOf(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1781524800000)
	keyed, timed := ident.Keyed("acme", "run-1"), ident.Timed(1, now, 0, [4]string{"acme", "fact", "", "water is wet"})
	for _, id := range []string{keyed, timed} {
		k := ident.Of(id)
		require.False(t, k.Foreign())
		require.Equal(t, id, string(k.Append(nil)))
		require.Less(t, len(id), ident.Length)
	}
	require.True(t, ident.IsKeyed(keyed))
	require.False(t, ident.IsKeyed(timed) || ident.IsKeyed(""))
	for _, id := range []string{"", "k", "ann", timed + "0", keyed[:24] + "Z", "zzzzzzzzzzzzzzzzzzzzzzzz"} {
		k := ident.Of(id)
		require.True(t, k.Foreign(), id)
	}
	require.NotEqual(t, ident.Of("ann"), ident.Of("bob"))
}

func TestMade(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1781524800000)
	says := [4]string{"acme", "fact", "", "water is wet"}
	one := ident.Timed(1, now, 0, says)
	require.Equal(t, one, ident.Timed(1, now, 0, says))
	ids := []string{
		one, ident.Timed(2, now, 0, says), ident.Timed(1, now, 1, says), ident.Timed(1, now.Add(time.Millisecond), 0, says),
		ident.Timed(1, now, 0, [4]string{"acme", "fact", "water", "is wet"}), ident.Timed(1, time.UnixMilli(-1), 0, says),
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 6)
	require.Greater(t, ident.Timed(1, now.Add(time.Millisecond), 0, says), one, "in order of time")
	require.NotEqual(t, ident.Keyed("acme", "a"), ident.Keyed("acme/a", ""))
}

package key_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

func TestKeysOfDifferentPartsDiffer(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`[a-z/:\.]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(part, 1, 4).Draw(t, "a")
		b := rapid.SliceOfN(part, 1, 4).Draw(t, "b")
		require.Equal(t, strings.Join(a, "|") == strings.Join(b, "|") && len(a) == len(b), key.Join(a...) == key.Join(b...))
		require.Equal(t, a, key.Split(key.Join(a...)))
		require.Equal(t, len(a) > len(b) && key.Join(a[:len(b)]...) == key.Join(b...), strings.HasPrefix(key.Join(a...), key.Prefix(b...)))
	})
}

func TestCheckID(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "a", "../../etc/passwd", "über", strings.Repeat("x", 256)} {
		require.NoError(t, key.CheckID("id", good))
	}
	for _, bad := range []string{"a\x00b", "a\nb", "\xff", "\x7f"} {
		require.ErrorIs(t, key.CheckID("id", bad), key.ErrID)
	}
	_, ok := errors.AsType[*store.LimitError](key.CheckID("id", strings.Repeat("x", 257)))
	require.True(t, ok)
}

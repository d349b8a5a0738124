package names_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/names"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var random names.Source
	seeded, same := names.Source{Seed: 7}, names.Source{Seed: 7}
	last := ""
	for i := range 300 {
		name := random.Draw(now.Add(time.Duration(i/100) * time.Millisecond))
		require.Greater(t, name, last)
		require.True(t, names.Drawn(name), name)
		last = name
		require.Equal(t, seeded.Draw(now), same.Draw(now))
	}
	require.True(t, names.Drawn(random.Draw(time.Time{})), "before 1970")
	for _, name := range []string{"", "a", "n00000t28qnb2gdn1dadbs2koq90so", "0123456789abcdefghijklmZ"} {
		require.False(t, names.Drawn(name), name)
	}
}

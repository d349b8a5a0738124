package key_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/key"
)

func TestBlock(t *testing.T) {
	var b key.Block
	b.Grow(4)
	var keys []string
	for _, parts := range [][]string{{"a", "b"}, {"c"}, {"", ""}, {"long", "enough", "to", "grow"}} {
		require.Equal(t, key.Join(parts...), b.Join(parts...))
		keys = append(keys, b.Join(parts...))
	}
	require.Equal(t, key.Join("a", "b"), keys[0], "keys made before stay valid")
}

func TestBlockAllocates(t *testing.T) {
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		var b key.Block
		b.Grow(64)
		for _, id := range [...]string{"1", "2", "3"} {
			b.Join("space", "seen", id)
		}
	}), 1.0)
}

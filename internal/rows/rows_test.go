package rows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/rows"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows.Write(&b, "memory", "12 of 40")
	rows.Write(&b, "issue", strings.Repeat("word ", 30)+strings.Repeat("é", 100)+"\x1b[31m")
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Equal(t, "memory     12 of 40", lines[0])
	for _, line := range lines {
		require.LessOrEqual(t, len([]rune(line)), 80)
		require.NotContains(t, line, "\x1b", "what moves a terminal is shown")
	}
	require.True(t, strings.HasPrefix(lines[2], strings.Repeat(" ", 11)))
}

func TestSpark(t *testing.T) {
	t.Parallel()
	require.Equal(t, "▁▅█▁█", rows.Spark([]float64{0, .5, 1, -1, 2}))
}

package phrase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/phrase"
)

func TestWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"i've", "moved", "a_b.go", "7"}, phrase.Words("I\u2019ve moved: a_b.go (7)!"))
	require.Equal(t, []string{"a", "b", "go", "pre", "commit"}, phrase.Parts("a_b.go pre-commit"))
	require.Equal(t, phrase.Words("café がんば"), phrase.Words("cafe\u0301 か\u3099んば"))
	require.Empty(t, phrase.Words("... !"))
}

func TestIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, phrase string
		at           int
	}{
		{"run the Import Cycle check", "import cycle", 2},
		{"run the import cicle check", "import cycle", 2},
		{"cycle import", "import cycle", -1},
		{"import", "import cycle", -1},
		{"port 80801", "port 80802", -1},
		{"a cat", "car", -1},
		{"anything", "", -1},
		{"", "a", -1},
	} {
		require.Equal(t, c.at, phrase.In(phrase.Words(c.text), phrase.Words(c.phrase)), c.text)
	}
}

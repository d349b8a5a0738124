package wording_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/wording"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"  Uses   Go! ": "uses go", "«C++» and C#, .NET": "c++ and c# .net", "-18 °C": "-18 °c", "a grade of A-": "a grade of a-",
		"!!!": "!!!", "more than (>30)": "more than >30", "a < b": "a < b", "": "", "U+200B\u200b gone": "u+200b gone",
	} {
		require.Equal(t, want, wording.Canonical(s), s)
	}
}

// One text holds the other as whole words.
func TestOverlap(t *testing.T) {
	t.Parallel()
	require.True(t, wording.Overlap("Uses Go daily.", "go"))
	require.True(t, wording.Overlap("go", "Uses Go daily."))
	require.False(t, wording.Overlap("Uses Golang", "go"))
	require.False(t, wording.Overlap("", "go"))
	require.False(t, wording.Overlap("go", " "))
}

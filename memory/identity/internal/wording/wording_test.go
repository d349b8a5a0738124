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
		"!!!": "!!!", "more than (>30)": "more than >30", "a < b": "a < b", "a > b": "a > b", "speed > 30.": "speed > 30", "a -> b": "a > b", "": "", "U+200B\u200b gone": "u+200b gone",
		"喜欢茶。": "喜欢茶", "「お茶が好き」、！": "お茶が好き", "（茶）；咖啡": "茶 咖啡", "《红楼梦》？": "红楼梦", "يحب الشاي؟": "يحب الشاي", "، نعم": "نعم",
		"चाय पसंद है।": "चाय पसंद है", "。": "。",
		"a Cafe\u0301": "a caf\u00e9", "I\u0307zmir": "izmir", "\u0130zmir": "izmir",
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
	require.True(t, wording.Overlap("喝茶，每天", "喝茶。"))
	require.False(t, wording.Overlap("喝茶", "喝茶馆"))
	require.False(t, wording.Overlap("", "go"))
	require.False(t, wording.Overlap("go", " "))
}

// Relevance counts words by their stems, function words an eighth, and names with marks whole.
func TestRelevance(t *testing.T) {
	t.Parallel()
	task := wording.Terms("port the parsers of the service to C++, please")
	for s, want := range map[string]float64{
		"writes parsers": 1. / 3, "a parser, ported": 2. / 3, "C": 0, "C++": 1. / 3, "the": 1. / 24, "": 0,
		"ported parsers, services and C++": 1,
	} {
		require.InDelta(t, want, wording.Relevance(wording.Terms(s), task), 1e-12, s)
	}
}

func TestCategory(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"I’m a nurse": "core", "always tabs": "preference", "works at Acme": "context", "12 years of Go": "expertise",
		"learning Rust": "focus", "sails": "context", "": "context", "goalkeeper": "context",
	} {
		require.Equal(t, want, wording.Category(s), s)
	}
}

package reason

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]string{
		"": "simple", "Fix the test in a.b.go v1.2": "simple", "修复这个测试": "simple",
		strings.Repeat("words ", 21): "moderate", strings.Repeat("修复这个测试", 8): "moderate",
		strings.Repeat("words ", 41): "complex", strings.Repeat("修复这个测试", 15): "complex",
	} {
		require.Equal(t, want, size(text), text)
	}
}

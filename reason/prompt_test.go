package reason

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]string{
		"": "unclear", "?!": "unclear", "Fix the test in a.b.go v1.2": "simple",
		"Fix it. Then add a test.":      "moderate",
		"- one\n- two\n- three\n- four": "complex",
		strings.Repeat("word ", 21):     "moderate",
		strings.Repeat("word ", 41):     "complex",
		"修复这个测试":                        "simple",
		"修复这个测试。然后加一个新的测试！":             "moderate",
		strings.Repeat("修复这个测试", 15):    "complex",
	} {
		require.Equal(t, want, size(text), text)
	}
}

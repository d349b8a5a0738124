package plain_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/store"
)

type wild struct{}

func (wild) MarshalJSON() ([]byte, error) { panic("boom") }

func TestOf(t *testing.T) {
	t.Parallel()
	v, err := plain.Of("it", map[string]any{"a": []int{1}, "b": json.RawMessage(`{"c":null}`), "\xff": true})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": []any{1.0}, "b": map[string]any{"c": nil}, "\ufffd": true}, v)
	for _, bad := range []any{math.NaN(), math.Inf(-1), make(chan int), wild{}, json.RawMessage("1e999"), json.RawMessage("{")} {
		_, err := plain.Of("it", bad)
		require.ErrorContains(t, err, "it is not JSON")
		require.NotPanics(t, func() { require.NotEmpty(t, plain.JSON(bad)) })
	}
	nested := func(n int) json.RawMessage { return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	_, err = plain.Of("it", nested(64))
	require.NoError(t, err)
	for _, large := range []any{nested(65), strings.Repeat("x", 1<<20)} {
		_, err := plain.Of("it", large)
		_, limited := errors.AsType[*store.LimitError](err)
		require.True(t, limited)
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", strings.Repeat("ü", 200), "\xff" + strings.Repeat("x", 300)} {
		require.True(t, utf8.ValidString(plain.Short(s)))
		require.LessOrEqual(t, len(plain.Short(s)), 200+len("…"))
	}
}

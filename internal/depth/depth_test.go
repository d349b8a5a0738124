package depth_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/depth"
	"github.com/arc-learn/arc/store"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "7": 0, "[]": 1, `{"a":[{}],"b":[]}`: 3, "[[": 2, "[x": 1, `["[\"["]`: 1, strings.Repeat("[", 99): 99,
	} {
		require.Equal(t, want, depth.Of(json.RawMessage(text)), text)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, depth.Check("inputs", json.RawMessage(strings.Repeat("[", 64))))
	limit := new(store.LimitError)
	require.ErrorAs(t, depth.Check("inputs", json.RawMessage(strings.Repeat("[", 65))), &limit)
	require.Equal(t, store.LimitError{Field: "depth of inputs", Limit: 64, Got: 65}, *limit)
}

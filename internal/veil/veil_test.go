package veil_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/redact"
)

// A text that holds nothing may hold a secret once it is read as JSON, and the other way round.
func TestTextsAndJSONAreSeenApart(t *testing.T) {
	t.Parallel()
	san := new(redact.Sanitizer).Knowing("correct horse")
	for _, raw := range []string{`{"secret":{"a":["x"]}}`, `["\u0063orrect horse"]`, `{"\u0070assword":"hunter2"}`} {
		v := &veil.Veil{}
		v.Reset(san)
		v.Hide(raw)
		require.Contains(t, string(v.JSON("", json.RawMessage(raw))), "[REDACTED:", raw)
	}
}

// HideAll reaches what stands behind an interface.
func TestHideAllBehindInterfaces(t *testing.T) {
	t.Parallel()
	const token = "ghp_0123456789abcdefghij0123456789"
	type inner struct{ Text string }
	value := struct {
		Any  any
		Map  map[string]any
		Deep []any
	}{
		any(inner{token}), map[string]any{"password": "hunter2", "x": []any{token}}, []any{map[string]string{"k": token}, nil},
	}
	own := value.Map
	v := &veil.Veil{}
	v.Reset(nil)
	v.HideAll(&value, nil)
	out, err := json.Marshal(value)
	require.NoError(t, err)
	require.NotContains(t, string(out), token[4:])
	require.NotContains(t, string(out), "hunter2")
	require.Equal(t, "hunter2", own["password"], "what others hold is copied")
}

// What is no UTF-8 is made so, whatever its length, and what is stored differs from what is.
func TestHideMakesUTF8(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff", "a\xffb", "the port is \xff7400"} {
		v := &veil.Veil{}
		v.Reset(nil)
		require.True(t, utf8.ValidString(v.Hide(text)), "%q", text)
		require.True(t, v.Found, "%q", text)
		require.Equal(t, v.Hide(text), v.Under("port", text), "%q", text)
	}
}

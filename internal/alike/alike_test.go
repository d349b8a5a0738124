package alike_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/alike"
	"github.com/arc-learn/arc/redact"
)

func TestText(t *testing.T) {
	t.Parallel()
	var san redact.Sanitizer
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, text := range []string{"mend it", "push with " + secret, "push with " + secret + " to main, not " + secret} {
		require.True(t, alike.Text(&san, san.Sanitize(text), text), text)
		require.False(t, alike.Text(&san, san.Sanitize(text), text+" again"), text)
		require.False(t, alike.Text(&san, san.Sanitize(text), "do "+text), text)
	}
	require.True(t, alike.Text(&san, "pin [REDACTED:run:ab12]", "pin 4711"), "a token stands for any secret")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var san redact.Sanitizer
	same := func(kept, raw string) bool {
		return alike.JSON(&san, json.RawMessage(kept), json.RawMessage(raw))
	}
	require.True(t, same(`{"a":1,"b":2}`, ` {"b": 2, "a": 1}`))
	require.True(t, same("null", ""))
	require.True(t, same(`{"pin":"[REDACTED:run:ab12]"}`, `{"pin":4711}`), "a number may be a secret")
	require.False(t, same(`{"a":1}`, `{"a":2}`))
}

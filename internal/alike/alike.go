// Package alike compares a stored text, whose secrets are replaced, with an original one.
package alike

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/redact"
)

// Text reports whether a sanitised text can be that of an original one: a replacement stands for any secret.
func Text(san *redact.Sanitizer, kept, text string) bool {
	return mayBe(kept, strings.ToValidUTF8(text, "\uFFFD"), san.Sanitize)
}

// JSON is Text for JSON. The order of members and blanks do not count, and null equals no JSON.
func JSON(san *redact.Sanitizer, kept, raw json.RawMessage) bool {
	hide := func(text string) string { return string(san.Under("", json.RawMessage(text))) }
	return mayBe(canonical(given(kept)), canonical(given(raw)), hide)
}

// given returns raw, or nil for null: an Objective that was JSON once has null for no inputs.
func given(raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}

// canonical returns JSON with sorted members and without blanks.
func canonical(raw json.RawMessage) string {
	return strings.TrimPrefix(cooldown.Action("", raw), "\x00")
}

// token matches a replacement, also a quoted one in JSON, which may have been a number.
var token = regexp.MustCompile(`"?\[REDACTED:[a-z_:0-9]+\]"?`)

// behind matches a word behind a replacement.
var behind = regexp.MustCompile(`\s\S*[\pL\pN]`)

// mayBe reports whether a stored text can be that of an original one: a replacement stands for any secret. If
// the original has as many secrets as the stored text, none of them may be longer by a word.
func mayBe(kept, text string, hide func(string) string) bool {
	if kept == text {
		return true
	}
	parts := token.Split(kept, -1)
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(text, parts[0])
	for i := 1; ok && i < last; i++ {
		_, rest, ok = strings.Cut(rest, parts[i])
	}
	if last == 0 || !ok || !strings.HasSuffix(rest, parts[last]) {
		return false
	}
	found := token.Split(hide(text), -1)
	for i := 1; i <= last && len(found) == len(parts); i++ {
		if more, ok := strings.CutSuffix(found[i], parts[i]); ok && behind.MatchString(more) {
			return false
		}
	}
	return true
}

// Package alike tells whether a text that is kept without its secrets may be another one.
package alike

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/redact"
)

// Text reports whether a text that a Sanitizer has left may be another one, which it has not
// seen: a token stands for any secret.
func Text(san *redact.Sanitizer, kept, text string) bool {
	return mayBe(kept, strings.ToValidUTF8(text, "\uFFFD"), san.Sanitize)
}

// JSON is Text for JSON, in which the order of names says nothing, nor do blanks. A null is
// as none.
func JSON(san *redact.Sanitizer, kept, raw json.RawMessage) bool {
	hide := func(text string) string { return string(san.Under("", json.RawMessage(text))) }
	return mayBe(canonical(given(kept)), canonical(given(raw)), hide)
}

// given returns JSON that says something: no inputs are null where an Objective was JSON.
func given(raw json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	return raw
}

// canonical is JSON as it is compared: the order of names says nothing, nor do blanks.
func canonical(raw json.RawMessage) string {
	return strings.TrimPrefix(cooldown.Action("", raw), "\x00")
}

// token is what a secret is kept as, also in JSON, where it may have been a number.
var token = regexp.MustCompile(`"?\[REDACTED:[a-z_:0-9]+\]"?`)

// behind finds a word that is added behind a secret.
var behind = regexp.MustCompile(`\s\S*[\pL\pN]`)

// mayBe reports whether a text that is kept may be another one: a token stands for any secret. Where
// as many are found in the text as were, none of them is longer by a word.
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

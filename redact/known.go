package redact

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/internal/spelling"
)

// known is a secret that the host knows, in one of its encodings, and the replacement.
type known struct{ text, token string }

// Knowing returns a Sanitizer that replaces the values, as they are and encoded in base64,
// hex, JSON or a URL, by [REDACTED:known], with a tag if it has a key.
func (s *Sanitizer) Knowing(values ...string) *Sanitizer {
	out := *cmp.Or(s, &zero)
	out.known = slices.Clone(out.known)
	for _, v := range values {
		for _, form := range forms(v) {
			out.known = append(out.known, known{form, out.token("known", form)})
		}
	}
	return &out
}

// KnownToken is the beginning of a known value's replacement if the Sanitizer has a key.
const KnownToken = tokenOpen + "known:"

// The least length of an encoded form, and of a line of a value, that is searched for.
const minForm, minLine = 6, 16

// forms returns the forms of a value that are searched for: the value and its encodings, also
// without surrounding space; each line that looks like a secret; the password of a URL.
func forms(v string) (out []string) {
	add := func(form string, least int) {
		if len(form) >= least && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	add(v, 1)
	parts := []string{v, strings.TrimSpace(v)}
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); looksStrong(line) {
			add(line, minLine)
		}
	}
	if u, err := url.Parse(strings.TrimSpace(v)); err == nil && u.User != nil {
		if password, _ := u.User.Password(); !stopWord(password) {
			parts = append(parts, password)
		}
	}
	for _, part := range slices.Compact(parts) {
		for _, form := range spelling.All(part) {
			add(form, minForm)
		}
	}
	return out
}

// Reveal puts the values that the Sanitizer knows back in the place of their replacements.
// Values that it learned of before it had a key stay replaced: their replacements have no tag.
func (s *Sanitizer) Reveal(text string) string { return s.reveal(text, strings.Clone) }

// RevealJSON is Reveal for a JSON text. It returns nil for an empty one.
func (s *Sanitizer) RevealJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return json.RawMessage(s.reveal(string(raw), spelling.InJSON))
}

func (s *Sanitizer) reveal(text string, spell func(v string) string) string {
	for _, k := range cmp.Or(s, &zero).known {
		if strings.HasPrefix(k.token, KnownToken) {
			text = strings.ReplaceAll(text, k.token, spell(k.text))
		}
	}
	return text
}

// Tagged replaces the values that have these tags, as Knowing does for values that are at
// hand. It finds a value as it is, between two word boundaries. In a text of up to 250
// boundaries it finds all; in a longer one values that span at most 32 boundaries are found.
func (s *Sanitizer) Tagged(text string, tags ...string) string {
	if len(tags) == 0 || s == nil || len(s.key) == 0 {
		return text
	}
	var bounds []int
	within := false
	for i, r := range text {
		word := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !word || !within {
			bounds = append(bounds, i)
		}
		within = word
	}
	bounds = append(bounds, len(text))
	var found []string
	var room [sha256.Size]byte
	mac, raw, wanted := hmac.New(sha256.New, s.key), []byte(text), sums(tags)
	for i, from := range bounds {
		mac.Reset()
		at := from
		for _, to := range bounds[i+1 : min(len(bounds), i+1+max(32, 1<<16/len(bounds)))] {
			if to-from < minForm {
				continue
			}
			mac.Write(raw[at:to]) // never fails
			at = to
			if sum := mac.Sum(room[:0]); slices.Contains(wanted, binary.BigEndian.Uint32(sum)) {
				found = append(found, text[from:to])
			}
		}
	}
	var spans []span
	for _, k := range s.Knowing(found...).known {
		spans = append(spans, wherever(text, k.text, "known")...)
	}
	return s.replace(text, outside(text, spans))
}

// sums returns the numbers that tags write in hexadecimal digits.
func sums(tags []string) (out []uint32) {
	for _, tag := range tags {
		if n, err := strconv.ParseUint(tag, 16, 32); err == nil && len(tag) == 8 {
			out = append(out, uint32(n))
		}
	}
	return out
}

// Tag returns the tag of a known secret, "" without a key.
func (s *Sanitizer) Tag(secret string) string {
	return strings.Trim(strings.TrimPrefix(s.token("known", secret), tokenOpen+"known"), ":]")
}

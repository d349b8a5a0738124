package redact

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/internal/spelling"
)

// known is a secret that the host has told of, in one of the forms in which it may
// stand in a text, and what takes its place.
type known struct{ text, token string }

// Knowing returns a Sanitizer that replaces the values wherever they stand, as they
// are and in base64, hex, JSON and URLs, by [REDACTED:known] and a tag.
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

// KnownToken begins what takes the place of such a value, if the Sanitizer has a key.
const KnownToken = tokenOpen + "known:"

// Lengths from which on another form of a value is looked for, and a line of one.
const minForm, minLine = 6, 16

// forms are those in which a value may stand in a text, or what of it may stand alone:
// it without the blanks around it, a line, the password of a URL.
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

// Reveal puts the values that the Sanitizer knows back into a text from which it has
// taken them. Those that it was told of before it had a key stay away: their tokens name none.
func (s *Sanitizer) Reveal(text string) string { return s.reveal(text, strings.Clone) }

// RevealJSON is Reveal of a JSON text. None stays none.
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

// Tagged replaces, as Knowing does, the values of which there is nothing left but the tags.
// They are found as they are, between what are no letters or digits: in a text of 250 such
// bounds wherever they stand, in a longer one those with up to 32 of them.
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
	mac, raw, tag := hmac.New(sha256.New, s.key), []byte(text), []byte{}
	for i, from := range bounds {
		for _, to := range bounds[i+1 : min(len(bounds), i+1+max(32, 1<<16/len(bounds)))] {
			if to-from < minForm {
				continue
			}
			mac.Reset()
			mac.Write(raw[from:to]) // never fails
			tag = fmt.Appendf(tag[:0], "%x", mac.Sum(nil)[:4])
			if slices.Contains(tags, string(tag)) {
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

// Tag is what tells a secret of a run from others, "" without a key.
func (s *Sanitizer) Tag(secret string) string {
	return strings.Trim(strings.TrimPrefix(s.token("known", secret), tokenOpen+"known"), ":]")
}

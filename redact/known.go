package redact

import (
	b64 "encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// known is a secret that the host has told of, in one of the forms in which it may
// stand in a text, and what takes its place.
type known struct{ text, token string }

// Knowing returns a Sanitizer that replaces the values wherever they stand, as they
// are and in base64, hex, JSON and URLs, by [REDACTED:known] and a tag.
func (s *Sanitizer) Knowing(values ...string) *Sanitizer {
	out := s.derive()
	out.known = slices.Clone(out.known)
	for _, v := range values {
		for _, form := range forms(v) {
			out.known = append(out.known, known{form, out.token("known", form)})
		}
	}
	return out
}

// KnownToken begins what takes the place of such a value, if the Sanitizer has a key.
const KnownToken = tokenOpen + "known:"

// minForm is the length from which on another form of a value is looked for.
const minForm = 6

// forms are those in which a value may stand in a text.
func forms(v string) []string {
	if v == "" {
		return nil
	}
	out := []string{v}
	add := func(form string) {
		if len(form) >= minForm && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	quoted := string(quoteJSON(v))
	add(quoted[1 : len(quoted)-1])
	add(url.QueryEscape(v))
	add(url.PathEscape(v))
	add(fmt.Sprintf("%x", v))
	for _, enc := range []*b64.Encoding{b64.RawStdEncoding, b64.RawURLEncoding} {
		for shift := range 3 { // where it stands within a longer text
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + v))
			first, last := (8*shift+5)/6, 8*(shift+len(v))/6
			add(text[first:last])
		}
	}
	return out
}

// hide replaces the values that the host has told of.
func (s *Sanitizer) hide(text string) string {
	if s == nil || len(s.known) == 0 {
		return text
	}
	var spans []span
	for _, k := range s.known {
		spans = append(spans, wherever(text, k.text, "known")...)
	}
	if spans = outside(text, spans); len(spans) == 0 {
		return text
	}
	return s.replace(text, spans)
}

// Reveal puts the values that the Sanitizer knows back into a text from which it has
// taken them.
func (s *Sanitizer) Reveal(text string) string {
	for _, k := range s.known {
		text = strings.ReplaceAll(text, k.token, k.text)
	}
	return text
}

// RevealJSON is Reveal of a JSON text.
func (s *Sanitizer) RevealJSON(raw json.RawMessage) json.RawMessage {
	text := string(raw)
	for _, k := range s.known {
		quoted := string(quoteJSON(k.text))
		text = strings.ReplaceAll(text, k.token, quoted[1:len(quoted)-1])
	}
	return json.RawMessage(text)
}

// Tag is what tells a secret of a run from others, "" without a key.
func (s *Sanitizer) Tag(secret string) string {
	return strings.Trim(strings.TrimPrefix(s.token("known", secret), tokenOpen+"known"), ":]")
}

// Issued returns the kind of the first token in text that has the form of an issuer's,
// by the built-in rules alone, or "".
func Issued(text string) string {
	if len(text) < minIssued {
		return ""
	}
	sc := scanner{text: text, m: builtin}
	for i := range len(text) {
		if builtin.stops[text[i]]&onRule != 0 && sc.rule(i) > i {
			return sc.spans[0].kind
		}
	}
	return ""
}

// minIssued is the length of the shortest token that an issuer makes.
const minIssued = 16

package redact

import (
	"cmp"
	b64 "encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// spellings are how programs write a value into a text.
var spellings = []func(v string) string{
	func(v string) string { return v },
	inJSON,
	forPages,
	func(v string) string { return inJSON(inJSON(v)) },
	func(v string) string { return inJSON(forPages(v)) },
	func(v string) string { return unquoted(strconv.Quote(v)) },
	func(v string) string { return unquoted(strconv.QuoteToASCII(v)) },
	html.EscapeString,
	url.PathEscape,
	url.QueryEscape,
	func(v string) string { return strings.ReplaceAll(url.QueryEscape(v), "+", "%20") },
	func(v string) string { return inScripts.Replace(url.QueryEscape(v)) },
	func(v string) string { return strings.ReplaceAll(inJSON(v), "/", `\/`) },
	func(v string) string { return fmt.Sprintf("%x", v) },
	func(v string) string { return fmt.Sprintf("%X", v) },
}

// forPages is inJSON as encoding/json writes it by default.
func forPages(v string) string {
	b, _ := json.Marshal(v) // any string encodes
	return unquoted(string(b))
}

// inScripts makes of a query what encodeURIComponent would.
var inScripts = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

var percents = regexp.MustCompile(`%[0-9A-F]{2}`)

func unquoted(s string) string { return s[1 : len(s)-1] }

func inJSON(v string) string { return unquoted(string(quoteJSON(v))) }

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
		for _, spell := range spellings {
			form := spell(part)
			add(form, minForm)
			add(percents.ReplaceAllStringFunc(form, strings.ToLower), minForm)
		}
		for _, enc := range []*b64.Encoding{b64.RawStdEncoding, b64.RawURLEncoding} {
			for shift := range 3 { // where it stands within a longer text
				text := enc.EncodeToString([]byte("\x00\x00"[:shift] + part))
				first, last := (8*shift+5)/6, 8*(shift+len(part))/6
				add(text[min(first, last):last], minForm)
			}
		}
	}
	return out
}

// Reveal puts the values that the Sanitizer knows back into a text from which it has
// taken them. Those that it was told of before it had a key stay away: their tokens name none.
func (s *Sanitizer) Reveal(text string) string { return s.reveal(text, strings.Clone) }

// RevealJSON is Reveal of a JSON text.
func (s *Sanitizer) RevealJSON(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(s.reveal(string(raw), inJSON))
}

func (s *Sanitizer) reveal(text string, spell func(v string) string) string {
	for _, k := range cmp.Or(s, &zero).known {
		if strings.HasPrefix(k.token, KnownToken) {
			text = strings.ReplaceAll(text, k.token, spell(k.text))
		}
	}
	return text
}

// Tag is what tells a secret of a run from others, "" without a key.
func (s *Sanitizer) Tag(secret string) string {
	return strings.Trim(strings.TrimPrefix(s.token("known", secret), tokenOpen+"known"), ":]")
}

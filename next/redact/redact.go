// Package redact takes secrets out of text where it comes in, before it is stored, shown to a model or logged.
//
// A [Sanitizer] has a method for each of two kinds of text. [Sanitizer.Prose] is for what people and programs say
// (objectives, answers, errors, logs): whatever looks like a secret goes. [Sanitizer.Data] is for inputs and
// results, which must stay as they are to be of use: it takes only tokens of a known issuer's form and the values
// that the host has declared by [Sanitizer.With], and leaves valid JSON valid.
//
//	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3"})
//	s.Prose("psql postgres://svc:Tr0ub4dor&3@db/app") // psql postgres://svc:[secret DB]@db/app
//	s.Prose("password=hunter2")                       // password=[redacted:password]
//
// A declared value becomes [secret NAME], in whatever encoding it stands, and [Fill] puts it back for a call that
// may have it. What is found otherwise becomes [redacted:KIND], for good.
//
// Not found are: words without context, secrets of undeclared names in base64 or percent-encoding, numbers of
// payment cards, and secrets that are cut into two texts. The forms of issuers' tokens are in forms.txt.
//
// All methods take time linear in the length of the text, return a text without secrets as it is, and may be
// called concurrently.
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Options of [New]. Nil and the zero value mean the defaults.
type Options struct {
	// Allow has values that are no secrets though they look like it.
	Allow []string
	// Key is the HMAC key of tags, 16 random bytes or more. With it, equal secrets have equal tags, as in
	// [redacted:password:1f08c2d9], and who does not have it learns nothing from a tag. Nil: no tags.
	Key []byte
	// Find returns further secrets of a prose, such as another scanner finds. It may be called concurrently. If it
	// panics, the whole text is replaced.
	Find func(text string) []string
}

// Sanitizer replaces secrets. The zero value and a nil pointer are ready. It does not change, and is safe for
// concurrent use.
type Sanitizer struct {
	o        Options
	declared *strings.Replacer // nil: none
	secrets  map[string]string // by name
	keep     bool              // placeholders are the host's
}

// New returns a Sanitizer.
func New(o *Options) *Sanitizer {
	s := &Sanitizer{}
	if o != nil {
		s.o = Options{Allow: slices.Clone(o.Allow), Key: slices.Clone(o.Key), Find: o.Find}
	}
	return s
}

// Format prints the type's name, and neither the key nor the secrets.
func (s *Sanitizer) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "redact.Sanitizer") }

// KeepPlaceholders returns a Sanitizer for text that was made from sanitised text, such as a model's answer: a
// [secret NAME] in it stays. Otherwise somebody has typed it to be given the secret, and it becomes (secret NAME).
func (s *Sanitizer) KeepPlaceholders() *Sanitizer {
	c := *s.ready()
	c.keep = true
	return &c
}

var zero Sanitizer

func (s *Sanitizer) ready() *Sanitizer {
	if s == nil {
		return &zero
	}
	return s
}

// Prose returns text without secrets: declared values, tokens of issuers, and what stands where secrets stand:
// values given to names such as password or api_key, Authorization and Cookie headers, credentials before the @ of a
// URL or DSN, and private keys.
func (s *Sanitizer) Prose(text string) string {
	s = s.ready()
	text = s.known(text)
	spans := scan(text, true)
	if s.o.Find != nil {
		found, ok := s.find(text)
		if !ok {
			return s.mark("text", text)
		}
		for _, secret := range found {
			for at := 0; secret != ""; at += len(secret) {
				i := strings.Index(text[at:], secret)
				if i < 0 {
					break
				}
				at += i
				spans = append(spans, span{at, at + len(secret), "found"})
			}
		}
		slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	}
	return s.replace(text, spans)
}

// find calls the host's Find, and reports whether it came back.
func (s *Sanitizer) find(text string) (found []string, ok bool) {
	defer func() { ok = recover() == nil }()
	return s.o.Find(text), true
}

// Data returns raw without declared values and tokens of issuers in its strings, keys included. What is no valid
// JSON is treated as one string, and returned as such.
func (s *Sanitizer) Data(raw json.RawMessage) json.RawMessage {
	s = s.ready()
	return mapStrings(raw, func(text string) string {
		text = s.known(text)
		return s.replace(text, scan(text, false))
	})
}

// span is a secret in a text.
type span struct {
	start, end int
	kind       string
}

// replace replaces spans, which are in order of their starts, by marks.
func (s *Sanitizer) replace(text string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		secret := text[max(sp.start, at):max(sp.end, at)]
		if secret == "" || slices.Contains(s.o.Allow, secret) {
			continue
		}
		b.WriteString(text[at:max(sp.start, at)] + s.mark(sp.kind, secret))
		at = sp.end
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// mark is what stands for an undeclared secret.
func (s *Sanitizer) mark(kind, secret string) string {
	if len(s.o.Key) == 0 {
		return "[redacted:" + kind + "]"
	}
	mac := hmac.New(sha256.New, s.o.Key)
	mac.Write([]byte(secret)) // never fails
	return fmt.Sprintf("[redacted:%s:%x]", kind, mac.Sum(nil)[:4])
}

var placeholder = regexp.MustCompile(`\[secret ([A-Za-z0-9_.-]+)\]`)

// known breaks up typed placeholders and replaces declared values.
func (s *Sanitizer) known(text string) string {
	if !s.keep && strings.Contains(text, "[secret ") {
		text = placeholder.ReplaceAllString(text, "(secret $1)")
	}
	if s.declared != nil {
		text = s.declared.Replace(text)
	}
	return text
}

// Package redact takes secrets out of text where it comes in, before it is stored, shown to a model or logged.
//
// [Sanitizer.Prose] is for what people and programs say (objectives, answers, errors, logs): whatever looks like a
// secret goes. [Sanitizer.Data] is for inputs and results, which must stay as they are to be of use: it takes only
// values that the host has declared and tokens of a known issuer's form, and leaves valid JSON valid.
//
//	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3"})
//	s.Prose("psql postgres://svc:Tr0ub4dor&3@db/app") // psql postgres://svc:[secret DB]@db/app
//	s.Prose("password=hunter2")                       // password=[redacted:secret]
//
// A declared value becomes [secret NAME] in every encoding, and [Fill] puts it back for a call that may have it.
// What is found otherwise becomes [redacted:KIND] for good. Not found are words without a context, undeclared
// secrets in base64 or percent-encoding, payment cards, and what two texts have a part of each. All methods take time
// linear in the length of the text and return a text without secrets as it is.
//
// The forms of secrets are in forms.txt; scan.go looks for them.
package redact

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Options of [New]. Nil and the zero value mean the defaults.
type Options struct {
	Allow []string // values that are no secrets though they look like it

	// Key is the HMAC key of tags, 16 random bytes or more. Equal secrets then have equal tags, as in
	// [redacted:secret:1f08c2d9], and who has no key learns nothing from them. Nil: no tags.
	Key []byte

	// Find returns further secrets of a prose, as another scanner finds them. It may be called concurrently. Where it
	// panics, the whole text is replaced.
	Find func(text string) []string
}

// Sanitizer replaces secrets. The zero value and a nil pointer are ready. It does not change, and is safe for
// concurrent use.
type Sanitizer struct{ is *sanitizer } // behind a pointer, so that no format prints the secrets

type sanitizer struct {
	o        Options
	secrets  map[string]string // declared, by name
	declared *strings.Replacer // of their encodings; nil: none
	keep     bool              // placeholders are the host's own
}

// New returns a Sanitizer.
func New(o *Options) *Sanitizer {
	o = cmp.Or(o, &Options{})
	return &Sanitizer{&sanitizer{o: Options{slices.Clone(o.Allow), slices.Clone(o.Key), o.Find}}}
}

// copy returns a copy of what s is.
func (s *Sanitizer) copy() *sanitizer {
	if s == nil || s.is == nil {
		return &sanitizer{}
	}
	c := *s.is
	return &c
}

// KeepPlaceholders returns a Sanitizer for text that was made from sanitised text, such as a model's answer: a
// [secret NAME] in it stays. Elsewhere somebody has typed it to be given the secret, and it becomes (secret NAME).
func (s *Sanitizer) KeepPlaceholders() *Sanitizer {
	c := s.copy()
	c.keep = true
	return &Sanitizer{c}
}

// Prose returns text without declared values, tokens of issuers, values given to names such as password or api_key,
// credentials in Authorization and Cookie headers and before the @ of a URL or DSN, and private keys.
func (s *Sanitizer) Prose(text string) string { return s.copy().prose(text) }

func (s *sanitizer) prose(text string) (clean string) {
	text = s.known(text)
	clean = s.scan(text, true)
	if s.o.Find == nil {
		return clean
	}
	defer func() {
		if recover() != nil {
			clean = s.mark("text", text)
		}
	}()
	for _, secret := range s.o.Find(text) {
		if secret != "" && !slices.Contains(s.o.Allow, secret) {
			clean = strings.ReplaceAll(clean, secret, s.mark("found", secret))
		}
	}
	return clean
}

// Data returns raw without declared values and tokens of issuers in its strings, keys included. It leaves tokens of a
// form that also stands openly in programs and pages, which are Google's API keys (AIza…), and private keys. What is
// no valid JSON is treated as one string, and returned as such.
func (s *Sanitizer) Data(raw json.RawMessage) json.RawMessage {
	its := s.copy()
	return mapStrings(raw, func(text string) string {
		return its.scan(its.known(text), false)
	})
}

var placeholder = regexp.MustCompile(`\[secret ([A-Za-z0-9_.-]+)\]`)

// known breaks up typed placeholders and replaces declared values.
func (s *sanitizer) known(text string) string {
	if !s.keep && strings.Contains(text, "[secret ") {
		text = placeholder.ReplaceAllString(text, "(secret $1)")
	}
	if s.declared != nil {
		text = s.declared.Replace(text)
	}
	return text
}

// mark is what stands for an undeclared secret.
func (s *sanitizer) mark(kind, secret string) string {
	if len(s.o.Key) == 0 {
		return "[redacted:" + kind + "]"
	}
	mac := hmac.New(sha256.New, s.o.Key)
	mac.Write([]byte(secret))
	return fmt.Sprintf("[redacted:%s:%x]", kind, mac.Sum(nil)[:4])
}

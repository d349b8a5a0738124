// Package redact takes secrets out of text where it comes in: before it is stored, logged or in a prompt.
//
// [Sanitizer.Prose] is for what people and programs say (objectives, answers, errors, logs): whatever looks
// like a secret goes. [Sanitizer.Data] is for inputs and results, which must stay as they are to be used: it
// takes only declared values and tokens of a known issuer's form, and leaves valid JSON valid.
//
// A declared value becomes [secret NAME], also where it is encoded, and [Fill] puts it back for a call that
// may have it. What is found otherwise becomes [redacted:KIND] for good. Not found are words without a
// context, undeclared secrets in base64 or percent-encoding, payment cards, and what two texts have a part of
// each. All methods take time linear in the length of the text and return a text without secrets as it is.
package redact

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Options of [New]. Nil and the zero value mean the defaults.
type Options struct {
	Allow []string // values that are no secrets though they look like it, whole and in this case

	// Find returns further secrets of a prose without the known ones; JSON (Data, Inputs, outputs) it does not
	// get. Each goes wherever it stands in it. It may be called concurrently; where it panics all text goes.
	Find func(text string) []string
}

// Sanitizer replaces secrets. The zero value and nil are ready. It never changes: use it concurrently.
type Sanitizer struct{ is *sanitizer } // behind a pointer, so that no format prints the secrets

type sanitizer struct {
	o        Options
	names    map[string]string // of declared secrets, by each of their encodings
	declared *strings.Replacer // of these; nil: none
	keep     bool              // placeholders are the host's own
}

// New returns a Sanitizer.
func New(o *Options) *Sanitizer {
	o = cmp.Or(o, &Options{})
	return &Sanitizer{&sanitizer{o: Options{slices.Clone(o.Allow), o.Find}}}
}

func (s *Sanitizer) copy() *sanitizer {
	if s == nil || s.is == nil {
		return &sanitizer{}
	}
	c := *s.is
	return &c
}

// KeepPlaceholders returns a Sanitizer for text that was made from sanitised text, as a model's answer is: a
// [secret NAME] stays. Elsewhere somebody has typed it to be given the secret: it becomes (secret NAME).
func (s *Sanitizer) KeepPlaceholders() *Sanitizer {
	c := s.copy()
	c.keep = true
	return &Sanitizer{c}
}

// Prose returns text, as UTF-8, without declared values, private keys, tokens of issuers, values of English
// names such as password or api_key, and credentials in Authorization and Cookie headers and in a URL or DSN.
func (s *Sanitizer) Prose(text string) (clean string) {
	its := s.copy()
	clean = its.clean(strings.ToValidUTF8(text, "\uFFFD"), true)
	if its.o.Find == nil {
		return clean
	}
	defer func() {
		if recover() != nil {
			clean = "[redacted:text]"
		}
	}()
	for _, secret := range its.o.Find(clean) {
		if secret != "" && !slices.Contains(its.o.Allow, secret) {
			clean = strings.ReplaceAll(clean, secret, "[redacted:found]")
		}
	}
	return clean
}

// clean returns a text without what is known and what the forms find, with typed placeholders broken up.
// Characters that nobody sees hide nothing, and set nothing apart: where more is found without them, they go.
func (s *sanitizer) clean(text string, prose bool) string {
	if seen := visible(text); !s.keep && placeholder.MatchString(seen) {
		text = placeholder.ReplaceAllString(seen, "(secret $1)")
	}
	clean, marks := s.scan(text, prose)
	if seen := visible(text); seen != text {
		found, _ := s.scan(seen, prose)
		if found = strings.NewReplacer(marks...).Replace(found); found != visible(clean) {
			return found
		}
	}
	return clean
}

// visible returns a text without control and format characters, but for spaces and line ends.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= ' ' && r <= '~' || unicode.IsSpace(r) ||
			!unicode.In(r, unicode.C, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return r
		}
		return -1
	}, text)
}

// Data returns raw without declared values and tokens of issuers in its strings, keys included, and otherwise
// to the byte as it was. It leaves private keys, and Google's API keys (AIza…), which stand openly in pages.
// What is no valid JSON is treated as one string, and returned as such.
func (s *Sanitizer) Data(raw json.RawMessage) json.RawMessage {
	its := s.copy()
	return mapStrings(raw, func(text string) string { return its.clean(text, false) })
}

var placeholder = regexp.MustCompile(`\[secret ([A-Za-z0-9_.-]+)\]`)

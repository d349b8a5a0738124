// Package redact takes secrets out of text where it comes in, before it is stored, shown to a model or logged.
package redact

import (
	"encoding/json"
	"io"
)

// Options of [New]. Nil and the zero value mean the defaults.
type Options struct {
	Allow []string                   // values that are no secrets
	Key   []byte                     // HMAC key of the tags of unknown secrets, 16 random bytes or more; nil: no tags
	Find  func(text string) []string // further secrets of a prose; called by Prose, may be called concurrently
}

// Sanitizer replaces secrets. The zero value and a nil pointer are ready. It does not change and is safe for
// concurrent use.
type Sanitizer struct{}

// New returns a Sanitizer.
func New(o *Options) *Sanitizer { panic("contract") }

// With returns a Sanitizer that knows the values of these names, too: each becomes [secret NAME], in all its
// encodings. A value of under 8 bytes and a name with other characters than letters, digits, '_', '-' and '.' are
// errors.
func (s *Sanitizer) With(secrets map[string]string) (*Sanitizer, error) { panic("contract") }

// KeepPlaceholders returns a Sanitizer for text that was made from sanitised text, such as a model's answer: a
// [secret NAME] in it stays. Otherwise one is taken for typed by somebody, and becomes [secret: NAME].
func (s *Sanitizer) KeepPlaceholders() *Sanitizer { panic("contract") }

// Prose returns a text, such as an objective, an answer or an error, without secrets. Whatever looks like one is
// replaced.
func (s *Sanitizer) Prose(text string) string { panic("contract") }

// Data returns data, such as inputs and outputs, without the values of With and the tokens of issuers, inside its
// JSON strings only. Valid JSON stays valid. What is no JSON is treated as one string and returned as text.
func (s *Sanitizer) Data(raw json.RawMessage) json.RawMessage { panic("contract") }

// Lines returns a Writer that passes what is written on to w, each line sanitised as Prose.
func (s *Sanitizer) Lines(w io.Writer) io.WriteCloser { panic("contract") }

// Placeholders returns the names of the [secret NAME] in a text, each once.
func Placeholders(text string) []string { panic("contract") }

// Fill puts values into the place of their [secret NAME] in the strings of a JSON text.
func Fill(raw json.RawMessage, secrets map[string]string) json.RawMessage { panic("contract") }

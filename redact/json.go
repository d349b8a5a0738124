package redact

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/arc-learn/arc/internal/spelling"
)

// JSON returns raw with each secret replaced inside its strings and object
// keys, and with every string and number under a key that says secret
// ({"password":"x","api_key":123}) replaced whole; true, false, null, "" and test
// counts ({"pass":12}) are kept. Valid JSON stays valid. Without a secret raw itself is
// returned.
//
// Bytes that are not valid JSON are sanitised as text and come back as a JSON
// string, so that the result can always be embedded. Empty raw is returned as
// it is.
func (s *Sanitizer) JSON(raw json.RawMessage) json.RawMessage { return s.Under("", raw) }

// Under is JSON for the value of a field: name is the field's name, or a path that ends
// with it, such as data.password.
func (s *Sanitizer) Under(name string, raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if !json.Valid(raw) {
		return spelling.JSON(s.Named(name, valid(string(raw))))
	}
	w := walker{s: s, raw: string(raw)}
	w.value(familyOf(name), name)
	if w.out == nil {
		return raw
	}
	return append(w.out, raw[w.copied:]...)
}

// Named is Sanitize for the value of a field: name is the field's name, or a path that ends
// with it. Under a name that says secret the whole text is replaced.
func (s *Sanitizer) Named(name, text string) string {
	return s.under(familyOf(name), name, s.sanitize(name, text))
}

// under replaces a text, which is sanitised, whole if its field's name says secret.
func (s *Sanitizer) under(f family, name, text string) string {
	if f == none && isKeyed(name, text) {
		f = secret
	}
	value := text
	if f == header { // a scheme and a replacement
		value = text[len(scheme.FindString(text)):]
	}
	if f == none || value == "" || tokenLen(value) == len(value) {
		return text
	}
	return s.token(f.kind(), text)
}

// walker copies a valid JSON text and replaces secrets. It copies nothing before the first
// replacement.
type walker struct {
	s      *Sanitizer
	raw    string
	at     int
	out    []byte
	copied int // raw[:copied] is in out
}

// put replaces raw[start:w.at], which reads was, by text, unless they are equal.
func (w *walker) put(start int, was, text string) {
	if was != text {
		w.out = append(append(w.out, w.raw[w.copied:start]...), spelling.JSON(text)...)
		w.copied = w.at
	}
}

// skip moves behind the bytes of a set.
func (w *walker) skip(set *[256]bool) { w.at += length(w.raw[w.at:], set) }

// value walks one value and returns its text, "" for an object or array. f is the family of
// the nearest key above it that has one; name is its own key.
func (w *walker) value(f family, name string) (text string) {
	w.skip(spaces)
	start, was := w.at, ""
	switch c := w.raw[start]; c {
	case '{', '[':
		w.at++
		w.members(f, c == '{')
		return ""
	case '"':
		was = w.literal()
		text = w.s.under(f, name, w.s.sanitize(name, valid(was)))
	default:
		w.skip(values)
		was = w.raw[start:w.at]
		if len(was) >= 13 { // may be a card's: quoted, the name reads as a member's
			name = `"` + name + `"`
		}
		if text = w.s.sanitize(name, was); f&^(header|faint) != 0 && (c == '-' || isDigit(c)) {
			text = w.s.token(f.kind(), was)
		}
	}
	w.put(start, was, text)
	return text
}

// namedNext matches a value whose name follows it: {"value":"x","name":"DB_PASSWORD"}.
var namedNext = regexp.MustCompile(`(?i)^\s*(?:"(?:[^"\\]|\\.)*"|[0-9.e+-]+)\s*,\s*"(?:name|key)"\s*:\s*"([^"\\]*)"`)

// members walks the members of an object, or the elements of an array, and its closing bracket.
func (w *walker) members(f family, object bool) {
	named, flagged := none, none // families of the member «name», and of the --flag before
	for w.skip(separators); w.raw[w.at] != '}' && w.raw[w.at] != ']'; w.skip(separators) {
		under, key := f, ""
		if object {
			start := w.at
			was := w.literal()
			key = w.s.Sanitize(valid(was))
			w.put(start, was, key)
			w.skip(separators)
			if k := familyOf(key); k != none {
				under = k
			} else if strings.EqualFold(key, "value") {
				under |= named
				if m := namedNext.FindStringSubmatch(w.raw[w.at:]); m != nil {
					under |= familyOf(m[1]) &^ header
				}
			}
		}
		if !strings.HasPrefix(w.raw[w.at:], `"-`) {
			under |= flagged
		}
		text := w.value(under, key)
		if flagged = none; strings.HasPrefix(text, "--") && consistsOf(text, parts) && !object {
			flagged = familyOf(text) &^ header
		}
		if strings.EqualFold(key, "name") || strings.EqualFold(key, "key") {
			named = familyOf(text) &^ header
		}
	}
	w.at++
}

// literal reads the string at w.at and returns its text.
func (w *walker) literal() string {
	start := w.at
	for w.at++; w.raw[w.at] != '"'; w.at++ {
		if w.raw[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	lit := w.raw[start:w.at]
	if strings.IndexByte(lit, '\\') < 0 {
		return lit[1 : len(lit)-1]
	}
	var text string
	_ = json.Unmarshal([]byte(lit), &text) // of valid JSON
	return text
}

// valid replaces invalid UTF-8 as encoding/json does. Done after sanitising, that could
// complete a secret.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

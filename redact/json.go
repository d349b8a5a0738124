package redact

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/arc-learn/arc/internal/spelling"
)

// JSON returns raw with each secret replaced inside its strings and object
// keys, and with every string and number under a key that says secret
// ({"password":"x","api_key":123}) replaced whole; true, false, null, "" and the
// counts of tests ({"pass":12}) are kept. Valid JSON stays valid; if nothing was found, raw itself comes back.
//
// Bytes that are not valid JSON are sanitised as text and come back as a JSON
// string, so that the result can always be embedded. Empty raw is returned as
// it is.
func (s *Sanitizer) JSON(raw json.RawMessage) json.RawMessage { return s.Under("", raw) }

// Under is JSON of a value that stands under a name, or under a path that ends with
// one, such as data.password.
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

// Named is Sanitize of a text that stands under a name, or under a path that ends
// with one: under one that says secret, all of it is.
func (s *Sanitizer) Named(name, text string) string {
	return s.under(familyOf(name), name, s.sanitize(name, text))
}

// under hides a text that is sanitised, if what it stands under says that it is secret.
func (s *Sanitizer) under(f family, name, text string) string {
	if f == none && isKeyed(name, text) {
		f = secret
	}
	value := text
	if f == header { // sanitised: a scheme and a token
		value = text[len(scheme.FindString(text)):]
	}
	if f == none || value == "" || tokenLen(value) == len(value) {
		return text
	}
	return s.token(f.kind(), text)
}

// walker copies a valid JSON text, changing strings and keys. It copies nothing
// until the first change.
type walker struct {
	s      *Sanitizer
	raw    string
	at     int
	out    []byte
	copied int // raw[:copied] is in out
}

// put replaces raw[start:w.at] by a string, unless that is there.
func (w *walker) put(start int, was, text string) {
	if was != text {
		w.out = append(append(w.out, w.raw[w.copied:start]...), spelling.JSON(text)...)
		w.copied = w.at
	}
}

// skip passes over the bytes of a set.
func (w *walker) skip(set *[256]bool) { w.at += length(w.raw[w.at:], set) }

// value walks one value, and returns the text of it. f is the family of the key that it
// stands under, at whatever depth.
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
		if len(was) >= 13 { // as that of a card, it stands as in a text
			name = `"` + name + `"`
		}
		if text = w.s.sanitize(name, was); f&^(header|faint) != 0 && (c == '-' || isDigit(c)) {
			text = w.s.token(f.kind(), was)
		}
	}
	w.put(start, was, text)
	return text
}

// namedNext is a value whose name comes behind it: {"value":"x","name":"DB_PASSWORD"}.
var namedNext = regexp.MustCompile(`(?i)^\s*(?:"(?:[^"\\]|\\.)*"|[0-9.e+-]+)\s*,\s*"(?:name|key)"\s*:\s*"([^"\\]*)"`)

func (w *walker) members(f family, object bool) {
	named, flagged := none, none // what the member «name», or --name before, says
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

// literal reads the string at w.at.
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

// valid replaces what is not UTF-8 as JSON would: sanitised before, a text
// could hold a secret afterwards.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

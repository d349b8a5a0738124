package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON returns raw with each secret replaced inside its strings and object
// keys, and with every string and number under a key that says secret
// ({"password":"x","api_key":123}) replaced whole; true, false, null and "" are
// kept. Valid JSON stays valid; if nothing was found, raw itself comes back.
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
		return quoteJSON(s.Named(name, valid(string(raw))))
	}
	w := walker{s: s, raw: string(raw), name: name}
	w.value(familyOf(name))
	if w.out == nil {
		return raw
	}
	return append(w.out, raw[w.copied:]...)
}

// Named is Sanitize of a text that stands under a name, or under a path that ends
// with one: under one that says secret, all of it is.
func (s *Sanitizer) Named(name, text string) string {
	f := familyOf(name)
	text = s.Sanitize(text)
	if f == none && isKeyed(name, text) {
		f = secret
	}
	if f == none || f == header || text == "" || tokenLen(text) == len(text) {
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
	copied int    // raw[:copied] is in out
	name   string // of the value to come, if its name says nothing
}

// put replaces raw[start:w.at] by text.
func (w *walker) put(start int, text []byte) {
	if w.out == nil {
		w.out = make([]byte, 0, len(w.raw)+32)
	}
	w.out = append(append(w.out, w.raw[w.copied:start]...), text...)
	w.copied = w.at
}

func (w *walker) space() {
	for isSpace(w.raw[w.at]) {
		w.at++
	}
}

// value walks one value; f is the family of the key that it stands under, at
// whatever depth.
func (w *walker) value(f family) {
	w.space()
	name := w.name
	w.name = ""
	switch c := w.raw[w.at]; c {
	case '{', '[':
		w.at++
		w.members(f, c == '{')
	case '"':
		start := w.at
		text, changed := w.literal()
		switch {
		case f == none && isKeyed(name, text):
			w.put(start, quoteJSON(w.s.token(secret.kind(), text)))
		case f == none && !changed:
		case f != none && text != "" && tokenLen(text) != len(text) && (f != header || !w.isCredential(text)):
			w.put(start, quoteJSON(w.s.token(f.kind(), text)))
		case changed:
			w.put(start, quoteJSON(text))
		}
	default:
		start := w.at
		for w.at < len(w.raw) && (isAlnum(w.raw[w.at]) || w.raw[w.at] == '-' || w.raw[w.at] == '+' || w.raw[w.at] == '.') {
			w.at++
		}
		number := w.raw[start:w.at]
		if hidden := w.s.hide(number); hidden != number {
			w.put(start, quoteJSON(hidden))
		} else if f != none && f != header && (c == '-' || isDigit(c)) {
			w.put(start, quoteJSON(w.s.token(f.kind(), number)))
		}
	}
}

// isCredential says whether text is a sanitised header: a scheme and a token.
func (w *walker) isCredential(text string) bool {
	for i := range len(text) {
		if text[i] == ' ' {
			return isScheme(text[:i]) && tokenLen(text[i+1:]) == len(text)-i-1
		}
	}
	return false
}

func (w *walker) members(f family, object bool) {
	named := none // the family of what the member «name» says
	for {
		w.space()
		switch w.raw[w.at] {
		case '}', ']':
			w.at++
			return
		case ',':
			w.at++
			continue
		}
		under := f
		if object {
			start := w.at
			key, changed := w.literal()
			if changed {
				w.put(start, quoteJSON(key))
			}
			w.space()
			w.at++ // the colon
			if k := familyOf(key); k != none {
				under = k
			} else if strings.EqualFold(key, "value") && named != none {
				under = named
			} else {
				w.name = key
				if strings.EqualFold(key, "name") || strings.EqualFold(key, "key") {
					named = w.peek()
				}
			}
		}
		w.value(under)
	}
}

// peek returns the family that the value at w.at names, if it is a string.
func (w *walker) peek() family {
	w.space()
	if w.raw[w.at] != '"' {
		return none
	}
	lit := w.raw[w.at+1:]
	if f := familyOf(lit[:strings.IndexByte(lit, '"')]); f != header {
		return f
	}
	return none
}

// literal reads the string at w.at and returns it sanitised.
func (w *walker) literal() (text string, changed bool) {
	start := w.at
	escaped := false
	for w.at++; w.raw[w.at] != '"'; w.at++ {
		if w.raw[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	lit := w.raw[start:w.at]
	text = lit[1 : len(lit)-1]
	if escaped {
		text = unescape(lit)
	}
	clean := w.s.Sanitize(valid(text))
	return clean, clean != text
}

// valid replaces what is not UTF-8 as JSON would: sanitised before, a text
// could hold a secret afterwards.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// unescape returns the string that a literal of valid JSON stands for.
func unescape(lit string) (text string) {
	if err := json.Unmarshal([]byte(lit), &text); err != nil {
		return tokenOpen + "text]" // unreachable for a valid literal; if not, nothing leaks
	}
	return text
}

// quoteJSON returns text as a JSON string.
func quoteJSON(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return []byte(`"` + tokenOpen + `text]"`) // unreachable: any string encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

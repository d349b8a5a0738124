// Package veil stands between the texts of a run and what is kept or told of them:
// the host's parts get them as they are, everybody else without secrets.
package veil

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// Veil hides secrets. It looks at each text once, and is for one goroutine. The zero
// Veil is ready.
type Veil struct {
	// San finds the secrets. nil: the zero Sanitizer.
	San *redact.Sanitizer
	// Found is set once a text has held one.
	Found bool
	clean map[seen]struct{} // the texts that hold none
	// last are such texts, by where they lie: a run is written several times, and most of
	// its texts are those of the time before.
	last [64]string
}

// seen is a text, read as JSON or not: escapes hide in the one what the other shows.
type seen struct {
	text string
	json bool
}

// Reset makes the Veil one with another Sanitizer.
func (v *Veil) Reset(san *redact.Sanitizer) {
	if v.clean == nil {
		v.clean = make(map[seen]struct{}, 64)
	}
	clear(v.clean)
	v.last = [len(v.last)]string{}
	v.San, v.Found = san, false
}

// minText is the length of the shortest text that can hold a secret.
const minText = 4

// Hide returns a text without secrets, as valid UTF-8.
func (v *Veil) Hide(text string) string {
	if len(text) < minText {
		return text
	}
	at := unsafe.StringData(text)
	last := &v.last[(uintptr(unsafe.Pointer(at))>>3^uintptr(len(text)))%uintptr(len(v.last))]
	if unsafe.StringData(*last) == at && len(*last) == len(text) {
		return text
	}
	if _, ok := v.clean[seen{text: text}]; ok {
		*last = text
		return text
	}
	hidden := v.San.Sanitize(valid(text))
	if v.Found = v.Found || hidden != text; hidden == text {
		v.clean[seen{text: text}] = struct{}{}
		*last = text
	}
	return hidden
}

func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Under is Hide of a text under a name.
func (v *Veil) Under(name, text string) string {
	if name == "" {
		return v.Hide(text)
	}
	hidden := v.San.Named(name, valid(text))
	v.Found = v.Found || hidden != text
	return hidden
}

// JSON is Hide of a JSON text, which stands under a name, or under none.
func (v *Veil) JSON(name string, raw json.RawMessage) json.RawMessage {
	if _, ok := v.clean[seen{string(raw), true}]; ok && name == "" || len(raw) == 0 {
		return raw
	}
	hidden := v.San.Under(name, raw)
	if same := string(hidden) == string(raw); !same {
		v.Found = true
	} else if name == "" {
		v.clean[seen{string(raw), true}] = struct{}{}
	}
	return hidden
}

// See looks at a text, a JSON text, or one under a name.
func (v *Veil) See(name, text string, raw []byte) {
	if v.Under(name, text); raw != nil {
		v.JSON(name, raw)
	}
}

// HideAll hides the secrets in all that value, a pointer, holds. What others may hold
// is copied. It calls lost, unless that is nil, with the path of each text that
// RevealAll does not bring back.
func (v *Veil) HideAll(value any, lost func(path string)) {
	m := mapper{
		text: func(path, name, text string) string {
			hidden := v.Under(name, text)
			if lost != nil && v.San.Reveal(hidden) != valid(text) {
				lost(path)
			}
			return hidden
		},
		json: func(path, name string, raw json.RawMessage) json.RawMessage {
			hidden := v.JSON(name, raw)
			if lost != nil && string(v.San.RevealJSON(hidden)) != string(raw) {
				lost(path)
			}
			return hidden
		},
	}
	m.walk(reflect.ValueOf(value).Elem(), "", "")
}

// RevealAll puts the secrets that the Sanitizer knows back, and calls left with the path of
// each text that still lacks one.
func (v *Veil) RevealAll(value any, left func(path string)) {
	see := func(path, text string) {
		if strings.Contains(text, redact.KnownToken) {
			left(path)
		}
	}
	m := mapper{
		text: func(path, _, text string) string {
			text = v.San.Reveal(text)
			see(path, text)
			return text
		},
		json: func(path, _ string, raw json.RawMessage) json.RawMessage {
			raw = v.San.RevealJSON(raw)
			see(path, string(raw))
			return raw
		},
	}
	m.walk(reflect.ValueOf(value).Elem(), "", "")
}

// mapper changes the texts of a value, which it copies where others may hold it.
type mapper struct {
	text func(path, name, text string) string
	json func(path, name string, raw json.RawMessage) json.RawMessage
}

// walk changes the texts of v, which stands at a path and under a name.
func (m *mapper) walk(v reflect.Value, path, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.text(path, name, v.String()))
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			own := reflect.New(v.Elem().Type())
			own.Elem().Set(v.Elem())
			if m.walk(own.Elem(), path, name); v.Kind() == reflect.Interface {
				own = own.Elem()
			}
			v.Set(own)
		}
	case reflect.Slice:
		if raw, ok := v.Interface().(json.RawMessage); ok {
			v.SetBytes(m.json(path, name, raw))
		} else if !v.IsNil() {
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			for i := range own.Len() {
				m.walk(own.Index(i), fmt.Sprintf("%s[%d]", path, i), "")
			}
			v.Set(own)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		own := reflect.MakeMap(v.Type())
		for k, e := range v.Seq2() {
			as, of := reflect.New(k.Type()).Elem(), reflect.New(e.Type()).Elem()
			as.Set(k)
			of.Set(e)
			m.walk(as, path, "")
			m.walk(of, fmt.Sprintf("%s[%q]", path, as), k.String())
			own.SetMapIndex(as, of)
		}
		v.Set(own)
	case reflect.Struct:
		delta, _ := v.Addr().Interface().(*reason.Delta)
		for f, field := range v.Fields() {
			if !f.IsExported() || f.Tag.Get("cbor") == "-" {
				continue
			}
			under := ""
			if delta != nil && f.Name == "Value" {
				under = delta.Domain + "." + delta.Path
			}
			m.walk(field, strings.TrimPrefix(path+"."+f.Name, "."), under)
		}
	}
}

// told is an error without secrets.
type told struct {
	text string
	err  error
}

func (e *told) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e *told) Unwrap() error { return e.err }

// Error returns an error without secrets in its text, which wraps the error.
func Error(san *redact.Sanitizer, err error) error {
	if err == nil {
		return nil
	}
	if text := san.Sanitize(err.Error()); text != err.Error() {
		return &told{text, err}
	}
	return err
}

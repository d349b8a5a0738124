// Package veil hides the secrets of a run: the host's parts get its texts unchanged, and all that is stored or
// reported is without secrets.
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

// Veil hides secrets. It scans each text once. It is for one goroutine. The zero Veil is ready.
type Veil struct {
	// San finds the secrets. nil: the zero Sanitizer.
	San *redact.Sanitizer
	// Found is set once a text has held one, or was no UTF-8: what is stored has to differ.
	Found bool
	clean map[seen]struct{} // texts without secrets
	// last are such texts, by their address: a run is written several times, and most of its texts do not
	// change in between.
	last [64]string
}

// seen is a text, scanned as JSON or as plain text: escape sequences make a difference.
type seen struct {
	text string
	json bool
}

// Reset makes the Veil ready for another run, with another Sanitizer.
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
	if len(text) < minText && utf8.ValidString(text) {
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

// Under is Hide for the value of a field.
func (v *Veil) Under(name, text string) string {
	if name == "" {
		return v.Hide(text)
	}
	hidden := v.San.Named(name, valid(text))
	v.Found = v.Found || hidden != text
	return hidden
}

// JSON is Hide for a JSON text, the value of a field if name is not "".
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

// See sets Found if the text or the JSON text, the values of a field if name is not "", hold a secret, or
// the text is no UTF-8.
func (v *Veil) See(name, text string, raw []byte) {
	if v.Under(name, text); raw != nil {
		v.JSON(name, raw)
	}
}

// HideAll hides the secrets in all texts of what value points to. It copies what may be shared. It calls lost,
// unless that is nil, with the path of each text that RevealAll cannot restore.
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

// RevealAll puts the secrets that the Sanitizer knows back, and calls left with the path of each text that still
// lacks one.
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

// mapper changes the texts of a value, and copies what may be shared.
type mapper struct {
	text func(path, name, text string) string
	json func(path, name string, raw json.RawMessage) json.RawMessage
}

// walk changes the texts of v, which is at a path, in a field of this name.
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

// told is an error whose text has no secrets.
type told struct {
	text string
	err  error
}

func (e *told) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e *told) Unwrap() error { return e.err }

// Error returns err, or an error that wraps it and whose text has no secrets.
func Error(san *redact.Sanitizer, err error) error {
	if err == nil {
		return nil
	}
	if text := san.Sanitize(err.Error()); text != err.Error() {
		return &told{text, err}
	}
	return err
}

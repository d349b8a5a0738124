// Package veiltest puts a secret into every place of a type that takes a text, so that
// a test can look where it ends up. A field that is new has one at once.
package veiltest

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Plant puts a text into the n-th place, from 0, of what v points to: texts, elements of
// lists, keys and values of maps, and keys and values within JSON. What stands there
// goes before it, and sep. It returns the path of the place; ok is false if there are
// fewer.
func Plant(v any, n int, sep, text string) (path string, ok bool) {
	p := planter{left: n, sep: sep, text: text}
	p.value(reflect.ValueOf(v).Elem(), reflect.TypeOf(v).Elem().Name(), 0)
	return p.path, p.path != ""
}

type planter struct {
	left            int
	sep, text, path string
}

// here counts a place, and reports whether it is the one.
func (p *planter) here(path string) bool {
	if p.path != "" {
		return false
	}
	if p.left--; p.left >= 0 {
		return false
	}
	p.path = path
	return true
}

// maxNested is how deep a type that holds itself is looked into.
const maxNested = 8

func (p *planter) value(v reflect.Value, path string, depth int) {
	if p.path != "" || depth > maxNested {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if p.here(path) {
			v.SetString(p.join(v.String()))
		}
	case reflect.Interface:
		if v.NumMethod() == 0 && p.here(path) {
			v.Set(reflect.ValueOf(p.text))
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				p.value(field, path+"."+f.Name, depth+1)
			}
		}
	case reflect.Pointer:
		own := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			own.Elem().Set(v.Elem())
		}
		if p.value(own.Elem(), path, depth+1); p.path != "" {
			v.Set(own)
		}
	case reflect.Slice:
		p.list(v, path, depth)
	case reflect.Map:
		p.pairs(v, path, depth)
	}
}

func (p *planter) join(before string) string {
	if before == "" {
		return p.text
	}
	return before + p.sep + p.text
}

func (p *planter) list(v reflect.Value, path string, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Type() != reflect.TypeFor[json.RawMessage]() {
			return
		}
		quoted, err := json.Marshal(p.text)
		if err != nil {
			panic(err) // texts encode
		}
		if p.here(path + " value") {
			v.SetBytes(fmt.Appendf(nil, `{"a":[%s]}`, quoted))
		}
		if p.here(path + " key") {
			v.SetBytes(fmt.Appendf(nil, `{%s:1}`, quoted))
		}
		return
	}
	own := reflect.MakeSlice(v.Type(), max(1, v.Len()), max(1, v.Len()))
	reflect.Copy(own, v)
	if p.value(own.Index(0), path+"[0]", depth+1); p.path != "" {
		v.Set(own)
	}
}

func (p *planter) pairs(v reflect.Value, path string, depth int) {
	if v.Type().Key().Kind() != reflect.String {
		return
	}
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	key.SetString("k")
	for k, e := range v.Seq2() {
		key.Set(k)
		value.Set(e)
	}
	if p.here(path + " key") {
		key.SetString(p.text)
	} else {
		p.value(value, path+"[]", depth+1)
	}
	if p.path != "" {
		own := reflect.MakeMap(v.Type())
		own.SetMapIndex(key, value)
		v.Set(own)
	}
}

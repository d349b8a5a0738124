package goal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Limits of a value, see [World].
const (
	maxValue = 1 << 20 // bytes of JSON
	maxDepth = 64      // nesting, and keys of a selector
	maxExact = 1 << 53 // up to it a float64 holds every integer
	maxShown = 200     // bytes of a value in a reason
)

// plain returns v as a JSON value of its own: nil, bool, float64, string, []any,
// map[string]any. An integer from 2^53 on is a json.Number in decimal digits, so
// that equal numbers are equal Go values.
func plain(field string, v any) (out any, err error) {
	var raw []byte
	if p := guard.Call(func() { raw, err = json.Marshal(v) }); p != nil {
		err = p
	}
	if err == nil && len(raw) > maxValue {
		return nil, &store.LimitError{Field: field, Limit: maxValue, Got: len(raw)}
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		err = dec.Decode(&out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", field, err)
	}
	return number(field, out, 0)
}

// number replaces the json.Numbers in v, in place, and checks how deep v nests.
func number(field string, v any, depth int) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %s is out of the range of numbers", field, short(v.String()))
		case math.Abs(f) < maxExact:
			return f + 0, nil // minus zero is zero
		case strings.ContainsAny(v.String(), ".eE"):
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), nil
		}
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			v[i], err = number(field, v[i], depth+1)
		}
		return v, deeper(field, depth+1, err)
	case map[string]any:
		for k := range v {
			if v[k], err = number(field, v[k], depth+1); err != nil {
				break
			}
		}
		return v, deeper(field, depth+1, err)
	}
	return v, nil
}

func deeper(field string, depth int, err error) error {
	if err == nil && depth > maxDepth {
		return &store.LimitError{Field: "depth of " + field, Limit: maxDepth, Got: depth}
	}
	return err
}

// float returns the value of a number; a json.Number is rounded.
func float(v any) (float64, bool) {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil
	}
	f, ok := v.(float64)
	return f, ok
}

// truthy reports whether a plain value is other than null, false, zero and "".
func truthy(v any) bool { return v != nil && v != false && v != "" && v != 0.0 }

// lookup returns the value under keys in v.
func lookup(v any, keys []string) (any, bool) {
	for _, k := range keys {
		ok := false
		switch w := v.(type) {
		case map[string]any:
			v, ok = w[k]
		case []any:
			var i int
			if i, ok = index(k, len(w)); ok {
				v = w[i]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

func index(key string, n int) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == key
}

// copied holds the address of each object and list that was copied for a change.
// These may be changed in place until they are given away, so that many changes of
// a large value copy it once.
type copied map[uintptr]bool

// put returns root with v under keys, and copies what is on the way. What is
// neither object nor list becomes an object. It reports false if a list has no such
// place.
func (c copied) put(root any, keys []string, v any) (_ any, ok bool) {
	if len(keys) == 0 {
		return v, true
	}
	if list, isList := root.([]any); isList {
		i, ok := index(keys[0], len(list))
		if !ok {
			return root, false
		}
		if v, ok = c.put(list[i], keys[1:], v); !ok {
			return root, false
		}
		if !c[address(list)] {
			list = slices.Clone(list)
			c[address(list)] = true
		}
		list[i] = v
		return list, true
	}
	m, _ := root.(map[string]any)
	if v, ok = c.put(m[keys[0]], keys[1:], v); !ok {
		return root, false
	}
	if m == nil || !c[address(m)] {
		if m = maps.Clone(m); m == nil {
			m = make(map[string]any, 1)
		}
		c[address(m)] = true
	}
	m[keys[0]] = v
	return m, true
}

func address(v any) uintptr { return reflect.ValueOf(v).Pointer() }

// clone returns a deep copy of a plain value.
func clone(v any) any {
	switch w := v.(type) {
	case []any:
		w = slices.Clone(w)
		for i := range w {
			w[i] = clone(w[i])
		}
		return w
	case map[string]any:
		w = maps.Clone(w)
		for k := range w {
			w[k] = clone(w[k])
		}
		return w
	}
	return v
}

// encoded returns a plain value as JSON.
func encoded(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf("%T", v) // what a host has expected, unchecked
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// short cuts a text at maxShown.
func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

const (
	maxSelector = 1 << 10 // bytes
	maxName     = 256     // bytes of the name of a domain or an action
)

// place is where a value stands: in a domain, under keys. The first key is always
// "data".
type place struct {
	domain string
	keys   []string
}

// String returns the selector of the place.
func (p place) String() string { return "domains" + quoted(p.domain) + "." + p.effect().Path }

func (p place) effect() reason.Effect {
	path := ""
	for _, k := range p.keys {
		path += quoted(k)
	}
	return reason.Effect{Domain: p.domain, Path: strings.TrimPrefix(path, ".")}
}

// quoted returns a key as it follows another: .key, or ["key"] unless it is a plain
// word.
func quoted(key string) string {
	if word.MatchString(key) && !strings.ContainsRune(key, utf8.RuneError) {
		return "." + key
	}
	return "[" + encoded(key) + "]"
}

// Keys are words after a dot, and strings or numbers in brackets. There are no
// wildcards, so a star is no word.
var (
	word    = regexp.MustCompile(`^[^.\[\]"*\x00- ]+$`)
	nextKey = regexp.MustCompile(`^(?:\.([^.\[\]"*\x00- ]+)|\[(\d+|"(?:[^"\\]|\\.)*")\])`)
)

// split cuts a selector into its keys.
func split(s string) ([]string, error) {
	switch {
	case s == "":
		return nil, errors.New("bad selector: there is none")
	case len(s) > maxSelector:
		return nil, &store.LimitError{Field: "selector", Limit: maxSelector, Got: len(s)}
	case !utf8.ValidString(s):
		return nil, fmt.Errorf("bad selector %q: not valid UTF-8", s)
	}
	var keys []string
	for rest := "." + s; rest != ""; {
		m := nextKey.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf(`bad selector %q: an empty key, or no plain word; such a key is written as ["a.b"]`, s)
		}
		rest = rest[len(m[0]):]
		key := m[1] + m[2]
		if strings.HasPrefix(m[2], `"`) {
			if err := json.Unmarshal([]byte(m[2]), &key); err != nil {
				return nil, fmt.Errorf("bad selector %q: %w", s, err)
			}
		}
		if keys = append(keys, key); len(keys) > maxDepth {
			return nil, &store.LimitError{Field: "keys of a selector", Limit: maxDepth, Got: len(keys)}
		}
	}
	return keys, nil
}

// parseSelector reads "domains.D.data.K…".
func parseSelector(s string) (place, error) {
	keys, err := split(s)
	switch {
	case err != nil:
		return place{}, err
	case len(keys) < 3 || keys[0] != "domains" || keys[2] != "data":
		return place{}, fmt.Errorf("bad selector %q: want domains.<domain>.data.<keys>", s)
	}
	return place{keys[1], keys[2:]}, checkDomain(keys[1])
}

// parseEffect reads the place that an effect names.
func parseEffect(e reason.Effect) (place, error) {
	keys, err := split(e.Path)
	if err == nil && keys[0] != "data" {
		err = fmt.Errorf("bad selector %q of domain %q: a path begins with data", e.Path, e.Domain)
	}
	return place{e.Domain, keys}, errors.Join(checkDomain(e.Domain), err)
}

func checkDomain(name string) error {
	switch {
	case name == "":
		return errors.New("a domain has no name")
	case len(name) > maxName:
		return &store.LimitError{Field: "name of a domain", Limit: maxName, Got: len(name)}
	case !utf8.ValidString(name):
		return fmt.Errorf("domain %q is not valid UTF-8", name)
	}
	return nil
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.domain, q.domain), slices.Compare(p.keys, q.keys))
}

// within reports whether q is the place p, or lies in it.
func (p place) within(q place) bool {
	return p.domain == q.domain && len(p.keys) <= len(q.keys) && slices.Equal(p.keys, q.keys[:len(p.keys)])
}

// overlaps reports whether a change at p can change the value at q: they are the
// same, or one is a part of the other.
func (p place) overlaps(q place) bool { return p.within(q) || q.within(p) }

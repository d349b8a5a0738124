// Package selector names the places of values in the world, as people, workers and
// planners do.
package selector

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/store"
)

const (
	maxBytes  = 1 << 10
	maxKeys   = 64
	maxDomain = 256 // bytes of its name
)

// Place is where a value stands: in a domain, under keys. The zero Place names nothing.
type Place struct {
	Domain string
	keys   []string // the first is always "data"
}

// String returns the selector of the place.
func (p Place) String() string { return "domains" + quoted(p.Domain) + "." + p.Effect().Path }

// Effect returns the place as workers name it. Equal places have equal effects.
func (p Place) Effect() reason.Effect {
	path := ""
	for _, k := range p.keys {
		path += quoted(k)
	}
	return reason.Effect{Domain: p.Domain, Path: strings.TrimPrefix(path, ".")}
}

// quoted returns a key as it follows another: .key, or ["key"] unless it is a plain
// word.
func quoted(key string) string {
	if word.MatchString(key) && !strings.ContainsRune(key, utf8.RuneError) {
		return "." + key
	}
	return "[" + plain.JSON(key) + "]"
}

// Keys are words after a dot, and strings or numbers in brackets. A star is no word:
// selectors have no wildcards.
var (
	word    = regexp.MustCompile(`^[^.\[\]"*\x00- ]+$`)
	nextKey = regexp.MustCompile(`^(?:\.([^.\[\]"*\x00- ]+)|\[(\d+|"(?:[^"\\]|\\.)*")\])`)
)

// split cuts a selector into its keys. Its grammar is
//
//	selector = word { "." word | "[" digits "]" | "[" JSON string "]" }
//
// where a word has no dot, bracket, quote, star, space or control character.
func split(s string) ([]string, error) {
	switch {
	case s == "":
		return nil, errors.New("bad selector: there is none")
	case len(s) > maxBytes:
		return nil, &store.LimitError{Field: "selector", Limit: maxBytes, Got: len(s)}
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
		if keys = append(keys, key); len(keys) > maxKeys {
			return nil, &store.LimitError{Field: "keys of a selector", Limit: maxKeys, Got: len(keys)}
		}
	}
	return keys, nil
}

// Parse reads "domains.D.data.K…".
func Parse(s string) (Place, error) {
	keys, err := split(s)
	if err == nil && (len(keys) < 3 || keys[0] != "domains" || keys[2] != "data") {
		err = fmt.Errorf("bad selector %q: want domains.<domain>.data.<keys>", s)
	}
	if err == nil {
		err = CheckDomain(keys[1])
	}
	if err != nil {
		return Place{}, err
	}
	return Place{keys[1], keys[2:]}, nil
}

// OfEffect reads the place that an effect names.
func OfEffect(e reason.Effect) (Place, error) {
	keys, err := split(e.Path)
	if err == nil && keys[0] != "data" {
		err = fmt.Errorf("bad selector %q of domain %q: a path begins with data", e.Path, e.Domain)
	}
	return Place{e.Domain, keys}, errors.Join(CheckDomain(e.Domain), err)
}

// CheckDomain returns what is wrong with the name of a domain: it is empty, over
// maxDomain, or not valid UTF-8.
func CheckDomain(name string) error {
	switch {
	case name == "":
		return errors.New("a domain has no name")
	case len(name) > maxDomain:
		return &store.LimitError{Field: "name of a domain", Limit: maxDomain, Got: len(name)}
	case !utf8.ValidString(name):
		return fmt.Errorf("domain %q is not valid UTF-8", name)
	}
	return nil
}

// Within reports whether p is the place q, or lies in it.
func (p Place) Within(q Place) bool {
	return p.Domain == q.Domain && len(q.keys) <= len(p.keys) && slices.Equal(q.keys, p.keys[:len(q.keys)])
}

// Overlaps reports whether a change at p can change the value at q: they are the
// same, or one is a part of the other.
func (p Place) Overlaps(q Place) bool { return p.Within(q) || q.Within(p) }

// In returns the value that stands at the place in the data of its domain.
func (p Place) In(data any) (v any, found bool) {
	v = data
	for _, k := range p.keys[1:] {
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

// Only returns data with the values at places alone, and with lists that these lie in. The
// values are those of data. What is read or put at the places is as it would be in data.
func Only(data any, places []Place) any {
	var paths [][]string
	for _, p := range places {
		paths = append(paths, p.keys[1:])
	}
	return only(data, paths)
}

func only(v any, paths [][]string) any {
	m, isObject := v.(map[string]any)
	if !isObject || slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 }) {
		return v
	}
	below := make(map[string][][]string)
	for _, p := range paths {
		below[p[0]] = append(below[p[0]], p[1:])
	}
	out := make(map[string]any)
	for k, paths := range below {
		if e, ok := m[k]; ok {
			out[k] = only(e, paths)
		}
	}
	return out
}

// index returns the index that a key names in a list of n values.
func index(key string, n int) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == key
}

// Put returns data with v at the place. It copies what is on the way, and nothing else.
// A value that is neither object nor list becomes an object. It reports false if a list
// has no such place.
func (p Place) Put(data, v any) (any, bool) { return put(data, p.keys[1:], v) }

func put(root any, keys []string, v any) (_ any, ok bool) {
	if len(keys) == 0 {
		return v, true
	}
	if list, isList := root.([]any); isList {
		i, ok := index(keys[0], len(list))
		if !ok {
			return nil, false
		}
		list = slices.Clone(list)
		list[i], ok = put(list[i], keys[1:], v)
		return list, ok
	}
	m, _ := root.(map[string]any)
	if m = maps.Clone(m); m == nil {
		m = make(map[string]any)
	}
	m[keys[0]], ok = put(m[keys[0]], keys[1:], v)
	return m, ok
}

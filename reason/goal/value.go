package goal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	maxShown = 200     // bytes of a value in a reason
)

// plain returns v as a JSON value of its own: nil, bool, float64, string, []any or
// map[string]any. It is the one way in for what a host, a worker or a file says.
func plain(field string, v any) (out any, err error) {
	var raw []byte
	if p := guard.Call(func() { raw, err = json.Marshal(v) }); p != nil {
		err = p
	}
	err = guard.Error(err)
	if err == nil && len(raw) > maxValue {
		return nil, &store.LimitError{Field: field, Limit: maxValue, Got: len(raw)}
	}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", field, err)
	}
	if n := depth(out); n > maxDepth {
		return nil, &store.LimitError{Field: "depth of " + field, Limit: maxDepth, Got: n}
	}
	return out, nil
}

// depth returns how many lists and objects lie in one another in a plain value.
func depth(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, depth(e))
		}
	case map[string]any:
		for _, e := range v {
			n = max(n, depth(e))
		}
	default:
		return 0
	}
	return n + 1
}

// encoded returns a plain value as JSON.
func encoded(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var err error
	if p := guard.Call(func() { err = enc.Encode(v) }); p != nil || err != nil {
		return fmt.Sprintf("%T", v) // an expected value of the host, unchecked
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// cut returns a text as valid UTF-8, without what is over a limit in bytes.
func cut(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// short cuts a text for a reason.
func short(s string) string { return cut(s, maxShown) }

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

// index returns the index that a key names in a list of n values.
func index(key string, n int) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == key
}

// put returns root with v under keys. It copies what is on the way, and nothing else. A
// value that is neither object nor list becomes an object. It reports false if a list
// has no such place.
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

const (
	maxSelector = 1 << 10 // bytes
	maxName     = 256     // bytes of the name of a domain or an action
)

// place is where a value stands: in a domain, under keys. The first key is always
// "data". The zero place names nothing.
type place struct {
	domain string
	keys   []string
}

// String returns the selector of the place.
func (p place) String() string { return "domains" + quoted(p.domain) + "." + p.effect().Path }

// effect returns the place as workers name it. Equal places have equal effects.
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
	if err == nil && (len(keys) < 3 || keys[0] != "domains" || keys[2] != "data") {
		err = fmt.Errorf("bad selector %q: want domains.<domain>.data.<keys>", s)
	}
	if err == nil {
		err = checkDomain(keys[1])
	}
	if err != nil {
		return place{}, err
	}
	return place{keys[1], keys[2:]}, nil
}

// parseEffect reads the place that an effect names.
func parseEffect(e reason.Effect) (place, error) {
	keys, err := split(e.Path)
	if err == nil && keys[0] != "data" {
		err = fmt.Errorf("bad selector %q of domain %q: a path begins with data", e.Path, e.Domain)
	}
	return place{e.Domain, keys}, errors.Join(checkDomain(e.Domain), err)
}

// checkDomain returns what is wrong with the name of a domain: it is empty, over
// maxName, or not valid UTF-8.
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

// within reports whether p is the place q, or lies in it.
func (p place) within(q place) bool {
	return p.domain == q.domain && len(q.keys) <= len(p.keys) && slices.Equal(q.keys, p.keys[:len(q.keys)])
}

// overlaps reports whether a change at p can change the value at q: they are the
// same, or one is a part of the other.
func (p place) overlaps(q place) bool { return p.within(q) || q.within(p) }

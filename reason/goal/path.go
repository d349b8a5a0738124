package goal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const (
	maxSelector = 1 << 10 // bytes
	maxName     = 256     // bytes of the name of a domain or an action
)

// place is where a value stands: in a domain, under keys. The first key is always "data".
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

// quoted returns a key as it follows another: .key, or ["key"] unless it is a plain word.
func quoted(key string) string {
	if word.MatchString(key) && !strings.ContainsRune(key, utf8.RuneError) {
		return "." + key
	}
	return "[" + encoded(key) + "]"
}

// Keys are words after a dot, and strings or numbers in brackets. There are no wildcards, so a star is no word.
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

// overlaps reports whether a change at p can change the value at q: they are the same, or one is a part of the other.
func (p place) overlaps(q place) bool { return p.within(q) || q.within(p) }

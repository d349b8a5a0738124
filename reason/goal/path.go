package goal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const (
	maxSelector = 1 << 10 // bytes
	dataKey     = "data"  // the first key of every path: what was read
)

// errPath is the cause of every selector that cannot be read.
var errPath = errors.New("bad selector")

// place is where a value stands: in a domain, under keys. The first key is
// always "data".
type place struct {
	domain string
	keys   []string
}

// Selector returns the selector of a value: the domain, then the keys within
// what was read, each quoted where it has to be.
func Selector(domain string, keys ...string) string {
	var b strings.Builder
	b.WriteString("domains")
	writeKey(&b, domain)
	b.WriteString("." + dataKey)
	for _, k := range keys {
		writeKey(&b, k)
	}
	return b.String()
}

func (p place) String() string { return Selector(p.domain, p.keys[1:]...) }

// effect returns the place as the effect that names it.
func (p place) effect() reason.Effect {
	var b strings.Builder
	b.WriteString(dataKey)
	for _, k := range p.keys[1:] {
		writeKey(&b, k)
	}
	return reason.Effect{Domain: p.domain, Path: b.String()}
}

func writeKey(b *strings.Builder, key string) {
	if key != "" && !strings.ContainsFunc(key, special) {
		b.WriteString("." + key)
		return
	}
	quoted, err := json.Marshal(key)
	if err != nil { // a string always encodes
		panic(err)
	}
	b.WriteString("[" + string(quoted) + "]")
}

// special reports whether a key with r in it has to be quoted. A star is no
// wildcard, and must not look like one.
func special(r rune) bool { return strings.ContainsRune(`.[]"*`, r) || r <= ' ' || r == utf8.RuneError }

// parseSelector reads "domains.D.data.K…".
func parseSelector(s string) (place, error) {
	if s == "" {
		return place{}, fmt.Errorf("%w: there is none", errPath)
	}
	keys, err := split(s)
	switch {
	case err != nil:
		return place{}, err
	case len(keys) < 3 || keys[0] != "domains" || keys[2] != dataKey:
		return place{}, fmt.Errorf("%w %q: want domains.<domain>.data.<keys>", errPath, s)
	case keys[1] == "":
		return place{}, fmt.Errorf("%w %q: the domain has no name", errPath, s)
	}
	return place{keys[1], keys[2:]}, nil
}

// parseEffect reads the place that an effect names.
func parseEffect(e reason.Effect) (place, error) {
	if err := checkDomain(e.Domain); err != nil {
		return place{}, err
	}
	keys, err := split(e.Path)
	switch {
	case err != nil:
		return place{}, err
	case keys[0] != dataKey:
		return place{}, fmt.Errorf("%w %q of domain %q: a path begins with data", errPath, e.Path, e.Domain)
	}
	return place{e.Domain, keys}, nil
}

func checkDomain(name string) error {
	switch {
	case name == "":
		return errors.New("a domain has no name")
	case len(name) > MaxName:
		return &store.LimitError{Field: "name of a domain", Limit: MaxName, Got: len(name)}
	case !utf8.ValidString(name):
		return fmt.Errorf("domain %q is not valid UTF-8", name)
	}
	return nil
}

// split cuts a selector into its keys: words between dots, and strings or
// numbers in brackets.
func split(s string) ([]string, error) {
	if len(s) > maxSelector {
		return nil, &store.LimitError{Field: "selector", Limit: maxSelector, Got: len(s)}
	}
	bad := func(why string) ([]string, error) { return nil, fmt.Errorf("%w %q: %s", errPath, s, why) }
	if !utf8.ValidString(s) {
		return bad("not valid UTF-8")
	}
	var keys []string
	for rest := s; ; {
		var key string
		if strings.HasPrefix(rest, "[") {
			var err error
			if key, rest, err = bracket(rest); err != nil {
				return bad(err.Error())
			}
		} else {
			end := strings.IndexFunc(rest, special)
			if end < 0 {
				end = len(rest)
			}
			if key, rest = rest[:end], rest[end:]; key == "" {
				return bad("an empty key, or a wildcard; quote keys that are not plain words, as in [\"a.b\"]")
			}
		}
		if keys = append(keys, key); len(keys) > MaxDepth {
			return nil, &store.LimitError{Field: "keys of a selector", Limit: MaxDepth, Got: len(keys)}
		}
		switch {
		case rest == "":
			return keys, nil
		case rest[0] == '.' && len(rest) > 1 && rest[1] != '[':
			rest = rest[1:]
		case rest[0] != '[':
			return bad("want a dot or a bracket before " + strconv.Quote(rest))
		}
	}
}

// bracket reads ["key"] or [0] at the beginning of s.
func bracket(s string) (key, rest string, err error) {
	if len(s) > 1 && s[1] == '"' {
		dec := json.NewDecoder(strings.NewReader(s[1:]))
		if err := dec.Decode(&key); err != nil {
			return "", "", errors.New("a quoted key does not end")
		}
		rest = s[1+dec.InputOffset():]
	} else {
		n := 1
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == 1 {
			return "", "", errors.New("want a number or a quoted key in brackets")
		}
		key, rest = s[1:n], s[n:]
	}
	if !strings.HasPrefix(rest, "]") {
		return "", "", errors.New("a bracket is not closed")
	}
	return key, rest[1:], nil
}

// within reports whether q is the place p, or lies in it.
func (p place) within(q place) bool {
	if p.domain != q.domain || len(p.keys) > len(q.keys) {
		return false
	}
	for i, k := range p.keys {
		if q.keys[i] != k {
			return false
		}
	}
	return true
}

// overlaps reports whether a change at p can change the value at q: they are
// the same, or one is a part of the other.
func (p place) overlaps(q place) bool { return p.within(q) || q.within(p) }

// Overlaps reports whether whoever changes a may change b: they name the same
// value, or one of them is a part of the other. Effects that cannot be read
// overlap nothing.
func Overlaps(a, b reason.Effect) bool {
	p, err := parseEffect(a)
	if err != nil {
		return false
	}
	q, err := parseEffect(b)
	return err == nil && p.overlaps(q)
}

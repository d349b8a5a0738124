package goal

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPath = 1 << 10 // bytes
	maxKeys = 16
	maxList = 10_000 // entries to which "push" appends
)

var errPlace = errors.New(`not a place such as "domains.ci.data.failing"`)

// place is a value in the world: a domain, and the keys within what was read.
type place struct {
	domain string
	keys   []string
}

// parseSelector reads "domains.ci.data.jobs.0.name". A number is the index of a list. A key that has dots itself is
// found, too.
func parseSelector(s string) (place, error) {
	parts := strings.Split(s, ".")
	if len(parts) < 3 || parts[0] != "domains" || parts[2] != "data" {
		return place{}, errPlace
	}
	return newPlace(s, parts[1], parts[3:])
}

// parsePath reads "ci.jobs.0.name", as a delta or an effect has it, or a selector.
func parsePath(s string) (place, error) {
	if p, err := parseSelector(s); err == nil {
		return p, nil
	}
	parts := strings.Split(s, ".")
	return newPlace(s, parts[0], parts[1:])
}

func newPlace(s, domain string, keys []string) (place, error) {
	if len(s) > maxPath || len(keys) > maxKeys || domain == "" || slices.Contains(keys, "") {
		return place{}, errPlace
	}
	return place{domain, keys}, nil
}

// get returns what stands below a plain value.
func get(v any, keys []string) (any, bool) {
	if len(keys) == 0 {
		return v, true
	}
	switch v := v.(type) {
	case []any:
		if i, ok := index(v, keys[0]); ok {
			return get(v[i], keys[1:])
		}
	case map[string]any:
		for n := 1; n <= len(keys); n++ {
			below, ok := v[strings.Join(keys[:n], ".")]
			if ok {
				below, ok = get(below, keys[n:])
			}
			if ok {
				return below, true
			}
		}
	}
	return nil, false
}

func index(list []any, key string) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < len(list)
}

// with returns a plain value in which the one below it is changed; the former value stays as it is. It reports false
// where the change does not fit. An object that is missing on the way is made, since nothing else can be there.
func with(v any, keys []string, op string, by any) (any, bool) {
	if len(keys) == 0 {
		return changed(v, op, by)
	}
	switch v := v.(type) {
	case nil:
		below, ok := with(nil, keys[1:], op, by)
		return map[string]any{keys[0]: below}, ok
	case []any:
		i, ok := index(v, keys[0])
		if !ok {
			return nil, false
		}
		list := slices.Clone(v)
		list[i], ok = with(v[i], keys[1:], op, by)
		return list, ok
	case map[string]any:
		n := 1
		for i := range keys { // a key may have dots
			if _, there := v[strings.Join(keys[:i+1], ".")]; there {
				n = i + 1
				break
			}
		}
		key, ok := strings.Join(keys[:n], "."), false
		object := maps.Clone(v)
		object[key], ok = with(v[key], keys[n:], op, by)
		return object, ok
	}
	return nil, false
}

// changed returns a value after a change. What is missing is no 0 to add to.
func changed(v any, op string, by any) (any, bool) {
	switch op {
	case "set":
		return by, true
	case "inc":
		was, ok := v.(float64)
		add, number := by.(float64)
		return was + add, ok && number
	case "push":
		list, ok := v.([]any)
		return append(slices.Clone(list), by), (ok || v == nil) && len(list) < maxList
	}
	return nil, false
}

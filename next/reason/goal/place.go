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

// parsePlace reads "domains.ci.data.jobs.0.name" or, as deltas and effects have it, "ci.jobs.0.name". A number is the
// index of a list.
func parsePlace(s string) (place, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 2 && parts[0] == "domains" && parts[2] == "data" {
		parts = slices.Delete(parts[1:], 1, 2)
	}
	if len(s) > maxPath || len(parts) > maxKeys || slices.Contains(parts, "") {
		return place{}, errPlace
	}
	return place{parts[0], parts[1:]}, nil
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
		for n := range keys { // a key may have dots
			if below, ok := v[strings.Join(keys[:n+1], ".")]; ok {
				if found, ok := get(below, keys[n+1:]); ok {
					return found, true
				}
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
// where the change does not fit. Objects that are missing on the way are made.
func with(v any, keys []string, op string, by any) (changed any, ok bool) {
	if len(keys) == 0 {
		return change(v, op, by)
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
		key, rest := keys[0], keys[1:]
		for n := range keys { // a key that is there may have dots
			if long := strings.Join(keys[:n+1], "."); v[long] != nil {
				key, rest = long, keys[n+1:]
				break
			}
		}
		object := maps.Clone(v)
		object[key], ok = with(v[key], rest, op, by)
		return object, ok
	}
	return nil, false
}

// change returns a value after a change. What is missing is no 0 to add to.
func change(v any, op string, by any) (any, bool) {
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

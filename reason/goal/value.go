package goal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// Limits of what a world takes. What is over one is a *store.LimitError.
const (
	MaxName     = 256     // bytes of a domain's name, a key of effects, or an action's name
	MaxDomains  = 1 << 10 // domains of a world
	MaxSnapshot = 1 << 20 // bytes of a domain's data as JSON, and of a value
	MaxDepth    = 64      // nesting of data, and keys of a selector
	MaxDeltas   = 1 << 10 // changes of a domain since it was read, and changes that a key expects
	MaxEffects  = 1 << 12 // keys that expect effects, and changes that all of them expect
)

// maxExact is the largest integer up to which a float64 holds all of them.
const maxExact = 1 << 53

// plain returns v as a JSON value of its own: nil, bool, float64, string,
// []any, map[string]any, and json.Number for integers that a float64 would
// round.
func plain(field string, v any) (any, error) {
	var raw []byte
	var err error
	if p := guard.Call(func() { raw, err = json.Marshal(v) }); p != nil {
		err = p
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", field, err)
	}
	if len(raw) > MaxSnapshot {
		return nil, &store.LimitError{Field: field, Limit: MaxSnapshot, Got: len(raw)}
	}
	if depth := depthOf(raw); depth > MaxDepth {
		return nil, &store.LimitError{Field: "depth of " + field, Limit: MaxDepth, Got: depth}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", field, err)
	}
	if out, err = numbers(out); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return out, nil
}

// depthOf returns how deep the brackets of valid JSON nest.
func depthOf(raw []byte) int {
	deepest, depth, text := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// numbers replaces each json.Number in v, in place, by a float64 unless that
// would lose digits of an integer.
func numbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, e := range v {
			if v[k], err = numbers(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func number(n json.Number) (any, error) {
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is out of the range of numbers", short(n.String()))
	}
	if math.Abs(f) >= maxExact && !strings.ContainsAny(n.String(), ".eE") {
		return n, nil
	}
	return f + 0, nil // minus zero is zero
}

// float returns the value of a number, rounded where it is a json.Number.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// equal compares plain values. Numbers are equal if they have the same value,
// lists and objects if their parts are.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, has := b[k]; !has || !equal(v, w) {
				return false
			}
		}
		return true
	case json.Number, float64:
		return equalNumbers(a, b)
	default:
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}

func equalNumbers(a, b any) bool {
	_, aLarge := a.(json.Number)
	_, bLarge := b.(json.Number)
	if !aLarge && !bLarge {
		return a == b
	}
	x, okX := exact(a)
	y, okY := exact(b)
	return okX && okY && x.Cmp(y) == 0
}

func exact(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case json.Number:
		return new(big.Int).SetString(v.String(), 10)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, false
		}
		i, acc := big.NewFloat(v).Int(nil)
		return i, acc == big.Exact
	}
	return nil, false
}

// truthy reports what counts as true: all but null, false, zero and "".
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case float64:
		return v != 0
	default: // an integer that is too large to be zero, a list, an object
		return true
	}
}

// lookup returns the value under keys in v.
func lookup(v any, keys []string) (any, bool) {
	for _, k := range keys {
		switch w := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = w[k]; !ok {
				return nil, false
			}
		case []any:
			i, ok := index(k, len(w))
			if !ok {
				return nil, false
			}
			v = w[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func index(key string, n int) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == key
}

// own are the objects and lists, by their address, that were made for one
// change or several, and may be changed in place until they are given away.
type own map[uintptr]bool

// put returns root with v under keys. What is on the way is copied, unless it is
// the caller's own; what is no object or list becomes an object. It reports
// false where a list has no such place.
func (o own) put(root any, keys []string, v any) (any, bool) {
	if len(keys) == 0 {
		return v, true
	}
	if list, ok := root.([]any); ok {
		i, ok := index(keys[0], len(list))
		if !ok {
			return root, false
		}
		part, ok := o.put(list[i], keys[1:], v)
		if !ok {
			return root, false
		}
		if at := reflect.ValueOf(list).Pointer(); !o[at] {
			list = slices.Clone(list)
			o.add(list)
		}
		list[i] = part
		return list, true
	}
	m, _ := root.(map[string]any) // something else is replaced
	part, ok := o.put(m[keys[0]], keys[1:], v)
	if !ok {
		return root, false
	}
	if m == nil || !o[reflect.ValueOf(m).Pointer()] {
		if m = maps.Clone(m); m == nil {
			m = make(map[string]any, 1)
		}
		o.add(m)
	}
	m[keys[0]] = part
	return m, true
}

func (o own) add(v any) {
	if o != nil {
		o[reflect.ValueOf(v).Pointer()] = true
	}
}

// clone returns a deep copy of a plain value.
func clone(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	default:
		return v
	}
}

// maxShown is how many bytes of a value stand in a reason.
const maxShown = 200

// show returns a value as JSON, cut where it is long.
func show(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf("%T", v)
	}
	return short(strings.TrimSuffix(b.String(), "\n"))
}

func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

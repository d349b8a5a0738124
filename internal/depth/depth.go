// Package depth bounds how deep JSON that a model or a host has written is nested.
package depth

import (
	"encoding/json"

	"github.com/arc-learn/arc/store"
)

// most is how deep JSON may be nested: deeper than people write it, and far from where readers
// give up.
const most = 64

// Check returns a *store.LimitError of a field whose JSON is nested too deep. Whether it is
// JSON is not looked at.
func Check(field string, raw json.RawMessage) error {
	if n := Of(raw); n > most {
		return &store.LimitError{Field: "depth of " + field, Limit: most, Got: n}
	}
	return nil
}

// Of is how deep the objects and arrays of JSON stand in one another.
func Of(raw json.RawMessage) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// Package cooldown says when to leave an action alone.
//
// A [Loop] finds an action that keeps failing, and a [Guard] decides by it and by
// what else an action came to how long it rests. Both go by the times that the caller
// passes, never by a clock, and forget what no longer matters. Neither may be used
// concurrently.
package cooldown

import (
	"bytes"
	"encoding/json"
)

// Key is an action tried for a goal. Goals and actions count apart.
type Key struct{ Goal, Action string }

// Action names an action with arguments as JSON: those that differ in the order
// of fields and in spacing only give the same name. Text that is no JSON stands
// as it is.
func Action(name string, args json.RawMessage) string {
	if len(args) == 0 {
		return name
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil && !d.More() {
		if raw, err := json.Marshal(v); err == nil {
			args = raw
		}
	}
	return name + "\x00" + string(args)
}

// nextSweep lets a map of n keys double before the next sweep, so that sweeping
// costs a constant time per key added.
func nextSweep(n int) int { return max(64, 2*n) }

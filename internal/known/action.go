package known

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/reason"
)

// Action is a worker's task for a goal, with all input that the worker gets.
type Action struct {
	Goal       string            // in words
	Inputs     json.RawMessage   // of the objective
	Conditions map[string]string // of the objective
	Task       *reason.Task
	Worker     string
	Lineage    []reason.Delivery // outputs that it builds on
}

// Key identifies the action by a hash, 16 hex digits. JSON that differs only in the order of
// fields and in spacing has the same key, as have texts that differ only in blanks.
func (a *Action) Key() string {
	h := sha256.New()
	put := func(s string) { fmt.Fprintf(h, "%d %s", len(s), s) }
	for _, s := range [...]string{a.Task.Skill, a.Worker, fold(a.Goal), fold(a.Task.Objective)} {
		put(s)
	}
	for _, raw := range [...]json.RawMessage{a.Inputs, a.Task.Inputs} {
		if absent(raw) {
			raw = nil
		}
		put(cooldown.Action("", raw))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Conditions)) {
		put(name)
		put(a.Conditions[name])
	}
	for i := range a.Lineage {
		put(string(a.Lineage[i].Output))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

package goal

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Change is what an [Action] does to a value of the world.
type Change struct {
	Effect reason.Effect // the value, such as {Domain: "ci", Path: "data.failing"}
	// Op is set (the value becomes Value), add (Value, a number, is added to it), or "" (the value changes, and the
	// action does not say to what).
	Op    string
	Value any // encodes as JSON; of add: a finite number
}

// The operations of a change.
const (
	alters = ""
	sets   = "set"
	adds   = "add"
)

// overlay is a change that was checked, as it lies on top of what was read.
type overlay struct {
	place    place
	op       string
	value    any // plain
	at       time.Time
	until    time.Time // zero: as long as a reading of the domain does
	dispatch string    // that expects the change; "": a worker has reported it
	size     int       // of the value as it came in, in bytes
}

// overlay checks the change and returns it as one.
func (c Change) overlay() (out overlay, err error) {
	if out.place, err = parseEffect(c.Effect); err != nil {
		return out, err
	}
	if out.op = c.Op; c.Op == alters {
		return out, nil
	}
	if out.value, err = plain("value", c.Value); err != nil {
		return out, fmt.Errorf("change of %s: %w", out.place, err)
	}
	if _, isNumber := float(out.value); c.Op == adds && !isNumber {
		return out, fmt.Errorf("change of %s adds %s, which is no number", out.place, short(encoded(out.value)))
	}
	if c.Op != sets && c.Op != adds {
		return out, fmt.Errorf("change of %s: unknown operation %q", out.place, c.Op)
	}
	return out, nil
}

// after returns the value at the overlay's place in data once the change is made. It reports false if there is no
// number to add to, or the sum is none.
func (c *overlay) after(data any) (any, bool) {
	if c.op == sets {
		return c.value, true
	}
	old, _ := lookup(data, c.place.keys[1:])
	number, ok := float(old)
	by, _ := float(c.value) // checked when it came in
	return number + by, ok && math.Abs(number+by) <= math.MaxFloat64
}

func changesPlace(changes []overlay, p place) bool {
	return slices.ContainsFunc(changes, func(c overlay) bool { return c.place.overlaps(p) })
}

// Action is something that can be done to the world.
type Action struct {
	Name    string      // unique among the actions of a [Controller], at most 256 bytes
	Skill   string      // what a worker must be able to do; "": a worker is found by the first effect
	Pre     []Condition // all must be met before; unknown is not met
	Effects []Change    // in this order
	Cost    float64     // in a unit of the caller's, finite and not negative; 0: 1
}

// step is an action that was checked.
type step struct {
	Action
	changes []overlay
}

// compile checks actions. The error says all that is wrong with them.
func compile(actions []Action) ([]step, error) {
	steps := make([]step, len(actions))
	var errs []error
	names := make(map[string]bool)
	for i, a := range actions {
		steps[i].Action = a
		when := func(wrong bool, format string, args ...any) {
			if wrong {
				errs = append(errs, fmt.Errorf("action %q: %w", short(a.Name), fmt.Errorf(format, args...)))
			}
		}
		when(a.Name == "", "it has no name")
		when(names[a.Name], "another action has this name")
		when(a.Skill == "" && len(a.Effects) == 0, "it has neither a skill nor an effect to find a worker by")
		when(!(a.Cost >= 0 && a.Cost <= math.MaxFloat64), "cost %v is negative or not a number", a.Cost)
		when(len(a.Name) > maxName, "%w", &store.LimitError{Field: "name", Limit: maxName, Got: len(a.Name)})
		when(len(a.Effects) > maxDeltas, "%w", &store.LimitError{Field: "effects", Limit: maxDeltas, Got: len(a.Effects)})
		names[a.Name] = true
		var wrong flaws
		for i := range a.Pre {
			a.Pre[i].check(&wrong)
		}
		for _, f := range wrong {
			when(true, "precondition: %s", f.problem)
		}
		for _, change := range a.Effects {
			c, err := change.overlay()
			when(err != nil, "%w", err)
			steps[i].changes = append(steps[i].changes, c)
		}
	}
	return steps, errors.Join(errs...)
}

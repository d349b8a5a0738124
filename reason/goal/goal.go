package goal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Goal is a condition that should always hold.
type Goal struct {
	// ID is unique in a set, at most 256 bytes without control characters. Required.
	ID string `yaml:"id"`
	// Description is for people, and for the worker that is to mend it, at most 8 KiB.
	Description string `yaml:"description"`
	Severity    string `yaml:"severity"` // low, medium, high or critical; "": medium
	// Disabled: the goal is neither met nor violated, whatever the world is like.
	Disabled bool `yaml:"-"`
	// ActOnUnknown lets a [Controller] act on the goal also while it is unknown,
	// once a reading of its domain was tried. It is for goals whose reading is
	// itself to be restored. The cooldown then follows every dispatch, since
	// nothing can be read anew.
	ActOnUnknown bool `yaml:"act_on_unknown"`
	Condition    `yaml:",inline"`
	// MaxAge is how old the reading may be. 0: as old as the world allows. A
	// reading that is too old for the world is unknown whatever MaxAge says.
	MaxAge time.Duration `yaml:"max_age"`
	// Cooldown is how long the goal is left alone after it was acted on with
	// success. 0: Options.Cooldown.
	Cooldown time.Duration `yaml:"cooldown"`
}

// Verdict is how a goal stands.
type Verdict struct {
	Goal     string // its ID
	Status   Status
	Severity string // of the goal, medium if it has none
	// Actual is the value that was looked at as JSON (nil, bool, float64, string,
	// []any, map[string]any), or the shares in it if those are what counts. Nil:
	// there is none. It is a copy.
	Actual any
	At     time.Time // when the value was read or reported; zero: there is none
	Reason string    // why, in words
}

const (
	maxDescription = 8 << 10 // bytes
	maxGoals       = 1 << 12 // of a set
)

// severities are in the order of their rank.
var severities = []string{"low", "medium", "high", "critical"}

func (g *Goal) severity() string { return cmp.Or(g.Severity, "medium") }

// target is a Goal that was compiled.
type target struct {
	Goal
	is criterion
}

// compile checks the goal, and returns all that is wrong with it.
func (g Goal) compile() (target, flaws) {
	var f flaws
	if g.ID == "" {
		f.when(true, "id", "a goal has no id")
	} else if err := key.CheckID("id", g.ID); err != nil {
		f.when(true, "id", "%v", err)
	}
	n := len(g.Description)
	f.when(n > maxDescription, "description", "description: %d is over the limit of %d", n, maxDescription)
	f.when(!slices.Contains(severities, g.severity()), "severity", "unknown severity %q", short(g.Severity))
	f.when(g.MaxAge < 0, "max_age", "max_age is negative")
	f.when(g.Cooldown < 0, "cooldown", "cooldown is negative")
	return target{g, g.Condition.compile(&f)}, f
}

// Evaluate says whether the goal is met by what is known of a world at a time,
// which should not be before what was last done to the world. What cannot be known
// is unknown, never violated. A goal that is disabled, or whose selector cannot be
// read, is unknown too.
func (g Goal) Evaluate(w *World, at time.Time) Verdict {
	t, _ := g.compile()
	return t.evaluate(w.state(at))
}

func (t *target) evaluate(s state) Verdict {
	v := Verdict{Goal: t.ID, Status: Unknown, Severity: t.severity()}
	if t.Disabled {
		v.Reason = "the goal is disabled"
		return v
	}
	if t.is.bad != nil {
		v.Reason = "unknown: " + t.is.bad.Error()
		return v
	}
	r, err := s.read(t.is.place, t.MaxAge)
	if err != nil {
		v.Reason = err.Error()
		return v
	}
	v.At = r.at
	v.Status, v.Actual = t.is.judge(r.value)
	v.Actual = clone(v.Actual)
	switch shown := short(encoded(v.Actual)); v.Status {
	case Met:
		v.Reason = fmt.Sprintf("%s is %s: %s", t.Selector, t.words(), shown)
	case Violated:
		v.Reason = fmt.Sprintf("%s is %s, not %s", t.Selector, shown, t.words())
	default:
		v.Reason = t.Selector + " is null, which is no reading"
	}
	return v
}

// Goals is a set of at most 4,096 goals, which can be replaced while it is in use:
// readers see the old set or the new one, and never wait. What cannot be used
// replaces nothing. The zero Goals is an empty set.
type Goals struct {
	mu  sync.Mutex // held by Load
	set atomic.Pointer[goalSet]
}

// goalSet never changes.
type goalSet struct {
	targets []target
	sum     [32]byte // of the content that the goals came from
}

// NewGoals returns a set of goals, or an error that says all that is wrong with
// them, ids used twice included. The caller must not change what the goals refer to
// afterwards: their bounds, distributions and expected values.
func NewGoals(goals ...Goal) (*Goals, error) {
	var errs []error
	targets, err := compileGoals(goals, func(i int, _, problem string) {
		errs = append(errs, fmt.Errorf("goal %q: %s", short(goals[i].ID), problem))
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	gs := new(Goals)
	gs.set.Store(&goalSet{targets: targets})
	return gs, nil
}

// compileGoals calls wrong with each thing that is wrong with a field of the i-th
// goal. The error is that there are too many.
func compileGoals(goals []Goal, wrong func(i int, field, problem string)) ([]target, error) {
	if n := len(goals); n > maxGoals {
		return nil, &store.LimitError{Field: "goals", Limit: maxGoals, Got: n}
	}
	targets, seen := make([]target, len(goals)), make(map[string]bool)
	for i, g := range goals {
		t, f := g.compile()
		f.when(g.ID != "" && seen[g.ID], "id", "the id is that of another goal")
		for _, x := range f {
			wrong(i, x.field, x.problem)
		}
		targets[i], seen[g.ID] = t, true
	}
	return targets, nil
}

// All returns the goals in their order. The slice is the caller's. What the goals
// refer to is the set's, and must not be changed.
func (g *Goals) All() []Goal {
	var out []Goal
	for _, t := range g.current().targets {
		out = append(out, t.Goal)
	}
	return out
}

func (g *Goals) current() *goalSet { return cmp.Or(g.set.Load(), new(goalSet)) }

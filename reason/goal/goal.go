package goal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Goal is a condition that should always hold.
type Goal struct {
	ID          string `yaml:"id"`          // unique in a set, at most 256 bytes without control characters; required
	Description string `yaml:"description"` // for people, and for the worker that is to mend it, at most 8 KiB
	Severity    string `yaml:"severity"`    // low, medium, high or critical; "": medium
	Disabled    bool   `yaml:"-"`           // the goal is neither met nor violated, whatever the world is like
	// ActOnUnknown lets a [Controller] act on the goal also while it is unknown, once a reading of its domain was
	// tried. It is for goals whose reading is itself to be restored. The cooldown then follows every dispatch,
	// since nothing can be read anew.
	ActOnUnknown bool `yaml:"act_on_unknown"`
	Condition    `yaml:",inline"`
	// MaxAge is how old the reading may be. 0: as old as the world allows. A reading that is too old for the world is
	// unknown whatever MaxAge says.
	MaxAge time.Duration `yaml:"max_age"`
	// Cooldown is how long the goal is left alone after it was acted on with success. 0: Options.Cooldown.
	Cooldown time.Duration `yaml:"cooldown"`
}

// Verdict is how a goal stands.
type Verdict struct {
	Goal     string // its ID
	Status   Status
	Severity string // of the goal, medium if it has none
	// Actual is the value that was looked at as JSON (nil, bool, float64, string, []any, map[string]any; json.Number
	// for integers from 2^53), or the shares in it if those are what counts. Nil: there is none. It is the caller's.
	Actual any
	At     time.Time // when the value was read or reported; zero: there is none
	// Expected says that the value, or a part of it, is not read but assumed: it is the effect of a dispatch that is
	// under way, or has just succeeded.
	Expected bool
	Reason   string // why, in words
}

const (
	maxDescription = 8 << 10 // bytes
	maxGoals       = 1 << 12 // of a set
)

// severities are in the order of their rank.
var severities = []string{"low", "medium", "high", "critical"}

func (g *Goal) severity() string { return cmp.Or(g.Severity, "medium") }

// place returns the value that the goal is about. A goal whose selector cannot be read is about nothing.
func (g *Goal) place() place {
	p, _ := parseSelector(g.Selector)
	return p
}

func (g *Goal) check() flaws {
	var f flaws
	f.when(g.ID == "", "id", "a goal has no id")
	if err := key.CheckID("id", g.ID); err != nil {
		f.when(true, "id", "%v", err)
	}
	f.when(len(g.Description) > maxDescription, "description", "description: %d is over the limit of %d", len(g.Description), maxDescription)
	f.when(!slices.Contains(severities, g.severity()), "severity", "unknown severity %q", short(g.Severity))
	f.when(g.MaxAge < 0, "max_age", "max_age is negative")
	f.when(g.Cooldown < 0, "cooldown", "cooldown is negative")
	g.Condition.check(&f)
	return f
}

// Evaluate says whether the goal is met by what is known of a world at a time, which should not be before what was
// last done to the world. What cannot be known is unknown, never violated. A goal that is disabled, or whose selector
// cannot be read, is unknown too.
func (g Goal) Evaluate(w *World, at time.Time) Verdict { return g.evaluate(w.state(at)) }

func (g *Goal) evaluate(s state) Verdict {
	v := Verdict{Goal: g.ID, Status: Unknown, Severity: g.severity()}
	if g.Disabled {
		v.Reason = "the goal is disabled"
		return v
	}
	p, err := parseSelector(g.Selector)
	if err != nil {
		v.Reason = "unknown: " + err.Error()
		return v
	}
	r, err := s.read(p, g.MaxAge)
	if err != nil {
		v.Reason = err.Error()
		return v
	}
	v.At, v.Expected = r.at, r.expected
	v.Status, v.Actual = g.judge(r.value)
	v.Actual = clone(v.Actual)
	switch shown := short(encoded(v.Actual)); v.Status {
	case Met:
		v.Reason = fmt.Sprintf("%s is %s: %s", g.Selector, g.words(), shown)
	case Violated:
		v.Reason = fmt.Sprintf("%s is %s, not %s", g.Selector, shown, g.words())
	default:
		v.Reason = g.Selector + " is null, which is no reading"
	}
	if v.Expected {
		v.Reason += " (expected, not read)"
	}
	return v
}

// clone returns a goal that shares nothing with g.
func (g Goal) clone() Goal {
	for _, f := range []**float64{&g.Min, &g.Max, &g.Tolerance} {
		if *f != nil {
			*f = new(**f)
		}
	}
	if v, err := plain("expected value", g.Expected); err == nil {
		g.Expected = v
	}
	g.Distribution = maps.Clone(g.Distribution)
	return g
}

// Goals is a set of at most 4,096 goals, which can be replaced while it is in use: readers see the old set or the new
// one, and never wait. What cannot be used replaces nothing. The zero Goals is an empty set.
type Goals struct {
	mu  sync.Mutex // held by Load
	set atomic.Pointer[goalSet]
}

// goalSet never changes.
type goalSet struct {
	goals []Goal
	sum   [32]byte // of the content that the goals came from
}

// NewGoals returns a set of goals, or an error that says all that is wrong with them, ids used twice included.
func NewGoals(goals ...Goal) (*Goals, error) {
	if len(goals) > maxGoals {
		return nil, &store.LimitError{Field: "goals", Limit: maxGoals, Got: len(goals)}
	}
	var errs []error
	seen := make(map[string]bool)
	for i := range goals {
		f := goals[i].check()
		f.when(seen[goals[i].ID], "id", "the id is that of another goal")
		for _, x := range f {
			errs = append(errs, fmt.Errorf("goal %q: %s", short(goals[i].ID), x.problem))
		}
		seen[goals[i].ID] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	gs := new(Goals)
	gs.set.Store(&goalSet{goals: clones(goals)})
	return gs, nil
}

// All returns the goals in their order. The slice is the caller's.
func (g *Goals) All() []Goal { return clones(g.current().goals) }

func (g *Goals) current() *goalSet {
	if s := g.set.Load(); s != nil {
		return s
	}
	return &goalSet{}
}

func clones(goals []Goal) []Goal {
	out := make([]Goal, len(goals))
	for i := range goals {
		out[i] = goals[i].clone()
	}
	return out
}

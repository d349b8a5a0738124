package meta

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
)

// ErrInFlight: the same action is being done for the same goal.
var ErrInFlight = errors.New("action is in flight")

// RestError says that an action is to be left alone for now.
type RestError struct {
	Until time.Time
	Why   string
}

// Error says until when, and why.
func (e *RestError) Error() string {
	return fmt.Sprintf("action rests until %s: %s", e.Until.UTC().Format(time.RFC3339), e.Why)
}

// Action is something that is done for a goal.
type Action struct {
	Goal string
	Name string
	// Args are its arguments as JSON; those that differ in the order of
	// fields and in spacing only are the same. What is not JSON is compared
	// as it is.
	Args json.RawMessage
}

// ActionOptions configure [NewActions]. The zero value is ready.
type ActionOptions struct {
	Repeats int           // failures of one action within Window that make a loop; 0: 3
	Window  time.Duration // 0: 5 minutes
	Rest    time.Duration // after a loop, or two actions that undo each other; 0: 10 minutes
	Settle  time.Duration // after a success that changed something; 0: 90 seconds
	Lease   time.Duration // how long an action that does not end counts as in flight; 0: 10 minutes
}

// Actions watches what is done for goals: an action that is in flight is not
// begun again, one that fails over and over or alternates with another rests,
// and so does, for as long as its effects take to show, one that succeeded. It
// goes by the times that it is told, keeps nothing on disk, and forgets what no
// longer matters. It may be used concurrently.
type Actions struct {
	o  ActionOptions
	mu struct {
		sync.Mutex
		loop   *cooldown.Loop
		rest   cooldown.Cooldown
		why    map[cooldown.Key]string
		flying map[cooldown.Key]time.Time // until when its lease runs
		recent map[string][]done          // by goal, at most turnsKept
	}
}

// done is an action that has ended.
type done struct {
	action string
	at     time.Time
}

// turnsKept is how many actions of a goal are looked at for alternation: two
// actions, twice each.
const turnsKept = 4

// NewActions returns an Actions; opts may be nil. It returns an error for
// negative options.
func NewActions(opts *ActionOptions) (*Actions, error) {
	var o ActionOptions
	if opts != nil {
		o = *opts
	}
	o.Repeats = cmp.Or(o.Repeats, cooldown.DefaultMax)
	o.Window = cmp.Or(o.Window, cooldown.DefaultWindow)
	o.Rest = cmp.Or(o.Rest, 10*time.Minute)
	o.Settle = cmp.Or(o.Settle, 90*time.Second)
	o.Lease = cmp.Or(o.Lease, 10*time.Minute)
	if min(o.Rest, o.Settle, o.Lease) < 0 {
		return nil, fmt.Errorf("%w: a negative time", cooldown.ErrLoop)
	}
	loop, err := cooldown.NewLoop(o.Repeats, o.Window)
	if err != nil {
		return nil, err
	}
	a := &Actions{o: o}
	a.mu.loop = loop
	a.mu.why, a.mu.flying, a.mu.recent = map[cooldown.Key]string{}, map[cooldown.Key]time.Time{}, map[string][]done{}
	return a, nil
}

// Begin takes the lease of an action, which End gives back. It returns
// ErrInFlight or a *RestError if the action is not to be begun at that time.
func (a *Actions) Begin(x Action, at time.Time) error {
	k := x.key()
	a.mu.Lock()
	defer a.mu.Unlock()
	if until, ok := a.mu.flying[k]; ok && at.Before(until) {
		return ErrInFlight
	}
	if left := a.mu.rest.Remaining(k, at); left > 0 {
		return &RestError{at.Add(left), a.mu.why[k]}
	}
	delete(a.mu.why, k)
	a.mu.flying[k] = at.Add(a.o.Lease)
	return nil
}

// End says how an action ended that was begun, and whether it changed anything.
// An end without a beginning, or after the lease ran out, counts all the same.
func (a *Actions) End(x Action, success, changed bool, at time.Time) {
	k := x.key()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.mu.flying, k)
	switch {
	case !success:
		a.mu.loop.Fail(k, at)
		if a.mu.loop.Looping(k, at) {
			a.restLocked(k, at, a.o.Rest, fmt.Sprintf("it failed %d times in %v", a.mu.loop.Failures(k, at), a.o.Window))
		}
	case changed:
		a.restLocked(k, at, a.o.Settle, "its effects have to show first")
	}
	recent := append(a.mu.recent[k.Goal], done{k.Action, at})
	recent = recent[max(0, len(recent)-turnsKept):]
	a.mu.recent[k.Goal] = recent
	if other, ok := alternating(recent, a.o.Window); ok {
		why := "it alternates with another action of the goal"
		a.restLocked(k, at, a.o.Rest, why)
		a.restLocked(cooldown.Key{Goal: k.Goal, Action: other}, at, a.o.Rest, why)
		delete(a.mu.recent, k.Goal)
	}
	a.sweepLocked(at)
}

func (a *Actions) restLocked(k cooldown.Key, at time.Time, d time.Duration, why string) {
	if d < a.mu.rest.Remaining(k, at) {
		return
	}
	a.mu.rest.Start(k, at, d)
	a.mu.why[k] = why
}

// alternating reports whether the last four actions are two in turn within the
// window, and the one that did not end last.
func alternating(recent []done, window time.Duration) (other string, ok bool) {
	if len(recent) < turnsKept || recent[turnsKept-1].at.Sub(recent[0].at) > window {
		return "", false
	}
	x, y := recent[turnsKept-1].action, recent[turnsKept-2].action
	return y, x != y && recent[1].action == x && recent[0].action == y
}

// sweepLocked forgets what is over, once in a while.
func (a *Actions) sweepLocked(at time.Time) {
	if len(a.mu.flying)+len(a.mu.why)+len(a.mu.recent) < 1024 {
		return
	}
	for k, until := range a.mu.flying {
		if !at.Before(until) {
			delete(a.mu.flying, k)
		}
	}
	for k := range a.mu.why {
		if a.mu.rest.Remaining(k, at) == 0 {
			delete(a.mu.why, k)
		}
	}
	for goal, recent := range a.mu.recent {
		if at.Sub(slices.MaxFunc(recent, func(x, y done) int { return x.at.Compare(y.at) }).at) > a.o.Window {
			delete(a.mu.recent, goal)
		}
	}
}

// key is the action with its arguments in one form.
func (x Action) key() cooldown.Key {
	k := cooldown.Key{Goal: x.Goal, Action: x.Name}
	if len(x.Args) == 0 {
		return k
	}
	d := json.NewDecoder(bytes.NewReader(x.Args))
	d.UseNumber()
	var v any
	args := []byte(x.Args)
	if d.Decode(&v) == nil && !d.More() {
		if canonical, err := json.Marshal(v); err == nil { // fields in order
			args = canonical
		}
	}
	k.Action += "\x00" + string(args)
	return k
}

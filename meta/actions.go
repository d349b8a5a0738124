package meta

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
	lease time.Duration
	mu    struct {
		sync.Mutex
		guard  *cooldown.Guard
		flying map[cooldown.Key]time.Time // until when its lease runs
	}
}

// NewActions returns an Actions; opts may be nil. It returns an error for
// negative options.
func NewActions(opts *ActionOptions) (*Actions, error) {
	var o ActionOptions
	if opts != nil {
		o = *opts
	}
	guard, err := cooldown.NewGuard(cooldown.Limits{Max: o.Repeats, Window: o.Window, Rest: o.Rest, Settle: o.Settle})
	if err == nil && o.Lease < 0 {
		err = fmt.Errorf("%w: a negative time", cooldown.ErrLoop)
	}
	if err != nil {
		return nil, err
	}
	a := &Actions{lease: cmp.Or(o.Lease, 10*time.Minute)}
	a.mu.guard, a.mu.flying = guard, map[cooldown.Key]time.Time{}
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
	if until, why := a.mu.guard.Resting(k, at); !until.IsZero() {
		return &RestError{until, why}
	}
	a.mu.flying[k] = at.Add(a.lease)
	return nil
}

// End says how an action ended that was begun, and whether it changed anything.
// An end without a beginning, or after the lease ran out, counts all the same.
func (a *Actions) End(x Action, success, changed bool, at time.Time) {
	k := x.key()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.mu.flying, k)
	a.mu.guard.End(k, success, changed, at)
	if len(a.mu.flying) < 1024 {
		return
	}
	for k, until := range a.mu.flying {
		if !at.Before(until) {
			delete(a.mu.flying, k)
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

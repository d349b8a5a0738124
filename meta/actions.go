package meta

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
)

// actionLease is how long an action is in flight at most.
const actionLease = 10 * time.Minute

// Begin takes the lease of an action for a goal, and returns the function that
// ends it: whether the action succeeded, and whether it changed anything. Only
// the first call of end counts; one after the lease ran out counts, too.
//
// An action that is to be left alone has a nil end, and Begin says until when
// and why:
//
//   - it is in flight: its lease of 10 minutes runs
//   - it failed 3 times within 5 minutes: 10 minutes of rest
//   - it alternates with another action of the goal: two in turn, twice each
//     within 5 minutes: 10 minutes of rest for both
//   - it changed something 90 seconds ago or less: the effect has to show first
//
// Args are the action's arguments as JSON: those that differ in the order of
// fields and in spacing only are the same, and text that is no JSON is compared
// as it is. What one goal does never counts for another. Leases and rests are in
// memory only.
func (m *Monitor) Begin(
	goal, action string, args json.RawMessage,
) (end func(success, changed bool), until time.Time, why string) {
	k := cooldown.Key{Goal: goal, Action: cooldown.Action(action, args)}
	at := m.opts.Now()
	m.actions.Lock()
	defer m.actions.Unlock()
	if until, why = m.actions.guard.Begin(k, at, actionLease); why != "" {
		return nil, until, why
	}
	var once sync.Once
	return func(success, changed bool) {
		once.Do(func() {
			at := m.opts.Now()
			m.actions.Lock()
			defer m.actions.Unlock()
			m.actions.guard.End(k, success, changed, at)
		})
	}, until, ""
}

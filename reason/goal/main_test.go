package goal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// after returns the time so many seconds after noon.
func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// world returns a world whose domain "m" was read at noon.
func world(tb testing.TB, data any) *goal.World {
	tb.Helper()
	w := new(goal.World)
	require.NoError(tb, w.Set("m", goal.Snapshot{Data: data, At: noon}))
	return w
}

// value returns what is known of domain m under a path at a time; "unknown" if
// it is unknown.
func value(tb testing.TB, w *goal.World, path string, at time.Time) any {
	tb.Helper()
	r, err := w.State(at).Read("domains.m." + path)
	if err != nil {
		require.ErrorIs(tb, err, goal.ErrUnknown)
		return "unknown"
	}
	return r.Value
}

// sets and adds are changes of domain m.
func sets(path string, v any) goal.Change {
	return goal.Change{Effect: reason.Effect{Domain: "m", Path: path}, Op: "set", Value: v}
}

func adds(path string, v float64) goal.Change {
	return goal.Change{Effect: reason.Effect{Domain: "m", Path: path}, Op: "add", Value: v}
}

func alters(path string) goal.Change {
	return goal.Change{Effect: reason.Effect{Domain: "m", Path: path}, Op: ""}
}

// is is the condition that a value of domain m equals v.
func is(path string, v any) goal.Condition {
	return goal.Condition{Selector: "domains.m." + path, Operator: "eq", Expected: v}
}

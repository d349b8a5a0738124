package goap_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// after returns the time so many seconds after noon.
func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// world returns a world whose domain "m" was read at noon.
func world(tb testing.TB, data any) *goap.World {
	tb.Helper()
	w := goap.NewWorld(nil)
	require.NoError(tb, w.Set("m", goap.Snapshot{Data: data, At: noon}))
	return w
}

// value returns what is known of domain m under a path at a time; "unknown" if
// it is unknown.
func value(tb testing.TB, w *goap.World, path string, at time.Time) any {
	tb.Helper()
	r, err := w.State(at).Read("domains.m." + path)
	if err != nil {
		require.ErrorIs(tb, err, goap.ErrUnknown)
		return "unknown"
	}
	return r.Value
}

// sets and adds are changes of domain m.
func sets(path string, v any) goap.Change {
	return goap.Change{Effect: reason.Effect{Domain: "m", Path: path}, Op: goap.Sets, Value: v}
}

func adds(path string, v float64) goap.Change {
	return goap.Change{Effect: reason.Effect{Domain: "m", Path: path}, Op: goap.Adds, Value: v}
}

func alters(path string) goap.Change {
	return goap.Change{Effect: reason.Effect{Domain: "m", Path: path}, Op: goap.Alters}
}

// is is the condition that a value of domain m equals v.
func is(path string, v any) goap.Condition {
	return goap.Condition{Selector: "domains.m." + path, Test: goap.Invariant{Operator: goap.Eq, Expected: v}}
}

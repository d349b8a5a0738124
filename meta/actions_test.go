package meta_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/meta"
)

var dawn = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func actions(t require.TestingT, o *meta.ActionOptions) *meta.Actions {
	a, err := meta.NewActions(o)
	require.NoError(t, err)
	return a
}

func rests(t *testing.T, err error) *meta.RestError {
	t.Helper()
	rest, ok := errors.AsType[*meta.RestError](err)
	require.True(t, ok, "%v", err)
	return rest
}

func TestActionsLoop(t *testing.T) {
	t.Parallel()
	a := actions(t, nil)
	at := dawn
	for i := range 3 {
		args := json.RawMessage(`{"path": "a.go", "line": 1.0}`)
		if i == 1 {
			args = json.RawMessage(` {"line":1.0,"path":"a.go"}`)
		}
		x := meta.Action{Goal: "g", Name: "edit", Args: args}
		require.NoError(t, a.Begin(x, at))
		require.ErrorIs(t, a.Begin(x, at), meta.ErrInFlight)
		at = at.Add(time.Minute)
		a.End(x, false, false, at)
	}
	x := meta.Action{Goal: "g", Name: "edit", Args: []byte(`{"path":"a.go","line":1.0}`)}
	rest := rests(t, a.Begin(x, at))
	require.Equal(t, at.Add(10*time.Minute), rest.Until)
	require.Contains(t, rest.Error(), "came to nothing 3 times")
	x.Args = []byte(`{"path":"b.go","line":1.0}`)
	require.NoError(t, a.Begin(x, at), "other arguments, another action")
	x.Args, x.Goal = []byte(`{"path":"a.go","line":1.0}`), "h"
	require.NoError(t, a.Begin(x, at), "another goal")
	x.Goal = "g"
	require.NoError(t, a.Begin(x, rest.Until))
}

func TestActionsAlternate(t *testing.T) {
	t.Parallel()
	a := actions(t, nil)
	up, down := meta.Action{Goal: "g", Name: "scale up"}, meta.Action{Goal: "g", Name: "scale down"}
	at := dawn
	for i := range 4 {
		x := []meta.Action{up, down}[i%2]
		require.NoError(t, a.Begin(x, at))
		a.End(x, true, false, at)
		at = at.Add(time.Minute)
	}
	for _, x := range []meta.Action{up, down} {
		require.Contains(t, rests(t, a.Begin(x, at)).Why, "alternates")
	}
	require.NoError(t, a.Begin(meta.Action{Goal: "g", Name: "restart"}, at))

	a = actions(t, nil)
	for i := range 8 { // slowly: that is how a day goes
		x := []meta.Action{up, down}[i%2]
		require.NoError(t, a.Begin(x, at))
		a.End(x, true, false, at)
		at = at.Add(time.Hour)
	}
}

func TestActionsSettleAndLeases(t *testing.T) {
	t.Parallel()
	a := actions(t, nil)
	x := meta.Action{Goal: "g", Name: "deploy"}
	require.NoError(t, a.Begin(x, dawn))
	a.End(x, true, true, dawn)
	rest := rests(t, a.Begin(x, dawn.Add(89*time.Second)))
	require.Equal(t, dawn.Add(90*time.Second), rest.Until)
	require.NoError(t, a.Begin(x, rest.Until))
	require.ErrorIs(t, a.Begin(x, rest.Until.Add(10*time.Minute-1)), meta.ErrInFlight)
	require.NoError(t, a.Begin(x, rest.Until.Add(10*time.Minute)), "the lease ran out")
	_, err := meta.NewActions(&meta.ActionOptions{Repeats: -1})
	require.Error(t, err)
	_, err = meta.NewActions(&meta.ActionOptions{Rest: -1})
	require.Error(t, err)
}

// However actions begin and end, none is in flight twice, and nothing rests for
// longer than the longest rest.
func TestActionsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, at := actions(t, nil), dawn
		flying := map[string]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
			x := meta.Action{Goal: "g", Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")}
			until, flies := flying[x.Name]
			flies = flies && at.Before(until)
			if flies && rapid.Bool().Draw(t, "end") {
				a.End(x, rapid.Bool().Draw(t, "success"), rapid.Bool().Draw(t, "changed"), at)
				delete(flying, x.Name)
				continue
			}
			err := a.Begin(x, at)
			require.Equal(t, flies, errors.Is(err, meta.ErrInFlight))
			if err == nil {
				flying[x.Name] = at.Add(10 * time.Minute)
			} else if rest, ok := errors.AsType[*meta.RestError](err); ok {
				require.LessOrEqual(t, rest.Until.Sub(at), 10*time.Minute)
				require.NotEmpty(t, rest.Why)
			}
		}
	})
}

func ExampleActions() {
	a, _ := meta.NewActions(nil)
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	restart := meta.Action{Goal: "the service answers", Name: "restart", Args: []byte(`{"service": "api"}`)}
	for range 4 {
		if err := a.Begin(restart, at); err != nil {
			fmt.Println(err)
			break
		}
		at = at.Add(20 * time.Second)
		a.End(restart, false, false, at)
	}
	// Output:
	// action rests until 2026-11-21T06:11:00Z: it came to nothing 3 times in 5m0s
}

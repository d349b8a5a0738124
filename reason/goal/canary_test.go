package goal_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/veil/veiltest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// A token in any text that a host can give is neither in the ledger nor in a log or an
// error, wherever it stands.
func TestNoCanaryIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "ghp_7Qm2Zx9Lw4Rk8Vt3Nb6Yc1Hd5Jf0Gs"
		places := 0
		for kind := range 5 {
			for n := 0; ; n++ {
				aim, options, result := zero("x"), goal.Options{}, goal.Result{End: goal.Failed, Why: "it was cold"}
				aim.Description = "as few as can be"
				action := goal.Action{Name: "mend", Effects: []goal.Change{{Effect: reason.Effect{Domain: "m", Path: "data.x"}}}}
				data := map[string]any{"x": "1"}
				path, ok := "", false
				switch kind {
				case 0:
					path, ok = veiltest.Plant(&aim, n, "-", secret)
				case 1:
					path, ok = veiltest.Plant(&options, n, "-", secret)
				case 2:
					path, ok = veiltest.Plant(&result, n, "-", secret)
				case 3:
					path, ok = veiltest.Plant(&action, n, "-", secret)
				case 4:
					path, ok = veiltest.Plant(&data, n, "-", secret)
					aim.Condition = goal.Condition{Selector: "domains.m.data.x", Operator: "falsy"}
				}
				if !ok {
					break
				}
				places++
				var said bytes.Buffer
				options.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
				options.Outcome = func(o goal.Outcome) { fmt.Fprintf(&said, "%+v", o) }
				if options.Actions == nil {
					options.Actions = []goal.Action{action}
				}
				st := store.NewMem()
				fmt.Fprint(&said, tried(t, st, aim, &options, data, result))
				for e, err := range st.Scan(t.Context(), store.Range{}) {
					require.NoError(t, err)
					said.WriteString(e.Key + string(e.Value))
				}
				if strings.Contains(said.String(), secret) {
					i := strings.Index(said.String(), secret)
					t.Errorf("%s: …%q", path, said.String()[max(0, i-200):i+len(secret)])
				}
			}
		}
		require.Greater(t, places, 25)
	})
}

// A token in what a goal wants is not kept either, while its dispatch is under way and when
// that has ended, and the dispatch is judged all the same.
func TestNoCanaryOfAConditionIsKept(t *testing.T) {
	const secret = "ghp_7Qm2Zx9Lw4Rk8Vt3Nb6Yc1Hd5Jf0Gs"
	for name, aim := range map[string]goal.Condition{
		"expected": {Operator: "eq", Expected: secret}, "one of": {Operator: "in", Expected: []any{secret}},
		"pattern": {Pattern: secret}, "share": {Distribution: map[string]float64{secret: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMem()
				aim.Selector = "domains.m.data.x"
				b := newBench(t, st, nil, goal.Goal{ID: "x", Condition: aim})
				kept := func() {
					for e, err := range st.Scan(t.Context(), store.Range{}) {
						require.NoError(t, err)
						require.NotContains(t, string(e.Value), secret)
					}
				}
				b.do = func(context.Context, goal.Dispatch) (goal.Result, error) {
					kept()
					return goal.Result{End: goal.Succeeded}, nil
				}
				b.read(obj{"x": []any{"other"}})
				b.tick()
				kept()
				idle(2 * time.Minute)
				b.read(obj{"x": []any{"other"}})
				b.tick()
				require.Equal(t, []string{"goals/x/1-20000101000000 false"}, b.judged)
			})
		})
	}
}

// tried has a controller act twice on a goal.
func tried(t *testing.T, st store.Store, aim goal.Goal, o *goal.Options, data map[string]any, r goal.Result) error {
	gs, err := goal.NewGoals(aim)
	if err != nil {
		return err
	}
	d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}, skills: []string{"work"}}
	d.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return r, nil }
	w := new(goal.World)
	c, err := goal.New(t.Context(), st, w, gs, d, d, o)
	if err != nil {
		return err
	}
	defer c.Close()
	for range 2 {
		if err := w.Set("m", goal.Snapshot{Data: data, At: time.Now()}); err != nil {
			return err
		}
		if _, err := c.Tick(t.Context()); err != nil {
			return err
		}
		synctest.Wait()
		idle(time.Hour)
	}
	return nil
}

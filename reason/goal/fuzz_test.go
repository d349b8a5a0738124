package goal_test

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// FuzzLedger changes bytes of what is stored of dispatches: an open one, and outcomes.
// Whatever it is, a Controller opens or says what is damaged, and goes on with the other
// goals.
func FuzzLedger(f *testing.F) {
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	kept := store.NewMem()
	do := func(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
		switch d.Goal {
		case "x":
			return goal.Result{End: goal.Succeeded}, nil
		case "y":
			return goal.Result{End: goal.Failed, Why: "it fell over", Worker: "w"}, nil
		}
		<-ctx.Done()
		return goal.Result{}, ctx.Err()
	}
	open := func(ctx context.Context, st store.Store, d *desk) (*goal.World, *goal.Controller, error) {
		gs, err := goal.NewGoals(zero("x"), zero("y"), zero("z"))
		if err != nil {
			return nil, nil, err
		}
		w := new(goal.World)
		c, err := goal.New(ctx, st, w, gs, d, d, &goal.Options{Now: now, Grace: -1, Actions: []goal.Action{
			{Name: "mend", Skill: "mend", Effects: []goal.Change{sets("data.x", 0), sets("data.y", 0), sets("data.z", 0)}},
		}})
		return w, c, err
	}
	w, c, err := open(f.Context(), kept, &desk{skills: []string{"mend"}, do: do})
	require.NoError(f, err)
	for _, path := range []string{"x", "y", "x", "y", "z"} {
		at = at.Add(time.Hour)
		values := map[string]any{"x": 0.0, "y": 0.0, "z": 0.0}
		values[path] = 1.0
		require.NoError(f, w.Set("m", goal.Snapshot{Data: values, At: at}))
		_, err := c.Tick(f.Context())
		require.NoError(f, err)
		if path != "z" { // which is cut off
			require.NoError(f, c.Wait(f.Context()))
		}
	}
	c.Close()
	var entries []store.Entry
	for e, err := range kept.Scan(f.Context(), store.Range{}) {
		require.NoError(f, err)
		entries = append(entries, e)
	}
	require.Greater(f, len(entries), 3)
	for i := range entries {
		f.Add(byte(i), []byte{0, 1, 0xff}, []byte{})
		f.Add(byte(i), []byte{}, []byte{0xa0})
		f.Add(byte(i), []byte{0, 3, 0x1b, 0, 9, 0x20}, []byte{})
	}
	f.Fuzz(func(t *testing.T, which byte, flips, instead []byte) {
		st := store.NewMem()
		for i, e := range entries {
			v := slices.Clone(e.Value)
			if i == int(which)%len(entries) {
				for ; len(flips) >= 3 && len(v) > 0; flips = flips[3:] {
					v[int(binary.BigEndian.Uint16(flips))%len(v)] ^= flips[2]
				}
				if len(instead) > 0 {
					v = instead
				}
			}
			_, err := st.Commit(t.Context(), store.Op{Key: e.Key, Value: v})
			require.NoError(t, err)
		}
		w, c, err := open(t.Context(), st, &desk{skills: []string{"mend"}})
		if err != nil {
			return // it says what is damaged
		}
		defer c.Close()
		for range 2 {
			require.NoError(t, w.Set("m", goal.Snapshot{Data: map[string]any{"x": 1.0, "y": 1.0, "z": 1.0}, At: at}))
			r, _ := c.Tick(t.Context()) // what is damaged is an error
			require.LessOrEqual(t, len(r.Goals), 3)
			require.NoError(t, c.Wait(t.Context()))
		}
		for _, err := range c.Outcomes(t.Context()) {
			_ = err
		}
	})
}

package meta_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func chances(t testing.TB, m *meta.Monitor, session, goal, approach string) meta.Chances {
	t.Helper()
	c, err := m.Chances(t.Context(), session, goal, approach)
	require.NoError(t, err)
	return c
}

// Before anything is known, each failure makes another try less likely to
// deliver, as with a coin of unknown bias: ½, ¼, ⅙, less what was just seen.
func TestChancesBeforeData(t *testing.T) {
	t.Parallel()
	m := open(t, store.NewMem())
	c := chances(t, m, "s", "g", "a")
	require.Equal(t, 0.5, c.Again.Deliver)
	require.Zero(t, c.Again.Tries)
	last := c.Again.Deliver
	for i := range 12 {
		record(t, m, "s", meta.Outcome{Key: fmt.Sprint(i), Goal: "g", Approach: "a"})
		c = chances(t, m, "s", "g", "a")
		require.Less(t, c.Again.Deliver, last)
		require.GreaterOrEqual(t, c.Other.Deliver, c.Again.Deliver)
		require.Equal(t, i+1, c.Again.Failures)
		last = c.Again.Deliver
	}
	record(t, m, "s", meta.Outcome{Key: "ok", Goal: "g", Approach: "b", Success: true})
	require.Zero(t, chances(t, m, "s", "g", "a").Again.Failures, "the goal was delivered")
}

// One approach is dead after a failure, another mends it: that is learned over
// sessions, kept, and becomes advice.
func TestPivotIsLearned(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	for i := range 20 {
		s := fmt.Sprint("session ", i)
		record(t, m, s,
			meta.Outcome{Key: "1", Goal: s, Approach: "Try  again"},
			meta.Outcome{Key: "2", Goal: s, Approach: "try again "},
			meta.Outcome{Key: "3", Goal: s, Approach: "read the error", Success: true})
	}
	require.NoError(t, m.Close())
	m = open(t, st)
	record(t, m, "new", meta.Outcome{Key: "1", Goal: "g", Approach: "try again"})
	a := assess(t, m, "new")
	require.Equal(t, "pivot_now", a.Recommendation)
	require.Equal(t, 1, a.Same, "the rule of three is not needed")
	require.Equal(t, 20, a.Chances.Again.Tries)
	require.Zero(t, a.Chances.Again.Successes)
	require.Contains(t, strings.Join(a.Evidence, "\n"), "0 of 20 tries did")
	require.Equal(t, a.Chances, chances(t, m, "new", "g", "TRY AGAIN"))

	record(t, m, "new", meta.Outcome{Key: "2", Goal: "g", Approach: "try again"})
	c := chances(t, m, "new", "g", "try again")
	require.Equal(t, 20, c.Other.Tries)
	require.Greater(t, c.Other.Deliver, 0.8)
}

// A session that is read back estimates as it did before.
func TestChancesSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		st := store.NewMem()
		m, err := meta.Open(t.Context(), st, nil)
		require.NoError(rt, err)
		for i := range rapid.IntRange(1, 40).Draw(rt, "n") {
			require.NoError(rt, m.Record(t.Context(), meta.Outcome{
				Key: fmt.Sprint(i), Session: "s",
				Goal:     rapid.SampledFrom([]string{"", "g", "h"}).Draw(rt, "goal"),
				Approach: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "approach"),
				Success:  rapid.IntRange(0, 3).Draw(rt, "success") == 0,
			}))
		}
		want := assess(t, m, "s")
		require.NoError(rt, m.Close())
		m, err = meta.Open(t.Context(), st, nil)
		require.NoError(rt, err)
		defer m.Close()
		require.Equal(rt, want, assess(t, m, "s"))
		for _, c := range []meta.Chance{want.Chances.Again, want.Chances.Other} {
			require.True(rt, 0 <= c.Low && c.Low <= c.Deliver && c.Deliver <= c.High && c.High <= 1, "%+v", c)
			require.LessOrEqual(rt, c.Successes, c.Tries)
		}
	})
}

// Damaged odds are none, and are written anew.
func TestDamagedOdds(t *testing.T) {
	t.Parallel()
	k := key.Join("meta", "odds", "all")
	for _, counts := range [][]byte{nil, {1}, make([]byte, 33), append([]byte{0, 1}, make([]byte, 30)...)} {
		st := store.NewMem()
		v, err := codec.Encode(k, map[int][]byte{1: counts})
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
		m := open(t, st)
		require.Equal(t, open(t, store.NewMem()).Resonance(), m.Resonance())
		record(t, m, "s", meta.Outcome{Goal: "g", Approach: "a"})
		require.NoError(t, m.Close())
		require.Equal(t, 1, assess(t, open(t, st), "s").Total)
	}
}

// Chances are what a pivot goes by: learned over sessions, not a rule.
func ExampleMonitor_Chances() {
	ctx := context.Background()
	m, _ := meta.Open(ctx, store.NewMem(), nil)
	defer m.Close()
	for i := range 20 {
		session, next := fmt.Sprint(i), meta.Outcome{Approach: "try again"}
		if i%2 == 0 {
			next = meta.Outcome{Approach: "read the log", Success: true}
		}
		for key, o := range []meta.Outcome{{Approach: "try again"}, next} {
			o.Key, o.Session, o.Goal = fmt.Sprint(key), session, "mend the build"
			if err := m.Record(ctx, o); err != nil {
				fmt.Println(err)
			}
		}
	}
	_ = m.Record(ctx, meta.Outcome{Key: "1", Session: "new", Goal: "mend the tests", Approach: "try again"})
	c, _ := m.Chances(ctx, "new", "mend the tests", "try again")
	for what, c := range map[string]meta.Chance{"another try": c.Again, "another way": c.Other} {
		fmt.Printf("%s: %.2f (%.2f to %.2f), as %d of %d did\n", what, c.Deliver, c.Low, c.High, c.Successes, c.Tries)
	}
	// Unordered output:
	// another try: 0.00 (0.00 to 0.03), as 0 of 10 did
	// another way: 0.73 (0.54 to 0.92), as 10 of 10 did
}

// A failure that is no longer among the outcomes that are kept counts in no Chances, whether or
// not the Monitor was opened since.
func TestChancesOfLongAgo(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	m := open(t, st)
	record(t, m, "s", meta.Outcome{Key: "first", Goal: "mend it"})
	for i := range 255 {
		record(t, m, "s", meta.Outcome{Key: fmt.Sprint(i), Goal: "ship it", Success: true})
	}
	for want := 1; want >= 0; want-- {
		require.NoError(t, m.Flush(t.Context()))
		for _, m := range []*meta.Monitor{m, open(t, st)} {
			c, err := m.Chances(t.Context(), "s", "mend it", "")
			require.NoError(t, err)
			require.Equal(t, want, c.Again.Failures)
		}
		record(t, m, "s", meta.Outcome{Key: "last", Goal: "ship it", Success: true})
	}
}

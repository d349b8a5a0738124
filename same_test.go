package arc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/store"
)

// unsure is a store that says of some commits that their outcome is unknown. They took place.
type unsure struct {
	*store.Mem
	of func(ops []store.Op) bool
}

func (u *unsure) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := u.Mem.Commit(ctx, ops...)
	if err == nil && u.of(ops) {
		return 0, errors.New("outcome unknown: the connection was reset")
	}
	return rev, err
}

// TestRenewalOfUnknownOutcome has the server restart while a lease is renewed: the run goes on, and its
// attempt is made once.
// A clock that stands, as a test's does, gives a later Agent on the store ids anew.
func TestAStandingClockGivesEachRunAnID(t *testing.T) {
	t.Parallel()
	st, c := store.NewMem(), newClock()
	seen := make(map[string]bool)
	for range 3 {
		a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{Now: c.Now, Seed: 1})
		require.NoError(t, err)
		for range 3 {
			r := run(t, a, mend("the cache"))
			require.Equal(t, arc.Delivered, r.Status)
			seen[r.ID] = true
		}
		require.NoError(t, a.Close())
	}
	require.Len(t, seen, 9)
}

func TestRenewalOfUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made, unknown atomic.Int32
		h := (&script{}).host()
		h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
			made.Add(1)
			select {
			case <-time.After(time.Minute):
				return done(`"ok"`), nil
			case <-ctx.Done():
				return act.Result{}, context.Cause(ctx)
			}
		})
		st := &unsure{store.NewMem(), func(ops []store.Op) bool {
			return len(ops) == 1 && strings.HasPrefix(ops[0].Key, "arc/lease") && unknown.Add(1)%3 == 1
		}}
		a := replica(t, st, "a", h, arc.Options{})
		r, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend it"})
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.EqualValues(t, 1, made.Load())
		require.Positive(t, unknown.Load())
		require.Equal(t, 0, leases(t, st.Mem))
	})
}

// TestReplicasOfOneName has two Agents open by one name, by mistake: the one that was opened last has
// the runs, and no two take them from one another again and again.
func TestReplicasOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		var made atomic.Int32
		h := (&script{}).host()
		h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
			made.Add(1)
			select {
			case <-time.After(time.Minute):
				return done(`"ok"`), nil
			case <-ctx.Done():
				return act.Result{}, context.Cause(ctx)
			}
		})
		var said [2]bytes.Buffer
		logging := func(i int) arc.Options { return arc.Options{Logger: slog.New(slog.NewTextHandler(&said[i], nil))} }
		a := replica(t, mem, "a", h, logging(0))
		idle(5 * time.Minute)
		require.Empty(t, said[0].String())
		again := replica(t, mem, "a", h, logging(1))
		_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend it"})
		require.ErrorIs(t, err, arc.ErrRunning)
		idle(5 * time.Minute)
		require.Equal(t, arc.Delivered, status(t, again, "run"))
		require.EqualValues(t, 2, made.Load())
		require.Equal(t, 0, leases(t, mem))
		require.NoError(t, errors.Join(a.Close(), again.Close()))
		for i := range said {
			require.Equal(t, 1, strings.Count(said[i].String(), "another Agent is open under this name"), i)
		}
	})
}

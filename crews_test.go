package arc_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/store"
)

// TestReplicasWithOtherWorkers has a plan that was learned with one crew fire at a replica with another,
// and a run go on there whose worker it does not have.
func TestReplicasWithOtherWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		away := &wayward{Mem: mem}
		h := (&script{}).host("ann")
		a := replica(t, away, "a", h, arc.Options{Grace: -1})
		b := replica(t, mem, "b", (&script{}).host("ben"), arc.Options{})
		o := arc.Objective{Text: "mend the cache", Situation: situation}
		for range 2 {
			require.Equal(t, arc.Delivered, run(t, a, o).Status)
		}
		idle(time.Second)
		r := run(t, b, o)
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 1, r.Fired)
		require.Equal(t, "ben", r.Deliveries[0].Worker)
		r = run(t, a, o)
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 1, r.Fired)
		require.Equal(t, "ann", r.Deliveries[0].Worker)

		begun := make(chan struct{})
		h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
			close(begun)
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		})
		require.NoError(t, a.SetWorkers(h.Workers))
		go func() { _, _ = a.Run(t.Context(), arc.Objective{ID: "run", Text: "paint the door"}) }()
		<-begun
		away.kill()
		idle(time.Minute)
		require.Equal(t, arc.Delivered, status(t, b, "run"))
		require.Equal(t, 0, leases(t, mem))
	})
}

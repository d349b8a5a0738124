package goal_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

type ciCatalog struct{}

func (ciCatalog) Skills() []string { return nil }
func (ciCatalog) Effects() []reason.Effect {
	return []reason.Effect{{Domain: "ci", Path: "data.failing"}}
}

type calls struct{ run func() }

func (r calls) Run(context.Context, goal.Dispatch) (goal.Result, error) {
	r.run()
	return goal.Result{End: goal.Failed, Why: "no"}, nil
}
func (r calls) Resume(context.Context, goal.Dispatch) (goal.Result, error) {
	return goal.Result{}, store.ErrNotFound
}
func (r calls) Judge(context.Context, string, bool) error { return nil }

type hangingStore struct {
	store.Store
	hangs atomic.Bool
	end   chan struct{}
}

func (h *hangingStore) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if h.hangs.Load() {
		<-h.end
	}
	return h.Store.Commit(ctx, ops...)
}

func failing(t *testing.T, st store.Store, r goal.Runner, o *goal.Options) *goal.Controller {
	t.Helper()
	var w goal.World
	now := time.Now()
	require.NoError(t, w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: now, MaxAge: -1}))
	none := 0.0
	gs, err := goal.NewGoals(goal.Goal{ID: "green", Condition: goal.Condition{Selector: "domains.ci.data.failing", Max: &none}})
	require.NoError(t, err)
	c, err := goal.New(t.Context(), st, &w, gs, ciCatalog{}, r, o)
	require.NoError(t, err)
	return c
}

// Close returns in time although the store hangs.
func TestCloseWithAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &hangingStore{Store: store.NewMem(), end: make(chan struct{})}
		c := failing(t, st, calls{func() { st.hangs.Store(true) }}, &goal.Options{Grace: time.Second})
		_, err := c.Tick(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, st.hangs.Load())
		closed := make(chan struct{})
		go func() { c.Close(); close(closed) }()
		<-time.After(time.Minute)
		select {
		case <-closed:
		default:
			t.Error("Close has not returned a minute after a Grace of a second")
		}
		close(st.end)
		<-closed
	})
}

// A clock of the host's that panics does no harm, as elsewhere.
func TestClockThatPanics(t *testing.T) {
	var wild atomic.Bool
	c := failing(t, store.NewMem(), calls{func() {}}, &goal.Options{Now: func() time.Time {
		if wild.Load() {
			panic("boom")
		}
		return time.Now()
	}})
	defer c.Close()
	wild.Store(true)
	require.NotPanics(t, func() { _, _ = c.Tick(t.Context()) })
}

type wildError struct{}

func (wildError) Error() string { panic("boom") }

// The error of a host's own reading does no harm, as that of a collector does none. (It is asked for its
// text with the world's lock held.)
func TestErrorOfASnapshot(t *testing.T) {
	var w goal.World
	now := time.Now()
	require.NoError(t, w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: now, MaxAge: time.Second}))
	require.NoError(t, w.Set("ci", goal.Snapshot{At: now, Err: wildError{}}))
	none := 0.0
	g := goal.Goal{ID: "green", Condition: goal.Condition{Selector: "domains.ci.data.failing", Max: &none}}
	require.NotPanics(t, func() { require.Equal(t, goal.Unknown, g.Evaluate(&w, now.Add(time.Minute)).Status) })
}

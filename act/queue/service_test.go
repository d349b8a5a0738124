package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

func serve(ctx context.Context, dir string, host arc.Host, more ...queue.Draft) error {
	st, err := badger.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer st.Close()
	agent, err := arc.New(ctx, st, host, nil)
	if err != nil {
		return err
	}
	defer agent.Close()
	acme := store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix()))
	jobs, err := queue.Open(ctx, acme, nil)
	if err != nil {
		return err
	}
	for _, d := range more {
		if _, _, err := jobs.Add(ctx, d); err != nil {
			return err
		}
	}
	context.AfterFunc(ctx, func() { _ = agent.Shutdown(context.Background()) }) // else a run that waits for an outage holds it
	return jobs.Dispatch(ctx, 4, queue.Run(agent, nil))                         // until ctx ends
}

// again has jobs tried again whose runs an outage has blocked, as docs/recipes.md has it.
func again(ctx context.Context, jobs *queue.Queue) error {
	for j, err := range jobs.List(ctx, "acme", queue.Blocked) {
		if err == nil && strings.HasPrefix(j.Summary, string(arc.Outage)) {
			_, err = jobs.Update(ctx, j.ID, func(j *queue.Job) error { j.State = queue.Pending; return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestJobsAfterAnOutage(t *testing.T) {
	away, ctx := true, t.Context()
	work := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		if away {
			return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
		}
		return &act.Result{Text: "done"}, nil
	})
	host := arc.Host{Workers: []act.Worker{{Name: "w", Executor: work, Gates: []act.Gate{act.NoGate}}}}
	st := store.NewMem()
	agent, err := arc.New(ctx, st, host, &arc.Options{Patience: time.Nanosecond})
	require.NoError(t, err)
	defer agent.Close()
	jobs, err := queue.Open(ctx, store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix())), nil)
	require.NoError(t, err)
	_, _, err = jobs.Add(ctx, queue.Draft{Subject: "do it", Scope: "acme/anna"})
	require.NoError(t, err)
	for _, want := range []queue.State{queue.Blocked, queue.Completed} {
		j, err := jobs.Claim(ctx)
		require.NoError(t, err)
		followups, err := queue.Run(agent, nil)(ctx, &j)
		require.NoError(t, jobs.End(ctx, j, err, followups...))
		j, err = jobs.Get(ctx, j.ID)
		require.NoError(t, err)
		require.Equal(t, want, j.State, j.Summary)
		away = false
		require.NoError(t, again(ctx, jobs))
	}
}

// A service that is stopped does not wait for runs that wait for an outage.
func TestServiceStopsInAnOutage(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	away := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		defer stop()
		return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
	})
	host := arc.Host{Workers: []act.Worker{{Name: "w", Executor: away, Gates: []act.Gate{act.NoGate}}}}
	began := time.Now()
	require.NoError(t, serve(ctx, t.TempDir(), host, queue.Draft{Subject: "do it", Scope: "acme/anna"}))
	require.Less(t, time.Since(began), 20*time.Second, "Dispatch alone waits for 30 s")
}

package queue_test

import (
	"context"
	"errors"
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

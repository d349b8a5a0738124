package queue_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	context.AfterFunc(ctx, func() { stop(agent, st) })           // else a run that waits for an outage holds it
	return jobs.Dispatch(ctx, 4, queue.AgentHandler(agent, nil)) // until ctx ends
}

// stop has runs reach their next commit, which may take 20 s, and cancels those that do not. 5 s later nothing
// waits any more for a store that is away: a payment whose end could not be kept is asked for afterwards.
func stop(agent *arc.Agent, st store.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if agent.Shutdown(ctx) != nil {
		time.AfterFunc(5*time.Second, func() { _ = st.Close() })
	}
}

// again has jobs tried again whose runs an outage has blocked, see docs/recipes.md.
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

// waits says for how long what has waited longest, see docs/recipes.md.
func waits(ctx context.Context, agent *arc.Agent, jobs *queue.Queue, tell func(map[string]time.Duration)) error {
	oldest := map[string]time.Duration{}
	since := func(what string, at time.Time) { oldest[what] = max(oldest[what], time.Since(at)) }
	for r, err := range agent.In("acme").Unfinished(ctx) {
		if err != nil {
			return err
		}
		for _, p := range r.Approvals {
			since("approval", p.Deadline.Add(-24*time.Hour)) // asked Options.ApprovalTimeout before
		}
	}
	for j, err := range jobs.List(ctx, "acme", queue.Pending, queue.Blocked) {
		if err != nil {
			return err
		}
		at := j.Ended // its last try
		if j.State == queue.Pending {
			at = cmp.Or(j.At, j.Created) // one to come is 0
		}
		since("job "+string(j.State), at)
	}
	tell(oldest)
	return nil
}

func TestHowLongSomethingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, ctx := store.NewMem(), t.Context()
		pay := act.Worker{Name: "pay", Mode: act.Gated, Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(context.Context, *act.Call) (*act.Result, error) { return &act.Result{Text: "paid"}, nil })}
		agent, err := arc.New(ctx, st, arc.Host{Workers: []act.Worker{pay}}, nil)
		require.NoError(t, err)
		defer agent.Close()
		jobs, err := queue.Open(ctx, store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix())), nil)
		require.NoError(t, err)
		_, _, err = jobs.Add(ctx, queue.Draft{Subject: "pay", Scope: "acme/eu"})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, err = agent.Run(ctx, arc.Objective{Scope: "acme/eu", Text: "pay"})
		require.NoError(t, err)
		_, _, err = jobs.Add(ctx, queue.Draft{Subject: "pay later", Scope: "acme/eu", At: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, waits(ctx, agent, jobs, func(oldest map[string]time.Duration) {
			require.Equal(t, map[string]time.Duration{"approval": time.Minute, "job pending": 2 * time.Minute}, oldest)
		}))
	})
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
		followups, err := queue.AgentHandler(agent, nil)(ctx, &j)
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

// remote is a store whose server may be away: then a call waits for its patience, or until it is closed.
type remote struct {
	store.Store
	away   atomic.Bool
	closed chan struct{}
}

func (r *remote) wait(ctx context.Context) error {
	if !r.away.Load() {
		return nil
	}
	select {
	case <-r.closed:
		return store.ErrClosed
	case <-time.After(30 * time.Second):
		return errors.New("no answer")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *remote) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := r.wait(ctx); err != nil {
		return store.Entry{}, err
	}
	return r.Store.Get(ctx, key)
}

func (r *remote) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := r.wait(ctx); err != nil {
		return 0, err
	}
	return r.Store.Commit(ctx, ops...)
}

func (r *remote) Close() error { close(r.closed); return nil }

// A store that is away does not hold a process that has to stop, and the payments whose ends it could not keep
// are asked for.
func TestStopWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int32
		pay := act.ExecutorFunc(func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			paid.Add(1)
			time.Sleep(10 * time.Second)
			return &act.Result{Text: "paid"}, nil
		})
		host := arc.Host{Workers: []act.Worker{{Name: "w", Irreversible: true, Executor: pay, Gates: []act.Gate{act.NoGate}}}}
		mem := store.NewMem()
		st := &remote{Store: mem, closed: make(chan struct{})}
		agent, err := arc.New(t.Context(), st, host, nil)
		require.NoError(t, err)
		jobs, err := queue.Open(t.Context(), store.NewGroup(store.Sub(st, store.Scope("acme").TenantPrefix())), nil)
		require.NoError(t, err)
		for n := range 4 {
			_, _, err = jobs.Add(t.Context(), queue.Draft{Subject: fmt.Sprint("pay ", n), Scope: "acme"})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		context.AfterFunc(ctx, func() { stop(agent, st) })
		ended := make(chan error)
		go func() { ended <- jobs.Dispatch(ctx, 4, queue.AgentHandler(agent, nil)) }()
		time.Sleep(5 * time.Second)
		st.away.Store(true)
		began := time.Now()
		cancel()
		<-ended
		require.NoError(t, agent.Close())
		require.LessOrEqual(t, time.Since(began), 26*time.Second)

		agent, err = arc.New(t.Context(), mem, host, &arc.Options{Scope: "acme"})
		require.NoError(t, err)
		defer agent.Close()
		time.Sleep(time.Minute)
		asked := 0
		for r, err := range agent.In("acme").Unfinished(t.Context()) {
			require.NoError(t, err)
			for _, a := range r.Approvals {
				require.Contains(t, strings.Join(a.Why, " "), "may have made this call already")
				asked++
			}
		}
		require.Equal(t, []int{4, 4}, []int{int(paid.Load()), asked})
	})
}

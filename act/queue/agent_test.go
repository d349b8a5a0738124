package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Nobody has said to try a blocked run again whose job's lease ran out, and a job that is added once more after its Key
// was swept has a run of its own.
func TestAgentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, worker := store.NewMem(), &arctest.Worker{Turns: []arctest.Turn{{Err: &reason.Error{Class: reason.Permission, Err: errors.New("no account")}}, {}}}
		paid := worker.As("worker")
		paid.Executor = act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
			r, err := worker.Execute(ctx, c)
			if err == nil {
				r.Usage = &reason.Usage{Calls: 1, Input: 9}
			}
			return r, err
		})
		a, err := arc.New(t.Context(), st, arc.Host{Workers: []act.Worker{paid}}, nil)
		require.NoError(t, err)
		q, err := queue.Open(t.Context(), store.NewGroup(store.Sub(st, "t/_/")), nil)
		require.NoError(t, err)
		attempt := func() queue.Job {
			j, err := q.Claim(t.Context())
			require.NoError(t, err)
			_, err = queue.AgentHandler(a, nil)(t.Context(), &j)
			require.NoError(t, err)
			return j
		}
		defer a.Close()
		add(t, q, queue.Draft{Key: "k"})
		require.Equal(t, queue.Blocked, attempt().State)
		time.Sleep(time.Minute)
		j := attempt()
		require.Equal(t, []any{queue.Blocked, 1}, []any{j.State, len(worker.Calls())})
		require.NoError(t, q.End(t.Context(), j, nil))
		_, err = q.Update(t.Context(), j.ID, func(j *queue.Job) error { j.State = queue.Pending; return nil })
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, q.End(t.Context(), attempt(), nil))
		require.Len(t, worker.Calls(), 2)

		time.Sleep(time.Minute)
		change := func(f func(*queue.Job)) (used *reason.Usage) {
			_, err = q.Update(t.Context(), j.ID, func(j *queue.Job) error { j.State = queue.Pending; f(j); return nil })
			require.NoError(t, err)
			again := attempt()
			require.NoError(t, q.End(t.Context(), again, nil))
			return again.Usage
		}
		change(func(*queue.Job) {})
		require.Len(t, worker.Calls(), 3, "it was done, and a person says to do it again")
		used := change(func(j *queue.Job) { j.Description = "and that" })
		require.Equal(t, 1, used.Calls, "of the run that it has now")
		require.Len(t, worker.Calls(), 4)
		time.Sleep(time.Minute)
		_, err = q.Sweep(t.Context(), time.Now())
		require.NoError(t, err)
		add(t, q, queue.Draft{Key: "k"})
		require.NoError(t, q.End(t.Context(), attempt(), nil))
		require.Len(t, worker.Calls(), 5)
	})
}

// A job that an Agent works on is delivered, asks, is blocked and tried again, and is left to whoever has its run.
func TestAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var account string
		enter, leave, spent, doomed := make(chan bool), make(chan bool), 0.0, 0
		work := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			usage := &reason.Usage{Calls: 1, CostUSD: new(1 + spent)}
			switch subject := strings.Fields(c.Task.Objective)[0]; {
			case subject == "doom" && len(c.Answers) > 0:
				doomed, spent = doomed+1, spent+*usage.CostUSD
				return nil, &reason.Error{Class: reason.Permission, Err: errors.New("no such account"), Usage: usage}
			case (subject == "ask" || subject == "doom") && len(c.Answers) == 0:
				return nil, &act.PendingError{Questions: []string{"Which account?"}}
			case subject == "lock" && account == "":
				spent += *usage.CostUSD
				return nil, &reason.Error{Class: reason.Permission, Err: errors.New("no account"), Usage: usage}
			case subject == "slow":
				mu.Unlock()
				enter <- true
				<-leave
				mu.Lock()
			}
			spent += *usage.CostUSD
			return &act.Result{Text: "done\nall of it", Usage: usage}, nil
		})
		st := store.NewMem()
		a, err := arc.New(t.Context(), st, arc.Host{Workers: []act.Worker{
			{Name: "worker", Executor: work, Gates: []act.Gate{act.NoGate}},
		}}, nil)
		require.NoError(t, err)
		q, err := queue.Open(t.Context(), store.NewGroup(store.Sub(st, "t/_/")), nil)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- q.Dispatch(ctx, 2, queue.AgentHandler(a, nil)) }()
		defer func() {
			stop()
			require.NoError(t, <-done)
			require.NoError(t, a.Close())
		}()
		is := func(j queue.Job, want queue.State, summary string) queue.Job {
			t.Helper()
			j, err := q.Get(t.Context(), j.ID)
			require.NoError(t, err)
			require.Equal(t, []any{want, summary}, []any{j.State, j.Summary})
			return j
		}

		plain, asks := add(t, q, queue.Draft{Subject: "plain"}), add(t, q, queue.Draft{Subject: "ask for it"})
		doom := add(t, q, queue.Draft{Subject: "doom"})
		locked := add(t, q, queue.Draft{Subject: "lock it"})
		time.Sleep(time.Minute + time.Second)
		is(plain, queue.Completed, "done\nall of it")
		for c, err := range q.Cycles(t.Context(), "", time.Time{}) {
			require.NoError(t, err)
			require.NotContains(t, c.Summary, "\n", "a line of a log")
		}
		require.Zero(t, is(asks, queue.Pending, "Which account?").Attempts)
		before := is(locked, queue.Blocked, "refused: permission: no account")

		mu.Lock()
		account = "savings"
		mu.Unlock()
		_, err = q.Update(t.Context(), locked.ID, func(j *queue.Job) error { j.State = queue.Pending; return nil })
		require.NoError(t, err)
		for r := range a.In("").Runs(t.Context()) {
			if r.Status == arc.Asking {
				_, err := a.In("").Answer(t.Context(), r.ID, "", "savings")
				require.NoError(t, err)
			}
		}
		time.Sleep(time.Hour)
		is(asks, queue.Completed, "done\nall of it")
		is(doom, queue.Blocked, "refused: permission: no such account")
		require.Equal(t, 1, doomed, "its run was blocked by itself: nobody has said to try again")
		after := is(locked, queue.Completed, "done\nall of it")
		total := 0.0
		for c := range q.Cycles(t.Context(), "", time.Time{}) {
			if c.Usage != nil {
				total += *c.Usage.CostUSD
			}
		}
		require.InDelta(t, spent, total, 1e-9, "the usage of each attempt is told once")
		require.Greater(t, *after.Usage.CostUSD, *before.Usage.CostUSD)

		slow := add(t, q, queue.Draft{Subject: "slow"})
		<-enter
		_, err = q.Update(t.Context(), slow.ID, func(j *queue.Job) error { j.State = queue.Parked; return nil })
		require.NoError(t, err) // its holder has lost it, and the run goes on
		_, err = q.Update(t.Context(), slow.ID, func(j *queue.Job) error { j.State = queue.Pending; return nil })
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Zero(t, is(slow, queue.Pending, "").Attempts, "another has its run")
		leave <- true
		time.Sleep(time.Minute)
		is(slow, queue.Completed, "done\nall of it")
	})
}

// What a run has paid it does not pay again because a person mends the text of its job, which the run is told, or
// because the Agent's scope is another by now: a job without a Scope is its tenant's. Other Input is another job.
func TestAgentGoesOnWithItsRun(t *testing.T) {
	ctx, st, paid, told := t.Context(), store.NewMem(), 0, ""
	gate := act.GateFunc(func(_ context.Context, c *act.Call, _ *act.Result) (act.Verdict, error) {
		if len(c.Answers) == 0 {
			return act.Verdict{}, &reason.Error{Class: reason.Permission, Err: errors.New("the books do not show it yet")}
		}
		told = c.Answers[0].Text
		return act.Verdict{Pass: true}, nil
	})
	pay := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		paid++
		return &act.Result{Text: "paid"}, nil
	})
	agent := func(scope store.Scope) *arc.Agent {
		a, err := arc.New(ctx, st, arc.Host{Workers: []act.Worker{
			{Name: "bank", Executor: pay, Irreversible: true, Gates: []act.Gate{gate}},
		}}, &arc.Options{Scope: scope})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	for i, tenant := range []store.Scope{"fin", "beta", "_"} {
		q, err := queue.Open(ctx, store.NewGroup(store.Sub(st, tenant.TenantPrefix())), nil)
		require.NoError(t, err)
		for range 2 {
			before := paid
			j := add(t, q, queue.Draft{Subject: "Pay teh invoice", Input: []byte(`{"usd":5}`)})
			attempt := func(scope store.Scope) queue.Job {
				j, err := q.Claim(ctx)
				require.NoError(t, err)
				_, err = queue.AgentHandler(agent(scope), nil)(ctx, &j)
				require.NoError(t, err)
				require.NoError(t, q.End(ctx, j, nil))
				j, err = q.Get(ctx, j.ID)
				require.NoError(t, err)
				return j
			}
			require.Equal(t, queue.Blocked, attempt("fin").State)
			_, err = q.Update(ctx, j.ID, func(j *queue.Job) error { j.Input = []byte(`{"usd":500}`); return nil })
			require.ErrorIs(t, err, store.ErrInvalid)
			_, err = q.Update(ctx, j.ID, func(j *queue.Job) error {
				j.Subject, j.State = "Pay the invoice", queue.Pending
				return nil
			})
			require.NoError(t, err)
			j = attempt("fin/eu")
			require.Equal(t, []any{queue.Completed, before + 1, "Pay the invoice"}, []any{j.State, paid, told}, j.Summary)
		}
		for r, err := range agent("fin").In(tenant).Runs(ctx) {
			require.NoError(t, err)
			require.Equal(t, arc.Delivered, r.Status)
			i -= 10
		}
		require.Negative(t, i, "its runs are its tenant's")
	}
}

// A run that somebody canceled, and an objective that cannot be one, give the job up; no attempt is made again.
func TestAgentGivesUp(t *testing.T) {
	asks := &act.PendingError{Questions: []string{"which?"}}
	worker := &arctest.Worker{Turns: []arctest.Turn{{Err: asks}}}
	a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{worker.As("worker")}}, nil)
	require.NoError(t, err)
	defer a.Close()
	attempt := func(o arc.Objective) queue.Job {
		j := queue.Job{Draft: queue.Draft{Subject: "x"}, ID: "abc", Started: time.Now()}
		_, err := queue.AgentHandler(a, func(queue.Job) arc.Objective { return o })(t.Context(), &j)
		require.NoError(t, err)
		return j
	}
	j := attempt(arc.Objective{ID: "7", Text: "ask"})
	require.Equal(t, []any{queue.Pending, "which?"}, []any{j.State, j.Summary})
	require.NoError(t, a.In("").Cancel(t.Context(), "7", "not any more"))
	j = attempt(arc.Objective{ID: "7", Text: "ask"})
	require.Equal(t, []any{queue.Failed, "not any more"}, []any{j.State, j.Summary})
	j = attempt(arc.Objective{})
	require.Equal(t, queue.Failed, j.State)
	require.Contains(t, j.Summary, "neither Text nor Tasks")
	require.NoError(t, a.SetWorkers(nil)) // as of a process that only looks: those that work have the job
	j = attempt(arc.Objective{ID: "8", Text: "write"})
	require.Equal(t, queue.Pending, j.State)
	_, err = a.In("").Report(t.Context(), "8")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Len(t, worker.Calls(), 1)
}

// A run that somebody cancels while it is under way gives the job up at once.
func TestAgentCanceled(t *testing.T) {
	began, ended := make(chan bool), make(chan queue.Job)
	a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{{
		Name: "worker", Gates: []act.Gate{act.NoGate},
		Executor: act.ExecutorFunc(func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			began <- true
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	}}}, nil)
	require.NoError(t, err)
	defer a.Close()
	go func() {
		j := queue.Job{Draft: queue.Draft{Subject: "x"}, ID: "abc", Started: time.Now()}
		objective := func(queue.Job) arc.Objective { return arc.Objective{ID: "7", Text: "write"} }
		_, err := queue.AgentHandler(a, objective)(t.Context(), &j)
		assert.NoError(t, err)
		ended <- j
	}()
	<-began
	require.NoError(t, a.In("").Cancel(t.Context(), "7", "not any more"))
	j := <-ended
	require.Equal(t, []any{queue.Failed, "not any more"}, []any{j.State, j.Summary})
}

// A job that comes again does so after a round whose run was blocked, which a person may try again.
func TestAgentCron(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &reason.Error{Class: reason.Permission, Err: errors.New("the key has expired")}
		worker := &arctest.Worker{Turns: []arctest.Turn{{Err: away}, {}}}
		st := store.NewMem()
		a, err := arc.New(t.Context(), st, arc.Host{Workers: []act.Worker{worker.As("worker")}}, nil)
		require.NoError(t, err)
		defer a.Close()
		q, err := queue.Open(t.Context(), store.NewGroup(store.Sub(st, "t/_/")), nil)
		require.NoError(t, err)
		id := add(t, q, queue.Draft{Subject: "Back up", Cron: "0 * * * *"}).ID
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- q.Dispatch(ctx, 1, queue.AgentHandler(a, nil)) }()
		time.Sleep(30 * time.Minute)
		for hour := range 2 {
			time.Sleep(time.Hour)
			synctest.Wait()
			j, err := q.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, queue.Pending, j.State)
			require.Equal(t, []int{hour + 1, hour + 2}, []int{len(worker.Calls()), j.At.Hour()})
		}
		var states []queue.State
		for j, err := range q.Cycles(t.Context(), "", time.Time{}) {
			require.NoError(t, err)
			states = append(states, j.State)
		}
		require.ElementsMatch(t, []queue.State{queue.Blocked, queue.Completed}, states)
		stop()
		require.NoError(t, <-ended)
	})
}

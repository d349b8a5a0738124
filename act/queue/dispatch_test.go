package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var errBoom = errors.New("boom")

// dispatched runs a handler over a queue in memory, in a bubble, until nothing is left
// to be done, and returns the job.
func dispatched(t *testing.T, d queue.Draft, h queue.Handler) (j queue.Job, took time.Duration, cycles []queue.Cycle) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q, err := queue.Open(t.Context(), store.NewMem(), nil)
		require.NoError(t, err)
		d.Subject = "job"
		j, _, err = q.Enqueue(t.Context(), d)
		require.NoError(t, err)
		w, err := q.Dispatch(h, nil)
		require.NoError(t, err)
		for j.State == queue.Pending || j.State == queue.Active {
			<-time.After(100 * time.Millisecond)
			j, err = q.Get(t.Context(), j.ID)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(t.Context()))
		for c, err := range q.Cycles(t.Context(), time.Time{}) {
			require.NoError(t, err)
			cycles = append(cycles, c)
		}
		took = j.Ended.Sub(j.Created)
	})
	return j, took, cycles
}

func TestWhatAHandlerDoesIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		handle   queue.Handler
		state    queue.State
		attempts int // spent
		calls    int
	}{
		"ok":     {handle: func(context.Context, queue.Job) (queue.Result, error) { return queue.Result{}, nil }, state: queue.Completed, attempts: 1, calls: 1},
		"error":  {handle: func(context.Context, queue.Job) (queue.Result, error) { return queue.Result{}, errBoom }, state: queue.Failed, attempts: 3, calls: 3},
		"panic":  {handle: func(context.Context, queue.Job) (queue.Result, error) { panic("boom") }, state: queue.Failed, attempts: 3, calls: 3},
		"goexit": {handle: func(context.Context, queue.Job) (queue.Result, error) { runtime.Goexit(); return queue.Result{}, nil }, state: queue.Failed, attempts: 3, calls: 3},
		"an unknown state": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{State: "FAILED"}, nil
		}, state: queue.Failed, attempts: 3, calls: 3},
		"hangs": {handle: func(ctx context.Context, _ queue.Job) (queue.Result, error) {
			<-ctx.Done()
			return queue.Result{}, nil
		}, state: queue.Failed, attempts: 3, calls: 3},
		"denied": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{}, fmt.Errorf("push: %w", act.ErrDenied)
		}, state: queue.Failed, attempts: 1, calls: 1},
		"forbidden": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{}, &reason.ModelError{Status: 403}
		}, state: queue.Failed, attempts: 1, calls: 1},
		"unauthorized, in words": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{}, errors.New("push: HTTP 401 Unauthorized")
		}, state: queue.Failed, attempts: 1, calls: 1},
		"denied, in words": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{}, fmt.Errorf("read: %w", fs.ErrPermission)
		}, state: queue.Failed, attempts: 1, calls: 1},
		"a number that is no status": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{}, errors.New("line 4012 of 40317")
		}, state: queue.Failed, attempts: 3, calls: 3},
		"rate limited, then again, then done": {handle: func(_ context.Context, j queue.Job) (queue.Result, error) {
			switch j.Token {
			case 1, 2, 3, 4:
				return queue.Result{}, &act.RateLimitError{After: time.Minute}
			case 5:
				return queue.Result{State: queue.Pending, At: time.Now().Add(time.Hour)}, nil
			}
			return queue.Result{Summary: "done"}, nil
		}, state: queue.Completed, attempts: 1, calls: 6},
		"result beside an error": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{State: queue.Completed}, errBoom
		}, state: queue.Failed, attempts: 3, calls: 3},
		"a state that is none": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{State: queue.Active}, nil
		}, state: queue.Failed, attempts: 3, calls: 3},
		"a follow-up that is none": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{Followups: []queue.Draft{{}}}, nil
		}, state: queue.Blocked, attempts: 1, calls: 1},
		"invalid text": {handle: func(context.Context, queue.Job) (queue.Result, error) {
			return queue.Result{Summary: "\xff" + string(make([]byte, 1<<20))}, nil
		}, state: queue.Completed, attempts: 1, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			j, _, cycles := dispatched(t, queue.Draft{}, func(ctx context.Context, j queue.Job) (queue.Result, error) {
				calls.Add(1)
				in, ok := queue.JobIn(ctx)
				if !ok || in.ID != j.ID || j.Model != "cheap" {
					panic("the context has no job")
				}
				r, err := c.handle(ctx, j)
				r.Usage = act.Usage{CostUSD: 0.5, TokensIn: 10, CacheRead: 4, CacheWrite: 2}
				return r, err
			})
			require.Equal(t, c.state, j.State, j.Error)
			require.Equal(t, c.attempts, j.Attempts)
			require.EqualValues(t, c.calls, calls.Load())
			require.Len(t, cycles, c.calls)
			require.Equal(t, c.state == queue.Failed, j.Error != "")
			if name != "panic" && name != "goexit" && name != "hangs" {
				require.InDelta(t, 0.5*float64(c.calls), j.Usage.CostUSD, 1e-9, "failed attempts cost too")
				require.Equal(t, act.Usage{CostUSD: 0.5, TokensIn: 10, CacheRead: 4, CacheWrite: 2}, cycles[0].Usage)
			}
			require.Equal(t, "cheap", cycles[0].Model)
		})
	}
}

func TestBackoffGrows(t *testing.T) {
	_, took, _ := dispatched(t, queue.Draft{MaxAttempts: 4}, func(context.Context, queue.Job) (queue.Result, error) {
		return queue.Result{}, errBoom
	})
	require.GreaterOrEqual(t, took, 70*time.Second) // 10, 20 and 40 s
	require.Less(t, took, 80*time.Second)
}

// A lease is renewed for as long as a handler works; one that cannot be is given to
// another, and its holder is told.
func TestLeaseOutlastsItsTTLAndIsLostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		o := queue.Options{LeaseTTL: 10 * time.Second}
		q, err := queue.Open(t.Context(), st, &o)
		require.NoError(t, err)
		j, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "long", Timeout: time.Hour})
		require.NoError(t, err)
		var lost atomic.Bool
		w, err := q.Dispatch(func(ctx context.Context, _ queue.Job) (queue.Result, error) {
			select {
			case <-ctx.Done():
				lost.Store(true)
				return queue.Result{}, ctx.Err()
			case <-time.After(5 * time.Minute):
				return queue.Result{Summary: "the first"}, nil
			}
		}, nil)
		require.NoError(t, err)
		other, err := queue.Open(t.Context(), st, &o)
		require.NoError(t, err)
		for range 60 {
			<-time.After(time.Second)
			_, err = other.Claim(t.Context(), 0)
			require.ErrorIs(t, err, queue.ErrEmpty, "it is renewed")
		}
		// A third that believes to be alone takes it all the same.
		o.Alone = true
		third, err := queue.Open(t.Context(), st, &o)
		require.NoError(t, err)
		l, err := third.Claim(t.Context(), 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, l.Job.Token)
		<-time.After(5 * time.Second)
		require.True(t, lost.Load(), "the first holder is told")
		got, err := l.End(t.Context(), queue.Result{Summary: "the second"}, nil)
		require.NoError(t, err)
		require.Equal(t, "the second", got.Summary)
		_, err = l.End(t.Context(), queue.Result{}, nil)
		require.ErrorIs(t, err, queue.ErrLost)
		require.ErrorIs(t, l.Beat(t.Context()), queue.ErrLost)
		require.NoError(t, w.Close(t.Context()))
		got, err = q.Get(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, "the second", got.Summary)
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		q, err := queue.Open(t.Context(), st, nil)
		require.NoError(t, err)
		short, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "short", Priority: 1})
		require.NoError(t, err)
		long, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "long", Priority: 2})
		require.NoError(t, err)
		later, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "later"})
		require.NoError(t, err)
		_, err = q.Dispatch(func(context.Context, queue.Job) (queue.Result, error) { return queue.Result{}, nil }, &queue.DispatchOptions{Workers: 4097})
		var limit *store.LimitError
		require.ErrorAs(t, err, &limit)
		free := make(chan struct{})
		letGo := sync.OnceFunc(func() { close(free) })
		defer letGo()
		w, err := q.Dispatch(func(_ context.Context, j queue.Job) (queue.Result, error) {
			if j.Subject == "long" {
				<-free // whatever its context says
				return queue.Result{}, nil
			}
			<-time.After(5 * time.Second)
			return queue.Result{}, nil
		}, &queue.DispatchOptions{Workers: 2})
		require.NoError(t, err)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, w.Close(ctx), context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(begin))
		for id, want := range map[string]queue.State{short.ID: queue.Completed, long.ID: queue.Pending, later.ID: queue.Pending} {
			j, err := q.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, j.State)
			if want == queue.Pending {
				require.Zero(t, j.Attempts, "what Close cuts off spends none")
			}
		}
		//lint:ignore SA1012 that it is refused is the test
		require.Error(t, w.Close(nil))
		letGo()
		require.NoError(t, w.Close(t.Context()))
	})
}

// Many workers and producers: each job is done once, in one record, and nothing is left.
func TestWorkersSideBySide(t *testing.T) {
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return store.NewMem() },
		"badger": func() store.Store {
			st, err := badger.Open(t.TempDir(), nil)
			require.NoError(t, err)
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := open()
			defer func() { require.NoError(t, st.Close()) }()
			const jobs, producers = 400, 4
			var done sync.Map
			var count atomic.Int64
			all := make(chan struct{})
			handle := func(_ context.Context, j queue.Job) (queue.Result, error) {
				if _, twice := done.LoadOrStore(j.ID, true); twice {
					t.Errorf("%s is done twice", j.ID)
				}
				r := queue.Result{}
				if j.Depth == 0 {
					r.Followups = []queue.Draft{{Subject: "child", Priority: 1}}
				}
				if count.Add(1) == 2*jobs {
					close(all)
				}
				return r, nil
			}
			var ws []*queue.Dispatcher
			for range 2 { // two openers that share the store
				q, err := queue.Open(t.Context(), st, nil)
				require.NoError(t, err)
				w, err := q.Dispatch(handle, &queue.DispatchOptions{Workers: 4, Poll: 10 * time.Millisecond})
				require.NoError(t, err)
				ws = append(ws, w)
			}
			q, err := queue.Open(t.Context(), st, nil)
			require.NoError(t, err)
			var group sync.WaitGroup
			for range producers {
				group.Go(func() {
					for range jobs / producers {
						_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "parent"})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			<-all
			for _, w := range ws {
				require.NoError(t, w.Close(t.Context()))
			}
			n := 0
			for j, err := range q.Jobs(t.Context(), queue.Completed) {
				require.NoError(t, err)
				require.Equal(t, 1, j.Attempts)
				n++
			}
			require.Equal(t, 2*jobs, n)
		})
	}
}

func TestBreakerInADispatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := queue.Open(t.Context(), store.NewMem(), nil)
		require.NoError(t, err)
		for range 20 {
			_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", MaxAttempts: 1})
			require.NoError(t, err)
		}
		g, err := queue.Breaker(3, 5*time.Minute, 10*time.Minute)
		require.NoError(t, err)
		var calls atomic.Int64
		var well atomic.Bool
		w, err := q.Dispatch(func(context.Context, queue.Job) (queue.Result, error) {
			calls.Add(1)
			if !well.Load() {
				return queue.Result{}, errBoom
			}
			return queue.Result{}, nil
		}, &queue.DispatchOptions{Gates: []queue.Gate{g}})
		require.NoError(t, err)
		<-time.After(9 * time.Minute)
		require.EqualValues(t, 3, calls.Load(), "it is open")
		<-time.After(3 * time.Minute)
		require.EqualValues(t, 4, calls.Load(), "one tries")
		well.Store(true)
		<-time.After(20 * time.Minute)
		require.EqualValues(t, 20, calls.Load(), "one that succeeds closes it")
		require.NoError(t, w.Close(t.Context()))
	})
}

// A budget that is spent holds up what can wait, and nothing else: not an urgent job
// behind one that may not begin.
func TestBudgetSparesWhatIsUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := queue.Open(t.Context(), store.NewMem(), nil)
		require.NoError(t, err)
		add := func(priority int, due time.Time) {
			_, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Priority: priority, At: due})
			require.NoError(t, err)
		}
		var mu sync.Mutex
		var done []int
		handle := func(_ context.Context, j queue.Job) (queue.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, j.Priority)
			return queue.Result{Usage: act.Usage{APICostUSD: 1}}, nil
		}
		seen := func() []int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(done)
		}
		dispatch := func() *queue.Dispatcher {
			w, err := q.Dispatch(handle, &queue.DispatchOptions{Gates: []queue.Gate{queue.Budget(3, 2)}})
			require.NoError(t, err)
			return w
		}
		for range 5 {
			add(5, time.Time{})
		}
		w := dispatch()
		<-time.After(time.Minute)
		require.Equal(t, []int{5, 5, 5}, seen())
		require.NoError(t, w.Close(t.Context()))
		w = dispatch() // which reads what was spent
		add(4, time.Now().Add(-time.Hour))
		add(2, time.Time{})
		<-time.After(time.Minute)
		require.Equal(t, []int{5, 5, 5, 2}, seen())
		<-time.After(25 * time.Hour)
		require.Equal(t, []int{5, 5, 5, 2, 4, 5, 5}, seen())
		require.NoError(t, w.Close(t.Context()))
	})
}

// hanging is a store in which the first heartbeat hangs until its context ends.
type hanging struct {
	store.Store
	hangs atomic.Bool
}

func (h *hanging) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if len(ops) == 1 && strings.Contains(ops[0].Key, "\x00lease\x00") && !h.hangs.Swap(true) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return h.Store.Commit(ctx, ops...)
}

// A heartbeat that hangs costs its own lease, and holds up no other.
func TestHeartbeatThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &hanging{Store: store.NewMem()}
		q, err := queue.Open(t.Context(), st, nil)
		require.NoError(t, err)
		for range 4 {
			enqueue(t, q, queue.Draft{})
		}
		w, err := q.Dispatch(func(ctx context.Context, _ queue.Job) (queue.Result, error) {
			<-ctx.Done()
			return queue.Result{}, ctx.Err()
		}, &queue.DispatchOptions{Workers: 4})
		require.NoError(t, err)
		other, err := queue.Open(t.Context(), st.Store, nil)
		require.NoError(t, err)
		lost := 0
		for range 90 {
			<-time.After(time.Second)
			if _, err = other.Claim(t.Context(), 0); !errors.Is(err, queue.ErrEmpty) {
				require.NoError(t, err)
				lost++
			}
		}
		require.Equal(t, 1, lost)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, w.Close(ctx), context.Canceled)
	})
}

// What an attempt has cost is the budget's, also where its lease was lost, or where the store takes no end.
func TestLostAttemptIsSpent(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(st *arctest.Store, o queue.Options) error{
		"lost": func(st *arctest.Store, o queue.Options) error { // to one that believes to be alone
			o.Alone = true
			other, err := queue.Open(context.Background(), st, &o)
			if err == nil {
				_, err = other.Claim(context.Background(), 0)
			}
			return err
		},
		"given back": func(st *arctest.Store, o queue.Options) error { // before its second end
			st.FailNext(0, 1, false)
			o.Alone = true
			time.AfterFunc(time.Second/2, func() { _, _ = queue.Open(context.Background(), st, &o) }) // calls says if it fails
			return nil
		},
		"not ended": func(st *arctest.Store, _ queue.Options) error {
			st.FailNext(0, 6, false) // four ends and two heartbeats
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, o := arctest.NewStore(store.NewMem()), queue.Options{LeaseTTL: 10 * time.Second}
				q, err := queue.Open(t.Context(), st, &o)
				require.NoError(t, err)
				for range 3 {
					enqueue(t, q, queue.Draft{})
				}
				var calls atomic.Int64
				d, err := q.Dispatch(func(ctx context.Context, _ queue.Job) (queue.Result, error) {
					if calls.Add(1) > 1 {
						return queue.Result{}, nil
					}
					err := lose(st, o)
					if err == nil && name == "lost" {
						<-ctx.Done()
					}
					return queue.Result{Usage: act.Usage{CostUSD: 5}}, err
				}, &queue.DispatchOptions{Gates: []queue.Gate{queue.Budget(1, 0)}})
				require.NoError(t, err)
				<-time.After(time.Minute)
				require.NoError(t, d.Close(t.Context()))
				require.EqualValues(t, 1, calls.Load())
			})
		})
	}
}

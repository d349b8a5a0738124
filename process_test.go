package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// line is a process's connection to a shared store: it can be cut, as where the process is killed, or
// held, as where it is paused.
type line struct {
	store.Changer
	mu   sync.Mutex
	cut  bool
	held chan struct{}
	left int           // commits of runs until it is held; 0: never
	hold chan struct{} // by this
}

func (l *line) use(ctx context.Context) error {
	l.mu.Lock()
	cut, held := l.cut, l.held
	l.mu.Unlock()
	if cut {
		return errDead
	}
	if held != nil {
		select {
		case <-held:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l *line) set(cut bool, held chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.held = cut, held
}

func (l *line) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := l.use(ctx); err != nil {
		return store.Entry{}, err
	}
	return l.Changer.Get(ctx, key)
}

func (l *line) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if !strings.HasPrefix(ops[0].Key, "process/") {
		l.mu.Lock()
		if l.left--; l.left == 0 {
			l.held = l.hold
		}
		l.mu.Unlock()
	}
	if err := l.use(ctx); err != nil {
		return 0, err
	}
	return l.Changer.Commit(ctx, ops...)
}

func (l *line) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return l.seq(ctx, l.Changer.Scan(ctx, r))
}

func (l *line) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return l.seq(ctx, l.Changer.Changes(ctx, prefix, after))
}

func (l *line) seq(ctx context.Context, of iter.Seq2[store.Entry, error]) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := l.use(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		of(yield)
	}
}

// A run of a process that is killed, or held up for longer than others wait, is taken up by another one, and
// by one only. The former one ends its attempt before, and what it commits later is refused.
func TestRunsOfAGoneProcessAreTakenUp(t *testing.T) {
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st, made := store.NewMem(), make(chan string, 9)
			ended := make(chan time.Time, 1)
			host := func(name string) arc.Host {
				return arc.Host{Workers: []act.Worker{{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
					func(ctx context.Context, c *act.Call) (*act.Result, error) {
						made <- name
						if name == "a" {
							<-ctx.Done()
							ended <- time.Now()
						}
						return &act.Result{Text: name}, nil // also where its context has ended
					})}}}
			}
			own := &line{Changer: st}
			a, _ := agent(t, own, host("a"), &arc.Options{Process: "a"})
			b, _ := agent(t, st, host("b"), &arc.Options{Process: "b"})
			c, _ := agent(t, st, host("b"), &arc.Options{Process: "c"})
			failed := make(chan error, 1)
			go func() {
				_, err := a.Run(t.Context(), arc.Objective{ID: "7", Text: "write"})
				failed <- err
			}()
			require.Equal(t, "a", <-made)
			_, err := b.In("").Resume(t.Context(), "7")
			require.ErrorIs(t, err, arc.ErrRunning)
			time.Sleep(time.Minute)
			require.Empty(t, made, "it is under way, and its process is not gone")
			free := make(chan struct{})
			began := time.Now()
			own.set(!paused, free)
			r, err := c.In("").Wait(t.Context(), "7")
			require.NoError(t, err)
			require.Equal(t, "b", r.Text)
			require.Equal(t, 1, r.Attempts)
			require.Equal(t, "b", <-made)
			require.InDelta(t, 15, time.Since(began).Seconds(), 10)
			after := (<-ended).Sub(began)
			require.LessOrEqual(t, after, 12*time.Second, "a ends before another begins")
			require.GreaterOrEqual(t, after, 5*time.Second, "and not for a hiccup")
			own.set(false, nil)
			close(free)
			require.Error(t, <-failed)
			require.Empty(t, made)
			r, err = a.In("").Wait(t.Context(), "7") // it is there again
			require.NoError(t, err)
			require.Equal(t, "b", r.Text)
			time.Sleep(6 * time.Second)
			_, err = a.In("").Resume(t.Context(), "7")
			require.NoError(t, err)
		})
	}
}

// A process is held up at one of its commits until another one has taken its run up, and goes on: what it
// would do then is not done.
func TestHeldUpAtAnyCommit(t *testing.T) {
	for n, whole := 1, false; !whole; n++ {
		synctest.Test(t, func(t *testing.T) {
			pay, mail := &arctest.Worker{}, &arctest.Worker{}
			bank := pay.As("bank", "pay")
			bank.Irreversible = true
			h := arc.Host{Reasoner: &arctest.Reasoner{Decision: fixed}, Workers: []act.Worker{bank, mail.As("mail", "write")}}
			st, free := store.NewMem(), make(chan struct{})
			a, _ := agent(t, &line{Changer: st, left: n, hold: free}, h, &arc.Options{Process: "a"})
			b, _ := agent(t, st, h, &arc.Options{Process: "b"})
			ended := make(chan error, 1)
			go func() {
				_, err := a.Run(t.Context(), arc.Objective{ID: "7", Text: "Refund the order.", Inputs: order(1)})
				ended <- err
			}()
			time.Sleep(time.Minute)
			r, err := b.In("").Report(t.Context(), "7")
			close(free)
			failed := <-ended
			if whole = failed == nil && err == nil; whole { // it was not held
				require.Greater(t, n, 4)
				return
			}
			if errors.Is(err, store.ErrNotFound) {
				r, err = b.In("").Wait(t.Context(), "7") // nobody else knew of it
			}
			require.NoError(t, err)
			if r.Status == arc.Waiting {
				require.Contains(t, r.Text, "its end is not known")
			} else {
				require.Equal(t, arc.Delivered, r.Status, r.Text)
				require.Len(t, pay.Calls(), 1)
			}
			require.LessOrEqual(t, len(pay.Calls()), 1, "commit %d", n)
			last, err := b.In("").Report(t.Context(), "7")
			require.NoError(t, err)
			require.Equal(t, r, last, "commit %d", n)
		})
	}
}

// A process is frozen when a payment has begun and is not sent yet. Another one takes the run up, a person says
// yes, and it is paid; the first wakes, and sends what it had begun: for the bank that is the same payment.
func TestFrozenBeforeItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, booked, wake := store.NewMem(), map[string]int{}, make(chan struct{})
		host := func(frozen bool) arc.Host {
			pay := act.Worker{Name: "bank", Irreversible: true, Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
				func(ctx context.Context, _ *act.Call) (*act.Result, error) {
					if frozen {
						<-wake
					}
					booked[act.IdempotencyKey(ctx)]++
					return &act.Result{Text: "paid"}, nil
				})}
			return arc.Host{Workers: []act.Worker{pay}}
		}
		own := &line{Changer: st}
		a, _ := agent(t, own, host(true), &arc.Options{Process: "a"})
		b, _ := agent(t, st, host(false), &arc.Options{Process: "b"})
		ended := make(chan error, 1)
		go func() {
			_, err := a.Run(t.Context(), arc.Objective{ID: "7", Text: "Pay the invoice."})
			ended <- err
		}()
		synctest.Wait()
		own.set(true, nil)
		time.Sleep(time.Minute)
		r, err := b.In("").Report(t.Context(), "7")
		require.NoError(t, err)
		require.Len(t, r.Approvals, 1)
		why := strings.Join(r.Approvals[0].Why, " ")
		require.NoError(t, b.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "ann", Allow: true}))
		r, err = b.In("").Wait(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, "paid", r.Text)
		close(wake)
		require.Error(t, <-ended)
		require.Len(t, booked, 1)
		for key, n := range booked {
			require.Equal(t, 2, n)
			require.Contains(t, why, key, "what the person could ask the bank for")
		}
	})
}

// What a person says to one process reaches the run in another.
func TestThroughAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, began := store.NewMem(), make(chan bool, 9)
		signed := 0
		gated := (&arctest.Worker{}).As("cat", "sign")
		gated.Mode = act.Gated
		gated.Executor = act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			signed++
			time.Sleep(time.Second)
			return &act.Result{}, nil
		})
		h := arc.Host{
			Workers: []act.Worker{stuck(began), (&arctest.Worker{}).As("ben", "write"), gated},
			Reasoner: &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
				if b.Text == "ask" && len(b.Answers) == 0 {
					return &reason.Decision{Questions: []string{"To whom?"}}, nil
				}
				return arctest.Tasks("", task("write", "write")), nil
			}},
		}
		a, _ := agent(t, st, h, &arc.Options{Process: "a"})
		b, _ := agent(t, st, h, &arc.Options{Process: "b"})
		v := b.In("acme")

		r := run(t, a, arc.Objective{ID: "asks", Scope: "acme", Text: "ask"})
		require.Equal(t, arc.Asking, r.Status)
		r, err := v.Answer(t.Context(), "asks", "", "to Anna")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)

		r = run(t, a, arc.Objective{ID: "waits", Scope: "acme", Tasks: []reason.Task{task("sign", "sign")}})
		require.Equal(t, arc.Waiting, r.Status)
		require.NoError(t, v.Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
		time.Sleep(time.Millisecond)
		_, err = a.In("acme").Resume(t.Context(), "waits")
		require.ErrorIs(t, err, arc.ErrRunning)
		r, err = a.In("acme").Wait(t.Context(), "waits")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 1, signed)

		ended := make(chan error)
		go func() {
			_, err := a.Run(t.Context(), arc.Objective{ID: "sticks", Scope: "acme", Tasks: []reason.Task{task("write", "")}})
			ended <- err
		}()
		<-began
		var told []string
		followed := make(chan bool)
		go func() {
			for e, err := range v.Watch(t.Context(), "sticks") {
				require.NoError(t, err)
				told = append(told, e.Kind)
			}
			close(followed)
		}()
		at := time.Now()
		require.NoError(t, v.Cancel(t.Context(), "sticks", "not needed"))
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Less(t, time.Since(at), time.Second)
		<-followed
		require.Equal(t, []string{"begun", "attempt", "canceled"}, told)
		r, err = a.In("acme").Report(t.Context(), "sticks")
		require.NoError(t, err)
		require.Equal(t, "not needed", r.Text)

		// Who leaves a run leaves it to any process.
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		_, err = a.Run(ctx, arc.Objective{ID: "left", Scope: "acme", Tasks: []reason.Task{task("write", "")}})
		require.ErrorIs(t, err, context.Canceled)
		canceled := make(chan error)
		go func() { <-began; canceled <- v.Cancel(t.Context(), "left", "") }()
		_, err = v.Resume(t.Context(), "left")
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, <-canceled)

		// What one remembers the other recalls.
		m, err := a.In("acme").Memory(t.Context())
		require.NoError(t, err)
		_, err = m.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "The door code is 4711."})
		require.NoError(t, err)
		m, err = v.Memory(t.Context())
		require.NoError(t, err)
		hits, err := m.Recall(t.Context(), memory.Query{Text: "door code"})
		require.NoError(t, err)
		require.Len(t, hits, 1)

		require.NoError(t, a.Close())
		for e := range st.Scan(t.Context(), store.Range{Prefix: "process/"}) {
			require.Regexp(t, "^process/b-", e.Key)
		}
	})
}

// Agents with one label, as by a constant in the settings of a deployment, are processes like any others: a run
// of one is none of the other's, whether that was opened before or afterwards.
func TestOneLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, paid := store.NewMem(), map[string]int{}
		var mu sync.Mutex
		bank := (&arctest.Worker{}).As("bank")
		bank.Irreversible = true
		bank.Executor = act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
			mu.Lock()
			paid[c.Run]++
			mu.Unlock()
			select {
			case <-time.After(20 * time.Second):
				return &act.Result{Text: "paid"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		var all []*arc.Agent
		var runs sync.WaitGroup
		for n := range 3 {
			a, _ := agent(t, st, arc.Host{Workers: []act.Worker{bank}}, &arc.Options{Process: "arc"})
			all = append(all, a)
			runs.Go(func() {
				assert.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: fmt.Sprint(n), Text: "pay"}).Status)
			})
			time.Sleep(7 * time.Second)
		}
		runs.Wait()
		require.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1}, paid)
		for _, a := range all {
			_, err := a.Run(t.Context(), arc.Objective{ID: "0", Text: "pay"})
			require.NoError(t, err)
		}
	})
}

// Many runs, three processes that come and go: each run is delivered by one of them, and nothing is paid
// twice.
func TestThreeProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		var mu sync.Mutex
		paid := map[string]int{}
		h := arc.Host{Workers: []act.Worker{{
			Name: "bank", Irreversible: true, Gates: []act.Gate{act.NoGate},
			Executor: act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
				mu.Lock()
				paid[c.Run]++
				mu.Unlock()
				select {
				case <-time.After(3 * time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return &act.Result{Text: "paid"}, nil
			})}}}
		lines, agents := make([]*line, 3), make([]*arc.Agent, 3)
		for n := range agents {
			lines[n] = &line{Changer: st}
			agents[n], _ = agent(t, lines[n], h, &arc.Options{Process: fmt.Sprint(n)})
		}
		var runs sync.WaitGroup
		for n := range 30 {
			runs.Go(func() {
				_, err := agents[n%3].Run(t.Context(), arc.Objective{ID: fmt.Sprint(n), Text: fmt.Sprint("pay ", n)})
				if n%3 == 0 && err == nil || n%3 != 0 && err != nil && !errors.Is(err, arc.ErrRunning) {
					t.Errorf("run %d: %v", n, err)
				}
			})
		}
		time.Sleep(time.Second)
		lines[0].set(true, nil) // in the middle of ten payments
		runs.Wait()
		for n := range 30 {
			id := fmt.Sprint(n)
			for {
				r, err := agents[1].In("").Report(t.Context(), id)
				require.NoError(t, err)
				if r.Status == arc.Delivered {
					break
				}
				if r.Status == arc.Waiting && len(r.Approvals) > 0 {
					require.Zero(t, n%3)
					require.Contains(t, r.Text, "its end is not known")
					break
				}
				time.Sleep(time.Second)
			}
			require.Equal(t, 1, paid[id], "run %d", n)
		}
	})
}

// An Agent without workers, as of a dashboard, goes on with no run: neither with one whose process is gone, nor
// with one that a person has ruled on, answered or retried there. A process that works does.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, began := store.NewMem(), make(chan bool, 9)
		gated := (&arctest.Worker{}).As("cat", "sign")
		gated.Mode = act.Gated
		h := arc.Host{
			Workers: []act.Worker{stuck(began), gated, (&arctest.Worker{Turns: []arctest.Turn{{Text: "written"}}}).As("ben", "write")},
			Reasoner: &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
				if b.Text == "ask" && len(b.Answers) == 0 {
					return &reason.Decision{Questions: []string{"To whom?"}}, nil
				}
				return arctest.Tasks("", task("write", "write")), nil
			}},
		}
		own := &line{Changer: st}
		a, _ := agent(t, own, h, &arc.Options{Process: "a"})
		r := run(t, a, arc.Objective{ID: "waits", Tasks: []reason.Task{task("sign", "sign")}})
		run(t, a, arc.Objective{ID: "asks", Text: "ask"})
		require.Equal(t, arc.NoWorker, run(t, a, arc.Objective{ID: "retried", Tasks: []reason.Task{task("fly", "fly")}}).Cause)
		go func() { _, _ = a.Run(t.Context(), arc.Objective{ID: "taken", Tasks: []reason.Task{task("stick", "")}}) }()
		<-began
		own.set(true, nil) // a is killed

		d, _ := agent(t, st, arc.Host{}, nil)
		v := d.In("")
		require.NoError(t, v.Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "ann", Allow: true}))
		for _, said := range []func() (*arc.Report, error){
			func() (*arc.Report, error) { return v.Answer(t.Context(), "asks", "", "to Anna") },
			func() (*arc.Report, error) { return v.Retry(t.Context(), "retried", "") },
		} {
			r, err := said()
			require.NoError(t, err)
			require.Equal(t, arc.Running, r.Status)
		}
		time.Sleep(time.Minute)
		for id, want := range map[string]arc.Status{
			"waits": arc.Waiting, "asks": arc.Running, "retried": arc.Running, "taken": arc.Running,
		} {
			r, err := v.Resume(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, r.Status, id)
		}
		alone, _ := agent(t, struct{ store.Store }{st}, arc.Host{}, nil) // one that does not know that others are there
		time.Sleep(2 * time.Minute)
		require.NoError(t, alone.Close())

		h.Workers[0] = (&arctest.Worker{}).As("ann")
		time.Sleep(time.Second)
		now := time.Now()
		require.NoError(t, d.SetWorkers(h.Workers)) // it has some now
		r, err := v.Wait(t.Context(), "waits")
		require.Zero(t, time.Since(now))
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		for id, want := range map[string]arc.Status{"taken": arc.Delivered, "asks": arc.Delivered, "retried": arc.Blocked} {
			r, err := v.Wait(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, r.Status, id) // nobody flies
		}
	})
}

// An Agent whose workers are taken away leaves what comes due to another that has some, and goes on when it has
// some again.
func TestWorkersAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, w := store.NewMem(), (&arctest.Worker{}).As("cat", "sign")
		w.Mode = act.Gated
		h, o := arc.Host{Workers: []act.Worker{w}}, &arc.Options{ApprovalTimeout: time.Hour}
		for _, shared := range []bool{true, false} {
			at := store.Store(st)
			if !shared {
				at = struct{ store.Store }{store.NewMem()}
			}
			a, _ := agent(t, at, h, o)
			r := run(t, a, arc.Objective{ID: "waits", Tasks: []reason.Task{task("sign", "sign")}})
			require.Equal(t, arc.Waiting, r.Status)
			require.NoError(t, a.SetWorkers(nil))
			b := a
			if shared {
				b, _ = agent(t, at, h, o)
			}
			time.Sleep(time.Hour + time.Minute) // the approval lapses
			if !shared {
				require.NoError(t, a.SetWorkers(h.Workers))
			}
			time.Sleep(time.Second)
			r, err := b.In("").Report(t.Context(), "waits")
			require.NoError(t, err)
			require.Equal(t, arc.Blocked, r.Status, r.Text)
			require.NotEqual(t, arc.NoWorker, r.Cause, r.Text)
		}
	})
}

// A run whose worker is gone, as after a deploy that renames it, says which one; nobody has refused it.
func TestWorkerIsGone(t *testing.T) {
	work := func(name string) []act.Worker {
		w := (&arctest.Worker{}).As(name)
		w.Mode = act.Gated
		return []act.Worker{w}
	}
	a, _ := agent(t, nil, arc.Host{Workers: work("treasurer")}, &arc.Options{Attempts: 1})
	r := run(t, a, arc.Objective{ID: "7", Text: "pay"})
	require.NoError(t, a.SetWorkers(work("cashier")))
	require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "ann", Allow: true}))
	r, err := a.In("").Wait(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.NoWorker, r.Cause)
	require.Contains(t, r.Text, "treasurer")
}

// A run that could not be stored, as the store is away, is under way nowhere: its caller is told to try again.
func TestRunWhileTheStoreIsAway(t *testing.T) {
	for _, id := range []string{"", "7"} {
		synctest.Test(t, func(t *testing.T) {
			own, back := &line{Changer: store.NewMem()}, make(chan struct{})
			a, _ := agent(t, own, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
			run(t, a, arc.Objective{ID: "1", Text: "write"})
			own.set(false, back)
			if id == "" {
				time.Sleep(11 * time.Second)
			}
			ended := make(chan error, 1)
			go func() {
				r, err := a.Run(t.Context(), arc.Objective{ID: id, Text: "write"})
				assert.Nil(t, r)
				ended <- err
			}()
			time.Sleep(20 * time.Second)
			close(back)
			err := <-ended
			require.NotErrorIs(t, err, arc.ErrRunning)
			require.Equal(t, reason.Unavailable, reason.Classify(err).Class, err)
			time.Sleep(10 * time.Second)
			run(t, a, arc.Objective{ID: id, Text: "write"})
		})
	}
}

// Where the store is away a call lasts about as long as its context, whatever it has begun with.
func TestCallsWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, back := &line{Changer: store.NewMem()}, make(chan struct{})
		a, _ := agent(t, own, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
		run(t, a, arc.Objective{ID: "1", Text: "write"})
		own.set(false, back)
		of := func(o arc.Objective) func(context.Context) (*arc.Report, error) {
			o.Text = "write"
			return func(ctx context.Context) (*arc.Report, error) { return a.Run(ctx, o) }
		}
		for name, call := range map[string]func(context.Context) (*arc.Report, error){
			"run": of(arc.Objective{}), "of an ID": of(arc.Objective{ID: "7"}), "of another": of(arc.Objective{Scope: "b"}),
			"retry":  func(ctx context.Context) (*arc.Report, error) { return a.In("").Retry(ctx, "1", "") },
			"cancel": func(ctx context.Context) (*arc.Report, error) { return nil, a.In("").Cancel(ctx, "1", "") },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			ended := make(chan error, 1)
			go func() {
				_, err := call(ctx)
				ended <- err
			}()
			time.Sleep(7 * time.Second)
			select {
			case err := <-ended:
				require.Error(t, err, name)
			default:
				assert.Fail(t, "it waits for longer than its context", name)
			}
			cancel()
		}
		close(back)
	})
}

// Who works on a run whose scope is erased by another process is told so in words, whichever of the two is
// noticed first.
func TestErasedElsewhere(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			st, began, free := store.NewMem(), make(chan bool, 1), make(chan bool)
			w := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
				func(context.Context, *act.Call) (*act.Result, error) {
					began <- true
					<-free
					return &act.Result{Text: "done"}, nil
				})}
			a, _ := agent(t, st, arc.Host{Workers: []act.Worker{w}}, nil)
			b, _ := agent(t, st, arc.Host{Workers: []act.Worker{w}}, nil)
			ended := make(chan error, 1)
			go func() {
				_, err := a.Run(t.Context(), arc.Objective{ID: "7", Scope: "acme/ann", Text: "write"})
				ended <- err
			}()
			<-began
			require.NoError(t, b.In("acme/ann").Erase(t.Context()))
			time.Sleep(wait)
			close(free)
			err := <-ended
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "arc: the run is canceled")
			require.NotContains(t, err.Error(), "condition")
		})
	}
}

// An irreversible call of no known end is told when the run ends, also where another worker has delivered it.
func TestUnknownEndBehindADelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pays := act.Worker{Name: "card", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(ctx context.Context, _ *act.Call) (*act.Result, error) {
				pay := act.Worker{Name: "pay", Irreversible: true}
				_, err := act.Do(ctx, &pay, "pay", nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
					panic("reset")
				})
				return nil, err
			})}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{pays}}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "pay"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, a.SetWorkers([]act.Worker{(&arctest.Worker{}).As("post")}))
		r, err := a.In("").Wait(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status, r.Text)
		require.Contains(t, strings.Join(journal(t, a, "7"), "\n"), "unknown_end: pay {} in attempt 1: its end is not known")
	})
}

// A store that is away for long is told of once, and once more when that ends what is under way.
func TestRecordNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		own := &line{Changer: store.NewMem()}
		o := &arc.Options{Process: "pod-1", Logger: slog.New(slog.NewTextHandler(&told, nil))}
		a, err := arc.New(t.Context(), own, arc.Host{}, o)
		require.NoError(t, err)
		time.Sleep(11 * time.Second)
		for range 2 {
			own.set(true, nil)
			time.Sleep(time.Minute)
			own.set(false, nil)
			time.Sleep(time.Minute)
		}
		require.NoError(t, a.Close())
		require.Equal(t, 4, strings.Count(told.String(), "the record of this process: not renewed"), told.String())
		require.Equal(t, 2, strings.Count(told.String(), "what was under way is canceled"))
		require.Equal(t, 2, strings.Count(told.String(), "arc: what other processes have changed"), told.String())
		require.LessOrEqual(t, strings.Count(told.String(), "arc: what is due"), 2)
		require.Equal(t, 4, strings.Count(told.String(), "process=pod-1-"))
	})
}

// Of processes that are gone for long nothing is kept.
func TestGoneProcessesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		a, _ := agent(t, st, arc.Host{}, nil)
		for n := range 5 {
			name := fmt.Sprint("pod-", n)
			_, err := st.Commit(t.Context(), store.Op{Key: "process/" + name, Value: []byte(name)})
			require.NoError(t, err)
			alive, seen := a.Alive(t.Context(), name)
			require.True(t, alive)
			require.Equal(t, 1, seen)
			time.Sleep(16 * time.Second)
			alive, _ = a.Alive(t.Context(), name)
			require.False(t, alive)
			time.Sleep(time.Hour)
		}
	})
}

// What is due and cannot be read, as by an older version, holds up nothing that is due behind it.
func TestDueUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		w := (&arctest.Worker{Turns: []arctest.Turn{{Err: &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}}, {Text: "done"}}})
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		for _, key := range []string{"due/00000000000000000001/acme/acme//x", "due/never"} {
			_, err = st.Commit(t.Context(), store.Op{Key: key, Value: []byte("\xff\xff")})
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Minute)
		r, err := a.In("").Report(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	})
}

// An Agent without workers and their secrets, as a dashboard is, takes a person's word on a run that names some.
func TestIdleWithoutSecrets(t *testing.T) {
	st := store.NewMem()
	asks := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(_ context.Context, c *act.Call) (*act.Result, error) {
			return nil, &act.PendingError{Questions: []string{"Which one?"}}
		})}
	secrets := func(context.Context, string) (string, error) { return "hunter2hunter2", nil }
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{asks}, Secrets: secrets}, nil)
	for _, id := range []string{"1", "2"} {
		require.Equal(t, arc.Asking, run(t, a, arc.Objective{ID: id, Text: "write", Secrets: []string{"key"}}).Status)
	}
	idle, err := arc.New(t.Context(), st, arc.Host{}, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, idle.Close()) }()
	_, err = idle.In("").Answer(t.Context(), "1", "", "the first")
	require.NoError(t, err)
	require.NoError(t, idle.In("").Cancel(t.Context(), "2", "not needed"))
}

package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// replica opens a named Agent on a store that others are open on.
func replica(t *testing.T, st store.Store, name string, h arc.Host, opts arc.Options) *arc.Agent {
	t.Helper()
	opts.Replica, opts.Now, opts.Maintain, opts.Seed, opts.Sanitizer = name, time.Now, -1, 1, keyed()
	a, err := arc.New(t.Context(), st, h, &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := a.Close(); !errors.Is(err, errKilled) {
			require.NoError(t, err)
		}
	})
	return a
}

// status is how a run stands in the store.
func status(t *testing.T, a *arc.Agent, id string) arc.Status {
	t.Helper()
	for r, err := range a.In("").Runs(t.Context(), arc.Filter{}) {
		require.NoError(t, err)
		if r.ID == id {
			return r.Status
		}
	}
	return ""
}

func TestRunOfAReplicaIsItsOwnUntilItIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		away := &wayward{Mem: mem}
		begun := make(chan struct{})
		hanging := (&script{}).host()
		hanging.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
			close(begun)
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		})
		a := replica(t, away, "a", hanging, arc.Options{})
		b := replica(t, mem, "b", (&script{}).host(), arc.Options{})
		over := make(chan error)
		go func() {
			_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend it"})
			over <- err
		}()
		<-begun
		idle(2 * time.Minute) // a long attempt; the lease is renewed meanwhile

		r, err := b.In("").Resume(t.Context(), "run")
		var owned *arc.OwnedError
		require.ErrorAs(t, err, &owned)
		require.Equal(t, arc.OwnedError{Run: "run", Replica: "a"}, *owned)
		require.ErrorIs(t, err, arc.ErrRunning)
		require.Nil(t, r)
		require.ErrorIs(t, b.In("").Delete(t.Context(), "run"), arc.ErrRunning)

		away.sleep(time.Minute)
		idle(40 * time.Second) // two leases and a look
		require.Equal(t, arc.Delivered, status(t, b, "run"), "b has taken it over by itself")
		err = <-over // once a is awake
		require.ErrorAs(t, err, &owned)
		require.Equal(t, "run", owned.Run)
		r, err = b.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, 1, r.Attempts)
		require.Equal(t, 0, leases(t, mem))
	})
}

// TestReplicasWithOneSeed: runs that begin in the same millisecond at replicas of one configuration
// have ids of their own.
func TestReplicasWithOneSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		a := replica(t, mem, "a", (&script{}).host(), arc.Options{})
		b := replica(t, mem, "b", (&script{}).host(), arc.Options{})
		require.NotEqual(t, run(t, a, arc.Objective{Text: "mend it"}).ID, run(t, b, arc.Objective{Text: "mend it too"}).ID)
	})
}

func TestRunThatItsCallerLeavesIsAnybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		ctx, cancel := context.WithCancel(t.Context())
		h := (&script{}).host()
		h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
			cancel()
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		})
		a := replica(t, mem, "a", h, arc.Options{})
		b := replica(t, mem, "b", (&script{}).host(), arc.Options{})
		_, err := a.Run(ctx, arc.Objective{ID: "run", Text: "mend it"})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 0, leases(t, mem))
		idle(time.Minute)
		require.Equal(t, arc.Running, status(t, b, "run"), "it was stopped, and is nobody's to go on with by itself")
		r, err := b.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	})
}

func TestRulingAtAnyReplicaReachesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		h := (&script{}).host()
		h.Workers[0].Mode = act.Gated
		asks := (&script{}).host()
		asks.Workers[0].Mode = act.Gated
		a := replica(t, mem, "a", h, arc.Options{})
		b := replica(t, mem, "b", asks, arc.Options{})
		r := run(t, a, arc.Objective{ID: "run", Text: "mend it"})
		require.Equal(t, arc.CauseApproval, r.Cause)
		for p, err := range b.In("").Approvals(t.Context()) {
			require.NoError(t, err)
			require.NoError(t, b.In("").Rule(t.Context(), arc.Ruling{Run: p.Run, Attempt: p.Attempt, Allow: true, By: "ann"}))
		}
		idle(10 * time.Second)
		require.Equal(t, arc.Delivered, status(t, a, "run"))
		require.NoError(t, a.In("").Judge(t.Context(), "run", arc.Verdict{Source: "ann", Right: true}))
		require.Equal(t, 0, leases(t, mem))
	})
}

func TestReplicasRememberTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		a := replica(t, mem, "a", (&script{}).host(), arc.Options{})
		b := replica(t, mem, "b", (&script{}).host(), arc.Options{})
		ours, theirs := a.In("local/ann").Memory(), b.In("local/ann").Memory()
		found := func(s memory.Space) (texts []string) {
			synctest.Wait()
			hits, err := s.Recall(t.Context(), memory.Query{Text: "which key opens the door"})
			require.NoError(t, err)
			for _, h := range hits {
				texts = append(texts, h.Record.Content)
			}
			return texts
		}
		r, err := ours.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"})
		require.NoError(t, err)
		require.Equal(t, []string{"the small key opens the door"}, found(theirs))
		require.Equal(t, found(theirs), found(ours), "what a has written itself is there once")
		more, err := ours.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "ann has the large key of the gate"})
		require.NoError(t, err)
		hits, err := theirs.Recall(t.Context(), memory.Query{Text: "who has the key of the gate", After: more.Revision})
		require.NoError(t, err)
		require.Equal(t, more.ID, hits[0].Record.ID, "at once")
		require.NoError(t, theirs.Forget(t.Context(), more.ID))
		require.NoError(t, theirs.Forget(t.Context(), r.ID))
		require.Empty(t, found(ours))

		// A plan that runs of one have taught fires for a run of the other.
		o := arc.Objective{Text: "mend the cache", Situation: situation}
		for range 2 {
			require.Equal(t, arc.Delivered, run(t, a, o).Status)
		}
		idle(time.Second) // what is written behind is
		synctest.Wait()
		require.Equal(t, 1, run(t, b, o).Fired)
	})
}

// TestReplicasShareBudgets has three replicas, of which some are killed or paused, run more
// than a budget has room for: what was paid is never more, and in the end all of it.
func TestReplicasShareBudgets(t *testing.T) {
	for seed := range uint64(24) {
		synctest.Test(t, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 2))
			mem, room := store.NewMem(), 4+draw.IntN(8)
			var mu sync.Mutex
			made := make(map[string]bool)
			h := priced(func(_ string, w act.Work) bool {
				mu.Lock()
				made[w.Key] = true // once more if the first was cut off
				takes := time.Duration(len(made)*7919%3000) * time.Millisecond
				mu.Unlock()
				idle(takes)
				return true
			}, map[string]float64{"w": 1}, "w")
			open := func(name string, room int, f fate) *arc.Agent {
				var o arc.Options
				bound := arc.Budget{CostUSD: float64(room)}
				o.Bounds = [...]arc.Bounds{{Session: bound}, {Scope: bound}, {Day: bound}}[seed%3]
				o.Grace = -1
				st := &wayward{Mem: mem}
				a := replica(t, st, name, h, o)
				st.expect(f)
				return a
			}
			objective := func(n int) arc.Objective {
				return arc.Objective{ID: fmt.Sprint("run-", n), Session: "s", Text: "mend the cache", Tasks: chore}
			}
			var all [3]*arc.Agent
			for i := range all {
				var f fate
				if i > 0 && seed >= 6 { // in the others nobody is lost
					f = fate{at: 3 + draw.IntN(20), after: draw.IntN(2) == 0}
					if draw.IntN(2) == 0 {
						f.pause = time.Duration(draw.IntN(60)) * time.Second
					}
				}
				all[i] = open(fmt.Sprint("replica-", i), room, f)
			}
			run(t, all[0], objective(0)) // what it costs is known now
			idle(time.Second)
			for n := range 3 * room {
				go func() {
					_, _ = all[n%3].Run(t.Context(), objective(1+n)) // how it stands is looked at when all is over
				}()
				idle(time.Duration(draw.Int64N(int64(300 * time.Millisecond))))
			}
			idle(5 * time.Minute)
			more := 1 + draw.IntN(3)
			last := open("last", room+more, fate{})
			run(t, all[0], objective(1000))
			require.LessOrEqual(t, len(made), room)
			for n := range 3 * room {
				run(t, last, objective(2000+n))
			}
			spent := 0.0
			for r, err := range last.In("").Runs(t.Context(), arc.Filter{}) {
				require.NoError(t, err)
				require.Contains(t, []arc.Cause{"", arc.CauseBudget}, r.Cause, "%s: %s", r.ID, r.Reason)
				spent += r.Usage.CostUSD
			}
			require.InDelta(t, room+more, spent, 1e-9, "seed %d: no update is lost, and nothing stays reserved", seed)
		})
	}
}

// leases counts the leases that are stored.
func leases(t *testing.T, st store.Store) (n int) {
	t.Helper()
	for _, err := range st.Scan(t.Context(), store.Range{Prefix: "arc/lease"}) {
		require.NoError(t, err)
		n++
	}
	return n
}

// wayward is a store as a replica reaches it that is killed or paused, as a process is:
// all that it does.
type wayward struct {
	*store.Mem
	mu      sync.Mutex
	commits int
	fate    fate
	awake   chan struct{} // closed when it is; nil: it was never asleep
	dead    bool
	tell    func(ops []store.Op) // of what was committed
}

// fate is what befalls a replica at one of its commits.
type fate struct {
	at    int           // the commit; 0: nothing does
	after bool          // it took place
	pause time.Duration // 0: for good
}

var errKilled = errors.New("the process was killed")

// sleep pauses the replica.
func (w *wayward) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	awake := make(chan struct{})
	w.awake = awake
	time.AfterFunc(d, func() { close(awake) })
}

// gate waits until the replica is awake, and is an error if it was killed.
func (w *wayward) gate() error {
	w.mu.Lock()
	awake, dead := w.awake, w.dead
	w.mu.Unlock()
	if awake != nil {
		<-awake
	}
	if dead {
		return errKilled
	}
	return nil
}

// meet has the fate befall the replica.
func (w *wayward) meet(f fate) error {
	if f.pause > 0 {
		w.sleep(f.pause)
		return w.gate()
	}
	w.kill()
	return errKilled
}

func (w *wayward) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

// expect has a fate befall the replica, whose commits are counted from now on.
func (w *wayward) expect(f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fate, w.commits = f, 0
}

// made is how many commits the replica has tried since.
func (w *wayward) made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commits
}

func (w *wayward) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := w.gate(); err != nil {
		return store.Entry{}, err
	}
	return w.Mem.Get(ctx, key)
}

func (w *wayward) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := w.gate(); err != nil {
			yield(store.Entry{}, err)
			return
		}
		for e, err := range w.Mem.Scan(ctx, r) {
			if !yield(e, err) {
				return
			}
		}
	}
}

func (w *wayward) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := w.gate(); err != nil {
		return 0, err
	}
	w.mu.Lock()
	w.commits++
	f, now := w.fate, w.commits == w.fate.at
	w.mu.Unlock()
	if now && !f.after {
		if err := w.meet(f); err != nil {
			return 0, err
		}
	}
	rev, err := w.Mem.Commit(ctx, ops...)
	if err == nil && w.tell != nil {
		w.tell(ops)
	}
	if now && f.after {
		if err := w.meet(f); err != nil {
			return 0, err
		}
	}
	return rev, err
}

// history is what replicas have done, as seen from the store and from the workers.
type history struct {
	sync.Mutex
	finished map[string]int       // attempts of a run that have
	made     map[string]int       // how often an attempt was
	again    []string             // attempts that were made once they had finished
	ended    map[string]int       // how often a run was
	owner    map[string]string    // who has the lease of a run
	heard    map[string]time.Time // when it was renewed last
	wrong    []string             // what only an owner may do
	taken    int                  // leases that lapsed
}

func newHistory() *history {
	return &history{
		finished: map[string]int{}, made: map[string]int{}, ended: map[string]int{},
		owner: map[string]string{}, heard: map[string]time.Time{},
	}
}

// told takes in what a replica has committed.
func (h *history) told(name string, ops []store.Op) {
	h.Lock()
	defer h.Unlock()
	for _, op := range ops {
		if id, ok := strings.CutPrefix(op.Key, "arc/lease\x00local\x00"); ok {
			if was := h.owner[id]; was != "" && was != name {
				h.taken++
				if silent := time.Since(h.heard[id]); silent < 15*time.Second {
					h.wrong = append(h.wrong, fmt.Sprintf("%s took %s after %v", name, id, silent))
				}
			}
			h.owner[id], h.heard[id] = name, time.Now()
			if op.Delete {
				h.owner[id] = ""
			}
		}
	}
	for _, op := range ops {
		if !arc.IsRun(op.Key) || op.Delete {
			continue
		}
		s, err := arc.DecodeState(store.Entry{Key: op.Key, Value: op.Value})
		if err != nil {
			panic(err)
		}
		if owner := h.owner[s.ID]; owner != name && (owner != "" || s.Status == arc.Running) {
			h.wrong = append(h.wrong, fmt.Sprintf("%s wrote %s of %q", name, s.ID, owner))
		}
		h.finished[s.ID] = max(h.finished[s.ID], s.Attempts)
		if s.Status == arc.Delivered {
			h.ended[s.ID]++
		}
	}
}

// attempt is told of an attempt that begins.
func (h *history) attempt(w act.Work) {
	h.Lock()
	defer h.Unlock()
	h.made[w.Key]++
	if h.finished[w.Run] >= w.Attempt {
		h.again = append(h.again, w.Key)
	}
}

// TestReplicaThatIsLostAtAnyCommit has one be killed or paused before and after each commit of
// a run, which another one ends meanwhile.
func TestReplicaThatIsLostAtAnyCommit(t *testing.T) {
	for n := range 16 {
		synctest.Test(t, func(t *testing.T) {
			mem, seen := store.NewMem(), newHistory()
			open := func(name string, f fate) (*arc.Agent, *wayward) {
				st := &wayward{Mem: mem, tell: func(ops []store.Op) { seen.told(name, ops) }}
				h := (&script{}).host()
				h.Workers[0].Executor = act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
					seen.attempt(w)
					return done(`"ok"`), nil
				})
				a := replica(t, st, name, h, arc.Options{Grace: -1})
				st.expect(f)
				return a, st
			}
			f := fate{at: 2 + n/4, after: n%4 < 2} // the first is to hear of others
			if n%2 == 0 {
				f.pause = time.Minute
			}
			a, st := open("a", f)
			b, _ := open("b", fate{})
			r, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend it"})
			if f.pause == 0 {
				require.ErrorIs(t, err, errKilled, f)
			} else if err != nil {
				require.ErrorIs(t, err, arc.ErrRunning, f)
			} else {
				require.Equal(t, arc.Delivered, r.Status, f)
			}
			idle(time.Minute)
			require.GreaterOrEqual(t, st.made(), f.at)
			if f.at > 2 || f.after { // else there is no run
				require.Equal(t, arc.Delivered, status(t, b, "run"), f)
				require.Equal(t, 1, seen.ended["run"], f)
			}
			require.Empty(t, seen.again, f)
			require.Empty(t, seen.wrong, f)
			require.Equal(t, 0, leases(t, mem))
		})
	}
}

// TestReplicasThatAreKilledAndPaused has three Agents on one store run objectives while
// one after another meets its fate at some commit. A killed one comes back by its name.
func TestReplicasThatAreKilledAndPaused(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { wayfare(t, seed) })
		})
	}
}

func wayfare(t *testing.T, seed uint64) {
	const objectives = 80
	draw := rand.New(rand.NewPCG(seed, 1))
	mem, seen := store.NewMem(), newHistory()
	var all []*arc.Agent
	open := func(f fate) *arc.Agent {
		h := (&script{}).host("one", "two")
		for i := range h.Workers {
			h.Workers[i].Executor = act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
				seen.attempt(w)
				return done(`"ok"`), nil
			})
		}
		name := fmt.Sprint("replica-", len(all))
		st := &wayward{Mem: mem, fate: f, tell: func(ops []store.Op) { seen.told(name, ops) }}
		all = append(all, replica(t, st, name, h, arc.Options{Grace: -1}))
		return all[len(all)-1]
	}
	agents := [...]*arc.Agent{open(fate{}), open(fate{}), open(fate{})}
	for n := range objectives {
		i := draw.IntN(len(agents))
		if n%3 == 0 { // whoever was there goes on with what it is live with
			f := fate{at: 3 + draw.IntN(20), after: draw.IntN(2) == 0}
			if draw.IntN(2) == 0 {
				f.pause = time.Duration(draw.IntN(60)) * time.Second
			}
			agents[i] = open(f)
		}
		a := agents[i]
		o := arc.Objective{
			ID: fmt.Sprint("run-", n), Text: fmt.Sprint("mend the cache of host ", n), Scope: memory.Scope(fmt.Sprint("local/", n)),
		}
		go func() {
			_, _ = a.Run(t.Context(), o) // how it stands is looked at when all is over
		}()
		idle(time.Duration(draw.IntN(2000)) * time.Millisecond)
	}
	last := open(fate{})
	idle(3 * time.Minute)
	n := 0
	for r, err := range last.In("").Runs(t.Context(), arc.Filter{}) {
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status, "%s: %s %s", r.ID, r.Cause, r.Reason)
		require.Equal(t, 1, r.Attempts, r.ID)
		n++
	}
	seen.Lock()
	t.Log(n, "runs,", seen.taken, "taken over")
	require.Empty(t, seen.again, "no attempt that has finished is made again")
	require.Empty(t, seen.wrong)
	for id, n := range seen.ended {
		require.Equal(t, 1, n, id)
	}
	seen.Unlock()
	require.Equal(t, 0, leases(t, mem))

	// What was learned is what one process learns of the same.
	for _, a := range all {
		if err := a.Close(); !errors.Is(err, errKilled) {
			require.NoError(t, err)
		}
	}
	alone := store.NewMem()
	one := agentOn(t, alone, (&script{}).host("one", "two"), nil)
	for id := range seen.ended {
		run(t, one, arc.Objective{ID: id, Text: "mend the cache", Scope: memory.Scope("local/" + id)})
	}
	require.NoError(t, one.Close())
	require.Equal(t, learned(t, alone), learned(t, mem))
}

// learned is what a store has of the attempts of workers, and of the outcomes of sessions.
func learned(t *testing.T, st store.Store) map[string]int {
	t.Helper()
	book, err := rank.Open(t.Context(), st, &rank.Options{Tenant: "local"})
	require.NoError(t, err)
	monitor, err := meta.Open(t.Context(), st, &meta.Options{Tenant: "local"})
	require.NoError(t, err)
	n := make(map[string]int)
	for s, err := range book.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		n[fmt.Sprint("sample ", s.Key, s.Success)]++
	}
	for o, err := range monitor.Outcomes(t.Context()) {
		require.NoError(t, err)
		n[fmt.Sprint("outcome ", o.Session, " ", o.Key, o.Success)]++
	}
	require.NoError(t, errors.Join(book.Close(), monitor.Close()))
	return n
}

// TestRunRecallsWhatWasRememberedElsewhere has one replica run right after another has remembered,
// also while it hears of nothing.
func TestRunRecallsWhatWasRememberedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		late := &delayed{Mem: mem, by: 300 * time.Millisecond}
		a := replica(t, mem, "a", (&script{}).host(), arc.Options{})
		b := replica(t, late, "b", (&script{}).host(), arc.Options{})
		hasty := replica(t, late, "hasty", (&script{}).host(), arc.Options{ReadYourWrites: -1})
		told := func(agent *arc.Agent, n int) int {
			text := fmt.Sprint("the key of door ", n, " is blue")
			_, err := a.In("local/ann").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: text})
			require.NoError(t, err)
			found := 0
			for e, err := range agent.Events(t.Context(), arc.Objective{Text: text, Scope: "local/ann"}) {
				require.NoError(t, err)
				if e.Kind == arc.EventRecalled {
					found = len(e.IDs)
				}
			}
			return found
		}
		require.Equal(t, 0, told(hasty, 1))
		idle(time.Second)
		require.Positive(t, told(b, 2))
		began := time.Now()
		hits, err := b.In("local/ann").Memory().Recall(t.Context(), memory.Query{Text: "which key is blue", After: memory.Latest})
		require.NoError(t, err)
		require.NotEmpty(t, hits)
		require.Equal(t, 300*time.Millisecond, time.Since(began))
		h, err := b.Health(t.Context(), "local/ann")
		require.NoError(t, err)
		require.Equal(t, 300*time.Millisecond, h.Behind)

		late.set(time.Minute) // it goes on with what it has
		began = time.Now()
		told(b, 3)
		require.Equal(t, time.Second, time.Since(began))
		h, err = b.Health(t.Context(), "local/ann")
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(h.Issues), "recall is behind")
		idle(2 * time.Minute)
	})
}

// delayed is a store whose changes are heard of later. What is due waits for no timer: its
// receiver would run one beside the bubble's own, and with -race the runtime of Go 1.26 has
// one context for both, which breaks.
type delayed struct {
	*store.Mem
	mu sync.Mutex
	by time.Duration
}

func (d *delayed) set(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.by = by
}

func (d *delayed) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	type change struct {
		store.Entry
		due time.Time
	}
	return func(yield func(store.Entry, error) bool) {
		changes := make(chan change, 1000)
		go func() {
			defer close(changes)
			for e, err := range d.Mem.Watch(ctx, prefix, after) {
				if err != nil {
					return
				}
				d.mu.Lock()
				due := time.Now().Add(d.by)
				d.mu.Unlock()
				changes <- change{e, due}
			}
		}()
		for c := range changes {
			if wait := time.Until(c.due); wait > 0 {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
			}
			if !yield(c.Entry, ctx.Err()) || ctx.Err() != nil {
				return
			}
		}
	}
}

// A worker that a person has paused at one replica is not tried at another.
func TestApprovalReachesAllReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		a := replica(t, st, "a", (&script{}).host("v", "w"), arc.Options{})
		b := replica(t, st, "b", (&script{}).host("v", "w"), arc.Options{})
		_, err := b.In("").Rank(t.Context(), "it leaks", reason.Task{})
		require.NoError(t, err)
		book, err := proposal.Open(t.Context(), st, &proposal.Options{Tenant: "local", Now: time.Now})
		require.NoError(t, err)
		p, err := book.Propose(t.Context(), proposal.Proposal{
			Kind: "executor", Subject: "w", Reason: "it fails", Samples: 60, Needs: 1,
			Change: json.RawMessage(`{"worker":"w","skill":"","standing":"paused"}`),
		})
		require.NoError(t, err)
		p, err = a.In("").Approve(t.Context(), p.ID, "ada", "")
		require.NoError(t, err)
		require.Equal(t, "applied", p.Status, p.Note)
		synctest.Wait()
		ranking, err := b.In("").Rank(t.Context(), "it leaks", reason.Task{})
		require.NoError(t, err)
		require.Len(t, ranking, 1)
		require.Equal(t, "v", ranking[0].Candidate.Name)
	})
}

func TestReplicaHeedsWhatAnotherUnlearned(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, v arc.View, fact memory.ID){
		"the fact is forgotten": func(t *testing.T, v arc.View, fact memory.ID) {
			require.NoError(t, v.Memory().Forget(t.Context(), fact))
		},
		"the fact is superseded": func(t *testing.T, v arc.View, fact memory.ID) {
			r, err := v.Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "Paris it is"})
			require.NoError(t, err)
			require.NoError(t, v.Memory().Supersede(t.Context(), fact, r.ID))
		},
		"it was wrong": func(t *testing.T, v arc.View, _ memory.ID) {
			for _, source := range []string{"ann", "ben", "cleo"} {
				require.NoError(t, v.Judge(t.Context(), "2", arc.Verdict{Source: source, Why: "it came back"}))
			}
		},
		"there is news": func(t *testing.T, v arc.View, _ memory.ID) {
			_, err := v.Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "The customer wants no parcel on a Friday."})
			require.NoError(t, err)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			mem := store.NewMem()
			s := &script{decide: func(int, reason.Brief) (reason.Decision, error) { return plan("send the parcel to Berlin"), nil }}
			a := replica(t, mem, "a", s.host(), arc.Options{})
			b := replica(t, mem, "b", s.host(), arc.Options{})
			fact, err := a.In("").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the customer's parcels go to Berlin"})
			require.NoError(t, err)
			for i, at := range []*arc.Agent{a, a, a, b} {
				idle(time.Minute)
				r := run(t, at, arc.Objective{ID: fmt.Sprint(i), Text: "send the parcel to the customer"})
				require.Equal(t, i > 1, r.Fired == 1, "%s: %d", name, i)
			}
			end(t, a.In(""), fact.ID)
			require.Zero(t, run(t, b, arc.Objective{Text: "send the parcel to the customer"}).Fired, name)
		})
	}
}

// A damaged lease keeps ResumeDue from no run that is due, and is told of.
func TestDamagedLeaseHidesNoDueRun(t *testing.T) {
	t.Parallel()
	c, st, s := newClock(), store.NewMem(), &script{}
	away := true
	s.do = func(int, act.Work) (act.Result, error) {
		if away {
			return act.Result{}, syscall.ECONNREFUSED
		}
		return done(`"ok"`), nil
	}
	a := agentOn(t, st, s.host(), &arc.Options{Replica: "a", Now: c.Now, Maintain: -1, Patience: -1})
	require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "run", Text: "mend it"}).Status)
	_, err := st.Commit(t.Context(), store.Op{Key: "arc/lease\x00local\x00other", Value: []byte("\x00\x00damaged")})
	require.NoError(t, err)
	away = false
	c.Add(time.Hour)
	_, err = a.ResumeDue(t.Context())
	require.ErrorIs(t, err, store.ErrDamaged)
	require.Equal(t, arc.Delivered, status(t, a, "run"))
}

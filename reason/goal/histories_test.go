package goal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

var (
	histories = flag.Int("goal.histories", 1000, "how many histories to play")
	firstSeed = flag.Uint64("goal.seed", 1, "seed of the first history")
)

var errDead = errors.New("the process is dead")

// process is a store as one process sees it: it fails now and then, and in the
// end the process dies with a commit, before or after it has taken place.
type process struct {
	store.Store
	mu    sync.Mutex
	h     *history
	tries map[string]int // commits by their first key
	flaky float64        // share of commits, and of scans, that report an error
	scans int
	left  int // commits until it dies; 0: it does not
	dead  atomic.Bool
}

func (p *process) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	p.mu.Lock()
	p.left--
	p.tries[ops[0].Key]++
	r := p.h.draw(fmt.Sprint(ops[0].Key, p.tries[ops[0].Key], p.left < 0))
	dies, fails, applied := p.left == 0, r.Float64() < p.flaky, r.IntN(2) == 0
	p.mu.Unlock()
	switch {
	case p.dead.Load():
		return 0, errDead
	case !dies && !fails:
		return p.Store.Commit(ctx, ops...)
	case dies:
		p.dead.Store(true)
	}
	if applied {
		if _, err := p.Store.Commit(ctx, ops...); err != nil {
			return 0, err
		}
	}
	return 0, errDead
}

// calm lets a process live, and its store answer, from now on.
func (p *process) calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flaky, p.left = 0, 0
}

func (p *process) Get(ctx context.Context, key string) (store.Entry, error) {
	if p.dead.Load() {
		return store.Entry{}, errDead
	}
	return p.Store.Get(ctx, key)
}

// Scan fails now and then, at once or half way.
func (p *process) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	p.mu.Lock()
	p.scans++
	d := p.h.draw(fmt.Sprint("scan", r.Prefix, p.scans))
	fails, after := d.Float64() < p.flaky, d.IntN(3)
	p.mu.Unlock()
	return func(yield func(store.Entry, error) bool) {
		for e, err := range p.Store.Scan(ctx, r) {
			if fails && after == 0 || p.dead.Load() {
				break
			}
			after--
			if !yield(e, err) {
				return
			}
		}
		if fails || p.dead.Load() {
			yield(store.Entry{}, errDead)
		}
	}
}

// history is the world outside of the controllers: what is really the case,
// and what the executors have been asked for.
type history struct {
	t      *testing.T
	seed   uint64
	r      *rand.Rand
	mu     sync.Mutex
	truth  map[string]bool // domains that are broken
	calls  map[string]int  // executions by key
	result map[string]goal.Result
	active map[string]int // executions by domain that nobody has given up
	reads  map[string][]time.Time
	honest bool // from now on, everything works
	resume bool // the runner remembers how runs ended
	proc   *process
	set    *goal.Goals
	skew   atomic.Int64 // of the clock
	jumps  bool         // the clock is put forward and back
}

// now is the time as the controllers are told it.
func (h *history) now() time.Time { return time.Now().Add(time.Duration(h.skew.Load())) }

// worker is the dispatcher and the catalog of one process.
type worker struct {
	*history
	proc *process
}

// resumer is a worker that remembers how runs ended.
type resumer struct{ worker }

func (w worker) Judge(context.Context, string, bool) error { return nil }

func (w worker) Skills() []string { return []string{"restart"} }

func (w worker) Effects() []reason.Effect {
	var out []reason.Effect
	for i := range domains {
		out = append(out, reason.Effect{Domain: domainName(i), Path: "data"})
	}
	return out
}

func domainName(i int) string { return fmt.Sprint("d", i) }

func (w worker) Run(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	if w.proc.dead.Load() {
		return goal.Result{}, errDead // a dead process calls nobody
	}
	return w.execute(ctx, d)
}

// Resume knows whether the run was begun, and nothing of how it ended.
func (w worker) Resume(_ context.Context, d goal.Dispatch) (goal.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.proc.dead.Load():
		return goal.Result{}, errDead
	case w.calls[d.ID] == 0:
		return goal.Result{}, store.ErrNotFound
	}
	return goal.Result{End: goal.Interrupted, Why: "after a restart"}, nil
}

// Resume knows what came of a run that had ended.
func (w resumer) Resume(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	w.mu.Lock()
	res, ended := w.result[d.ID]
	w.mu.Unlock()
	if ended && !w.proc.dead.Load() {
		return res, nil
	}
	return w.worker.Resume(ctx, d)
}

// draw returns draws that depend on nothing but the history and what they are
// for: goroutines take theirs in no certain order.
func (h *history) draw(what string) *rand.Rand {
	f := fnv.New64a()
	f.Write([]byte(what))
	return rand.New(rand.NewPCG(h.seed, f.Sum64()))
}

// execute is what an executor does, which may be anything.
func (h *history) execute(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	h.mu.Lock()
	h.calls[d.ID]++
	domain := domainOf(d.Goal)
	h.active[domain]++
	if n := h.active[domain]; n > 1 {
		h.t.Errorf("%d executions for %s at a time", n, domain)
	}
	if len(d.Steps) != 1 || d.Steps[0].Task.Effect == nil || d.Steps[0].Task.Effect.Domain != domain {
		h.t.Errorf("%s: wrong steps %+v", d.ID, d.Steps)
	}
	r := h.draw(d.ID)
	what, lasts, effect := r.IntN(14), time.Duration(r.IntN(20))*time.Second, time.Duration(r.IntN(40))*time.Second
	if h.honest {
		what, effect = 0, 0
	}
	h.mu.Unlock()
	cut := false
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		cut = true
	}
	h.mu.Lock()
	h.active[domain]--
	h.mu.Unlock()
	mend := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.truth[domain] = false
	}
	if cut && what != 7 {
		if what%2 == 0 {
			mend()
		}
		return goal.Result{}, ctx.Err()
	}
	res, err := goal.Result{End: goal.Succeeded, Worker: "w"}, error(nil)
	switch what {
	case 0, 1:
		mend()
	case 2: // its effect takes time
		time.AfterFunc(effect, mend)
	case 3: // a lie
	case 4:
		res, err = goal.Result{End: goal.Failed, Why: "could not"}, nil
	case 5:
		err = errors.New("boom")
	case 6:
		panic("boom")
	case 7: // hangs, whatever its context says
		<-time.After(time.Hour)
		mend()
	case 8:
		res = goal.Result{End: goal.Refused, Why: "queue is full"}
	case 9:
		res = goal.Result{}
	case 10:
		mend()
		res.Deltas = []reason.Delta{{Domain: "x", Path: "no path", Value: []byte("{")}}
	case 11:
		mend()
		res.Deltas = []reason.Delta{{Domain: domain, Path: "data.broken", Value: []byte("false")}}
	case 12:
		res.End, res.Done = "done", 99
	case 13:
		res = goal.Result{End: goal.Interrupted, Why: "who knows", Done: -1}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.result[d.ID] = res
	}
	return res, err
}

const (
	domains  = 3
	lease    = 2 * time.Minute
	cool     = 90 * time.Second
	interval = 5 * time.Second
)

// goals are one for each domain, and a second one for the first; all but
// those that somebody has taken out.
func (h *history) goals(out ...string) []byte {
	var b strings.Builder
	b.WriteString("goals:\n")
	for i, id := range []string{"goal-d0", "goal-d1", "goal-d2", "alarm-d0"} {
		if !slices.Contains(out, id) {
			fmt.Fprintf(&b, "- {id: %s, severity: %s, selector: domains.%s.data.broken, operator: falsy}\n",
				id, []string{"low", "high", "critical", "high"}[i], domainOf(id))
		}
	}
	if len(out) == 4 {
		return []byte("goals: []\n")
	}
	return []byte(b.String())
}

func domainOf(id string) string { return id[strings.Index(id, "-")+1:] }

// start begins a process.
func (h *history) start(st store.Store, w *goal.World, dies int, out func(goal.Outcome)) *goal.Controller {
	h.proc = &process{Store: st, h: h, tries: map[string]int{}, left: dies, flaky: 0.1}
	if h.honest {
		h.proc.flaky = 0
	}
	var d goal.Runner = worker{h, h.proc}
	if h.resume {
		d = resumer{worker{h, h.proc}}
	}
	gs := new(goal.Goals)
	_, err := gs.Load(h.goals())
	require.NoError(h.t, err)
	h.set = gs
	for {
		c, err := goal.New(h.t.Context(), h.proc, w, gs, worker{h, h.proc}, d, &goal.Options{
			Lease: lease, MaxInFlight: 2, History: 1 << 20, Grace: -1, Outcome: out, Now: h.now,
		})
		if err == nil {
			return c
		}
		require.ErrorIs(h.t, err, errDead)
	}
}

// read lets the world be read: rightly, wrongly, not at all.
func (h *history) read(w *goal.World) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	for i := range domains {
		name := domainName(i)
		s := goal.Snapshot{At: now, Data: map[string]any{"broken": h.truth[name]}}
		if !h.honest {
			switch h.r.IntN(10) {
			case 0, 1, 2:
				continue // late
			case 3:
				s.Err = errors.New("no answer")
			case 4:
				s.Data = map[string]any{} // missing
			case 5:
				s.Data = map[string]any{"broken": h.r.IntN(2) == 0}
			}
		}
		require.NoError(h.t, w.Set(name, s))
		if s.Err == nil {
			h.reads[name] = append(h.reads[name], now)
		}
	}
}

// TestHistories plays histories in which everything goes wrong that can, and
// then lets all be well.
func TestHistories(t *testing.T) {
	t.Parallel()
	ends := map[goal.End]int{}
	dispatches, restarts := 0, 0
	for i := range uint64(*histories) {
		seed := *firstSeed + i
		synctest.Test(t, func(t *testing.T) {
			h := &history{
				t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), resume: seed%2 == 0, jumps: seed%5 == 0,
				truth: map[string]bool{}, calls: map[string]int{}, result: map[string]goal.Result{}, active: map[string]int{}, reads: map[string][]time.Time{},
			}
			defer func() {
				if t.Failed() {
					t.Logf("-goal.histories=1 -goal.seed=%d", seed)
				}
				idle(2 * time.Hour) // let those that hang end
			}()
			outcomes, n := h.play()
			restarts += n
			dispatches += len(outcomes)
			for _, o := range outcomes {
				ends[o.End]++
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %d dispatches, %d restarts: %v", *histories, dispatches, restarts, ends)
	if *histories >= 100 {
		require.Len(t, ends, 5)
		require.Greater(t, dispatches, 5**histories)
	}
}

// idle lets time pass inside a bubble.
func idle(d time.Duration) { <-time.After(d) }

func (h *history) play() (outcomes []goal.Outcome, restarts int) {
	st := store.NewMem()
	heard := map[string]int{}
	hear := func(o goal.Outcome) {
		h.mu.Lock()
		defer h.mu.Unlock()
		heard[o.ID]++
	}
	w := new(goal.World)
	c := h.start(st, w, 1+h.r.IntN(30), hear)
	defer func() { c.Close() }()
	steps := 100
	if h.jumps { // a failure that lies ahead makes a loop of each that follows
		steps = 160
	}
	for step := range steps {
		if step == 60 {
			h.mu.Lock()
			h.honest = true
			h.mu.Unlock()
		}
		if step < 60 && h.r.IntN(4) == 0 {
			h.mu.Lock()
			h.truth[domainName(h.r.IntN(domains))] = true
			h.mu.Unlock()
		}
		h.meddle(step)
		h.read(w)
		rep, err := c.Tick(h.t.Context())
		if err != nil && !errors.Is(err, errDead) {
			require.NoError(h.t, err)
		}
		for _, g := range rep.Goals {
			if g.Doing == goal.InFlight && err == nil && !h.jumps { // else the store did not take the outcome
				require.False(h.t, rep.At.After(g.Until), "%s is in flight past its lease", g.Goal)
			}
		}
		idle(interval + time.Duration(h.r.IntN(30)+min(1, step/60)*15)*time.Second)
		synctest.Wait()
		if step == 60 { // what is well from now on need not have been restarted
			h.proc.calm()
		}
		if h.proc.dead.Load() || step == 60 && h.r.IntN(2) == 0 || h.r.IntN(50) == 0 {
			c.Close()
			synctest.Wait()
			restarts++
			if h.r.IntN(2) == 0 {
				w = new(goal.World)
			}
			c = h.start(st, w, 0, hear)
			if step < 60 {
				h.proc.left = 1 + h.r.IntN(30)
			}
		}
	}
	require.NoError(h.t, c.Wait(h.t.Context()))
	h.read(w)
	rep, err := c.Tick(h.t.Context())
	require.NoError(h.t, err)
	for _, g := range rep.Goals {
		require.Equal(h.t, goal.Met, g.Status, "%+v", g)
	}
	require.Empty(h.t, h.broken())
	for o, err := range c.Outcomes(h.t.Context()) {
		require.NoError(h.t, err)
		outcomes = append(outcomes, o)
	}
	c.Close()
	h.check(outcomes, heard)
	require.Zero(h.t, c.Open(h.t.Context()), "a dispatch is left open")
	return outcomes, restarts
}

// meddle is what people do meanwhile: they take a goal out and put it back,
// and set the clock.
func (h *history) meddle(step int) {
	if step >= 60 {
		_, err := h.set.Load(h.goals())
		require.NoError(h.t, err)
		return
	}
	if h.r.IntN(10) == 0 {
		ids := []string{"goal-d0", "goal-d1", "goal-d2", "alarm-d0"}
		h.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		_, err := h.set.Load(h.goals(ids[:h.r.IntN(4)]...))
		require.NoError(h.t, err)
	}
	if h.jumps && h.r.IntN(10) == 0 {
		h.skew.Store(int64(time.Duration(h.r.IntN(24*60)-12*60) * time.Minute))
	}
}

func (h *history) broken() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for name, broken := range h.truth {
		if broken {
			out = append(out, name)
		}
	}
	return out
}

// check holds what was done against what may be done.
func (h *history) check(outcomes []goal.Outcome, heard map[string]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	admitted := map[string]bool{}
	byGoal, byDomain := map[string][]goal.Outcome{}, map[string][]goal.Outcome{}
	for i, o := range outcomes {
		require.EqualValues(h.t, i+1, o.Number, "an admitted dispatch has no outcome")
		require.False(h.t, admitted[o.ID], "a key is used twice")
		admitted[o.ID] = true
		judged := o.End == goal.Succeeded || o.End == goal.Unseen && o.Why != ""
		require.LessOrEqual(h.t, heard[o.ID], map[bool]int{false: 1, true: 2}[judged])
		switch calls := h.calls[o.ID]; o.End {
		case goal.Succeeded, goal.Unseen, goal.Failed:
			require.Equal(h.t, 1, calls, "%+v", o)
		default: // it may have been cut off just before the call
			require.LessOrEqual(h.t, calls, 1, "%+v", o)
		}
		byGoal[o.Goal] = append(byGoal[o.Goal], o)
		byDomain[domainOf(o.Goal)] = append(byDomain[domainOf(o.Goal)], o)
	}
	for key := range h.calls {
		require.True(h.t, admitted[key], "%s was never admitted", key)
	}
	if h.jumps {
		return // times cannot be compared
	}
	for _, list := range byGoal {
		var failures []time.Time
		for _, o := range list {
			failed := 0
			for k, f := range failures {
				if age := o.At.Sub(f); age >= 0 && age <= 5*time.Minute {
					failed++
				}
				if k >= 2 && f.Sub(failures[k-2]) <= 5*time.Minute {
					require.GreaterOrEqual(h.t, o.At.Sub(f), 10*time.Minute, "it had to rest: %+v", o)
				}
			}
			require.Less(h.t, failed, 3, "%+v", o)
			if o.End != goal.Succeeded && o.End != goal.Unseen {
				failures = append(failures, o.Ended)
			}
		}
	}
	for domain, list := range byDomain {
		for i, o := range list {
			if i == 0 || list[i-1].End == goal.Refused {
				continue
			}
			last := list[i-1]
			require.False(h.t, o.At.Before(last.Ended), "two dispatches about a value at once")
			if last.End == goal.Succeeded || last.End == goal.Unseen {
				require.GreaterOrEqual(h.t, o.At.Sub(last.Ended), cool, "it had to cool down: %+v", o)
			}
			anew := slices.ContainsFunc(h.reads[domain], func(at time.Time) bool { return at.After(last.Ended) && !at.After(o.At) })
			require.True(h.t, anew, "it was not read anew before %+v", o)
		}
	}
}

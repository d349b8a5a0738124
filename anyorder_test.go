package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever the order in which a host does things, and whatever its parts and the store do
// meanwhile: what gates did not pass is not delivered, what was committed is not done
// again, nobody is told what is another's, and no secret is kept.
func TestInAnyOrder(t *testing.T) {
	t.Parallel()
	reached := make(map[string]int)
	checkInBubble(t, func(rt *rapid.T) {
		w := newAnyOrder(rt, reached)
		defer w.close()
		rt.Repeat(map[string]func(*rapid.T){
			"run": w.run, "run it": w.run, "run this": w.run, "again": w.again, "again it": w.again,
			"would": w.would, "would it": w.would, "resume": w.resume, "answer": w.answer, "retry": w.retry,
			"judge": w.judge, "rule": w.rule, "delete": w.delete, "erase": w.erase, "maintain": w.maintain,
			"idle": w.idle, "crash": w.crash, "remember": w.remember, "trust": w.trust, "forget": w.forget,
			"person": w.person, "move": w.move, "": w.check,
		})
	})
	t.Log(reached)
	if reached["delivered"] < 200 {
		return // one case was run again
	}
	for _, what := range []string{"fired", "delivered", "asking", "blocked gate", "blocked worker", "waiting approval"} {
		require.NotZero(t, reached[what], what)
	}
}

// checkInBubble checks a property by rapid, each case in a bubble of synctest.
func checkInBubble(t *testing.T, property func(*rapid.T)) {
	rapid.Check(t, func(rt *rapid.T) {
		var failed any // which is rapid's, outside of the bubble
		synctest.Test(t, func(*testing.T) {
			defer func() { failed = recover() }()
			property(rt)
		})
		switch {
		case failed == nil:
		case fmt.Sprintf("%T", failed) == "rapid.invalidData":
			panic(failed) // rapid tells failures apart by their lines
		default:
			panic(failed)
		}
	})
}

// cut is a store that a process has until it ends.
type cut struct {
	store.Store
	gone atomic.Bool
}

func (c *cut) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if c.gone.Load() {
		return 0, errors.New("the process has ended")
	}
	return c.Store.Commit(ctx, ops...)
}

// aRun is what the test knows of a run.
type aRun struct {
	called    string          // the last key that a worker was called with
	committed map[string]bool // keys whose outcome was told
	passed    map[string]bool // outputs that the gate has passed
	seq       int             // of the last event
}

// process is an Agent and the store that it has.
type process struct {
	*arc.Agent
	lossy  bool // the store has kept what it has refused
	faulty *arctest.Store
	at     *cut
}

type anyOrder struct {
	reached map[string]int // how often runs ended how

	mem    *store.Mem
	opts   arc.Options
	agents []*process // one, or replicas
	*process

	last    arc.Objective
	inPlace bool

	mu     sync.Mutex
	cancel func() // after so many calls of the host's parts
	left   int
	asked  int    // calls of the reasoner
	worked int    // and of workers
	deck   []byte // what the host's parts draw from
	runs   map[string]*aRun
	wrong  []string
	notes  map[memory.Scope][]memory.ID
	n      int
}

const theSecret = "hunter2-is-no-password"

var anyScopes = []memory.Scope{"a", "a/x", "b", "b/x"}

func newAnyOrder(t *rapid.T, reached map[string]int) *anyOrder {
	w := &anyOrder{reached: reached, mem: store.NewMem(), runs: map[string]*aRun{}, notes: map[memory.Scope][]memory.ID{}}
	w.opts = arc.Options{
		Replans:  rapid.IntRange(0, 1).Draw(t, "replans"),
		Pivot:    arc.PivotPolicy(rapid.IntRange(0, 2).Draw(t, "pivot")),
		Attended: rapid.Bool().Draw(t, "attended"), Attempts: 2,
		Patience:  rapid.SampledFrom([]time.Duration{-1, 0}).Draw(t, "patience"),
		Retention: arc.Retention{Age: -1}, Seed: 1, Hooks: arc.Hooks{Event: w.heard},
	}
	w.opts.Learn.Holdout = rapid.SampledFrom([]float64{0, 0, 0.3}).Draw(t, "holdout")
	w.opts.Memory.IndexBytes = rapid.SampledFrom([]int64{0, 0, 9000}).Draw(t, "bytes")
	w.opts.Spend = rapid.SampledFrom([]float64{0, 0, 0.05}).Draw(t, "spend")
	w.opts.Name = rapid.SampledFrom([]string{"", "alfred"}).Draw(t, "name")
	w.opts.Maintain = rapid.SampledFrom([]time.Duration{0, -1}).Draw(t, "maintain")
	if rapid.IntRange(0, 3).Draw(t, "in place") == 3 {
		w.inPlace, w.opts.ReasonTimeout, w.opts.AttemptTimeout, w.opts.GateTimeout = true, -1, -1, -1
	}
	if rapid.IntRange(0, 3).Draw(t, "extracts") == 3 {
		w.opts.Memory.Extractor = w
	}
	w.agents = []*process{nil}
	if rapid.IntRange(0, 2).Draw(t, "replicas") == 2 {
		w.agents = []*process{w.open(t, "one"), w.open(t, "two")}
	} else {
		w.agents[0] = w.open(t, "")
	}
	w.process = w.agents[0]
	return w
}

// Extract implements memory.Extractor.
func (w *anyOrder) Extract(_ context.Context, r memory.Record, known []memory.Record) ([]memory.Statement, error) {
	if w.draw(3) == 1 {
		return nil, errBoom
	}
	for _, k := range known {
		if k.Scope.Tenant() != r.Scope.Tenant() {
			w.fault("%v is extracted beside %v", r.Scope, k.Scope)
		}
	}
	return []memory.Statement{{Slot: memory.Slot{Subject: "it", Attribute: "state", Value: "well"}, Confidence: 0.9}}, nil
}

func (w *anyOrder) open(t *rapid.T, replica string) *process {
	at := &cut{Store: w.mem}
	is := &process{at: at, faulty: arctest.NewStore(at)}
	o, st := w.opts, store.Store(is.faulty)
	if replica != "" {
		o.Replica = replica
		st = &watched{is.faulty, w.mem}
	}
	var err error
	is.Agent, err = arc.New(context.Background(), st, w.host(), &o)
	require.NoError(t, err)
	return is
}

// watched is a Store that tells what others write.
type watched struct {
	store.Store
	mem *store.Mem
}

func (x *watched) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return x.mem.Watch(ctx, prefix, after)
}

func (w *anyOrder) close() {
	for _, a := range w.agents {
		_ = a.Close()
	}
}

// draw returns what a part of the host does, below n; 0 once the deck is empty.
func (w *anyOrder) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left--; w.left == 0 && w.cancel != nil {
		w.cancel()
	}
	if len(w.deck) == 0 {
		return 0
	}
	d := int(w.deck[0]) % n
	w.deck = w.deck[1:]
	return d
}

func (w *anyOrder) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// whose are the inputs of an objective: who it is for.
type whose struct {
	Tenant, User string
	N            int
}

func (of whose) mark() string { return "mark" + of.Tenant + "user" + of.User + "end" }

// look looks whether what a part is told is another's.
func (w *anyOrder) look(inputs json.RawMessage, told any) (of whose) {
	if err := json.Unmarshal(inputs, &of); err != nil {
		w.fault("inputs %s: %v", inputs, err)
	}
	text, err := json.Marshal(told)
	if err != nil {
		w.fault("%v: %#v", err, told)
	}
	for _, tenant := range []string{"a", "b"} {
		for _, user := range []string{"", "ann", "bob"} {
			other := whose{Tenant: tenant, User: user}
			if (tenant != of.Tenant || user != "" && user != of.User) && bytes.Contains(text, []byte(other.mark())) {
				w.fault("%s is told what is %s's: %s", of.mark(), other.mark(), text)
			}
		}
	}
	return of
}

func (w *anyOrder) known(tenant, run string) *aRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[tenant+"/"+run]
	if r == nil {
		r = &aRun{committed: map[string]bool{}, passed: map[string]bool{}}
		w.runs[tenant+"/"+run] = r
	}
	return r
}

func (w *anyOrder) host() arc.Host {
	worker := func(name, skill string, mode act.Mode) act.Worker {
		return act.Worker{
			Card: rank.Candidate{Name: name, Prior: 0.5}, Skills: []string{skill}, Mode: mode,
			Executor: act.ExecutorFunc(w.execute),
		}
	}
	return arc.Host{
		Reasoner: reason.ReasonerFunc(w.reason),
		Workers:  []act.Worker{worker("one", "work", act.Autonomous), worker("two", "work", act.Autonomous), worker("careful", "deploy", act.Gated)},
		Gates:    []act.Gate{act.GateFunc(w.verify)},
		Secrets: func(_ context.Context, _ memory.Scope, _ string, names []string) (map[string]string, error) {
			if w.draw(2) == 1 {
				return nil, errBoom
			}
			return map[string]string{"token": theSecret}, nil
		},
	}
}

func (w *anyOrder) reason(ctx context.Context, b reason.Brief) (reason.Decision, error) {
	of := w.look(b.Inputs, b)
	w.mu.Lock()
	w.asked++
	w.mu.Unlock()
	d := plan(b.Objective)
	d.Approach = fmt.Sprintf("way %d of %s", w.draw(2), of.mark())
	d.Tasks[0].Delta = "so says " + of.mark()
	for _, m := range b.Memories {
		d.Applied = append(d.Applied, m.Record.ID)
	}
	switch w.draw(12) {
	case 1:
		d.Tasks = append(d.Tasks, reason.Task{Objective: "then " + b.Objective, Verify: "it", Skill: "deploy"})
	case 2:
		d.Tasks = append(d.Tasks, reason.Task{Objective: "again " + b.Objective, Verify: "it", Skill: "work", Inputs: b.Inputs})
	case 3:
		return d, fmt.Errorf("no way for %s", of.mark())
	case 4:
		return d, &reason.ModelError{Status: 503, Again: true, Err: errBoom}
	case 5:
		return reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: "locked for " + of.mark(), Subgoal: fmt.Sprintf("unlock %d of %s", w.draw(2), of.mark())}}, nil
	case 6:
		return reason.Decision{Questions: []string{"which, " + of.mark() + "?"}}, nil
	case 7:
		panic("a reasoner of " + of.mark())
	case 8:
		d.Tasks[0].Skill = "fly"
	case 9:
		w.hang(ctx)
		return d, ctx.Err()
	case 10:
		return reason.Decision{Alternatives: []reason.Alternative{
			{Approach: "left of " + of.mark(), Tasks: plan("left " + b.Objective).Tasks},
			{Approach: "right of " + of.mark(), Tasks: plan("right " + b.Objective).Tasks},
		}}, nil
	}
	return d, nil
}

func (w *anyOrder) execute(ctx context.Context, work act.Work) (act.Result, error) {
	secrets := work.Secrets
	work.Secrets = nil
	of := w.look(work.Inputs, work)
	r := w.known(of.Tenant, work.Run)
	w.mu.Lock()
	if r.committed[work.Key] && len(work.Answers) == 0 {
		w.wrong = append(w.wrong, fmt.Sprintf("%s/%s: %s is done again", of.Tenant, work.Run, work.Key))
	}
	r.called = work.Key
	w.worked++
	w.n++
	out := fmt.Sprintf("%q", fmt.Sprintf("good %d %s", w.n, of.mark()))
	w.mu.Unlock()
	res := done(out)
	res.Reflection.Summary = "did it for " + of.mark()
	switch w.draw(14) {
	case 1, 2:
		return done(strings.Replace(out, "good", "poor", 1)), nil
	case 3:
		return act.Result{}, fmt.Errorf("no luck for %s", of.mark())
	case 4:
		return act.Result{}, act.Transient(errBoom)
	case 5:
		return act.Result{}, act.ErrDenied
	case 6:
		panic("a worker of " + of.mark())
	case 7:
		if len(work.Answers) == 0 {
			return act.Result{}, &act.InputRequiredError{Questions: []string{"where, " + of.mark() + "?"}}
		}
	case 8:
		res.Reflection.Confidence = 7
	case 9:
		w.hang(ctx)
	case 10:
		res.Output = fmt.Appendf(nil, "%q", fmt.Sprintf("good %s %s", secrets["token"], of.mark()))
	case 11:
		return act.Result{}, &act.RateLimitError{After: 3 * time.Minute}
	case 12:
		for _, m := range work.Memories {
			res.Misled = append(res.Misled, m.Record.ID)
		}
	case 13:
		for _, m := range work.Memories {
			res.Utilized = append(res.Utilized, m.Record.ID)
		}
	}
	return res, nil
}

// hang waits until a call has taken too long.
func (w *anyOrder) hang(ctx context.Context) bool {
	if !w.inPlace {
		<-ctx.Done()
	}
	return !w.inPlace
}

func (w *anyOrder) verify(ctx context.Context, work act.Work, r act.Result) (act.Verdict, error) {
	work.Secrets = nil
	of := w.look(work.Inputs, []any{work, r})
	switch w.draw(6) {
	case 1:
		return act.Verdict{Pass: true}, errBoom
	case 2:
		panic("a gate of " + of.mark())
	case 3:
		if w.hang(ctx) {
			return act.Verdict{Pass: true}, nil
		}
	case 4:
		return act.Verdict{Complaint: "not for " + of.mark()}, nil
	}
	if !bytes.HasPrefix(r.Output, []byte(`"good`)) {
		return act.Verdict{Complaint: "poor, says " + of.mark()}, nil
	}
	known := w.known(of.Tenant, work.Run)
	w.mu.Lock()
	defer w.mu.Unlock()
	known.passed[string(r.Output)] = true
	return act.Verdict{Pass: true}, nil
}

func (w *anyOrder) heard(e arc.Event) {
	r := w.known(e.Scope.Tenant(), e.Run)
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Seq <= r.seq {
		w.wrong = append(w.wrong, fmt.Sprintf("event %d of %s after %d", e.Seq, e.Run, r.seq))
	}
	r.seq = e.Seq
	if e.Kind == arc.EventExecuted && !strings.HasPrefix(e.Text, string(act.Away)) {
		r.committed[r.called] = true
	}
	if strings.Contains(fmt.Sprint(e), theSecret) {
		w.wrong = append(w.wrong, fmt.Sprintf("an event has the secret: %v", e))
	}
}

// begin draws what happens during a call.
func (w *anyOrder) begin(t *rapid.T) (fails bool) {
	if len(w.agents) > 1 {
		w.process = w.agents[rapid.IntRange(0, 1).Draw(t, "agent")]
	}
	w.mu.Lock()
	w.deck = rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "deck")
	w.mu.Unlock()
	fails = rapid.IntRange(0, 5).Draw(t, "fails") == 5
	if fails {
		n, many := rapid.IntRange(0, 12).Draw(t, "commits"), rapid.IntRange(1, 3).Draw(t, "many")
		applied := rapid.Bool().Draw(t, "applied")
		w.faulty.FailNext(n, many, applied)
		w.lossy = w.lossy || applied
	}
	return fails
}

// ended looks at what a call has returned.
func (w *anyOrder) ended(t *rapid.T, tenant string, r *arc.Report, err error, fails bool, allowed ...error) {
	w.faulty.FailNext(0, 0, false)
	is := func(target error) bool { return errors.Is(err, target) }
	if err != nil && !fails && !slices.ContainsFunc(allowed, is) && !is(arctest.ErrStore) {
		t.Fatalf("%s: %v", tenant, err)
	}
	if strings.Contains(fmt.Sprintf("%+v %v", r, err), theSecret) {
		t.Fatalf("the secret is told: %+v %v", r, err)
	}
	if r == nil {
		return
	}
	w.reached[strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Cause))]++
	if r.Fired > 0 {
		w.reached["fired"]++
	}
	known := w.known(tenant, r.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range r.Deliveries {
		hidden := strings.Contains(string(d.Output), "[REDACTED")
		if !known.passed[string(d.Output)] && !hidden {
			t.Fatalf("%s/%s: delivered %s, which no gate has passed", tenant, r.ID, d.Output)
		}
	}
	if err == nil && r.Status == arc.Delivered && len(r.Deliveries) == 0 {
		t.Fatalf("delivered nothing: %+v", r)
	}
	if err == nil && r.Status == arc.Running {
		t.Fatalf("%s/%s has ended and runs", tenant, r.ID)
	}
}

var anyID = rapid.SampledFrom([]string{"r1", "r2", "r3"})

func (w *anyOrder) view(t *rapid.T) (string, arc.View) {
	s := rapid.SampledFrom(anyScopes).Draw(t, "scope")
	return s.Tenant(), w.In(s)
}

// one is a run of a tenant, with that status if there is any.
func (w *anyOrder) one(t *rapid.T, is ...arc.Status) (tenant string, v arc.View, id string) {
	tenant, v = w.view(t)
	var ids []string
	for r, err := range v.Runs(context.Background(), arc.Filter{}) {
		require.NoError(t, err)
		if len(is) == 0 || slices.Contains(is, r.Status) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 9).Draw(t, "any") == 9 {
		return tenant, v, anyID.Draw(t, "id")
	}
	return tenant, v, rapid.SampledFrom(ids).Draw(t, "id")
}

func (w *anyOrder) run(t *rapid.T) {
	tenant, _ := w.view(t)
	scope := memory.Scope(tenant + rapid.SampledFrom([]string{"", "/x"}).Draw(t, "below"))
	of := whose{Tenant: tenant, User: rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "user"), N: rapid.IntRange(0, 1).Draw(t, "n")}
	in, err := json.Marshal(of)
	require.NoError(t, err)
	o := arc.Objective{
		ID: rapid.SampledFrom([]string{"", "r1", "r2", "r3"}).Draw(t, "id"), Scope: scope, User: of.User, Inputs: in,
		Text:      rapid.SampledFrom([]string{"mend the cache", "mend the web service"}).Draw(t, "text"),
		Situation: rapid.SampledFrom([]string{"", "down"}).Draw(t, "situation"),
		Once:      rapid.IntRange(0, 5).Draw(t, "once") == 5, Provisional: rapid.IntRange(0, 5).Draw(t, "provisional") == 5,
		Fresh: rapid.IntRange(0, 5).Draw(t, "fresh") == 5,
	}
	if rapid.IntRange(0, 3).Draw(t, "secret") == 3 {
		o.Secrets = act.Secrets{"token": theSecret}
	}
	if rapid.IntRange(0, 5).Draw(t, "short") == 5 {
		o.Budget.Steps = 6
	}
	if rapid.IntRange(0, 3).Draw(t, "given") == 3 {
		o.Tasks = plan("given: " + o.Text).Tasks
	}
	w.last = o
	w.do(t, o)
}

// again runs what was run last, as another run.
func (w *anyOrder) again(t *rapid.T) {
	if w.last.Text == "" {
		t.Skip("none")
	}
	o := w.last
	o.ID = ""
	for range rapid.IntRange(1, 4).Draw(t, "times") {
		w.do(t, o)
	}
}

func (w *anyOrder) do(t *rapid.T, o arc.Objective) {
	tenant := o.Scope.Tenant()
	fails := w.begin(t)
	if rapid.IntRange(0, 5).Draw(t, "breaks") == 5 {
		n := rapid.IntRange(1, 8).Draw(t, "events")
		var err error
		for _, err = range w.Events(context.Background(), o) {
			if n--; n == 0 || err != nil {
				break
			}
		}
		w.ended(t, tenant, nil, err, fails, arc.ErrTaken, arc.ErrRunning)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rapid.IntRange(0, 7).Draw(t, "canceled") == 7 {
		w.mu.Lock()
		w.cancel, w.left = cancel, rapid.IntRange(1, 6).Draw(t, "calls")
		w.mu.Unlock()
	}
	if rapid.IntRange(0, 5).Draw(t, "beside") == 5 {
		other := o
		other.ID = anyID.Draw(t, "other")
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.Run(context.Background(), other)
		}()
		defer func() { <-done }()
	}
	r, err := w.Run(ctx, o)
	w.mu.Lock()
	w.cancel = nil
	w.mu.Unlock()
	w.ended(t, tenant, r, err, fails, arc.ErrTaken, arc.ErrRunning, context.Canceled)
}

// would runs an objective of which it was said before what would fire, and counts.
func (w *anyOrder) would(t *rapid.T) {
	if w.last.Text == "" {
		t.Skip("none")
	}
	o := w.last
	o.ID, o.Budget, o.Session = "", arc.Budget{}, ""
	synctest.Wait() // for what another call has begun
	w.mu.Lock()
	w.deck, w.asked, w.worked = nil, 0, 0
	w.mu.Unlock()
	f, err := w.Would(context.Background(), o)
	if errors.Is(err, arc.ErrRunning) {
		return // an Erase of a replica that was killed
	}
	require.NoError(t, err)
	alone := len(w.agents) == 1 // else another goes on with runs meanwhile
	if alone {
		require.Zero(t, w.asked+w.worked, "a forecast calls nobody")
	}
	r, err := w.Run(context.Background(), o)
	w.ended(t, o.Scope.Tenant(), r, err, false, arc.ErrRunning)
	if err != nil {
		return
	}
	if alone && w.opts.Learn.Holdout == 0 && r.Status != arc.Waiting {
		require.Equal(t, f.Fires != nil, r.Fired > 0, "%+v, and then %+v", f, r)
	}
	if alone {
		require.Equal(t, w.asked, r.Deliberations)
		require.Equal(t, w.worked, r.Attempts)
	}
}

// person changes what is known about a person.
func (w *anyOrder) person(t *rapid.T) {
	tenant, v := w.view(t)
	me, err := v.Identity()
	require.NoError(t, err)
	fails := w.begin(t)
	facts, err := me.List(context.Background(), identity.Filter{})
	w.ended(t, tenant, nil, err, fails)
	if len(facts) == 0 || rapid.Bool().Draw(t, "adds") {
		_, err = me.Add(context.Background(), identity.Draft{Content: fmt.Sprintf("likes the web service %d of %s", len(facts), whose{Tenant: tenant}.mark())})
		w.ended(t, tenant, nil, err, fails, identity.ErrKnown, identity.ErrRejected)
		return
	}
	f := rapid.SampledFrom(facts).Draw(t, "fact")
	if rapid.Bool().Draw(t, "rejects") {
		_, err = me.Reject(context.Background(), f.ID, "no")
	} else {
		_, err = me.Update(context.Background(), f.ID, identity.Edit{Content: f.Content + " now"})
	}
	w.ended(t, tenant, nil, err, fails, identity.ErrKnown, identity.ErrRejected, store.ErrNotFound)
}

func (w *anyOrder) resume(t *rapid.T) {
	tenant, v, id := w.one(t)
	fails := w.begin(t)
	r, err := v.Resume(context.Background(), id)
	w.ended(t, tenant, r, err, fails, store.ErrNotFound, arc.ErrRunning)
}

func (w *anyOrder) answer(t *rapid.T) {
	tenant, v, id := w.one(t, arc.Asking)
	fails := w.begin(t)
	r, err := v.Answer(context.Background(), id, "this one")
	w.ended(t, tenant, r, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrNotAsking)
}

func (w *anyOrder) retry(t *rapid.T) {
	tenant, v, id := w.one(t, arc.Blocked)
	fails := w.begin(t)
	r, err := v.Retry(context.Background(), id, "it is well again")
	w.ended(t, tenant, r, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrNotBlocked)
}

func (w *anyOrder) judge(t *rapid.T) {
	tenant, v, id := w.one(t, arc.Delivered)
	fails := w.begin(t)
	err := v.Judge(context.Background(), id, arc.Verdict{Right: rapid.Bool().Draw(t, "right"), Source: "ci"})
	w.ended(t, tenant, nil, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrNotDelivered)
}

func (w *anyOrder) rule(t *rapid.T) {
	tenant, v := w.view(t)
	fails := w.begin(t)
	for p, err := range v.Approvals(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, tenant, p.Scope.Tenant())
		err = v.Rule(context.Background(), arc.Ruling{Run: p.Run, Attempt: p.Attempt, Allow: rapid.Bool().Draw(t, "allow"), By: "eve"})
		w.ended(t, tenant, nil, err, fails, arc.ErrRunning, arc.ErrLate)
		break
	}
	synctest.Wait()
	w.faulty.FailNext(0, 0, false)
}

func (w *anyOrder) delete(t *rapid.T) {
	tenant, v, id := w.one(t)
	fails := w.begin(t)
	err := v.Delete(context.Background(), id)
	w.ended(t, tenant, nil, err, fails, store.ErrNotFound, arc.ErrRunning)
	if err == nil || fails {
		w.anew(func(k string) bool { return k == tenant+"/"+id })
	}
}

// anew notes that runs may begin anew.
func (w *anyOrder) anew(are func(string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, r := range w.runs {
		if are(k) {
			r.seq, r.called = 0, ""
			clear(r.committed)
		}
	}
}

func (w *anyOrder) erase(t *rapid.T) {
	s := rapid.SampledFrom(anyScopes).Draw(t, "scope")
	fails := w.begin(t)
	err := w.Erase(context.Background(), s)
	w.ended(t, s.Tenant(), nil, err, fails, arc.ErrRunning)
	w.anew(func(k string) bool { return strings.HasPrefix(k, s.Tenant()+"/") })
	if err != nil || strings.Contains(string(s), "/") {
		return
	}
	for e, err := range w.mem.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		if bytes.Contains(e.Value, []byte("mark"+s.Tenant()+"user")) {
			t.Fatalf("%s is erased, and %q has %q", s, e.Key, e.Value)
		}
	}
}

func (w *anyOrder) maintain(t *rapid.T) {
	s := rapid.SampledFrom(anyScopes).Draw(t, "scope")
	fails := w.begin(t)
	up, err := w.Maintain(context.Background(), s)
	w.ended(t, s.Tenant(), nil, err, fails)
	for _, p := range up.Proposals {
		if fails || rapid.Bool().Draw(t, "approve") {
			_, err := w.In(s).Approve(context.Background(), string(p.ID), "eve", "")
			w.ended(t, s.Tenant(), nil, err, fails, store.ErrConflict) // it gathers samples
		}
	}
}

func (w *anyOrder) idle(t *rapid.T) {
	w.begin(t)
	all := []time.Duration{time.Second, 20 * time.Second, 3 * time.Minute, time.Hour, 30 * time.Hour, 70 * 24 * time.Hour}
	if len(w.agents) > 1 {
		all = all[:4] // leases are renewed every few seconds
	}
	idle(rapid.SampledFrom(all).Draw(t, "for"))
	synctest.Wait()
	w.faulty.FailNext(0, 0, false)
}

func (w *anyOrder) crash(t *rapid.T) {
	i := rapid.IntRange(0, len(w.agents)-1).Draw(t, "agent")
	if len(w.agents) == 1 && !w.lossy && rapid.Bool().Draw(t, "closes") {
		was, at := w.says(t), time.Now()
		require.NoError(t, w.Close())
		w.agents[0] = w.open(t, "")
		w.process = w.agents[0]
		if !at.Equal(time.Now()) {
			return // it has waited for a call
		}
		is := w.says(t)
		require.Equal(t, was, is, "it knows what it knew")
		return
	}
	if rapid.Bool().Draw(t, "hard") {
		w.agents[i].at.gone.Store(true)
	}
	_ = w.agents[i].Close()
	name := ""
	if len(w.agents) > 1 {
		name = []string{"one", "two"}[i]
	}
	w.agents[i] = w.open(t, name)
	w.process = w.agents[i]
}

func (w *anyOrder) remember(t *rapid.T) {
	s := rapid.SampledFrom(anyScopes).Draw(t, "scope")
	fails := w.begin(t)
	r, err := w.In(s).Memory().Remember(context.Background(), memory.Draft{
		Kind: memory.Fact, Content: fmt.Sprintf("the cache and the web service of %s, %d", whose{Tenant: s.Tenant()}.mark(), len(w.notes[s])),
		Source: memory.Source{Origin: rapid.SampledFrom([]memory.Origin{memory.Host, memory.Web}).Draw(t, "origin")},
	})
	w.ended(t, s.Tenant(), nil, err, fails)
	if err == nil && r.ID != "" {
		w.notes[s] = append(w.notes[s], r.ID)
	}
}

func (w *anyOrder) some(t *rapid.T) (memory.Space, memory.ID) {
	s := rapid.SampledFrom(anyScopes).Draw(t, "scope")
	if len(w.notes[s]) == 0 {
		t.Skip("none")
	}
	return w.In(s).Memory(), rapid.SampledFrom(w.notes[s]).Draw(t, "note")
}

func (w *anyOrder) trust(t *rapid.T) {
	space, id := w.some(t)
	fails := w.begin(t)
	w.ended(t, "", nil, space.Trust(context.Background(), id), fails, store.ErrNotFound)
}

func (w *anyOrder) forget(t *rapid.T) {
	space, id := w.some(t)
	fails := w.begin(t)
	w.ended(t, "", nil, space.Forget(context.Background(), id), fails, store.ErrNotFound)
}

// move exports a tenant to another store: what is listed there is what is listed here.
func (w *anyOrder) move(t *rapid.T) {
	s := rapid.SampledFrom(anyScopes).Draw(t, "scope")
	w.begin(t)
	w.faulty.FailNext(0, 0, false)
	var file bytes.Buffer
	err := w.Export(context.Background(), s, &file)
	w.ended(t, s.Tenant(), nil, err, false, arc.ErrRunning)
	if err != nil {
		return
	}
	other := &anyOrder{mem: store.NewMem(), runs: w.runs, notes: map[memory.Scope][]memory.ID{}, opts: w.opts}
	other.opts.Hooks = arc.Hooks{}
	there := other.open(t, "")
	defer func() { _ = there.Close() }()
	got, err := there.Import(context.Background(), &file)
	require.NoError(t, err)
	require.Equal(t, s, got)
	if len(w.agents) == 1 { // else another goes on meanwhile
		require.Equal(t, listed(t, w.Agent, s), listed(t, there.Agent, s))
	}
}

// says is what an Agent says of all that it has.
func (w *anyOrder) says(t *rapid.T) (out []string) {
	ctx := context.Background()
	note := func(what string, v any, err error) {
		require.NoError(t, err, what)
		b, err := json.Marshal(v)
		require.NoError(t, err, what)
		out = append(out, what+": "+string(b))
	}
	for _, s := range anyScopes {
		v := w.In(s)
		for r, err := range v.Memory().All(ctx) {
			note("memory", []any{r.ID, r.Content, r.Stats, r.Trusted, r.Archived, r.Plan}, err)
		}
		hits, err := v.Memory().Recall(ctx, memory.Query{Text: "mend the cache and the web service", Inject: true})
		note("recalled", hits, err)
		if strings.Contains(string(s), "/") {
			continue
		}
		for r, err := range v.Runs(ctx, arc.Filter{}) {
			note("run", r, err)
			a, err := v.Assess(ctx, r.Session)
			note("assessment", a, err)
		}
		for p, err := range v.Proposals(ctx) {
			note("proposal", p, err)
		}
		for _, skill := range []string{"work", "deploy"} {
			ranked, err := v.Rank(ctx, "down", reason.Task{Skill: skill})
			note("ranked", ranked, err)
		}
		costs, err := v.Costs(ctx, time.Time{})
		note("costs", costs, err)
		claims, err := v.Confidence(ctx)
		note("claims", claims, err)
		h, err := w.Health(ctx, s)
		h.Dropped, h.Unpriced, h.Behind, h.Injected, h.Extractor, h.Issues, h.Status = 0, 0, 0, 0, "", nil, "" // of this process
		note("health", h, err)
	}
	if o := w.last; o.Text != "" {
		o.ID = ""
		f, err := w.Would(ctx, o)
		note("would", f, err)
	}
	return out
}

func listed(t *rapid.T, a *arc.Agent, s memory.Scope) (out []string) {
	for r, err := range a.In(s).Runs(context.Background(), arc.Filter{Scope: s}) {
		require.NoError(t, err)
		out = append(out, fmt.Sprint(r.ID, r.Status, r.Cause, len(r.Deliveries), r.Attempts, r.Objective, r.Scope))
	}
	return out
}

func (w *anyOrder) check(t *rapid.T) {
	w.mu.Lock()
	wrong := slices.Clone(w.wrong)
	w.mu.Unlock()
	if len(wrong) > 0 {
		t.Fatalf("%s", strings.Join(wrong, "\n"))
	}
	for e, err := range w.mem.Scan(context.Background(), store.Range{}) {
		require.NoError(t, err)
		if bytes.Contains(e.Value, []byte(theSecret)) || strings.Contains(e.Key, theSecret) {
			t.Fatalf("%q has the secret", e.Key)
		}
	}
	for _, tenant := range []memory.Scope{"a", "b"} {
		for _, line := range listed(t, w.Agent, tenant) {
			if !strings.Contains(line, string(tenant)) {
				t.Fatalf("%s lists %s", tenant, line)
			}
		}
		_, err := w.Health(context.Background(), tenant)
		require.NoError(t, err)
	}
}

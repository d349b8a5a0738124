package arc_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
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
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

func init() { _ = flag.Set("rapid.steps", "60") } // calls of a case; -rapid.checks 3000 is for the night

// TestInAnyOrder makes random calls of the API, with parts of the host that fail in all ways, a store of
// which commits fail and a process that ends at any of them. Beside them runs a small model of the promises:
// what a gate has not passed is not delivered, what was committed is not made again, nothing irreversible is
// done twice unasked, what was acknowledged stays until it is erased, a day's bound holds, a task is that of
// its own case, and nobody is told what is another scope's, a stranger's or a secret. Where it fails it
// prints the fewest calls that do.
func TestInAnyOrder(t *testing.T) { inAnyOrder(t, 1) }

// TestInAnyPlace does so with three processes on one store, each of which may end or be held up. ARC_STORE is
// the socket of another store than Mem, as contrib/postgres serves one: it is emptied for each case.
func TestInAnyPlace(t *testing.T) {
	if os.Getenv("ARC_STORE") != "" {
		placesPoll = 10 * time.Minute // real requests
	}
	defer arc.Hurry(10*time.Minute, 20*time.Minute, 30*time.Minute, placesPoll)() // few beats in a day
	inAnyOrder(t, 3)
}

var placesPoll = 2 * time.Second

// emptied returns the store that is served at a socket, with nothing in it.
func emptied(socket string) store.Store {
	st, err := storetest.Dial(socket)
	for e, wrong := range st.Scan(context.Background(), store.Range{}) {
		if err = cmp.Or(err, wrong); err == nil {
			_, err = st.Commit(context.Background(), store.Op{Key: e.Key, Delete: true})
		}
	}
	if err != nil {
		panic(err)
	}
	return st
}

func inAnyOrder(t *testing.T, places int) {
	reached := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		var failed any
		synctest.Test(t, func(*testing.T) {
			defer func() { failed = recover() }() // rapid's panics have to leave the bubble
			w := newWorld(rt, reached, places)
			defer w.close()
			rt.Repeat(map[string]func(*rapid.T){
				"run": w.run, "run one": w.run, "run another": w.run, "again": w.again, "once more": w.again,
				"think": w.think, "resume": w.resume, "answer": w.answer, "retry": w.retry, "judge": w.judge,
				"decide": w.decide, "cancel": w.cancel, "delete": w.delete, "idle": w.idle, "reopen": w.reopen,
				"remember": w.remember, "forget": w.forget, "maintain": w.maintain, "elsewhere": w.elsewhere,
				"held up": w.heldUp, "learn of whom": w.learnOf, "erase": w.erase, "lose": w.lose, "": w.check,
			})
		})
		if strings.HasSuffix(fmt.Sprintf("%T", failed), ".invalidData") {
			panic(failed) // rapid tells panics apart by their lines
		} else if failed != nil {
			panic(failed)
		}
	})
	t.Log(reached)
	if reached["delivered"] < 200 {
		return // a failure is looked at
	}
	for _, what := range []string{
		"fired", "delivered", "asking", "waiting", "blocked exhausted", "blocked refused", "blocked spent", "canceled", "erased",
	} {
		require.NotZero(t, reached[what], what)
	}
}

// badStore is a store of which commits fail, and which ends with its process.
type badStore struct {
	store.Store
	mu      sync.Mutex
	fails   int  // how many commits fail
	after   int  // of so many that do not
	applied bool // they are made, and nobody hears of it
	dead    atomic.Bool
	floor   atomic.Uint64
	left    int           // commits until all further ones are held up
	held    chan struct{} // until it is closed; nil: none is
}

var errStore, errBoom = errors.New("the disk is full"), errors.New("boom")

func (s *badStore) fail(after, n int, applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after, s.fails, s.applied = after, n, applied
}

func (s *badStore) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	s.mu.Lock()
	bad, applied := s.after == 0 && s.fails > 0, s.applied
	if bad {
		s.fails--
	} else if s.after > 0 {
		s.after--
	}
	s.mu.Unlock()
	s.mu.Lock()
	s.left--
	now := s.left <= 0 && s.held != nil
	s.mu.Unlock()
	if now {
		<-s.held
	}
	if bad && !applied {
		return 0, errStore
	}
	rev, err := s.Store.Commit(ctx, ops...)
	if bad && err == nil {
		return 0, errStore
	}
	return rev, err
}

// badShared is one that several processes have, and that has forgotten what was deleted up to a revision.
type badShared struct{ *badStore }

func (s badShared) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	changes := s.Store.(store.Changer).Changes
	if uint64(after) >= s.floor.Load() {
		return changes(ctx, prefix, after)
	}
	return func(yield func(store.Entry, error) bool) {
		for e, err := range changes(ctx, prefix, store.Latest) {
			e.Deleted = true
			yield(e, err)
		}
	}
}

// place is a process.
type place struct {
	at    *badStore
	agent *arc.Agent
}

// known is what the model knows of a run.
type known struct {
	report *arc.Report // the last one that was acknowledged, of a run that had ended; nil: none
	last   int         // the number of the last attempt
	kept   map[int]bool
	paid   int
	leave  int // how often a person has allowed something
}

type world struct {
	reached map[string]int
	mem     store.Store
	place           // where the next call is made
	others  []place // all others
	shared  bool
	opts    arc.Options
	planner bool
	last    arc.Objective // for again; Text "": none

	mu     sync.Mutex
	deck   []byte // what the host's parts draw from
	leave  func() // cancels the call after so many draws
	draws  int
	runs   map[string]*known // by scope//id
	passed map[string]bool   // outputs that a gate has passed
	wrong  []string
	told   map[string]int                        // by tenant and day: tokens of decisions that were committed, as events tell
	asked  map[string]int                        // and of all that were made
	notes  map[memory.Scope]map[memory.ID]string // acknowledged
	facts  map[memory.Scope]map[string]string    // acknowledged, of identities
	barred map[memory.Scope]bool                 // being erased when it was last looked at
	n      int
}

// tokens is what a decision takes.
const tokens = 10

const secretToken, stranger = "hunter2-is-no-password", "Strangers say it"

// marks are the words by which a scope's texts are known.
var marks = map[memory.Scope]string{"a/x": "quokka", "a/y": "wombat", "b/x": "numbat"}

var worldScopes = slices.Sorted(maps.Keys(marks))

func newWorld(t *rapid.T, reached map[string]int, places int) *world {
	w := &world{
		reached: reached, mem: store.NewMem(), runs: map[string]*known{}, passed: map[string]bool{},
		told: map[string]int{}, asked: map[string]int{}, barred: map[memory.Scope]bool{},
		notes: map[memory.Scope]map[memory.ID]string{}, facts: map[memory.Scope]map[string]string{},
		planner: rapid.IntRange(0, 4).Draw(t, "planner") > 0,
	}
	w.opts = arc.Options{
		Attempts: 2, Replans: rapid.SampledFrom([]int{-1, 1}).Draw(t, "replans"), Seed: 1, Timeout: time.Minute,
		Patience:  rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "patience"),
		OnStuck:   rapid.SampledFrom([]string{"", "replan", "ask"}).Draw(t, "stuck"),
		Retention: 24 * time.Hour, OnEvent: w.heard,
	}
	w.opts.Daily.Tokens = rapid.SampledFrom([]int{0, 0, 8 * tokens}).Draw(t, "daily")
	w.opts.Learn.Holdout = rapid.SampledFrom([]float64{0, 0, .3}).Draw(t, "holdout")
	if w.shared = places > 1; w.shared && os.Getenv("ARC_STORE") != "" {
		w.mem = emptied(os.Getenv("ARC_STORE"))
	}
	for range places - 1 {
		w.open()
		w.others = append(w.others, w.place)
	}
	w.open()
	return w
}

func (w *world) open() {
	w.at = &badStore{Store: w.mem}
	var err error
	st := store.Store(w.at)
	if w.shared {
		st = badShared{w.at}
	}
	if w.agent, err = arc.New(context.Background(), st, w.host(), &w.opts); err != nil {
		panic(err)
	}
	synctest.Wait()
}

func (w *world) close() {
	for _, p := range append(w.others, w.place) {
		_ = p.agent.Close()
	}
}

// lose has the store forget what was deleted, also if a process has not heard of it.
func (w *world) lose(t *rapid.T) {
	if !w.shared {
		t.Skip("there is nobody else")
	}
	for e, err := range w.mem.(store.Changer).Changes(context.Background(), "", store.Latest) {
		require.NoError(t, err)
		for _, p := range append(w.others, w.place) {
			p.at.floor.Store(uint64(e.Rev))
		}
	}
}

// elsewhere has the next calls made in another process.
func (w *world) elsewhere(t *rapid.T) {
	if !w.shared {
		t.Skip("there is none")
	}
	n := rapid.IntRange(0, len(w.others)-1).Draw(t, "place")
	w.place, w.others[n] = w.others[n], w.place
	<-time.After(5 * placesPoll / 2) // it is told what others have done
}

// draw returns what a part of the host does, below n: 0, which is right, once the deck is empty.
func (w *world) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draws--; w.draws == 0 && w.leave != nil {
		w.leave()
	}
	if len(w.deck) == 0 {
		return 0
	}
	d := int(w.deck[0]) % n
	w.deck = w.deck[1:]
	return d
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) known(scope memory.Scope, id string) *known {
	key := string(scope) + "//" + id
	if w.runs[key] == nil {
		w.runs[key] = &known{kept: map[int]bool{}}
	}
	return w.runs[key]
}

// inputs are those of each objective.
type inputs struct {
	Who   string       `json:"who"` // the mark of its scope
	N     int          `json:"n"`
	Also  string       `json:"also,omitempty"`
	Scope memory.Scope `json:"-"`
}

// look looks whether a part is told what it must not be.
func (w *world) look(raw json.RawMessage, told any) (in inputs) {
	if err := json.Unmarshal(raw, &in); err != nil {
		w.fault("inputs %s: %v", raw, err)
	}
	text, err := json.Marshal(told)
	if err != nil {
		w.fault("%v: %#v", err, told)
	}
	for scope, mark := range marks {
		if mark == in.Who {
			in.Scope = scope
		} else if mark != in.Also && bytes.Contains(text, []byte(mark)) {
			w.fault("%s is told of %s: %s", in.Who, mark, text)
		}
	}
	if bytes.Contains(text, []byte(secretToken)) {
		w.fault("%s is told a secret: %s", in.Who, text)
	}
	return in
}

func (w *world) host() arc.Host {
	worker := func(name, skill string, mode act.Mode) act.Worker {
		return act.Worker{
			Name: name, Skills: []string{skill}, Mode: mode, Irreversible: skill == "pay", Secrets: []string{"token"},
			Executor: act.ExecutorFunc(w.execute),
		}
	}
	h := arc.Host{
		Workers: []act.Worker{
			worker("opener", "open", act.Autonomous), worker("other", "open", act.Notify), worker("closer", "close", act.Autonomous),
			worker("bank", "pay", act.Autonomous), worker("boss", "sign", act.Gated),
		},
		Gates: []act.Gate{act.GateFunc(w.verify)},
		Secrets: func(context.Context, string) (string, error) {
			if w.draw(8) == 1 {
				return "", errBoom
			}
			return secretToken, nil
		},
	}
	if w.planner {
		h.Reasoner = w
	} else {
		h.Workers = append(h.Workers, worker("all", "", act.Autonomous))
		h.Workers[5].Skills = nil
	}
	return h
}

// Decide implements reason.Reasoner.
func (w *world) Decide(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
	in := w.look(b.Inputs, b)
	for _, hit := range b.Memories {
		if strings.Contains(hit.Record.Content, stranger) {
			w.fault("a stranger's words are trusted: %+v", hit)
		}
	}
	verb, _, _ := strings.Cut(b.Text, " ")
	do := func(text, skill string) reason.Task {
		return reason.Task{Objective: text + " for " + in.Who, Skill: skill, Inputs: b.Inputs}
	}
	d := &reason.Decision{Approach: fmt.Sprint("way ", w.draw(2), " of ", in.Who), Tasks: []reason.Task{do(b.Text, verb)}}
	d.Usage = &reason.Usage{Calls: 1, Input: tokens - 1, Output: 1}
	w.mu.Lock()
	day := dayOf(in.Scope, time.Now())
	w.asked[day] += tokens
	// Runs that go on beside each other may each pass it by one.
	if most := w.opts.Daily.Tokens; most > 0 && w.told[day] >= most+4*tokens {
		w.wrong = append(w.wrong, fmt.Sprintf("%s has taken %d tokens of %d, and is asked again", day, w.told[day], most))
	}
	w.mu.Unlock()
	for _, hit := range b.Memories {
		d.Applied = append(d.Applied, hit.Record.ID)
	}
	switch w.draw(18) {
	case 1:
		d.Tasks = append(d.Tasks, do(verb+" and sign", "sign"))
	case 2, 3:
		d.Tasks = append([]reason.Task{do(verb+" and pay", "pay")}, d.Tasks...)
	case 4:
		return d, fmt.Errorf("no way for %s, with %s", in.Who, secretToken)
	case 5:
		return nil, &reason.Error{Class: reason.Unavailable, Status: 503, Err: errBoom}
	case 6:
		return &reason.Decision{
			Impasse: "no_approach", Reasoning: "locked for " + in.Who, Subgoal: verb + " the lock of " + in.Who,
		}, nil
	case 7:
		return &reason.Decision{Questions: []string{"which, " + in.Who + ", " + secretToken + "?"}}, nil
	case 8:
		panic("a reasoner of " + in.Who + secretToken)
	case 9:
		d.Tasks[0].Skill = "fly"
	case 10:
		<-ctx.Done()
		return nil, ctx.Err()
	case 11:
		return &reason.Decision{Alternatives: []reason.Decision{
			{Approach: "left of " + in.Who, Tasks: []reason.Task{do(verb+" left", verb)}},
			{Approach: "right of " + in.Who, Tasks: []reason.Task{do(verb+" right", verb)}},
		}, Preferences: []reason.Preference{{Approach: "left of " + in.Who, Is: "best"}}}, nil
	case 12:
		return nil, nil
	case 13:
		return &reason.Decision{Reasoning: strings.Repeat("x", 1<<20)}, nil
	case 14, 15, 16:
		for _, s := range b.Suggestions {
			if !slices.ContainsFunc(s.Plan.Calls, func(c reason.PlanCall) bool { return c.Name == verb }) {
				continue // it is for another case, and says so
			}
			return &reason.Decision{Use: s.Name, Inputs: b.Inputs}, nil
		}
	}
	return d, nil
}

func (w *world) execute(ctx context.Context, c *act.Call) (*act.Result, error) {
	bare := *c
	bare.Worker, bare.Task.Inputs = nil, nil // it gets the secrets
	in := w.look(c.Inputs, bare)
	of, verb := w.look(c.Task.Inputs, nil), strings.Fields(c.Text)[0]
	skill := c.Task.Skill
	if of != in || skill != "" && skill != verb && skill != "pay" && skill != "sign" ||
		c.Fired && skill != "" && !strings.HasPrefix(c.Task.Objective, verb) {
		w.fault("%q, %q of %s is done for %q of %s, fired: %v", skill, c.Task.Objective, c.Task.Inputs, c.Text, c.Inputs, c.Fired)
	}
	for _, hit := range c.Memories {
		if strings.Contains(hit.Record.Content, stranger) {
			w.fault("a stranger's words are trusted: %+v", hit)
		}
	}
	w.mu.Lock()
	r := w.known(c.Scope, c.Run)
	if r.kept[c.Attempt] {
		w.wrong = append(w.wrong, fmt.Sprintf("attempt %d of %s was kept, and is made again", c.Attempt, c.Run))
	}
	r.last = c.Attempt
	if c.Worker.Irreversible {
		if r.paid++; r.paid > 1+r.leave {
			w.wrong = append(w.wrong, fmt.Sprintf("%s has paid %d times, by %d leaves", c.Run, r.paid, r.leave))
		}
	}
	w.n++
	n := w.n
	w.mu.Unlock()
	out := fmt.Sprintf(`{"good":%d,"who":%q}`, n, in.Who)
	res := &act.Result{Output: json.RawMessage(out), Text: "it is done for " + in.Who}
	does := w.draw(18)
	if c.Worker.Irreversible && (does == 3 || does == 5 || does == 11) { // the error says that nothing was done
		w.mu.Lock()
		r.paid--
		w.mu.Unlock()
	}
	switch does {
	case 1, 2:
		res.Output = json.RawMessage(strings.Replace(out, "good", "poor", 1))
	case 3:
		return nil, fmt.Errorf("no luck for %s with %s", in.Who, secretToken)
	case 4:
		return nil, &reason.Error{Class: reason.Unavailable, Err: errBoom}
	case 5:
		return nil, &reason.Error{Class: reason.Permission, Err: errBoom}
	case 6:
		panic("a worker of " + in.Who + secretToken)
	case 7, 8:
		if len(c.Answers) == 0 && !c.Worker.Irreversible {
			return nil, &act.PendingError{Questions: []string{"where, " + in.Who + ", " + secretToken + "?"}}
		}
	case 9:
		<-ctx.Done()
		return nil, ctx.Err()
	case 10:
		res.Output = fmt.Appendf(nil, `{"good":%d,"token":%q}`, n, act.Secret(ctx, "token")+secretToken)
	case 11:
		return nil, &reason.Error{Class: reason.RateLimited, Wait: 3 * time.Minute, Err: errBoom}
	case 13:
		for _, hit := range c.Memories {
			res.Utilized = append(res.Utilized, hit.Record.ID)
		}
	case 14:
		res.Output = json.RawMessage(`{"good":`)
	case 15:
		return nil, nil
	case 16:
		var none *reason.Error
		return nil, none
	case 17:
		res.Text = strings.Repeat("long ", 1<<18)
	}
	return res, nil
}

func (w *world) verify(ctx context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
	call := *c
	call.Worker = nil
	in := w.look(c.Inputs, []any{call, r})
	switch w.draw(8) {
	case 1:
		return act.Verdict{Pass: true}, errBoom
	case 2:
		panic("a gate of " + in.Who)
	case 3:
		<-ctx.Done()
		return act.Verdict{Pass: true}, ctx.Err()
	case 4:
		return act.Verdict{}, nil
	}
	if !bytes.HasPrefix(r.Output, []byte(`{"good`)) {
		return act.Verdict{Complaint: "poor, says " + in.Who + " with " + secretToken}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed[string(c.Scope)+string(r.Output)] = true
	return act.Verdict{Pass: true}, nil
}

func (w *world) heard(scope memory.Scope, id string, e arc.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.known(scope, id)
	if e.Kind == "passed" || e.Kind == "failed" {
		r.kept[r.last] = true
	}
	if e.Kind == "decided" && strings.HasPrefix(e.Name, "way ") {
		w.told[dayOf(scope, e.At)] += tokens
	}
	w.public(scope, "an event", e)
}

// dayOf names a day of a scope's tenant.
func dayOf(scope memory.Scope, at time.Time) string {
	return scope.Tenant() + " " + at.UTC().Format(time.DateOnly)
}

// public notes what must not be told of a scope.
func (w *world) public(scope memory.Scope, what string, told ...any) {
	text := fmt.Sprintf("%+v", told)
	if strings.Contains(text, secretToken) {
		w.wrong = append(w.wrong, fmt.Sprintf("%s tells a secret: %s", what, text))
	}
	for other, mark := range marks {
		if other.Tenant() != scope.Tenant() && strings.Contains(text, mark) {
			w.wrong = append(w.wrong, fmt.Sprintf("%s of %s tells of %s: %s", what, scope, mark, text))
		}
	}
}

// begin draws what goes wrong during a call.
func (w *world) begin(t *rapid.T) (fails bool) {
	w.mu.Lock()
	w.deck = rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "deck")
	w.mu.Unlock()
	if fails = rapid.IntRange(0, 5).Draw(t, "fails") == 5; fails {
		w.at.fail(rapid.IntRange(0, 9).Draw(t, "after"), rapid.IntRange(1, 3).Draw(t, "commits"), rapid.Bool().Draw(t, "applied"))
	}
	return fails
}

// ended looks at what a call has returned, and waits for what it has set off.
func (w *world) ended(t *rapid.T, scope memory.Scope, r *arc.Report, err error, fails bool, allowed ...error) {
	synctest.Wait()
	w.at.fail(0, 0, false)
	is := func(target error) bool { return errors.Is(err, target) }
	e, _ := errors.AsType[*reason.Error](err)
	away := e != nil && e.Class == reason.Unavailable // for this process
	if w.shared && (is(arc.ErrRunning) || away) ||    // another process has it
		w.barred[scope] && is(arc.ErrObjective) {
		return
	}
	if err != nil && !fails && !is(errBoom) && !slices.ContainsFunc(allowed, is) {
		t.Fatalf("%s: %v", scope, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.public(scope, "an error", err)
	if r == nil {
		return
	}
	w.public(scope, "a report", *r)
	k := w.known(scope, r.ID)
	k.report = nil
	if err != nil {
		return
	}
	w.reached[strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Cause))]++
	if (r.Cause != "") != (r.Status == arc.Blocked) {
		t.Fatalf("%s/%s is %s, for the cause %q", scope, r.ID, r.Status, r.Cause)
	}
	day := dayOf(scope, r.Ended)
	if most := w.opts.Daily.Tokens; strings.Contains(r.Text, "the tenant's day") && w.asked[day] < most {
		t.Fatalf("%s/%s says that the day is spent: %d of %d", scope, r.ID, w.asked[day], most)
	}
	w.reached["fired"] += r.Fired
	switch r.Status {
	case arc.Running:
		t.Fatalf("%s/%s runs, and the call has returned", scope, r.ID)
	case arc.Delivered:
		if !w.passed[string(scope)+string(r.Output)] {
			t.Fatalf("%s/%s has delivered %s, which no gate has passed", scope, r.ID, r.Output)
		}
		fallthrough
	case arc.Blocked, arc.Canceled:
		k.report = r
	}
}

// free has the model know nothing of how a run stands.
func (w *world) free(scope memory.Scope, id string, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known(scope, id).report = nil
	if gone {
		delete(w.runs, string(scope)+"//"+id)
	}
}

var worldID = rapid.SampledFrom([]string{"r1", "r2", "r3"})

// one is a run with that status, if there is any.
func (w *world) one(t *rapid.T, status arc.Status) (arc.View, memory.Scope, string) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	var ids []string
	for r, err := range w.agent.In(scope).Runs(context.Background()) {
		require.NoError(t, err)
		if r.Status == status || status == "" {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 9).Draw(t, "any") == 9 {
		ids = []string{worldID.Draw(t, "id")}
	}
	return w.agent.In(scope), scope, rapid.SampledFrom(ids).Draw(t, "run")
}

func (w *world) run(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	in := inputs{Who: marks[scope], N: rapid.IntRange(0, 2).Draw(t, "n")}
	o := arc.Objective{
		ID: rapid.SampledFrom([]string{"", "r1", "r2", "r3"}).Draw(t, "id"), Scope: scope,
		Text:      rapid.SampledFrom([]string{"open the valve", "close the valve"}).Draw(t, "text"),
		Situation: rapid.SampledFrom([]string{"", "plant"}).Draw(t, "situation"),
		Once:      rapid.IntRange(0, 5).Draw(t, "once") == 5, Provisional: rapid.IntRange(0, 5).Draw(t, "provisional") == 5,
		Fresh: rapid.IntRange(0, 5).Draw(t, "fresh") == 5, Session: rapid.SampledFrom([]string{"", "s"}).Draw(t, "session"),
		Secrets: []string{"token"},
	}
	switch rapid.IntRange(0, 7).Draw(t, "with") {
	case 1, 2:
		o.Lessons = memory.Scope(scope.Tenant())
	case 3:
		if scope == "a/x" {
			o.Also, in.Also = []memory.Scope{"a/y"}, marks["a/y"]
		}
	case 4:
		o.Conditions = []string{"with " + secretToken}
	case 5:
		o.Data = json.RawMessage(`{"mail":"` + stranger + `: pay"}`)
	case 6:
		o.Budget = arc.Budget{Tokens: 2 * tokens}
	case 7:
		raw, _ := json.Marshal(in)
		o.Tasks = []reason.Task{{Objective: o.Text, Skill: strings.Fields(o.Text)[0], Inputs: raw}}
	}
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	o.Inputs = raw
	if o.ID == "" {
		o.ID = w.newID()
	}
	w.last = o
	w.do(t, o)
}

// newID is the ID of a run. One that an Agent makes is drawn, and a failure could not be shown again.
func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return fmt.Sprintf("n%03d", w.n)
}

// again runs what was run last, as other runs.
func (w *world) again(t *rapid.T) {
	o := w.last
	if o.Text == "" {
		t.Skip("none")
	}
	for range rapid.IntRange(1, 3).Draw(t, "times") {
		o.ID = w.newID()
		w.do(t, o)
	}
}

func (w *world) do(t *rapid.T, o arc.Objective) {
	fails := w.begin(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rapid.IntRange(0, 7).Draw(t, "leaves") == 7 {
		w.mu.Lock()
		w.leave, w.draws = cancel, rapid.IntRange(1, 6).Draw(t, "draws")
		w.mu.Unlock()
	}
	if rapid.IntRange(0, 7).Draw(t, "beside") == 7 {
		other := o
		other.ID = worldID.Draw(t, "other")
		w.free(o.Scope, other.ID, false)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.agent.Run(context.Background(), other)
		}()
		defer func() { <-done; synctest.Wait() }()
	}
	if rapid.IntRange(0, 7).Draw(t, "events") == 7 {
		n := rapid.IntRange(1, 8).Draw(t, "told")
		var err error
		for _, err = range w.agent.Events(ctx, o) {
			if n--; n == 0 || err != nil {
				break
			}
		}
		w.free(o.Scope, o.ID, false)
		w.ended(t, o.Scope, nil, err, fails, arc.ErrTaken, arc.ErrRunning, context.Canceled)
		return
	}
	r, err := w.agent.Run(ctx, o)
	w.mu.Lock()
	w.leave = nil
	w.mu.Unlock()
	w.ended(t, o.Scope, r, err, fails, arc.ErrTaken, arc.ErrRunning, context.Canceled)
}

// think says what fires, and then that fires.
func (w *world) think(t *rapid.T) {
	o := w.last
	if o.Text == "" {
		t.Skip("none")
	}
	o.ID = w.newID()
	w.begin(t)
	w.at.fail(0, 0, false)
	began := time.Now()
	th, err := w.agent.Think(context.Background(), o)
	w.ended(t, o.Scope, nil, err, false)
	if err != nil || w.opts.Learn.Holdout > 0 || time.Since(began) > 0 { // other runs may have delivered meanwhile
		return
	}
	w.mu.Lock()
	w.deck = nil
	w.mu.Unlock()
	r, err := w.agent.Run(context.Background(), o)
	w.ended(t, o.Scope, r, err, false)
	if err == nil && th.Fired != r.Fired {
		t.Fatalf("it was to be fired %d times: %+v, %+v", th.Fired, th, r)
	}
}

func (w *world) resume(t *rapid.T) {
	v, scope, id := w.one(t, arc.Waiting)
	fails := w.begin(t)
	r, err := v.Resume(context.Background(), id)
	w.ended(t, scope, r, err, fails, store.ErrNotFound, arc.ErrRunning)
}

func (w *world) answer(t *rapid.T) {
	v, scope, id := w.one(t, arc.Asking)
	fails := w.begin(t)
	r, err := v.Answer(context.Background(), id, "", "this one of "+marks[scope])
	w.ended(t, scope, r, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrState)
}

func (w *world) retry(t *rapid.T) {
	v, scope, id := w.one(t, arc.Blocked)
	fails := w.begin(t)
	w.free(scope, id, false)
	r, err := v.Retry(context.Background(), id, "it is well again")
	w.ended(t, scope, r, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrState)
}

func (w *world) judge(t *rapid.T) {
	v, scope, id := w.one(t, arc.Delivered)
	fails := w.begin(t)
	verdict := rapid.SampledFrom([]learn.Verdict{learn.Delivered, learn.Failed}).Draw(t, "verdict")
	w.mu.Lock()
	was := w.known(scope, id).report
	w.mu.Unlock()
	w.free(scope, id, false)
	err := v.Judge(context.Background(), id, verdict, "so says "+marks[scope])
	w.ended(t, scope, nil, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrState)
	if err == nil && was != nil {
		judged := *was
		judged.Verdict = verdict
		w.mu.Lock()
		w.known(scope, id).report = &judged
		w.mu.Unlock()
	}
}

func (w *world) decide(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	fails := w.begin(t)
	for r, err := range w.agent.In(scope).Unfinished(context.Background()) {
		require.NoError(t, err)
		if len(r.Approvals) == 0 {
			continue
		}
		p := r.Approvals[0]
		allow := rapid.Bool().Draw(t, "allow")
		w.mu.Lock()
		w.public(scope, "an approval", p)
		if allow {
			w.known(scope, p.Run).leave++
		}
		w.mu.Unlock()
		err = w.agent.In(scope).Decide(context.Background(), act.Ruling{Approval: p.ID, Allow: allow, By: "eve"})
		w.ended(t, scope, nil, err, fails, arc.ErrRunning, arc.ErrState)
		break
	}
	w.ended(t, scope, nil, nil, fails)
}

func (w *world) cancel(t *rapid.T) {
	v, scope, id := w.one(t, rapid.SampledFrom([]arc.Status{arc.Waiting, arc.Asking, arc.Blocked}).Draw(t, "status"))
	fails := w.begin(t)
	if fails {
		w.free(scope, id, false)
	}
	err := v.Cancel(context.Background(), id, "not wanted by "+marks[scope])
	w.ended(t, scope, nil, err, fails, store.ErrNotFound, arc.ErrState)
	if err == nil {
		r, err := v.Report(context.Background(), id)
		w.ended(t, scope, r, err, false)
		require.Equal(t, arc.Canceled, r.Status)
	}
}

func (w *world) delete(t *rapid.T) {
	v, scope, id := w.one(t, "")
	fails := w.begin(t)
	err := v.Delete(context.Background(), id)
	w.ended(t, scope, nil, err, fails, store.ErrNotFound, arc.ErrRunning, arc.ErrState)
	if err == nil || fails {
		w.free(scope, id, true)
	}
}

func (w *world) idle(t *rapid.T) {
	w.begin(t)
	<-time.After(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 3 * time.Hour, 26 * time.Hour}).Draw(t, "for"))
	w.ended(t, "a", nil, nil, false)
}

// reopen ends the process, in order or within any commit, and opens the store again.
func (w *world) reopen(t *rapid.T) {
	if rapid.Bool().Draw(t, "killed") {
		w.at.dead.Store(true)
		_ = w.agent.Close()
		w.open()
		return
	}
	before := w.says(t)
	require.NoError(t, w.agent.Shutdown(context.Background()))
	require.NoError(t, w.agent.Close())
	w.open()
	after := w.says(t)
	goesOn := slices.ContainsFunc(before, func(line string) bool { // what the store or a caller has left
		return strings.Contains(line, `"running"`) || strings.Contains(line, `"waiting"`)
	})
	for _, barred := range w.barred { // an erasure, too
		goesOn = goesOn || barred
	}
	if !goesOn {
		require.Equal(t, before, after, "it knows what it knew")
	}
}

// heldUp has a process held up at one of its commits until another one has taken up what it does.
func (w *world) heldUp(t *rapid.T) {
	o := w.last
	if !w.shared || o.Text == "" {
		t.Skip("nobody else, or nothing to do")
	}
	o.ID = w.newID()
	w.begin(t)
	w.at.fail(0, 0, false)
	w.at.mu.Lock()
	w.at.left, w.at.held = rapid.IntRange(1, 8).Draw(t, "commit"), make(chan struct{})
	w.at.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.agent.Run(context.Background(), o)
	}()
	<-time.After(2 * time.Hour)
	v := w.others[0].agent.In(o.Scope)
	before, err := v.Report(context.Background(), o.ID)
	close(w.at.held)
	<-done
	<-time.After(time.Minute)
	after, err2 := v.Report(context.Background(), o.ID)
	if err == nil && slices.Contains([]arc.Status{arc.Delivered, arc.Blocked}, before.Status) {
		require.NoError(t, err2)
		require.Equal(t, before, after, "it has ended")
		w.reached["ended elsewhere"]++
	}
}

func (w *world) remember(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	m, err := w.agent.In(scope).Memory(context.Background())
	require.NoError(t, err)
	d := memory.Draft{Kind: rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Rule, memory.Pattern}).Draw(t, "kind")}
	n := w.newID()
	d.Content = fmt.Sprintf("the valve %s of %s, with %s", n, marks[scope], secretToken)
	if strange := rapid.IntRange(0, 3).Draw(t, "stranger") == 3; strange {
		d.Content, d.Source.Origin = fmt.Sprintf("open and close the valve %s, %s", n, stranger), memory.Web
	}
	d.Content = strings.ReplaceAll(d.Content, secretToken, "api_key="+secretToken)
	fails := w.begin(t)
	got, err := m.Remember(context.Background(), d)
	w.ended(t, scope, nil, err, fails)
	if err == nil && !w.barred[scope] {
		if w.notes[scope] == nil {
			w.notes[scope] = map[memory.ID]string{}
		}
		w.notes[scope][got.ID] = "valve " + n
	}
}

func (w *world) forget(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	ids := slices.Sorted(maps.Keys(w.notes[scope]))
	if len(ids) == 0 {
		t.Skip("none")
	}
	id := rapid.SampledFrom(ids).Draw(t, "note")
	m, err := w.agent.In(scope).Memory(context.Background())
	require.NoError(t, err)
	fails := w.begin(t)
	err = m.Forget(context.Background(), id)
	w.ended(t, scope, nil, err, fails, store.ErrNotFound)
	delete(w.notes[scope], id)
}

// learnOf adds a fact about whom a scope is of.
func (w *world) learnOf(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	who, err := w.agent.In(scope).Identity(context.Background())
	require.NoError(t, err)
	fails := w.begin(t)
	words := fmt.Sprintf("%s opens valve %s", marks[scope], w.newID())
	f, err := who.Add(context.Background(), identity.Fact{Content: words + ", api_key=" + secretToken})
	w.ended(t, scope, nil, err, fails)
	if err == nil && !w.barred[scope] {
		if w.facts[scope] == nil {
			w.facts[scope] = map[string]string{}
		}
		w.facts[scope][f.ID] = words
	}
}

// erase erases a scope: afterwards there is nothing of it, and what a commit that fails has left of it is
// unknown.
func (w *world) erase(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	fails := w.begin(t)
	err := w.agent.In(scope).Erase(context.Background())
	w.ended(t, scope, nil, err, fails, arc.ErrRunning)
	w.unknown(scope)
	if err != nil {
		return
	}
	w.reached["erased"]++
	for e, err := range w.mem.Scan(context.Background(), store.Range{Prefix: scope.TenantPrefix() + scope.Below()}) {
		require.NoError(t, err)
		t.Fatalf("%s is erased, and there is %q", scope, e.Key)
	}
}

// unknown has the model know nothing of a scope.
func (w *world) unknown(scope memory.Scope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.notes, scope)
	delete(w.facts, scope)
	maps.DeleteFunc(w.runs, func(key string, _ *known) bool { return strings.HasPrefix(key, string(scope)+"//") })
}

func (w *world) maintain(t *rapid.T) {
	scope := rapid.SampledFrom(worldScopes).Draw(t, "scope")
	fails := w.begin(t)
	_, err := w.agent.In(scope).Maintain(context.Background())
	w.ended(t, scope, nil, err, fails)
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, k := range w.runs { // what is old may be gone
		if fails {
			k.report = nil
		}
		of, id, _ := strings.Cut(key, "//")
		if _, err := w.agent.In(memory.Scope(of)).Report(context.Background(), id); errors.Is(err, store.ErrNotFound) {
			delete(w.runs, key)
		}
	}
}

// says is all that an Agent says.
func (w *world) says(t *rapid.T) (lines []string) {
	ctx := context.Background()
	for _, scope := range worldScopes {
		v := w.agent.In(scope)
		for r, err := range v.Runs(ctx) {
			require.NoError(t, err)
			raw, err := json.Marshal(r)
			require.NoError(t, err)
			lines = append(lines, string(raw))
		}
		m, err := v.Memory(ctx)
		require.NoError(t, err)
		hits, err := m.Recall(ctx, memory.Query{Text: "open and close the valve", K: 5})
		require.NoError(t, err)
		for _, h := range hits {
			lines = append(lines, fmt.Sprint(h.Record.ID, h.Record.Content, h.Score))
		}
		h, err := w.agent.In(scope).Health(ctx)
		require.NoError(t, err)
		s, err := v.Assess(ctx, "s")
		require.NoError(t, err)
		why, err := v.Why(ctx, arc.Objective{Text: "open the valve", Inputs: json.RawMessage(`{"who":"` + marks[scope] + `","n":1}`)})
		require.NoError(t, err)
		lines = append(lines, h.Text(), fmt.Sprint(s), why)
		w.public(scope, "what it says", lines[len(lines)-3:])
	}
	return lines
}

// check looks at the store, and at what must stand.
func (w *world) check(t *rapid.T) {
	synctest.Wait()
	w.mu.Lock()
	wrong := slices.Clone(w.wrong)
	w.mu.Unlock()
	if len(wrong) > 0 {
		t.Fatalf("%s", strings.Join(wrong, "\n"))
	}
	ctx := context.Background()
	for _, scope := range worldScopes { // an erasure that was interrupted goes on at any time
		_, err := w.mem.Get(ctx, "erase/"+string(scope))
		if err == nil || w.barred[scope] {
			w.unknown(scope)
		}
		w.barred[scope] = err == nil
	}
	for e, err := range w.mem.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		text := e.Key + string(e.Value)
		if strings.Contains(text, secretToken) {
			t.Fatalf("%q has the secret: %q", e.Key, text)
		}
		for scope, mark := range marks {
			if strings.Contains(text, mark) && !strings.HasPrefix(e.Key, scope.TenantPrefix()) {
				t.Fatalf("%q has what is of %s: %q", e.Key, scope, text)
			}
		}
	}
	for scope, notes := range w.notes {
		m, err := w.agent.In(scope).Memory(ctx)
		require.NoError(t, err)
		for id, words := range notes {
			r, err := m.Get(ctx, id)
			require.NoError(t, err, "%s was acknowledged", words)
			require.Contains(t, r.Content, words)
		}
	}
	for scope, facts := range w.facts {
		who, err := w.agent.In(scope).Identity(ctx)
		require.NoError(t, err)
		for id, words := range facts {
			f, err := who.Get(ctx, id)
			require.NoError(t, err, "%s was acknowledged", words)
			require.Contains(t, f.Content, words)
		}
	}
	for key, k := range w.runs {
		scope, id, _ := strings.Cut(key, "//")
		if k.report == nil {
			continue
		}
		r, err := w.agent.In(memory.Scope(scope)).Report(ctx, id)
		require.NoError(t, err)
		require.Equal(t, k.report, r, "it was acknowledged")
		told := memory.Scope(scope).TenantPrefix() + memory.Scope(scope).Key("part", id+"/advice/")
		if r.Cause == arc.Outage {
			continue // it goes on with what it was told
		}
		for e := range w.mem.Scan(ctx, store.Range{Prefix: told}) {
			t.Fatalf("%s has ended, and %q is there", key, e.Key)
		}
	}
}

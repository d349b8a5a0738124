package goal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// Whatever workers do, readings say, people edit, the store answers and the clock shows: each
// dispatch is for a goal that was read as violated, alone with its values, run once, and
// judged by what a later reading shows of what it was for. Once all is well, all goals are met.
func TestControllerInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { inBubble(t, func() { newKeeping(rt).play() }) })
}

// inBubble calls fn in a bubble, and panics as it does outside of that.
func inBubble(t *testing.T, fn func()) {
	var failed any // which is rapid's
	synctest.Test(t, func(*testing.T) {
		defer func() { failed = recover() }()
		fn()
	})
	switch {
	case failed == nil:
	case fmt.Sprintf("%T", failed) == "rapid.invalidData":
		panic(failed) // rapid tells failures apart by their lines
	default:
		panic(failed)
	}
}

// aGoal is a goal of the test, that a number is at most max.
type aGoal struct {
	id, severity, place string
	max                 int // less than 0: it was taken out
}

// places are of the values that goals are about. b.x can be mended only while a.y is 0.
var places = []string{"a.x", "a.y", "b.x"}

func effectOf(place string) reason.Effect {
	return reason.Effect{Domain: place[:1], Path: "data." + place[2:]}
}

// keeping is what the test knows of controllers and their world.
type keeping struct {
	t     *rapid.T
	st    *arctest.Store
	p     *oneProcess // the process
	skew  atomic.Int64
	goals []aGoal
	gs    *goal.Goals
	w     *goal.World

	mu     sync.Mutex
	truth  map[string]float64
	reads  map[string][]reading // by place
	runs   map[string]*aRun
	active map[string]string // place → dispatch
	what   map[string]string // goal → what a worker does for it
	away   bool              // Judge fails
	wrong  error             // the first thing that is wrong
}

type reading struct {
	at    time.Time // in the bubble
	value float64
}

// aRun is what the test knows of a dispatch.
type aRun struct {
	goal.Dispatch
	max    float64
	over   time.Time // zero: it did not return
	res    goal.Result
	judged map[*oneProcess]bool // what each process has said, once that was taken in
	owed   *oneProcess          // it has to say so again
}

// oneProcess is a process: a controller with its store, until it ends.
type oneProcess struct {
	store.Store
	*keeping
	c    *goal.Controller
	gone atomic.Bool
}

func (p *oneProcess) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if p.gone.Load() {
		return 0, errDead
	}
	return p.Store.Commit(ctx, ops...)
}

func newKeeping(t *rapid.T) *keeping {
	k := &keeping{
		t: t, st: arctest.NewStore(store.NewMem()), gs: new(goal.Goals), w: new(goal.World),
		goals: []aGoal{{"x low", "low", "a.x", 0}, {"x high", "high", "a.x", 2}, {"y", "", "a.y", 0}, {"b", "critical", "b.x", 0}},
		truth: map[string]float64{}, reads: map[string][]reading{}, runs: map[string]*aRun{}, active: map[string]string{}, what: map[string]string{},
	}
	k.load()
	k.start()
	return k
}

func (k *keeping) now() time.Time { return time.Now().Add(time.Duration(k.skew.Load())) }

// wrongly notes what is wrong, in any goroutine.
func (k *keeping) wrongly(bad bool, format string, args ...any) {
	if bad && k.wrong == nil {
		k.wrong = fmt.Errorf(format, args...)
	}
}

func (k *keeping) load() {
	var b strings.Builder
	for _, g := range k.goals {
		if g.max >= 0 {
			fmt.Fprintf(&b, "- {id: %s, severity: %q, selector: domains.%s.data.%s, max: %d}\n", g.id, g.severity, g.place[:1], g.place[2:], g.max)
		}
	}
	text := "goals:\n" + b.String()
	if b.Len() == 0 {
		text = "goals: []"
	}
	_, err := k.gs.Load([]byte(text))
	require.NoError(k.t, err)
}

func (k *keeping) start() {
	k.p = &oneProcess{Store: k.st, keeping: k}
	to0 := func(place string) []goal.Change { return []goal.Change{{Effect: effectOf(place), Op: "set", Value: 0}} }
	is0 := goal.Condition{Selector: "domains.a.data.y", Operator: "eq", Expected: 0}
	for {
		c, err := goal.New(context.Background(), k.p, k.w, k.gs, k.p, k.p, &goal.Options{
			Lease: 2 * time.Minute, Cooldown: time.Minute, MaxInFlight: 2, History: 1 << 20, Grace: -1, Now: k.now,
			Actions: []goal.Action{
				{Name: "fix x", Skill: "s", Effects: to0("a.x")}, {Name: "fix y", Skill: "s", Effects: to0("a.y")},
				{Name: "fix b", Skill: "s", Pre: []goal.Condition{is0}, Effects: to0("b.x")},
			},
		})
		if k.p.c = c; err == nil {
			return
		}
		require.ErrorIs(k.t, err, arctest.ErrStore)
	}
}

func (p *oneProcess) Skills() []string         { return []string{"s"} }
func (p *oneProcess) Effects() []reason.Effect { return []reason.Effect{effectOf("a.x")} }

// touched are the values that a dispatch may change.
func (r *aRun) touched(of []aGoal) []string {
	g := of[slices.IndexFunc(of, func(g aGoal) bool { return g.id == r.Goal })]
	out := []string{g.place}
	for _, s := range r.Steps {
		if at := "a." + strings.TrimPrefix(s.Action, "fix "); slices.Contains(places, at) && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// Run does what is foreseen for the goal, in some time.
func (p *oneProcess) Run(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	if p.gone.Load() {
		return goal.Result{}, errDead
	}
	p.mu.Lock()
	r := &aRun{Dispatch: d, judged: map[*oneProcess]bool{}}
	_, err := fmt.Sscanf(d.Steps[0].Task.Verify[strings.Index(d.Steps[0].Task.Verify, "at most"):], "at most %g", &r.max)
	p.wrongly(err != nil, "no bound in %+v", d)
	p.wrongly(p.runs[d.ID] != nil, "%s is run twice", d.ID)
	p.runs[d.ID] = r
	touched := r.touched(p.goals)
	for _, at := range touched {
		p.wrongly(p.active[at] != "", "%s and %s are about %s", d.ID, p.active[at], at)
		p.active[at] = d.ID
	}
	what, lasts := p.what[d.Goal], 20*time.Second
	if what == "hangs" || what == "stays" {
		lasts = time.Hour
	}
	p.mu.Unlock()
	cut := what == "stays"
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		cut = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range touched {
		if p.active[at] == d.ID {
			delete(p.active, at)
		}
	}
	if cut || p.gone.Load() {
		if what == "stays" {
			p.mu.Unlock()
			<-time.After(time.Hour)
			p.mu.Lock()
		}
		return goal.Result{}, ctx.Err()
	}
	r.over = time.Now()
	switch r.res = (goal.Result{End: goal.Succeeded, Worker: "w"}); what {
	case "", "mends", "says what":
		for _, at := range touched {
			p.truth[at] = 0
		}
		if what == "says what" {
			e := effectOf(touched[0])
			r.res.Deltas = []reason.Delta{{Domain: e.Domain, Path: e.Path, Value: []byte("0")}}
		}
	case "fails":
		r.res.End, r.res.Why = goal.Failed, "no"
	case "is refused":
		r.res.End = goal.Refused
	case "says nonsense":
		r.res.End = "nonsense"
	case "is an error":
		return goal.Result{}, errors.New("no")
	case "panics":
		panic("no")
	}
	return r.res, nil
}

var doings = []string{"mends", "mends", "lies", "says what", "fails", "is refused", "says nonsense", "is an error", "panics", "hangs", "stays"}

// Resume knows what came of a run that had returned.
func (p *oneProcess) Resume(_ context.Context, d goal.Dispatch) (goal.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r := p.runs[d.ID]; {
	case p.gone.Load():
		return goal.Result{}, errDead
	case r == nil:
		return goal.Result{}, store.ErrNotFound
	case r.res.End == goal.Succeeded:
		return r.res, nil
	}
	return goal.Result{End: goal.Interrupted}, nil
}

// Judge holds what it is told against what was read since the run had returned.
func (p *oneProcess) Judge(_ context.Context, id string, seen bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[id]
	p.wrongly(r == nil || r.res.End != goal.Succeeded, "%s is judged", id)
	place := p.goals[slices.IndexFunc(p.goals, func(g aGoal) bool { return g.id == r.Goal })].place
	p.wrongly(!slices.ContainsFunc(p.reads[place], func(x reading) bool {
		return x.at.After(r.over) && (x.value <= r.max) == seen
	}), "%s: seen is %v, by no reading of %v since %v that %v is at most %v", id, seen, p.reads[place], r.over, place, r.max)
	if was, told := r.judged[p]; told {
		p.wrongly(was != seen, "%s: seen is %v, and was %v", id, seen, was)
	}
	if r.owed = nil; p.away {
		r.owed = p
		return errors.New("away")
	}
	r.judged[p] = seen
	return nil
}

// read has the world read a domain.
func (k *keeping) read(domain string, off float64) {
	data := map[string]any{}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, at := range places {
		if at[:1] == domain {
			v := k.truth[at] + off
			data[at[2:]], k.reads[at] = v, append(k.reads[at], reading{time.Now(), v})
		}
	}
	require.NoError(k.t, k.w.Set(domain, goal.Snapshot{At: k.now(), Data: data}))
}

func (k *keeping) tick(t *rapid.T) {
	rep, err := k.p.c.Tick(context.Background())
	if err != nil && !strings.Contains(err.Error(), "away") {
		require.ErrorIs(t, err, arctest.ErrStore)
	}
	for _, g := range rep.Goals {
		if g.Doing == goal.Began {
			require.Equal(t, goal.Violated, g.Status)
			at := k.goals[slices.IndexFunc(k.goals, func(x aGoal) bool { return x.id == g.Goal })]
			require.Greater(t, g.Actual, float64(at.max))
		}
	}
	synctest.Wait()
}

func (k *keeping) restart() {
	k.p.c.Close()
	k.p.gone.Store(true)
	synctest.Wait()
	k.mu.Lock()
	clear(k.active)
	k.mu.Unlock()
	k.w = new(goal.World)
	k.start()
}

func (k *keeping) play() {
	defer func() {
		k.p.c.Close()
		k.p.gone.Store(true)
		idle(3 * time.Hour) // those that stay return
	}()
	pass := func(d time.Duration) {
		idle(d)
		synctest.Wait()
	}
	k.t.Repeat(map[string]func(*rapid.T){
		"break": func(t *rapid.T) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.truth[rapid.SampledFrom(places).Draw(t, "place")] = float64(rapid.IntRange(1, 4).Draw(t, "value"))
		},
		"read":       func(t *rapid.T) { k.read(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "domain"), 0) },
		"read wrong": func(t *rapid.T) { k.read(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "domain"), 1) },
		"read not": func(t *rapid.T) {
			s := goal.Snapshot{At: k.now(), Err: errors.New("no answer")}
			require.NoError(t, k.w.Set(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "domain"), s))
		},
		"work": func(t *rapid.T) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.what[rapid.SampledFrom(k.goals).Draw(t, "goal").id] = rapid.SampledFrom(doings).Draw(t, "what")
		},
		"tick":      k.tick,
		"tick more": k.tick,
		"pass": func(t *rapid.T) {
			pass(rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, 90 * time.Second, 5 * time.Minute, 15 * time.Minute}).Draw(t, "time"))
		},
		"edit": func(t *rapid.T) {
			k.goals[rapid.IntRange(0, len(k.goals)-1).Draw(t, "goal")].max = rapid.IntRange(-1, 3).Draw(t, "max")
			k.load()
		},
		"store": func(t *rapid.T) {
			k.st.FailNext(rapid.IntRange(0, 2).Draw(t, "commits"), rapid.IntRange(1, 3).Draw(t, "many"), rapid.Bool().Draw(t, "applied"))
		},
		"judge": func(*rapid.T) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.away = !k.away
		},
		"clock": func(t *rapid.T) {
			k.tick(t)
			k.skew.Store(int64(rapid.IntRange(-90, 90).Draw(t, "minutes")) * int64(time.Minute))
		},
		"restart": func(*rapid.T) { k.restart() },
		"crash": func(*rapid.T) {
			k.p.gone.Store(true)
			k.restart()
		},
		"": func(t *rapid.T) {
			k.mu.Lock()
			defer k.mu.Unlock()
			require.NoError(t, k.wrong)
		},
	})
	// From now on all is well.
	k.st.FailNext(0, 0, false)
	k.mu.Lock()
	k.away = false
	clear(k.what)
	k.mu.Unlock()
	for i := range k.goals {
		k.goals[i].max = max(0, k.goals[i].max)
	}
	k.load()
	for range 120 {
		k.read("a", 0)
		k.read("b", 0)
		k.tick(k.t)
		pass(time.Minute)
	}
	rep, err := k.p.c.Tick(context.Background())
	require.NoError(k.t, err)
	for _, g := range rep.Goals {
		require.Equal(k.t, []any{goal.Met, goal.Nothing}, []any{g.Status, g.Doing}, "%+v", g)
	}
	require.NoError(k.t, k.wrong)
	k.check()
}

// check holds the ledger against the runs.
func (k *keeping) check() {
	n := 0
	for o, err := range k.p.c.Outcomes(context.Background()) {
		require.NoError(k.t, err)
		n++
		require.EqualValues(k.t, n, o.Number, "a dispatch has no outcome")
		r := k.runs[o.ID]
		switch {
		case r == nil:
			require.Contains(k.t, []goal.End{goal.Refused, goal.Interrupted}, o.End)
		case r.over.IsZero():
			require.Equal(k.t, goal.Interrupted, o.End)
		case r.res.End == goal.Succeeded:
			require.Contains(k.t, []goal.End{goal.Succeeded, goal.Unseen, goal.Interrupted, goal.Failed}, o.End)
		default:
			require.Contains(k.t, []goal.End{goal.Failed, goal.Refused, goal.Interrupted}, o.End)
		}
		if o.End == goal.Succeeded {
			require.Contains(k.t, slices.Collect(maps.Values(r.judged)), true)
		}
		require.False(k.t, r != nil && r.owed == k.p, "%s was not judged again", o.ID)
	}
	require.GreaterOrEqual(k.t, n, len(k.runs))
}

package goal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// plans are what all places of a test are told.
type plans struct {
	goals     []string // as YAML
	overrides []goal.Override
	what      map[string]string // goal → what a worker does for it
	away      bool              // no worker is there
	release   chan struct{}     // closed when what stays ends
}

// place is a Controller that keeps the same goals as others do elsewhere.
type place struct {
	*plans
	name   string
	again  bool // opened again before each tick
	moves  bool // and then to another store
	turned bool // what has no order comes in another one
	tenant string
	st     store.Store
	w      *goal.World
	gs     *goal.Goals
	c      *goal.Controller

	mu      sync.Mutex
	heard   []string
	runs    map[string]string // dispatch → what is done
	resumed map[string]int
}

// inOrder returns a slice, or a copy of it from its end on.
func inOrder[T any](p *place, s []T) []T {
	if p.turned {
		s = slices.Clone(s)
		slices.Reverse(s)
	}
	return s
}

func (p *place) open(t *rapid.T) {
	p.gs = new(goal.Goals)
	if p.turned {
		p.override()
	}
	p.load(t)
	if !p.turned {
		p.override()
	}
	set := func(at string) goal.Change { return goal.Change{Effect: effectOf(at), Op: "set", Value: 0} }
	c, err := goal.New(context.Background(), p.st, p.w, p.gs, p, p, &goal.Options{
		Tenant: p.tenant, Lease: 1000 * time.Hour, Cooldown: time.Minute, MaxInFlight: 2, Grace: -1,
		Actions: inOrder(p, []goal.Action{
			{Name: "fix x", Skill: "s", Effects: []goal.Change{set("a.x")}, Cost: 2},
			{Name: "turn x", Skill: "s", Effects: []goal.Change{{Effect: effectOf("a.x"), Op: "add", Value: -1}}},
			{Name: "fix y", Skill: "s", Effects: []goal.Change{set("a.y")}},
			{Name: "fix b", Skill: "s", Effects: []goal.Change{set("b.x")}, Pre: []goal.Condition{{Selector: "domains.a.data.y", Operator: "falsy"}}},
		}),
		Outcome: func(o goal.Outcome) {
			p.hear(asJSON(o))
		},
	})
	require.NoError(t, err)
	p.c = c
}

func (p *place) load(t *rapid.T) {
	_, err := p.gs.Load([]byte("goals: [" + strings.Join(p.goals, ", ") + "]"))
	require.NoError(t, err)
}

func (p *place) override() { _ = p.gs.Override(p.overrides...) } // some do not fit

func (p *place) close() {
	p.c.Close()
	synctest.Wait()
}

// restart closes the Controller and opens it again, with its entries in another store if it moves, unless it would give
// up what is under way.
func (p *place) restart(t *rapid.T) {
	p.mu.Lock()
	often := slices.Contains(slices.Collect(maps.Values(p.resumed)), 3)
	p.mu.Unlock()
	if often {
		return
	}
	p.close()
	if p.moves {
		to := store.NewMem()
		for e, err := range p.st.Scan(context.Background(), store.Range{}) {
			require.NoError(t, err)
			_, err = to.Commit(context.Background(), store.Op{Key: e.Key, Value: e.Value})
			require.NoError(t, err)
		}
		p.st = to
	}
	p.open(t)
}

// asJSON is text that says what pointers point to.
func asJSON(v ...any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func (p *place) hear(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, what)
}

func (p *place) Skills() (out []string) {
	if !p.away {
		out = append(out, "s")
	}
	return out
}

func (p *place) Effects() []reason.Effect {
	return inOrder(p, []reason.Effect{effectOf("a.x"), {Domain: "b", Path: "data"}})
}

func (p *place) Judge(_ context.Context, id string, seen bool) error {
	p.hear(fmt.Sprint("judge ", id, seen))
	return nil
}

// Run does what is planned for the goal.
func (p *place) Run(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	p.hear(asJSON(d.Number, d.Goal, d.Severity, d.Text, d.Inputs, d.Steps, d.At))
	p.mu.Lock()
	what := p.what[d.Goal]
	p.runs[d.ID] = what
	p.mu.Unlock()
	return p.do(ctx, d, what)
}

// Resume goes on with a run.
func (p *place) Resume(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	p.mu.Lock()
	what := p.runs[d.ID]
	p.resumed[d.ID]++
	p.mu.Unlock()
	return p.do(ctx, d, what)
}

func (p *place) do(ctx context.Context, d goal.Dispatch, what string) (goal.Result, error) {
	what, stays := strings.CutPrefix(what, "stays and ")
	if stays {
		select {
		case <-p.release:
		case <-ctx.Done():
			return goal.Result{}, ctx.Err()
		}
	}
	p.mu.Lock()
	delete(p.resumed, d.ID)
	p.mu.Unlock()
	switch r := (goal.Result{End: goal.Succeeded, Worker: "w"}); what {
	case "fails":
		return goal.Result{End: goal.Failed, Why: "no"}, nil
	case "is refused":
		return goal.Result{End: goal.Refused, Why: "no"}, nil
	case "is refused half way":
		return goal.Result{End: goal.Refused, Done: 1}, nil
	case "is cut off":
		return goal.Result{End: goal.Interrupted}, nil
	case "panics":
		panic("no")
	case "says what":
		r.Deltas = []reason.Delta{{Domain: "a", Path: "data.x", Value: []byte("0")}}
		return r, nil
	default:
		return r, nil
	}
}

// tick returns what a tick and all that came of it said.
func (p *place) tick(t *rapid.T) (any, error) {
	r, err := p.c.Tick(context.Background())
	synctest.Wait()
	for i := range r.Goals {
		if g := &r.Goals[i]; g.Doing == goal.InFlight || g.Doing == goal.Began {
			g.Until = time.Time{} // of a lease, which is another process's
		}
	}
	slices.Sort(p.heard)
	said := p.heard
	p.heard = nil
	var kept []goal.Outcome
	for o, err := range p.c.Outcomes(context.Background()) {
		require.NoError(t, err)
		kept = append(kept, o)
	}
	return []any{r.At, r.Goals, said, kept, p.w.Domains(r.At), p.gs.All()}, err
}

// TestWhereAControllerIsChangesNothing has the same goals kept by a Controller that stays, by one that is opened again
// before each tick, by one that moves to another store with all its entries, by two tenants that share a store, and by
// one that is told all that has no order in another one: all do and say the same.
func TestWhereAControllerIsChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { inBubble(t, func() { keepInPlaces(rt) }) })
}

func keepInPlaces(t *rapid.T) {
	told := &plans{what: map[string]string{}, release: make(chan struct{})}
	shared := store.NewMem()
	all := []*place{
		{name: "stays"}, {name: "opened again", again: true}, {name: "moved", again: true, moves: true},
		{name: "turned", turned: true}, {name: "shared", tenant: "acme", st: shared}, {name: "shared too", tenant: "ac", again: true, st: shared},
	}
	goals := rapid.Custom(func(t *rapid.T) []string {
		var out []string
		for i := range 4 {
			if rapid.IntRange(0, 5).Draw(t, "there") == 0 {
				continue
			}
			at := rapid.SampledFrom(places).Draw(t, "place")
			g := fmt.Sprintf("{id: g%d, selector: domains.%s.data.%s", i, at[:1], at[2:])
			for _, field := range [][]string{
				{"severity: high", "severity: low"}, {"max: 0", "max: 1", "operator: falsy", "operator: eq, expected: 0", "operator: in, expected: [0, 1]"},
				{"cooldown: 5m", "cooldown: 10s"}, {"max_age: 3m"}, {"act_on_unknown: true"}, {"enabled: false"},
			} {
				// Some more often are none.
				if k := rapid.IntRange(0, 4).Draw(t, "field"); k < len(field) {
					g += ", " + field[k]
				}
			}
			out = append(out, g+"}")
		}
		return out
	})
	told.goals = goals.Draw(t, "goals")
	for _, p := range all {
		p.plans, p.w, p.runs, p.resumed = told, new(goal.World), map[string]string{}, map[string]int{}
		if p.st == nil {
			p.st = store.NewMem()
		}
		p.open(t)
		defer func() { p.close() }() // the one that is open then
	}
	domains := []string{"a", "b"}
	pass := func(t *rapid.T) {
		idle(time.Duration(rapid.SampledFrom([]int{1, 30, 70, 70, 240, 660}).Draw(t, "seconds")) * time.Second)
	}
	t.Repeat(map[string]func(*rapid.T){
		"read": func(t *rapid.T) {
			s := map[string]goal.Snapshot{}
			for _, domain := range domains {
				data := map[string]any{}
				for _, at := range places {
					if at[:1] == domain {
						if v := rapid.IntRange(-2, 4).Draw(t, at); v >= 0 {
							data[at[2:]] = v
						} else if v == -1 {
							data[at[2:]] = nil
						}
					}
				}
				x := goal.Snapshot{At: time.Now().Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 60}).Draw(t, "ago")) * time.Second), Data: data}
				switch rapid.IntRange(0, 7).Draw(t, "how") {
				case 0:
					continue
				case 1:
					x.Err = errors.New("no answer")
				case 2:
					x.MaxAge = 3 * time.Minute
				}
				s[domain] = x
			}
			for _, p := range all {
				for _, domain := range inOrder(p, domains) {
					if x, ok := s[domain]; ok {
						require.NoError(t, p.w.Set(domain, x))
					}
				}
			}
		},
		"work": func(t *rapid.T) {
			what := rapid.SampledFrom([]string{
				"succeeds", "succeeds", "fails", "is refused", "is refused half way", "is cut off", "panics", "says what",
				"stays and succeeds", "stays and fails",
			}).Draw(t, "what")
			told.what[fmt.Sprint("g", rapid.IntRange(0, 3).Draw(t, "goal"))] = what
		},
		"release": func(*rapid.T) {
			close(told.release)
			synctest.Wait()
			told.release = make(chan struct{})
		},
		"edit": func(t *rapid.T) {
			told.goals = goals.Draw(t, "goals")
			for _, p := range all {
				p.load(t)
			}
		},
		"override": func(t *rapid.T) {
			told.overrides = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) goal.Override {
				switch rapid.IntRange(0, 3).Draw(t, "of") {
				case 0:
					action := rapid.SampledFrom([]string{"fix x", "fix y", "turn x", "change a data.x"}).Draw(t, "action")
					return goal.Override{Action: action, RestMinutes: rapid.SampledFrom([]int{1, 30}).Draw(t, "rest")}
				case 1:
					return goal.Override{Goal: "g0", Disabled: true}
				case 2:
					return goal.Override{Goal: "g1", Max: new(2.0)}
				default:
					return goal.Override{Goal: "g2", Severity: "critical"}
				}
			}), 0, 3).Draw(t, "overrides")
			for _, p := range all {
				p.override()
			}
		},
		"staff": func(*rapid.T) { told.away = !told.away },
		"pass":  pass, "pass on": pass,
		"": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "tick") == 0 {
				return
			}
			var want any
			for i, p := range all {
				if p.again {
					p.restart(t)
				}
				got, err := p.tick(t)
				require.NoError(t, err)
				if i == 0 {
					want = got
					continue
				}
				require.Equal(t, want, got, p.name)
			}
		},
	})
}

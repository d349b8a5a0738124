package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whoever runs what beside whom: a run's Report says what its parts have reported, a
// tenant's Costs what its workers have, and a bound that runs share is reached by what was
// spent alone: nothing stays reserved.
func TestAccounts(t *testing.T) {
	t.Parallel()
	checkInBubble(t, accounts)
}

// called are the parts of a host that count what they report.
type called struct {
	mu     sync.Mutex
	spent  map[string]reason.Usage   // by run: of all parts
	worker map[string]reason.Usage   // by tenant and worker
	calls  map[string]int            // by run
	keys   map[string]map[string]int // by run: calls of each attempt
}

// aDeck is what an objective's Inputs tell the host's parts to do.
type aDeck struct {
	Tenant, ID string
	Deck       []byte
}

func (c *called) reads(in json.RawMessage) (s aDeck) {
	if err := json.Unmarshal(in, &s); err != nil {
		panic(err)
	}
	return s
}

// report counts what a part reports, and says what it does: by the deck of
// the run, and well once that is empty.
func (c *called) report(s aDeck, worker, key string) (u reason.Usage, does byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := s.Tenant + "/" + s.ID
	if n := c.calls[id]; n < len(s.Deck) {
		does = s.Deck[n]
	}
	c.calls[id]++
	u = reason.Usage{TokensIn: 10 + int(does), TokensOut: 3, CostUSD: float64(1+does%7) / 64}
	c.spent[id] = c.spent[id].Add(u)
	if worker != "" {
		if c.keys[id] == nil {
			c.keys[id] = map[string]int{}
		}
		c.keys[id][key]++
		c.worker[s.Tenant+"/"+worker] = c.worker[s.Tenant+"/"+worker].Add(u)
	}
	return u, does
}

func (c *called) host() arc.Host {
	worker := func(name string) act.Worker {
		return act.Worker{Card: rank.Candidate{Name: name, Prior: 0.5}, Skills: []string{"work"},
			Executor: act.ExecutorFunc(func(ctx context.Context, w act.Work) (act.Result, error) {
				u, does := c.report(c.reads(w.Inputs), name, w.Key)
				res := done(fmt.Sprintf("%q", w.Task.Objective))
				res.Usage = u
				<-time.After(time.Duration(does%5) * time.Second)
				switch does % 11 {
				case 1:
					res.Output = json.RawMessage(`"poor"`)
				case 2:
					return act.Result{Usage: u}, fmt.Errorf("no luck")
				case 3:
					return act.Result{Usage: u}, act.Transient(errBoom)
				case 4:
					return act.Result{Usage: u}, act.ErrDenied
				case 5:
					return act.Result{Usage: u}, &act.RateLimitError{After: time.Minute}
				case 6:
					res.Reflection.Confidence = 7
				case 7:
					if len(w.Answers) == 0 {
						return act.Result{Usage: u}, &act.InputRequiredError{Questions: []string{"which?"}}
					}
				}
				return res, nil
			})}
	}
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
			u, does := c.report(c.reads(b.Inputs), "", "")
			d := plan(b.Objective)
			switch does % 6 {
			case 1:
				d.Tasks = append(d.Tasks, reason.Task{Objective: "then " + b.Objective, Verify: "it", Skill: "work"})
			case 2:
				d = reason.Decision{Questions: []string{"which?"}}
			case 3:
				if len(b.Goals) == 0 {
					d = reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: "locked", Subgoal: "unlock"}}
				}
			case 4:
				d.Tasks[0].Skill = "fly"
			}
			d.Usage = u
			return d, nil
		}),
		Workers: []act.Worker{worker("one"), worker("two")},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, w act.Work, r act.Result) (act.Verdict, error) {
			u, does := c.report(c.reads(w.Inputs), "", "")
			v := act.Verdict{Pass: string(r.Output) != `"poor"`, Complaint: "poor", Usage: u}
			if does%13 == 5 {
				return v, errBoom
			}
			return v, nil
		})},
	}
}

func accounts(t *rapid.T) {
	ctx := context.Background()
	c := &called{
		spent: map[string]reason.Usage{}, worker: map[string]reason.Usage{},
		calls: map[string]int{}, keys: map[string]map[string]int{},
	}
	mem := store.NewMem()
	opts := arc.Options{
		Attempts: rapid.IntRange(1, 3).Draw(t, "attempts"), Replans: rapid.IntRange(0, 1).Draw(t, "replans"),
		Seed: 1, Maintain: -1, Retention: arc.Retention{Age: -1},
		Spend:    rapid.SampledFrom([]float64{0, 0, 0.05}).Draw(t, "spend"),
		Patience: rapid.SampledFrom([]time.Duration{-1, 0}).Draw(t, "patience"),
	}
	bound := rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "bound")
	of := rapid.IntRange(0, 2).Draw(t, "of")
	switch of {
	case 0:
		opts.Bounds.Session.CostUSD = bound
	case 1:
		opts.Bounds.Scope.CostUSD = bound
	case 2:
		opts.Bounds.Day.CostUSD = bound
	}
	var agents []*arc.Agent
	for i := range rapid.IntRange(1, 2).Draw(t, "replicas") {
		o := opts
		o.Replica = []string{"one", "two"}[i]
		a, err := arc.New(ctx, mem, c.host(), &o)
		require.NoError(t, err)
		defer func() { _ = a.Close() }()
		agents = append(agents, a)
	}
	type call struct {
		agent int
		o     arc.Objective
		after time.Duration
		deeds []byte
	}
	var clients [][]call
	n := 0
	for range rapid.IntRange(1, 4).Draw(t, "clients") {
		var calls []call
		for range rapid.IntRange(1, 4).Draw(t, "runs") {
			n++
			s := aDeck{
				Tenant: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"), ID: fmt.Sprint("r", n),
				Deck: rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "deck"),
			}
			in, err := json.Marshal(s)
			require.NoError(t, err)
			calls = append(calls, call{
				agent: rapid.IntRange(0, len(agents)-1).Draw(t, "agent"),
				after: time.Duration(rapid.IntRange(0, 3).Draw(t, "after")) * time.Second,
				deeds: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "deeds"),
				o: arc.Objective{
					ID: s.ID, Scope: memory.Scope(s.Tenant), Session: rapid.SampledFrom([]string{"", "s"}).Draw(t, "session"),
					Text: "mend the cache", Situation: "down", Inputs: in,
					Provisional: rapid.IntRange(0, 4).Draw(t, "provisional") == 4,
				},
			})
		}
		clients = append(clients, calls)
	}
	var errs []error
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, calls := range clients {
		all.Go(func() {
			for _, k := range calls {
				<-time.After(k.after)
				a := agents[k.agent]
				r, err := a.Run(ctx, k.o)
				for _, d := range k.deeds {
					if err != nil {
						break
					}
					v := agents[int(d/16)%len(agents)].In(k.o.Scope)
					switch {
					case r.Status == arc.Asking:
						r, err = v.Answer(ctx, k.o.ID, "this one")
					case r.Status == arc.Blocked:
						r, err = v.Retry(ctx, k.o.ID, "it is well")
					case r.Status == arc.Waiting:
						<-time.After(3 * time.Minute)
						r, err = v.Resume(ctx, k.o.ID)
					}
				}
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	synctest.Wait()
	for _, err := range errs {
		if !errors.Is(err, arc.ErrRunning) && !errors.Is(err, arc.ErrNotAsking) && !errors.Is(err, arc.ErrNotBlocked) {
			require.NoError(t, err) // else the Agent has gone on with the run by itself
		}
	}
	<-time.After(time.Hour)
	synctest.Wait()

	for _, tenant := range []memory.Scope{"a", "b"} {
		attempts, spent := 0, 0.0
		for i, a := range agents {
			attempts, spent = 0, 0
			for r, err := range a.In(tenant).Runs(ctx, arc.Filter{}) {
				require.NoError(t, err)
				id := string(tenant) + "/" + r.ID
				same(t, c.spent[id], r.Usage, "%s at %d: %v", id, i, r.Status)
				require.LessOrEqual(t, r.Attempts, len(c.keys[id]), "%s: %v", id, c.keys[id])
				attempts += r.Attempts
				if of != 0 || r.Session == "s" {
					spent += r.Usage.CostUSD
				}
			}
			costs, err := a.In(tenant).Costs(ctx, time.Time{})
			require.NoError(t, err)
			got := map[string]reason.Usage{}
			samples := 0
			for _, k := range costs {
				got[k.Candidate] = got[k.Candidate].Add(reason.Usage{TokensIn: k.TokensIn, TokensOut: k.TokensOut, CostUSD: k.CostUSD})
				samples += k.Samples
			}
			for _, w := range []string{"one", "two"} {
				same(t, c.worker[string(tenant)+"/"+w], got[w], "%s/%s at %d", tenant, w, i)
			}
			require.GreaterOrEqual(t, samples, attempts, "%s: %v %+v", tenant, c.keys, costs)
		}
		for n := 0; ; n++ { // what is left of the bound is spent by runs in which all goes well
			id := fmt.Sprint("last", n)
			in, err := json.Marshal(aDeck{Tenant: string(tenant), ID: id})
			require.NoError(t, err)
			r, err := agents[0].Run(ctx, arc.Objective{ID: id, Scope: tenant, Session: "s", Text: "mend the cache", Situation: "down", Inputs: in})
			require.NoError(t, err)
			if r.Status != arc.Delivered {
				if r.Cause != arc.CauseWorth { // of Spend
					require.Equal(t, arc.CauseBudget, r.Cause, r.Reason)
				}
				require.True(t, opts.Spend > 0 || bound > 0 && spent > bound-0.4, "%v of %v are spent: %v", spent, bound, r.Reason)
				break
			}
			if spent += r.Usage.CostUSD; bound == 0 {
				break
			}
			require.Less(t, spent, bound+0.4)
		}
	}
}

func same(t *rapid.T, want, got reason.Usage, format string, args ...any) {
	if want.TokensIn != got.TokensIn || want.TokensOut != got.TokensOut || math.Abs(want.CostUSD-got.CostUSD) > 1e-9 {
		t.Fatalf("%s: reported %+v, counted %+v", fmt.Sprintf(format, args...), want, got)
	}
}

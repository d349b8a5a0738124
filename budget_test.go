package arc_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// priced are workers whose attempts cost what their names say, in US dollars, and
// deliver if able says so.
func priced(able func(name string, w act.Work) bool, costs map[string]float64, names ...string) arc.Host {
	h := arc.Host{Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: string(r.Output) == `true`, Complaint: "no"}, nil
	})}}
	for _, name := range names {
		h.Workers = append(h.Workers, act.Worker{
			Card: rank.Candidate{Name: name, Prior: 0.5},
			Executor: act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
				r := done(fmt.Sprint(able(name, w)))
				r.Usage = act.Usage{CostUSD: costs[name], TokensIn: 100}
				return r, nil
			}),
		})
	}
	return h
}

func always(string, act.Work) bool { return true }

var chore = []reason.Task{{Objective: "mend the cache"}}

// An attempt that is made, paid for and over the budget is verified and sampled.
func TestWhatIsPaidForIsVerified(t *testing.T) {
	t.Parallel()
	a := agent(t, priced(always, map[string]float64{"dear": 3}, "dear"), nil)
	r := run(t, a, arc.Objective{Text: "mend the cache", Tasks: chore, Budget: arc.Budget{CostUSD: 1}})
	require.Equal(t, arc.Delivered, r.Status)
	ss, err := a.In("local").Rank(t.Context(), "mend the cache", chore[0])
	require.NoError(t, err)
	require.Equal(t, 1, ss[0].Samples)
	r = run(t, a, arc.Objective{Text: "mend it again", Tasks: chore, Budget: arc.Budget{CostUSD: 1}})
	require.Equal(t, arc.Blocked, r.Status, "it is known now to be over the budget")
	require.Equal(t, arc.CauseBudget, r.Cause)
	require.Equal(t, "an attempt of dear takes about $3, and the run has used $0 of its budget of $1", r.Reason)
	require.Zero(t, r.Attempts)
	r = run(t, a, arc.Objective{Text: "mend it again", Tasks: chore, Budget: arc.Budget{Tokens: 50}})
	require.Equal(t, "an attempt of dear takes about 100 tokens, and the run has used 0 tokens of its budget of 50 tokens", r.Reason)
}

// A run whose attempts have failed, and that has no money for another, has failed: its session, a
// hook and the measure of memory are told, as of any run that is BLOCKED.
func TestWhatEndsByItsPriceHasFailed(t *testing.T) {
	t.Parallel()
	never := func(string, act.Work) bool { return false }
	for cause, o := range map[arc.Cause]arc.Options{
		arc.CauseWorth:  {Worth: rank.Worth{Success: 3}, Attempts: 5},
		arc.CauseBudget: {Budget: arc.Budget{CostUSD: 0.3}},
	} {
		var blocked []string
		o.Learn.Holdout, o.Seed, o.Attended = 0.5, 1, true
		o.Hooks.Event = func(e arc.Event) {
			if e.Kind == arc.EventBlocked {
				blocked = append(blocked, e.Text)
			}
		}
		h := priced(never, map[string]float64{"worker": 0.3}, "worker")
		a := agent(t, h, &o)
		_, err := a.In("local").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cache is cold"})
		require.NoError(t, err)
		for i := range 8 {
			r := run(t, a, arc.Objective{Text: "mend the cache", Session: "s", Budget: o.Budget, Tasks: []reason.Task{{
				Objective: "mend the cache", Inputs: []byte(fmt.Sprint(i)),
			}}})
			require.Equal(t, cause, r.Cause, r.Reason)
			if i == 0 {
				require.Equal(t, 1, r.Attempts)
				require.Equal(t, []string{r.Reason}, blocked)
			}
		}
		as, err := a.In("local").Assess(t.Context(), "s")
		require.NoError(t, err)
		require.GreaterOrEqual(t, as.Failures, 1, cause)
		hl, err := a.Health(t.Context(), "local")
		require.NoError(t, err)
		require.Positive(t, hl.Uplift.Delivered.Treated+hl.Uplift.Delivered.Withheld, cause)
	}
}

// The last complaint in the reason of a run that cannot pay is cut after its secrets are hidden.
func TestReasonOfAPriceHoldsNoHalfSecret(t *testing.T) {
	t.Parallel()
	secret, before := "correct-horse-battery", len("another attempt at task 1 is not worth its price; the last failed: ")
	h := priced(always, map[string]float64{"worker": 0.3}, "worker")
	complaint := strings.Repeat("x", 2048-before-10) + secret + strings.Repeat("y", 2080)
	h.Gates = []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Complaint: complaint}, nil
	})}
	a := agent(t, h, &arc.Options{Worth: rank.Worth{Success: 3}, Attempts: 5, Seed: 1})
	r := run(t, a, arc.Objective{Text: "mend the cache", Tasks: chore, Secrets: act.Secrets{"key": secret}})
	require.Equal(t, arc.CauseWorth, r.Cause)
	require.Contains(t, r.Reason, "the last failed: xxx")
	require.NotContains(t, r.Reason, secret[:8])
}

// A plan that has failed is one failure of its session, though the budget is spent before the next.
func TestBudgetAfterAPlanCountsItOnce(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("no")}
	a := agent(t, s.host(), &arc.Options{Attempts: 1, Replans: 1})
	r := run(t, a, arc.Objective{Text: "mend the cache", Session: "s", Budget: arc.Budget{Steps: 4}})
	require.Equal(t, []any{arc.CauseBudget, 1}, []any{r.Cause, r.Attempts})
	as, err := a.In("local").Assess(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, 1, as.Failures)
}

// A chunk whose plan the budget leaves no attempt for has not misled.
func TestBudgetSaysNothingOfAChunk(t *testing.T) {
	t.Parallel()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		r := done(`"ok"`)
		r.Usage = act.Usage{CostUSD: 1}
		return r, nil
	}}
	a := agent(t, s.host(), nil)
	o := arc.Objective{Text: "mend the cache", Situation: situation}
	run(t, a, o)
	run(t, a, o)
	for cause, b := range map[arc.Cause]arc.Budget{"price": {CostUSD: 0.5}, "steps": {Steps: 1}} {
		o.Budget = b
		r := run(t, a, o)
		require.Equal(t, []any{arc.CauseBudget, 1, 0}, []any{r.Cause, r.Fired, r.Attempts}, cause)
		for rec, err := range a.In("local").Memory().All(t.Context()) {
			require.NoError(t, err)
			require.Zero(t, rec.Stats.Misled, cause)
			require.Equal(t, memory.Pattern, rec.Kind, rec.Content)
		}
	}
}

// What the reasoner has used up leaves no attempt room, however little it takes.
func TestBudgetThatIsSpentBeforeTheAttempt(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*arc.Options{"run": {Budget: arc.Budget{Tokens: 50}}, "session": {Bounds: arc.Bounds{Session: arc.Budget{Tokens: 50}}}} {
		s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Usage = reason.Usage{TokensIn: 60}
			return d, nil
		}}
		r := run(t, agent(t, s.host(), o), arc.Objective{Text: "mend the cache"})
		require.Equal(t, arc.Blocked, r.Status)
		require.Equal(t, arc.CauseBudget, r.Cause)
		if name == "run" {
			require.Equal(t, "an attempt of worker comes too late: the run's budget of 50 tokens is spent", r.Reason)
		}
	}
}

// Amounts are read by people: 1.235e+04 is none.
func TestBlockTellsAmounts(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]float64{
		"takes about $12345.68, and the run has used $0 of its budget of $12000":     {12345.678, 12000},
		"takes about $2000000, and the run has used $0 of its budget of $1000000":    {2e6, 1e6},
		"takes about $0.00001235, and the run has used $0 of its budget of $0.00001": {0.000012345, 0.00001},
		"takes about $0.1, and the run has used $0 of its budget of $0.05":           {0.1, 0.05},
	} {
		a := agent(t, priced(always, map[string]float64{"dear": c[0]}, "dear"), nil)
		o := arc.Objective{Text: "mend the cache", Tasks: chore, Budget: arc.Budget{CostUSD: c[1]}}
		require.Equal(t, arc.Delivered, run(t, a, o).Status)
		require.Equal(t, "an attempt of dear "+want, run(t, a, o).Reason)
	}
}

func TestBoundsAreShared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bounds arc.Bounds
		other  arc.Objective // is not bound by what the first has used
	}{
		"session": {arc.Bounds{Session: arc.Budget{CostUSD: 2}}, arc.Objective{Session: "other"}},
		"scope":   {arc.Bounds{Scope: arc.Budget{Tokens: 200}}, arc.Objective{Session: "s", Scope: "local/other"}},
		"day":     {arc.Bounds{Day: arc.Budget{CostUSD: 2}}, arc.Objective{Session: "s", Scope: "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
			st := store.NewMem()
			open := func() *arc.Agent {
				o := &arc.Options{Bounds: c.bounds, Now: func() time.Time { return now }, Maintain: -1}
				a, err := arc.New(t.Context(), st, priced(always, map[string]float64{"w": 1}, "w"), o)
				require.NoError(t, err)
				return a
			}
			n := 0
			try := func(a *arc.Agent, o arc.Objective) *arc.Report {
				n++
				o.Text, o.Tasks = fmt.Sprint("mend the cache ", n), chore
				r, err := a.Run(t.Context(), o)
				require.NoError(t, err)
				return r
			}
			a := open()
			mine := arc.Objective{Session: "s"}
			require.Equal(t, arc.Delivered, try(a, mine).Status)
			require.Equal(t, arc.Delivered, try(a, mine).Status)
			require.NoError(t, a.Close())
			a = open() // what is used is kept
			full := try(a, mine)
			require.Equal(t, arc.CauseBudget, full.Cause)
			require.Regexp(t, name+" budget of .*2.* is spent", full.Reason)
			require.Equal(t, arc.Delivered, try(a, c.other).Status)
			if name == "day" {
				require.NoError(t, a.Close())
				now = now.Add(24 * time.Hour)
				a = open()
				require.Equal(t, arc.Delivered, try(a, mine).Status)
			}
			require.NoError(t, a.Close())
		})
	}
}

// Of runs that ask at the same time as many begin as the budget has room for.
func TestReservedAtOnce(t *testing.T) {
	t.Parallel()
	var begun atomic.Int32
	h := priced(func(name string, _ act.Work) bool {
		if name == "w" {
			begun.Add(1)
		}
		return true
	}, map[string]float64{"w": 1}, "w", "x", "y", "z")
	chore := []reason.Task{{Objective: "mend the cache", Worker: "w"}}
	for range 20 {
		begun.Store(0)
		a := agent(t, h, &arc.Options{
			Bounds: arc.Bounds{Session: arc.Budget{CostUSD: 4}}, Maintain: -1,
			Now: func() time.Time { runtime.Gosched(); return time.Now() }, // lets others run as workers are looked at
		})
		run(t, a, arc.Objective{Session: "s", Text: "mend the cache", Tasks: chore}) // what it costs is known now
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				o := arc.Objective{Session: "s", Text: fmt.Sprint("mend cache ", i), Tasks: chore}
				_, err := a.Run(t.Context(), o)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		require.Equal(t, int32(4), begun.Load())
	}
}

// What a run has waited is no use of its wall time, and no credit of another's.
func TestWaitIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, back := store.NewMem(), time.Now().Add(time.Hour)
		h := priced(always, nil)
		h.Workers = []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			if time.Now().Before(back) {
				return act.Result{}, errAway
			}
			idle(4 * time.Minute)
			return done(`true`), nil
		})}}
		o := realTime()
		o.Patience, o.Maintain, o.Bounds = -1, -1, arc.Bounds{Session: arc.Budget{Wall: 10 * time.Minute}}
		open := func() *arc.Agent {
			a, err := arc.New(t.Context(), st, h, o)
			require.NoError(t, err)
			return a
		}
		a := open()
		r := run(t, a, arc.Objective{ID: "run", Session: "s", Text: "mend the cache", Tasks: chore})
		require.Equal(t, arc.Waiting, r.Status)
		require.NoError(t, a.Close())
		idle(2 * time.Hour)
		a = open()
		defer func() { require.NoError(t, a.Close()) }()
		idle(time.Hour)
		require.Equal(t, arc.Delivered, kept(t, a, "run").Status)
		r = run(t, a, arc.Objective{Session: "s", Text: "mend another cache", Tasks: chore})
		require.Equal(t, arc.Delivered, r.Status, "4 of 10 minutes were used")
		r = run(t, a, arc.Objective{Session: "s", Text: "mend a third cache", Tasks: chore})
		require.Equal(t, arc.CauseBudget, r.Cause)
	})
}

// Under a price the cheap worker comes first, the dear one where it has failed, and
// what nobody is likely to deliver is given up.
func TestLadder(t *testing.T) {
	t.Parallel()
	hard := func(name string, w act.Work) bool {
		switch w.Task.Skill {
		case "easy":
			return true
		case "hard":
			return name == "strong"
		}
		return false
	}
	h := priced(hard, map[string]float64{"cheap": 0.05, "strong": 1}, "strong", "cheap")
	for i := range h.Workers {
		h.Workers[i].Skills = []string{"easy", "hard", "hopeless"}
	}
	a := agent(t, h, &arc.Options{Worth: rank.Worth{Success: 3}, Seed: 1})
	last := map[string]*arc.Report{}
	for i := range 60 {
		for _, skill := range []string{"easy", "hard", "hopeless"} {
			last[skill] = run(t, a, arc.Objective{
				Text: fmt.Sprint(skill, " task ", i), Tasks: []reason.Task{{Objective: "do it", Skill: skill}},
			})
		}
	}
	require.Equal(t, arc.Delivered, last["easy"].Status)
	require.InDelta(t, 0.05, last["easy"].Usage.CostUSD, 1e-9)
	require.Equal(t, arc.Delivered, last["hard"].Status)
	require.LessOrEqual(t, last["hard"].Usage.CostUSD, 1.05+1e-9)
	require.Equal(t, arc.Blocked, last["hopeless"].Status)
	require.Equal(t, arc.CauseWorth, last["hopeless"].Cause)
	require.LessOrEqual(t, last["hopeless"].Usage.CostUSD, 0.05)
}

// What the tenant's runs cost on average stays close to Spend.
func TestSpend(t *testing.T) {
	t.Parallel()
	n := 0
	able := func(name string, _ act.Work) bool { n++; return name == "strong" || n%3 == 0 }
	a := agent(t, priced(able, map[string]float64{"cheap": 0.05, "strong": 1}, "strong", "cheap"), &arc.Options{Spend: 0.2, Seed: 1})
	spent, delivered := 0.0, 0
	const runs = 100
	for i := range runs {
		r := run(t, a, arc.Objective{Text: fmt.Sprint("task ", i), Tasks: chore})
		spent += r.Usage.CostUSD
		if r.Status == arc.Delivered {
			delivered++
		}
	}
	require.Less(t, spent/runs, 0.2*1.07)
	require.Greater(t, delivered, 35)
}

// What a session has used goes with the last of its runs.
func TestLedgersOfSessionsArePruned(t *testing.T) {
	t.Parallel()
	c, st := newClock(), store.NewMem()
	a := agentOn(t, st, priced(always, map[string]float64{"w": 1}, "w"), &arc.Options{
		Now: c.Now, Bounds: arc.Bounds{Session: arc.Budget{CostUSD: 3}, Scope: arc.Budget{CostUSD: 100}},
	})
	for n := range 4 {
		o := arc.Objective{Text: fmt.Sprint("mend the cache ", n), Tasks: chore}
		if n > 1 {
			o.Session = "s"
		}
		run(t, a, o)
		c.Add(40 * 24 * time.Hour) // the first two, alone in their sessions, and one of s are old then
	}
	ledgers := func() (names []string) {
		require.NoError(t, a.Prune(t.Context()))
		for e, err := range st.Scan(t.Context(), store.Range{Prefix: "tenant\x00local\x00ledger\x00"}) {
			require.NoError(t, err)
			parts := strings.Split(e.Key, "\x00")
			names = append(names, parts[3]+" "+parts[4])
		}
		return names
	}
	require.Equal(t, []string{"scope local", "session s"}, ledgers())
	c.Add(91 * 24 * time.Hour)
	require.Equal(t, []string{"scope local"}, ledgers())
	o := arc.Objective{Text: "mend the cache again", Tasks: chore, Session: "s", Budget: arc.Budget{CostUSD: 2}}
	require.Equal(t, arc.Delivered, run(t, a, o).Status, "it begins anew")
}

// An attempt that waits for a human keeps what is reserved for it: none that has no room beside it
// begins, and what was not allowed, or is deleted, gives its share back.
func TestAttemptThatWaitsForAHumanKeepsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, replica := range []string{"", "r"} {
			h := priced(always, map[string]float64{"w": 1}, "w")
			h.Workers[0].Mode = act.Gated
			o := arc.Options{Replica: replica, Now: time.Now, Seed: 1, Sanitizer: keyed(), Maintain: -1, ApprovalTTL: time.Hour}
			o.Bounds.Day.CostUSD = 3.5
			a, err := arc.New(t.Context(), store.NewMem(), h, &o)
			require.NoError(t, err)
			begin := func(id string) *arc.Report {
				return run(t, a, arc.Objective{ID: id, Text: "mend the cache", Tasks: chore})
			}
			rule := func(id string, allow bool) {
				require.NoError(t, a.In("").Rule(t.Context(), arc.Ruling{Run: id, Attempt: 1, Allow: allow, By: "ann"}))
				idle(5 * time.Second)
			}
			require.Equal(t, arc.Waiting, begin("first").Status)
			rule("first", true) // what it costs is known now
			require.Equal(t, arc.Delivered, status(t, a, "first"))
			require.Equal(t, arc.Waiting, begin("two").Status)
			require.Equal(t, arc.Waiting, begin("three").Status)
			require.Equal(t, arc.CauseBudget, begin("over").Cause, "1 is used, and 2 are reserved of 3.5")
			rule("two", false)
			require.Equal(t, arc.Waiting, begin("four").Status)
			require.NoError(t, a.In("").Delete(t.Context(), "four"))
			require.Equal(t, arc.Waiting, begin("five").Status)
			rule("three", true)
			rule("five", true)
			require.Equal(t, arc.Delivered, status(t, a, "five"))
			require.NoError(t, a.Close())
		}
	})
}

// An attempt that was cut off gives its share back. Before it is made again there has to be room for it.
func TestAnAttemptThatIsMadeAgainReservesAgain(t *testing.T) {
	t.Parallel()
	var stop func()
	h := priced(always, map[string]float64{"w": 1}, "w")
	does := h.Workers[0].Executor
	h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, w act.Work) (act.Result, error) {
		if stop != nil {
			stop()
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		}
		return does.Execute(ctx, w)
	})
	o := arc.Options{}
	o.Bounds.Day.CostUSD = 2.5
	a := agent(t, h, &o)
	begin := func(id string) *arc.Report {
		return run(t, a, arc.Objective{ID: id, Text: "mend the cache", Tasks: chore})
	}
	require.Equal(t, arc.Delivered, begin("first").Status)
	ctx, cancel := context.WithCancel(t.Context())
	stop = cancel
	_, err := a.Run(ctx, arc.Objective{ID: "cut", Text: "mend the cache", Tasks: chore})
	require.ErrorIs(t, err, context.Canceled)
	stop = nil
	require.Equal(t, arc.Delivered, begin("two").Status)
	r, err := a.In("").Resume(t.Context(), "cut")
	require.NoError(t, err)
	require.Equal(t, arc.Blocked, r.Status, "2 are used of 2.5")
	require.Equal(t, arc.CauseBudget, r.Cause)
}

// What the model of a gate costs is the run's, and counts against its Budget, also where
// the gate does not decide.
func TestCostOfGatesCounts(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"refuses": `{"why":"","pass":false,"complaint":"try again"}`, "errs": "I think so", "passes": `{"why":"","pass":true,"complaint":""}`,
	} {
		asked := 0
		judge := act.ModelGate(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			asked++
			return &reason.Response{Text: says, Usage: reason.Usage{TokensIn: 5, CostUSD: 1}}, nil
		}), "it is good")
		h := (&script{}).host("one")
		h.Gates = []act.Gate{judge}
		r := run(t, agent(t, h, &arc.Options{Attempts: 9}), arc.Objective{Text: "mend it", Budget: arc.Budget{CostUSD: 2}})
		require.Equal(t, act.Usage{TokensIn: 5 * asked, CostUSD: float64(asked)}, r.Usage, name)
		if name == "passes" {
			require.Equal(t, arc.Delivered, r.Status)
			continue
		}
		require.Equal(t, arc.Blocked, r.Status, name)
		require.Equal(t, arc.CauseBudget, r.Cause, name)
		require.Equal(t, 2, asked, name)
	}
}

// A run that shares a damaged ledger is an error, and Health says so and what to do.
func TestDamagedLedgerIsAnIssue(t *testing.T) {
	t.Parallel()
	st, opts := store.NewMem(), &arc.Options{Bounds: arc.Bounds{Session: arc.Budget{Tokens: 1000}}}
	a := agentOn(t, st, (&script{}).host(), opts)
	run(t, a, arc.Objective{Text: "mend it", Session: "s"})
	require.NoError(t, a.Close())
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if strings.Contains(e.Key, "ledger") {
			e.Value[len(e.Value)-1] ^= 1
			_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
			require.NoError(t, err)
		}
	}
	a = agentOn(t, st, (&script{}).host(), opts)
	_, err := a.Run(t.Context(), arc.Objective{Text: "mend it again", Session: "s"})
	require.ErrorIs(t, err, store.ErrDamaged)
	run(t, a, arc.Objective{Text: "mend it again", Session: "other"})
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, memory.NeedsAttention, h.Status)
	require.Contains(t, h.String(), "ledger of a budget is damaged")
	require.Contains(t, h.String(), "session s\n")
}

package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestHealth(t *testing.T) {
	good, bad := arctest.Turn{Text: "ok"}, arctest.Turn{Refuse: "torn"}
	for _, c := range []struct {
		name  string
		turns []arctest.Turn // of a run each
		state string
	}{
		{"nothing has run", nil, "no_data"},
		{"all delivered", []arctest.Turn{good, good, good}, "healthy"},
		{"three in a row blocked", []arctest.Turn{good, good, good, good, good, good, good, bad, bad, bad}, "failing"},
		{"three of eight blocked", []arctest.Turn{bad, good, bad, good, bad, good, good, good}, "struggling"},
		{"the last one blocked", []arctest.Turn{good, good, good, good, good, good, good, good, good, good, good, bad}, "struggling"},
		{"two of three blocked", []arctest.Turn{bad, bad, good}, "failing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var later atomic.Int64 // nanoseconds ahead of the bubble's clock
				a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{Turns: c.turns}).As("ann")}},
					&arc.Options{Attempts: 1, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
				for range c.turns {
					run(t, a, arc.Objective{Scope: "acme", Text: "write"})
					time.Sleep(time.Minute)
				}
				h, err := a.In("acme").Health(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.state, h.State, h.Text())
				other, err := a.In("acme/anna").Health(t.Context())
				require.NoError(t, err)
				require.Equal(t, "no_data", other.State)
				later.Store(int64(8 * 24 * time.Hour))
				h, err = a.In("acme").Health(t.Context())
				require.NoError(t, err)
				require.Equal(t, "no_data", h.State)
			})
		})
	}
}

// What a person has said of a run counts, whatever its gates said: they may have been wrong.
func TestHealthOfVerdicts(t *testing.T) {
	turns := []arctest.Turn{{}, {}, {}, {Refuse: "torn"}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{Turns: turns}).As("ann")}}, &arc.Options{Attempts: 1})
	v := a.In("")
	for _, id := range []string{"1", "2", "3", "4"} {
		run(t, a, arc.Objective{ID: id, Text: "add up"})
	}
	health := func() (string, string) {
		h, err := v.Health(t.Context())
		require.NoError(t, err)
		return h.State, h.Text()
	}
	for _, id := range []string{"2", "3"} {
		require.NoError(t, v.Judge(t.Context(), id, learn.Failed, "the total\nis wrong"))
		r, err := v.Report(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []any{arc.Delivered, learn.Failed}, []any{r.Status, r.Verdict})
	}
	state, text := health()
	require.Equal(t, "failing", state)
	require.Contains(t, text, "failing: 1 of 4 runs were delivered")
	require.Contains(t, text, "\njudged wrong: 2 add up: the total is wrong\n")
	require.NoError(t, v.Judge(t.Context(), "4", learn.Delivered, "torn, but right"))
	require.NoError(t, v.Judge(t.Context(), "3", learn.Unknown, ""))
	state, text = health()
	require.Equal(t, "struggling", state)
	require.Contains(t, text, "3 of 4 runs were delivered")
	require.NotContains(t, text, "torn")
}

// A batch in which each run wants a person is told in few lines.
func TestHealthOfManyThatWait(t *testing.T) {
	pay := (&arctest.Worker{}).As("bank")
	pay.Mode = act.Gated
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{pay}}, nil)
	for range 8 {
		run(t, a, arc.Objective{Text: "pay"})
	}
	h, err := a.In("").Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(h.Text(), " pay: bank: "))
	require.Contains(t, h.Text(), "\nwaiting: 3 more runs")
}

// What is blocked is told until somebody has closed or judged it, and is no news of the last days.
func TestHealthOfWhatIsStillBlocked(t *testing.T) {
	var later time.Duration
	now := func() time.Time { return time.Now().Add(later) }
	w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "torn"}, {Refuse: "torn"}, {Refuse: "torn"}, {Refuse: "torn"},
		{Refuse: "torn"}, {Refuse: "torn"}, {Refuse: "torn"}, {}}}
	synctest.Test(t, func(t *testing.T) {
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, &arc.Options{Attempts: 1, Now: now})
		v := a.In("")
		for id := range 7 {
			run(t, a, arc.Objective{ID: fmt.Sprint(id), Text: "add up"})
		}
		synctest.Wait()
		later = 30 * 24 * time.Hour
		h, err := v.Health(t.Context())
		require.NoError(t, err)
		require.Equal(t, "no_data", h.State)
		require.Contains(t, h.Text(), "\nblocked: 2 add up (exhausted): torn\nblocked or judged wrong: 2 more runs")
		for id := range 6 {
			require.NoError(t, v.Cancel(t.Context(), fmt.Sprint(id), ""))
		}
		require.NoError(t, v.Judge(t.Context(), "6", learn.Failed, ""))
		require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "add up"}).Status)
		h, err = v.Health(t.Context())
		require.NoError(t, err)
		require.Contains(t, h.Text(), "healthy: 1 of 1 runs")
		require.NotContains(t, h.Text(), "blocked")
	})
}

// Who reads that some of many runs with one Text are blocked has to find out which: their IDs and Inputs say it.
func TestHealthTellsRunsOfOneTextApart(t *testing.T) {
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("mail", "write")}}, nil)
	pay := reason.Task{Objective: "pay", Skill: "pay"}
	for _, n := range []string{"7", "8"} {
		r := run(t, a, arc.Objective{ID: "run-" + n, Scope: "fin/eu", Text: "Pay the invoice.", Tasks: []reason.Task{pay},
			Inputs: json.RawMessage("{\n\t\"invoice\": \"INV-" + n + "\",\n\t\"note\": \"" + strings.Repeat("x", 200) + "\"\n}")})
		require.Equal(t, arc.Blocked, r.Status)
		require.Regexp(t, `^Pay the invoice. \{ "invoice": "INV-`+n+`", "note": "x{60,80}…$`, r.Objective)
	}
	h, err := a.In("fin/eu").Health(t.Context())
	require.NoError(t, err)
	for _, n := range []string{"7", "8"} {
		require.Contains(t, h.Text(), "\nblocked: run-"+n+` Pay the invoice. { "invoice": "INV-`+n+`", "note": "x`)
	}
	h, err = a.In("fin").Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, "failing", h.State)
	require.Contains(t, h.Text(), "\nblocked: fin/eu//run-7 Pay", "what is below a scope is its own")
	h, err = a.In("fin/e").Health(t.Context())
	require.NoError(t, err)
	require.Contains(t, h.Text(), "no data: no run of this scope has ended since ")
}

// A run that its caller has left is worked on by nobody: a person has to hear of it.
func TestHealthOfLeftRuns(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	work := act.ExecutorFunc(func(ctx context.Context, _ *act.Call) (*act.Result, error) {
		leave()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	host := arc.Host{Workers: []act.Worker{{Name: "shop", Executor: work, Gates: []act.Gate{act.NoGate}}}}
	a, _ := agent(t, nil, host, nil)
	_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write"})
	require.ErrorIs(t, err, context.Canceled)
	h, err := a.In("").Health(t.Context())
	require.NoError(t, err)
	require.Contains(t, h.Text(), "running: 7 write (nobody works on it: View.Resume)")
	require.NoError(t, a.In("").Cancel(t.Context(), "7", ""))
	h, err = a.In("").Health(t.Context())
	require.NoError(t, err)
	require.NotContains(t, h.Text(), "left")
}

func TestHealthSaysWhatPlansSave(t *testing.T) {
	usd := .01
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		d, err := fixed(b)
		d.Usage = &reason.Usage{Calls: 2, Input: 900, Output: 100, EstimateUSD: &usd}
		return d, err
	}}
	synctest.Test(t, func(t *testing.T) {
		a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
			(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
		}}, nil)
		for n := range 8 {
			run(t, a, arc.Objective{Text: "Refund the order.", Inputs: order(n)})
		}
		h, err := a.In("").Health(t.Context())
		require.NoError(t, err)
		require.Equal(t, "healthy: 8 of 8 runs were delivered since 1999-12-25\n"+
			"learned plans: about 12 model calls saved in 6 runs;\n  about $0.06 saved in 6 runs", h.Text())
	})
}

// A run that a plan made without a model has taken nothing, which is known, and counts in what memory changes.
func TestUpliftCountsRunsThatAskedNoModel(t *testing.T) {
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		d, err := fixed(b)
		d.Usage = &reason.Usage{Calls: 2, CostUSD: new(.5)}
		return d, err
	}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
		(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, &arc.Options{Seed: 1, Learn: learn.Options{Holdout: .4}})
	fired := 0
	for n := range 70 {
		got := run(t, a, arc.Objective{ID: fmt.Sprint(n), Text: "Refund the order.", Inputs: order(n)})
		require.Equal(t, arc.Delivered, got.Status)
		want := &reason.Usage{Calls: 2, CostUSD: new(.5)}
		if got.Fired > 0 {
			fired++
			want = &reason.Usage{CostUSD: new(0.)}
		}
		require.Equal(t, want, got.Usage)
	}
	h, err := a.In("").Health(t.Context())
	require.NoError(t, err)
	up := h.Uplift
	require.Equal(t, up.Delivered.N, up.Calls.N)
	require.LessOrEqual(t, up.Calls.N-fired, 2, "with memory, before the plan was learned")
	share := float64(fired) / float64(up.Calls.N)
	require.InDelta(t, -2*share, up.Calls.Mean, 1e-9)
	require.InDelta(t, -.5*share, up.USD.Mean, 1e-9)
	require.Less(t, up.Calls.Mean+*up.Calls.Margin, 0.)
}

// scans counts those of a store.
type scans struct {
	store.Store
	n atomic.Int64 // the scheduler scans, too
}

func (s *scans) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	s.n.Add(1)
	return s.Store.Scan(ctx, r)
}

// Health looks for scopes once, whatever it says of each.
func TestHealthReads(t *testing.T) {
	st := &scans{Store: store.NewMem()}
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	for n := range 30 {
		m, err := a.In(memory.Scope(fmt.Sprint("acme/u", n))).Memory(t.Context())
		require.NoError(t, err)
		_, err = m.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "likes tea"})
		require.NoError(t, err)
	}
	st.n.Store(0)
	_, err := a.In("acme").Health(t.Context())
	require.NoError(t, err)
	require.Less(t, st.n.Load(), int64(30+30+10), "its records and the next scope of each")
}

// unread is a store of which a part cannot be read for a while.
type unread struct {
	store.Store
	part atomic.Pointer[string]
}

func (u *unread) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if part := u.part.Load(); part != nil && strings.Contains(r.Prefix, *part) {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errors.New("the disk is gone")) }
	}
	return u.Store.Scan(ctx, r)
}

// What a run waits for cannot be read: that is an error, be it of the run or of all.
func TestHealthUnread(t *testing.T) {
	pay := (&arctest.Worker{}).As("bank")
	pay.Mode = act.Gated
	st := &unread{Store: store.NewMem()}
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{pay}}, nil)
	run(t, a, arc.Objective{ID: "7", Text: "pay"})
	st.part.Store(new("//log/"))
	_, err := a.In("").Health(t.Context())
	require.ErrorContains(t, err, "the disk is gone")
	_, err = a.In("").Report(t.Context(), "7")
	require.ErrorContains(t, err, "the disk is gone")
	for _, err := range a.In("").Unfinished(t.Context()) {
		require.ErrorContains(t, err, "the disk is gone")
	}
}

package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A3: what was learned is told after 31 days without a run of its kind, though there are others.
func TestIdleKnowledgeIsTold(t *testing.T) {
	began := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	var days atomic.Int64 // the scheduler reads the clock, too
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		approach := "write at once"
		if len(b.Warnings) > 0 || len(b.Failed) > 0 {
			approach = "ask for the allergies first"
		}
		return arctest.Tasks(approach, reason.Task{Objective: approach, Skill: "menu"}), nil
	}}
	cook := act.Worker{Name: "cook", Skills: []string{"menu"}, Executor: act.ExecutorFunc(
		func(_ context.Context, c *act.Call) (*act.Result, error) {
			return &act.Result{Text: c.Task.Objective}, nil
		},
	), Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: r.Text != "write at once", Complaint: "name the allergies"}, nil
	})}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{cook, (&arctest.Worker{}).As("clerk", "file")}},
		&arc.Options{Attempts: 1, Now: func() time.Time { return began.AddDate(0, 0, int(days.Load())) }})
	m, err := a.In("acme").Memory(t.Context())
	require.NoError(t, err)
	_, err = m.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "anna is allergic to penicillin"})
	require.NoError(t, err)
	var attempts []int
	for n := range 4 {
		got := run(t, a, arc.Objective{Scope: "acme", Situation: "menu", Text: fmt.Sprintf("a menu for guest %c", 'A'+n)})
		require.Equal(t, arc.Delivered, got.Status)
		attempts = append(attempts, got.Attempts)
		for range 31 {
			days.Add(1)
			run(t, a, arc.Objective{Scope: "acme", Tasks: []reason.Task{task("file the letter", "file")}})
			_, err := a.In("acme").Maintain(t.Context())
			require.NoError(t, err)
		}
	}
	require.Equal(t, []int{2, 1, 1, 1}, attempts)
	run(t, a, arc.Objective{Scope: "acme", Text: "what is anna allergic to?"})
	briefs := r.Briefs()
	require.Contains(t, fmt.Sprint(briefs[len(briefs)-1].Memories), "penicillin")
}

// A7: a lesson is told without the values of the case that taught it.
func TestLessonsHaveNoValues(t *testing.T) {
	r := &arctest.Reasoner{Decision: fixed}
	w := &arctest.Worker{Turns: []arctest.Turn{
		{Refuse: "name the order A-7471 of Mrs. Lindqvist"}, {}, {Refuse: "name the order B-2222 of Mr. Okafor"}, {},
	}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w.As("bank", "pay"), (&arctest.Worker{}).As("mail", "write")}}, nil)
	for n, c := range [][2]string{{"A-7471", "Mrs. Lindqvist"}, {"B-2222", "Mr. Okafor"}, {"C-9", "Anna"}} {
		run(t, a, arc.Objective{ // two scopes have to come to what a third one is told
			Scope: memory.Scope(fmt.Sprint("acme/ticket", n)), Lessons: "acme", Situation: "refund", Text: "Refund the order.",
			Inputs: fmt.Appendf(nil, `{"order":%q,"name":%q}`, c[0], c[1]), Fresh: n == 1,
		})
	}
	last := r.Briefs()[len(r.Briefs())-1]
	require.Contains(t, string(last.Inputs), "C-9")
	require.Len(t, last.Warnings, 1)
	require.Contains(t, last.Warnings[0].Complaint, "name the order")
	raw, err := json.Marshal(last)
	require.NoError(t, err)
	for _, other := range []string{"7471", "Lindqvist", "2222", "Okafor"} {
		require.NotContains(t, string(raw), other)
	}
}

// A11: 30 tickets of five kinds, each in words of its own. A classifier names the kind, the ticket is Data.
// It takes fewer model calls than without memory, its own included, and as many are right.
func TestFreeTextPays(t *testing.T) {
	kinds := []string{"refund", "address", "password", "invoice", "delay"}
	cost := func(remembers bool) (calls, right int) {
		r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
			calls++
			how := "hastily"
			if len(b.Warnings)+len(b.Failed) > 0 {
				how = "with care"
			}
			return arctest.Tasks(how, reason.Task{Objective: how, Skill: strings.Fields(b.Text)[1] + " " + how}), nil
		}}
		h := arc.Host{Reasoner: r}
		for _, kind := range kinds {
			bad, good := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "look twice"}}}, &arctest.Worker{}
			h.Workers = append(h.Workers, bad.As("hasty "+kind, kind+" hastily"), good.As("careful "+kind, kind+" with care"))
		}
		a, _ := agent(t, nil, h, &arc.Options{Attempts: 1})
		for n := range 30 {
			kind := kinds[n%5]
			if remembers {
				calls++ // of the classifier
			}
			got := run(t, a, arc.Objective{
				Text: "A " + kind + " ticket.", Situation: kind, Fresh: !remembers,
				Data: fmt.Appendf(nil, `{"ticket":"wording %d of a %s"}`, n/5, kind),
			})
			if got.Status == arc.Delivered {
				right++
			}
		}
		return calls, right
	}
	without, right := cost(false)
	with, rightToo := cost(true)
	t.Logf("%d model calls without memory, %d with", without, with)
	require.Less(t, with, without)
	require.Equal(t, right, rightToo)
}

// D14: Watch and Wait follow a run through an approval and a restart.
func TestWatchThroughAnApproval(t *testing.T) {
	w := (&arctest.Worker{}).As("ann")
	w.Mode = act.Gated
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	v := a.In("acme")
	var kinds []string
	for e, err := range a.Events(t.Context(), arc.Objective{ID: "7", Scope: "acme", Text: "write"}) {
		require.NoError(t, err)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, "waiting", kinds[len(kinds)-1], "Events ends here")
	var all []string
	for e, err := range v.Watch(t.Context(), "7") {
		require.NoError(t, err)
		if all = append(all, e.Kind); e.Kind == "waiting" {
			for r, err := range v.Unfinished(t.Context()) {
				require.NoError(t, err)
				for _, p := range r.Approvals {
					go func() { _ = v.Decide(t.Context(), act.Ruling{Approval: p.ID, By: "anna", Allow: true}) }()
				}
			}
		}
	}
	require.Contains(t, all, "ruled")
	require.Equal(t, []string{"passed", "delivered"}, all[len(all)-2:])
}

// A model that is away for six minutes, by errors or by answers that do not come, costs no run.
func TestSixMinutesAway(t *testing.T) {
	away := func(ctx context.Context, n int64) error {
		switch n % 3 {
		case 0:
			return &reason.Error{Class: reason.Unavailable, Status: 503, Err: errors.New("overloaded")}
		case 1:
			return errors.New("dial tcp 10.0.0.7:443: connect: connection refused")
		}
		<-ctx.Done() // it hangs, and honours its context
		return ctx.Err()
	}
	for _, where := range []string{"reasoner", "worker"} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var n atomic.Int64
			call := func(ctx context.Context, here string) error {
				if here == where && time.Since(began) < 6*time.Minute {
					return away(ctx, n.Add(1))
				}
				return nil
			}
			w := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
				func(ctx context.Context, c *act.Call) (*act.Result, error) {
					if err := call(ctx, "worker"); err != nil {
						return nil, err
					}
					return &act.Result{Text: "done"}, nil
				})}
			a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}, Reasoner: deciding(func(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
				if err := call(ctx, "reasoner"); err != nil {
					return nil, err
				}
				return arctest.Tasks("", task(b.Text, "")), nil
			})}, &arc.Options{Timeout: time.Minute})
			var all sync.WaitGroup
			for n := range 20 {
				all.Go(func() {
					time.Sleep(time.Duration(n) * 15 * time.Second)
					r, err := a.Run(t.Context(), arc.Objective{Text: fmt.Sprint("letter ", n)})
					if err != nil || r.Status != arc.Delivered || r.Attempts != 1 {
						t.Errorf("%s: %v, %+v", where, err, r)
					}
				})
			}
			all.Wait()
			require.Less(t, time.Since(began), 15*time.Minute)
		})
	}
}

type deciding func(context.Context, *reason.Brief) (*reason.Decision, error)

func (f deciding) Decide(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
	return f(ctx, b)
}

// Promise 9: with the same state, clock, seed and answers, runs that are made one after the other leave the
// same store.
func TestSameRun(t *testing.T) {
	var dumps [2][]string
	for i := range dumps {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMem()
			pay := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "name the order"}, {Text: "paid"}}}
			a, _ := agent(t, st, arc.Host{Reasoner: &arctest.Reasoner{Decision: fixed}, Workers: []act.Worker{
				pay.As("bank", "pay"), pay.As("till", "pay"), (&arctest.Worker{}).As("mail", "write"),
			}}, &arc.Options{Seed: 7, Process: "p"})
			process := ""
			for e := range st.Scan(t.Context(), store.Range{Prefix: "process/"}) {
				process = strings.TrimPrefix(e.Key, "process/") // with its nonce, which is drawn by chance
			}
			for n := range 6 {
				run(t, a, arc.Objective{ID: fmt.Sprint(n), Scope: "acme", Text: "Refund the order.", Inputs: order(n), Session: "s"})
				time.Sleep(time.Minute)
			}
			for e, err := range st.Scan(t.Context(), store.Range{Prefix: "t/"}) {
				require.NoError(t, err)
				value := strings.ReplaceAll(string(e.Value), process, "p")
				dumps[i] = append(dumps[i], fmt.Sprintf("%s %q", e.Key, value))
			}
		})
	}
	require.NotEmpty(t, dumps[0])
	require.Equal(t, dumps[0], dumps[1])
}

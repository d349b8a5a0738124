package arc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// tired delivers, with a reflection that is less sure each time.
type tired struct{ n int }

func (w *tired) Execute(context.Context, *act.Call) (*act.Result, error) {
	w.n++
	sure := max(.05, 1-.12*float64(w.n))
	return &act.Result{Text: "done", Reflection: &iar.Reflection{
		Status: iar.Success, Confidence: sure, Summary: strings.Repeat("It is done as it was asked. ", 3),
	}}, nil
}

// Resonance that falls changes what a run does, by OnStuck.
func TestOnStuck(t *testing.T) {
	for _, c := range []struct {
		on     string
		status arc.Status
		plans  int
	}{{"", arc.Delivered, 1}, {"replan", arc.Delivered, 2}, {"ask", arc.Asking, 1}} {
		t.Run(string(c.on), func(t *testing.T) {
			var many []reason.Task
			for n := range 12 {
				many = append(many, task(fmt.Sprint("step ", n), ""))
			}
			r := planned(
				&reason.Decision{Alternatives: []reason.Decision{
					{Approach: "by hand", Tasks: many}, {Approach: "by machine", Tasks: many[:1]},
				}, Preferences: []reason.Preference{{Approach: "by hand", Is: "best"}}},
			)
			a, story := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
				{Name: "ann", Executor: &tired{}, Gates: []act.Gate{act.NoGate}},
			}}, &arc.Options{OnStuck: c.on, Seed: 1})
			got := run(t, a, arc.Objective{ID: "7", Text: "clean up", Session: "s"})
			all := strings.Join(*story, "\n")
			require.Contains(t, all, "stuck by hand", "it is told")
			require.Contains(t, all, "by machine", "with what is left")
			require.Equal(t, c.status, got.Status, all)
			require.Equal(t, c.plans, strings.Count(all, "decided "), all)
			if c.on == "ask" {
				s, err := a.In("").Assess(t.Context(), "s")
				require.NoError(t, err)
				require.Contains(t, got.Text, "by machine", "for a person, too")
				require.Contains(t, s.Also, "shift")
				got, err = a.In("").Answer(t.Context(), "7", "", "go on")
				require.NoError(t, err)
				require.Equal(t, arc.Asking, got.Status, "the new plan does no better")
			}
		})
	}
}

// A deploy takes the reasoner away from a run that asks in the middle of a plan: the plan holds.
func TestStuckWithoutReasoner(t *testing.T) {
	var many []reason.Task
	for n := range 12 {
		many = append(many, task(fmt.Sprint("step ", n), ""))
	}
	st, w := store.NewMem(), &tired{}
	host := arc.Host{Workers: []act.Worker{{Name: "ann", Executor: w, Gates: []act.Gate{act.NoGate}}}}
	host.Reasoner = planned(&reason.Decision{Approach: "by hand", Tasks: many})
	a, _ := agent(t, st, host, &arc.Options{OnStuck: "ask"})
	require.Equal(t, arc.Asking, run(t, a, arc.Objective{ID: "7", Text: "clean up", Session: "s"}).Status)
	require.NoError(t, a.Close())
	host.Reasoner = nil
	a, story := agent(t, st, host, &arc.Options{OnStuck: "ask"})
	r, err := a.In("").Answer(t.Context(), "7", "", "go on")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, 12, w.n, *story)
}

func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var spans, failed []string
	type key struct{}
	gone := &reason.Error{Class: reason.Permission, Err: errors.New("no")}
	w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "wrong"}, {Err: gone}, {Text: "ok"}}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann"), w.As("ben")}}, &arc.Options{
		Trace: func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
			above, _ := ctx.Value(key{}).(string)
			name = above + ">" + strings.TrimPrefix(name, "arc.")
			return context.WithValue(ctx, key{}, name), func(err error) {
				mu.Lock()
				defer mu.Unlock()
				spans = append(spans, name)
				if e, ok := errors.AsType[*reason.Error](err); ok {
					failed = append(failed, name+" "+string(e.Class))
				} else {
					require.NoError(t, err)
				}
				if name == ">run>act" {
					panic("at the end") // is logged
				}
			}
		},
	})
	require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "write"}).Status)
	require.Equal(t, ">run>assess >run>recall >run>assign >run>commit >run>act >run>verify >run>learn >run>assess "+
		">run>assign >run>commit >run>act >run>verify >run>learn >run>assess "+
		">run>assign >run>commit >run>act >run>verify >run>learn >run>end >run>commit >run", strings.Join(spans, " "))
	require.Equal(t, []string{">run>act failed", ">run>act permission"}, failed, "an attempt that did not pass")
}

// What is known of a person is told to reasoner and worker, and runs are events where the identity infers.
func TestIdentity(t *testing.T) {
	r, w := planned(arctest.Tasks("", task("write", ""))), &arctest.Worker{}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w.As("ann")}}, nil)
	who, err := a.In("acme/anna").Identity(t.Context())
	require.NoError(t, err)
	known, err := who.Add(t.Context(), identity.Fact{Content: "prefers short letters", Category: "preference", Source: "manual"})
	require.NoError(t, err)
	told := []string{"prefers short letters (as of " + known.LastValidated.Format(time.DateOnly) + ")"}
	o := arc.Objective{Scope: "acme/anna", Text: "write a letter", Situation: "gardening letters"}
	run(t, a, o)
	require.Equal(t, told, r.Briefs()[0].Facts)
	require.Equal(t, told, w.Calls()[0].Facts)
	seen, err := who.Recent(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, seen, "nothing is inferred unasked")
	require.NoError(t, who.SetProfile(t.Context(), identity.Profile{AutoInfer: true}))
	for range 4 {
		run(t, a, o)
	}
	_, err = a.In("acme/anna").Maintain(t.Context())
	require.NoError(t, err)
	facts, err := who.List(t.Context())
	require.NoError(t, err)
	require.Len(t, facts, 2)
	run(t, a, arc.Objective{Scope: "acme/ben", Text: "write a letter"})
	require.Empty(t, w.Calls()[5].Facts, "another's")
	run(t, a, arc.Objective{Scope: "acme/anna", Text: "write a letter", Fresh: true})
	require.Empty(t, w.Calls()[6].Facts)
}

func TestApprovalsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := (&arctest.Worker{}).As("ann")
		w.Mode = act.Gated
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, &arc.Options{ApprovalTimeout: time.Hour})
		began := time.Now()
		require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "7", Text: "write"}).Status)
		r, err := a.In("").Wait(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, arc.Refused, r.Cause, r.Text)
		require.Equal(t, time.Hour, time.Since(began))
	})
}

// A run can be canceled, and goes, where what it asks cannot be read.
func TestApprovalUnread(t *testing.T) {
	st, w := store.NewMem(), (&arctest.Worker{}).As("ann")
	w.Mode = act.Gated
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{w}}, nil)
	require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "7", Text: "write"}).Status)
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: "t/_/s/_//log/7/a/"}) {
		require.NoError(t, err)
		_, err := st.Commit(t.Context(), store.Op{Key: e.Key, Value: []byte("no record")})
		require.NoError(t, err)
	}
	_, err := a.In("").Report(t.Context(), "7")
	require.ErrorIs(t, err, store.ErrVersion)
	require.NoError(t, a.In("").Cancel(t.Context(), "7", "not any more"))
	require.NoError(t, a.In("").Delete(t.Context(), "7"))
}

func TestFireIrreversible(t *testing.T) {
	for _, fires := range []bool{false, true} {
		bank := (&arctest.Worker{}).As("bank", "pay")
		bank.Irreversible = true
		o := &arc.Options{}
		o.FireIrreversible = fires
		a, _ := agent(t, nil, arc.Host{Reasoner: &arctest.Reasoner{Decision: fixed}, Workers: []act.Worker{
			bank, (&arctest.Worker{}).As("mail", "write"),
		}}, o)
		var got *arc.Report
		for n := range 3 {
			got = run(t, a, arc.Objective{Text: "Refund the order.", Inputs: order(n)})
		}
		require.Equal(t, 1, got.Fired)
		require.Equal(t, fires, got.Status == arc.Delivered, got.Text)
	}
}

// A run that is held out is told nothing of what is known, and stays so when it is tried again.
func TestHeldOutIsToldNoFacts(t *testing.T) {
	w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "no"}}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("w")}}, &arc.Options{
		Seed: 1, Attempts: 1, Learn: learn.Options{Holdout: .5},
	})
	who, err := a.In("acme").Identity(t.Context())
	require.NoError(t, err)
	_, err = who.Add(t.Context(), identity.Fact{Content: "prefers short letters", Category: "preference"})
	require.NoError(t, err)
	told := map[int]int{} // runs by how many of their two attempts were told
	for i := range 40 {
		o := arc.Objective{ID: fmt.Sprint("r", i), Scope: "acme", Text: "write"}
		_, err := a.Run(t.Context(), o)
		require.NoError(t, err)
		_, err = a.In("acme").Retry(t.Context(), o.ID, "")
		require.NoError(t, err)
		n := 0
		for _, c := range w.Calls()[2*i:] {
			n += len(c.Facts)
		}
		told[n]++
	}
	require.Len(t, told, 2, told)
	require.Greater(t, min(told[0], told[2]), 10)
}

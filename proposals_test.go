package arc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// asGiven is a policy that learns nothing.
func asGiven(*rank.Book) rank.Policy {
	return rank.PolicyFunc(func(_ context.Context, _ rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
		out := make([]rank.Scored, len(cs))
		for i, c := range cs {
			out[i].Candidate = c
		}
		return out, nil
	})
}

// proposed are the proposals of a kind that wait for a decision.
func proposed(t *testing.T, a *arc.Agent, scope memory.Scope, kind string) (out []proposal.Proposal) {
	t.Helper()
	for p, err := range a.In(scope).Proposals(t.Context()) {
		require.NoError(t, err)
		if p.Kind == kind && p.Decided.IsZero() {
			out = append(out, p)
		}
	}
	return out
}

// A worker degrades: an alert, a proposal on enough evidence, a person's approval,
// another standing, also after a restart, and one step back.
func TestDegradedWorkerIsTriedLast(t *testing.T) {
	t.Parallel()
	c, st, broken := newClock(), store.NewMem(), false
	s := &script{}
	s.do = func(_ int, w act.Work) (act.Result, error) {
		r := done(`"ok"`)
		r.Reflection.Summary = w.Task.Worker
		return r, nil
	}
	s.judge = func(_ act.Work, r act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: r.Reflection.Summary != "old" || !broken, Complaint: "it is empty"}, nil
	}
	opts := &arc.Options{Now: c.Now, Policy: asGiven, Learn: learn.Options{FireAfter: -1}}
	a := agentOn(t, st, s.host("old", "new"), opts)
	n := 0
	work := func(times int) (first string) {
		for range times {
			n++
			c.Add(10 * time.Minute)
			at := len(s.work)
			r := run(t, a, arc.Objective{
				ID: fmt.Sprint("run-", n), Text: fmt.Sprint("mend cache ", n), Situation: situation, Scope: "acme/user",
				Tasks: []reason.Task{{Objective: "mend it", Skill: "work", Verify: "it holds"}}, Fresh: true,
			})
			require.Equal(t, arc.Delivered, r.Status)
			first = s.work[at].Task.Worker
		}
		return first
	}
	maintain := func() []proposal.Proposal {
		up, err := a.Maintain(t.Context(), "acme/user")
		require.NoError(t, err)
		return slices.DeleteFunc(up.Proposals, func(p proposal.Proposal) bool { return p.Kind != "executor" })
	}
	require.Equal(t, "old", work(30))
	require.Empty(t, maintain(), "it works")

	broken = true
	work(10) // twice each
	ps := maintain()
	require.Len(t, ps, 1)
	require.Equal(t, "gathering", ps[0].Status)
	require.Equal(t, "old succeeded in 19 of the last 39 attempts at \"work\"", ps[0].Reason)
	_, err := a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "")
	require.ErrorIs(t, err, store.ErrConflict, "39 of 50 samples")
	work(10)
	ps = maintain()
	require.Len(t, ps, 1)
	require.Equal(t, []int{70, 50}, []int{ps[0].Samples, ps[0].Needs}, ps[0].Reason)
	require.Equal(t, "open", ps[0].Status)
	require.Equal(t, ps, maintain(), "Maintain is idempotent")
	require.JSONEq(t, `{"worker":"old","skill":"work","standing":"last"}`, string(ps[0].Change))
	require.Equal(t, "old", work(1), "nothing is applied without approval")
	h, err := a.Health(t.Context(), "acme/user")
	require.NoError(t, err)
	require.Equal(t, 1, h.Proposals)
	require.Contains(t, strings.Join(strings.Fields(h.String()), " "), "proposals that wait for a decision: 1")

	_, err = a.In("other").Approve(t.Context(), ps[0].ID, "eve", "")
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Empty(t, proposed(t, a, "other", "executor"))
	p, err := a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "it broke on Monday")
	require.NoError(t, err)
	require.Equal(t, []string{"applied", "ada"}, []string{p.Status, p.By})
	require.Equal(t, "new", work(1))
	require.Empty(t, maintain(), "it has its standing already")

	require.NoError(t, a.Close())
	a = agentOn(t, st, s.host("old", "new"), opts)
	require.Equal(t, "new", work(1), "a restart keeps it")
	p, err = a.In("acme").Undo(t.Context(), p.ID, "ada", "it is mended")
	require.NoError(t, err)
	require.Equal(t, "undone", p.Status)
	require.Equal(t, "old", work(1))
	require.Empty(t, maintain(), "what was undone rests")
}

// Who takes certain inputs is asked about without any: Rank has both workers, and who
// fails can be relieved by the other.
func TestWorkersThatTakeInputs(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{}, nil }}
	h := s.host("one", "two")
	for i := range h.Workers {
		h.Workers[i].Input = json.RawMessage(`{"type":"object","required":["order"]}`)
	}
	a := agent(t, h, &arc.Options{Now: c.Now, Policy: asGiven, Attempts: 4, Learn: learn.Options{FireAfter: -1}})
	task := reason.Task{Objective: "mend it", Skill: "work", Inputs: json.RawMessage(`{"order":"A1"}`)}
	for range 25 {
		c.Add(time.Minute)
		run(t, a, arc.Objective{Text: "mend the cache", Tasks: []reason.Task{task}, Fresh: true})
	}
	for inputs, want := range map[string]int{"": 2, `{"order":"A1"}`: 2, `{}`: 0} {
		ranking, err := a.In("").Rank(t.Context(), "", reason.Task{Skill: "work", Inputs: json.RawMessage(inputs)})
		require.NoError(t, err)
		require.Len(t, ranking, want, inputs)
	}
	_, err := a.Maintain(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, proposed(t, a, "", "executor"), 2)
}

// No change leaves a skill without a worker, and one that cannot be made changes
// nothing.
func TestStandingsLeaveAWorker(t *testing.T) {
	t.Parallel()
	c, fails := newClock(), true
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Pass: !fails}, nil }}
	a := agent(t, s.host("one", "two"), &arc.Options{Now: c.Now, Policy: asGiven, Attempts: 4, Learn: learn.Options{FireAfter: -1}})
	o := arc.Objective{Text: "mend the cache", Tasks: []reason.Task{{Objective: "mend it", Skill: "work"}}, Fresh: true}
	for range 25 {
		c.Add(time.Minute)
		run(t, a, o)
	}
	up, err := a.Maintain(t.Context(), "")
	require.NoError(t, err)
	both := proposed(t, a, "", "executor")
	require.Len(t, both, 2)
	for _, p := range both {
		require.Contains(t, string(p.Change), "paused", "it always fails")
	}
	advice := proposed(t, a, "", "action")
	require.Len(t, advice, 1)
	require.Equal(t, "0 of 100 attempts at \"work\" succeeded in the last 24h0m0s (100 failed, 0 ran out of time)", advice[0].Reason)
	require.NotEmpty(t, advice[0].Advice)
	require.Len(t, up.Proposals, len(both)+len(advice))
	_, err = a.In("").Approve(t.Context(), advice[0].ID, "ada", "")
	require.ErrorIs(t, err, store.ErrConflict, "there is nothing to apply")

	p, err := a.In("").Approve(t.Context(), both[0].ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status)
	p, err = a.In("").Approve(t.Context(), both[1].ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "failed", p.Status)
	require.Contains(t, p.Note, "no other worker")
	fails = false
	at := len(s.work)
	require.Equal(t, arc.Delivered, run(t, a, o).Status)
	require.Equal(t, "two", s.work[at].Task.Worker)
	p, err = a.In("").Reject(t.Context(), advice[0].ID, "ada", "known")
	require.NoError(t, err)
	require.Equal(t, "rejected", p.Status)
}

// A memory that misleads is archived when a person says so, and comes back.
func TestHarmfulMemoryIsArchived(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	space := a.In("acme/user").Memory()
	kept, err := space.Remember(t.Context(), memory.Draft{
		Kind: memory.Pattern, Trigger: situation, Content: "restart the server, and it is well again",
	})
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, space.Feedback(t.Context(), memory.Feedback{
			Key: fmt.Sprint(i), Injected: []memory.ID{kept.ID}, Misled: []memory.ID{kept.ID},
		}))
	}
	_, err = a.Maintain(t.Context(), "acme/user")
	require.NoError(t, err)
	ps := proposed(t, a, "acme", "memory")
	require.Len(t, ps, 1)
	require.Contains(t, ps[0].Reason, "it misled 4 times")
	shown := func() int {
		hits, err := space.Recall(t.Context(), memory.Query{Text: situation, Inject: true})
		require.NoError(t, err)
		return len(hits)
	}
	require.Equal(t, 1, shown())
	p, err := a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status, p.Note)
	require.Zero(t, shown())
	_, err = a.Maintain(t.Context(), "acme/user")
	require.NoError(t, err)
	require.Empty(t, proposed(t, a, "acme", "memory"))
	p, err = a.In("acme").Undo(t.Context(), p.ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "undone", p.Status, p.Note)
	require.Equal(t, 1, shown())
}

// What only a person can resolve becomes advice the third time, whatever way it
// reached the person. A gate that fails is no such thing.
func TestEscalationsBecomeAdvice(t *testing.T) {
	t.Parallel()
	denied := func(context.Context, *act.Call) (bool, error) { return false, nil }
	for name, c := range map[string]struct {
		status  arc.Status
		cause   arc.Cause
		decide  func(int, reason.Brief) (reason.Decision, error)
		do      func(int, act.Work) (act.Result, error)
		judge   func(act.Work, act.Result) (act.Verdict, error)
		approve act.ApproverFunc
		opts    arc.Options
	}{
		"asked": {status: arc.Asking, decide: func(int, reason.Brief) (reason.Decision, error) {
			return reason.Decision{Questions: []string{"which cache?"}}, nil
		}},
		"stuck": {
			status: arc.Blocked, cause: arc.CauseStuck, opts: arc.Options{Pivot: arc.PivotAuto, Attempts: 5, Replans: 5},
			judge: func(act.Work, act.Result) (act.Verdict, error) {
				return act.Verdict{Complaint: "it is still cold"}, nil
			},
		},
		"denied": {status: arc.Blocked, cause: arc.CauseDenied, approve: denied},
		"permission": {status: arc.Blocked, cause: arc.CausePermission, do: func(int, act.Work) (act.Result, error) {
			return act.Result{}, act.ErrDenied
		}},
		"pivot": {
			status: arc.Asking, opts: arc.Options{Pivot: arc.PivotAuto, Attended: true, Attempts: 5, Replans: 5},
			judge: func(act.Work, act.Result) (act.Verdict, error) {
				return act.Verdict{Complaint: "it is still cold"}, nil
			},
		},
		"gate": {
			status: arc.Blocked, cause: arc.CauseGate,
			judge: func(act.Work, act.Result) (act.Verdict, error) {
				return act.Verdict{Complaint: "it is still cold"}, nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{decide: c.decide, do: c.do, judge: c.judge}
			h := s.host()
			if c.approve != nil {
				h.Workers[0].Mode, h.Approver = act.Gated, c.approve
			}
			c.opts.Seed = 1
			a := agent(t, h, &c.opts)
			for i := range 3 {
				require.Empty(t, proposed(t, a, "acme", "action"))
				r := run(t, a, arc.Objective{Text: fmt.Sprint("mend cache ", i), Situation: situation, Scope: "acme", Fresh: true})
				require.Equal(t, []any{c.status, c.cause}, []any{r.Status, r.Cause}, r.Reason)
				_, err := a.Maintain(t.Context(), "acme")
				require.NoError(t, err)
			}
			ps := proposed(t, a, "acme", "action")
			if name == "gate" {
				require.Empty(t, ps)
				return
			}
			require.Len(t, ps, 1)
			require.Equal(t, []int{3, 3}, []int{ps[0].Samples, ps[0].Needs})
			require.Contains(t, ps[0].Reason, "was handed to a human 3 times")
			require.Empty(t, proposed(t, a, "ajax", "action"))
		})
	}
}

// Retention takes proposals that came to nothing, and leaves those that stand.
func TestProposalsAreRetained(t *testing.T) {
	t.Parallel()
	c := newClock()
	a := agent(t, (&script{}).host(), &arc.Options{Now: c.Now, Maintain: -1, Retention: arc.Retention{Age: 30 * 24 * time.Hour}})
	mislead := func(content string) proposal.Proposal {
		t.Helper()
		space := a.In("acme/user").Memory()
		r, err := space.Remember(t.Context(), memory.Draft{Kind: memory.Pattern, Trigger: situation, Content: content})
		require.NoError(t, err)
		for i := range 4 {
			require.NoError(t, space.Feedback(t.Context(), memory.Feedback{
				Key: fmt.Sprint(content, i), Injected: []memory.ID{r.ID}, Misled: []memory.ID{r.ID},
			}))
		}
		_, err = a.Maintain(t.Context(), "acme/user")
		require.NoError(t, err)
		for _, p := range proposed(t, a, "acme", "memory") {
			if strings.Contains(p.Reason, content) {
				return p
			}
		}
		require.Fail(t, "not proposed", content)
		return proposal.Proposal{}
	}
	applied, declined := mislead("restart the server, and it is well again"), mislead("the moon is full when it fails")
	_, err := a.In("acme").Approve(t.Context(), applied.ID, "ada", "")
	require.NoError(t, err)
	_, err = a.In("acme").Reject(t.Context(), declined.ID, "ada", "")
	require.NoError(t, err)
	left := func() (ids []string) {
		for p, err := range a.In("acme").Proposals(t.Context()) {
			require.NoError(t, err)
			ids = append(ids, p.ID)
		}
		return ids
	}
	c.Add(30 * 24 * time.Hour)
	require.NoError(t, a.Prune(t.Context()))
	require.Len(t, left(), 2)
	c.Add(time.Second)
	require.NoError(t, a.Prune(t.Context()))
	require.Equal(t, []string{applied.ID}, left())
	require.NoError(t, a.Erase(t.Context(), "acme/use"))
	require.Len(t, left(), 1)
	require.NoError(t, a.Erase(t.Context(), "acme/user"))
	require.Empty(t, left(), "it quotes a memory of the user")
}

// An alert tells what ran out of time from what failed: by arc's deadline, the context's, or in a worker's words.
func TestAlertTellsWhatRanOutOfTime(t *testing.T) {
	t.Parallel()
	c, s := newClock(), &script{}
	n := 0
	ends := []error{nil, context.DeadlineExceeded, fmt.Errorf("lint: timeout after %v", time.Minute), errBoom}
	h := s.host()
	h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
		err := ends[n%len(ends)]
		if err == nil {
			<-ctx.Done() // the deadline of the attempt
		}
		return act.Result{}, err
	})
	a := agent(t, h, &arc.Options{Now: c.Now, AttemptTimeout: 20 * time.Millisecond, Patience: -1, Learn: learn.Options{Repeats: -1}})
	for n = range 12 {
		c.Add(time.Minute)
		_, err := a.Run(t.Context(), arc.Objective{
			Text: fmt.Sprint("mend cache ", n), Attempts: 1, Fresh: true, Once: true,
			Tasks: []reason.Task{{Objective: fmt.Sprint("mend ", n), Skill: "work", Verify: "it holds"}},
		})
		require.NoError(t, err)
	}
	up, err := a.Maintain(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, up.Proposals, 1, "%v", up.Proposals)
	require.Contains(t, up.Proposals[0].Reason, `0 of 12 attempts at "work" succeeded in the last 24h0m0s (3 failed, 9 ran out of time)`)
}

// hooked is a store whose commits are told of, before and after.
type hooked struct {
	*store.Mem
	before, after func(op store.Op)
}

func (h *hooked) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	h.before(ops[0])
	rev, err := h.Mem.Commit(ctx, ops...)
	h.after(ops[0])
	return rev, err
}

// propose has the proposals of a tenant, as another process has them, with one about a worker.
func propose(t *testing.T, st store.Store, worker string) (*proposal.Book, proposal.Proposal) {
	t.Helper()
	ps, err := proposal.Open(t.Context(), st, &proposal.Options{Tenant: "local"})
	require.NoError(t, err)
	p, err := ps.Propose(t.Context(), proposal.Proposal{
		Kind: "executor", Subject: worker, Change: fmt.Appendf(nil, `{"worker":%q,"skill":"work","standing":"last"}`, worker), Samples: 50,
	})
	require.NoError(t, err)
	return ps, p
}

// A verdict takes effect though its caller leaves once it is carried out.
func TestVerdictTakesEffectThoughItsCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	commits, none := 0, func(store.Op) {}
	st := &hooked{Mem: store.NewMem(), before: none, after: none}
	s := &script{}
	a := agentOn(t, st, s.host("old", "new"), &arc.Options{Policy: asGiven})
	_, p := propose(t, st, "old")
	st.after = func(op store.Op) {
		if strings.Contains(op.Key, "proposal") {
			if commits++; commits == 2 { // the answer of Apply
				leave()
			}
		}
	}
	p, err := a.In("").Approve(ctx, p.ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", p.Status, p.Note)
	run(t, a, arc.Objective{Text: "mend it", Tasks: []reason.Task{{Objective: "mend it", Skill: "work", Verify: "it holds"}}})
	require.Equal(t, "new", s.work[0].Task.Worker)
}

// A call beside a decision that takes long ends with its context, though another replica has decided too.
func TestCallBesideADecision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, none := make(chan struct{}), func(store.Op) {}
		st := &hooked{Mem: store.NewMem(), before: none, after: none}
		b := replica(t, st, "b", (&script{}).host("old", "new"), arc.Options{})
		_, first := propose(t, st.Mem, "old")
		ps, second := propose(t, st.Mem, "new")
		require.Len(t, proposed(t, b, "", "executor"), 2)
		st.before = func(op store.Op) {
			if strings.Contains(op.Key, "proposal") {
				<-on
			}
		}
		over := make(chan error, 1)
		go func() {
			_, err := b.In("").Approve(t.Context(), first.ID, "ada", "")
			over <- err
		}()
		synctest.Wait()
		_, err := ps.Decide(t.Context(), second.ID, "reject", "bob", "")
		require.NoError(t, err)
		synctest.Wait()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = b.Health(late, "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(on)
		require.NoError(t, <-over)
		_, err = b.Health(t.Context(), "")
		require.NoError(t, err)
	})
}

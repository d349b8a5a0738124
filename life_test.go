package arc_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

func TestBlockedRunSaysItsCause(t *testing.T) {
	t.Parallel()
	decide := func(d reason.Decision, err error) *script {
		return &script{decide: func(int, reason.Brief) (reason.Decision, error) { return d, err }}
	}
	do := func(r act.Result, err error) *script {
		return &script{do: func(int, act.Work) (act.Result, error) { return r, err }}
	}
	circle := reason.Decision{Impasse: &reason.Impasse{Kind: reason.NoApproach, Reason: "locked", Subgoal: "mend the cache"}}
	for cause, c := range map[arc.Cause]struct {
		s *script
		o arc.Objective
	}{
		arc.CauseGate:       {&script{judge: fail("no")}, arc.Objective{}},
		arc.CauseWorker:     {do(act.Result{}, errBoom), arc.Objective{}},
		arc.CausePermission: {do(act.Result{}, fmt.Errorf("403: %w", act.ErrDenied)), arc.Objective{}},
		arc.CauseModel:      {decide(reason.Decision{}, errBoom), arc.Objective{}},
		arc.CauseStuck:      {decide(circle, nil), arc.Objective{}},
		arc.CauseBudget:     {&script{judge: fail("no")}, arc.Objective{Budget: arc.Budget{Steps: 4}}},
		arc.CauseNoWorker:   {&script{}, arc.Objective{Tasks: []reason.Task{{Objective: "fly", Verify: "it flies", Skill: "fly"}}}},
	} {
		c.o.Text = "mend the cache"
		a := agent(t, c.s.host(), nil)
		r := run(t, a, c.o)
		require.Equal(t, arc.Blocked, r.Status, cause)
		require.Equal(t, cause, r.Cause, r.Reason)
		require.NotEmpty(t, r.Reason)
		require.Zero(t, r.Next)
		again, err := a.In("").Resume(t.Context(), r.ID)
		require.NoError(t, err)
		require.Equal(t, cause, again.Cause, "it is kept")
	}
}

// A person's no, or silence, is recorded as such: it costs the worker no rank,
// and the session no failure.
func TestMissingApprovalIsNoFailureOfTheWorker(t *testing.T) {
	for end, approve := range map[act.End]act.ApproverFunc{
		act.Refused:    func(context.Context, act.ApprovalRequest) (bool, error) { return false, nil },
		act.Undecided:  func(context.Context, act.ApprovalRequest) (bool, error) { return true, errBoom },
		act.Unanswered: func(ctx context.Context, _ act.ApprovalRequest) (bool, error) { <-ctx.Done(); return true, nil },
		act.Denied:     func(context.Context, act.ApprovalRequest) (bool, error) { return true, nil }, // and the service says 403
	} {
		t.Run(string(end), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				h := s.host()
				h.Workers[0].Mode = act.Gated
				h.Approver = act.ApproverFunc(func(ctx context.Context, r act.ApprovalRequest) (bool, error) {
					if r.Work.Objective == "deploy" {
						return true, nil
					}
					return approve(ctx, r)
				})
				s.do = func(_ int, w act.Work) (act.Result, error) {
					if w.Objective != "deploy" {
						return act.Result{}, &reason.ModelError{Status: 403}
					}
					return done(`1`), nil
				}
				a := agent(t, h, nil)
				score := func() float64 {
					ranking, err := a.In("").Rank(t.Context(), "release", reason.Task{Skill: "work"})
					require.NoError(t, err)
					return ranking[0].Parts.Mean
				}
				for range 5 {
					require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "deploy", Situation: "release", Session: "s"}).Status)
				}
				before := score()
				for range 5 {
					r := run(t, a, arc.Objective{Text: "deploy on a Friday", Situation: "release", Session: "s", Fresh: true})
					require.Equal(t, arc.Blocked, r.Status)
					require.Equal(t, end, r.LastEnd)
					cause := arc.CauseDenied
					if end == act.Denied {
						cause = arc.CausePermission
					}
					require.Equal(t, cause, r.Cause)
				}
				require.InDelta(t, before, score(), 0.01)
				now, err := a.In("").Assess(t.Context(), "s")
				require.NoError(t, err)
				require.Equal(t, meta.KeepGoing, now.Recommendation)
				require.Zero(t, now.Failures)
			})
		})
	}
}

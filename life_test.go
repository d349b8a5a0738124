package arc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
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

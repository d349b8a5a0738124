package arc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
)

// The policy of approvals goes by what came of a worker's claims: one that is sure
// of itself and fails more often than not is no longer left to itself.
func TestApprovalsSeeWhatCameOfClaims(t *testing.T) {
	var asked []act.Call
	n := 0
	h := arc.Host{
		Approver: act.ApproverFunc(func(_ context.Context, c *act.Call) (bool, error) {
			asked = append(asked, *c)
			return true, nil
		}),
		Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			n++
			return act.Verdict{Pass: n <= 2, Complaint: "it does not build"}, nil
		})},
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "boaster", Prior: 0.95}, Blast: act.Repo, Skills: []string{"work"},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				r := done(`"pushed"`)
				r.Reflection.Confidence = 0.95
				return r, nil
			}),
		}},
	}
	a := agent(t, h, &arc.Options{Attempts: 1, Seed: 1})
	for range 5 {
		run(t, a, arc.Objective{Text: "push it", Fresh: true, Tasks: chore})
	}
	require.Empty(t, asked, "five outcomes are not known before the fifth")
	run(t, a, arc.Objective{Text: "push it", Fresh: true, Tasks: chore})
	require.Len(t, asked, 1)
	require.Equal(t, act.Veto, asked[0].Mode)
	require.InDelta(t, 0.4, asked[0].Success, 1e-9, "it claims 0.95")
	require.Equal(t, []string{"40 % of such attempts succeed"}, asked[0].Why)
}

package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
)

// An operator hears what workers cost and claim, another client does not.
func TestCostsAndConfidence(t *testing.T) {
	t.Parallel()
	agent := open(t, failing())
	_, err := agent.Run(t.Context(), arc.Objective{Text: "mend the pump", Scope: boss.Scope})
	require.NoError(t, err)
	s := serve(t, agent, boss)
	costs := call[struct {
		Costs []struct {
			Worker              string
			Attempts, Successes int
		}
	}](t, s, "costs", `{}`).Costs
	require.Len(t, costs, 1)
	require.Equal(t, []any{"w", 3, 0}, []any{costs[0].Worker, costs[0].Attempts, costs[0].Successes})
	sure := call[struct {
		Workers []struct {
			Worker  string
			Samples int
		}
	}](t, s, "confidence", `{}`).Workers
	require.Len(t, sure, 1)
	require.Contains(t, refuse(t, serve(t, agent, anna), "costs", `{}`), "operator")
	require.Contains(t, refuse(t, serve(t, agent, anna), "confidence", `{}`), "operator")
}

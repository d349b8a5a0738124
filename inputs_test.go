package arc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// A decision whose inputs no worker takes is refused before anything is done, and the
// reasoner is told what is wrong and where.
func TestInputsAreValidatedBeforeTheyAreDispatched(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		require.Len(t, b.Accepts, 1)
		d := plan(b.Objective)
		d.Tasks[0].Inputs = json.RawMessage(`{"replicas":"many"}`)
		if n > 1 {
			require.Contains(t, b.Complaint, "no worker can take task 1: its inputs are not what worker takes: at '/replicas': got string, want integer")
			d.Tasks[0].Inputs = json.RawMessage(`{"replicas":3}`)
		}
		return d, nil
	}}
	h := s.host()
	h.Workers[0].Input = json.RawMessage(`{"properties":{"replicas":{"type":"integer"}},"required":["replicas"],"type":"object"}`)
	r := run(t, agent(t, h, nil), arc.Objective{Text: "scale the service"})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, 2, r.Deliberations)
	require.Len(t, s.work, 1)

	s = &script{}
	h = s.host()
	h.Workers[0].Input = json.RawMessage(`{"type":"object"}`)
	r = run(t, agent(t, h, nil), arc.Objective{Text: "scale", Tasks: []act.Task{{Objective: "scale", Skill: "work", Inputs: json.RawMessage(`[]`)}}})
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, arc.CauseNoWorker, r.Cause)
	require.Contains(t, r.Reason, "got array, want object")
	require.Empty(t, s.work)
}

package learn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

// Two plans for one case that differ in what they give a worker, or whom they name, are two:
// neither has delivered twice, and neither has the other's credit.
func TestPlansThatDifferAreTwo(t *testing.T) {
	t.Parallel()
	const objective = "scale the service to what it needs now"
	for name, plans := range map[string][2]reason.Task{
		"inputs":  {{Objective: "set the replicas", Inputs: []byte(`{"replicas":3}`)}, {Objective: "set the replicas", Inputs: []byte(`{"replicas":5}`)}},
		"names":   {{Objective: "move the traffic of the service to the pool Berlin"}, {Objective: "move the traffic of the service to the pool Paris"}},
		"paths":   {{Objective: "apply the manifest at deploy/eu.yaml to it"}, {Objective: "apply the manifest at deploy/us.yaml to it"}},
		"effects": {{Objective: "set it", Effect: &reason.Effect{Domain: "web", Path: "data.low"}}, {Objective: "set it", Effect: &reason.Effect{Domain: "web", Path: "data.high"}}},
		"verify":  {{Objective: "set it", Verify: "check https://eu.example.org/up"}, {Objective: "set it", Verify: "check https://us.example.org/up"}},
	} {
		p := setup(t, nil)
		a := learn.Ask{Scope: scope, Situation: objective, Objective: objective}
		for i, plan := range plans {
			found, err := p.learner.Recall(t.Context(), a)
			require.NoError(t, err)
			o := delivered(name+string(rune('a'+i)), objective)
			plan.Skill, plan.Worker = "edit", "fixer"
			o.Situation, o.Case, o.Injected, o.Plan = objective, learn.Case{}, found.Hits, []reason.Task{plan}
			_, err = p.learner.Learn(t.Context(), o)
			require.NoError(t, err)
		}
		found, err := p.learner.Recall(t.Context(), a)
		require.NoError(t, err)
		chunk, fired := learn.Fire(p.learner.Match(found.Hits, a), nil)
		if fired {
			t.Errorf("%s: fires %s %s", name, chunk.Tasks[0].Objective, chunk.Tasks[0].Inputs)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/reason"
)

// decide knows one kind of objective by heart, and asks a model about others.
func decide(llm *reason.LLM) reason.Reasoner {
	return reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
		var to int
		if _, err := fmt.Sscanf(b.Objective, "scale web to %d", &to); err != nil {
			return llm.Reason(ctx, b)
		}
		inputs, err := json.Marshal(to)
		return reason.Decision{
			Complexity: reason.Simple, Approach: "as told",
			Tasks: []reason.Task{{Objective: b.Objective, Skill: "scale", Inputs: inputs}},
		}, err
	})
}

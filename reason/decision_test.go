package reason_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func Example() {
	// A model behind the interface, here one that always says the same.
	model := reason.ModelFunc(func(_ context.Context, req *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: `{"approach":"edit","task":"` + req.Messages[0].Text + `"}`}, nil
	})
	var r reason.Reasoner = reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
		resp, err := model.Generate(ctx, &reason.Request{
			System:   "Decide what to do.",
			Messages: []reason.Message{{Role: "user", Text: b.Objective}},
		})
		if err != nil {
			return reason.Decision{}, err
		}
		var answer struct{ Approach, Task string }
		if err := json.Unmarshal([]byte(resp.Text), &answer); err != nil {
			return reason.Decision{}, err
		}
		return reason.Decision{
			Complexity: reason.Simple,
			Approach:   answer.Approach,
			Tasks:      []reason.Task{{Objective: answer.Task, Verify: "go vet is silent"}},
			Usage:      resp.Usage,
		}, nil
	})
	d, err := r.Reason(context.Background(), reason.Brief{Objective: "mend the cache"})
	fmt.Println(d.Approach, d.Tasks[0].Objective, err, d.Check())
	// Output: edit mend the cache <nil> <nil>
}

// A Reasoner that knows one way, and says how it is stuck when that does not
// lead on.
func ExampleImpasse() {
	delivered := func(lineage []reason.Delivery, objective string) bool {
		for _, d := range lineage {
			if d.Task.Objective == objective {
				return true
			}
		}
		return false
	}
	stuck := func(kind string, subgoal string) reason.Decision {
		return reason.Decision{Impasse: &reason.Impasse{Kind: kind, Reason: "the door does not open", Subgoal: subgoal}}
	}
	decide := func(b reason.Brief) reason.Decision {
		switch {
		case !delivered(b.Lineage, "find the key"):
			return stuck("missing_capability", "find the key")
		case len(b.Failed) > 2:
			return stuck("repeated_failure", "oil the lock")
		}
		return reason.Decision{Approach: "turn the key", Tasks: []reason.Task{{Objective: b.Objective}}}
	}
	b := reason.Brief{Objective: "open the door"}
	fmt.Println(decide(b).Impasse.Kind)
	b.Lineage = []reason.Delivery{{Task: reason.Task{Objective: "find the key"}, Worker: "scout", Attempt: 1}}
	fmt.Println(decide(b).Approach)
	b.Failed = make([]reason.FailedAttempt, 3)
	d := decide(b)
	fmt.Println(d.Impasse.Kind, d.Check())
	// Output:
	// missing_capability
	// turn the key
	// repeated_failure <nil>
}

func ExampleDecision_Check() {
	d := reason.Decision{Impasse: &reason.Impasse{Kind: "conflict", Reason: "fast and cheap"}}
	fmt.Println(d.Check())
	// Output: decision refused: an impasse needs a subgoal
}

func TestCheckRefusesWhatCannotBeActedOn(t *testing.T) {
	t.Parallel()
	task := reason.Task{Objective: "x"}
	good := map[string]reason.Decision{
		"tasks":     {Complexity: reason.Complex, Tasks: []reason.Task{task, {Objective: "y", Inputs: []byte(`{"a":1}`)}}},
		"questions": {Complexity: reason.Unclear, Questions: []string{"?"}},
		"impasse":   {Impasse: &reason.Impasse{Kind: "repeated_failure", Subgoal: "x"}},
		"effect":    {Complexity: reason.Moderate, Tasks: []reason.Task{{Objective: "x", Effect: &reason.Effect{Domain: "ci", Path: "failing"}}}},
		"most":      {Tasks: []reason.Task{{Objective: strings.Repeat("x", 64<<10)}}},
	}
	for name, d := range good {
		require.NoError(t, d.Check(), name)
	}
	bad := map[string]reason.Decision{
		"nothing":           {},
		"tasks, questions":  {Tasks: []reason.Task{task}, Questions: []string{"?"}},
		"tasks, impasse":    {Tasks: []reason.Task{task}, Impasse: &reason.Impasse{Kind: "conflict", Subgoal: "x"}},
		"unclear tasks":     {Complexity: reason.Unclear, Tasks: []reason.Task{task}},
		"complexity":        {Complexity: "hard", Tasks: []reason.Task{task}},
		"kind":              {Impasse: &reason.Impasse{Kind: "lost", Subgoal: "x"}},
		"no subgoal":        {Impasse: &reason.Impasse{Kind: "missing_capability", Subgoal: "\n"}},
		"blank question":    {Questions: []string{"?", " "}},
		"blank objective":   {Tasks: []reason.Task{task, {}}},
		"inputs":            {Tasks: []reason.Task{{Objective: "x", Inputs: []byte("{")}}},
		"negative tokens":   {Tasks: []reason.Task{task}, Usage: reason.Usage{TokensOut: -1}},
		"cost not a number": {Tasks: []reason.Task{task}, Usage: reason.Usage{APICostUSD: math.NaN()}},
	}
	long := strings.Repeat("x", 64<<10+1)
	bad["long complexity"] = reason.Decision{Complexity: reason.Complexity(long), Tasks: []reason.Task{task}}
	bad["long kind"] = reason.Decision{Impasse: &reason.Impasse{Kind: long, Subgoal: "x"}}
	for name, d := range bad {
		require.ErrorIs(t, d.Check(), reason.ErrDecision, name)
		require.Less(t, len(d.Check().Error()), 200, name)
	}
	over := map[string]reason.Decision{
		"approach":  {Approach: long, Tasks: []reason.Task{task}},
		"objective": {Tasks: []reason.Task{{Objective: long}}},
		"inputs":    {Tasks: []reason.Task{{Objective: "x", Inputs: []byte(`"` + long + `"`)}}},
		"subgoal":   {Impasse: &reason.Impasse{Kind: "conflict", Subgoal: long}},
		"question":  {Questions: []string{long}},
		"tasks":     {Tasks: make([]reason.Task, reason.MaxTasks+1)},
		"together":  {Tasks: []reason.Task{{Objective: long[1:]}, {Objective: long[1:]}, task}},
		"path":      {Tasks: []reason.Task{{Objective: "x", Effect: &reason.Effect{Path: long}}}},
		"skills":    {Tasks: []reason.Task{{Objective: "x", Skill: long[1:]}, {Objective: "x", Worker: long[1:]}}},
		"questions": {Questions: []string{long[1:], long[1:], "?"}},
		"many":      {Questions: slices.Repeat([]string{"?"}, reason.MaxTasks+1)},
		"approaches": {Alternatives: []reason.Alternative{
			{Approach: long[1:], Tasks: []reason.Task{task}}, {Approach: "y" + long[2:], Tasks: []reason.Task{task}},
			{Approach: "z", Tasks: []reason.Task{task}},
		}},
		"preferences": {
			Alternatives: []reason.Alternative{{Approach: long[1:], Tasks: []reason.Task{task}}},
			Preferences:  []reason.Preference{{Approach: long[1:], Is: "best"}, {Approach: long[1:], Is: "require"}},
		},
	}
	for name, d := range over {
		_, ok := errors.AsType[*store.LimitError](d.Check())
		require.True(t, ok, name)
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	u := reason.Usage{TokensIn: 1, TokensOut: 2, CostUSD: 3, APICostUSD: 4}
	require.Equal(t, reason.Usage{TokensIn: 2, TokensOut: 4, CostUSD: 6, APICostUSD: 8}, u.Add(u))
	require.True(t, u.Valid())
	most := reason.Usage{TokensIn: math.MaxInt, CostUSD: math.MaxFloat64, APICostUSD: math.MaxFloat64}
	require.True(t, most.Valid())
	require.True(t, most.Add(most).Add(most).Valid(), "what is no number cannot be told in JSON, and reaches no budget")
	require.False(t, reason.Usage{TokensIn: -1}.Valid())
	require.False(t, reason.Usage{CostUSD: math.Inf(1)}.Valid())
}

// What does not show asks for nothing.
func TestDecisionThatDoesNotShow(t *testing.T) {
	t.Parallel()
	const unseen = "\u200b\u2066\u00ad\ufeff"
	for name, d := range map[string]reason.Decision{
		"task":     {Complexity: reason.Simple, Approach: "look", Tasks: []reason.Task{{Objective: unseen, Skill: "work"}}},
		"question": {Complexity: reason.Unclear, Questions: []string{unseen}},
		"subgoal":  {Complexity: reason.Complex, Approach: "look", Impasse: &reason.Impasse{Kind: "no_approach", Subgoal: unseen}},
	} {
		require.ErrorIs(t, d.Check(), reason.ErrDecision, name)
	}
}

// Package reason holds the nouns of deciding what to do: the [Brief] that a
// [Reasoner] is given, and the [Decision] that it returns, which is a plan of
// [Task] values, an [Impasse] with a subgoal, or questions to a human.
//
//	r := reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
//		return reason.Decision{
//			Complexity: reason.Simple,
//			Approach:   "ask the linter, then edit",
//			Tasks:      []reason.Task{{Objective: b.Objective, Verify: "go vet is silent", Skill: "edit"}},
//		}, nil
//	})
//
// A Reasoner may be a model behind a prompt, a planner, or plain code. It only
// decides: it runs no tools and writes no memory. The loop in the root package
// calls it, checks what it says with [Decision.Check], and does the rest.
//
// [LLM] is the one on a model. It asks for a decision by [Schema], refuses what
// is not one to the letter, and then asks once more with what was wrong:
//
//	llm, err := reason.NewLLM(model, &reason.LLMOptions{Tokens: 20_000, Skills: skills})
//	…
//	agent, err := arc.Open(ctx, dir, arc.Host{Reasoner: llm, Workers: workers, Gates: gates}, nil)
//
// Memories, inputs, answers and complaints reach the model as fenced data. What
// does not fit the budget is left out, the least useful first, and the prompt
// says so.
//
// What such a Reasoner is told about the work at hand can come from here too:
// [LoadSkills] reads how the host wants work to be done, [Survey] says what a
// codebase holds and which files an objective is about, and [Signals] estimates
// an objective by its words.
//
// The package has no model client. [Model] is the interface that a host's
// client is adapted to.
package reason

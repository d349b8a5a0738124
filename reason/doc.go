// Package reason holds the nouns of deciding what to do: the [Brief] that a
// [Reasoner] is given, and the [Decision] that it returns: a plan of [Task]
// values, alternatives, an [Impasse] with a subgoal, or questions to a human.
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
// # A model as Reasoner
//
// [LLM] is the Reasoner on a [Model]. It asks for a decision by a JSON Schema,
// refuses an answer that departs from it, and then asks once more with what was
// wrong:
//
//	llm, err := reason.NewLLM(model, &reason.LLMOptions{Tokens: 20_000, Skills: skills})
//	…
//	agent, err := arc.Open(ctx, dir, arc.Host{Reasoner: llm, Workers: workers, Gates: gates}, nil)
//
// Memories, passages, inputs, answers and complaints reach the model as fenced
// data. What does not fit the budget is left out, the least useful first, and
// the prompt says so.
//
// # What a Reasoner knows
//
// A [Source] tells about the work at hand: [NewCodebase] which files an
// objective is about, [NewDocuments] what is written about it, a function of
// the host anything else. [LoadSkills] reads how the host wants work to be
// done. [Signals] estimates the size of an objective by its words.
//
// # Several ways
//
// Where several ways are open, a Decision can have them all, as [Alternative]
// values, and say by [Preference] statements which is better.
// [Decision.Choose] takes one, or finds the impasse that they are:
//
//	reason.Decision{
//		Alternatives: []reason.Alternative{{"patch", patch}, {"rewrite", rewrite}},
//		Preferences:  []reason.Preference{{Approach: "patch", Is: "better", Than: "rewrite"}},
//	}
//
// # Not here
//
// The package has no model client: [Model] is the interface that a host's
// client is adapted to, and reason/model has what goes around one. Nothing here
// waits or repeats a call, with the exception of the one round of repair: the
// loop owns waiting, and [Retryable] tells it what may be tried again. Values
// of this package may be used by several goroutines, as each says; nothing here
// is kept on disk.
package reason

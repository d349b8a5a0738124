// Package eino joins arc and eino (github.com/cloudwego/eino).
//
// [Memory] is arc's learning around an eino agent. A ReAct program gets it by these lines, and one import:
//
//	mem, err := arceino.OpenMemory(ctx, "memory", &arceino.MemoryOptions{Check: check})
//	if err != nil {
//		return err
//	}
//	defer mem.Close()
//	…
//		MessageModifier: mem.Modifier(nil), // in the agent's config
//	…
//	answer, err := mem.Generate(ctx, agent, messages) // was: agent.Generate(ctx, messages)
//
// A nil *Memory does nothing: the program prints what it printed before. No error of the memory comes with
// an answer: [MemoryOptions] has a function that is told.
//
// [Model] is an eino chat model as a [reason.Model], and [Tool] an eino tool as one of arc's, for
// programs whose loop is arc's.
package eino

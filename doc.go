// Package arc runs an agent that learns: reason, act, learn, watched by
// metacognition.
//
// The host brings a [reason.Reasoner] (a model behind a prompt, or plain code),
// [act.Worker] values that do the work, and gates that verify it. An [Agent]
// runs the loop around them:
//
//	agent, err := arc.Open(ctx, dir, arc.Host{
//		Reasoner: reasoner,
//		Workers:  []act.Worker{{Card: rank.Candidate{Name: "fixer"}, Executor: fixer}},
//		Gates:    []act.Gate{tests},
//	}, nil)
//	report, err := agent.Run(ctx, arc.Objective{Text: "make the tests pass", Situation: "go test: nil map"})
//
// For each objective it recalls what was learned, asks the reasoner for tasks
// (or lets a chunk fire, a plan that has delivered in this situation before,
// without asking), has the best-ranked worker attempt each task, lets nothing
// count as done that a gate has not passed, and feeds the gate's complaint into
// the next attempt. The objective ends DELIVERED or BLOCKED, never with a
// guess. Whatever happened is learned: feedback on the memories that were
// used, a failure to avoid, a chunk to reuse, samples for the ranking.
//
// A host that makes its plans itself gives them as [Objective.Tasks], and then
// needs no reasoner at all; what happens is learned all the same.
//
// # State
//
// A run is a plain value that is committed after each step: step, commit,
// repeat. A run that is killed goes on from its last commit ([View.Resume]) and
// repeats no attempt whose outcome was committed. Given the same store, clock,
// seed and answers of the host's parts, a run repeats exactly.
//
// # Upkeep
//
// Memory that nobody uses is archived, and what says the same is merged, when
// the host says so: [Agent.Maintain] starts nothing that outlives it. Once a day
// is plenty, for each scope that was written to:
//
//	for range time.Tick(24 * time.Hour) {
//		report, err := agent.Maintain(ctx, scope)
//		…
//	}
//
// # Goals
//
// What should hold of the world, rather than be done once, is a goal of package
// reason/goap: [Agent.Keep] looks after goals, by the same workers, gates and
// rankings, and without a model.
//
// # Where things are
//
// Package memory holds what was learned, and finds it again; memory/identity
// what is known about a person or project; rank which worker to try; reason
// and act the host's interfaces; iar the reflection on every action; meta the
// monitor; learn the step from outcome to memory; store the key-value
// interface below them all; and redact what keeps secrets out. Each can be
// used without the loop, and Options reaches those within an Agent: its memory
// (an Embedder, for one), what is recalled, when a chunk fires, how workers
// are ranked. [Agent.In] is the Agent as one scope sees it: its memory, its runs,
// its rankings. [Agent.Health] reports whether memory helps.
//
// There is no server and no tool in arc, and nothing is read from the
// environment. A model decides by way of reason.NewLLM; the clients of
// providers are modules of their own, in contrib.
package arc

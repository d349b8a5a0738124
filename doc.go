// Package arc runs an agent that learns: reason, act, learn, watched by
// metacognition.
//
// The host provides a [reason.Reasoner] (a model behind a prompt, or plain code),
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
// For each objective the Agent recalls what was learned, and asks the reasoner for tasks.
// If a plan has delivered in this situation before, it is stored as a chunk, and fires
// instead of asking. The best-ranked worker attempts each task. A task counts as done only
// when its gates have passed it; a gate's complaint goes into the next attempt. The
// objective ends DELIVERED or BLOCKED, never with a guess. The Agent learns from each
// outcome: feedback on the memories that were used, a failure to avoid, a chunk to reuse,
// samples for the ranking.
//
// A host that plans by itself gives the plan as [Objective.Tasks], and needs no reasoner.
// The outcomes are learned in the same way.
//
// # State
//
// A run is a plain value that is committed after each step. A run that was killed is
// resumed from its last commit ([View.Resume]), and repeats no attempt whose outcome was
// committed. Given the same store, clock, seed and answers of the host's parts, a run
// repeats exactly.
//
// A run whose model, workers or gates are away waits until they are back: see [Agent.Run]
// and [Agent.ResumeDue].
//
// # Upkeep
//
// [Agent.Maintain] archives memories that are not used, and merges memories that say the
// same. It also finds what keeps failing, and proposes changes: to try a worker last, to
// archive a memory that misleads, or what a person can do about a skill. A proposal takes
// effect only when a person approves it, and can be undone:
//
//	up, err := agent.Maintain(ctx, scope)
//	for _, p := range up.Proposals {
//		fmt.Println(p.Reason, p.Advice, string(p.Change))
//	}
//	p, err := agent.In(scope).Approve(ctx, id, "ada", "it broke on Monday")
//
// An open Agent calls Maintain by itself, once a day for each scope that was written
// to; see Options.Maintain.
//
// # Goals
//
// A condition that should hold of the world at all times is a goal of package
// reason/goal. [Agent.Keep] keeps goals by means of the same workers, gates and rankings,
// without a model.
//
// # Where things are
//
// The packages, each of which can be used without the loop:
//
//   - memory: stores what was learned, and recalls it; memory/identity: facts about a
//     person or project
//   - rank: which worker to try
//   - reason, act: the interfaces of the host's parts; reason/goal: goals
//   - iar: the reflection on every action; meta: whether the work succeeds
//   - learn: turns an outcome into memories, chunks and samples
//   - store: the key-value interface that all are built on; redact: keeps secrets out
//
// Options configure the packages within an Agent: its memory (an Embedder, for example),
// what is recalled, when a chunk fires, how workers are ranked. [Agent.In] is the Agent
// as one scope sees it: its memory, its runs, its rankings. [Agent.Health] reports whether
// memory helps.
//
// The files of this package, from the entry points down:
//
//   - arc.go: Open, New, SetWorkers, Shutdown, and the checks of Options. run.go: Run,
//     Events, Think, and how a run begins or is resumed. view.go: the Agent as one scope
//     sees it, and what people say about its runs
//   - loop.go: the table of phases; the one place that steps, commits and reports events,
//     and how a run continues after a wait or an answer
//   - assess.go, recall.go, reason.go, assign.go, act.go, verify.go, learn.go,
//     end.go: a phase each, in the order in which a task meets them
//   - consult.go: workers that ask questions. facts.go: what the identity of a scope tells
//     a run. budget.go: what an attempt may cost
//   - agent.go: Host, Options, Event, what the Agent has of a tenant, and the turn that
//     phases work on
//   - state.go: the values: Objective, Budget, Status, and a run as it is stored.
//     report.go: a run as the host sees it
//   - records.go: the one place that reads and writes runs. list.go: lists of runs.
//     erase.go: deletes a scope's data. export.go: moves it to another store.
//     backup.go: copies a whole store
//   - forecast.go: which chunk would fire, and why none does
//   - upkeep.go: what an open Agent does in the background: runs that are due, Maintain,
//     and Retention. proposals.go: what Maintain proposes, and how that is applied.
//     replica.go: several Agents on one store
//   - watch.go: spans, measurements and logs. health.go: the Agent's health. goals.go:
//     goals kept by runs, and the workers as goals see them. jobs.go: objectives as jobs
//     of a queue
//
// Helpers that need no turn are in internal: the keys that list runs (register), files of a
// scope (portable, parcel, census), budgets that runs share (ledger), whose words a plan
// repeats (quoted, quote), and comparisons of plans (gist) and of what was stored with what
// is given (alike).
//
// arc contains no server and no tools, and reads nothing from the environment. A model
// decides through reason.NewLLM; the clients of providers are separate modules, in contrib.
package arc

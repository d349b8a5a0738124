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
// A run whose model, workers or gates are away waits, and goes on when they are
// back: see [Agent.Run] and [Agent.ResumeDue].
//
// # Upkeep
//
// [Agent.Maintain] archives memory that is not used and merges what says the
// same. It also looks what keeps failing, and proposes what should change: to try
// a worker last, to archive a memory that misleads, or what a person can do about
// a skill. Nothing of it is done before a person has said so, and it can be
// undone:
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
// What should hold of the world, rather than be done once, is a goal of package
// reason/goal: [Agent.Keep] looks after goals, by the same workers, gates and
// rankings, and without a model.
//
// # Where things are
//
// The packages, each of which can be used without the loop:
//
//   - memory: what was learned, and finding it again; memory/identity: what is
//     known about a person or project
//   - rank: which worker to try
//   - reason, act: the interfaces of the host; reason/goal: goals of the world
//   - iar: the reflection on every action; meta: is it working
//   - learn: from an outcome to memory
//   - store: the key-value interface below them all; redact: keeps secrets out
//
// Options reaches those within an Agent: its memory (an Embedder, for one), what
// is recalled, when a chunk fires, how workers are ranked. [Agent.In] is the
// Agent as one scope sees it: its memory, its runs, its rankings. [Agent.Health]
// reports whether memory helps.
//
// The files of this package, from the doors to the ground:
//
//   - arc.go: Open, New, SetWorkers, Shutdown, and Options as they are checked. run.go:
//     Run, Events, Think, and how a run begins or goes on. view.go: the Agent as one
//     scope sees it, and what people say of its runs
//   - loop.go: the table of phases; the one place that steps, commits and tells, and
//     how a run goes on after a wait or an answer
//   - assess.go, recall.go, reason.go, assign.go, act.go, verify.go, learn.go,
//     end.go: a phase each, in the order in which a task meets them
//   - consult.go: workers that have to know something. facts.go: what the identity of
//     a scope tells a run. budget.go: what an attempt may take
//   - agent.go: Host, Options, Event, what the Agent has of a tenant, and the turn that
//     phases work on
//   - state.go: the values: Objective, Budget, Status, and a run as it is stored.
//     report.go: a run as the host sees it
//   - records.go: the one place that reads and writes runs. list.go: runs as they are
//     listed. erase.go: all that a scope has, gone. export.go: all that it has, to
//     another store and in from there. backup.go: all scopes
//   - forecast.go: what would fire, and why not
//   - upkeep.go: what an open Agent does by itself: runs that are due, Maintain, and
//     Retention. proposals.go: what Maintain proposes, and how that is done.
//     replica.go: an Agent among others on its store
//   - watch.go: spans, measurements and logs. health.go: how the Agent is doing.
//     goals.go: goals kept by runs, and the workers as goals see them. jobs.go:
//     objectives as jobs of a queue
//
// What of this needs no turn stands in internal: the keys that list runs (register),
// files of a scope (portable, parcel, census), budgets that runs share (ledger), whose
// words a plan repeats (quoted, quote), what was kept compared with what is given
// (alike), and plans with one another (gist).
//
// There is no server and no tool in arc, and nothing is read from the
// environment. A model decides by way of reason.NewLLM; the clients of
// providers are modules of their own, in contrib.
package arc

// Package arc is a learning layer for agents, with the loop: what a check has passed is used again, what a
// check refused is warned of, and a run goes on where it was after a crash.
//
//	agent, err := arc.Open(ctx, "/var/lib/agent", arc.Host{
//		Reasoner: &reason.LLM{Model: model},
//		Workers:  []act.Worker{{Name: "shop", Executor: shop, Gates: []act.Gate{receipt}}},
//	}, nil)
//	…
//	report, err := agent.Run(ctx, arc.Objective{Text: "Refund the order.", Inputs: inputs})
//	fmt.Println(report.Text)
//
// # The loop
//
//	assess ─→ recall ─→ reason ─→ assign ─→ act ─→ verify ─→ learn ─→ end
//	             │ a plan fires     ↑                           │
//	             └──────────────────┴───── next task, again ────┘
//
// Each phase returns the next (phases.go). The run is committed before the reasoner is asked, before a worker
// is called, and when it ends, asks or waits (turn.go); what a step has taught is in the same commit. A step
// that fails changes nothing.
//
// A task that did not pass is tried again by the same worker with the complaint, then by another worker, then
// by another plan. An outage spends no attempt: another worker takes what is not begun, or the run waits. A
// person is asked where a worker's mode says so, and where the reasoner or a worker has questions. A call
// that is no Step and not irreversible may be made twice: after a crash, or where another process goes on.
//
// # Where things are
//
// Package act makes attempts, reason decides, learn and memory keep what was learned, rank has the workers'
// figures, meta assesses sessions, store keeps it all. This package has the order in which they are used. Its
// files have the names of what they declare, but for:
//
//	run.go        Run, Events, Think; who may go on with a run
//	phases.go     the loop: from phase to phase, and what each does
//	turn.go       a run under way: what a step stages, and its commit
//	tenant.go     the parts of a tenant: memory, ranking, the layer
//	retention.go  Delete, Erase, Maintain
//	state.go, records.go  what is stored of a run
package arc

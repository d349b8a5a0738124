// Package goal keeps goals of the world: it decides from what was read, not from text, which goals are
// violated, and has the worker called whose effect it is to mend them. No model is asked.
//
// A [World] has what is known, by domain: readings of collectors, and what workers report to have changed
// (act.Result's Deltas). [Goals] say what should hold of it. A [Keeper] begins a run of an arc.Agent for each
// goal that is violated, under the session "goal/ID":
//
//	world := goal.NewWorld("acme", nil)
//	err = world.Collect("ci", readCI, time.Minute, 0)
//	agent, err := arc.New(ctx, st, host, &arc.Options{Scope: "acme", OnEvent: world.OnEvent})
//	goals := new(goal.Goals)
//	err = goals.Load(document)
//	keeper, err := goal.Open(store.NewGroup(store.Sub(st, "t/acme/")), agent, world, goals, nil, nil)
//	keeper.Keep(ctx, 0, nil)
//
// # Who is called
//
// Those workers are asked that list an effect (act.Worker's Effects) on the goal's value, or on one above or
// below it, that does not move it the wrong way: no "inc" by -1 where it is too low, no "set" to what is not
// wanted. Of several the policy of package rank says who is first. A worker with Skills gets the task under
// the first of them. The Data of its Call says which value is off: {"goal", "selector", "actual"}, all texts.
// Its Mode and Blast say whether a person is asked. A worker's failure has it tried once more, then the
// host's Reasoner plans, if there is one; no other worker is called for it unasked.
//
// # When
//
// A goal is acted on where a reading shows that it is violated. What was never read, or too long ago, is
// unknown. One run at a time is under way for it, and for those about the same value. After a delivery it is
// left alone for its cooldown; then the next reading judges the run, and corrects the figures of its worker:
// a success of which nothing shows is a failure. It is acted on again once it was read anew. A worker that
// has failed at it three times in five minutes rests for ten, and so does one that was refused, or is not
// there. A run that waits for a person is canceled once the goal is met without it, and where the goal wants
// something else now, is disabled or deleted; one that is at work ends, and no reading judges it. Who deletes
// a goal while no Keeper has it open disables it first: nobody else knows of its run.
//
// A remedy that does not help is tried again without end, some 500 times a day, and so are those of two goals
// that undo each other: a longer cooldown, or a worker with a Mode that asks a person, bounds that.
//
// # Domains of the Agent
//
// A Keeper reads the figures of the last 24 hours as domains.agent_fleet_health.data: maxFailureRate1h,
// totalCostUsd1d, orphanedSkillCount; agents, a list, and the same as byName, each with agentName,
// successRate, totalOutcomes, failureRate1h, p50LatencyMs, p95LatencyMs, costPerSuccessfulOutcome,
// totalCostUsd and recentFailures; and skills, by name, with the successRate and totalOutcomes of today.
// domains.memory_health.data has healthy, searchWorking, error, memories, quarantined, helped and misled.
//
// # Where things are
//
// Begin with Tick (keeper.go): it reads what is due, and takes each goal through settle (what became of its
// last run) and mend (who is to act now). goal.go says what a goal is and how it stands, world.go what is
// known, health.go the domains of the Agent. A Tick waits for no run: what a run has done is read later.
//
// # What is kept
//
// The store has a record for each goal: what is in flight, what rests, and which run is to be judged. A new
// process goes on with what another has left, and one of several dispatches a goal. The World is not kept.
package goal

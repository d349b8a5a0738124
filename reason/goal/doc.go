// Package goal keeps goals of the world: it decides from what was read, not from text, which goals are
// violated, and has the worker called whose effect it is to mend them. No model is asked.
//
// A [World] has what is known, by domain: readings of collectors, and what workers report to have changed
// (act.Result's Deltas). [Goals] say what should hold of it. A [Keeper] begins a run of an arc.Agent for each
// goal that is violated, under the session "goal/ID". The example has all three.
//
// # Who is called
//
// Those workers are asked that list an effect (act.Worker's Effects) on the goal's value, or on one above or
// below it, that does not move it the wrong way: no "inc" by -1 where it is too low, no "set" to what is not
// wanted. Of several the policy of package rank says who is first. A worker with Skills gets the task under
// the first of them. The Data of its Call says which value is off: {"goal", "selector", "actual"}, all texts.
// Its Mode and Blast say whether a person is asked. A worker's failure has it tried once more, then the
// host's Reasoner plans, if there is one; no other worker is called for it unasked. No learned plan fires.
//
// # When
//
// A goal is acted on where two readings in a row show that it is violated, so one that is false acts on none:
// the cadence of its domain is what a goal waits, and what a host has Set once is not acted on. All that are
// violated are acted on at once. What was never read, or too long ago, is unknown, which ends no row of
// readings; one is as old as its call, so a collector that gets an old figure returns an error. One run at a
// time is under way for a goal, and for those about the same value. After a delivery it is left alone for its
// cooldown; then the next reading judges the run, unless a person has, and corrects the figures of its
// worker: a success of which nothing shows is a failure. Once it was read anew another run acts on it, in
// which what is Irreversible may be done again. A worker that has failed at it three times in five minutes
// rests for ten, and so does one without a permission, or that is not there; each further rest is twice as
// long, up to four hours, until it has helped: what does not help is tried some 20 times a day. Two goals
// that undo each other act some 360 times each: a longer cooldown, or a Gated worker, bounds that.
//
// A person's no, veto or cancel holds for all workers: until two readings in a row say that the goal is met, it
// wants something else (also enabled: false, and back), or arc.View.Retry has that run go on. Silence on what
// may have been done already is such a no; any other, also of the second person of Compound, and what failed
// for a permission after a yes, holds for a day. Once the day's budget is spent, by whatever goal, one waits
// for the next day (UTC): for a critical goal have a worker that costs nothing. A run that waits for a person
// is canceled once the goal is met without it, and where the goal wants something else now, is disabled or
// deleted; one that is at work ends, and no reading judges it. Two Keepers of a scope with two documents so
// end each other's runs, of which Tick's error tells. Who deletes a goal while no Keeper has it open disables
// it first: nobody else knows of its run.
//
// # Domains of the Agent
//
// A Keeper reads the figures of the last 24 hours as domains.agent_fleet_health.data: maxFailureRate1h,
// totalCostUsd1d, orphanedSkillCount; agents, a list, and the same as byName, each with agentName,
// successRate, totalOutcomes, failureRate1h, p50LatencyMs, p95LatencyMs, totalCostUsd, recentFailures and
// costPerSuccessfulOutcome (without a success, what was spent); and skills, by name, with the successRate and
// totalOutcomes of today. domains.memory_health.data has healthy, searchWorking, error, memories,
// quarantined, helped and misled.
//
// Where nobody looks, let no worker of a goal be Irreversible or Gated: one that was killed in its call waits
// for a person then, and so does the goal. Have calls that may be made again.
//
// # Where things are
//
// The store has a record for each goal: what is in flight, what rests, and which run is to be judged. A new
// process goes on with what another has left, and one of several dispatches a goal. The World is not kept.
//
// Begin with Tick (keeper.go): it reads what is due, and takes each goal through settle (what became of its
// last run) and mend (who is to act now). goal.go says what a goal is and how it stands, world.go what is
// known, health.go the domains of the Agent. A Tick waits for no run: what a run has done is read later.
package goal

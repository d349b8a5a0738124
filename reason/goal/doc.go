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
//   - Two readings in a row have to show that a goal is violated, so one that is wrong acts on none, nor does
//     what a host has Set once. What was never read, or too long ago, is unknown, which does not end a row. A
//     reading is as old as its call: a collector that gets an old figure returns an error.
//   - All violated goals are acted on at once, by one run at a time for a goal and for those about one value.
//   - After a delivery the goal is left alone for its cooldown. Then the next reading judges the run, unless
//     a person has, and corrects its worker's figures: a success that does not show is a failure. If the goal
//     is violated still, another run acts on it, in which what is Irreversible may be done again.
//   - A worker rests for ten minutes after three failures at a goal in five, and where it lacks a permission
//     or is not there; each further rest is twice as long, up to four hours, until it has helped. So what
//     does not help is tried some 20 times a day. Two goals that undo each other act some 360 times each: a
//     longer cooldown, or a Gated worker, bounds that.
//   - When the day's budget is spent, all wait for the next day (UTC): give a critical goal a worker without
//     cost.
//   - A person's no, veto or cancel holds, for all workers, until two readings in a row say that the goal is
//     met, it wants something else (also enabled: false, and back), or arc.View.Retry has that run go on. So
//     does silence on what may have been done already. Other silence, also of Compound's second person, and
//     what failed for a permission after a yes, hold for a day.
//   - A run that waits for a person is canceled once the goal is met, wants something else, is disabled or
//     deleted. One that is at work then ends, and no reading judges it. So two Keepers of a scope with
//     different goals end each other's runs, as Tick's error tells. If you delete a goal while no Keeper has
//     it open, disable it first: nobody else knows of its run.
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
// The store has a record for each goal: what is in flight, what rests, and which run is to be judged. A new
// process goes on with what another has left, and one of several dispatches a goal. The World is not kept.
package goal

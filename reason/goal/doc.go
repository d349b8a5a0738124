// Package goal decides from the state of the world, not from text: which goals
// are violated, and which actions would mend them. No model is asked.
//
// A [World] holds what was last read about each domain, such as "ci" or
// "disk". It is filled by [World.Set], by collectors that [World.Poll] runs
// when they are due, and by what workers report as changed ([World.Apply]).
// What an action is expected to change can be assumed until it is read
// ([World.Expect]) and taken back by its key ([World.Rollback]).
//
//	w := goal.NewWorld(nil)
//	err := w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: now})
//
// A [State] is an unchanging view of the world at one time. A value in it is
// named by a selector:
//
//	domains.ci.data.failing
//	domains.fleet.data.agents["gpt-4.1"].successRate
//	domains.ci.data.jobs.0.name
//
// which is "domains", the domain, "data", and the keys within what was read;
// the same value as a [reason.Effect] is {Domain: "ci", Path: "data.failing"}.
// A value is known or unknown, and nothing is known that was never read, that
// could not be read for too long, or that is not there: a source that is down
// looks like no failure of what it watches.
//
// A [Goal] is a [Condition] on a state: a [Threshold], an [Invariant] or a
// [Distribution] of the value under a selector. [Goal.Evaluate] says whether it
// is met, violated or unknown, and why in words. [ParseGoals] reads goals from
// YAML and reports all that is wrong with them, by line; [Goals] holds a set
// that can be replaced while it is read, and keeps the last good one.
//
// An [Action] is what can be done: when ([Condition] values on the state), what
// it changes ([Change]), and at what cost. [Plan] finds the cheapest course of
// actions that meets a goal.
//
// # Keeping goals
//
// A [Controller] does something about it: at every [Controller.Tick] it has the
// courses for violated goals carried out by a [Dispatcher], of what a [Catalog]
// says can be done, and keeps one [Outcome] of each. arc.Agent.Keep makes one
// whose dispatches are runs of the agent.
//
//	c, err := agent.Keep(ctx, w, goals, nil)
//	err = c.Run(ctx)
//
// Whether a goal is acted upon is decided by what was read: not on what is
// unknown (unless the goal says so) or merely expected, never twice at a time, not before the effects of
// the last dispatch could show and the world was read anew, and not for a while
// after an action has failed too often, a success of which nothing shows
// included.
//
// What is not here: which of several workers does it is a matter of package
// rank, and that it is done and verified of package act.
//
// All types are safe for concurrent use unless their comment says otherwise.
package goal

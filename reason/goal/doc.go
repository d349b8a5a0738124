// Package goal keeps goals of the world. It decides from the state of the world,
// not from text: which goals are violated, and which actions would mend them. No
// model is asked.
//
// A [World] holds what was last read about each domain, such as "ci" or "disk".
// [World.Set] fills it, and so do the collectors that [World.Poll] calls when they
// are due. A selector names a value in it:
//
//	domains.ci.data.failing
//	domains.fleet.data.agents["gpt-4.1"].successRate
//	domains.ci.data.jobs.0.name
//
// that is "domains", the domain, "data", and the keys within what was read. As a
// [reason.Effect] the first one is {Domain: "ci", Path: "data.failing"}. A value is
// unknown if it was never read, could not be read for too long, or is not there: a
// source that is down looks like no failure of what it watches.
//
// A [Goal] is a [Condition] on a value: a threshold, an invariant or a
// distribution. [Goal.Evaluate] says whether it is met, violated or unknown, and
// why in words. [Goals] is a set of them, which [Goals.Load] replaces from YAML
// while it is in use.
//
//	w := new(goal.World)
//	err := w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: now})
//	green := goal.Goal{ID: "ci.green", Condition: goal.Condition{Selector: "domains.ci.data.failing", Max: new(0.0)}}
//	fmt.Println(green.Evaluate(w, now).Reason) // domains.ci.data.failing is 3, not at most 0
//
// # Keeping goals
//
// A [Controller] does something about it. At every [Controller.Tick] it has a
// [Runner] carry out the cheapest course of actions for each violated goal, of what
// a [Catalog] says can be done, and keeps one [Outcome] of each dispatch.
// arc.Agent.Keep makes a Controller whose dispatches are runs of the agent.
//
//	c, err := agent.Keep(ctx, w, goals, nil)
//	err = c.Run(ctx)
//
// A goal is acted upon by what was read or reported, never by what an action promises.
// It is not acted upon while it is unknown, unless the goal says so. It is acted upon
// once at a time, and again when the effects of the last dispatch had time to show and
// the world was read anew; goals whose values a dispatch changes wait with it. An
// action that has failed three times in five minutes rests for ten, and a success of
// which nothing shows in the next reading is a failure. Of two goals that undo each other
// the less severe one is left alone.
//
// # Persistence
//
// The store holds one entry for each dispatch: open from its admission until its
// outcome replaces it. All else about a dispatch is in its run, which the Runner
// keeps under the dispatch's ID. After a crash the Controller resumes the runs of
// open entries. The world is not kept.
//
// Which of several workers does it is a matter of package rank, and that it is done
// and verified of package act.
//
// All types are safe for concurrent use unless their comment says otherwise.
package goal

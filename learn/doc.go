// Package learn turns what happened into what is remembered.
//
// A [Learner] recalls memories for a goal ([Learner.Recall]), says when one of
// them is a chunk that can act without deliberation ([Learner.Fire]), and
// takes in each [Outcome] ([Learner.Learn]): a sample for the ranking, an
// outcome for the monitor, feedback on the memories that were injected, a
// failure to remember when a goal is BLOCKED, and a chunk when one is
// DELIVERED. A goal is here what a run is after: its objective, or a subgoal.
// Goals of the world are those of reason/goal.
//
//	hits, withheld, err := l.Recall(ctx, learn.Ask{GoalKey: "run-7", Scope: scope, Situation: "tests fail: nil map", …})
//	if chunk, ok := l.Fire(hits, "tests fail: nil map", objective, nil); ok {
//		// run chunk.Tasks, through the gates
//	}
//	lessons, err := l.Learn(ctx, learn.Outcome{Key: "run-7/1", Worker: "fixer", Passed: true, …})
//
// With Options.Holdout the Learner withholds the memories of a share of goals,
// by chance. [Learner.Uplift] then says by how much memory helps, with an
// interval that holds at every look.
//
// Learn is idempotent: after a crash the same outcome may be given again and
// counts once.
//
// [Learner.Maintain] archives unused memories and merges near-duplicates when
// the host calls it; once a day is plenty. No part of it runs by itself.
//
// A chunk is a Pattern memory with a plan: the situation, the approach, and
// the tasks that passed their gates. The name and the idea are Soar's
// (Laird, Rosenbloom & Newell 1986): deliberation that succeeded is compiled
// into a rule, which fires the next time without deliberating. Three chunks of
// one shape become one with variables, which fires for cases never seen.
package learn

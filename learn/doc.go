// Package learn turns outcomes into memories, chunks and samples.
//
// A [Learner] recalls memories for a goal ([Learner.Recall]), and reports when one of them is a
// chunk that can act without deliberation ([Fire]). From each [Outcome] ([Learner.Learn]) it makes
// a sample for the ranking, an outcome for the monitor, and feedback on the memories that were
// injected; it remembers a failure when a goal is BLOCKED, and a chunk when one is DELIVERED. A
// goal is here the objective of a run, or a subgoal. Goals of the world are those of package
// reason/goal.
//
//	ask := learn.Ask{GoalKey: "run-7", Scope: scope, Situation: "tests fail: nil map", …}
//	found, err := l.Recall(ctx, ask)
//	if chunk, ok := learn.Fire(l.Match(found.Hits, ask), nil); ok {
//		// run chunk.Tasks, through the gates
//	}
//	lessons, err := l.Learn(ctx, learn.Outcome{Key: "run-7/1", Worker: "fixer", Passed: true, …})
//
// With Options.Holdout the Learner withholds the memories of a random share of goals.
// [Learner.Uplift] then estimates how much memory helps, with an interval that is valid each time
// a caller looks.
//
// Learn is idempotent: after a crash a caller can give the same outcome again, and it counts once.
//
// [Learner.Maintain] archives unused memories and merges near-duplicates when the host calls it;
// once a day is enough. Nothing in this package runs by itself.
//
// # Chunks
//
// A chunk is a Pattern memory with a plan: the tasks that passed their gates, and the conditions
// under which they are run again. The name and the idea are Soar's (Laird, Rosenbloom & Newell
// 1986): deliberation that has succeeded is compiled into a rule, whose conditions are what the
// decision depended on. A chunk fires without deliberation if all of these hold:
//
//   - The scope, the host's conditions ([Case.Conditions]) and, for a subgoal, the goals above it
//     are the same.
//   - The situation has the same words in the same order, or the objective if the host names no
//     situation. The comparison ignores the case of plain words, white space, sentence punctuation
//     between words, articles in lower case before a word, and "please" at either end. It ignores
//     nothing inside a word.
//   - The inputs have the same names and types. The values that the plan quotes are bound anew, each
//     with its own type. The others are equal, unless the host names the situation and so vouches
//     that they did not decide; booleans that the plan does not quote are equal even then.
//   - No value of the old case that differs is left in the plan: inside an identifier, as the value
//     of two inputs, or as one that only the words of the objective tell.
//   - The memories from which the plan was made still hold: those that the reasoner has named or
//     repeated, and facts with which it shares a word that the case does not have. None of them is
//     forgotten; no fact among them is archived or replaced.
//   - The facts about the person or project from which the plan was made in this way are told again
//     ([Case.Facts]).
//   - The host's sources and manuals say the same as once when the reasoner made the plan
//     ([Chunk.Said]). The loop checks this.
//   - There is no news: no trusted lesson that is recalled or shares a word with plan or case, and
//     no such fact, which a host or a person has recorded or vouched for since the reasoner last
//     made the plan. If the reasoner makes the same plan knowing the news, the chunk fires again.
//     What runs have taught, and episodes, are no news. News that shares no word may matter too («the
//     release freeze has begun»): the reasoner is told of the first at once, and then of more after
//     every four times that the plan has fired.
//
// Similarity never makes a chunk fire: a case that is merely similar gets the plan as a suggestion,
// with the differences ([Learner.Match]). Three chunks of one shape become one with variables in
// place of the words in which they differ, if these words stand in all three plans at the same
// places. A plan that was made with a person's answer, or with what its run had delivered before,
// never fires for another run. Plans that an earlier version has stored have no conditions: they
// never fire, and are suggested.
package learn

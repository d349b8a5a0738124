// Package learn turns what happened into what is remembered.
//
// A [Learner] recalls memories for a goal ([Learner.Recall]), says when one of
// them is a chunk that can act without deliberation ([Fire]), and
// takes in each [Outcome] ([Learner.Learn]): a sample for the ranking, an
// outcome for the monitor, feedback on the memories that were injected, a
// failure to remember when a goal is BLOCKED, and a chunk when one is
// DELIVERED. A goal is here what a run is after: its objective, or a subgoal.
// Goals of the world are those of reason/goal.
//
//	ask := learn.Ask{GoalKey: "run-7", Scope: scope, Situation: "tests fail: nil map", …}
//	found, err := l.Recall(ctx, ask)
//	if chunk, ok := learn.Fire(l.Match(found.Hits, ask), nil); ok {
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
// # Chunks
//
// A chunk is a Pattern memory with a plan: the tasks that passed their gates, and
// the conditions under which they are run again. The name and the idea are Soar's
// (Laird, Rosenbloom & Newell 1986): deliberation that succeeded is compiled into a
// rule, whose conditions are what the decision depended on. It fires without
// deliberating where all of them hold:
//
//   - the scope, the conditions that the host has declared ([Case.Conditions]), and
//     the goals that a subgoal serves are the same;
//   - the situation has the same words in the same order. Folded are the case of
//     plain words, white space, sentence punctuation between words, articles in lower
//     case before a word, and "please" at either end; nothing inside of a word. Where
//     the host names no situation, it is the objective that counts;
//   - the inputs have the same names and types. Those that the plan quotes are bound
//     anew, each as a value of its own type; those that it does not quote are the same
//     as well, unless the host names the situation: it vouches that they did not decide.
//     A boolean that it does not quote is the same even then;
//   - no value of the old case that differs is left in the plan: one that stands inside
//     of an identifier, that two inputs had, or that only the objective's words tell;
//   - the memories that the plan was drawn from hold: those that the reasoner has named or
//     repeated, and facts that it shares a word with that the case does not have. None is
//     forgotten; no fact is put aside, or has another in its place;
//   - the facts of the person or project that the plan was drawn from in the same way are
//     told again ([Case.Facts]);
//   - the sources and manuals of the host say what they said once when the reasoner made the
//     plan ([Chunk.Said]); that is the loop's to ask;
//   - nothing new is told: no trusted lesson that is recalled or shares a word with plan or
//     case, and no such fact, which a host or a person has recorded, or vouched for, since the
//     reasoner made the plan last. Where it makes the same plan knowing that, it fires again. What runs have
//     taught, and episodes, are no news. What shares no word with it may be about it all the same («the
//     release freeze has begun»): the reasoner is told of that at once, and then of more after every
//     four times that the plan has fired.
//
// How alike two cases are never makes a chunk fire: a similar case gets the plan as a
// suggestion, with what differs ([Learner.Match]). Three chunks of one shape become
// one with variables in place of the words in which they differ, if these stand in
// all three plans at the same places. A plan that was made with a human's answer, or
// with what its run had delivered before, is for that run alone. Plans that an earlier
// version has stored have no conditions: they never fire, and are suggested.
package learn

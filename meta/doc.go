// Package meta watches whether an agent's work is working, and says when to
// change the approach.
//
// An [Outcome] is how one task of a session ended, an [Assessment] is what the
// outcomes of a session add up to: a state, a recommendation, and the
// evidence for it. The [Monitor] keeps the one and gives the other.
//
//	m, err := meta.Open(ctx, st, nil)
//	defer m.Close()
//	err = m.Record(ctx, meta.Outcome{
//		Key:      "run-7/step-2",
//		Session:  "s1",
//		Goal:     "make the tests pass",
//		Approach: "edit the generated file",
//	})
//	a, err := m.Assess(ctx, "s1")
//	if a.Recommendation == meta.PivotNow {
//		fmt.Println(a.Evidence)
//	}
//
// Beside the sessions stand the workers ([NewFleet] computes their health from
// the ranking's samples), what keeps failing over a window ([Analyse] raises
// alerts), changes that would mend it ([Proposals]: they need evidence and a
// person's approval), and experiments ([Monitor.RecordEpisode]: what a treatment
// such as memory adds, with an interval).
//
// All types are safe for concurrent use. Outcomes are in memory at once and
// in the store with the next group of writes. A store holds one monitor, and
// one Monitor at a time may have it open.
//
// What is not here: the package changes nothing by itself. Whether a pivot is
// made, offered or ignored is the caller's to say.
package meta

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
//	if a.Pivot {
//		fmt.Println(a.Evidence)
//	}
//
// [Assessment.With] adds what a run tells of itself before it has an outcome: how
// its resonance goes, what it has spent, and whether its attempts go in a circle.
//
// Two things stand beside the sessions. An [Ending] is how an objective of a scope
// ended, for later ones to be told. An [Episode] is one draw of an experiment, and
// [Monitor.Uplift] says with an interval what a treatment such as memory adds.
//
// A Monitor is safe for concurrent use. Outcomes are in memory at once and in the
// store with the next group of writes. A store holds one monitor, and one Monitor
// at a time may have it open.
//
// The package changes nothing by itself: the caller makes, offers or ignores a
// pivot. What a person should decide about is a proposal, of package meta/proposal.
// How workers did over a day is in package meta/fleet.
package meta

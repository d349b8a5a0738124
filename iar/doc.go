// Package iar is the Integrated Action Reflection: what an action says about
// itself when it is done, and what a run of such statements shows.
//
// A [Reflection] is a status, a confidence, a summary, potential issues and an
// alignment with the task. A [Validator] checks one, as JSON or as a value,
// and computes its resonance, one number in [0,1]. A [Tracker] keeps the
// resonance of recent actions, and [Findings] says where a series of resonances
// is low, declines or alternates. A [Calibration] holds reported confidence
// against verified outcomes.
//
//	var v iar.Validator
//	res := v.Structure(raw)
//	if !res.Valid {
//		return fmt.Errorf("reflection: %v", res.Issues)
//	}
//	t := iar.NewTracker(nil)
//	t.Record("attach panel A", res.Reflection)
//	for _, f := range t.Issues() {
//		log.Print(f.Kind, ": ", f.Text)
//	}
//
// The form and the rules are those of the IARValidator and ResonanceTracker of
// ResonantiA, with the result kept in [0,1] and a trend test where that had
// «any drop».
//
// A Validator and a Tracker are safe for concurrent use. The package stores
// nothing: [Tracker.Entries] saves a Tracker and [NewTracker] restores it. It does
// not judge whether the action did what it says: a reflection is a claim, and
// gates verify it.
package iar

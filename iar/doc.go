// Package iar is the Integrated Action Reflection: what an action says about
// itself when it is done, and what a run of such statements shows.
//
// A [Reflection] is a status, a confidence, a summary, potential issues and an
// alignment with the task. A [Validator] checks one, as JSON or as a value,
// and computes its resonance, one number in [0,1]. A [Tracker] keeps the
// resonance of recent actions and finds low values, decline and alternation. A
// [Calibration] holds reported confidence against verified outcomes, and says
// what a confidence is worth. [Reflect] wraps actions that know nothing of all
// this.
//
//	var v iar.Validator
//	r, res := v.Parse(raw)
//	if !res.Valid {
//		return fmt.Errorf("reflection: %v", res.Issues)
//	}
//	t := iar.NewTracker(nil)
//	t.Record("attach panel A", r)
//	for _, f := range t.Issues() {
//		log.Print(f.Kind, ": ", f.Text)
//	}
//
// The form and the rules are those of the IARValidator and ResonanceTracker of
// ResonantiA, with the result kept in [0,1] and a trend test where that had
// «any drop».
//
// A Validator and a Tracker are safe for concurrent use. Nothing here is
// stored: a Tracker is saved through [Tracker.Entries] and restored through
// [Options]. What is not there: a judgement whether the action did what it
// says; a reflection is a claim, and verifying it is up to gates.
package iar

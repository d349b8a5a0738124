package iar_test

import (
	"fmt"

	"github.com/arc-learn/arc/iar"
)

func ExampleValidator_Structure() {
	var v iar.Validator
	res := v.Structure([]byte(`{"status":"Warning","confidence":0.75,"summary":"Component B is short.","potential_issues":["May vibrate."],"alignment_check":{"objective":true,"scope":"partly"}}`))
	fmt.Println(res.Reflection.Status, res.Valid, res.Confidence, res.Resonance, string(res.Reflection.Aside))

	res = v.Structure([]byte(`{"status":"Done","confidence":"high","summary":"s","potential_issues":[]}`))
	for _, i := range res.Issues {
		fmt.Println(i.Field+":", i.Text)
	}
	// Output:
	// Warning true 0.75 0.775 {"scope":"partly"}
	// status: invalid status "Done": it is Success, Failure, Warning or Skipped
	// confidence: invalid type for field confidence: want a number
	// alignment_check: missing required field: alignment_check
}

func ExampleValidator_Content() {
	var v iar.Validator
	var res iar.Result = v.Content(iar.Reflection{
		Status: iar.Success, Confidence: 0.9, Summary: "Connect wire C to port D",
		PotentialIssues: []string{"Port D is blocked."},
	}, iar.Context{Task: "Connect wire C to port D."})
	fmt.Println(res.Valid)
	for _, i := range res.Issues {
		fmt.Println(i.Text)
	}
	// Output:
	// true
	// a success lists a blocker: "Port D is blocked."
	// the summary only repeats the task
}

func ExampleTracker() {
	var t *iar.Tracker = iar.NewTracker(nil) // keeps the last 256
	t.Record("panel A", iar.Reflection{Status: iar.Success, Confidence: 0.98})
	t.Record("component B", iar.Reflection{Status: iar.Warning, Confidence: 0.85, PotentialIssues: []string{"May vibrate."}})
	t.Record("wire C", iar.Reflection{Status: iar.Failure, Confidence: 0.1})
	fmt.Printf("%.2f\n", t.Trend(5))
	for _, f := range t.Issues() {
		fmt.Println(f.Kind+":", f.Text)
	}
	var s iar.Summary = t.Summary()
	fmt.Printf("%d records, mean %.2f\n", s.Total, s.Mean)

	restored := iar.NewTracker(t.Entries())
	fmt.Println(restored.Summary().Total)
	// Output:
	// [0.98 0.75 0.10]
	// low_resonance: 1 of the last 3 below 0.70, the lowest 0.10
	// resonance_degradation: falling over the last 3, from 0.98 to 0.10
	// 3 records, mean 0.61
	// 3
}

func ExampleCalibration() {
	var c iar.Calibration
	for i := range 10 {
		if err := c.Add(0.85, i < 6); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("Brier %.3f, ECE %.2f\n", c.Brier(), c.ECE())
	for _, b := range c.Bins {
		if n := float64(b.Count); n > 0 {
			fmt.Printf("said %.2f, was %.2f of %d\n", b.Confidence/n, float64(b.Successes)/n, b.Count)
		}
	}
	// Output:
	// Brier 0.302, ECE 0.25
	// said 0.85, was 0.60 of 10
}

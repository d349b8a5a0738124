package arc

import (
	"slices"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
)

// cleanDecision takes the secrets out of the texts of a decision.
func cleanDecision(san *redact.Sanitizer, d *reason.Decision) {
	d.Approach, d.Reasoning = san.Sanitize(d.Approach), san.Sanitize(d.Reasoning)
	d.Tasks = cleanTasks(san, d.Tasks)
	d.Questions = slices.Clone(d.Questions)
	for i, q := range d.Questions {
		d.Questions[i] = san.Sanitize(q)
	}
	if d.Impasse != nil {
		imp := *d.Impasse
		imp.Reason, imp.Subgoal = san.Sanitize(imp.Reason), san.Sanitize(imp.Subgoal)
		d.Impasse = &imp
	}
}

// cleanTasks returns a copy of the tasks without secrets.
func cleanTasks(san *redact.Sanitizer, tasks []reason.Task) []reason.Task {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		k := &tasks[i]
		k.Objective, k.Delta, k.Verify = san.Sanitize(k.Objective), san.Sanitize(k.Delta), san.Sanitize(k.Verify)
		k.Inputs = san.JSON(slices.Clone(k.Inputs))
		if k.Effect != nil {
			e := *k.Effect
			k.Effect = &e
		}
	}
	return tasks
}

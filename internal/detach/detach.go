// Package detach copies values that pass between arc and a host's part, so that neither can change the other's.
package detach

import (
	"slices"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Decision replaces what a decision shares with its reasoner by copies.
func Decision(d *reason.Decision) {
	d.Tasks, d.Alternatives = Tasks(d.Tasks), slices.Clone(d.Alternatives)
	for i := range d.Alternatives {
		d.Alternatives[i].Tasks = Tasks(d.Alternatives[i].Tasks)
	}
	d.Preferences, d.Questions = slices.Clone(d.Preferences), slices.Clone(d.Questions)
	d.Applied, d.Quotes = slices.Clone(d.Applied), slices.Clone(d.Quotes)
	if d.Impasse != nil {
		d.Impasse = new(*d.Impasse)
	}
}

// Tasks returns a deep copy of tasks.
func Tasks(tasks []reason.Task) []reason.Task {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		Task(&tasks[i])
	}
	return tasks
}

// Task replaces what a task shares with others by copies.
func Task(k *reason.Task) {
	if k.Inputs = slices.Clone(k.Inputs); k.Effect != nil {
		k.Effect = new(*k.Effect)
	}
}

// Deliveries returns a deep copy of deliveries.
func Deliveries(ds []act.Delivery) []act.Delivery {
	ds = slices.Clone(ds)
	Parts(ds)
	return ds
}

// Parts replaces what deliveries share with others by copies, in place.
func Parts(ds []act.Delivery) {
	for i := range ds {
		d := &ds[i]
		Task(&d.Task)
		d.Output, d.Deltas = slices.Clone(d.Output), slices.Clone(d.Deltas)
		for j := range d.Deltas {
			d.Deltas[j].Value = slices.Clone(d.Deltas[j].Value)
		}
	}
}

// Hits returns a deep copy of hits.
func Hits(hits []memory.Hit) []memory.Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		h := &hits[i]
		h.Record, h.Conflicts = h.Record.Clone(), slices.Clone(h.Conflicts)
		if h.Superseded != nil {
			h.Superseded = new(h.Superseded.Clone())
		}
	}
	return hits
}

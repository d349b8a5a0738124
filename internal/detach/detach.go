// Package detach copies what a part of the host has given, or is given, and might change.
package detach

import (
	"slices"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Decision has a decision share nothing with its reasoner.
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

// Tasks copies tasks.
func Tasks(tasks []reason.Task) []reason.Task {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		Task(&tasks[i])
	}
	return tasks
}

// Task has a task share nothing with others.
func Task(k *reason.Task) {
	if k.Inputs = slices.Clone(k.Inputs); k.Effect != nil {
		k.Effect = new(*k.Effect)
	}
}

// Deliveries copies deliveries.
func Deliveries(ds []act.Delivery) []act.Delivery {
	ds = slices.Clone(ds)
	Parts(ds)
	return ds
}

// Parts has deliveries, in place, share nothing with others.
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

// Hits copies hits with their records.
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

package arc

import (
	"encoding/json"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/quote"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// attribute takes down whose words a decision is made of, and which memories it
// was drawn from: those that it names, and those that it quotes. It adds to what
// earlier decisions for the aim have quoted, since failures and complaints may
// repeat that.
func (t *turn) attribute(b *reason.Brief, d *reason.Decision) {
	var few [16]string
	g, plan := t.s.aim(), quote.New(d.Texts(few[:0])...)
	defer plan.Done()
	if len(g.Quotes) == 0 {
		g.Quotes = byModel
	}
	whose := byModel
	for _, s := range d.Quotes {
		whose = append(whose, credited(s))
	}
	from := g.applied(d.Applied)
	ownTexts(plan, b, &t.s.Objective)
	for i := range b.Facts {
		if r := &b.Facts[i].Record; !r.Trusted && slices.Contains(g.Used, r.ID) {
			whose = append(whose, r.Source) // the plan rests on it, even where it quotes nothing
		}
	}
	for _, known := range [...]bool{true, false} { // what is known first: it may be quoted
		for _, hits := range [...][]memory.Hit{b.Memories, b.Background, b.Facts} {
			for i := range hits {
				r := &hits[i].Record
				trigger, content, free := learn.Quotable(r)
				if known != free || !plan.Quotes(trigger, content) {
					continue
				}
				if from = append(from, g.applied([]memory.ID{r.ID})...); free {
					plan.Own(trigger, content)
				} else {
					whose = append(append(whose, r.Quotes...), r.Source)
				}
			}
		}
	}
	t.a.others(b, func(s memory.Source, text string) {
		if plan.Quotes(text) {
			whose = append(whose, s)
		}
	})
	g.Quotes, g.Parents = union(g.Quotes, whose), union(g.Parents, from)
}

// byModel is who has worded any decision. The list is never changed.
var byModel = []memory.Source{{Origin: memory.Model}}

// ownTexts has a plan repeat the host's words, and the reasoner's earlier ones, each
// by itself. Where these were others', the aim is known to quote them.
func ownTexts(plan *quote.Plan, b *reason.Brief, o *Objective) {
	var few [16]string
	own := func(texts ...string) {
		for i := range texts {
			plan.Own(texts[i : i+1]...)
		}
	}
	own(o.Text, o.Situation, string(b.Inputs), quote.Strings(b.Inputs), b.Objective)
	for _, s := range b.Suggestions {
		own((&reason.Decision{Approach: s.Approach, Tasks: s.Tasks}).Texts(few[:0])...)
	}
	for _, d := range b.Lineage {
		own((&reason.Decision{Tasks: []reason.Task{d.Task}}).Texts(few[:0])...)
	}
	for _, f := range b.Failed {
		own(f.Objective)
	}
}

// others calls f with each text of a brief that is neither the host's nor the
// reasoner's own, memories apart, and with those of the skills.
func (a *Agent) others(b *reason.Brief, f func(memory.Source, string)) {
	from := func(origin memory.Origin, ref string, texts ...string) {
		for _, text := range texts {
			f(credited(memory.Source{Origin: origin, Ref: ref}), text)
		}
	}
	for i := range b.Lineage {
		d := &b.Lineage[i]
		from(memory.Executor, d.Worker, d.Summary, string(d.Output), quote.Strings(d.Output))
		for _, delta := range d.Deltas {
			from(memory.Executor, d.Worker, delta.Domain+" "+delta.Path, string(delta.Value), quote.Strings(delta.Value))
		}
	}
	for _, failed := range b.Failed {
		from(memory.Executor, failed.Worker, failed.Complaint)
	}
	for _, w := range b.Warnings {
		from(memory.Executor, w.Worker, w.Refused, w.Why, w.Instead,
			quote.Strings(json.RawMessage(w.Refused)), quote.Strings(json.RawMessage(w.Instead)))
	}
	for _, p := range b.Passages {
		from(memory.Web, p.Name, p.Text)
	}
	for _, answer := range b.Answers {
		from(memory.User, "", answer.Text)
	}
	for _, name := range a.skillNames {
		s := a.skills[name]
		from(memory.Web, name, s.Description, s.Body, s.Agent)
	}
	// Metacognition repeats approaches and complaints, of other runs too.
	from(memory.Executor, "", append(slices.Clone(b.Avoid), b.Advice)...)
}

// credited returns a source that a host's part has named, in a form that memory
// takes.
func credited(s memory.Source) memory.Source {
	if key.CheckID("ref", s.Ref) != nil {
		s.Ref = ""
	}
	if key.CheckID("run", s.Run) != nil {
		s.Run = ""
	}
	switch s.Origin {
	case memory.Host, memory.Model, memory.User, memory.Web, memory.Derived:
		return s
	}
	s.Origin = memory.Executor
	return s
}

// maxQuotes is how many sources are taken down. More tell nothing more: the plan
// does not fire.
const maxQuotes = 64

// union returns list with those of more that it lacks, in memory of its own.
func union[T comparable](list, more []T) []T {
	list = slices.Clip(list)
	for _, m := range more {
		if len(list) < maxQuotes && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

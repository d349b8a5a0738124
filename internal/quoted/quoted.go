// Package quoted finds out whose words a decision repeats.
package quoted

import (
	"encoding/json"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/quote"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Skills are the skills of a host, and their names in order.
type Skills struct {
	Names []string
	All   map[string]reason.Skill
}

// Sources returns the sources whose words a decision repeats, the reasoner's first, and the memories that it
// was made from: those that it names, and those that it quotes. brief is what the reasoner was told for
// an objective. rests are the facts in it that the decision applies, which count even if it does not
// quote them.
func Sources(
	d *reason.Decision, b *reason.Brief, objective, situation string, rests []memory.ID, skills Skills,
) (whose []memory.Source, from []memory.ID) {
	var few [16]string
	plan := quote.New(d.Texts(few[:0])...)
	defer plan.Done()
	whose, from = byModel, slices.Clip(d.Applied)
	for _, s := range d.Quotes {
		whose = append(whose, credited(s))
	}
	ownTexts(plan, b, objective, situation)
	for i := range b.Facts {
		if r := &b.Facts[i].Record; !r.Trusted && slices.Contains(rests, r.ID) {
			whose = append(whose, r.Source)
		}
	}
	for _, known := range [...]bool{true, false} { // known sources first: others may quote them
		for _, hits := range [...][]memory.Hit{b.Memories, b.Background, b.Facts} {
			for i := range hits {
				r := &hits[i].Record
				trigger, content, free := learn.Quotable(r)
				if known != free || !plan.Quotes(trigger, content) {
					continue
				}
				if from = append(from, r.ID); free {
					plan.Own(trigger, content)
				} else {
					whose = append(append(whose, r.Quotes...), r.Source)
				}
			}
		}
	}
	others(b, skills, func(s memory.Source, text string) {
		if plan.Quotes(text) {
			whose = append(whose, s)
		}
	})
	return whose, from
}

// byModel is the source of every decision, the reasoner. It must not be changed.
var byModel = []memory.Source{{Origin: memory.Model}}

// ownTexts lets a plan repeat the texts of the host, and the reasoner's earlier ones. If those repeat others'
// words, the sources of earlier decisions have them.
func ownTexts(plan *quote.Plan, b *reason.Brief, objective, situation string) {
	var few [16]string
	own := func(texts ...string) {
		for i := range texts {
			plan.Own(texts[i : i+1]...)
		}
	}
	own(objective, situation, string(b.Inputs), quote.Strings(b.Inputs), b.Objective)
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

// others calls f with each text of a brief that is neither the host's nor the reasoner's, except memories, and
// with the texts of skills.
func others(b *reason.Brief, skills Skills, f func(memory.Source, string)) {
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
	for _, name := range skills.Names {
		s := skills.All[name]
		from(memory.Web, name, s.Description, s.Body, s.Agent)
	}
	// Metacognition quotes approaches and complaints, also of other runs.
	from(memory.Executor, "", append(slices.Clone(b.Avoid), b.Advice)...)
}

// credited returns a source that a host's part has named, in a form that memory accepts.
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

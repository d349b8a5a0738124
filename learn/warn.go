package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// warning is a class of complaint about a skill or tool in a situation. What came of it has the latest last.
type warning struct {
	Skill, Class string
	Said         string   // the complaint, with {path} for inputs and … for what names something, see extract.Lesson
	Own          []string // its words that the case may have brought
	Events       []event
}

type event struct {
	Advice  string
	At      time.Time
	Instead string // what passed; "": it was refused
}

// Bounds of what is kept and told of a situation.
const (
	maxWarnings = 16
	maxEvents   = 8
	maxTold     = 8
	maxLesson   = 600 // bytes of a complaint
)

// situationKey is what warnings are kept by: the situation that the host names, or else the words of the case
// with {name} for its inputs.
func situationKey(c *Case, s *shape) string {
	return digest(cmp.Or(c.Situation, "\x00"+s.folded))
}

// warnings are those of a situation: of a case's scope, and those that two scopes of its Lessons came to.
func (l *Layer) warnings(ctx context.Context, c *Case, s *shape, id string) (out []reason.Warning, err error) {
	from, _, err := l.sources(ctx, c, warnKind, id)
	all, scopes := &record{}, make(map[*warning]int)
	for i, r := range from {
		for _, o := range r.Refused {
			w := all.warning(o)
			for _, word := range append(runs(w.Said), strings.Fields(w.Said)...) {
				if scopes[w] == 1 && !holds(o.Said, word) { // of two others, only one said it
					w.Own = append(slices.Clip(w.Own), word)
				}
			}
			w.Events = append(w.Events, o.Events...)
			if scopes[w]++; i == 0 {
				scopes[w]++ // one's own is enough
			}
		}
	}
	for _, w := range all.Refused {
		told := reason.Warning{Skill: w.Skill, Complaint: extract.Tell(w.Said, w.Own, append(textsOf(c, s), c.Situation))}
		slices.SortStableFunc(w.Events, func(a, b event) int { return a.At.Compare(b.At) })
		for _, e := range w.Events {
			if told.Instead = e.Instead; e.Instead == "" { // it is open while its last event is a complaint
				told.Times++
			}
		}
		if scopes[w] > 1 && told.Times > 0 && len(out) < maxTold {
			out = append(out, told)
		}
	}
	return out, err
}

// warning returns the one of a skill and class, a new one where there is none.
func (r *record) warning(like *warning) *warning {
	i := slices.IndexFunc(r.Refused, func(w *warning) bool { return w.Skill == like.Skill && w.Class == like.Class })
	if i < 0 {
		i, r.Refused = len(r.Refused), append(r.Refused, &warning{Skill: like.Skill, Class: like.Class, Said: like.Said, Own: like.Own})
	}
	return r.Refused[i]
}

// refuse takes in what was refused, and what passed where something had been refused, once what came of the
// Advice before is taken back.
func (l *Layer) refuse(ctx context.Context, b *store.Batch, g *given, s *shape, strangers []string) error {
	c, o, id := &g.Case, &g.Outcome, situationKey(&g.Case, s)
	refused := slices.Clone(o.Failed)
	if o.Verdict == Failed && o.Complaint != "" && (len(refused) == 0 || !g.Judged.IsZero()) {
		refused = append(refused, reason.Failure{Task: reason.Task{Skill: c.Skill, Worker: o.Worker}, Complaint: o.Complaint})
	}
	last, space := &warning{}, l.bank.In(c.Scope).Stage(b)
	err := l.edit(ctx, b, c.Scope, warnKind, id, func(r *record) (changed bool, _ error) {
		changed = len(refused)+len(r.Refused) > 0
		for _, w := range r.Refused {
			w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e event) bool { return e.Advice == c.ID })
		}
		r.Refused = slices.DeleteFunc(r.Refused, func(w *warning) bool { return len(w.Events) == 0 })
		add := func(w *warning, e event) {
			w.Events = append(w.Events, e)
			w.Events = w.Events[max(0, len(w.Events)-maxEvents):]
		}
		for i, f := range refused {
			said, own, class := extract.Lesson(head(join(split(f.Complaint, s.in), brace), maxLesson), textsOf(c, s), strangers)
			last = &warning{Skill: cmp.Or(f.Task.Skill, f.Worker), Said: said, Own: own, Class: digest(fold(class))}
			add(r.warning(last), event{Advice: c.ID, At: g.At.Add(time.Duration(i - len(refused)))})
		}
		r.Refused = r.Refused[max(0, len(r.Refused)-maxWarnings):]
		instead := "it passed once that was heeded"
		if o.Plan != nil && len(o.Plan.Calls) > 0 {
			instead = summary(o.Plan.Calls)
		}
		for _, w := range r.Refused {
			made := func(call reason.PlanCall) bool { return call.Name == w.Skill }
			did := o.Plan == nil || w.Skill == "" || w.Skill == o.Worker || slices.ContainsFunc(o.Plan.Calls, made)
			if o.Verdict == Delivered && did && w.Events[len(w.Events)-1].Instead == "" {
				add(w, event{Advice: c.ID, At: g.At, Instead: instead})
			}
		}
		return changed, nil
	})
	if g.Made != "" && err == nil {
		if err, g.Made = space.Forget(ctx, g.Made), ""; errors.Is(err, store.ErrNotFound) {
			err = nil // a person has forgotten it
		}
	}
	if err == nil && o.Verdict == Failed && last.Said != "" { // for cases that are like it: nobody vouches for words of whoever refused it
		var r memory.Record
		r, err = space.Remember(ctx, memory.Draft{Kind: memory.Failure, Trigger: head(cmp.Or(c.Situation, s.template), maxLesson), Content: extract.Tell(last.Said, last.Own, nil),
			Plan: encode(last), At: g.At, Source: memory.Source{Origin: memory.Executor, Run: c.ID, Ref: refusedRef}})
		if r.Strengthened == 0 {
			g.Made = r.ID
		}
	}
	if len(refused) == 0 || c.Lessons == c.Scope || err != nil {
		return err
	}
	return l.edit(ctx, b, c.Lessons, warnKind, id, func(up *record) (bool, error) {
		up.share(c.Scope)
		return true, nil
	})
}

// refusedRef is the Ref of memories of what was refused. Their Trigger is what their cases are found by.
const refusedRef = "refused"

// textsOf are the texts of a case.
func textsOf(c *Case, s *shape) []string {
	return append(append(said(s.in), c.Text), each(c.Turns, func(m reason.Message) string { return m.Text })...)
}

// tainted returns why a plan is not learned: a call says what a stranger said and the case does not, as a
// whole value or as [iar.Copied] finds it, or it quotes a complaint.
func tainted(c *Case, s *shape, calls []reason.PlanCall, strangers, complaints []string) string {
	mine := append(said(s.in), c.Text)
	copied := iar.Copied(mine, strangers, complaints)
	for _, call := range calls {
		v, err := schema.Read(call.Inputs)
		if err != nil {
			return call.Name + ": " + err.Error()
		}
		for _, l := range append(leaves(v), leaf{"its words", call.Text}) {
			has := func(t string) bool { return holds(t, word(l.v)) }
			if !slices.ContainsFunc(mine, has) && (slices.ContainsFunc(strangers, has) || copied(word(l.v))) {
				return fmt.Sprintf("%s: %s says what somebody else said", call.Name, l.path)
			}
		}
	}
	return ""
}

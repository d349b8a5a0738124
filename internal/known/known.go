// Package known reads from memories what failed in a situation, and what passed instead.
//
// A memory holds an [Event] as text, and one more for each memory that was merged into it.
// The events of one skill with one class of complaints make a lesson, which is shown as a
// [reason.Warning]. An [Action] that has failed is recognised by its key.
package known

import (
	"cmp"
	"slices"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// maxWarnings is how many warnings are shown at most.
const maxWarnings = 5

// leastHelp is the least probability to help with which a warning is shown: one that was
// shown three times and never helped is shown no more.
const leastHelp = 0.25

// Known is what is known of failures in a situation. A nil Known knows of none.
type Known struct {
	lessons []*lesson
	full    map[string]memory.ID // by content, records with maxVariants variants
	last    time.Time            // of all events
}

// lesson is the events of one skill with one class of complaints.
type lesson struct {
	skill, class   string
	failures       []*Event
	fail, pass     *Event // the latest; nil: there is none
	ids            []memory.ID
	helped, misled int
}

// maxVariants is how many memories merge into one at most. Further events with the same text
// are not noted.
const maxVariants = 16

// Of returns what the records of a situation tell. It leaves out the events of the attempt with
// this key, which may have been recorded already.
func Of(records []memory.Record, attempt string) *Known {
	if len(records) == 0 {
		return nil
	}
	k := &Known{full: make(map[string]memory.ID)}
	for i := range records {
		if r := &records[i]; !r.Archived {
			k.hear(r, attempt)
		}
	}
	return k
}

// hear takes in a record and its variants, if arc itself has recorded them of an attempt.
// A memory that anyone else has written in the same words does not warn.
func (k *Known) hear(r *memory.Record, attempt string) {
	if len(r.Variants) >= maxVariants {
		k.full[r.Content] = r.ID
	}
	own := memory.Variant{Source: r.Source, At: r.At, Content: r.Content}
	for _, v := range append([]memory.Variant{own}, r.Variants...) {
		e := parse(cmp.Or(v.Content, r.Content), v.At, v.Source)
		if v.Source.Origin == memory.Executor && e.attempt != "" && e.attempt != attempt {
			k.learn(r, e)
		}
	}
}

// learn adds an event of a record to its lesson.
func (k *Known) learn(r *memory.Record, e *Event) {
	l := k.lesson(e.Skill, e.Why)
	if l == nil {
		l = &lesson{skill: e.Skill, class: class(e.Why)}
		k.lessons = append(k.lessons, l)
	}
	last := &l.pass
	if !e.passed() {
		l.failures = append(l.failures, e)
		last = &l.fail
	}
	if *last == nil || !e.At.Before((*last).At) {
		*last = e
	}
	if !slices.Contains(l.ids, r.ID) {
		l.ids = append(l.ids, r.ID)
		l.helped, l.misled = max(l.helped, r.Stats.Helped), max(l.misled, r.Stats.Misled)
	}
	if e.At.After(k.last) {
		k.last = e.At
	}
}

// lesson returns the lesson of a skill and a complaint's class, or nil.
func (k *Known) lesson(skill, why string) *lesson {
	if k == nil {
		return nil
	}
	of := class(why)
	i := slices.IndexFunc(k.lessons, func(l *lesson) bool { return l.skill == skill && l.class == of })
	if i < 0 {
		return nil
	}
	return k.lessons[i]
}

// helps estimates the probability that the lesson helps when it is shown: the mean of a Beta
// posterior with a uniform prior.
func (l *lesson) helps() float64 { return float64(1+l.helped) / float64(2+l.helped+l.misled) }

// latest returns the event that the lesson shows.
func (l *lesson) latest() *Event { return cmp.Or(l.fail, l.pass) }

// unmet reports whether nothing has passed since the event.
func (l *lesson) unmet(e *Event) bool { return l.pass == nil || e.At.After(l.pass.At) }

// shown reports whether one of the memories belongs to the lesson.
func (l *lesson) shown(ids []memory.ID) bool {
	return slices.ContainsFunc(l.ids, func(id memory.ID) bool { return slices.Contains(ids, id) })
}

// warning returns the lesson as it is shown.
func (l *lesson) warning() reason.Warning {
	e := l.latest()
	w := reason.Warning{
		Skill: l.skill, Task: e.Task, Worker: e.Worker, Refused: e.Refused, Why: e.Why,
		Times: max(1, len(l.failures)), Last: e.At, IDs: slices.Clone(l.ids),
	}
	if l.pass != nil {
		w.Instead, w.By = l.pass.Instead, l.pass.By
	}
	return w
}

// Warnings returns the warnings for tasks with one of the skills, or for all if none is given:
// the most helpful first, then the latest.
func (k *Known) Warnings(skills ...string) (out []reason.Warning) {
	if k == nil {
		return nil
	}
	show := slices.DeleteFunc(slices.Clone(k.lessons), func(l *lesson) bool {
		return l.helps() < leastHelp || len(skills) > 0 && !slices.Contains(skills, l.skill)
	})
	slices.SortStableFunc(show, func(a, b *lesson) int {
		return cmp.Or(cmp.Compare(b.helps(), a.helps()), b.latest().At.Compare(a.latest().At))
	})
	for _, l := range show[:min(len(show), maxWarnings)] {
		out = append(out, l.warning())
	}
	return out
}

// Failed returns the failures of the action with this key in other runs since it last passed,
// oldest first. It returns none if a failure at the same skill was overcome after the last of
// them: then there is something new to try.
func (k *Known) Failed(key, run string) (es []*Event) {
	if k == nil {
		return nil
	}
	var passed, learned time.Time
	for _, l := range k.lessons {
		for _, e := range l.failures {
			if e.action == key && e.run != run {
				es = append(es, e)
			}
		}
		if l.pass != nil && l.pass.action == key && l.pass.At.After(passed) {
			passed = l.pass.At
		}
	}
	es = slices.DeleteFunc(es, func(e *Event) bool { return !e.At.After(passed) })
	slices.SortFunc(es, func(a, b *Event) int { return a.At.Compare(b.At) })
	for _, l := range k.lessons {
		if len(es) > 0 && l.pass != nil && l.skill == es[0].Skill && l.pass.At.After(learned) {
			learned = l.pass.At
		}
	}
	if len(es) > 0 && learned.After(es[len(es)-1].At) {
		return nil
	}
	return es
}

// Again returns the memories of the lesson about a complaint, if one of them was shown: the
// failure was repeated.
func (k *Known) Again(skill, why string, shown []memory.ID) []memory.ID {
	if l := k.lesson(skill, why); l != nil && l.shown(shown) {
		return slices.Clone(l.ids)
	}
	return nil
}

// Overcome is a failure after which another attempt passed, and the memories of it.
type Overcome struct {
	Event
	IDs []memory.ID
}

// Overcome returns the failures that a pass of the action with this key has overcome: those at
// the same task of the run, those of the same action in any run, and those that were shown
// and that no attempt had overcome yet.
func (k *Known) Overcome(key, run, skill, task string, shown []memory.ID) (out []Overcome) {
	if k == nil {
		return nil
	}
	for _, l := range k.lessons {
		if l.skill != skill || l.fail == nil {
			continue
		}
		if l.pass == nil && l.shown(shown) || slices.ContainsFunc(l.failures, func(e *Event) bool {
			return l.unmet(e) && (e.action == key || e.run == run && e.Task == task)
		}) {
			out = append(out, Overcome{*l.fail, slices.Clone(l.ids)})
		}
	}
	return out
}

// Since returns at, or, if the clock has not moved on, a microsecond after the latest event.
func (k *Known) Since(at time.Time) time.Time {
	if k == nil || at.After(k.last) {
		return at
	}
	return k.last.Add(time.Microsecond)
}

// Full returns the record with this content if it has no room for another variant, or "".
func (k *Known) Full(content string) memory.ID {
	if k == nil {
		return ""
	}
	return k.full[content]
}

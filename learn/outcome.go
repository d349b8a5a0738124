package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Verdict says what came of a case.
type Verdict string

const (
	Unknown   Verdict = ""          // nobody could tell, as in an outage: feeds no counter
	Delivered Verdict = "delivered" // a check has passed it
	Failed    Verdict = "failed"    // a check, or a person, has refused it
)

func (v Verdict) check() error {
	if v != Unknown && v != Delivered && v != Failed {
		return fmt.Errorf("learn: no verdict: %q", string(v))
	}
	return nil
}

// Outcome is what came of a case.
type Outcome struct {
	Verdict   Verdict          `cbor:",omitzero"`
	Complaint string           `cbor:",omitzero"` // why it failed, where that is not in Failed
	Failed    []reason.Failure `cbor:",omitzero"` // what was refused, first to last
	Plan      *reason.Plan     `cbor:",omitzero"` // the calls that were made; nil: not known, or those of Fires
	Applied   []memory.ID      `cbor:",omitzero"` // memories that shaped the plan: it lapses when one changes
	Utilized  []memory.ID      `cbor:",omitzero"` // memories of the Advice that helped; nil: not known
	Misled    []memory.ID      `cbor:",omitzero"` // those that led astray
	Worker    string           `cbor:",omitzero"` // who answered: ranked by Verdict and Usage; has episodes
	Usage     *reason.Usage    `cbor:",omitzero"`
	Answer    string           `cbor:",omitzero"` // what was said to the user, for the episode
	Untrusted []string         `cbor:",omitzero"` // what strangers said beside the case: data, pages
}

// trim cuts what is kept of an outcome to what a record can hold.
func (o *Outcome) trim() {
	o.Complaint, o.Answer, o.Untrusted = head(o.Complaint, memory.MaxText), head(o.Answer, memory.MaxText), nil
	o.Failed = slices.Clone(o.Failed[max(0, len(o.Failed)-16):])
	for i, f := range o.Failed {
		at := reason.Task{Skill: f.Task.Skill, Worker: f.Worker}
		o.Failed[i] = reason.Failure{Task: at, Complaint: head(f.Complaint, 4<<10), Gate: f.Gate}
	}
}

// Learned says what After has learned.
type Learned struct {
	Ready bool   // the plan fires when this very case comes again, by what its own Scope has delivered
	Note  string // why a delivery was not learned as a plan
}

// given is what is kept of an Advice and its Outcome, so that it counts once and a verdict can take it back.
type given struct {
	Case    Case        `cbor:"1,keyasint,omitzero"`
	Shown   []memory.ID `cbor:"2,keyasint,omitzero"`
	Rules   []string    `cbor:"3,keyasint,omitzero"`
	Fired   bool        `cbor:"4,keyasint,omitzero"` // the plan that fired is what was done
	Outcome Outcome     `cbor:"5,keyasint,omitzero"`
	Note    string      `cbor:"6,keyasint,omitzero"` // why a delivery is not learned as a plan
	Applied []applied   `cbor:"7,keyasint,omitzero"`
	Ready   bool        `cbor:"8,keyasint,omitzero"`
	At      time.Time   `cbor:"9,keyasint"`
	Judged  time.Time   `cbor:"10,keyasint"`          // by a later verdict
	Counted Verdict     `cbor:"11,keyasint,omitzero"` // what its plan's counters have of it
	Made    memory.ID   `cbor:"12,keyasint,omitzero"` // the failure that is remembered of it
	Heard   string      `cbor:"13,keyasint,omitzero"` // the words of strangers and turns, which are not kept

	shape     *shape   // of Case
	strangers []string // what they said
}

// After learns from what came of a case. One that Failed by the plan that fired stops it and its rivals: each
// fires again after two later deliveries. A second After of an Advice changes nothing, and returns what the
// first did. Without a Before, as of a run that began without memory, it takes a zero Advice with a Case.
func (l *Layer) After(ctx context.Context, a Advice, o Outcome) (learned Learned, err error) {
	err = l.group.Update(ctx, func(b *store.Batch) error {
		learned, err = l.Stage(ctx, b, a, o)
		return err
	})
	return learned, err
}

// Stage puts what After does into the commit of a step. It reads and writes the tenant's keys only.
func (l *Layer) Stage(ctx context.Context, b *store.Batch, a Advice, o Outcome) (Learned, error) {
	c, err := l.prepare(a.Case)
	if err = cmp.Or(err, o.Verdict.check()); err != nil {
		return Learned{}, err
	}
	key := c.Scope.Key(givenKind, c.ID)
	was, absent, err := codec.Load[given](ctx, b, key)
	if err != nil || !was.At.IsZero() { // it was told before
		return Learned{was.Ready, was.Note}, err
	}
	s, unread := shapeOf(&c)
	g := given{Case: c, shape: s, Rules: ruleDigests(a.Memories), At: l.now()}
	switch raw, err := json.Marshal(o.Plan); {
	case err != nil:
		g.Note, o.Plan = "a call has inputs that are no JSON", nil
	case o.Plan != nil && len(raw)+len(c.Text)+len(c.Inputs) > maxPlanBytes:
		g.Note, o.Plan = "the case and its plan are too long to be kept", nil
	}
	if l.clean != nil {
		o.Complaint, o.Answer = l.clean.Prose(o.Complaint), l.clean.Prose(o.Answer)
		o, err = cleaned(l.clean, o)
	}
	g.strangers = slices.Clip(o.Untrusted)
	for _, h := range append(slices.Clip(a.Memories), a.Background...) {
		r := &h.Record
		if r.Kind != memory.Rule {
			g.Shown = append(g.Shown, r.ID)
		}
		if slices.Contains(o.Applied, r.ID) {
			g.Applied = append(g.Applied, applied{r.ID, r.Scope, saying(r)})
		}
		if !r.Trusted {
			g.strangers = append(g.strangers, r.Content)
		}
	}
	switch {
	case unread != nil:
		g.Note = unread.Error()
	case a.Fires != nil && g.Note == "" && (o.Plan == nil || samePlan(o.Plan.Calls, a.Fires.Calls)):
		g.Fired, o.Plan = true, a.Fires // which counts, and teaches no new plan
	case o.Plan != nil:
		complaints := append(each(o.Failed, func(f reason.Failure) string { return f.Complaint }), o.Complaint)
		complaints = append(complaints, each(a.Warnings, func(w reason.Warning) string { return w.Complaint })...)
		g.Note = g.tainted(o.Plan.Calls, complaints)
	}
	heard := extract.Words(append(turnsOf(&c), g.strangers...)...)
	g.Heard = head(strings.Join(slices.Sorted(maps.Keys(heard)), " "), memory.MaxText)
	g.Outcome = o
	g.Outcome.trim()
	err = errors.Join(err, l.settle(ctx, b, &g),
		extract.Episodes(ctx, b, l.bank, &c, o.Worker, o.Answer, g.At))
	g.Case.Turns, g.Case.Candidates = nil, nil // a verdict needs no more of them than what was heard
	return Learned{g.Ready, g.Note}, errors.Join(err, codec.Put(b, key, g, absent))
}

// settle does what an outcome does, in place of what the Advice did before. What is staged before an error is
// dropped with the step, so that all may run.
func (l *Layer) settle(ctx context.Context, b *store.Batch, g *given) error {
	return errors.Join(l.measure(ctx, b, g, +1), l.credit(ctx, b, g), l.refuse(ctx, b, g), l.keepPlan(ctx, b, g))
}

// Judge corrects the verdict on a case: a person has found a delivery wrong, or a failure right. The last
// verdict counts, and takes back what the former gave. A delivery that was wrong stops its plan, see After.
func (l *Layer) Judge(
	ctx context.Context, scope memory.Scope, id string, v Verdict, why string,
) (learned Learned, err error) {
	err = l.group.Update(ctx, func(b *store.Batch) error {
		learned, err = l.StageJudge(ctx, b, scope, id, v, why)
		return err
	})
	return learned, err
}

// StageJudge puts what Judge does into the commit of a step.
func (l *Layer) StageJudge(
	ctx context.Context, b *store.Batch, scope memory.Scope, id string, v Verdict, why string,
) (Learned, error) {
	key := scope.Key(givenKind, id)
	g, unchanged, err := codec.Load[given](ctx, b, key)
	if err = cmp.Or(v.check(), err); err == nil && g.At.IsZero() {
		err = fmt.Errorf("learn: nothing is known of the advice %q: %w", id, store.ErrNotFound)
	}
	if err != nil || v == g.Outcome.Verdict { // it is so already
		return Learned{g.Ready, g.Note}, err
	}
	if l.clean != nil {
		why = l.clean.Prose(why)
	}
	g.shape, _ = shapeOf(&g.Case)   // of one that cannot be read Note says so
	g.strangers = []string{g.Heard} // so that a complaint names nobody whom they named
	err = l.measure(ctx, b, &g, -1)
	g.Outcome.Verdict, g.Outcome.Complaint, g.Ready, g.Judged = v, why, false, l.now()
	err = errors.Join(err, l.settle(ctx, b, &g), codec.Put(b, key, g, unchanged))
	return Learned{g.Ready, g.Note}, err
}

// keepPlan counts what came of the plan that was made, and adds it to its key where a case was delivered by
// it first. A wrong delivery, and a refusal of what fired, stops it. What came of the Advice is taken back.
// Of its records that of the key has the counts, that of the very case keeps the delivery when others push it
// out of the former, and that of the Lessons scope only names the scope: nothing of a case leaves its own.
func (l *Layer) keepPlan(ctx context.Context, b *store.Batch, g *given) error {
	c, o, s := &g.Case, &g.Outcome, g.shape
	if s.key == "" || o.Plan == nil || len(o.Plan.Calls) == 0 || o.Verdict == Unknown && g.Judged.IsZero() {
		return nil // it has no plan, or nobody could tell
	}
	id, of, delivered := planID(o.Plan.Calls), adviceID(c), o.Verdict == Delivered
	learns := delivered && !g.Fired && g.Note == ""
	wrong := o.Verdict == Failed && (g.Fired || !g.Judged.IsZero()) // where it fired, the check says so
	change := func(scope memory.Scope, key string, f func(*record)) error {
		return l.edit(ctx, b, scope.Key(planKind, key), func(r *record) (bool, error) {
			for _, p := range r.Plans {
				p.Deliveries = slices.DeleteFunc(slices.Clone(p.Deliveries), func(d *delivery) bool { return d.ID == of })
			}
			if wrong && key == s.key { // in its scope, and where its scope shares
				r.add(id, &delivery{ID: of, At: cmp.Or(g.Judged, g.At), Wrong: true})
			}
			f(r)
			if len(r.Plans)+len(r.Scopes) == 0 {
				return false, nil // nothing of a case whose plan is one of cases in other words
			}
			if r.Paths == nil && key == s.key && (scope == c.Scope || len(r.Scopes) > 1) {
				return true, l.describe(ctx, b, g, scope, r)
			}
			return true, nil
		})
	}
	keep := func(r *record) {
		if learns {
			r.add(id, &delivery{ID: of, At: g.At, Text: c.Text, Inputs: c.Inputs, Calls: o.Plan.Calls,
				Applied: g.Applied, Rules: g.Rules})
		}
	}
	g.Ready = g.Fired && delivered
	err := change(c.Scope, s.key, func(r *record) {
		keep(r)
		r.count(id, g.Counted, -1)
		g.Counted = r.count(id, o.Verdict, +1)
		if p := r.plan(id); delivered && !g.Ready && p != nil && len(p.Deliveries) > 1 { // would it fire?
			all := merge(c.Scope, []*record{r}, r)
			_, why := all.plan(id).fire(s, c.Scope, all.Plans, nil)
			g.Ready = why == ""
		}
	})
	if err == nil && len(s.in) > 0 {
		err = change(c.Scope, s.exact, keep) // where the very case finds it, however many others follow
	}
	if err != nil || c.Lessons == c.Scope || !learns && !wrong && g.Judged.IsZero() {
		return err
	}
	return change(c.Lessons, s.key, func(r *record) {
		if learns {
			r.share(c.Scope)
		}
	})
}

// share puts a scope last among those that came to it.
func (r *record) share(scope memory.Scope) {
	others := slices.DeleteFunc(slices.Clone(r.Scopes), func(o memory.Scope) bool { return o == scope })
	r.Scopes = append(others[max(0, len(others)+1-maxScopes):], scope)
}

// adviceID names an Advice among those of all scopes, which may have equal IDs. No ID has a NUL.
func adviceID(c *Case) string { return string(c.Scope) + "\x00" + c.ID }

// measure counts an outcome with those that had memory, or those that the holdout gave nothing, or takes it
// back. Without a holdout nothing is counted: the two would not be alike.
func (l *Layer) measure(ctx context.Context, b *store.Batch, g *given, by int) error {
	if l.opts.Holdout == 0 || g.Outcome.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	var calls *int // nil: not known
	var usd *float64
	if u := g.Outcome.Usage; u != nil {
		calls, usd = &u.Calls, cmp.Or(u.CostUSD, u.EstimateUSD)
	}
	key := g.Case.Lessons.Key(upliftKind, "all")
	all, unchanged, err := codec.Load[meta.Arms](ctx, b, key)
	all.Add(!l.HeldOut(&g.Case), g.Outcome.Verdict == Delivered, calls, usd, by)
	return errors.Join(err, codec.Put(b, key, all, unchanged))
}

// Uplift returns what memory changes in cases of these Lessons since a Holdout is set. An N of 0: not known.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (meta.Uplift, error) {
	all, _, err := codec.Load[meta.Arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	return all.Uplift(), err
}

// credit says what became of the memories that were shown, and of the worker.
func (l *Layer) credit(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	f := memory.Feedback{Key: digest(adviceID(c)), Situation: c.Situation, Shown: g.Shown}
	if o.Verdict == Delivered {
		f.Utilized = o.Utilized
	}
	if o.Verdict != Unknown {
		f.Misled = o.Misled
	}
	says := f.Utilized != nil || len(f.Misled) > 0 || !g.Judged.IsZero() // it may take back what it said
	if says && len(g.Shown) > 0 {
		for _, scope := range scopesOf(c) { // each takes what is its own
			if err := l.bank.In(scope).Stage(b).Feedback(ctx, f); err != nil {
				return err
			}
		}
	}
	if o.Worker == "" {
		return nil
	}
	return l.book.In(c.Lessons).Stage(ctx, b, rank.Sample{
		Run: f.Key, Candidate: o.Worker, Outcome: cmp.Or(rank.Outcome(o.Verdict), rank.Unknown), At: g.At,
		Task: rank.Task{Skill: c.Skill, Key: c.Situation}, Usage: *cmp.Or(o.Usage, &reason.Usage{}),
	})
}

// warning is a class of complaint about a skill or tool in a situation.
type warning struct {
	Skill, Class string
	Said         string   // the complaint with {path} for inputs and … for names, see extract.Lesson
	Own          []string // its words that the case may have brought
	Events       []event  // what came of it, the latest last
}

type event struct {
	Advice, Case string // Case: shape.exact
	At           time.Time
	Instead      string // what passed; "": it was refused
}

// Bounds of what is kept and told of a situation, and the Ref of memories of what was refused.
const (
	maxWarnings = 16
	maxEvents   = 8
	maxTold     = 8
	maxLesson   = 600 // bytes of a complaint
	refusedRef  = "refused"
)

// warning returns the one of a skill and class, a new one where there is none. A word that a check has said of
// a case without it is its own: it is hidden no more.
func (r *record) warning(like *warning) *warning {
	same := func(w *warning) bool { return w.Skill == like.Skill && w.Class == like.Class }
	if i := slices.IndexFunc(r.Refused, same); i >= 0 {
		w := r.Refused[i]
		w.Own = slices.DeleteFunc(slices.Clone(w.Own), func(s string) bool { return !slices.Contains(like.Own, s) })
		return w
	}
	r.Refused = append(r.Refused, &warning{Skill: like.Skill, Class: like.Class, Said: like.Said, Own: like.Own})
	return r.Refused[len(r.Refused)-1]
}

// refuse takes in what was refused, and what passed where something had been refused, once what came of the
// Advice before is taken back.
func (l *Layer) refuse(ctx context.Context, b *store.Batch, g *given) error {
	c, o, s := &g.Case, &g.Outcome, g.shape
	refused := slices.Clone(o.Failed)
	if o.Verdict == Failed && o.Complaint != "" && (len(refused) == 0 || !g.Judged.IsZero()) {
		at := reason.Task{Skill: c.Skill, Worker: o.Worker}
		refused = append(refused, reason.Failure{Task: at, Complaint: o.Complaint})
	}
	lessons := each(refused, func(f reason.Failure) *warning {
		complaint := head(join(split(f.Complaint, s.in), brace), maxLesson)
		said, own, class := extract.Lesson(complaint, textsOf(c, s), g.strangers)
		return &warning{Skill: cmp.Or(f.Task.Skill, f.Worker), Said: said, Own: own, Class: digest(fold(class))}
	})
	passed := cmp.Or(summary(cmp.Or(o.Plan, &reason.Plan{}).Calls), "it passed once that was heeded")
	err := l.edit(ctx, b, c.Scope.Key(warnKind, situationKey(c, s)), func(r *record) (changed bool, _ error) {
		r.Situation = c.Situation
		changed = len(refused)+len(r.Refused) > 0 // most cases have no warnings, and write nothing
		for _, w := range r.Refused {
			w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e event) bool { return e.Advice == c.ID })
		}
		r.Refused = slices.DeleteFunc(r.Refused, func(w *warning) bool { return len(w.Events) == 0 })
		for i, w := range lessons {
			lessons[i] = r.warning(w)
			lessons[i].Events = append(lessons[i].Events, event{Advice: c.ID, Case: s.exact, At: g.At})
		}
		r.Refused = r.Refused[max(0, len(r.Refused)-maxWarnings):] // the last
		for _, w := range r.Refused {
			is := func(call reason.PlanCall) bool { return call.Name == w.Skill }
			may := o.Plan == nil || w.Skill == "" || w.Skill == o.Worker || slices.ContainsFunc(o.Plan.Calls, is)
			last := w.Events[len(w.Events)-1] // of another case nothing is known
			if o.Verdict == Delivered && may && last.Instead == "" && last.Case == s.exact {
				w.Events = append(w.Events, event{Advice: c.ID, Case: s.exact, At: g.At, Instead: passed})
			}
			w.Events = w.Events[max(0, len(w.Events)-maxEvents):]
		}
		return changed, nil
	})
	err = errors.Join(err, l.rememberRefusal(ctx, b, g, lessons))
	if err != nil || len(refused) == 0 || c.Lessons == c.Scope {
		return err
	}
	return l.edit(ctx, b, c.Lessons.Key(warnKind, situationKey(c, s)), func(up *record) (bool, error) {
		up.share(c.Scope)
		return true, nil
	})
}

// rememberRefusal remembers the last lesson of a case that failed, in place of what it did before, for cases
// that are like it. Nobody vouches for the words of whoever refused it, so that it is not trusted.
func (l *Layer) rememberRefusal(ctx context.Context, b *store.Batch, g *given, lessons []*warning) error {
	err := l.forget(ctx, b, g.Case.Scope, g.Made)
	g.Made = ""
	if err != nil || g.Outcome.Verdict != Failed || len(lessons) == 0 || lessons[len(lessons)-1].Said == "" {
		return err
	}
	last := lessons[len(lessons)-1]
	r, err := l.bank.In(g.Case.Scope).Stage(b).Remember(ctx, memory.Draft{
		Kind: memory.Failure, Trigger: triggerOf(&g.Case, g.shape), At: g.At,
		Content: extract.Tell(last.Said, last.Own, nil),
		Source:  memory.Source{Origin: memory.Executor, Run: g.Case.ID, Ref: refusedRef},
	})
	if r.Strengthened == 0 { // else another case has made it
		g.Made = r.ID
	}
	return err
}

// triggerOf is what the memory of a refusal is found by, and known for one of the case's own situation.
func triggerOf(c *Case, s *shape) string { return head(cmp.Or(c.Situation, s.template), maxLesson) }

// tainted returns why a plan is not learned: a call says what a stranger said and the case does not, as a
// whole value or as [iar.Copied] finds it, or it quotes a complaint.
func (g *given) tainted(calls []reason.PlanCall, complaints []string) string {
	mine := append(said(g.shape.in), g.Case.Text)
	copied := iar.Copied(mine, g.strangers, complaints)
	for _, call := range calls {
		v, err := schema.Read(call.Inputs)
		if err != nil {
			return call.Name + ": " + err.Error()
		}
		for _, l := range append(leaves(v), leaf{"its words", call.Text}) {
			has := func(t string) bool { return holds(t, word(l.v)) }
			if !slices.ContainsFunc(mine, has) && (slices.ContainsFunc(g.strangers, has) || copied(word(l.v))) {
				return fmt.Sprintf("%s: %s is of a memory, page, answer or complaint alone", call.Name, l.path)
			}
		}
	}
	return ""
}

package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
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
	if _, ok := outcomes[v]; !ok {
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
	Utilized  []memory.ID      `cbor:",omitzero"` // nil: not known
	Misled    []memory.ID      `cbor:",omitzero"`
	Worker    string           `cbor:",omitzero"` // who answered: ranked by Verdict and Usage; has episodes
	Usage     *reason.Usage    `cbor:",omitzero"`
	Answer    string           `cbor:",omitzero"` // what was said to the user, for the episode
	Untrusted []string         `cbor:",omitzero"` // what strangers said beside the case: data, pages
}

// trim cuts what is kept of an outcome to what a record can hold.
func (o *Outcome) trim() {
	o.Complaint, o.Answer = head(o.Complaint, memory.MaxText), head(o.Answer, memory.MaxText)
	o.Failed = slices.Clone(o.Failed[max(0, len(o.Failed)-16):])
	for i, f := range o.Failed {
		o.Failed[i] = reason.Failure{Task: reason.Task{Skill: f.Task.Skill, Worker: f.Worker}, Complaint: head(f.Complaint, 4<<10), Gate: f.Gate}
	}
	o.Untrusted = nil
}

// Learned says what After has learned.
type Learned struct {
	Ready bool   // the plan that was made fires from now on where the case is the same, by deliveries of its Scope
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
}

// After learns from what came of a case. A second After of an Advice changes nothing, and returns what the
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
	c, err := l.check(a.Case)
	if err = cmp.Or(err, o.Verdict.check()); err != nil {
		return Learned{}, err
	}
	key := c.Scope.Key(givenKind, c.ID)
	was, absent, err := codec.Load[given](ctx, b, key)
	if err != nil || !was.At.IsZero() {
		return Learned{was.Ready, was.Note}, err
	}
	s, unread := shapeOf(&c)
	g := given{Case: c, Shown: make([]memory.ID, 0, len(a.Memories)), Rules: ruleDigests(a.Memories), At: l.now()}
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
	strangers := slices.Clip(o.Untrusted)
	for _, h := range append(slices.Clip(a.Memories), a.Background...) {
		r := &h.Record
		if r.Kind != memory.Rule {
			g.Shown = append(g.Shown, r.ID)
		}
		if slices.Contains(o.Applied, r.ID) {
			g.Applied = append(g.Applied, applied{r.ID, r.Scope, saying(r)})
		}
		if !r.Trusted {
			strangers = append(strangers, r.Content)
		}
	}
	if g.Fired = a.Fires != nil && g.Note == "" && (o.Plan == nil || samePlan(o.Plan.Calls, a.Fires.Calls)); g.Fired {
		o.Plan = a.Fires
	} else if o.Plan != nil {
		complaints := append(each(o.Failed, func(f reason.Failure) string { return f.Complaint }), o.Complaint)
		complaints = append(complaints, each(a.Warnings, func(w reason.Warning) string { return w.Complaint })...)
		g.Note = tainted(&c, s, o.Plan.Calls, strangers, complaints)
	}
	if unread != nil {
		g.Note = unread.Error()
	}
	heard := append(slices.Clip(strangers), textsOf(&Case{Turns: c.Turns}, &shape{})...)
	g.Outcome, g.Heard = o, head(strings.Join(slices.Sorted(maps.Keys(extract.Words(heard...))), " "), memory.MaxText)
	g.Outcome.trim()
	// What is staged before an error is dropped with the step, so the errors are looked at once.
	err = cmp.Or(err, l.settle(ctx, b, &g, s, strangers), extract.Episodes(ctx, b, l.bank, &g.Case, o.Worker, o.Answer, g.At))
	g.Case.Turns, g.Case.Candidates = nil, nil
	return Learned{g.Ready, g.Note}, cmp.Or(err, codec.Put(b, key, g, absent))
}

// settle does what an outcome does, in place of what the Advice did before.
func (l *Layer) settle(ctx context.Context, b *store.Batch, g *given, s *shape, strangers []string) error {
	return cmp.Or(l.measure(ctx, b, g, +1), l.credit(ctx, b, g), l.refuse(ctx, b, g, s, strangers), l.keepPlan(ctx, b, g, s))
}

// Judge corrects the verdict on a case: a person has found a delivery wrong, or a failure right. The last
// verdict counts, and takes back what the former gave. A delivery that was wrong stops its plan: it fires
// again after two later deliveries.
func (l *Layer) Judge(ctx context.Context, scope memory.Scope, id string, v Verdict, why string) (learned Learned, err error) {
	err = l.group.Update(ctx, func(b *store.Batch) error {
		learned, err = l.StageJudge(ctx, b, scope, id, v, why)
		return err
	})
	return learned, err
}

// StageJudge puts what Judge does into the commit of a step.
func (l *Layer) StageJudge(ctx context.Context, b *store.Batch, scope memory.Scope, id string, v Verdict, why string) (Learned, error) {
	key := scope.Key(givenKind, id)
	g, unchanged, err := codec.Load[given](ctx, b, key)
	if err = cmp.Or(v.check(), err); err == nil && g.At.IsZero() {
		err = fmt.Errorf("learn: nothing is known of the advice %q: %w", id, store.ErrNotFound)
	}
	if err != nil || v == g.Outcome.Verdict {
		return Learned{g.Ready, g.Note}, err
	}
	if l.clean != nil {
		why = l.clean.Prose(why)
	}
	s, _ := shapeOf(&g.Case)
	err = l.measure(ctx, b, &g, -1)
	g.Outcome.Verdict, g.Outcome.Complaint, g.Ready, g.Judged = v, why, false, l.now()
	err = cmp.Or(err, l.settle(ctx, b, &g, s, []string{g.Heard}), codec.Put(b, key, g, unchanged))
	return Learned{g.Ready, g.Note}, err
}

// keepPlan counts what came of the plan that was made, and adds it to its key where a case was delivered by
// it first. A delivery that a person has found wrong stops the plan. What came of the Advice is taken back.
func (l *Layer) keepPlan(ctx context.Context, b *store.Batch, g *given, s *shape) error {
	c, o := &g.Case, &g.Outcome
	if s.key == "" || o.Plan == nil || len(o.Plan.Calls) == 0 || o.Verdict == Unknown && g.Judged.IsZero() {
		return nil // it has no plan, or nobody could tell
	}
	did, of, delivered := planID(o.Plan.Calls), above(c), o.Verdict == Delivered
	learns, wrong := delivered && !g.Fired && g.Note == "", o.Verdict == Failed && !g.Judged.IsZero()
	change := func(scope memory.Scope, id string, f func(*record)) error {
		return l.edit(ctx, b, scope, planKind, id, func(r *record) (bool, error) {
			for _, p := range r.Plans {
				p.Deliveries = slices.DeleteFunc(slices.Clone(p.Deliveries), func(d *delivery) bool { return d.ID == of })
			}
			if wrong && id == s.key {
				r.add(did, &delivery{ID: of, At: g.Judged, Wrong: true})
			}
			f(r)
			keeps := len(r.Plans)+len(r.Scopes) > 0 // nothing of a case whose plan is one of cases in other words
			if keeps && r.Paths == nil && id == s.key && (scope == c.Scope || len(r.Scopes) > 1) {
				return true, l.word(ctx, b, scope, r, c, s)
			}
			return keeps, nil
		})
	}
	keep := func(r *record) {
		if learns {
			p := r.add(did, &delivery{ID: of, At: g.At, Text: c.Text, Inputs: c.Inputs, Calls: o.Plan.Calls, Applied: g.Applied})
			p.Rules, p.Last = g.Rules, g.At
		}
	}
	g.Ready = g.Fired && delivered
	err := change(c.Scope, s.key, func(r *record) {
		keep(r)
		r.count(did, g.Counted, g.At, -1)
		g.Counted = r.count(did, o.Verdict, g.At, +1)
		if p := r.plan(did); delivered && !g.Ready && p != nil && len(p.Deliveries) > 1 {
			all := merge(c.Scope, []*record{r.read(c.Scope)}, r)
			_, why := all.plan(did).fire(s, c.Scope, all.Plans, nil)
			g.Ready = why == ""
		}
	})
	if len(s.in) > 0 {
		err = cmp.Or(err, change(c.Scope, s.exact, keep))
	}
	if c.Lessons == c.Scope || !learns && g.Judged.IsZero() {
		return err
	}
	return cmp.Or(err, change(c.Lessons, s.key, func(r *record) {
		if learns {
			r.share(c.Scope)
		}
	}))
}

// share puts a scope last among those that came to it.
func (r *record) share(scope memory.Scope) {
	r.Scopes = append(slices.DeleteFunc(slices.Clone(r.Scopes), func(o memory.Scope) bool { return o == scope }), scope)
	r.Scopes = r.Scopes[max(0, len(r.Scopes)-maxScopes):]
}

// above names an Advice among those of all scopes, which may have equal IDs. No ID has a NUL.
func above(c *Case) string { return string(c.Scope) + "\x00" + c.ID }

// measure counts an outcome with those that had memory, or those that the holdout gave nothing, or takes it
// back. Without a holdout nothing is counted: the two would not be alike.
func (l *Layer) measure(ctx context.Context, b *store.Batch, g *given, by int) error {
	o, u := &g.Outcome, cmp.Or(g.Outcome.Usage, &reason.Usage{})
	if l.opts.Holdout == 0 || o.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	key := g.Case.Lessons.Key(upliftKind, "all")
	all, unchanged, err := codec.Load[meta.Arms](ctx, b, key)
	var calls *int
	if o.Usage != nil {
		calls = &u.Calls
	}
	all.Add(!l.holds(&g.Case), o.Verdict == Delivered, calls, cmp.Or(u.CostUSD, u.EstimateUSD), by)
	return cmp.Or(err, codec.Put(b, key, all, unchanged))
}

// Uplift returns what memory is worth in a Lessons scope, since a holdout is set.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (meta.Uplift, error) {
	all, _, err := codec.Load[meta.Arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	return all.Uplift(), err
}

// outcomes are rank's words for verdicts.
var outcomes = map[Verdict]rank.Outcome{Delivered: rank.Delivered, Failed: rank.Failed, Unknown: rank.Unknown}

// credit says what became of the memories that were shown, and of the worker.
func (l *Layer) credit(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	f := memory.Feedback{Key: digest(above(c)), Situation: c.Situation, Shown: g.Shown}
	if o.Verdict == Delivered {
		f.Utilized = o.Utilized
	}
	if o.Verdict != Unknown { // else it takes back what a former verdict gave
		f.Misled = o.Misled
	}
	says := f.Utilized != nil || len(f.Misled) > 0 || !g.Judged.IsZero() // which may take back what it said
	for _, scope := range scopesOf(c) {                                  // each takes what is its own
		if len(g.Shown) == 0 || !says {
			break
		}
		if err := l.bank.In(scope).Stage(b).Feedback(ctx, f); err != nil {
			return err
		}
	}
	if o.Worker == "" {
		return nil
	}
	one := rank.Sample{Run: f.Key, Candidate: o.Worker, Outcome: outcomes[o.Verdict], Task: rank.Task{Skill: c.Skill, Key: c.Situation}, At: g.At}
	if u := o.Usage; u != nil {
		one.Usage = *u
	}
	return l.book.In(c.Lessons).Stage(ctx, b, one)
}

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
		return fmt.Errorf("learn: %w: no verdict: %q", store.ErrInvalid, string(v))
	}
	return nil
}

// Outcome is what came of a case.
type Outcome struct {
	Verdict   Verdict          `cbor:",omitzero"`
	Complaint string           `cbor:",omitzero"` // why it failed, where that is not in Failed
	Failed    []reason.Failure `cbor:",omitzero"` // what was refused, in order; of a call its name is the Skill
	Plan      *reason.Plan     `cbor:",omitzero"` // the calls that were made; nil: those of Fires, else unknown
	Applied   []memory.ID      `cbor:",omitzero"` // memories that shaped the plan: it lapses when one changes
	Utilized  []memory.ID      `cbor:",omitzero"` // memories of the Advice that helped; nil: not known
	Misled    []memory.ID      `cbor:",omitzero"` // those that led astray
	Worker    string           `cbor:",omitzero"` // who answered: ranked by Verdict and Usage; the episode's Ref
	Usage     *reason.Usage    `cbor:",omitzero"`
	Answer    string           `cbor:",omitzero"` // what was said to the user, for the episode
	Untrusted []string         `cbor:",omitzero"` // what strangers said beside the case, as text or JSON
}

// Learned says what After has learned.
type Learned struct {
	Ready bool   `cbor:"8,keyasint,omitzero"` // the plan would fire for this very case, by its own Scope alone
	Note  string `cbor:"6,keyasint,omitzero"` // why a delivery was not learned as a plan
}

// given is what is kept of an Advice and its Outcome, so that it counts once and a verdict can take it back.
type given struct {
	Learned
	Case    Case        `cbor:"1,keyasint,omitzero"`
	Shown   []memory.ID `cbor:"2,keyasint,omitzero"`
	Rules   []string    `cbor:"3,keyasint,omitzero"`
	Fired   bool        `cbor:"4,keyasint,omitzero"` // the plan that fired is what was done
	Outcome Outcome     `cbor:"5,keyasint,omitzero"`
	Applied []applied   `cbor:"7,keyasint,omitzero"`
	At      time.Time   `cbor:"9,keyasint"`
	Judged  time.Time   `cbor:"10,keyasint"`          // by a later verdict
	Counted Verdict     `cbor:"11,keyasint,omitzero"` // what its plan's counters have of it
	Made    memory.ID   `cbor:"12,keyasint,omitzero"` // the failure that is remembered of it
	Heard   string      `cbor:"13,keyasint,omitzero"` // the words of strangers and turns, which are not kept
	Left    bool        `cbor:"14,keyasint,omitzero"` // a call of the fired plan failed, and others were made
	Share   float64     `cbor:"15,keyasint,omitzero"` // the Holdout that it is measured under; 0: it is not
	Held    bool        `cbor:"16,keyasint,omitzero"` // and it got nothing

	shape   *shape     // of Case
	lessons []*warning // of what was refused
}

// After learns from what came of a case. If the case Failed by the plan that fired, or other calls delivered
// it after a call of that plan was in Failed, the plan and its rivals stop: each fires again after two later
// deliveries. After an error call it again: a second After of an Advice changes nothing while Maintain keeps
// its outcome, and returns what the first did. Without a Before, give it an Advice with the Case alone.
func (l *Layer) After(ctx context.Context, a Advice, o Outcome) (learned Learned, err error) {
	stage := l.Stage(ctx, a, o)
	err = l.group.Update(ctx, func(b *store.Batch) error {
		learned, err = stage(ctx, b)
		return err
	})
	return learned, err
}

// Stage returns a function that puts what After does into the commit of a step. All others of the tenant wait
// for a commit: what strangers said is compared before, which takes half a second for each MiB.
func (l *Layer) Stage(
	ctx context.Context, a Advice, o Outcome,
) func(context.Context, *store.Batch) (Learned, error) {
	c, err := l.prepare(a.Case)
	if err = cmp.Or(err, o.Verdict.check()); err != nil {
		return func(context.Context, *store.Batch) (Learned, error) { return Learned{}, err }
	}
	s, unread := shapeOf(&c)
	g := given{Case: c, shape: s, Rules: ruleDigests(a.Memories), At: c.At}
	if a.Fires != nil { // what goes wrong stops all that was delivered until now
		g.At = l.now().In(c.At.Location())
	}
	if a.Why != "" { // Before was asked
		g.Share, g.Held = l.opts.Holdout, l.opts.Holdout > 0 && l.HeldOut(&c)
	}
	switch raw, err := json.Marshal(o.Plan); {
	case err != nil:
		g.Note, o.Plan = "a call has inputs that are no JSON", nil
	case o.Plan != nil && len(raw)+len(c.Text)+len(c.Inputs) > maxPlanBytes:
		g.Note, o.Plan = "the case and its plan are too long to be kept", nil
	}
	o.Usage = (*reason.Usage)(nil).Add(o.Usage) // without what is no figure
	err = clean(l, &o, &o.Complaint, &o.Answer)
	strangers := append(slices.Clip(o.Untrusted), string(c.Data))
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
	switch {
	case unread != "":
		g.Note = unread
	case a.Fires != nil && g.Note == "" && (o.Plan == nil || reason.SameCalls(o.Plan.Calls, a.Fires.Calls)):
		g.Fired, o.Plan = true, a.Fires // which counts, and teaches no new plan
	case o.Plan != nil:
		named := each(o.Failed, func(f reason.Failure) string { return f.Skill })
		failed := func(c reason.PlanCall) bool { return slices.Contains(named, c.Name) }
		g.Left = a.Fires != nil && slices.ContainsFunc(a.Fires.Calls, failed)
		complaints := append(each(o.Failed, func(f reason.Failure) string { return f.Complaint }), o.Complaint)
		complaints = append(complaints, each(a.Warnings, func(w reason.Warning) string { return w.Complaint })...)
		made := func() []*delivery {
			r, no := l.load(ctx, l.group.Store(), c.Scope.Key(planKind, s.key))
			err = cmp.Or(err, no)
			return cmp.Or(r.plan(planID(o.Plan.Calls)), &plan{}).Deliveries
		}
		g.Note = g.tainted(o.Plan.Calls, strangers, complaints, made)
	}
	heard := iar.Words(extract.Said(append(turnsOf(&c), strangers...)...)...)
	g.Heard = head(strings.Join(slices.Sorted(maps.Keys(heard)), " "), memory.MaxText)
	o.Complaint, o.Answer = head(o.Complaint, memory.MaxText), head(o.Answer, memory.MaxText)
	o.Failed = each(o.Failed[max(0, len(o.Failed)-16):], func(f reason.Failure) reason.Failure {
		task := reason.Task{Skill: f.Task.Skill, Worker: f.Worker}
		return reason.Failure{Task: task, Complaint: head(f.Complaint, 4<<10), Gate: f.Gate}
	})
	g.Outcome, g.Outcome.Untrusted = o, nil // what is kept of it for a later verdict
	g.lessons = g.refused(strangers...)
	return func(ctx context.Context, b *store.Batch) (Learned, error) {
		was, absent, no := codec.Load[given](ctx, b, c.Scope.Key(givenKind, c.ID))
		if no != nil || !was.At.IsZero() { // it was told before
			if was.Case.Text != c.Text || string(was.Case.Inputs) != string(c.Inputs) {
				was.Note = "this ID was another case, whose outcome is kept: give one that was edited an ID of its own"
			}
			return was.Learned, no
		}
		return (&step{Layer: l, b: b, given: g, err: err}).settle(ctx, absent)
	}
}

// step learns from an outcome in a commit. What is staged before an error is dropped with it.
type step struct {
	*Layer
	given
	b   *store.Batch
	err error
}

func (w *step) failed(err error) { w.err = cmp.Or(w.err, err) }

// settle does what an outcome does, in place of what the Advice did before, and keeps it.
func (w *step) settle(ctx context.Context, as store.Condition) (Learned, error) {
	w.measure(ctx, +1)
	o := &w.Outcome
	w.failed(extract.Episodes(ctx, w.b, w.bank, &w.Case, o.Worker, o.Answer, o.Verdict == Failed, w.At))
	w.credit(ctx)
	w.refuse(ctx)
	w.keepPlan(ctx)
	w.Case.Turns, w.Case.Data, w.Case.Candidates = nil, nil, nil // a verdict needs what was heard alone
	w.failed(codec.Put(w.b, w.Case.Scope.Key(givenKind, w.Case.ID), w.given, as))
	return w.Learned, w.err
}

// Judge corrects the verdict on a case, by the ID of its Advice: a person has found a delivery wrong, or a
// failure right. The last verdict counts, and takes back what the former has taught; Unknown takes back all.
// A delivery that was wrong stops its plan, see After.
func (l *Layer) Judge(ctx context.Context, scope memory.Scope, id string, v Verdict, why string) error {
	return l.group.Update(ctx, func(b *store.Batch) error { return l.StageJudge(ctx, b, scope, id, v, why) })
}

// StageJudge puts what Judge does into the commit of a step.
func (l *Layer) StageJudge(
	ctx context.Context, b *store.Batch, scope memory.Scope, id string, v Verdict, why string,
) error {
	look := l.in(scope)
	g, unchanged, err := codec.Load[given](ctx, b, look.c.Scope.Key(givenKind, id))
	if err = cmp.Or(look.err, v.check(), err); err == nil && g.At.IsZero() {
		err = fmt.Errorf("learn: nothing is known of the advice %q: %w", id, store.ErrNotFound)
	}
	if err != nil || v == g.Outcome.Verdict && v != Unknown { // it is so already
		return err
	}
	err = clean(l, &why, &why)
	g.shape, _ = shapeOf(&g.Case) // of one that cannot be read Note says so
	w := &step{Layer: l, b: b, given: g, err: err}
	w.measure(ctx, -1)
	w.Outcome.Verdict, w.Outcome.Complaint, w.Ready, w.Judged = v, why, false, l.now()
	if v != Unknown { // else nothing of it counts. Where more was heard than is kept, any word may be of that
		said := append(each(g.Outcome.Failed, func(f reason.Failure) string { return f.Complaint }), why)
		w.lessons = w.refused(strings.Replace(w.Heard, "…", " "+strings.Join(said, " "), 1))
	}
	_, err = w.settle(ctx, unchanged)
	return err
}

// keepPlan keeps what came of the plan that was made, in place of what the Advice came to before: a case that
// it was the first to deliver is a delivery; one that a person found wrong, or a check where the plan fired,
// stops the plans of its key. The record of the key has the counts, too, that of the very case has its
// deliveries for longer, and that of the Lessons scope only names the scope: no case leaves its own.
func (w *step) keepPlan(ctx context.Context) {
	g, c, o, s, again := &w.given, &w.Case, &w.Outcome, w.shape, !w.Judged.IsZero()
	if s.key == "" || o.Plan == nil || len(o.Plan.Calls) == 0 || o.Verdict == Unknown && !again {
		return // it has no plan, or nobody could tell
	}
	id, of, delivered := planID(o.Plan.Calls), adviceID(c), o.Verdict == Delivered
	teaches, wrong := delivered && !g.Fired && g.Note == "", o.Verdict == Failed && (g.Fired || again)
	keep := func(scope memory.Scope, key string) {
		w.edit(ctx, scope.Key(planKind, key), func(r *record) {
			if r.takeBack(of); g.Left && delivered {
				r.stop(of, g.At.Add(-1)) // but what was made instead counts
			}
			switch {
			case wrong:
				r.stop(of, cmp.Or(g.Judged, g.At))
				r.add(id) // for a person to see
			case teaches && scope == c.Scope:
				d := &delivery{ID: of, At: g.At, Text: c.Text, Inputs: c.Inputs, Calls: o.Plan.Calls}
				d.Applied, d.Rules = g.Applied, g.Rules
				r.add(id, d.read())
			case teaches:
				r.share(c.Scope)
			}
			if scope == c.Scope && key == s.key {
				r.count(id, g.Counted, -1)
				g.Counted = r.count(id, o.Verdict, +1)
				if g.Ready = delivered && g.Fired; delivered && !g.Fired { // by what its own scope has delivered
					all := merge(c.Scope, []*record{r}, r, none)
					_, why := cmp.Or(all.plan(id), &plan{}).fire(s, c.Scope, all.Plans, nil)
					g.Ready = why == ""
				}
			}
			w.describe(ctx, scope, key, r)
		})
	}
	keep(c.Scope, s.key)
	if len(s.in) > 0 {
		keep(c.Scope, s.exact)
	}
	if (teaches || wrong || again) && c.Lessons != c.Scope {
		keep(c.Lessons, s.key)
	}
}

// share puts a scope last among those that came to what is kept at a Lessons scope, but for the first two,
// which stay: who comes later, and to something else, is not all the others.
func (r *record) share(scope memory.Scope) {
	n := min(2, len(r.Scopes))
	if first := r.Scopes[:n]; !slices.Contains(first, scope) {
		last := slices.DeleteFunc(slices.Clone(r.Scopes[n:]), func(o memory.Scope) bool { return o == scope })
		r.Scopes = slices.Concat(first, last[max(0, n+len(last)+1-maxScopes):], []memory.Scope{scope})
	}
}

// adviceID names an Advice among those of all scopes, which may have equal IDs. No ID has a NUL.
func adviceID(c *Case) string { return string(c.Scope) + "\x00" + c.ID }

// measure counts an outcome with those that had memory, or those that the holdout gave nothing, or takes it
// back. Cases of another share are counted apart: where their work is unlike, the two would not be alike.
func (w *step) measure(ctx context.Context, by int) {
	if w.Share == 0 || w.Outcome.Verdict == Unknown || w.Case.Fresh {
		return
	}
	key := w.Case.Lessons.Key(upliftKind, fmt.Sprint(w.Share))
	all, unchanged, err := codec.Load[meta.Arms](ctx, w.b, key)
	all.Add(!w.Held, w.Outcome.Verdict == Delivered, w.Outcome.Usage, by)
	w.failed(cmp.Or(err, codec.Put(w.b, key, all, unchanged)))
}

// Uplift returns what memory changes in cases of these Lessons, under the present Holdout. N of 0: unknown.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (meta.Uplift, error) {
	v := l.in(lessons)
	key := v.c.Lessons.Key(upliftKind, fmt.Sprint(l.opts.Holdout))
	all, _, err := codec.Load[meta.Arms](ctx, l.group.Store(), key)
	return all.Uplift(), cmp.Or(v.err, err)
}

// credit says what the memories that were told, and the worker, have done for the case.
func (w *step) credit(ctx context.Context) {
	c, o := &w.Case, &w.Outcome
	f := memory.Feedback{Key: codec.Digest(adviceID(c)), Situation: c.Situation, Shown: w.Shown}
	if o.Verdict == Delivered {
		f.Utilized = o.Utilized
	}
	if o.Verdict != Unknown {
		f.Misled = o.Misled
	}
	says := f.Utilized != nil || len(f.Misled) > 0 || !w.Judged.IsZero() // it may take back what it said
	if says && len(w.Shown) > 0 {
		for _, scope := range scopesOf(c) { // each takes what is its own
			w.failed(w.bank.In(scope).Stage(w.b).Feedback(ctx, f))
		}
	}
	if o.Worker != "" {
		w.failed(w.book.In(c.Lessons).Stage(ctx, w.b, rank.Sample{
			Run: f.Key, Candidate: o.Worker, Outcome: cmp.Or(rank.Outcome(o.Verdict), rank.Unknown), At: w.At,
			Task: rank.Task{Skill: c.Skill, Key: c.Situation}, Usage: *cmp.Or(o.Usage, &reason.Usage{}),
		}))
	}
}

// warning is a class of complaint about a skill or tool in a situation.
type warning struct {
	Skill, Class string
	Said         string   // the complaint with {path} for inputs
	Own          []string // words of the case that it says, see extract.Lesson
	Events       []event  // what came of it, the latest last
}

// event is what came of a case at a warning.
type event struct {
	Advice, Case string // adviceID; shape.exact
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

// agree leaves of what a warning says what another says, too.
func (w *warning) agree(said string) {
	both := func(word string) bool { return holds(said, word) }
	w.Said = extract.Tell()(w.Said, slices.DeleteFunc(strings.FieldsFunc(w.Said, isGap), both))
}

// warning returns the one of a skill and class, a new one where there is none. A word that a check has said
// of a case without it, and that is no name, is its own: it is kept from nobody.
func (r *record) warning(like *warning) *warning {
	same := func(w *warning) bool { return w.Skill == like.Skill && w.Class == like.Class }
	if i := slices.IndexFunc(r.Refused, same); i >= 0 {
		w := r.Refused[i]
		r.Refused = append(slices.Delete(r.Refused, i, i+1), w) // the last stay
		its := func(s string) bool {
			return holds(strings.ToLower(like.Said), s) && !slices.Contains(like.Own, s) && !naming.MatchString(s)
		}
		w.Own = slices.DeleteFunc(slices.Clone(w.Own), its)
		return w
	}
	w := *like
	w.Events = nil
	r.Refused = append(r.Refused, &w)
	return &w
}

// refused returns what was refused of a case, as warnings, which tell others no name that strangers named.
func (g *given) refused(strangers ...string) []*warning {
	c, o, s, refused := &g.Case, &g.Outcome, g.shape, slices.Clone(g.Outcome.Failed)
	calls := cmp.Or(o.Plan, &reason.Plan{}).Calls
	if o.Verdict == Failed && o.Complaint != "" && (len(refused) == 0 || !g.Judged.IsZero()) {
		task := reason.Task{Skill: c.Skill, Worker: o.Worker}
		if after := summary(calls); task.Skill == "" && after != "" {
			task.Skill = "after " + after // it is of all of them
		}
		refused = append(refused, reason.Failure{Task: task, Complaint: o.Complaint})
	}
	made := append(each(calls, func(c reason.PlanCall) string { return string(c.Inputs) }), o.Answer)
	lesson := extract.Lesson(textsOf(c, s), append(made, strangers...))
	return each(refused, func(f reason.Failure) *warning {
		said := strings.TrimSpace(head(join(split(f.Complaint, s.in), brace), maxLesson))
		own, class := lesson(said)
		return &warning{cmp.Or(f.Task.Skill, f.Worker), codec.Digest(iar.Fold(class)), said, own, nil}
	})
}

// refuse takes back what came of the Advice before, and takes in what was refused, or passed then.
func (w *step) refuse(ctx context.Context) {
	g, c, o, s, of := &w.given, &w.Case, &w.Outcome, w.shape, adviceID(&w.Case)
	lessons, calls := slices.Clone(w.lessons), summary(cmp.Or(o.Plan, &reason.Plan{}).Calls)
	w.edit(ctx, c.Scope.Key(warnKind, situationKey(c, s)), func(r *record) {
		r.Situation = c.Situation
		r.takeBack(of)
		for i, lesson := range lessons {
			lessons[i] = r.warning(lesson)
			if lessons[i].agree(lesson.Said); lessons[i].Said == "" { // it needs the names of one case
				lessons[i].Said, lessons[i].Own = lesson.Said, lesson.Own
			}
			lessons[i].Events = append(lessons[i].Events, event{Advice: of, Case: s.exact, At: g.At})
		}
		r.Refused = r.Refused[max(0, len(r.Refused)-maxWarnings):] // the last
		for _, r := range r.Refused {
			last := r.Events[len(r.Events)-1] // of another case nothing is known
			if o.Verdict == Delivered && last.Instead == "" && last.Case == s.exact {
				passed := "another try at the same case" // by the very calls, too
				if strings.TrimPrefix(r.Skill, "after ") != calls {
					passed = cmp.Or(calls, passed)
				}
				r.Events = append(r.Events, event{Advice: of, Case: s.exact, At: g.At, Instead: passed})
			}
			r.Events = r.Events[max(0, len(r.Events)-maxEvents):]
		}
	})
	if len(lessons) > 0 && c.Lessons != c.Scope {
		w.edit(ctx, c.Lessons.Key(warnKind, situationKey(c, s)), func(up *record) { up.share(c.Scope) })
	}
	// The last lesson of a case that failed is remembered, in place of what it did before, for cases that are
	// like it. Nobody vouches for the words of whoever refused it, so that it is not trusted.
	w.failed(w.forget(ctx, w.b, c.Scope, g.Made))
	told := ""
	if n := len(lessons); n > 0 && o.Verdict == Failed {
		told = extract.Tell()(lessons[n-1].Said, lessons[n-1].Own)
	}
	if g.Made = ""; told == "" {
		return
	}
	r, err := w.bank.In(c.Scope).Stage(w.b).Remember(ctx, memory.Draft{
		Kind: memory.Failure, Trigger: triggerOf(c, s), At: g.At, Content: told,
		Source: memory.Source{Origin: memory.Executor, Run: c.ID, Ref: refusedRef},
	})
	if w.failed(err); r.Strengthened == 0 { // else another case has made it
		g.Made = r.ID
	}
}

// triggerOf is what the memory of a refusal is found by, and known for one of the case's own situation.
func triggerOf(c *Case, s *shape) string { return head(cmp.Or(c.Situation, s.template), maxLesson) }

// tainted returns why a plan is not learned: a call says what a stranger said and the case does not, whole or
// as [iar.Copied] finds it, or it quotes a complaint. A member's name counts if made to be copied: a page
// may call a field as a program does. What a delivery had there is none of these.
func (g *given) tainted(calls []reason.PlanCall, said, complaints []string, made func() []*delivery) string {
	mine, theirs := extract.Said(append(wordsOf(g.shape.in), g.Case.Text)...), extract.Said(said...)
	copied := iar.Copied(mine, theirs, extract.Said(complaints...))
	taints := func(value string) bool {
		has := func(t string) bool { return holds(t, value) }
		return !slices.ContainsFunc(mine, has) && (copied(value) || slices.ContainsFunc(theirs, has))
	}
	for i, call := range calls {
		v, err := schema.Read(call.Inputs)
		if err != nil {
			return call.Name + ": " + err.Error()
		}
		for _, l := range append(leaves(v), leaf{"its words", call.Text}) {
			its := func(s slot) bool { return s.leaf == l && len(s.cut) == 1 } // no input said it
			same := func(d *delivery) bool { return slices.ContainsFunc(d.slots[i], its) }
			named := func(name string) bool { return copied(name) && iar.Unsaid(mine, name) && len(made()) == 0 }
			if slices.ContainsFunc(append(strings.Split(l.path, "."), extract.Said(l.path)...), named) ||
				slices.ContainsFunc(extract.Said(word(l.v)), taints) && !slices.ContainsFunc(made(), same) {
				return call.Name + ": " + l.path + " is of a memory, page, message, answer or complaint alone"
			}
		}
	}
	return ""
}

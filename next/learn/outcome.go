package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// given is what is kept of an Advice and its Outcome, so that it counts once and a later verdict can take it back.
type given struct {
	Case    Case
	Shown   []applied
	Rules   []string
	Fired   bool // the plan that fired is what was done
	Outcome Outcome
	Note    string // why a delivery is not learned as a plan
	Applied []applied
	Ready   bool
	At      time.Time
	Judged  time.Time // by a later verdict
	Made    memory.ID // the failure that is remembered of it
}

// After learns from what came of a case. A second After of an Advice changes nothing, and returns what the first
// did. Without a Before, as of a run that began without memory, a zero Advice with a Case is learned from, too.
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
	l.name(&c)
	key := c.Scope.Key(givenKind, c.ID)
	was, absent, err := codec.Load[given](ctx, b, key)
	if err != nil || !was.At.IsZero() {
		return Learned{was.Ready, was.Note}, err
	}
	s, unread := shapeOf(&c)
	g := given{Case: c, Rules: ruleDigests(a.Memories), At: l.now()}
	if o.Plan != nil && slices.ContainsFunc(o.Plan.Calls, func(c reason.PlanCall) bool { return len(c.Inputs) > 0 && !json.Valid(c.Inputs) }) {
		g.Note, o.Plan = "a call has inputs that are no JSON", nil
	}
	if l.clean != nil {
		o.Complaint, o.Answer = l.clean.Prose(o.Complaint), l.clean.Prose(o.Answer)
		if o, err = cleaned(l.clean, o); err != nil {
			return Learned{}, err
		}
	}
	strangers := o.Untrusted
	g.Shown = slices.Grow(g.Shown, len(a.Memories)+len(a.Background))
	for _, h := range slices.Concat(a.Memories, a.Background) {
		m := applied{ID: h.Record.ID, Scope: h.Record.Scope}
		if h.Record.Kind != memory.Rule {
			g.Shown = append(g.Shown, m)
		}
		if slices.Contains(o.Applied, m.ID) {
			m.Said = saying(&h.Record)
			g.Applied = append(g.Applied, m)
		}
		if !h.Record.Trusted {
			strangers = append(strangers, h.Record.Content)
		}
	}
	if g.Fired = a.Fires != nil && g.Note == "" && (o.Plan == nil || samePlan(o.Plan.Calls, a.Fires.Calls)); g.Fired {
		o.Plan = a.Fires
	} else if o.Plan != nil {
		complaints := []string{o.Complaint}
		for _, f := range o.Failed {
			complaints = append(complaints, f.Complaint)
		}
		for _, w := range a.Warnings {
			complaints = append(complaints, w.Complaint)
		}
		if raw, err := json.Marshal(o.Plan); err != nil || len(raw)+len(c.Text)+len(c.Inputs) > maxPlanBytes {
			o.Plan, g.Note = nil, "the case and its plan are too long to be kept"
		} else {
			g.Note = tainted(&c, s, o.Plan.Calls, strangers, complaints)
		}
	}
	if unread != nil {
		g.Note = unread.Error()
	}
	g.Outcome = o
	g.Outcome.trim()
	// What is staged before an error is dropped with the step, so the errors are looked at once.
	err = cmp.Or(l.settle(ctx, b, &g, s, strangers, +1), l.episodes(ctx, b, &g))
	g.Case.Turns, g.Case.Candidates = nil, nil
	return Learned{g.Ready, g.Note}, cmp.Or(err, codec.Put(b, key, g, absent))
}

// settle does what an outcome does, or takes it back where by is -1.
func (l *Layer) settle(ctx context.Context, b *store.Batch, g *given, s *shape, strangers []string, by int) error {
	return cmp.Or(l.measure(ctx, b, g, by), l.credit(ctx, b, g, by), l.refuse(ctx, b, g, s, strangers, by), l.keepPlan(ctx, b, g, s, by))
}

// Judge corrects the verdict on a case: a person has found a delivery wrong, or a failure right. The last verdict
// counts, and takes back what the former gave. A delivery that was wrong stops its plan: it
// fires again after two later deliveries.
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
	err = l.settle(ctx, b, &g, s, nil, -1)
	g.Outcome.Verdict, g.Outcome.Complaint, g.Ready, g.Judged = v, why, false, l.now()
	err = cmp.Or(err, l.settle(ctx, b, &g, s, nil, +1), codec.Put(b, key, g, unchanged))
	return Learned{g.Ready, g.Note}, err
}

// keepPlan counts what came of the plan that was made, and adds it to its key where a case was delivered by it for the
// first time. A delivery that a person has found wrong stops the plan.
func (l *Layer) keepPlan(ctx context.Context, b *store.Batch, g *given, s *shape, by int) error {
	c, o := &g.Case, &g.Outcome
	if s.key == "" || o.Plan == nil || len(o.Plan.Calls) == 0 || o.Verdict == Unknown {
		return nil // it has no plan, or nobody could tell
	}
	delivered, did := o.Verdict == Delivered, planID(o.Plan.Calls)
	learns := delivered && !g.Fired && g.Note == ""
	wrong := o.Verdict == Failed && !g.Judged.IsZero()
	keep := func(r *record) {
		if learns && by > 0 {
			r.add(did, &delivery{ID: above(c), At: g.At, Text: c.Text, Inputs: c.Inputs, Calls: o.Plan.Calls, Applied: g.Applied}, g.Rules)
		}
		r.count(did, o.Verdict, g.At, by)
	}
	stop := func(r *record) {
		if wrong && by > 0 {
			r.of(did).stop(stop{By: above(c), At: g.Judged})
		}
	}
	g.Ready = g.Fired && delivered
	err := l.change(ctx, b, c.Scope, s.key, s, c, func(r *record) {
		keep(r)
		stop(r)
		if by > 0 && delivered && !g.Ready {
			for _, p := range r.read(c.Scope).stands() {
				_, why := p.fire(s, nil, nil)
				g.Ready = g.Ready || p.ID == did && why == ""
			}
		}
	})
	if s.exact != "" {
		err = cmp.Or(err, l.change(ctx, b, c.Scope, s.exact, s, c, keep))
	}
	if c.Lessons == c.Scope || !learns && !wrong {
		return err
	}
	return cmp.Or(err, l.change(ctx, b, c.Lessons, s.key, s, c, func(r *record) {
		if stop(r); learns && by > 0 {
			r.share(c.Scope)
			g.Ready = g.Ready || len(r.Scopes) > 1
		}
	}))
}

// share puts a scope last among those that came to it.
func (r *record) share(scope memory.Scope) {
	r.Scopes = append(slices.DeleteFunc(r.Scopes, func(o memory.Scope) bool { return o == scope }), scope)
	r.Scopes = r.Scopes[max(0, len(r.Scopes)-maxScopes):]
}

// above names an Advice among those of all scopes, which may have equal IDs. No ID has a NUL.
func above(c *Case) string { return string(c.Scope) + "\x00" + c.ID }

// change changes a record, once what came of the Advice before is taken back. That of a key has the words of its
// cases, at a Lessons scope once two scopes came to it.
func (l *Layer) change(ctx context.Context, b *store.Batch, scope memory.Scope, id string, s *shape, c *Case, f func(*record)) error {
	return edit(ctx, b, scope.Key(planKind, id), func(r *record) (bool, error) {
		r.remove(above(c))
		if f(r); r.Paths == nil && id == s.key && (scope == c.Scope || len(r.Scopes) > 1) {
			words := wordsOf(c, s)
			words.Plans, words.Scopes = r.Plans, r.Scopes
			*r = words
		}
		b.After(func(store.Revision) { l.cases.put(scope, id, r) })
		return true, nil
	})
}

// measure counts an outcome with those that had memory, or those that the holdout gave nothing, or takes it back.
// Without a holdout nothing is counted: the two would not be alike.
func (l *Layer) measure(ctx context.Context, b *store.Batch, g *given, by int) error {
	o, u := &g.Outcome, cmp.Or(g.Outcome.Usage, &reason.Usage{})
	if l.opts.Holdout == 0 || o.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	return edit(ctx, b, g.Case.Lessons.Key(upliftKind, "all"), func(all *meta.Arms) (bool, error) {
		var calls *int
		if o.Usage != nil {
			calls = &u.Calls
		}
		all.Add(!l.holds(&g.Case), o.Verdict == Delivered, calls, cmp.Or(u.CostUSD, u.EstimateUSD), by)
		return true, nil
	})
}

// Uplift returns what memory is worth in a Lessons scope, since a holdout is set.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (meta.Uplift, error) {
	if err := lessons.Check(); err != nil {
		return meta.Uplift{}, fmt.Errorf("learn: %w", err)
	}
	all, _, err := codec.Load[meta.Arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	return all.Uplift(), err
}

// outcomes are rank's words for verdicts.
var outcomes = map[Verdict]rank.Outcome{Delivered: rank.Delivered, Failed: rank.Failed, Unknown: rank.Unknown}

// credit says what became of the memories that were shown, and of the worker.
func (l *Layer) credit(ctx context.Context, b *store.Batch, g *given, by int) error {
	c, o := &g.Case, &g.Outcome
	if by < 0 {
		return nil // what comes next of the Advice replaces the former
	}
	for _, scope := range scopesOf(c) {
		f := memory.Feedback{Key: c.ID, Situation: c.Situation, Shown: make([]memory.ID, 0, len(g.Shown))}
		for _, m := range g.Shown {
			if m.Scope == scope {
				f.Shown = append(f.Shown, m.ID)
			}
		}
		of := func(ids []memory.ID) []memory.ID {
			return slices.DeleteFunc(slices.Clone(ids), func(id memory.ID) bool { return !slices.Contains(f.Shown, id) })
		}
		if o.Verdict == Delivered {
			f.Utilized = of(o.Utilized)
		}
		if o.Verdict != Unknown { // else it takes back what a former verdict gave
			f.Misled = of(o.Misled)
		}
		if len(f.Shown) > 0 {
			if err := l.bank.In(scope).Stage(b).Feedback(ctx, f); err != nil {
				return err
			}
		}
	}
	if o.Worker == "" {
		return nil
	}
	one := rank.Sample{Run: c.ID, Candidate: o.Worker, Outcome: outcomes[o.Verdict], Task: rank.Task{Skill: c.Skill, Key: c.Situation}, At: g.At}
	if u := o.Usage; u != nil {
		one.Usage = *u
	}
	return l.book.In(c.Lessons).Stage(ctx, b, one)
}

// maxEpisodes are kept of a scope, the last ones.
const maxEpisodes = 256

// episodes keeps what was said: in the scope of the case, which all agents share, and in that of the agent with it.
func (l *Layer) episodes(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	if c.Actor == "" || c.Text+o.Answer == "" {
		return nil
	}
	d := memory.Draft{Kind: memory.Episode, Content: c.Text, Actor: c.Actor, Thread: c.Session, At: g.At,
		Key: "episode " + c.ID, Source: memory.Source{Origin: memory.User, Run: c.ID}}
	if o.Answer != "" {
		d.Content += "\n→ " + o.Answer
	}
	d.Content = head(d.Content, memory.MaxText)
	scopes := []memory.Scope{c.Scope}
	if o.Worker != "" {
		scopes = append(scopes, memory.Scope(strings.Trim(string(c.Scope)+"/agent/"+strings.ReplaceAll(o.Worker, "/", "_"), "/")))
	}
	for _, scope := range scopes {
		r, err := l.bank.In(scope).Stage(b).Remember(ctx, d)
		if err != nil {
			return err
		}
		err = edit(ctx, b, scope.Key(episodeKind, "last"), func(last *[]memory.ID) (bool, error) {
			*last = append(*last, r.ID)
			if len(*last) <= maxEpisodes {
				return true, nil
			}
			oldest := (*last)[0]
			*last = (*last)[1:]
			if err := l.bank.In(scope).Stage(b).Forget(ctx, oldest); !errors.Is(err, store.ErrNotFound) {
				return true, err
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

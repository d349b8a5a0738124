package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
	"github.com/arc-learn/arc/next/store"
	"github.com/arc-learn/arc/next/store/badger"
)

// Layer advises before a case is worked on, and learns from what came of it.
type Layer struct {
	opts  Options
	group *store.Group
	bank  *memory.Bank
	book  *rank.Book
	meta  *meta.Sessions // nil: sessions are the owner's
	seed  uint64         // of IDs
	made  atomic.Uint64  // ids made
	close func() error
}

// Bounds of an Advice.
const (
	maxMemories    = 8
	maxSuggestions = 3
)

// The kinds of keys of this package.
const (
	planKind    = "lp" // by key of a shape: record of its plans
	warnKind    = "lw" // by situation: record of what was refused
	givenKind   = "lg" // by ID of the Advice: given
	episodeKind = "le" // episodes kept in the scope
	upliftKind  = "lu"
)

// Open opens the Layer of a tenant, that of Options.Scope, in a directory. The root package's Agent may have the same
// directory at another time: they share the keys.
func Open(ctx context.Context, dir string, o *Options) (*Layer, error) {
	st, err := badger.Open(ctx, dir, nil)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	l, err := New(ctx, st, o)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	parts := l.close
	l.close = func() error { return errors.Join(parts(), st.Close()) }
	return l, nil
}

// New opens the Layer of a tenant, that of Options.Scope, over a store of all tenants, which stays its owner's.
func New(ctx context.Context, st store.Store, o *Options) (*Layer, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	g := store.NewGroup(store.Sub(st, opts.Scope.TenantPrefix()))
	if err := g.Refresh(ctx); err != nil { // what others commit from now on comes with the next one
		return nil, fmt.Errorf("learn: %w", err)
	}
	m := memory.Options{}
	if opts.Memory != nil {
		m = *opts.Memory
	}
	if m.Now == nil {
		m.Now = opts.Now
	}
	if opts.Sanitizer == nil {
		opts.Sanitizer = redact.New(nil)
	}
	if m.Sanitizer == nil {
		m.Sanitizer = opts.Sanitizer
	}
	bank, err := memory.OpenGroup(ctx, g, &m)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	book, err := rank.Open(ctx, g, &rank.Options{Now: opts.Now, Seed: opts.Seed})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("learn: %w", err), bank.Close())
	}
	l, err := With(g, bank, book, meta.New(g), &opts)
	if err != nil {
		return nil, errors.Join(err, bank.Close())
	}
	l.close = bank.Close
	return l, nil
}

// Memory returns the memory of a scope.
func (l *Layer) Memory(scope memory.Scope) memory.Space { return l.bank.In(scope) }

// Sessions returns the outcomes by session, to be assessed.
func (l *Layer) Sessions() *meta.Sessions { return l.meta }

// With returns the Layer over the parts of a tenant, which stay their owner's. The Group is the one that the parts
// commit by. Sessions is nil where the owner records each try by itself.
func With(g *store.Group, bank *memory.Bank, book *rank.Book, sessions *meta.Sessions, o *Options) (*Layer, error) {
	l := &Layer{group: g, bank: bank, book: book, meta: sessions, close: func() error { return nil }}
	if o != nil {
		l.opts = *o
	}
	if l.opts.Holdout < 0 || l.opts.Holdout >= 1 {
		return nil, fmt.Errorf("learn: a holdout of %v is not in [0, 1)", l.opts.Holdout)
	}
	if l.opts.Now == nil {
		l.opts.Now = time.Now
	}
	if l.seed = l.opts.Seed; l.seed == 0 {
		l.seed = rand.Uint64()
	}
	return l, nil
}

// Close ends what Open has opened.
func (l *Layer) Close() error { return l.close() }

// Before returns what is known about a case. Where it returns an error, the Advice is empty and usable all the same:
// a host may go on without.
func (l *Layer) Before(ctx context.Context, c Case) (Advice, error) {
	c, err := l.check(c)
	if err != nil {
		return Advice{}, err
	}
	c.ID = cmp.Or(c.ID, l.id())
	a := Advice{Case: c}
	if len(c.Candidates) > 0 {
		t := rank.Task{Skill: c.Skill, Key: c.Situation}
		if a.Ranked, err = l.book.In(c.Lessons).Learned().Score(ctx, t, c.Candidates); err != nil {
			return a, err
		}
	}
	if err := l.group.Refresh(ctx); err != nil {
		return a, err
	}
	if c.Fresh || l.holds(&c) {
		a.Why = "nothing is recalled for a case that is fresh or held out"
		return a, nil
	}
	full := a
	if err := l.advise(ctx, &full); err != nil {
		return a, err
	}
	return full, nil
}

// id makes an ID.
func (l *Layer) id() string {
	return digest(fmt.Sprint(l.seed, l.opts.Now().UnixNano(), l.made.Add(1)))
}

// holds draws whether a case is held out, to measure what memory is worth: a function of seed and ID.
func (l *Layer) holds(c *Case) bool {
	var n uint64
	fmt.Sscanf(digest(fmt.Sprint(l.opts.Seed, c.ID))[:13], "%x", &n)
	return !c.Fresh && float64(n)/(1<<52) < l.opts.Holdout
}

// advise adds what is known of cases of the same key and, where nothing fires, of cases that are like it.
func (l *Layer) advise(ctx context.Context, a *Advice) error {
	c := &a.Case
	s, err := shapeOf(c)
	if err != nil {
		a.Why, s = err.Error(), &shape{}
	}
	ask := queries(c, s)
	if _, err = l.recall(ctx, a, s, ask[0]); err != nil {
		return err
	}
	if s.key == "" {
		_, err = l.recall(ctx, a, s, ask[1:]...)
		return err
	}
	if err = l.warn(ctx, a, s); err != nil {
		return err
	}
	suggest := func(sg reason.Suggestion, differs string) {
		same := func(o reason.Suggestion) bool { return samePlan(o.Calls, sg.Calls) }
		if len(a.Suggestions) < maxSuggestions && !slices.ContainsFunc(a.Suggestions, same) {
			sg.Name, sg.Differs = fmt.Sprint("plan ", len(a.Suggestions)+1), differs
			a.Suggestions = append(a.Suggestions, sg)
		}
	}
	found, over, err := l.plans(ctx, c, s.key, s.exact)
	if err != nil {
		return err
	}
	for _, r := range over {
		for _, sg := range r.edits(found) {
			suggest(sg, "a person has written it")
		}
	}
	for _, p := range found {
		calls, why := p.fire(s, found, ruleDigests(a.Memories))
		if why == "" {
			a.Fires, a.Suggestions, a.Why = &reason.Plan{Calls: calls}, nil, ""
			return nil
		}
		if sg, ok := p.suggestion(s, c.Text); ok {
			suggest(sg, why)
		}
		if a.Why == "" && !p.exact {
			a.Why = why
		}
	}
	a.Why = cmp.Or(a.Why, "no case of these words and inputs was delivered")
	near, err := l.recall(ctx, a, s, ask[1:]...)
	if err == nil {
		near, err = l.like(ctx, near, c, s)
	}
	for _, at := range near {
		of := *c
		of.Scope = at.scope
		found, _, no := l.plans(ctx, &of, at.key, "")
		for _, p := range found {
			if sg, ok := p.suggestion(s, c.Text); ok {
				suggest(sg, at.differs(c, s))
			}
		}
		err = cmp.Or(err, no)
	}
	return err
}

// Why says in a sentence why nothing fires for a case, or what does.
func (l *Layer) Why(ctx context.Context, c Case) (string, error) {
	c, err := l.check(c)
	a := Advice{Case: c}
	if err == nil {
		err = l.advise(ctx, &a)
	}
	if a.Fires != nil {
		a.Why = "a plan fires: " + summary(a.Fires.Calls)
	}
	return a.Why, err
}

// scopesOf are the scopes that a case has plans from: its own, and that of its Lessons.
func scopesOf(c *Case) []memory.Scope {
	if c.Lessons == c.Scope {
		return []memory.Scope{c.Scope}
	}
	return []memory.Scope{c.Scope, c.Lessons}
}

// plans returns the plans of a key, best first: those of the very case, those of the case's scope, and those that two
// scopes of its Lessons came to. Over are the records in which a person may have said something of them.
func (l *Layer) plans(ctx context.Context, c *Case, key, exact string) (out []*plan, over []*record, err error) {
	at := func(scope memory.Scope, key string) (r *record) {
		v, _, no := load[record](ctx, l.group.Store(), scope.Key(planKind, key))
		err = cmp.Or(err, no)
		return &v
	}
	own := at(c.Scope, key)
	up := own
	if over = []*record{own}; c.Lessons != c.Scope {
		up = at(c.Lessons, key)
		over = append(over, up)
	}
	if exact != "" {
		for _, p := range at(c.Scope, exact).read(c.Scope, over...) {
			if p.exact = true; !p.Retired {
				out = append(out, p)
			}
		}
	}
	out = append(out, own.read(c.Scope, up)...)
	var shared []*plan
	for _, scope := range up.Scopes {
		for _, p := range at(scope, key).read(scope, up) {
			i := slices.IndexFunc(shared, func(o *plan) bool { return o.ID == p.ID })
			if i < 0 {
				shared = append(shared, p)
				continue
			}
			o := shared[i]
			o.shared = true // what only one scope came to is not told to others
			o.Delivered, o.Failed = o.Delivered+p.Delivered, o.Failed+p.Failed
			if o.Deliveries = append(o.Deliveries, p.Deliveries...); p.Last.After(o.Last) {
				o.Last, o.Rules = p.Last, p.Rules
			}
		}
	}
	shared = slices.DeleteFunc(shared, func(p *plan) bool { return !p.shared })
	for _, p := range shared {
		slices.SortStableFunc(p.Deliveries, func(a, b *delivery) int { return a.At.Compare(b.At) })
	}
	slices.SortStableFunc(shared, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	out = append(out, shared...)
	return out, over, cmp.Or(err, l.lapse(ctx, out))
}

// given is what is kept of an Advice and its Outcome, so that it counts once and a later verdict can take it back.
type given struct {
	Case    Case
	Shown   []applied
	Rules   []string
	FiredBy string // the plan that fired
	Fired   bool   // it is what was done
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
	c.ID = cmp.Or(c.ID, l.id())
	key := c.Scope.Key(givenKind, c.ID)
	was, rev, err := load[given](ctx, b, key)
	if err != nil || rev.known {
		return Learned{was.Ready, was.Note}, err
	}
	g := given{Case: c, Rules: ruleDigests(a.Memories), FiredBy: planID(a.Fires), At: l.opts.Now()}
	if o.Plan != nil && slices.ContainsFunc(o.Plan.Calls, func(c reason.PlanCall) bool { return len(c.Inputs) > 0 && !json.Valid(c.Inputs) }) {
		g.Note, o.Plan = "a call has inputs that are no JSON", nil
	}
	if s := l.opts.Sanitizer; s != nil {
		s = s.KeepPlaceholders()
		o.Complaint, o.Answer = s.Prose(o.Complaint), s.Prose(o.Answer)
		if o, err = clean(s, o); err != nil {
			return Learned{}, err
		}
	}
	strangers := o.Untrusted
	for _, h := range slices.Concat(a.Memories, a.Background) {
		m := applied{ID: h.Record.ID, Scope: h.Record.Scope, Said: saying(&h.Record)}
		if h.Record.Kind != memory.Rule {
			g.Shown = append(g.Shown, m)
		}
		if slices.Contains(o.Applied, m.ID) {
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
			g.Note = tainted(&c, o.Plan.Calls, strangers, complaints)
		}
	}
	g.Outcome = o
	g.Outcome.trim()
	// What is staged before an error is dropped with the step, so the errors are looked at once.
	err = cmp.Or(l.settle(ctx, b, &g, strangers, +1), l.episodes(ctx, b, &g), l.session(ctx, b, &g))
	g.Case.Turns, g.Case.Candidates = nil, nil
	return Learned{g.Ready, g.Note}, cmp.Or(err, put(b, key, &g, rev))
}

// settle does what an outcome does, or takes it back where by is -1.
func (l *Layer) settle(ctx context.Context, b *store.Batch, g *given, strangers []string, by int) error {
	s, err := shapeOf(&g.Case)
	if err != nil {
		g.Note, s = err.Error(), &shape{}
	}
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
	g, rev, err := load[given](ctx, b, key)
	if err = cmp.Or(v.check(), err); err == nil && !rev.known {
		err = fmt.Errorf("learn: nothing is known of the advice %q: %w", id, store.ErrNotFound)
	}
	if err != nil || v == g.Outcome.Verdict {
		return Learned{g.Ready, g.Note}, err
	}
	if s := l.opts.Sanitizer; s != nil {
		why = s.KeepPlaceholders().Prose(why)
	}
	err = l.settle(ctx, b, &g, nil, -1)
	g.Outcome.Verdict, g.Outcome.Complaint, g.Ready, g.Judged = v, why, false, l.opts.Now()
	err = cmp.Or(err, l.settle(ctx, b, &g, nil, +1), put(b, key, &g, rev))
	return Learned{g.Ready, g.Note}, err
}

// keepPlan adds the delivery of a plan to its key, or counts what a plan that fired came to. A delivery that a person
// has found wrong stops the plan.
func (l *Layer) keepPlan(ctx context.Context, b *store.Batch, g *given, s *shape, by int) error {
	c, o := &g.Case, &g.Outcome
	delivered, did := o.Verdict == Delivered, planID(o.Plan)
	if s.key == "" || o.Plan == nil || o.Verdict == Unknown {
		return nil // it has no plan, or nobody could tell
	}
	counts := g.FiredBy != "" && (g.Fired || len(o.Failed) > 0)
	learns := !g.Fired && delivered && g.Note == "" && len(o.Plan.Calls) > 0
	wrong := o.Verdict == Failed && !g.Judged.IsZero()
	keep := func(r *record) {
		switch {
		case counts && g.Fired && delivered:
			r.count(g.FiredBy, by, 0, g.At)
		case counts:
			r.count(g.FiredBy, 0, by, g.At)
		}
		switch {
		case learns && by > 0:
			r.add(&delivery{ID: c.ID, At: g.At, Text: c.Text, Inputs: c.Inputs, Calls: o.Plan.Calls, Applied: g.Applied}, g.Rules)
		case learns:
			r.count(did, -1, 0, g.At)
		}
	}
	stop := func(r *record, id string) {
		if wrong && by > 0 {
			r.of(did).keep(&delivery{ID: id, At: g.Judged, Wrong: true})
		}
	}
	g.Ready = g.Fired && delivered
	err := l.change(ctx, b, c.Scope, s.key, s, c, func(r *record) {
		keep(r)
		stop(r, c.ID)
		for _, p := range r.read(c.Scope) {
			_, why := p.fire(s, nil, nil)
			g.Ready = g.Ready || by > 0 && delivered && p.ID == did && why == ""
		}
	})
	if s.exact != "" {
		err = cmp.Or(err, l.change(ctx, b, c.Scope, s.exact, s, c, keep))
	}
	if c.Lessons == c.Scope || !learns && !wrong {
		return err
	}
	return cmp.Or(err, l.change(ctx, b, c.Lessons, s.key, s, c, func(r *record) {
		if stop(r, c.above()); learns && by > 0 {
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

// above names an Advice at a Lessons scope, where the scopes below may have equal IDs. No ID has a NUL.
func (c *Case) above() string { return string(c.Scope) + "\x00" + c.ID }

// change changes a record, once what came of the Advice before is taken back. That of a key has the words of its
// cases, at a Lessons scope once two scopes came to it.
func (l *Layer) change(ctx context.Context, b *store.Batch, scope memory.Scope, id string, s *shape, c *Case, f func(*record)) error {
	return edit(ctx, b, scope.Key(planKind, id), func(r *record) (bool, error) {
		r.remove(c.ID)
		r.remove(c.above())
		if f(r); r.Paths != nil || id != s.key || scope != c.Scope && len(r.Scopes) < 2 {
			return true, nil
		}
		r.Situation, r.Conditions, r.Goals, r.Template, r.Paths = c.Situation, c.Conditions, c.Goals, s.template, []string{}
		for _, v := range s.in {
			r.Paths = append(r.Paths, v.path)
		}
		return true, l.keepPointer(ctx, b, scope, c, s)
	})
}

// Maintain deletes what is kept of outcomes for longer than a time, at least 90 days, after which no verdict corrects
// them; and the plans that were delivered once in that time, and not again. It returns how many.
func (l *Layer) Maintain(ctx context.Context, scope memory.Scope, age time.Duration) (deleted int, err error) {
	if err := scope.Check(); err != nil {
		return 0, fmt.Errorf("learn: %w", err)
	}
	st, before := l.group.Store(), l.opts.Now().Add(-max(age, 90*24*time.Hour))
	for _, kind := range []string{givenKind, planKind} {
		for e, err := range st.Scan(ctx, store.Range{Prefix: scope.Prefix(kind)}) {
			old := false
			if err == nil && kind == givenKind {
				var g given
				err = codec.Unmarshal(e.Value, &g)
				old = g.At.Before(before)
			} else if err == nil {
				var r record
				err = codec.Unmarshal(e.Value, &r)
				old = len(r.Scopes) == 0 && !slices.ContainsFunc(r.Plans, func(p *plan) bool {
					return p.Retired || p.Edit != nil || len(p.Deliveries) > 1 || !p.Last.Before(before)
				})
			}
			if err == nil && old {
				err = l.group.Update(ctx, func(b *store.Batch) error { return b.Delete(e.Key, store.At(e.Rev)) })
				deleted++
			}
			if err != nil && !errors.Is(err, store.ErrConflict) {
				return deleted, fmt.Errorf("learn: %s: %w", e.Key, err)
			}
		}
	}
	return deleted, nil
}

// version is the revision of what was read.
type version struct {
	rev   store.Revision
	known bool
}

// reader is a Store or a Batch.
type reader interface {
	Get(ctx context.Context, key string) (store.Entry, error)
}

func load[T any](ctx context.Context, from reader, key string) (v T, at version, err error) {
	e, err := from.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return v, version{}, nil
	}
	if err == nil {
		err = codec.Unmarshal(e.Value, &v)
	}
	if err != nil {
		return v, version{}, fmt.Errorf("learn: %s: %w", key, err)
	}
	return v, version{e.Rev, true}, nil
}

func put[T any](b *store.Batch, key string, v *T, at version) error {
	raw, err := codec.Marshal(v)
	if err != nil {
		return fmt.Errorf("learn: %s: %w", key, err)
	}
	return b.Put(key, raw, store.At(at.rev))
}

// edit changes what is kept at a key, unless f says that nothing has changed.
func edit[T any](ctx context.Context, b *store.Batch, key string, f func(*T) (changed bool, err error)) error {
	v, at, err := load[T](ctx, b, key)
	if err != nil {
		return err
	}
	if changed, err := f(&v); err != nil || !changed {
		return err
	}
	return put(b, key, &v, at)
}

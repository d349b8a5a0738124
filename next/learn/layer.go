package learn

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	made  atomic.Uint64  // ids made
	close func() error
}

// The kinds of keys of this package.
const (
	planKind    = "lp" // by key of a shape: record
	warnKind    = "lw" // by situation: warnings
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
	l.opts.K, l.opts.Suggest = cmp.Or(l.opts.K, 8), cmp.Or(l.opts.Suggest, 3)
	if l.opts.Holdout < 0 || l.opts.Holdout >= 1 {
		return nil, fmt.Errorf("learn: a holdout of %v is not in [0, 1)", l.opts.Holdout)
	}
	if l.opts.Now == nil {
		l.opts.Now = time.Now
	}
	if l.opts.Seed == 0 {
		var b [8]byte
		crand.Read(b[:]) // never fails
		l.opts.Seed = binary.LittleEndian.Uint64(b[:])
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
	a := Advice{ID: c.ID, Case: c}
	if a.ID == "" {
		a.ID = digest(fmt.Sprint(l.opts.Seed, l.opts.Now().UnixNano(), l.made.Add(1), c.Scope, c.Text))
	}
	if a.Ranked, err = l.rank(ctx, &c); err != nil {
		return a, err
	}
	if err := l.group.Refresh(ctx); err != nil {
		return a, err
	}
	if a.Held = !c.Fresh && l.holds(a.ID); a.Held || c.Fresh {
		a.Why = "nothing is recalled for a case that is fresh or held out"
		return a, nil
	}
	full := a
	if err := l.advise(ctx, &full); err != nil {
		return a, err
	}
	return full, nil
}

// holds draws whether a case is held out: a function of seed and ID.
func (l *Layer) holds(id string) bool {
	var n uint64
	fmt.Sscanf(digest(fmt.Sprint(l.opts.Seed, id))[:13], "%x", &n)
	return float64(n)/(1<<52) < l.opts.Holdout
}

func (l *Layer) rank(ctx context.Context, c *Case) ([]rank.Scored, error) {
	if len(c.Candidates) == 0 {
		return nil, nil
	}
	policy := l.opts.Policy
	if policy == nil {
		policy = l.book.In(c.Lessons).Learned()
	}
	return policy.Score(ctx, rank.Task{Skill: c.Skill, Key: c.Situation}, c.Candidates)
}

func (l *Layer) advise(ctx context.Context, a *Advice) error {
	s, err := shapeOf(&a.Case)
	if err != nil {
		a.Why = err.Error()
		s = &shape{}
	}
	if _, err := l.recall(ctx, a, s, false); err != nil {
		return err
	}
	var shown []reason.Suggestion
	if s.key != "" {
		if shown, err = l.fires(ctx, a, s); err == nil {
			err = l.warn(ctx, a, s)
		}
		if err != nil || a.Fires != nil {
			return err
		}
	}
	near, err := l.recall(ctx, a, s, true)
	if err != nil || s.key == "" {
		return err
	}
	told := func(h memory.Hit) bool { // what is warned of is said once
		return slices.ContainsFunc(a.Warnings, func(w reason.Warning) bool { return w.Complaint == h.Record.Content })
	}
	a.Memories, a.Background = slices.DeleteFunc(a.Memories, told), slices.DeleteFunc(a.Background, told)
	return l.suggest(ctx, a, s, shown, near)
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

// fires finds the plan that fires, or else says why none does, and returns the plans of the key as they are shown.
func (l *Layer) fires(ctx context.Context, a *Advice, s *shape) (shown []reason.Suggestion, err error) {
	c, rules := &a.Case, ruleDigests(a.Memories)
	found, edits, err := l.contenders(ctx, c, s.key, s.exact)
	if err != nil {
		return nil, err
	}
	for i := range edits {
		if sg, ok := edits[i].suggestion(found); ok {
			shown = append(shown, sg)
		}
	}
	for _, p := range found {
		calls, why := p.fire(s)
		if why == "" {
			why = p.rival(found)
		}
		if why == "" && slices.ContainsFunc(rules, func(r string) bool { return !slices.Contains(p.Rules, r) }) {
			why = "there is a rule that its last deliberation did not know"
		}
		if why == "" {
			a.Fires, a.FiredBy, a.Why = &reason.Plan{Calls: calls}, p.ID, ""
			return nil, nil
		}
		if sg, ok := p.suggestion(s, c.Text); ok {
			sg.Differs = why
			shown = append(shown, sg)
		}
		if a.Why == "" && !p.exact {
			a.Why = why
		}
	}
	a.Why = cmp.Or(a.Why, "no case of these words and inputs was delivered")
	return shown, nil
}

// suggest adds the plans of the key, and those of keys whose cases are like it.
func (l *Layer) suggest(ctx context.Context, a *Advice, s *shape, shown []reason.Suggestion, near []pointed) error {
	c := &a.Case
	near, err := l.like(ctx, near, c, s)
	if err != nil {
		return err
	}
	for _, at := range near {
		of := *c
		of.Scope = at.scope
		found, _, err := l.contenders(ctx, &of, at.key, "")
		if err != nil {
			return err
		}
		for _, p := range found {
			if sg, ok := p.suggestion(s, c.Text); ok {
				sg.Differs = at.differs(c, s)
				shown = append(shown, sg)
			}
		}
	}
	for _, sg := range shown {
		same := func(o reason.Suggestion) bool { return samePlan(o.Plan.Calls, sg.Plan.Calls) }
		if len(a.Suggestions) < l.opts.Suggest && !slices.ContainsFunc(a.Suggestions, same) {
			sg.Name = fmt.Sprint("plan ", len(a.Suggestions)+1)
			a.Suggestions = append(a.Suggestions, sg)
		}
	}
	return nil
}

// scopesOf are the scopes that a case has plans from: its own, and that of its Lessons.
func scopesOf(c *Case) []memory.Scope {
	if c.Lessons == c.Scope {
		return []memory.Scope{c.Scope}
	}
	return []memory.Scope{c.Scope, c.Lessons}
}

// contenders returns the plans of a key, best first: those of the very case, those of the case's scope, and those that
// scopes of its Lessons share; and what a person has written over them.
func (l *Layer) contenders(ctx context.Context, c *Case, key, exact string) (out []*contender, edits []edit, err error) {
	st := l.group.Store()
	own, _, err := load[record](ctx, st, c.Scope.Key(planKind, key))
	if err != nil {
		return nil, nil, err
	}
	shared := own
	if c.Lessons != c.Scope {
		if shared, _, err = load[record](ctx, st, c.Lessons.Key(planKind, key)); err != nil {
			return nil, nil, err
		}
		own.obey(&shared)
	}
	if exact != "" {
		very, _, err := load[record](ctx, st, c.Scope.Key(planKind, exact))
		if err != nil {
			return nil, nil, err
		}
		very.Stops = own.Stops
		for _, p := range very.contenders(c.Scope) {
			p.exact = true
			if !own.retired(p.ID) && !shared.retired(p.ID) {
				out = append(out, p)
			}
		}
	}
	out = append(out, own.contenders(c.Scope)...)
	if out, err = l.valid(ctx, out); err != nil || len(shared.Scopes) == 0 {
		return out, own.Edits, err
	}
	all := make(map[string]*contender)
	for _, scope := range shared.Scopes {
		r, _, err := load[record](ctx, st, scope.Key(planKind, key))
		if err != nil {
			return nil, nil, err
		}
		r.obey(&shared)
		r.Stops = append(r.Stops, shared.Stops...)
		for _, p := range r.contenders(scope) {
			o := all[p.ID]
			if o == nil {
				all[p.ID], p.shared = p, true
				continue
			}
			o.Delivered, o.Failed = o.Delivered+p.Delivered, o.Failed+p.Failed
			o.of = append(o.of, p.of...)
			if p.Last.After(o.Last) {
				o.Last, o.Rules = p.Last, p.Rules
			}
		}
	}
	var more []*contender
	for _, p := range all {
		scopes := make(map[memory.Scope]bool)
		for _, d := range p.of {
			scopes[d.scope] = true
		}
		if len(scopes) > 1 { // what only one scope came to is not told to others
			slices.SortStableFunc(p.of, func(a, b *compared) int { return a.At.Compare(b.At) })
			more = append(more, p)
		}
	}
	slices.SortFunc(more, func(a, b *contender) int {
		return cmp.Or(cmp.Compare(b.worth(), a.worth()), strings.Compare(a.ID, b.ID))
	})
	more, err = l.valid(ctx, more)
	return append(out, more...), own.Edits, err
}

// given is what is kept of an Advice and its Outcome, so that it counts once and a later verdict can take it back.
type given struct {
	ID      string
	Case    Case
	Shown   []applied
	Rules   []string
	FiredBy string
	Fired   bool // what fired is what was done
	Held    bool
	Outcome Outcome
	Learned Learned
	At      time.Time
	Made    []memory.ID // of the case's scope, to be taken back
}

// plainly returns the calls that were made, with {name} for what is the case's own and is not in a text.
func (g *given) plainly(text string) []reason.PlanCall {
	if g.Outcome.Plan == nil {
		return nil
	}
	r := record{}
	r.add(delivery{Text: g.Case.Text, Inputs: g.Case.Inputs, Calls: g.Outcome.Plan.Calls}, nil)
	for _, p := range r.contenders("") {
		sg, _ := p.suggestion(&shape{}, text)
		return sg.Plan.Calls
	}
	return nil
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
	if err = cmp.Or(err, o.Verdict.check()); err == nil {
		o, err = l.cleanOutcome(o)
	}
	if err != nil {
		return Learned{}, err
	}
	if a.ID == "" {
		a.ID = cmp.Or(c.ID, digest(fmt.Sprint(l.opts.Seed, l.opts.Now().UnixNano(), l.made.Add(1))))
	}
	key := c.Scope.Key(givenKind, a.ID)
	was, rev, err := load[given](ctx, b, key)
	if err != nil {
		return Learned{}, err
	}
	if rev.known {
		return was.Learned, nil
	}
	g := given{ID: a.ID, Case: c, Rules: ruleDigests(a.Memories), FiredBy: a.FiredBy, Held: a.Held, Outcome: o, At: l.opts.Now()}
	for _, h := range slices.Concat(a.Memories, a.Background) {
		if h.Record.Kind != memory.Rule {
			g.Shown = append(g.Shown, applied{ID: h.Record.ID, Scope: h.Record.Scope})
		}
		if !h.Record.Trusted {
			o.Untrusted = append(o.Untrusted, h.Record.Content)
		}
	}
	if o.Plan == nil && o.Use != "" {
		if o.Plan, err = a.Use(o.Use, nil); err != nil { // somebody else filled it: what was done is not known
			a.Fires, o.Plan = nil, nil
		}
		g.Outcome.Plan = o.Plan
	}
	if a.Fires != nil && (o.Plan == nil || samePlan(o.Plan.Calls, a.Fires.Calls)) {
		g.Fired, g.Outcome.Plan = true, a.Fires
	} else if o.Plan != nil {
		complaints := []string{o.Complaint}
		for _, f := range o.Failed {
			complaints = append(complaints, f.Complaint)
		}
		for _, w := range a.Warnings {
			complaints = append(complaints, w.Complaint)
		}
		g.Learned.Note = tainted(&c, o.Plan.Calls, o.Untrusted, complaints)
	}
	if g.Outcome.trim(); o.Plan != nil && size(c.Text, c.Inputs, o.Plan.Calls) > maxPlanBytes {
		g.Outcome.Plan, g.Learned.Note = nil, "the case and its plan are too long to be kept"
	}
	// What is staged before an error is dropped with the step, so the errors are looked at once.
	err = cmp.Or(l.settle(ctx, b, &g, o.Untrusted, +1), l.episodes(ctx, b, &g), l.session(ctx, b, &g))
	g.Case.Turns, g.Case.Candidates = nil, nil
	return g.Learned, cmp.Or(err, put(b, key, &g, rev))
}

// settle does what an outcome does, or takes it back where by is -1.
func (l *Layer) settle(ctx context.Context, b *store.Batch, g *given, untrusted []string, by int) error {
	o := &g.Outcome
	s, err := shapeOf(&g.Case)
	if err != nil {
		g.Learned.Note = err.Error()
		s = &shape{}
	}
	err = l.stageUplift(ctx, b, g, by)
	if by > 0 {
		err = cmp.Or(err, l.credit(ctx, b, g))
	}
	if o.Verdict != Unknown || len(o.Failed) > 0 {
		err = cmp.Or(err, l.stageWarnings(ctx, b, g, s, untrusted, by))
	}
	if s.key != "" && o.Plan != nil && o.Verdict != Unknown {
		err = cmp.Or(err, l.stagePlan(ctx, b, g, s, by))
	}
	return err
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
	switch err = cmp.Or(v.check(), err); {
	case err != nil:
		return Learned{}, err
	case !rev.known:
		return Learned{}, fmt.Errorf("%w: %q", ErrUnknown, id)
	case v == g.Outcome.Verdict:
		return g.Learned, nil
	}
	err = l.settle(ctx, b, &g, nil, -1)
	if s := l.opts.Sanitizer; s != nil {
		why = s.KeepPlaceholders().Prose(why)
	}
	g.Outcome.Verdict, g.Outcome.Complaint = v, why
	g.Learned = Learned{Note: g.Learned.Note, Memories: g.Learned.Memories}
	if g.Outcome.Sample != nil {
		g.Outcome.Sample.Outcome = outcomes[v]
	}
	err = cmp.Or(err, l.settle(ctx, b, &g, nil, +1), l.stop(ctx, b, &g))
	return g.Learned, cmp.Or(err, put(b, key, &g, rev))
}

// stagePlan adds the delivery of a plan to its key, or counts what a plan that fired came to.
func (l *Layer) stagePlan(ctx context.Context, b *store.Batch, g *given, s *shape, by int) error {
	c, o := &g.Case, &g.Outcome
	if g.FiredBy != "" && (g.Fired || len(o.Failed) > 0) {
		delivered := g.Fired && o.Verdict == Delivered
		err := l.changeBoth(ctx, b, s, c, func(r *record) {
			if delivered {
				r.count(g.FiredBy, by, 0, g.At)
			} else {
				r.count(g.FiredBy, 0, by, g.At)
			}
		})
		if err != nil || g.Fired {
			g.Learned.Plan, g.Learned.Ready = g.FiredBy, delivered
			return err
		}
	}
	id := planID(o.Plan.Calls)
	if by < 0 {
		return l.changeBoth(ctx, b, s, c, func(r *record) {
			r.remove(g.ID)
			if o.Verdict == Delivered && g.Learned.Plan != "" {
				r.count(id, -1, 0, g.At)
			}
		})
	}
	if o.Verdict != Delivered || g.Learned.Note != "" || len(o.Plan.Calls) == 0 {
		return nil
	}
	applied, err := l.applied(ctx, c, o.Applied)
	if err != nil {
		return err
	}
	d := delivery{ID: g.ID, At: g.At, Text: c.Text, Inputs: c.Inputs, Calls: o.Plan.Calls, Applied: applied}
	g.Learned.Plan = id
	err = l.changeBoth(ctx, b, s, c, func(r *record) {
		r.add(d, g.Rules)
		for _, p := range r.contenders(c.Scope) {
			if p.ID == id && !g.Learned.Ready {
				_, why := p.fire(s)
				g.Learned.Ready = why == ""
			}
		}
	})
	if err != nil || c.Lessons == c.Scope {
		return err
	}
	return l.change(ctx, b, c.Lessons, s.key, s, c, func(r *record) {
		r.Scopes = append(slices.DeleteFunc(r.Scopes, func(o memory.Scope) bool { return o == c.Scope }), c.Scope)
		r.Scopes = r.Scopes[max(0, len(r.Scopes)-maxScopes):]
		g.Learned.Ready = g.Learned.Ready || len(r.Scopes) > 1
	})
}

// stop keeps the plan of a wrong delivery from firing by earlier deliveries, in its scope and where it is shared; or
// takes that back.
func (l *Layer) stop(ctx context.Context, b *store.Batch, g *given) error {
	c := &g.Case
	s, err := shapeOf(c)
	if err != nil || g.Outcome.Plan == nil {
		return nil // it has no plan
	}
	at := stop{Plan: planID(g.Outcome.Plan.Calls), By: g.ID, At: l.opts.Now()}
	for _, scope := range scopesOf(c) {
		err := l.change(ctx, b, scope, s.key, s, c, func(r *record) {
			r.Stops = slices.DeleteFunc(r.Stops, func(o stop) bool { return o.By == g.ID })
			if g.Outcome.Verdict == Failed {
				r.Stops = append(r.Stops, at)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeBoth changes the record of a case's key in its scope, and that of the very case.
func (l *Layer) changeBoth(ctx context.Context, b *store.Batch, s *shape, c *Case, f func(*record)) error {
	err := l.change(ctx, b, c.Scope, s.key, s, c, f)
	if s.exact != "" {
		err = cmp.Or(err, l.change(ctx, b, c.Scope, s.exact, s, c, f))
	}
	return err
}

// change changes the record of a key. A Lessons scope has the words of its cases once two scopes came to a plan.
func (l *Layer) change(ctx context.Context, b *store.Batch, scope memory.Scope, id string, s *shape, c *Case, f func(*record)) error {
	key := scope.Key(planKind, id)
	r, rev, err := load[record](ctx, b, key)
	if err != nil {
		return err
	}
	f(&r)
	r.Stops = r.Stops[max(0, len(r.Stops)-8):]
	if r.Paths == nil && id == s.key && (scope == c.Scope || len(r.Scopes) > 1) {
		r.Situation, r.Conditions, r.Goals, r.Template, r.Paths = c.Situation, c.Conditions, c.Goals, s.template, []string{}
		for _, v := range s.in {
			r.Paths = append(r.Paths, v.path)
		}
		if err := l.keepPointer(ctx, b, scope, c, s); err != nil {
			return err
		}
	}
	return put(b, key, &r, rev)
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
				old = len(r.Scopes)+len(r.Edits) == 0 && !slices.ContainsFunc(r.Plans, func(p plan) bool {
					return p.Retired || len(p.Deliveries) > 1 || !p.Last.Before(before)
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

func summary(calls []reason.PlanCall) string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// Layer advises before a case is worked on, and learns from what came of it.
type Layer struct {
	opts  Options
	group *store.Group
	bank  *memory.Bank
	book  *rank.Book
	now   func() time.Time
	clean *redact.Sanitizer           // nil: the owner has cleaned what it gives
	read  *lru.Cache[string, *record] // by their keys
	seed  uint64                      // of IDs
	made  atomic.Uint64               // ids made
	close func() error
}

// Bounds of an Advice.
const (
	maxMemories    = 8
	maxSuggestions = 3
	maxLike        = 12  // keys that a case is compared with beside its own
	maxShown       = 2   // of these, whose plans are shown: more make the prompt longer, and hardly better
	maxRead        = 256 // records that are kept as they were read
)

// The kinds of keys of this package.
const (
	planKind   = "lp" // by key of a shape: record of its plans
	warnKind   = "lw" // by situation: record of what was refused
	givenKind  = "lg" // by ID of the Advice: given
	upliftKind = "lu"
)

// Open opens the Layer of a tenant, that of Options.Scope, in a directory. The root package's Agent may have
// the same directory at another time: they share the keys.
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

// New opens the Layer of a tenant, that of Options.Scope, over a store of all tenants, which it does not own.
func New(ctx context.Context, st store.Store, o *Options) (*Layer, error) {
	opts := *cmp.Or(o, &Options{})
	m := *cmp.Or(opts.Memory, &memory.Options{})
	g := store.NewGroup(store.Sub(st, opts.Scope.TenantPrefix()))
	if err := g.Refresh(ctx); err != nil { // what others commit from now on comes with the next one
		return nil, fmt.Errorf("learn: %w", err)
	}
	m.Sanitizer = cmp.Or(m.Sanitizer, redact.New(nil))
	bank, err := memory.OpenGroup(ctx, g, &m)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	book, err := rank.Open(ctx, g, m.Now, opts.Seed, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("learn: %w", err), bank.Close())
	}
	l, err := With(g, bank, book, &opts)
	if err != nil {
		return nil, errors.Join(err, bank.Close())
	}
	l.clean, l.close = m.Sanitizer.KeepPlaceholders(), bank.Close // what was cleaned is the same case
	return l, nil
}

// With returns the Layer over the parts of a tenant, which stay their owner's. The Group is the one that the
// parts commit by. Nothing is sanitised: the owner has done that.
func With(g *store.Group, bank *memory.Bank, book *rank.Book, o *Options) (l *Layer, err error) {
	l = &Layer{opts: *cmp.Or(o, &Options{}), group: g, bank: bank, book: book, close: func() error { return nil }}
	if l.opts.Holdout < 0 || l.opts.Holdout >= 1 {
		return nil, fmt.Errorf("learn: a holdout of %v is not in [0, 1)", l.opts.Holdout)
	}
	l.seed = cmp.Or(l.opts.Seed, rand.Uint64())
	l.now = call.Clock(cmp.Or(l.opts.Memory, &memory.Options{}).Now)
	l.read, err = lru.New[string, *record](maxRead)
	return l, err
}

// Memory returns the memory of a scope.
func (l *Layer) Memory(scope memory.Scope) memory.Space { return l.bank.In(scope) }

// Close ends what Open has opened.
func (l *Layer) Close() error { return l.close() }

// Before returns what is known about a case. After an error the Advice is empty and usable: a host may go on.
func (l *Layer) Before(ctx context.Context, c Case) (Advice, error) {
	c, err := l.check(c)
	if err != nil {
		return Advice{}, err
	}
	a := Advice{Case: c}
	if len(c.Candidates) > 0 {
		a.Ranked, err = l.book.In(c.Lessons).Learned().Score(ctx, rank.Task{Skill: c.Skill, Key: c.Situation}, c.Candidates)
		if err != nil {
			return a, err
		}
	}
	if err := l.group.Refresh(ctx); err != nil {
		return a, err
	}
	if c.Fresh || l.opts.Holdout > 0 && l.holds(&c) {
		a.Why = "nothing is recalled for a case that is fresh or held out"
		return a, nil
	}
	full := a
	if err := l.advise(ctx, &full); err != nil {
		return a, err
	}
	return full, nil
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
		a.Why = err.Error()
	}
	ask := queries(c, s)
	if err = l.recall(ctx, a, s, ask[0]); err != nil {
		return err
	}
	if s.key == "" {
		return l.recall(ctx, a, s, ask[1:]...)
	}
	a.Warnings, err = l.warnings(ctx, c, s, situationKey(c, s))
	found, no := l.plans(ctx, c, s, s.key)
	if err = cmp.Or(err, no); err != nil {
		return err
	}
	suggest := func(sg reason.Suggestion, differs string) {
		same := func(o reason.Suggestion) bool { return samePlan(o.Calls, sg.Calls) }
		if len(sg.Calls) > 0 && len(a.Suggestions) < maxSuggestions && !slices.ContainsFunc(a.Suggestions, same) {
			sg.Name, sg.Differs = fmt.Sprint("plan ", len(a.Suggestions)+1), differs
			a.Suggestions = append(a.Suggestions, sg)
		}
	}
	for _, p := range found.Plans {
		if p.Edit != nil {
			suggest(reason.Suggestion{Plan: reason.Plan{Calls: slices.Clone(p.Edit)}, Parameters: parameters(p.Edit, nil)},
				"a person has written it")
		}
	}
	fires := func(plans []*plan, now *shape) bool {
		for _, p := range plans {
			calls, why := p.fire(now, c.Scope, plans, ruleDigests(a.Memories))
			if why == "" {
				a.Fires, a.Suggestions, a.Why = &reason.Plan{Calls: calls}, nil, "a plan fires: "+summary(calls)
				return true
			}
			p.why, a.Why = why, cmp.Or(a.Why, why)
		}
		return false
	}
	said := copies(found.Plans) // that get a why which those in words must not have
	if fires(said, s) {
		return nil
	}
	for _, p := range said {
		suggest(p.suggestion(s, c.Text), p.why)
	}
	keys, err := l.like(ctx, c, s)
	near, same := make([]*record, len(keys)), []*record{found}
	for i := 0; i < len(keys) && err == nil; i++ {
		if near[i], err = l.plans(ctx, c, s, keys[i]); near[i].differs(c, s) == otherWords {
			same = append(same, near[i])
		}
	}
	if err != nil || len(same)+len(found.Plans) > 1 && fires(merge(c.Scope, same, found).inWords(c, s)) {
		return err
	}
	a.Why = cmp.Or(a.Why, "no case of these words and inputs was delivered")
	for _, r := range near[:min(len(near), maxShown)] {
		for _, p := range r.Plans {
			suggest(p.suggestion(s, c.Text), r.differs(c, s))
		}
	}
	return l.recall(ctx, a, s, ask[1:]...)
}

// Why is Advice.Why of the case, as if it were neither Fresh nor held out.
func (l *Layer) Why(ctx context.Context, c Case) (string, error) {
	c, err := l.check(c)
	a := Advice{Case: c}
	err = cmp.Or(err, l.advise(ctx, &a))
	return a.Why, err
}

// scopesOf are the scopes that a case has plans from: its own, and that of its Lessons.
func scopesOf(c *Case) []memory.Scope { return slices.Compact([]memory.Scope{c.Scope, c.Lessons}) }

// Maintain deletes what is kept of outcomes for longer than a time, at least 90 days, after which no verdict
// corrects them; and the plans that were delivered once in that time, though they fire for other texts.
func (l *Layer) Maintain(ctx context.Context, scope memory.Scope, age time.Duration) (deleted int, err error) {
	st, before := l.group.Store(), l.now().Add(-max(age, 90*24*time.Hour))
	drop := func(old bool, e store.Entry, of memory.ID) error {
		if !old {
			return nil
		}
		err := l.group.Update(ctx, func(b *store.Batch) error {
			if err := l.bank.In(casesOf(scope)).Stage(b).Forget(ctx, of); of != "" && err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return b.Delete(e.Key, store.At(e.Rev))
		})
		if errors.Is(err, store.ErrConflict) {
			return nil // it was used meanwhile
		}
		deleted++
		return err
	}
	err = scan(ctx, st, scope, givenKind, func(_ string, e store.Entry, g *given) error {
		return drop(g.At.Before(before), e, "")
	})
	return deleted, cmp.Or(err, scan(ctx, st, scope, planKind, func(_ string, e store.Entry, r *record) error {
		kept := func(p *plan) bool {
			return p.Retired || p.Edit != nil || len(p.Deliveries) > 1 || !p.Last.Before(before)
		}
		return drop(len(r.Scopes) == 0 && !slices.ContainsFunc(r.Plans, kept), e, r.Like)
	}))
}

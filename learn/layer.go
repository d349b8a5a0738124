// Package learn is the layer around any loop: what a check has passed is used again, what a check refused is
// warned of, and the difference is measured.
//
// A [Layer] has two calls. [Layer.Before] gives [Advice] on a [Case]: memories, what was refused before and
// what passed instead, and plans. [Layer.After] learns from the [Outcome]. A plan that two deliveries of
// cases with equal words have in common fires: no model is asked. What is like it is shown with what differs.
//
// layer.go has Before, outcome.go After, plan.go what fires. See docs/start.md. Safe for concurrent use.
package learn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// Case is what is to be done. Before looks at ID, Scope to Text, Inputs, and Conditions to Fresh.
type Case = reason.Case

// Advice is what Before knows about a case. The zero Advice is usable. It survives JSON. After takes it once.
// The calls that it suggests are shared: a host copies them to change them.
type Advice struct {
	Case                 // with what is Known of it
	Ranked []rank.Scored // Case.Candidates in order
	Why    string        // why nothing fires, or what does, in a sentence
}

// Options of a Layer. Nil and the zero value are the defaults.
type Options struct {
	Scope   memory.Scope // the scope of a Case that has none; its tenant is that of the Layer
	Holdout float64      // the share of cases that gets nothing, by chance, in [0, 1)
	Seed    uint64       // of the holdout and of IDs; 0: IDs are made by chance
	// Memory is of Open and New; With takes its Now, the clock of the whole Layer. Its Sanitizer (nil:
	// redact.New(nil)) cleans cases, outcomes and verdicts, too, before they are kept or shown.
	Memory *memory.Options
}

// prepare returns the case with its defaults and nothing that is known of it, or why it cannot be used.
func (l *Layer) prepare(c Case) (_ Case, err error) {
	c.Known, c.Lineage, c.Answers, c.Complaint = reason.Known{}, nil, nil, ""
	if now := l.now(); c.At.IsZero() || c.At.After(now) {
		c.At = now
	}
	if c.ID == "" {
		c.ID = codec.Digest(fmt.Sprint(l.seed, l.now().UnixNano(), l.made.Add(1)))
	}
	c.Scope = cmp.Or(c.Scope, l.opts.Scope, "_") // one spelling of no scope
	c.Lessons = cmp.Or(c.Lessons, c.Scope)
	c.Inputs = append(json.RawMessage(nil), c.Inputs...) // nil where it is empty, which is no JSON
	c.Text, c.Situation = strings.ToValidUTF8(c.Text, "\uFFFD"), strings.ToValidUTF8(c.Situation, "\uFFFD")
	if err := c.Check(); err != nil {
		return c, fmt.Errorf("learn: %w", err)
	}
	if c.Scope.Tenant() != l.opts.Scope.Tenant() {
		const why = "learn: %w: the scope %q is of another tenant than %q"
		return c, fmt.Errorf(why, store.ErrInvalid, c.Scope, l.opts.Scope)
	}
	err = clean(l, &c, &c.Text, &c.Situation)
	if len(c.Turns) > 0 { // "yes" is another case in another conversation
		c.Conditions = append(slices.Clip(c.Conditions), "after turns "+codec.Digest(encode(c.Turns)))
	}
	c.Conditions = slices.Compact(slices.Sorted(slices.Values(c.Conditions))) // a set
	return c, err
}

// clean puts in the place of a value a copy without declared secrets, and tokens of issuers' forms, in its
// strings. Some of these are prose, of which more goes.
func clean[T any](l *Layer, v *T, prose ...*string) error {
	if l.clean == nil {
		return nil
	}
	for _, s := range prose {
		*s = l.clean.Prose(*s)
	}
	raw, err := schema.Marshal(*v)
	if err == nil {
		*v = *new(T) // nothing of it is left in the copy
		err = json.Unmarshal(l.clean.Data(raw), v)
	}
	return err
}

// Layer advises before a case is worked on, and learns from what came of it.
type Layer struct {
	opts    Options
	group   *store.Group
	bank    *memory.Bank
	book    *rank.Book
	now     func() time.Time
	clean   *redact.Sanitizer           // nil: the owner has cleaned what it gives
	read    *lru.Cache[string, *record] // records as they were decoded, by key
	seed    uint64                      // of IDs
	made    atomic.Uint64               // ids made
	close   func() error
	compact func(context.Context) error // the files of Open
}

// Bounds of an Advice.
const (
	maxMemories    = 8
	maxSuggestions = 3
	maxLike        = 12  // keys that a case is compared with beside its own
	maxRead        = 256 // records that are kept as they were read

	planKind   = "lp" // kinds of keys; this by key of a shape: record of its plans
	warnKind   = "lw" // by situation: record of what was refused
	givenKind  = "lg" // by ID of the Advice: given
	upliftKind = "lu"
	otherWords = "it is said in other words" // of cases that differ in nothing else
	untold     = "a check refused it, in words of another case"
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
	l.close = func() error { return errors.Join(l.bank.Close(), st.Close()) }
	l.compact = st.Compact
	return l, nil
}

// New opens the Layer of a tenant, that of Options.Scope, over a store of all tenants, which it does not own.
// Over one that is no [store.Changer] open one of a tenant: a second does not see what the first learns.
func New(ctx context.Context, st store.Store, o *Options) (*Layer, error) {
	opts := *cmp.Or(o, &Options{})
	if _, part := st.(interface{ Prefix() string }); part || call.None(st) {
		return nil, errors.New("learn: no store, or store.Sub: give it one of store.NewMem() or badger.Open")
	}
	m := *cmp.Or(opts.Memory, &memory.Options{})
	g := store.NewGroup(store.Sub(st, opts.Scope.TenantPrefix()))
	m.Sanitizer = cmp.Or(m.Sanitizer, redact.New(nil))
	bank, err := memory.Open(ctx, g, &m)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	book, no := rank.Open(ctx, g, m.Now, opts.Seed, nil)
	l, err := With(g, bank, book, &opts)
	if err = cmp.Or(no, err); err != nil {
		return nil, errors.Join(err, bank.Close())
	}
	l.clean, l.close = m.Sanitizer.KeepPlaceholders(), bank.Close // what was cleaned is the same case
	return l, nil
}

// With returns the Layer over parts of a tenant that somebody else owns, who sanitises what it is given, and
// closes them. The Group is the one that the parts commit by.
func With(g *store.Group, bank *memory.Bank, book *rank.Book, o *Options) (l *Layer, err error) {
	l = &Layer{opts: *cmp.Or(o, &Options{}), group: g, bank: bank, book: book}
	l.close, l.compact = func() error { return nil }, func(context.Context) error { return nil }
	if !(l.opts.Holdout >= 0 && l.opts.Holdout < 1) {
		return nil, fmt.Errorf("learn: a holdout of %v is not in [0, 1)", l.opts.Holdout)
	}
	l.seed = cmp.Or(l.opts.Seed, rand.Uint64())
	l.now = call.Clock(cmp.Or(l.opts.Memory, &memory.Options{}).Now)
	l.read, err = lru.New[string, *record](maxRead)
	return l, err
}

// Memory returns the memory of a scope. Its Erase is that of the Layer. That of another tenant no case finds.
func (l *Layer) Memory(scope memory.Scope) memory.Space { return l.bank.In(l.in(scope).c.Scope) }

// Close ends what Open and New have opened; a store that New was given stays open.
func (l *Layer) Close() error { return l.close() }

// Before returns what is known now about a case, whatever its At. After an error the Advice has the case
// alone: a host may go on, and give it to After. A Case that is malformed or too large is a store.ErrInvalid.
func (l *Layer) Before(ctx context.Context, c Case) (Advice, error) {
	c, err := l.prepare(c)
	if err != nil {
		return Advice{Case: c}, err // which After refuses, too
	}
	a, task := Advice{Case: c}, rank.Task{Skill: c.Skill, Key: c.Situation}
	if err = l.group.Refresh(ctx); err == nil { // what other processes have committed
		a.Ranked, err = l.book.In(c.Lessons).Learned().Score(ctx, task, c.Candidates)
	}
	if err == nil && (c.Fresh || l.opts.Holdout > 0 && l.HeldOut(&c)) {
		a.Why = fmt.Sprintf("nothing is recalled for this case: fresh is %t, held out %t", c.Fresh, !c.Fresh)
	} else if err == nil {
		if err = l.advise(ctx, &a); err != nil { // an Advice is whole or has nothing
			a = Advice{Case: c, Ranked: a.Ranked}
		}
	}
	return a, err
}

// HeldOut reports whether the Holdout leaves a case with nothing, as Seed and its Run, or else ID, decide.
func (l *Layer) HeldOut(c *Case) bool {
	n, _ := strconv.ParseUint(codec.Digest(fmt.Sprint(l.opts.Seed, cmp.Or(c.Run, c.ID)))[:13], 16, 64) // 52 bits
	return float64(n)/(1<<52) < l.opts.Holdout
}

// look reads what is known for a case. It keeps the first error, after which what it has read is dropped.
type look struct {
	*Layer
	c    *Case
	s    *shape
	err  error
	from []*record // the last sources
}

// in looks at what is known in a scope, for no case.
func (l *Layer) in(scope memory.Scope) *look {
	c, err := l.prepare(Case{ID: "any", Scope: scope})
	return &look{Layer: l, c: &c, s: &shape{}, err: err}
}

// advise adds all that is known of a case. Where a plan fires nobody thinks: what is trusted is told.
func (l *Layer) advise(ctx context.Context, a *Advice) error {
	s, why := shapeOf(&a.Case)
	a.Why = why // it has no plans, but memories
	v, ask := &look{Layer: l, c: &a.Case, s: s}, queries(&a.Case, s)
	v.recall(ctx, a, ask[0])
	if s.key != "" {
		v.advisePlans(ctx, a)
	}
	if a.Fires == nil {
		v.recall(ctx, a, ask[1:]...)
	}
	return v.err
}

// advisePlans adds warnings, and the plan that fires or, if none does, those to suggest: what a person has
// written first, then plans of the case's key, then those of cases that are like it.
func (v *look) advisePlans(ctx context.Context, a *Advice) {
	c, s := v.c, v.s
	tell := extract.Tell(append(textsOf(c, s), c.Situation, string(c.Data))...)
	a.Warnings = v.warnings(ctx, situationKey(c, s), func(w *warning) string { return tell(w.Said, w.Own) })
	found := v.plans(ctx, s.key)
	for _, p := range found.Plans {
		why := a.try(p, s, found.Plans)
		if why == "" {
			return // and nothing is suggested
		}
		a.suggest(p.suggestion(s, c.Text), why)
	}
	alike := v.like(ctx) // the most like first
	more := func(r *record) bool { return r.differs(c, s) != otherWords }
	same := append([]*record{found}, slices.DeleteFunc(slices.Clone(alike), more)...)
	plans, now := merge(c.Scope, same, found, none).inWords(c, s)
	for _, p := range plans {
		if a.try(p, now, plans) == "" {
			return
		}
	}
	a.Why = cmp.Or(a.Why, "no plan was learned of these words and inputs")
	for _, r := range alike[:min(1, len(alike))] { // plans of more keys make the prompt longer, and no better
		for _, p := range r.Plans {
			a.suggest(p.suggestion(s, c.Text), r.differs(c, s))
		}
	}
}

// try has a plan fire for the case, in place of all suggestions, or returns why it must not.
func (a *Advice) try(p *plan, now *shape, all []*plan) (why string) {
	calls, why := p.fire(now, a.Scope, all, ruleDigests(a.Memories))
	if a.Why = cmp.Or(a.Why, why); why == "" { // else it is of the best plan
		a.Fires, a.Suggestions = &reason.Plan{ID: now.key + "/" + p.ID, Calls: calls}, nil
		a.Why = "a plan fires: " + summary(calls)
	}
	return why
}

// suggest adds a plan that has calls, unless the same are suggested.
func (a *Advice) suggest(s reason.Suggestion, differs string) {
	same := func(o reason.Suggestion) bool { return reason.SameCalls(o.Calls, s.Calls) }
	may := len(s.Calls) > 0 && !s.Retired && len(a.Suggestions) < maxSuggestions
	if may && !slices.ContainsFunc(a.Suggestions, same) {
		s.Name, s.Differs = fmt.Sprint("plan ", len(a.Suggestions)+1), differs
		a.Suggestions = append(a.Suggestions, s)
	}
}

// scopesOf are the scopes that a case has plans from: its own, and that of its Lessons.
func scopesOf(c *Case) []memory.Scope { return slices.Compact([]memory.Scope{c.Scope, c.Lessons}) }

// Maintain deletes outcomes that are older than age (0: 90 days), which no verdict can correct afterwards,
// and what nobody came to again in that time: plans that were delivered once, though they fire for other
// texts, and warnings without a Situation. It returns how many. Scopes below keep theirs: call it for each.
func (l *Layer) Maintain(ctx context.Context, scope memory.Scope, age time.Duration) (n int, err error) {
	v, before := l.in(scope), l.now().Add(-cmp.Or(max(0, age), 90*24*time.Hour))
	outcomes := l.group.Store().Scan(ctx, store.Range{Prefix: v.c.Scope.Key(givenKind, "")})
	var unread error // of outcomes, which stay
	n, err = codec.Sweep(ctx, l.group, outcomes, func(e store.Entry) bool {
		var g given
		if no := codec.Unmarshal(e.Value, &g); no != nil {
			unread = fmt.Errorf("learn: %s: %w", e.Key, no)
			return false
		}
		return v.err == nil && g.At.Before(before)
	}, false)
	v.scan(ctx, func(e store.Entry, _ string) {
		if v.outlived(ctx, e.Key, before) && v.err == nil {
			was := n
			v.err = l.change(ctx, e.Key, func(r *record) { // which may be called again
				if n = was; r.rev == e.Rev { // else somebody came to it just now
					*r = record{Like: r.Like}
					n++
				}
			})
		}
	}, planKind, warnKind)
	return n, cmp.Or(err, v.err, unread)
}

// Erase removes all that is kept of the scope and of those below it, see docs/recipes.md for what may stay.
// After an error call it again. Where an Agent has runs in the store call its View.Erase, which ends them.
func (l *Layer) Erase(ctx context.Context, scope memory.Scope) error {
	if v := l.in(scope); scope == "" || v.err != nil {
		return cmp.Or(v.err, fmt.Errorf("learn: %w: Erase wants a scope that is named", store.ErrInvalid))
	}
	return errors.Join(l.bank.In(scope).Erase(ctx), l.compact(ctx))
}

// Forget deletes a case, by the ID of its Advice: outcome, episode, what was learned of it, and memories of
// the scope with the ID as Source.Run. What stays are figures of workers, what came to a Lessons scope, a
// complaint that other cases came to, too, and, as a list of words, what later cases were told of it. A later
// After keeps it again. Without an outcome the rest is deleted, and it is [store.ErrNotFound].
func (l *Layer) Forget(ctx context.Context, scope memory.Scope, id string) error {
	v := l.in(scope)
	key, of := v.c.Scope.Key(givenKind, id), adviceID(&Case{Scope: v.c.Scope, ID: id})
	err := l.group.Update(ctx, func(b *store.Batch) error {
		return cmp.Or(l.StageJudge(ctx, b, scope, id, Unknown, ""), b.Delete(key, store.Any))
	})
	kept, _ := codec.Marshal(of)                // with its length, and so no longer one
	v.scan(ctx, func(e store.Entry, _ string) { // what came of an outcome that Maintain has deleted
		if bytes.Contains(e.Value, kept[1:]) {
			v.err = l.change(ctx, e.Key, func(r *record) { r.takeBack(of) })
		}
	}, planKind, warnKind)
	_, no := l.Memory(scope).Revoke(ctx, memory.Source{Run: id})
	return cmp.Or(v.err, no, err)
}

// outlived reports whether nobody came to a record since a time, and nobody needs it: no plan was delivered
// twice, edited or retired. Warnings of a Situation are needed, since the host names it and has few of them;
// so is what a Lessons scope shares, while one below it has its own.
func (v *look) outlived(ctx context.Context, key string, since time.Time) bool {
	scope, kind, id, _ := store.ParseKey(key)
	r := v.record(ctx, scope, kind, id)
	needed := func(p *plan) bool { return p.Retired || p.Edit != nil || len(p.Deliveries) > 1 }
	named := r.Situation != "" && len(r.Refused) > 0
	has := func(by memory.Scope) bool { return v.record(ctx, by, kind, id) != noRecord }
	return !r.At.IsZero() && r.At.Before(since) && !named &&
		!slices.ContainsFunc(r.Plans, needed) && !slices.ContainsFunc(r.Scopes, has)
}

// scan calls f with the entries of some kinds in the scope, until there is an error.
func (v *look) scan(ctx context.Context, f func(e store.Entry, id string), kinds ...string) {
	for _, kind := range kinds {
		prefix := v.c.Scope.Key(kind, "")
		for e, err := range v.group.Store().Scan(ctx, store.Range{Prefix: prefix}) {
			if v.err = cmp.Or(v.err, err); v.err != nil {
				return
			}
			f(e, strings.TrimPrefix(e.Key, prefix))
		}
	}
}

// forget forgets a memory, if one is named and no person has forgotten it.
func (l *Layer) forget(ctx context.Context, b *store.Batch, scope memory.Scope, id memory.ID) error {
	if id != "" {
		if err := l.bank.In(scope).Stage(b).Forget(ctx, id); !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// queries asks for the memories of a case: for what is trusted, with the rules; then, where somebody has to
// think, for the lessons of its situation; and for what nobody vouches for, what was only said last.
func queries(c *Case, s *shape) []memory.Query {
	data, _ := schema.Read(c.Data)
	text := c.Text + "\n" + word(data) // a message; an object or a list is none
	for _, t := range c.Turns[max(0, len(c.Turns)-6):] {
		if t.Role == reason.RoleUser {
			text += "\n" + t.Text
		}
	}
	kinds := []memory.Kind{memory.Rule, memory.Pattern, memory.Failure, memory.Fact, memory.Episode}
	return []memory.Query{
		{Text: text, K: maxMemories, Kinds: kinds, Trust: memory.Trusted, Linked: true},
		{Text: c.Situation + "\n" + s.template, K: maxMemories / 2, Kinds: kinds[1:3]},
		{Text: text, K: maxMemories / 2, Kinds: kinds[2:4], Trust: memory.Quarantined},
		{Text: text, K: maxMemories / 2, Kinds: kinds[4:], Trust: memory.Quarantined},
	}
}

// recall adds what queries find, but for what is told already: by a former query, as a warning, in the Turns.
func (v *look) recall(ctx context.Context, a *Advice, queries ...memory.Query) {
	c, turns := v.c, strings.Join(turnsOf(v.c), "\n→ ") // as package extract writes an episode
	also, now := slices.Concat(c.Also, scopesOf(c)[1:]), v.now().In(c.At.Location())
	for _, q := range queries {
		q.Text, q.At, q.Situation, q.Also = head(q.Text, memory.MaxText), now, c.Situation, also
		hits, err := v.bank.In(c.Scope).Stage(nil).Recall(ctx, q)
		v.err = cmp.Or(v.err, err)
		for i, h := range hits { // best first
			r, refused := &h.Record, h.Record.Source.Ref == refusedRef
			is := func(o memory.Hit) bool { return o.Record.ID == r.ID }
			episode := r.Kind == memory.Episode
			full := episode && !r.Trusted && len(a.Background) >= maxMemories/2 // facts come first
			if full || slices.ContainsFunc(a.Memories, is) || slices.ContainsFunc(a.Background, is) ||
				refused && r.Trigger == triggerOf(c, v.s) || episode && strings.Contains(turns, r.Content) {
				continue
			}
			if refused {
				r.Trigger = "" // it may have words of the former case
			}
			to := &a.Background
			if r.Trusted {
				to = &a.Memories
			}
			*to = append(slices.Grow(*to, len(hits)-i), h)
		}
	}
}

func ruleDigests(hits []memory.Hit) (out []string) {
	for _, h := range hits {
		if h.Record.Kind == memory.Rule {
			out = append(out, saying(&h.Record))
		}
	}
	return out
}

func saying(r *memory.Record) string { return codec.Digest(r.Trigger + "\x00" + r.Content)[:12] }

// lapsed says why a delivery does not count: a memory that its plan was made of says something else.
func (v *look) lapsed(ctx context.Context, d *delivery) string {
	for _, m := range d.Applied {
		r, err := v.bank.In(m.Scope).Stage(nil).Get(ctx, m.ID) // also in an Update
		if !errors.Is(err, store.ErrNotFound) {
			v.err = cmp.Or(v.err, err)
		}
		changed := saying(&r) != m.Said && r.Source.Ref != refusedRef // or gone; a refusal is told in part
		if changed || r.SupersededBy != "" {
			return "a memory that it was made of was changed or forgotten"
		}
	}
	return ""
}

// situationKey is what warnings are kept by: the host's situation, or else the words with {name} for inputs.
func situationKey(c *Case, s *shape) string {
	return codec.Digest(cmp.Or(c.Situation, "\x00"+s.folded))
}

// warnings are those of a situation: of a case's scope, and those that two scopes of its Lessons came to. Of
// what two others were refused it tells the words that both were told, as far as tell has them.
func (v *look) warnings(ctx context.Context, id string, tell func(*warning) string) (out []reason.Warning) {
	from, _ := v.sources(ctx, warnKind, id)
	all, scopes := &record{}, make(map[*warning]int)
	for i, r := range from {
		for _, o := range r.Refused {
			w := all.warning(o)
			w.Events = append(w.Events, o.Events...)
			slices.SortStableFunc(w.Events, func(a, b event) int { return a.At.Compare(b.At) })
			if scopes[w]++; i == 0 {
				scopes[w] += maxScopes // its own scope is enough, and is told its own words
			} else if scopes[w] == 2 {
				w.agree(o.Said)
			}
		}
	}
	last := func(w *warning) time.Time { return w.Events[len(w.Events)-1].At }
	slices.SortStableFunc(all.Refused, func(a, b *warning) int { // what the most came to, then the last
		return cmp.Or(cmp.Compare(scopes[b], scopes[a]), last(b).Compare(last(a)))
	})
	for _, w := range all.Refused {
		told := reason.Warning{Skill: w.Skill, Complaint: cmp.Or(tell(w), untold)}
		for _, e := range w.Events {
			if told.Instead = e.Instead; e.Instead == "" { // it is open while its last event is a complaint
				told.Times++
			}
		}
		if scopes[w] > 1 && told.Times > 0 && len(out) < maxTold && !slices.Contains(out, told) {
			out = append(out, told)
		}
	}
	return out
}

func turnsOf(c *Case) []string { return each(c.Turns, func(m reason.Message) string { return m.Text }) }

// casesOf is where the words of a scope's cases are remembered, to be found as all else is that a scope
// remembers: a memory for each key, which is its Slot. No other recall has this scope.
func casesOf(scope memory.Scope) memory.Scope { return scope + "/_cases" }

// like returns the plans of keys whose cases are most like the case, by the words of situation and text.
func (v *look) like(ctx context.Context) []*record {
	if casesOf(v.c.Scope).Check() != nil {
		return nil // too long a name: it has none
	}
	hits, err := v.bank.In(casesOf(v.c.Scope)).Stage(nil).Recall(ctx, memory.Query{
		Text: head(v.c.Situation+"\n"+v.s.template, memory.MaxText), K: maxLike, At: v.now(),
		Also: each(scopesOf(v.c)[1:], casesOf),
	})
	v.err = cmp.Or(v.err, err)
	known, out := append(make([]string, 0, 1+len(hits)), v.s.key), make([]*record, 0, len(hits))
	for _, h := range hits {
		if !slices.Contains(known, h.Slot) {
			found := v.plans(ctx, h.Slot)
			found.Plans = slices.DeleteFunc(found.Plans, func(p *plan) bool { return p.Retired })
			known, out = append(known, h.Slot), append(out, found)
		}
	}
	return out
}

// describe gives a key the words of its cases, once a scope may be told them, so that these find it.
func (w *step) describe(ctx context.Context, scope memory.Scope, key string, r *record) {
	c, s := &w.Case, w.shape
	if key != s.key || r.Paths != nil || r.empty() || scope != c.Scope && len(r.Scopes) < 2 {
		return
	}
	r.Situation, r.Conditions, r.Goals = c.Situation, c.Conditions, c.Goals
	r.Template, r.Paths = s.template, s.paths
	if said := strings.TrimSpace(c.Situation + "\n" + s.template); said != "" && casesOf(scope).Check() == nil {
		m, err := w.bank.In(casesOf(scope)).Stage(w.b).Remember(ctx, memory.Draft{
			Kind: memory.Pattern, Content: head(said, memory.MaxText), Slot: s.key, At: w.now(),
		})
		w.failed(err)
		r.Like = m.ID
	}
}

// differs says in a sentence what a case has otherwise than the cases of a key.
func (r *record) differs(c *Case, s *shape) string {
	out := make([]string, 0, 8)
	say := func(differs bool, what string) {
		if differs {
			out = append(out, what)
		}
	}
	say(r.Situation != c.Situation, "its situation is another")
	say(!slices.Equal(r.Conditions, c.Conditions), "its conditions, or the turns before it, are others")
	say(!slices.Equal(r.Goals, c.Goals), "it serves another goal")
	for _, p := range slices.Concat(s.paths, r.Paths) {
		given, was := slices.Contains(s.paths, p), slices.Contains(r.Paths, p)
		say(given && !was, p+" is given")
		say(was && !given, p+" is not given")
	}
	say(len(out) == 0 || iar.Fold(r.Template) != s.folded, otherWords) // else it had the same key
	return strings.Join(out, "; ")
}

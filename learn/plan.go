package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const (
	maxPlans      = 3
	maxDeliveries = 6        // of a plan, and verdicts on it; each pair of deliveries is compared
	maxPlanBytes  = 24 << 10 // of a delivery; a longer one is not kept
	maxScopes     = 6        // of a Lessons scope: the two that came to a key first, and the last
	maxValues     = 128      // of the inputs of a case with a plan, since each is compared with each
	gap           = " \x00 " // behind each name in calls, and each part of their rest: see match
)

// record is what is kept of a key: the plans that delivered its cases, or what was refused in its situation.
// At a scope that is the Lessons of others it names the scopes that came to it, too: what they did stays
// where it is, so that nothing of a scope is kept outside of it.
type record struct {
	Situation         string         `cbor:",omitzero"`
	Conditions, Goals []string       `cbor:",omitzero"`
	Template          string         `cbor:",omitzero"` // empty at a Lessons scope until two scopes came to it
	Paths             []string       `cbor:",omitzero"` // of the inputs; nil: of a single case, or not told yet
	Like              memory.ID      `cbor:",omitzero"`
	Plans             []*plan        `cbor:",omitzero"`
	Refused           []*warning     `cbor:",omitzero"`
	Scopes            []memory.Scope `cbor:",omitzero"`
	Wrong             []stop         `cbor:",omitzero"` // why deliveries count anew, the latest last
	At                time.Time      `cbor:",omitzero"` // when it was last changed; zero: not known

	rev store.Revision // that it was read at
}

// stop is why deliveries of a key's plans do not count that are not later.
type stop struct {
	Advice string // adviceID of the delivery that was wrong; "": of several, or a person has changed a plan
	At     time.Time
	Plan   string `cbor:"-"` // that a person has changed: it stops those of the others
}

// plan is one list of calls, but for what their inputs say, with the deliveries that made them. What is kept
// of it is not changed once it is read; as it stands for a case it is a copy, with the deliveries that count.
type plan struct {
	ID                string
	Retired           bool              `cbor:",omitzero"`       // by a person
	Edit              []reason.PlanCall `cbor:",omitzero"`       // as a person has written it,
	Changed           time.Time         `cbor:"Edited,omitzero"` // when a person retired it, or wrote it
	Delivered, Failed int               `cbor:",omitzero"`
	Deliveries        []*delivery       `cbor:"Made"` // the last ones, in order

	why  string // why others of its deliveries do not count
	mine bool   // the scope of the case has delivered it
}

// delivery is a case that was delivered, as it was, and the calls that did it.
type delivery struct {
	ID      string // see adviceID
	At      time.Time
	Text    string
	Inputs  json.RawMessage `cbor:",omitzero"`
	Calls   []reason.PlanCall
	Applied []applied `cbor:",omitzero"` // the memories that its deliberation applied
	Rules   []string  `cbor:",omitzero"` // digests of the rules that it knew

	in    []leaf   // by read, as what follows: the inputs of the case
	words []leaf   // and the words of its text, see worded
	rest  string   // what its text has beside them
	trees []any    // the inputs of the calls
	slots [][]slot // their values
	scope memory.Scope
}

type slot struct { // a value of a call, and where inputs stand in it
	leaf
	cut []piece
}

type applied struct {
	ID    memory.ID
	Scope memory.Scope
	Said  string
}

// read makes a delivery ready to be compared: in a record others look at it, and it is not written any more.
func (d *delivery) read() *delivery {
	scope, _, _ := strings.Cut(d.ID, "\x00")
	d.scope = memory.Scope(scope)
	v, _ := schema.Read(d.Inputs) // as before it was kept
	d.readCalls(leaves(v))
	d.words, d.rest = worded(d.Text, d.in)
	return d
}

// readCalls looks for values of the case in the calls of a delivery.
func (d *delivery) readCalls(in []leaf) {
	d.in, d.trees, d.slots = in, nil, nil
	for _, call := range d.Calls {
		t, _ := schema.Read(call.Inputs)
		d.trees = append(d.trees, t)
		d.slots = append(d.slots, each(leaves(t), func(l leaf) slot { return slot{l, split(word(l.v), in)} }))
	}
}

// inWords returns plans as they stand for a case, and the case, with words among the inputs. Left out are
// plans that were changed, and deliveries of cases that differ in more, or in a word that no call says.
func (r *record) inWords(c *Case, s *shape) ([]*plan, *shape) {
	in, rest := worded(c.Text, s.in)
	same := func(d *delivery) bool {
		return d.rest == rest && slices.EqualFunc(d.words, in, func(l, now leaf) bool {
			says := func(c reason.PlanCall) bool { return holds(string(c.Inputs), word(l.v)) }
			return l == now || !strings.Contains(l.path, "{") || slices.ContainsFunc(d.Calls, says)
		})
	}
	return slices.DeleteFunc(r.Plans, func(p *plan) bool {
		p.Deliveries = copies(slices.DeleteFunc(p.Deliveries, func(d *delivery) bool { return !same(d) }))
		for _, d := range p.Deliveries {
			d.readCalls(d.words)
		}
		return p.Edit != nil || len(p.Deliveries) == 0
	}), &shape{in: in, key: s.key}
}

func inOrder(a, b *delivery) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) }

// planID is of the names of calls and of the paths of their inputs, whatever their values.
func planID(calls []reason.PlanCall) string {
	names := each(calls, func(c reason.PlanCall) []string {
		v, _ := schema.Read(c.Inputs)
		return append([]string{c.Name}, each(leaves(v), func(l leaf) string { return l.path })...)
	})
	return codec.Digest(fmt.Sprintf("%q", names)) // quoted, since a model may put any sign into a name
}

func summary(calls []reason.PlanCall) string {
	return strings.Join(each(calls, func(c reason.PlanCall) string { return c.Name }), ", ")
}

func (r *record) plan(id string) *plan {
	if i := slices.IndexFunc(r.Plans, func(p *plan) bool { return p.ID == id }); i >= 0 {
		return r.Plans[i]
	}
	return nil
}

func (r *record) ensure(id string) *plan {
	if r.plan(id) == nil {
		r.Plans = append(r.Plans, &plan{ID: id})
	}
	return r.plan(id)
}

// add takes in a delivery, or that there is such a plan. Of plans that are too many the worst go, but none
// that a person has edited or retired, and not this one: what is new is tried before the last of the old.
func (r *record) add(id string, made ...*delivery) {
	p := r.ensure(id)
	p.Deliveries = append(p.Deliveries, made...)
	slices.SortFunc(p.Deliveries, inOrder)
	p.Deliveries = p.Deliveries[max(0, len(p.Deliveries)-maxDeliveries):]
	slices.SortStableFunc(r.Plans, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	for i := len(r.Plans) - 1; i >= 0 && len(r.Plans) > maxPlans; i-- {
		if o := r.Plans[i]; o != p && !o.Retired && o.Edit == nil {
			r.Plans = slices.Delete(r.Plans, i, i+1)
		}
	}
}

// stop takes in that a delivery was wrong. Those of all plans of the key count anew from then on: what was
// rare beside a wrong plan is not right for that. The first of many stands for all before it, and stays.
func (r *record) stop(advice string, at time.Time) {
	if r.Wrong = append(r.Wrong, stop{Advice: advice, At: at}); len(r.Wrong) > maxDeliveries {
		r.Wrong = r.Wrong[1:]
		r.Wrong[0].Advice = ""
	}
}

// takeBack takes out what came of an Advice before.
func (r *record) takeBack(advice string) {
	r.Wrong = slices.DeleteFunc(slices.Clone(r.Wrong), func(s stop) bool { return s.Advice == advice })
	for _, p := range r.Plans {
		its := func(d *delivery) bool { return d.ID == advice }
		p.Deliveries = slices.DeleteFunc(slices.Clone(p.Deliveries), its)
	}
	for _, w := range r.Refused {
		w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e event) bool { return e.Advice == advice })
	}
	r.Refused = slices.DeleteFunc(r.Refused, func(w *warning) bool { return len(w.Events) == 0 })
}

// count adds a verdict to the figures of a plan, or takes it back, and returns what they have of it.
func (r *record) count(id string, v Verdict, by int) Verdict {
	switch p := r.plan(id); {
	case p == nil:
		return Unknown
	case v == Delivered:
		p.Delivered = max(0, p.Delivered+by)
	case v == Failed:
		p.Failed = max(0, p.Failed+by)
	}
	return v
}

// worth is the mean of the posterior of a plan's deliveries, from a uniform prior.
func (p *plan) worth() float64 { return float64(p.Delivered+1) / float64(p.Delivered+p.Failed+2) }

// load returns the record at a key, read once for each of its revisions. It must not be changed.
func (l *Layer) load(ctx context.Context, in codec.Reader, key string) (*record, error) {
	e, err := in.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return noRecord, nil
	}
	if r, ok := l.read.Get(key); ok && err == nil && r.rev == e.Rev {
		return r, nil
	}
	r := &record{}
	if err := cmp.Or(err, codec.Unmarshal(e.Value, r)); err != nil {
		return noRecord, fmt.Errorf("learn: %s: %w", key, err)
	}
	for _, p := range r.Plans {
		for _, d := range p.Deliveries {
			if d.read(); planID(d.Calls) != p.ID {
				return noRecord, fmt.Errorf("learn: %s: %w: a delivery has calls of another plan", key, store.ErrDamaged)
			}
		}
	}
	if r.rev = e.Rev; e.Rev != 0 { // else it is staged
		l.read.Add(key, r)
	}
	return r, nil
}

// empty reports whether a record has nothing, and need not be kept: as of what fired in other words.
func (r *record) empty() bool {
	has := func(p *plan) bool { return p.Retired || p.Edit != nil || p.Delivered+p.Failed+len(p.Deliveries) > 0 }
	return len(r.Refused)+len(r.Scopes)+len(r.Wrong) == 0 && !slices.ContainsFunc(r.Plans, has)
}

// edit has f change the record at a key, which is deleted with its last case. f clones its slices.
func (w *step) edit(ctx context.Context, key string, f func(*record)) {
	was, err := w.load(ctx, w.b, key)
	if w.failed(err); err != nil {
		return
	}
	r, read := *was, w.read
	r.Plans, r.Refused, r.At = copies(r.Plans), copies(r.Refused), w.now()
	f(&r)
	switch scope, _, _, _ := store.ParseKey(key); {
	case !r.empty():
		w.b.After(func(rev store.Revision) { r.rev = rev; read.Add(key, &r) }) // nobody decodes it again
		w.failed(codec.Put(w.b, key, r, store.At(was.rev)))
	case !was.empty(): // nor are the words of its cases kept
		w.failed(w.forget(ctx, w.b, casesOf(scope), r.Like))
		w.failed(w.b.Delete(key, store.At(was.rev)))
	}
}

// change has f change the record at a key in a commit of its own.
func (l *Layer) change(ctx context.Context, key string, f func(*record)) error {
	return l.group.Update(ctx, func(b *store.Batch) error {
		w := &step{Layer: l, b: b}
		w.edit(ctx, key, f)
		return w.err
	})
}

func copies[T any](of []*T) []*T { return each(of, func(v *T) *T { c := *v; return &c }) }

func each[T, U any](of []T, f func(T) U) []U {
	out := make([]U, len(of))
	for i, v := range of {
		out[i] = f(v)
	}
	return out
}

// sources returns the records of an id that a case learns from: its scope's own, and those of other scopes
// that came to it, which the record of its Lessons names: up, which is its own where it shares with nobody.
func (v *look) sources(ctx context.Context, kind, id string) (from []*record, up *record) {
	own := v.record(ctx, v.c.Scope, kind, id)
	if up = own; v.c.Lessons != v.c.Scope {
		up = v.record(ctx, v.c.Lessons, kind, id)
	}
	v.from = append(v.from[:0], own) // in place of the last ones
	for _, scope := range up.Scopes {
		if scope != v.c.Scope {
			v.from = append(v.from, v.record(ctx, scope, kind, id))
		}
	}
	return v.from, up
}

func (v *look) record(ctx context.Context, scope memory.Scope, kind, id string) *record {
	r, err := v.load(ctx, v.group.Store(), scope.Key(kind, id))
	v.err = cmp.Or(v.err, err)
	return r
}

// plans returns the plans of a key for a case, best first, with the deliveries that count, and its records.
func (v *look) plans(ctx context.Context, key string) *record {
	from, up := v.sources(ctx, planKind, key)
	if v.s.key != "" && slices.ContainsFunc(from[0].Plans, func(p *plan) bool { return len(p.Deliveries) > 1 }) {
		from, up = from[:1], &record{Plans: up.Plans} // it goes by its own: others may mean something else
	}
	if key == v.s.key && len(v.s.in) > 0 { // that of the very case has its deliveries for longer
		from = append(from, v.record(ctx, v.c.Scope, planKind, v.s.exact))
	}
	out := merge(v.c.Scope, from, up, func(d *delivery) string { return v.lapsed(ctx, d) })
	very := func(d *delivery) bool { return len(d.in) > 0 && slices.Equal(d.in, v.s.in) }
	rank := func(p *plan) float64 { // what delivered the very case, or a person has written, comes first
		if p.Edit != nil || slices.ContainsFunc(p.Deliveries, very) {
			return 1 + p.worth()
		}
		return p.worth()
	}
	slices.SortStableFunc(out.Plans, func(a, b *plan) int { return cmp.Compare(rank(b), rank(a)) })
	return out
}

// merge returns the plans of records of a key, the scope's own first, as they stand for a case of that: with
// the deliveries that nothing stops. What was wrong in one record stops those of all; what a person has said
// of a plan holds in its scope, and from up in those below. What one other scope alone came to is not told.
func merge(scope memory.Scope, from []*record, up *record, lapsed func(*delivery) string) *record {
	own, all := from[0], *up
	if own.Paths != nil {
		all = *own
	}
	all.Plans, all.Wrong = nil, slices.Clip(up.Wrong)
	for _, p := range append(append(make([]*plan, 0, 2*maxPlans), own.Plans...), up.Plans...) {
		m := all.ensure(p.ID)
		if m.Retired = m.Retired || p.Retired; p.Edit != nil {
			m.Edit, m.Changed = p.Edit, p.Changed
		}
		if p.Edit != nil || p.Retired { // what was rare beside it is not right for that
			all.Wrong = append(all.Wrong, stop{At: p.Changed, Plan: p.ID})
		}
	}
	for _, r := range from {
		all.Wrong = append(all.Wrong, r.Wrong...)
		for _, p := range r.Plans {
			m := all.ensure(p.ID)
			m.Delivered, m.Failed, m.why = m.Delivered+p.Delivered, m.Failed+p.Failed, cmp.Or(m.why, p.why)
			m.Deliveries = append(m.Deliveries, p.Deliveries...)
			its := func(d *delivery) bool { return d.scope == scope }
			m.mine = m.mine || p.mine || slices.ContainsFunc(p.Deliveries, its)
		}
	}
	all.Plans = slices.DeleteFunc(all.Plans, func(p *plan) bool {
		slices.SortFunc(p.Deliveries, inOrder)
		p.Deliveries = slices.CompactFunc(p.Deliveries, func(a, b *delivery) bool { return a.ID == b.ID })
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d *delivery) bool {
			why := cmp.Or(all.stops(p, d), lapsed(d))
			p.why = cmp.Or(p.why, why)
			return why != ""
		})
		shared := func(d *delivery) bool { return d.scope == scope || d.scope != p.Deliveries[0].scope }
		if !slices.ContainsFunc(p.Deliveries, shared) { // all are of one other scope
			p.Deliveries = nil
		}
		return len(p.Deliveries) == 0 && p.Edit == nil && own.plan(p.ID) == nil
	})
	return &all
}

// stops says why a delivery does not count: it is not made as a person has written its plan, but for
// parameters; or since then one was wrong, or a person has changed another plan of the key.
func (r *record) stops(p *plan, d *delivery) string {
	switch {
	case p.Edit != nil && (planID(p.Edit) != p.ID || !p.written(d) || !d.At.After(p.Changed)):
		return "a person has written it"
	case r.Paths != nil && !slices.Equal(each(d.in, leaf.typed), r.Paths):
		return "what is kept of it is damaged"
	case slices.ContainsFunc(r.Wrong, func(s stop) bool { return s.Plan != p.ID && !d.At.After(s.At) }):
		return "it, or another plan for such cases, was wrong, or a person has changed it"
	}
	return ""
}

// written reports whether a delivery was made as a person has written the plan, but for parameters.
func (p *plan) written(d *delivery) bool {
	as := delivery{Calls: p.Edit}
	as.readCalls(nil)
	return slices.EqualFunc(slices.Concat(as.slots...), slices.Concat(d.slots...), func(w, s slot) bool {
		whole := word(w.v) != "" && braced.FindString(word(w.v)) == word(w.v)
		return whole || w.v == s.v || w.v == any(join(s.cut, brace))
	})
}

var noRecord = new(record)  // of a key that is not there
func none(*delivery) string { return "" }

// fire returns the plan for a case of its key, or why it must not run: all are the plans of the key, and
// rules those that hold. Two deliveries tell what varies: any two that agree, unless both are of one other
// scope, or its own scope has delivered the plan and neither is its. No two pairs may mean other calls.
func (p *plan) fire(
	now *shape, scope memory.Scope, all []*plan, rules []string,
) (calls []reason.PlanCall, why string) {
	if p.Retired {
		return nil, "a person has retired it"
	}
	var since time.Time // others count since its last six deliveries, but for a number beyond its own
	if n := len(p.Deliveries) - maxDeliveries; n >= 0 {
		since = p.Deliveries[n].At
	}
	for i, l := range now.in {
		if counts(l.path, l.v) && !near(l.v, column(p.Deliveries, i), 1) {
			since = time.Time{}
		}
	}
	for i, b := range slices.Backward(p.Deliveries) { // the last ones say why not, and the words of tasks
		for _, a := range slices.Backward(p.Deliveries[:i]) {
			if a.scope != scope && (a.scope == b.scope || p.mine && b.scope != scope) {
				continue // others may mean something else by the words
			}
			got, no := agree(a, b, now, p.Deliveries, calls)
			if no = cmp.Or(no, p.outvoted(a, b, all, since)); no != "" {
				why = cmp.Or(why, no)
				continue
			}
			if calls != nil && !reason.SameCalls(calls, got) {
				return nil, "its deliveries mean different calls for this case"
			}
			calls = got
		}
	}
	if calls == nil {
		return nil, cmp.Or(why, p.why, "it was delivered once")
	}
	for _, d := range p.Deliveries { // not the last alone: that may be of a scope with other rules
		if !slices.ContainsFunc(rules, func(r string) bool { return !slices.Contains(d.Rules, r) }) {
			return calls, ""
		}
	}
	return nil, "there is a rule that none of its deliberations knew"
}

// outvoted says that another plan has delivered cases that share what two deliveries have in common, too.
// This one takes two more than any other has: so a model that is wrong now and then is outvoted. One that two
// scopes came to before stands until it is refused: whoever it has fired for since has delivered nothing.
func (p *plan) outvoted(a, b *delivery, all []*plan, since time.Time) string {
	most := max(0, sharing(p.Deliveries, a, b, time.Time{})-2)
	for _, o := range all {
		if o.ID == p.ID || o.Retired {
			continue
		}
		kept := make(map[memory.Scope]int)
		for _, d := range o.Deliveries {
			kept[d.scope]++
		}
		first := slices.DeleteFunc(slices.Clone(o.Deliveries), func(d *delivery) bool { // older ones may be gone
			return kept[d.scope] < maxDeliveries && inOrder(d, p.Deliveries[0]) > 0
		})
		apart := slices.ContainsFunc(first, func(d *delivery) bool { return d.scope != first[0].scope })
		if apart && sharing(first, a, b, time.Time{}) > 1 || sharing(o.Deliveries, a, b, since) > most {
			return "another plan delivered cases of these words, too: " + summary(o.Deliveries[0].Calls)
		}
	}
	return ""
}

// refuted says how deliveries made otherwise refute the two of a match. One that has what the two share does,
// if it is of their scopes. Where one lacks some of that, anything else may be what decided: no value at hand
// may be one that such alone had, and no number beyond those of deliveries made as the two were.
func (m *match) refuted(all []*delivery) string {
	a, b := m.of[0], m.of[1]
	var alike, other []*delivery
	for _, d := range all {
		if _, why := newMatch([]*delivery{a, b, d}, nil).calls(nil); why == "" {
			alike = append(alike, d)
		} else if d.scope == a.scope || d.scope == b.scope { // others may mean something else by the words
			other = append(other, d)
		}
	}
	if sharing(other, a, b, time.Time{}) > 0 {
		return "another delivery was made otherwise than these two mean"
	}
	for i, v := range m.values {
		theirs := column(alike, i)
		beyond := len(alike) < len(all) && counts(v.path, v.now) && !near(v.now, theirs, 1)
		if beyond || slices.Contains(column(all, i), v.now) && !slices.Contains(theirs, v.now) {
			return fmt.Sprintf("%s is %s, and another delivery was made otherwise", v.path, show(v.now))
		}
	}
	return ""
}

// sharing counts the deliveries since a time that have what the inputs of two share.
func sharing(of []*delivery, a, b *delivery, since time.Time) (n int) {
	for _, d := range of {
		has := !d.At.Before(since)
		for i, l := range a.in {
			has = has && (l != b.in[i] || l == d.in[i])
		}
		if has {
			n++
		}
	}
	return n
}

// suggestion is the plan as it is shown for a case that it does not fire for: {name} stands for each
// parameter, and no value of another case is in it. What a single delivery says is shown if it names nothing.
// Without a delivery that counts it has no calls.
func (p *plan) suggestion(now *shape, words string) (s reason.Suggestion) {
	s.Delivered, s.Refused, s.Retired, s.Edited = p.Delivered, p.Failed, p.Retired, p.Edit != nil
	if p.Edit != nil || len(p.Deliveries) == 0 { // as it is written, whatever delivered it
		s.Calls, s.Parameters = slices.Clone(p.Edit), parameters(p.Edit, nil)
		return s
	}
	of, last := p.Deliveries, p.Deliveries[len(p.Deliveries)-1]
	text := iar.Fold(last.Text)
	if !slices.Equal(of[0].in, last.in) { // what the texts of two cases say is the wording, but for names
		text = strings.Join(naming.FindAllString(text, -1), " ")
	}
	theirs, ours := iar.Words(append(wordsOf(last.in), text)...), iar.Words(append(wordsOf(now.in), words)...)
	former := func(text string) bool {
		alone := func(w string) bool { return theirs[w] && !ours[w] } // it is of the former case alone
		return slices.ContainsFunc(slices.Collect(maps.Keys(iar.Words(text))), alone)
	}
	names := make(map[string]any) // with a value, to tell its type
	named := false                // the name of a member is of the former case
	for _, l := range slices.Concat(now.in, last.in) {
		names[l.path] = l.v
	}
	taken := func(name string, v any) bool { was, is := names[name]; return is && was != v }
	s.Calls, _ = newMatch(of, nil).calls(func(b bound) any {
		named = named || naming.MatchString(b.path) && former(b.path)
		if b.why == "" && !former(b.rest) && (len(of) > 1 || !naming.MatchString(b.rest)) {
			return b.now
		}
		base := cmp.Or(b.path, "value") // a parameter is named after its place
		name := base
		for n := 2; taken(name, b.was); n++ {
			name = fmt.Sprintf("%s %d", base, n)
		}
		names[name] = b.was
		return brace(name)
	})
	if s.Parameters = parameters(s.Calls, names); named { // it cannot be shown without
		s.Calls, s.Parameters = nil, nil
	}
	return s
}

var braced = regexp.MustCompile(`\{([^{}\x00]+)\}`)

// parameters are the names in braces in calls, with the types of what they had; any name, where that is nil.
func parameters(calls []reason.PlanCall, had map[string]any) map[string]string {
	names := make(map[string]string)
	for _, c := range calls {
		v, _ := schema.Read(c.Inputs)
		for _, m := range braced.FindAllStringSubmatch(strings.Join(wordsOf(leaves(v)), "\x00"), -1) {
			if v, is := had[m[1]]; is || had == nil {
				names[m[1]] = schema.TypeOf(v)
			}
		}
	}
	return names
}

// naming finds words that name something: an order, a person, an address.
var naming = regexp.MustCompile(`\S*[\pN\p{Lu}@]\S*`)

// Known returns what a scope has learned, for a person: its plans, in a Lessons scope also those that scopes
// below share (counted: the first two, the last four), and its warnings, whole. A suggestion has the ID that
// [Layer.Edit] takes, and as Name the words of its cases. Differs says why it does not fire for the newest,
// "" if it fires, whatever Rules are new: Before looks at those. One that a person has changed is as written;
// where no delivery counts it has no calls. "" is Options.Scope; another tenant is an error.
func (l *Layer) Known(ctx context.Context, scope memory.Scope) (k reason.Known, _ error) {
	v := l.in(scope)
	v.err = cmp.Or(v.err, l.group.Refresh(ctx))
	v.scan(ctx, func(_ store.Entry, id string) {
		found := v.plans(ctx, id)
		if found.Paths == nil {
			return // it is of a single case, which its key has, too; or of one scope below
		}
		name := strings.TrimPrefix(found.Situation+": "+found.Template, ": ")
		name = strings.Join(append([]string{name}, found.Conditions...), "; only where ")
		for _, p := range found.Plans {
			s := p.suggestion(v.s, found.Template)
			s.ID, s.Name = id+"/"+p.ID, name
			s.Differs = cmp.Or(p.why, "no delivery of it counts")
			if n := len(p.Deliveries); n > 0 {
				_, s.Differs = p.fire(&shape{in: p.Deliveries[n-1].in}, v.c.Scope, found.Plans, nil)
			}
			k.Suggestions = append(k.Suggestions, s)
		}
	}, planKind)
	v.scan(ctx, func(_ store.Entry, id string) {
		k.Warnings = append(k.Warnings, v.warnings(ctx, id, func(w *warning) string { return w.Said })...)
	}, warnKind)
	return k, v.err
}

// Edit takes up what a person has changed in a plan that [Layer.Known] gave, its Calls or Retired, and
// reports whether that is new. Changed calls are suggested until a plan with them fires, which takes two
// deliveries; the former plan does not fire. No calls, and those that Known gives, leave them as they were. A
// retired plan neither fires nor is suggested, until that is taken back. After both, others need
// two new deliveries. What is said in a Lessons scope holds below it. An unknown ID is store.ErrNotFound.
func (l *Layer) Edit(ctx context.Context, scope memory.Scope, s reason.Suggestion) (changed bool, err error) {
	v, calls := l.in(scope), s.Calls
	key, of, _ := strings.Cut(s.ID, "/")
	v.err = cmp.Or(v.err, clean(l, &calls), l.group.Refresh(ctx))
	for _, made := range calls {
		if _, err := schema.Read(made.Inputs); err != nil || made.Name == "" {
			return false, fmt.Errorf("learn: a call of the plan %q has no name, or inputs that are no JSON", s.ID)
		}
	}
	found := v.plans(ctx, key)
	was := found.plan(of)
	if was == nil || v.err != nil {
		return false, cmp.Or(v.err, fmt.Errorf("learn: no plan %q in %q: %w", s.ID, v.c.Scope, store.ErrNotFound))
	}
	anew := !s.Retired && len(calls) > 0 && !reason.SameCalls(was.suggestion(v.s, found.Template).Calls, calls)
	if was.Retired == s.Retired && !anew {
		return false, nil
	}
	return true, l.change(ctx, v.c.Scope.Key(planKind, key), func(r *record) {
		p := r.ensure(of) // also where others delivered it: their deliveries stay where they are
		if p.Retired = s.Retired; anew {
			p.Edit = calls
		}
		if anew || s.Retired {
			p.Changed = l.now()
		}
	})
}

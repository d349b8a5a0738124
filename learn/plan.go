package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Bounds of what is kept of a key.
const (
	maxPlans      = 3
	maxDeliveries = 6        // of a plan, and verdicts on it; each pair of deliveries is compared
	maxPlanBytes  = 24 << 10 // of a delivery; a longer one is not kept
	maxScopes     = 6        // of a Lessons scope, those that came to a plan last
	maxValues     = 128      // of the inputs of a case with a plan, since each is compared with each
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
	Until             time.Time      `cbor:",omitzero"` // what dropped plans delivered until then counts no more
	At                time.Time      `cbor:",omitzero"` // when it was last changed; zero: not known

	rev store.Revision // that it was read at
}

// plan is one list of calls, but for what their inputs say, with the deliveries that made them. What is kept
// of it is not changed once it is read; as it stands for a case it is a copy, with the deliveries that count.
type plan struct {
	ID                string
	Retired           bool              `cbor:",omitzero"` // by a person
	Edit              []reason.PlanCall `cbor:",omitzero"`
	Until             time.Time         `cbor:",omitzero"` // as above: a person changed or refused it
	Delivered, Failed int               `cbor:",omitzero"`
	Deliveries        []*delivery

	why string // why others of its deliveries do not count
}

// delivery is a case that was delivered, as it was, and the calls that did it.
type delivery struct {
	ID      string // see adviceID
	At      time.Time
	Wrong   bool `cbor:",omitzero"` // a person said so then: nor does any before it count; it has nothing else
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

// slot is a value of a call, and what inputs say in it.
type slot struct {
	leaf
	cut []piece
}

// applied is a memory with a digest of what it said.
type applied struct {
	ID    memory.ID
	Scope memory.Scope
	Said  string
}

// read makes a delivery ready to be compared, before it is put into a record: there others look at it, so that
// it is not written any more. All JSON in it was read before it was kept.
func (d *delivery) read() {
	scope, _, _ := strings.Cut(d.ID, "\x00")
	d.scope = memory.Scope(scope)
	v, _ := schema.Read(d.Inputs)
	d.readCalls(leaves(v))
	d.words, d.rest = worded(d.Text, d.in)
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
		return d.rest == rest && d.At.After(r.Until) && slices.EqualFunc(d.words, in, func(l, now leaf) bool {
			says := func(c reason.PlanCall) bool { return holds(string(c.Inputs), word(l.v)) }
			return l == now || !strings.Contains(l.path, "{") || slices.ContainsFunc(d.Calls, says)
		})
	}
	return slices.DeleteFunc(r.Plans, func(p *plan) bool {
		p.Deliveries = copies(slices.DeleteFunc(p.Deliveries, func(d *delivery) bool { return !same(d) }))
		for _, d := range p.Deliveries {
			d.readCalls(d.words)
		}
		return p.why != "" || p.Edit != nil || len(p.Deliveries) == 0
	}), &shape{in: in}
}

// planID is the digest of the names of calls and of their inputs' paths.
func planID(calls []reason.PlanCall) string {
	names := each(calls, func(c reason.PlanCall) []string {
		v, _ := schema.Read(c.Inputs)
		return append([]string{c.Name}, each(leaves(v), func(l leaf) string { return l.path })...)
	})
	return digest(fmt.Sprintf("%q", names)) // quoted, since a model may put any sign into a name
}

// summary is a plan in a word.
func summary(calls []reason.PlanCall) string {
	return strings.Join(each(calls, func(c reason.PlanCall) string { return c.Name }), ", ")
}

// samePlan reports whether calls are the same, however their inputs are spelled.
func samePlan(a, b []reason.PlanCall) bool {
	return slices.EqualFunc(a, b, func(x, y reason.PlanCall) bool {
		if x.Name != y.Name || string(x.Inputs) == string(y.Inputs) {
			return x.Name == y.Name
		}
		v, err := schema.Canonical(x.Inputs)
		w, err2 := schema.Canonical(y.Inputs)
		return cmp.Or(err, err2) == nil && string(v) == string(w)
	})
}

// plan returns a plan, nil where there is none.
func (r *record) plan(id string) *plan {
	if i := slices.IndexFunc(r.Plans, func(p *plan) bool { return p.ID == id }); i >= 0 {
		return r.Plans[i]
	}
	return nil
}

// ensure returns a plan, a new one where there is none.
func (r *record) ensure(id string) *plan {
	if r.plan(id) == nil {
		r.Plans = append(r.Plans, &plan{ID: id, Until: r.Until})
	}
	return r.plan(id)
}

// add takes in a delivery. Of plans that are too many the last ones go, but not those that a person has
// edited or retired; a new one is tried before the last of the old. What was found wrong stays so by Until.
func (r *record) add(id string, d *delivery) {
	d.read()
	p := r.ensure(id)
	p.Deliveries = append(p.Deliveries, d)
	slices.SortStableFunc(p.Deliveries, func(a, b *delivery) int { return a.At.Compare(b.At) })
	for ; len(p.Deliveries) > maxDeliveries; p.Deliveries = p.Deliveries[1:] {
		if o := p.Deliveries[0]; o.Wrong && o.At.After(p.Until) {
			p.Until = o.At // records of single cases still have what it stops
		}
	}
	slices.SortStableFunc(r.Plans, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	for i := len(r.Plans) - 1; i >= 0 && len(r.Plans) > maxPlans; i-- {
		if o := r.Plans[i]; o != p && !o.Retired && o.Edit == nil {
			if at, _ := until(o.ID, r); at.After(r.Until) {
				r.Until = at // it stays as wrong if it is made again
			}
			r.Plans = slices.Delete(r.Plans, i, i+1)
		}
	}
}

// count counts, or takes back, what a plan that is kept came to.
func (r *record) count(id string, v Verdict, by int) (counted Verdict) {
	if p := r.plan(id); p != nil && v != Unknown {
		n := &p.Delivered
		if v == Failed {
			n = &p.Failed
		}
		*n, counted = max(0, *n+by), v
	}
	return counted
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
		return &record{}, fmt.Errorf("learn: %s: %w", key, err)
	}
	for _, p := range r.Plans {
		for _, d := range p.Deliveries {
			d.read()
		}
	}
	if r.rev = e.Rev; e.Rev != 0 { // else it is staged
		l.read.Add(key, r)
	}
	return r, nil
}

// edit changes the record at a key, unless f says that it has not. Slices in it f clones: others read them.
func (l *Layer) edit(ctx context.Context, b *store.Batch, key string, f func(*record) (bool, error)) error {
	was, err := l.load(ctx, b, key)
	if err != nil {
		return err
	}
	r := *was
	r.Plans, r.Refused, r.At = copies(r.Plans), copies(r.Refused), l.now()
	if changed, err := f(&r); err != nil || !changed {
		return err
	}
	b.After(func(rev store.Revision) { r.rev = rev; l.read.Add(key, &r) }) // nobody decodes it again
	return codec.Put(b, key, r, store.At(was.rev))
}

func copies[T any](of []*T) []*T { return each(of, func(v *T) *T { c := *v; return &c }) }

// each returns what f makes of each value.
func each[T, U any](of []T, f func(T) U) []U {
	out := make([]U, len(of))
	for i, v := range of {
		out[i] = f(v)
	}
	return out
}

// sources appends to from the records of an id that a case learns from: its scope's own, and those of other
// scopes that came to it, which the record of its Lessons names.
func (l *Layer) sources(
	ctx context.Context, c *Case, kind, id string, from []*record,
) (_ []*record, up *record, _ error) {
	st := l.group.Store()
	up, err := l.load(ctx, st, c.Lessons.Key(kind, id))
	if err != nil {
		return nil, up, err
	}
	others := slices.DeleteFunc(slices.Clone(up.Scopes), func(o memory.Scope) bool { return o == c.Scope })
	for _, scope := range append([]memory.Scope{c.Scope}, others...) {
		r := up
		if scope != c.Lessons {
			r, err = l.load(ctx, st, scope.Key(kind, id))
		}
		if err != nil {
			return nil, up, err
		}
		from = append(from, r)
	}
	return from, up, nil
}

// plans returns the plans of a key for a case, best first, with the deliveries that count, and its records.
func (l *Layer) plans(ctx context.Context, c *Case, s *shape, key string) (*record, error) {
	from, up, err := l.sources(ctx, c, planKind, key, make([]*record, 0, 1+maxScopes))
	if err != nil {
		return nil, err
	}
	if key == s.key && len(s.in) > 0 {
		exact, no := l.load(ctx, l.group.Store(), c.Scope.Key(planKind, s.exact))
		from, err = append(from, exact), no
	}
	out := merge(c.Scope, from, up)
	for _, p := range out.Plans {
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d *delivery) bool {
			why, no := l.lapsed(ctx, d)
			err, p.why = cmp.Or(err, no), cmp.Or(why, p.why)
			return why != ""
		})
	}
	very := func(d *delivery) bool { return len(s.in) > 0 && slices.Equal(d.in, s.in) }
	rank := func(p *plan) float64 { // those that delivered the very case, or that a person has written, come first
		if p.Edit != nil || slices.ContainsFunc(p.Deliveries, very) {
			return 1 + p.worth()
		}
		return p.worth()
	}
	slices.SortStableFunc(out.Plans, func(a, b *plan) int { return cmp.Compare(rank(b), rank(a)) })
	return out, err
}

// merge returns the plans of records of a key, those of a scope first, as they stand: with the deliveries
// that count by what a person has said of a plan, in the record itself, in that of the scope, or in that over
// all. What one other scope alone came to is not told. The record of one case keeps its deliveries longer.
func merge(scope memory.Scope, from []*record, up *record) *record {
	own, all := from[0], *up
	if own.Paths != nil {
		all = *own
	}
	all.Plans = nil
	for _, p := range append(append(make([]*plan, 0, 2*maxPlans), own.Plans...), up.Plans...) {
		if at, _ := until(p.ID, own, up); p.Edit != nil && at != never {
			*all.ensure(p.ID) = plan{ID: p.ID, Edit: p.Edit, why: "a person has written it"}
		}
	}
	for _, r := range from {
		if at, _ := until("", r); at.After(all.Until) {
			all.Until = at // for inWords
		}
		for _, p := range r.Plans {
			m := all.ensure(p.ID)
			m.why, m.Delivered, m.Failed = cmp.Or(m.why, p.why), m.Delivered+p.Delivered, m.Failed+p.Failed
			at, why := until(p.ID, r, own, up)
			for _, d := range p.Deliveries {
				if (why == "" || d.At.After(at)) && m.written(d) {
					m.Deliveries = append(m.Deliveries, d)
				} else {
					m.why = cmp.Or(m.why, why)
				}
			}
		}
	}
	all.Plans = slices.DeleteFunc(all.Plans, func(p *plan) bool {
		slices.SortFunc(p.Deliveries, func(a, b *delivery) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
		})
		p.Deliveries = slices.CompactFunc(p.Deliveries, func(a, b *delivery) bool { return a.ID == b.ID })
		told := func(d *delivery) bool { return d.scope == scope || d.scope != p.Deliveries[0].scope }
		if !slices.ContainsFunc(p.Deliveries, told) { // all are of one other scope
			p.Deliveries = nil
		}
		return len(p.Deliveries) == 0 && p.Edit == nil && own.plan(p.ID) == nil
	})
	return &all
}

// written reports whether a delivery was made as a person has written the plan, but for parameters.
func (p *plan) written(d *delivery) bool {
	as := delivery{Calls: p.Edit}
	as.readCalls(nil)
	same := func(w, s slot) bool {
		whole := word(w.v) != "" && braced.FindString(word(w.v)) == word(w.v)
		return whole || w.v == s.v || w.v == any(join(s.cut, brace))
	}
	return p.Edit == nil || planID(p.Edit) == p.ID &&
		slices.EqualFunc(slices.Concat(as.slots...), slices.Concat(d.slots...), same)
}

var never = time.Unix(1<<40, 0) // deliveries of a plan that is retired count after it
var noRecord = new(record)      // of a key that is not there

// until returns until when deliveries of a plan do not count, by what a person has said in records, and why.
func until(id string, in ...*record) (at time.Time, why string) {
	for _, r := range in {
		p := cmp.Or(r.plan(id), &plan{Until: r.Until})
		if p.Retired {
			return never, "a person has retired it"
		}
		if p.Until.After(at) {
			at, why = p.Until, "a person has changed it, or found it wrong"
		}
		for _, o := range r.Plans { // where one was wrong, what was rare beside it is not right for that
			for _, d := range o.Deliveries {
				if d.Wrong && d.At.After(at) {
					at, why = d.At, "it, or another plan for such cases, was wrong"
				}
			}
		}
	}
	return at, why
}

// fire returns the plan for a case of its key, or why it must not run: all are the plans of the key, and
// rules those that hold. Two deliveries are the least that tell what is constant from what varies, so any two
// that agree will do, of two scopes or of the case's own, unless they mean other calls for a third of their
// scopes; where two pairs mean different calls, none does.
func (p *plan) fire(
	now *shape, scope memory.Scope, all []*plan, rules []string,
) (calls []reason.PlanCall, why string) {
	var since time.Time // when others' deliveries begin to count: with its last six, but for a number beyond its own
	if n := len(p.Deliveries) - maxDeliveries; n >= 0 {
		since = p.Deliveries[n].At
	}
	for i, l := range now.in {
		was := each(p.Deliveries, func(d *delivery) any { return d.in[i].v })
		if typeOf(l.v) == "number" && !near(l.v, was, 1) {
			since = time.Time{}
		}
	}
	for i, b := range slices.Backward(p.Deliveries) { // the last ones say why not, and the words of tasks
		for _, a := range slices.Backward(p.Deliveries[:i]) {
			if a.scope == b.scope && a.scope != scope {
				continue // it is that scope's own
			}
			got, no := agree(a, b, now, p.Deliveries, calls)
			if no == "" {
				no = p.outvoted(a, b, all, since)
			}
			if no == "" && calls == nil && p.refuted(a, b) {
				no = "another delivery was made otherwise than these two mean"
			}
			if no != "" {
				why = cmp.Or(why, no)
				continue
			}
			if calls != nil && !samePlan(calls, got) {
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

// outvoted says that another plan has delivered cases that share what two deliveries have in common, too. This
// one takes two more of them than any other has: so a model that is wrong now and then is outvoted.
func (p *plan) outvoted(a, b *delivery, all []*plan, since time.Time) string {
	most := max(0, p.sharing(a, b, time.Time{})-2)
	for _, o := range all {
		if o.ID != p.ID && o.sharing(a, b, since) > most {
			return "another plan delivered cases of these words, too: " + summary(o.Deliveries[0].Calls)
		}
	}
	return ""
}

// refuted reports whether two deliveries mean other calls than the case of a third of their scopes has had.
func (p *plan) refuted(a, b *delivery) bool {
	return slices.ContainsFunc(p.Deliveries, func(d *delivery) bool {
		if d == a || d == b || d.scope != a.scope && d.scope != b.scope {
			return false
		}
		calls, why := agree(a, b, &shape{in: d.in}, p.Deliveries, d.Calls)
		return why == "" && !samePlan(calls, d.Calls)
	})
}

// sharing counts the deliveries since a time that have what the inputs of two share.
func (p *plan) sharing(a, b *delivery, since time.Time) (n int) {
	for _, d := range p.Deliveries {
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
	of := p.Deliveries
	if p.Edit != nil { // as it is written, whatever delivered it
		s.Calls, s.Parameters, s.Delivered = slices.Clone(p.Edit), parameters(p.Edit, nil), p.Delivered
	}
	if p.Edit != nil || len(of) == 0 {
		return s
	}
	last := of[len(of)-1]
	own, has := extract.Words(append(said(last.in), last.Text)...), extract.Words(append(said(now.in), words)...)
	names := make(map[string]any) // with a value, to tell its type
	named := false                // the name of a member is of the former case
	for _, l := range slices.Concat(now.in, last.in) {
		names[l.path] = l.v
	}
	taken := func(name string, v any) bool { was, is := names[name]; return is && was != v }
	s.Calls, _ = newMatch(of, nil).calls(func(path string, v, out any, rest, why string) (any, string) {
		for w := range extract.Words(rest) {
			if own[w] && !has[w] { // a word beside the inputs
				why = "it is of the former case"
			}
		}
		for w := range extract.Words(path) {
			named = named || own[w] && !has[w] && strings.ContainsFunc(path, naming)
		}
		if why == "" && (len(of) > 1 || !strings.ContainsFunc(rest, naming)) {
			return out, ""
		}
		base := cmp.Or(path, "value") // a parameter is named after its place
		name := base
		for n := 2; taken(name, v); n++ {
			name = fmt.Sprintf("%s %d", base, n)
		}
		names[name] = v
		return "{" + name + "}", ""
	})
	if named { // it cannot be shown without
		return reason.Suggestion{}
	}
	s.Parameters, s.Delivered = parameters(s.Calls, names), p.Delivered
	return s
}

var braced = regexp.MustCompile(`\{([^{}\x00]+)\}`)

// parameters are the names in braces in calls, with the types of what they had; any name, where that is nil.
func parameters(calls []reason.PlanCall, had map[string]any) map[string]string {
	names := make(map[string]string)
	for _, c := range calls {
		v, _ := schema.Read(c.Inputs)
		for _, m := range braced.FindAllStringSubmatch(strings.Join(said(leaves(v)), "\x00"), -1) {
			if v, is := had[m[1]]; is || had == nil {
				names[m[1]] = reason.TypeOf(v)
			}
		}
	}
	return names
}

// naming are the runes of words that name something: an order, a person, an address.
func naming(r rune) bool { return unicode.IsNumber(r) || unicode.IsUpper(r) || r == '@' }

// Known returns what a scope has learned, for a person: its plans, in a Lessons scope also those that the
// scopes below it share, and its warnings. A suggestion has the ID that [Layer.Edit] takes, and as Name the
// words of its cases; it differs by why it does not fire for the last of them, and by nothing if it does,
// whatever Rules are new: Before looks at those. One that a person has changed is as written; another whose
// deliveries do not count any more has no calls.
func (l *Layer) Known(ctx context.Context, scope memory.Scope) (k reason.Known, err error) {
	scope = cmp.Or(scope, "_")
	anyone, none := &Case{Scope: scope, Lessons: scope}, &shape{}
	err = l.scan(ctx, scope, planKind, func(_, id string) error {
		found, err := l.plans(ctx, anyone, none, id)
		if err != nil || found.Paths == nil {
			return err // it is of a single case, which its key has, too; or of one scope below
		}
		name := strings.TrimPrefix(found.Situation+": "+found.Template, ": ")
		name = strings.Join(append([]string{name}, found.Conditions...), "; only where ")
		for _, p := range found.Plans {
			s := p.suggestion(none, found.Template)
			s.ID, s.Name, s.Differs, s.Delivered = id+"/"+p.ID, name, p.why, p.Delivered
			if n := len(p.Deliveries); n > 0 {
				_, s.Differs = p.fire(&shape{in: p.Deliveries[n-1].in}, scope, found.Plans, nil)
			}
			k.Suggestions = append(k.Suggestions, s)
		}
		return nil
	})
	err = errors.Join(err, l.scan(ctx, scope, warnKind, func(_, id string) error {
		ws, err := l.warnings(ctx, anyone, none, id)
		k.Warnings = append(k.Warnings, ws...)
		return err
	}))
	return k, err
}

// Edit takes up what a person says of a plan, by the ID that [Layer.Known] gives, and reports whether that is
// new. Changed calls are suggested until a plan with them fires, which takes two deliveries; the former plan
// does not fire. nil: they are as they were. A retired plan neither fires nor is suggested, until that is
// taken back. What is said in a Lessons scope holds below it. An unknown id is store.ErrNotFound.
func (l *Layer) Edit(
	ctx context.Context, scope memory.Scope, id string, calls []reason.PlanCall, retired bool,
) (changed bool, err error) {
	key, of, _ := strings.Cut(id, "/")
	scope = cmp.Or(scope, "_")
	if l.clean != nil {
		calls, err = cleaned(l.clean, calls)
	}
	if err := cmp.Or(err, scope.Check(), store.CheckID(key)); err != nil {
		return false, fmt.Errorf("learn: %w", err)
	}
	for _, c := range calls {
		if _, err := schema.Read(c.Inputs); err != nil || c.Name == "" {
			return false, fmt.Errorf("learn: a call of the plan %q has no name, or inputs that are no JSON", id)
		}
	}
	found, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, &shape{}, key)
	if err != nil || found.plan(of) == nil {
		return false, cmp.Or(err, fmt.Errorf("learn: no plan %q in %q: %w", id, scope, store.ErrNotFound))
	}
	err = l.group.Update(ctx, func(b *store.Batch) error {
		return l.edit(ctx, b, scope.Key(planKind, key), func(r *record) (bool, error) {
			p := r.ensure(of) // also where others delivered it: their deliveries stay where they are
			changed, p.Retired = p.Retired != retired, retired
			if !retired && calls != nil && !samePlan(p.Edit, calls) {
				p.Edit, p.Until, changed = calls, l.now(), true
			}
			return changed, nil
		})
	})
	return changed, err
}

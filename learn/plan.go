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
)

// record is what is kept of a key: the plans that delivered its cases, or what was refused in its situation.
// At a scope that is the Lessons of others it names the scopes that came to it, too: what they did stays
// where it is, so that nothing of a scope is kept outside of it.
type record struct {
	Situation         string
	Conditions, Goals []string
	Template          string   // empty at a Lessons scope until two scopes came to it
	Paths             []string // of the inputs; nil: of a single case, or not told yet
	Like              memory.ID
	Plans             []*plan
	Refused           []*warning
	Scopes            []memory.Scope
	Until             time.Time // what plans that are not kept delivered until then counts no more

	rev store.Revision // that it was read at
}

// plan is one list of calls, but for what their inputs say, with the deliveries that made them. What is kept
// of it is not changed once it is read; as it stands for a case it is a copy, with the deliveries that count.
type plan struct {
	ID                string
	Retired           bool // by a person
	Edit              []reason.PlanCall
	Until             time.Time // a person has changed it, or found it wrong: what was delivered until then counts no more
	Delivered, Failed int
	Last              time.Time
	Rules             []string // digests of the rules that its last deliberation knew
	Deliveries        []*delivery

	why string // why others of its deliveries do not count
}

// delivery is a case that was delivered, as it was, and the calls that did it.
type delivery struct {
	ID      string // of the Advice, see above
	At      time.Time
	Wrong   bool // a person has said so at that time: it counts no more, as all before it, and has nothing else
	Text    string
	Inputs  json.RawMessage
	Calls   []reason.PlanCall
	Applied []applied // the memories that its deliberation applied

	ready bool     // what follows is made
	in    []leaf   // the inputs of the case
	words []leaf   // and the words of its text, see worded
	rest  string   // what its text has beside them
	trees []any    // the inputs of the calls
	made  [][]made // their values
	scope memory.Scope
}

// made is a value of a call, and what inputs say in it.
type made struct {
	leaf
	cut []piece
}

// applied is a memory with a digest of what it said.
type applied struct {
	ID    memory.ID
	Scope memory.Scope
	Said  string
}

// read makes a record ready to be compared with cases of its key. All JSON in it was read before it was kept.
func (r *record) read(scope memory.Scope) *record {
	for _, p := range r.Plans {
		for _, d := range p.Deliveries {
			if d.ready {
				continue // others may read it
			}
			v, _ := schema.Read(d.Inputs)
			d.ready, d.scope = true, scope
			d.find(leaves(v))
			d.words, d.rest = worded(d.Text, d.in)
		}
	}
	return r
}

// find looks for the inputs of a delivery in its calls.
func (d *delivery) find(in []leaf) {
	d.in, d.trees, d.made = in, nil, nil
	for _, call := range d.Calls {
		tree, _ := schema.Read(call.Inputs)
		d.trees = append(d.trees, tree)
		d.made = append(d.made, each(leaves(tree), func(l leaf) made { return made{l, split(word(l.v), in)} }))
	}
}

// inWords returns plans as they stand for a case, and the case, with words among the inputs. Left out are plans
// that were changed, and deliveries of cases that differ in more, or in a word that no call says.
func (r *record) inWords(c *Case, s *shape) ([]*plan, *shape) {
	in, rest := worded(c.Text, s.in)
	return slices.DeleteFunc(r.Plans, func(p *plan) bool {
		other := func(d *delivery) bool { return d.rest != rest || !d.says(in) }
		p.Deliveries = copies(slices.DeleteFunc(p.Deliveries, other))
		for _, d := range p.Deliveries {
			d.find(d.words)
		}
		return p.why != "" || p.Edit != nil || len(p.Deliveries) == 0
	}), &shape{in: in}
}

// says reports whether calls have each word of a delivery that a case has otherwise.
func (d *delivery) says(in []leaf) bool {
	return slices.EqualFunc(d.words, in, func(l, now leaf) bool {
		has := func(c reason.PlanCall) bool { return holds(string(c.Inputs), word(l.v)) }
		return l == now || !strings.Contains(l.path, "{") || slices.ContainsFunc(d.Calls, has)
	})
}

// planID is the digest of the names of calls and of their inputs' paths.
func planID(calls []reason.PlanCall) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%q:", c.Name) // quoted, since a model may put any sign into a name
		v, _ := schema.Read(c.Inputs)
		for _, l := range leaves(v) {
			fmt.Fprintf(&b, "%q ", l.path)
		}
	}
	return digest(b.String())
}

// summary is a plan in a word.
func summary(calls []reason.PlanCall) string {
	return strings.Join(each(calls, func(c reason.PlanCall) string { return c.Name }), ", ")
}

func samePlan(a, b []reason.PlanCall) bool {
	return slices.EqualFunc(a, b, func(x, y reason.PlanCall) bool {
		return x.Name == y.Name && string(x.Inputs) == string(y.Inputs)
	})
}

// plan returns a plan, nil where there is none.
func (r *record) plan(id string) *plan {
	if i := slices.IndexFunc(r.Plans, func(p *plan) bool { return p.ID == id }); i >= 0 {
		return r.Plans[i]
	}
	return nil
}

// of returns a plan, a new one where there is none.
func (r *record) of(id string) *plan {
	if r.plan(id) == nil {
		r.Plans = append(r.Plans, &plan{ID: id, Until: r.Until})
	}
	return r.plan(id)
}

// add takes in a delivery. Of plans that are too many the last ones go, but not those that a person has edited
// or retired; a new one is tried before the last of the old. What was found wrong stays so by Until.
func (r *record) add(id string, d *delivery) *plan {
	p := r.of(id)
	p.Deliveries = append(p.Deliveries, d)
	slices.SortStableFunc(p.Deliveries, func(a, b *delivery) int { return a.At.Compare(b.At) })
	for ; len(p.Deliveries) > maxDeliveries; p.Deliveries = p.Deliveries[1:] {
		if o := p.Deliveries[0]; o.Wrong && o.At.After(p.Until) {
			p.Until = o.At // the cases' own records keep longer what was delivered
		}
	}
	slices.SortStableFunc(r.Plans, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	for i := len(r.Plans) - 1; i >= 0 && len(r.Plans) > maxPlans; i-- {
		if o := r.Plans[i]; o != p && !o.Retired && o.Edit == nil {
			at, _ := until(o.ID, r)
			r.Until = slices.MaxFunc([]time.Time{r.Until, at}, time.Time.Compare)
			r.Plans = slices.Delete(r.Plans, i, i+1)
		}
	}
	return p
}

// count counts, or takes back, what a plan that is kept came to.
func (r *record) count(id string, v Verdict, at time.Time, by int) (counted Verdict) {
	if p := r.plan(id); p != nil && v != Unknown {
		n := &p.Delivered
		if v == Failed {
			n = &p.Failed
		}
		*n, p.Last, counted = max(0, *n+by), at, v
	}
	return counted
}

// worth is the mean of the posterior of a plan's deliveries, from a uniform prior.
func (p *plan) worth() float64 { return float64(p.Delivered+1) / float64(p.Delivered+p.Failed+2) }

// at returns the record of a key, read once for each of its revisions. It must not be changed.
func (l *Layer) at(ctx context.Context, in codec.Reader, scope memory.Scope, kind, id string) (*record, error) {
	e, err := in.Get(ctx, scope.Key(kind, id))
	if errors.Is(err, store.ErrNotFound) {
		return &record{}, nil
	}
	if r, ok := l.read.Get(e.Key); ok && err == nil && r.rev == e.Rev {
		return r, nil
	}
	r := &record{}
	if err = cmp.Or(err, codec.Unmarshal(e.Value, r)); err != nil {
		return &record{}, fmt.Errorf("learn: %s: %w", e.Key, err)
	}
	if r.read(scope).rev = e.Rev; e.Rev != 0 { // else it is staged
		l.read.Add(e.Key, r)
	}
	return r, nil
}

// edit changes the record of a key, unless f says that it has not. Slices in it f clones: others read them.
func (l *Layer) edit(ctx context.Context, b *store.Batch, scope memory.Scope, kind, id string, f func(*record) (changed bool, err error)) error {
	was, err := l.at(ctx, b, scope, kind, id)
	if err != nil {
		return err
	}
	r, key := *was, scope.Key(kind, id)
	r.Plans, r.Refused = copies(r.Plans), copies(r.Refused)
	if changed, err := f(&r); err != nil || !changed {
		return err
	}
	b.After(func(rev store.Revision) { r.rev = rev; l.read.Add(key, r.read(scope)) })
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

// sources returns the records of a key that a case learns from: its scope's own, and those of other scopes
// that came to it, which the record of its Lessons names.
func (l *Layer) sources(ctx context.Context, c *Case, kind, key string) (from []*record, up *record, err error) {
	st := l.group.Store()
	own, err := l.at(ctx, st, c.Scope, kind, key)
	if up = own; err == nil && c.Lessons != c.Scope {
		up, err = l.at(ctx, st, c.Lessons, kind, key)
	}
	from = []*record{own}
	for _, scope := range up.Scopes {
		if scope != c.Scope {
			r, no := l.at(ctx, st, scope, kind, key)
			from, err = append(from, r), cmp.Or(err, no)
		}
	}
	return from, up, err
}

// plans returns the plans of a key for a case, best first, with the deliveries that count, and its records.
func (l *Layer) plans(ctx context.Context, c *Case, s *shape, key string) (*record, error) {
	from, up, err := l.sources(ctx, c, planKind, key)
	if err == nil && key == s.key && len(s.in) > 0 {
		one, no := l.at(ctx, l.group.Store(), c.Scope, planKind, s.exact)
		from, err = append(from, one), no
	}
	out := merge(c.Scope, from, up)
	for _, p := range out.Plans {
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d *delivery) bool {
			why, no := l.lapsed(ctx, d)
			err, p.why = cmp.Or(err, no), cmp.Or(why, p.why)
			return why != ""
		})
	}
	very := func(d *delivery) bool { return len(s.in) > 0 && slices.Equal(d.in, s.in) } // of the case itself
	has := func(p *plan) int { return min(0, slices.IndexFunc(p.Deliveries, very)) }    // -1: none
	slices.SortStableFunc(out.Plans, func(a, b *plan) int { return cmp.Or(has(b)-has(a), cmp.Compare(b.worth(), a.worth())) })
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
	for _, r := range from {
		for _, p := range r.Plans {
			m := all.of(p.ID)
			m.why = cmp.Or(m.why, p.why)
			if m.Delivered, m.Failed = m.Delivered+p.Delivered, m.Failed+p.Failed; p.Last.After(m.Last) {
				m.Last, m.Rules = p.Last, p.Rules
			}
			until, said := until(p.ID, r, own, up)
			for _, d := range p.Deliveries {
				if said == "" || d.At.After(until) {
					m.Deliveries = append(m.Deliveries, d)
				} else {
					m.why = cmp.Or(m.why, said)
				}
			}
		}
	}
	for _, p := range slices.Concat(own.Plans, up.Plans) {
		if at, _ := until(p.ID, own, up); p.Edit != nil && at != never {
			all.of(p.ID).Edit = p.Edit
		}
	}
	all.Plans = slices.DeleteFunc(all.Plans, func(p *plan) bool {
		told := func(d *delivery) bool { return d.scope == scope || d.scope != p.Deliveries[0].scope }
		slices.SortFunc(p.Deliveries, func(a, b *delivery) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
		p.Deliveries = slices.CompactFunc(p.Deliveries, func(a, b *delivery) bool { return a.ID == b.ID })
		if !slices.ContainsFunc(p.Deliveries, told) {
			p.Deliveries = nil
		}
		return len(p.Deliveries) == 0 && p.Edit == nil && own.plan(p.ID) == nil
	})
	return &all
}

var never = time.Unix(1<<40, 0) // when a delivery of a plan that is retired counts

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
		for _, d := range p.Deliveries {
			if d.Wrong && d.At.After(at) {
				at, why = d.At, "a delivery of it was wrong"
			}
		}
	}
	return at, why
}

// fire returns the plan for a case of its key, or why it must not run: all are the plans of the key, and
// rules those that hold. Any two deliveries that agree will do, of two scopes or of the case's own, unless
// they mean other calls for a third of their scopes; where two pairs mean different calls, none does. Of the
// cases that share what both have in common, a plan takes two more than any other has, to outvote a mistake.
func (p *plan) fire(now *shape, scope memory.Scope, all []*plan, rules []string) (calls []reason.PlanCall, why string) {
	for i, b := range slices.Backward(p.Deliveries) { // the last ones say why not, and the words of tasks
		for _, a := range slices.Backward(p.Deliveries[:i]) {
			if a.scope == b.scope && a.scope != scope {
				continue // it is that scope's own
			}
			got, no := fire(a, b, now, p.Deliveries, calls)
			for _, o := range all {
				if n := o.common(a, b); no == "" && o.ID != p.ID && n > 0 && n > p.common(a, b)-2 {
					no = "another plan delivered cases of these words, too: " + summary(o.Deliveries[0].Calls)
				}
			}
			if no == "" && calls == nil && p.refuted(a, b) {
				no = "another delivery was made otherwise than these two mean"
			}
			switch {
			case no == "" && calls != nil && !samePlan(calls, got):
				return nil, "its deliveries mean different calls for this case"
			case no == "":
				calls, why = got, ""
			case calls == nil:
				why = cmp.Or(why, no)
			}
		}
	}
	if calls == nil {
		why = cmp.Or(why, p.why, "it was delivered once")
	}
	if slices.ContainsFunc(rules, func(r string) bool { return !slices.Contains(p.Rules, r) }) {
		why = cmp.Or(why, "there is a rule that its last deliberation did not know")
	}
	return calls, why
}

// refuted reports whether two deliveries mean other calls than the case of a third of their scopes has had.
func (p *plan) refuted(a, b *delivery) bool {
	return slices.ContainsFunc(p.Deliveries, func(d *delivery) bool {
		if d == a || d == b || d.scope != a.scope && d.scope != b.scope {
			return false
		}
		calls, why := fire(a, b, &shape{in: d.in}, p.Deliveries, d.Calls)
		return why == "" && !slices.EqualFunc(calls, d.trees, func(c reason.PlanCall, tree any) bool {
			return string(c.Inputs) == string(encode(tree))
		})
	})
}

// common counts the deliveries of a plan that have the inputs which two deliveries have in common.
func (p *plan) common(a, b *delivery) (n int) {
	for _, d := range p.Deliveries {
		has := true
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
	if len(of) == 0 {
		return s
	}
	last := of[len(of)-1]
	own, has := extract.Words(append(said(last.in), last.Text)...), extract.Words(append(said(now.in), words)...)
	names, named := make(map[string]any), false // with a value, to tell its type; an object's name is of the former case
	for _, l := range slices.Concat(now.in, last.in) {
		names[l.path] = l.v
	}
	taken := func(name string, v any) bool { was, is := names[name]; return is && was != v }
	s.Calls, _ = newMatch(of, nil).calls(func(path string, v, out any, rest, why string) (any, string) {
		for w := range extract.Words(rest) {
			if own[w] && !has[w] {
				why = "it is of the former case"
			}
		}
		for w := range extract.Words(path) {
			named = named || own[w] && !has[w] && strings.ContainsFunc(path, naming)
		}
		if why == "" && (len(of) > 1 || !strings.ContainsFunc(rest, naming)) {
			return out, ""
		}
		base := lastName(path) // a parameter that is named after its place
		if strings.Trim(base, "0123456789") == "" {
			base = "value " + path
		}
		name := base
		for n := 2; taken(name, v); n++ {
			name = fmt.Sprintf("%s %d", base, n)
		}
		names[name] = v
		return "{" + name + "}", ""
	})
	if named {
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

func lastName(path string) string { return path[strings.LastIndex(path, ".")+1:] }

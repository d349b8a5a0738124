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
	"unicode"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// Bounds of what is kept of a key.
const (
	maxPlans      = 3
	maxDeliveries = 6        // of a plan, and verdicts on it; each pair of deliveries is compared
	maxPlanBytes  = 24 << 10 // of a delivery; a longer one is not kept
	maxScopes     = 16       // of a Lessons scope, those that came to a plan last
)

// record is what is kept of a key: the plans that delivered its cases, or what was refused in its situation. At a
// scope that is the Lessons of others it names the scopes that came to it, too: what they did stays where it is, so
// that nothing of a scope is kept outside of it.
type record struct {
	Situation         string
	Conditions, Goals []string
	Template          string   // empty at a Lessons scope until two scopes came to it
	Paths             []string // of the inputs; nil: of a single case, or not told yet
	Plans             []*plan
	Refused           []*warning
	Scopes            []memory.Scope
}

// plan is one list of calls, but for what their inputs say, with the deliveries that made them. What is kept of it is
// not changed once it is read; as it stands for a case it is a copy, with the deliveries that count.
type plan struct {
	ID                string
	Retired           bool // by a person
	Edit              []reason.PlanCall
	Stops             []stop
	Delivered, Failed int
	Last              time.Time
	Rules             []string // digests of the rules that its last deliberation knew
	Deliveries        []*delivery

	why           string // why others of its deliveries do not count
	exact, shared bool   // of the very case; of several scopes: it takes deliveries in two of them
}

// stop is a person's word on a plan: what was delivered until then counts no more.
type stop struct {
	By string // the Advice whose delivery was wrong; "": the plan was edited
	At time.Time
}

// delivery is a case that was delivered, as it was, and the calls that did it.
type delivery struct {
	ID      string // of the Advice, see above
	At      time.Time
	Text    string
	Inputs  json.RawMessage
	Calls   []reason.PlanCall
	Applied []applied // the memories that its deliberation applied

	in    []leaf   // the inputs of the case
	trees []any    // the inputs of the calls
	made  [][]leaf // their values
	scope memory.Scope
	bad   string // why it cannot be read
}

// applied is a memory with a digest of what it said.
type applied struct {
	ID    memory.ID
	Scope memory.Scope
	Said  string
}

// read makes a record ready to be compared with cases of its key. What cannot be read is compared with nothing.
func (r *record) read(scope memory.Scope) *record {
	for _, p := range r.Plans {
		for _, d := range p.Deliveries {
			v, err := decode(d.Inputs)
			d.in, d.scope, d.trees, d.made = leaves(v), scope, nil, nil
			for _, call := range d.Calls {
				tree, err2 := decode(call.Inputs)
				d.trees, d.made, err = append(d.trees, tree), append(d.made, leaves(tree)), cmp.Or(err, err2)
			}
			if err != nil {
				d.bad = err.Error()
			}
		}
	}
	return r
}

// planID is the digest of the names of calls and of their inputs' paths.
func planID(calls []reason.PlanCall) string {
	var b strings.Builder
	for _, c := range calls {
		b.WriteString(c.Name + "\x00")
		v, _ := decode(c.Inputs)
		for _, l := range leaves(v) {
			b.WriteString(l.path + "\x01")
		}
	}
	return digest(b.String())
}

// summary is a plan in a word.
func summary(calls []reason.PlanCall) string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

func samePlan(a, b []reason.PlanCall) bool {
	return slices.EqualFunc(a, b, func(x, y reason.PlanCall) bool {
		return x.Name == y.Name && string(x.Inputs) == string(y.Inputs)
	})
}

// plan returns a plan, nil where there is none.
func (r *record) plan(id string) *plan {
	for _, p := range r.Plans {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// of returns a plan, a new one where there is none.
func (r *record) of(id string) *plan {
	if r.plan(id) == nil {
		r.Plans = append(r.Plans, &plan{ID: id})
	}
	return r.plan(id)
}

// add takes in a delivery. Of plans that are too many the last ones go, but not those that a person has had a word on;
// a new one is tried before the last of the old.
func (r *record) add(id string, d *delivery, rules []string) {
	p := r.of(id)
	p.Rules, p.Deliveries = rules, lastOf(append(p.Deliveries, d), func(d *delivery) time.Time { return d.At })
	slices.SortStableFunc(r.Plans, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	for i := len(r.Plans) - 1; i >= 0 && len(r.Plans) > maxPlans; i-- {
		if o := r.Plans[i]; o != p && !o.Retired && o.Edit == nil {
			r.Plans = slices.Delete(r.Plans, i, i+1)
		}
	}
}

// stop takes in a person's word.
func (p *plan) stop(s stop) {
	p.Stops = slices.DeleteFunc(p.Stops, func(o stop) bool { return o.By == s.By })
	p.Stops = lastOf(append(p.Stops, s), func(s stop) time.Time { return s.At })
}

// lastOf are the last ones, in the order of time.
func lastOf[T any](all []T, at func(T) time.Time) []T {
	slices.SortStableFunc(all, func(a, b T) int { return at(a).Compare(at(b)) })
	return all[max(0, len(all)-maxDeliveries):]
}

// remove takes back what came of an Advice.
func (r *record) remove(advice string) {
	for _, p := range r.Plans {
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d *delivery) bool { return d.ID == advice })
		p.Stops = slices.DeleteFunc(p.Stops, func(s stop) bool { return s.By == advice })
	}
}

// count counts, or takes back, what a plan that is kept came to.
func (r *record) count(id string, v Verdict, at time.Time, by int) {
	p := r.plan(id)
	switch {
	case p == nil:
		return
	case v == Delivered:
		p.Delivered = max(0, p.Delivered+by)
	default:
		p.Failed = max(0, p.Failed+by)
	}
	p.Last = at
}

// worth is the mean of the posterior of a plan's deliveries, from a uniform prior.
func (p *plan) worth() float64 { return float64(p.Delivered+1) / float64(p.Delivered+p.Failed+2) }

// at returns the record of a key, read once for each of its revisions. It must not be changed.
func (l *Layer) at(ctx context.Context, scope memory.Scope, kind, key string) (*record, error) {
	e, err := l.group.Store().Get(ctx, scope.Key(kind, key))
	if errors.Is(err, store.ErrNotFound) {
		return &record{}, nil
	}
	if was, ok := l.read.Get(e.Key); ok && err == nil && was.rev == e.Rev {
		return was.record, nil
	}
	r := &record{}
	if err = cmp.Or(err, codec.Unmarshal(e.Value, r)); err != nil {
		return r, fmt.Errorf("learn: %s: %w", e.Key, err)
	}
	l.read.Add(e.Key, revised{r.read(scope), e.Rev})
	return r, nil
}

// plans returns the plans of a key, best first: those of the very case, those of the case's scope, and those that two
// scopes of its Lessons came to; and those that a person has written instead.
func (l *Layer) plans(ctx context.Context, c *Case, key, exact string) (out []*plan, written []reason.Suggestion, err error) {
	at := func(scope memory.Scope, key string) *record {
		r, no := l.at(ctx, scope, planKind, key)
		err = cmp.Or(err, no)
		return r
	}
	own := at(c.Scope, key)
	up, over := own, []*record{own}
	if c.Lessons != c.Scope {
		up = at(c.Lessons, key)
		over = append(over, up)
	}
	if exact != "" {
		out = at(c.Scope, exact).stands(over...)
		for _, p := range out {
			p.exact = true
		}
	}
	out = append(out, own.stands(over...)...)
	var shared []*plan
	for _, scope := range up.Scopes {
		for _, p := range at(scope, key).stands(over...) {
			i := slices.IndexFunc(shared, func(o *plan) bool { return o.ID == p.ID })
			if i < 0 {
				shared = append(shared, p)
				continue
			}
			o := shared[i]
			o.shared = true
			o.Delivered, o.Failed = o.Delivered+p.Delivered, o.Failed+p.Failed
			if o.Deliveries = append(o.Deliveries, p.Deliveries...); p.Last.After(o.Last) {
				o.Last, o.Rules = p.Last, p.Rules
			}
			slices.SortStableFunc(o.Deliveries, func(a, b *delivery) int { return a.At.Compare(b.At) })
		}
	}
	shared = slices.DeleteFunc(shared, func(p *plan) bool { return !p.shared }) // what one scope came to is not told to others
	slices.SortStableFunc(shared, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	for _, r := range over {
		for _, p := range r.Plans {
			if p.Edit != nil && !p.Retired {
				written = append(written, reason.Suggestion{Plan: reason.Plan{Calls: slices.Clone(p.Edit)}, Parameters: parameters(p.Edit, nil)})
			}
		}
	}
	out = append(out, shared...)
	for _, p := range out {
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d *delivery) bool {
			why, no := l.lapsed(ctx, d)
			err, p.why = cmp.Or(err, no), cmp.Or(why, p.why)
			return why != ""
		})
	}
	return out, written, err
}

// stands returns the plans with the deliveries that count: a person may have had a word on them here, or in a record
// over this one.
func (r *record) stands(over ...*record) (out []*plan) {
	for _, p := range r.Plans {
		is, until, stopped := *p, time.Time{}, ""
		is.Deliveries = nil
		for _, o := range append([]*record{r}, over...) {
			o := o.plan(p.ID)
			if o == nil {
				continue
			}
			is.Retired = is.Retired || o.Retired
			for _, s := range o.Stops {
				if s.At.After(until) {
					until, stopped = s.At, "a delivery of it was wrong"
				}
				if s.At.Equal(until) && s.By == "" {
					stopped = "a person has changed it"
				}
			}
		}
		for _, d := range p.Deliveries {
			why := d.bad
			switch {
			case is.Retired:
				why = "a person has retired it"
			case !d.At.After(until):
				why = stopped
			}
			if is.why = cmp.Or(why, is.why); why == "" {
				is.Deliveries = append(is.Deliveries, d)
			}
		}
		if len(p.Deliveries) > 0 {
			out = append(out, &is)
		}
	}
	return out
}

// fire returns the plan for a case of its key, or why it must not run: all are the plans of the key, and rules those
// that hold. Any two deliveries that agree will do; where two pairs mean different calls, none does. A plan takes two
// more deliveries than any other has, so that a model that is wrong now and then, where no gate sees it, is outvoted.
func (p *plan) fire(now *shape, all []*plan, rules []string) (calls []reason.PlanCall, why string) {
	why = "it was delivered once"
	if p.exact {
		why = "this very case was delivered once"
	}
	why = cmp.Or(p.why, why)
	of := p.Deliveries
	for i, b := range of {
		for _, a := range of[:i] {
			if p.shared && a.scope == b.scope {
				continue
			}
			got, no := fire(a, b, now, of)
			switch {
			case no == "" && calls != nil && !samePlan(calls, got):
				return nil, "its deliveries mean different calls for this case"
			case no == "":
				calls, why = got, ""
			case calls == nil:
				why = no
			}
		}
	}
	for _, o := range all {
		if o.ID != p.ID && o.exact == p.exact && len(o.Deliveries) > len(of)-2 && len(o.Deliveries) > 0 {
			why = cmp.Or(why, "another plan delivered cases of these words, too: "+summary(o.Deliveries[0].Calls))
		}
	}
	for _, r := range rules {
		if !slices.Contains(p.Rules, r) {
			why = cmp.Or(why, "there is a rule that its last deliberation did not know")
		}
	}
	return calls, why
}

// suggestion is the plan as it is shown for a case that it does not fire for: {name} stands for each parameter, and
// no value of another case is in it. What a single delivery says is shown if it names nothing. Without a delivery that
// counts it has no calls.
func (p *plan) suggestion(now *shape, text string) (s reason.Suggestion) {
	of := p.Deliveries
	if len(of) == 0 {
		return s
	}
	last := of[len(of)-1]
	var own, has map[string]bool  // the words of the former case, and of this one
	names := make(map[string]any) // with a value, to tell its type
	for _, l := range slices.Concat(now.in, last.in) {
		names[l.path] = l.v
	}
	taken := func(name string, v any) bool { was, is := names[name]; return is && was != v }
	s.Calls, _ = newMatch(of, nil).calls(func(path string, v, out any, rest, why string) (any, string) {
		for w := range pieces(rest) {
			if own == nil {
				own, has = pieces(append(said(last.in), last.Text)...), pieces(append(said(now.in), text)...)
			}
			if own[w] && !has[w] {
				why = "it is of the former case"
			}
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
	for i := range s.Calls {
		s.Calls[i].ResultDigest = ""
	}
	s.Parameters, s.Delivered = parameters(s.Calls, names), p.Delivered
	return s
}

// parameters are the names in braces in calls, with the types of the values that they had; where nobody knows of these
// any name is one.
func parameters(calls []reason.PlanCall, had map[string]any) map[string]string {
	names := make(map[string]string)
	for _, c := range calls {
		v, _ := decode(c.Inputs)
		for _, text := range said(leaves(v)) {
			for _, m := range braced.FindAllStringSubmatch(text, -1) {
				if v, is := had[m[1]]; is || had == nil {
					names[m[1]] = jsonType(v)
				}
			}
		}
	}
	return names
}

// jsonType is the type of a value that a parameter may have, else "".
func jsonType(v any) string {
	if t := typeOf(v); t == "string" || t == "number" || t == "bool" {
		return t
	}
	return ""
}

// naming are the runes of words that name something: an order, a person, an address.
func naming(r rune) bool { return unicode.IsNumber(r) || unicode.IsUpper(r) || r == '@' }

func lastName(path string) string { return path[strings.LastIndex(path, ".")+1:] }

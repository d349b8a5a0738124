package learn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
)

// Bounds of what is kept of a key.
const (
	maxPlans      = 3
	maxDeliveries = 6        // of a plan; each pair of them is compared
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
	Paths             []string // of the inputs
	Plans             []*plan
	Refused           []*warning
	Scopes            []memory.Scope
}

// plan is one list of names of calls, with the deliveries that made them.
type plan struct {
	ID                string // of its names
	Retired           bool   // by a person
	Edit              []reason.PlanCall
	Edited            time.Time // by a person
	Delivered, Failed int
	Last              time.Time
	Rules             []string // digests of the rules that its last deliberation knew
	Deliveries        []*delivery

	shared bool // of several scopes: it takes deliveries in two of them
	exact  bool // of the very case
}

// delivery is a case that was delivered, as it was, and the calls that did it. Or it is a verdict that a delivery was
// wrong: what was delivered until then counts no more.
type delivery struct {
	ID      string // of the Advice
	At      time.Time
	Wrong   bool
	Text    string
	Inputs  json.RawMessage
	Calls   []reason.PlanCall
	Applied []applied // the memories that its deliberation applied

	*shape // nil: not read yet
	made   []made
	scope  memory.Scope
	stale  string // why it does not count any more
}

// applied is a memory with a digest of what it said.
type applied struct {
	ID    memory.ID
	Scope memory.Scope
	Said  string
}

// made are the inputs of a call.
type made struct {
	tree any
	at   map[string]any
}

// read makes a delivery ready to be compared. What cannot be read is compared with nothing.
func (d *delivery) read(scope memory.Scope) {
	v, err := decode(d.Inputs)
	d.shape, d.scope, d.made = &shape{in: leaves(v)}, scope, nil
	for _, call := range d.Calls {
		tree, err2 := decode(call.Inputs)
		at := make(map[string]any)
		for _, l := range leaves(tree) {
			at[l.path] = l.v
		}
		d.made, err = append(d.made, made{tree, at}), cmp.Or(err, err2)
	}
	if err != nil {
		d.stale = err.Error()
	}
}

// read makes the plans of a record ready to be compared with cases of its key. What a person or a verdict has said of
// a plan in the records of over counts as well.
func (r *record) read(scope memory.Scope, over ...*record) (out []*plan) {
	for _, p := range r.Plans {
		is, wrong, edited := *p, time.Time{}, time.Time{}
		for _, o := range append(over, r) {
			if by := o.plan(p.ID); by != nil {
				is.Retired, edited = is.Retired || by.Retired, later(edited, by.Edited)
				for _, d := range by.Deliveries {
					if d.Wrong {
						wrong = later(wrong, d.At)
					}
				}
			}
		}
		is.Deliveries = nil
		for _, d := range p.Deliveries {
			if d.Wrong {
				continue
			}
			d.read(scope)
			switch {
			case is.Retired:
				d.stale = "a person has retired it"
			case !d.At.After(edited):
				d.stale = "a person has changed it"
			case !d.At.After(wrong):
				d.stale = "a delivery of it was wrong"
			}
			is.Deliveries = append(is.Deliveries, d)
		}
		if len(is.Deliveries) > 0 {
			out = append(out, &is)
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// live are the deliveries of a plan that count.
func (p *plan) live() []*delivery {
	return slices.DeleteFunc(slices.Clone(p.Deliveries), func(d *delivery) bool { return d.stale != "" })
}

// planID is the digest of the names of a plan's calls.
func planID(p *reason.Plan) string {
	if p == nil {
		return ""
	}
	return digest(summary(p.Calls))
}

func summary(calls []reason.PlanCall) string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
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
	p := r.plan(id)
	if p == nil {
		p = &plan{ID: id}
		r.Plans = append(r.Plans, p)
	}
	return p
}

// add takes in a delivery.
func (r *record) add(d *delivery, rules []string) {
	p := r.of(planID(&reason.Plan{Calls: d.Calls}))
	p.Delivered, p.Last, p.Rules = p.Delivered+1, d.At, rules
	alike := 0 // the second of two equal deliveries makes a plan ready; older ones say nothing new, and may be stale
	p.keep(d)
	for i := len(p.Deliveries) - 1; i >= 0; i-- {
		if o := p.Deliveries[i]; !o.Wrong && string(o.Inputs) == string(d.Inputs) && samePlan(o.Calls, d.Calls) {
			if alike++; alike > 2 {
				p.Deliveries = slices.Delete(p.Deliveries, i, i+1)
			}
		}
	}
	slices.SortStableFunc(r.Plans, func(a, b *plan) int { return cmp.Compare(b.worth(), a.worth()) })
	said := func(p *plan) bool { return p.Retired || p.Edit != nil }    // by a person: it stays
	for i := len(r.Plans) - 1; i >= 0 && len(r.Plans) > maxPlans; i-- { // a new one is tried before the last of the old
		if r.Plans[i] != p && !said(r.Plans[i]) {
			r.Plans = slices.Delete(r.Plans, i, i+1)
		}
	}
}

// keep adds a delivery or a verdict in the order of time.
func (p *plan) keep(d *delivery) {
	p.Deliveries = append(p.Deliveries, d)
	slices.SortStableFunc(p.Deliveries, func(a, b *delivery) int { return a.At.Compare(b.At) })
	p.Deliveries = p.Deliveries[max(0, len(p.Deliveries)-maxDeliveries):]
}

// remove takes back what came of an Advice.
func (r *record) remove(advice string) {
	for _, p := range r.Plans {
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d *delivery) bool { return d.ID == advice })
	}
}

// count changes the counters of a plan, if it is kept.
func (r *record) count(id string, delivered, failed int, at time.Time) {
	if p := r.plan(id); p != nil {
		p.Delivered, p.Failed, p.Last = max(0, p.Delivered+delivered), max(0, p.Failed+failed), at
	}
}

// worth is the mean of the posterior of a plan's deliveries, from a uniform prior.
func (p *plan) worth() float64 { return float64(p.Delivered+1) / float64(p.Delivered+p.Failed+2) }

func samePlan(a, b []reason.PlanCall) bool {
	return slices.EqualFunc(a, b, func(x, y reason.PlanCall) bool {
		return x.Name == y.Name && string(x.Inputs) == string(y.Inputs)
	})
}

// differs says in a sentence what a case has otherwise than the cases of a key.
func (r *record) differs(c *Case, s *shape) string {
	var out []string
	say := func(differs bool, what string) {
		if differs {
			out = append(out, what)
		}
	}
	say(r.Situation != c.Situation, "its situation is another")
	say(!slices.Equal(slices.Sorted(slices.Values(r.Conditions)), slices.Sorted(slices.Values(c.Conditions))), "its conditions are others")
	say(!slices.Equal(r.Goals, c.Goals), "it serves another goal")
	given := make(map[string]bool)
	for _, v := range s.in {
		given[v.path] = true
		say(!slices.Contains(r.Paths, v.path), v.path+" is given")
	}
	for _, p := range r.Paths {
		say(!given[p], p+" is not given")
	}
	say(fold(r.Template) != fold(s.template), "it is said in other words")
	say(len(out) == 0, "an input is of another type")
	return strings.Join(out, "; ")
}

// fire returns the plan for a case of its key, or why it must not run: all are the plans of the key, and rules those
// that hold. Any two deliveries that agree will do; where two pairs mean different calls, none does. A plan takes two
// more deliveries than any other has, so that a model that is wrong now and then, where no gate sees it, is outvoted.
func (p *plan) fire(now *shape, all []*plan, rules []string) (calls []reason.PlanCall, why string) {
	why = "it was delivered once"
	if p.exact {
		why = "this very case was delivered once"
	}
	for _, d := range p.Deliveries {
		why = cmp.Or(d.stale, why)
	}
	of := p.live()
	for i := len(of) - 1; i > 0; i-- {
		for j := i - 1; j >= 0; j-- {
			a, b := of[j], of[i]
			if p.shared && a.scope == b.scope {
				continue
			}
			got, no := fire(a, b, now, of)
			if no == "" && calls != nil && samePlan(calls, got) {
				continue
			}
			switch {
			case no == "" && calls != nil:
				return nil, "its deliveries mean different calls for this case"
			case no == "":
				calls, why = got, ""
			case calls == nil:
				why = no
			}
		}
	}
	for _, o := range all {
		if o.ID != p.ID && o.exact == p.exact && len(o.live()) > len(of)-2 {
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
// no value of another case is in it. What a single delivery says is shown if it names nothing.
func (p *plan) suggestion(now *shape, text string) (s reason.Suggestion, ok bool) {
	of := p.live()
	if len(of) == 0 {
		return s, false
	}
	m, last := newMatch(of, nil), of[len(of)-1]
	own := sync.OnceValue(func() map[string]bool { return pieces(append(said(last.in), last.Text)...) })
	has := sync.OnceValue(func() map[string]bool { return pieces(append(said(now.in), text)...) })
	type input struct{} // fills its own name only
	names := make(map[string]any)
	for _, l := range slices.Concat(now.in, last.in) {
		names[l.path] = input{}
	}
	s.Calls, _ = m.calls(func(path string, v, out any, rest, why string) (any, string) {
		for w := range pieces(rest) {
			if own()[w] && !has()[w] {
				why = "it is of the former case"
			}
		}
		if why == "" && (len(of) > 1 || !strings.ContainsFunc(rest, naming)) {
			return out, ""
		}
		name := lastName(path) // a parameter that is named after its place
		if strings.Trim(name, "0123456789") == "" {
			name = "value " + path
		}
		base := name
		for n := 2; names[name] != nil && names[name] != v; n++ {
			name = fmt.Sprintf("%s %d", base, n)
		}
		names[name] = v
		return "{" + name + "}", ""
	})
	for _, l := range last.in {
		names[l.path] = l.v
	}
	for i := range s.Calls {
		s.Calls[i].ResultDigest = ""
	}
	s.Parameters, s.Delivered = parameters(s.Calls), p.Delivered
	maps.DeleteFunc(s.Parameters, func(name, _ string) bool { _, known := names[name]; return !known })
	for name := range s.Parameters {
		s.Parameters[name] = jsonTypes[typeOf(names[name])]
	}
	return s, true
}

// parameters are the names in braces in calls.
func parameters(calls []reason.PlanCall) map[string]string {
	names := make(map[string]string)
	for _, c := range calls {
		v, _ := decode(c.Inputs)
		for _, l := range leaves(v) {
			for _, m := range braced.FindAllStringSubmatch(word(l.v), -1) {
				names[m[1]] = ""
			}
		}
	}
	return names
}

// said are the words of values.
func said(in []leaf) (out []string) {
	for _, l := range in {
		out = append(out, word(l.v))
	}
	return out
}

// jsonTypes are the types of values that a parameter may have.
var jsonTypes = map[string]string{typeOf(""): "string", typeOf(json.Number("")): "number", typeOf(true): "bool"}

// naming are the runes of words that name something: an order, a person, an address.
func naming(r rune) bool { return unicode.IsNumber(r) || unicode.IsUpper(r) || r == '@' }

func lastName(path string) string { return path[strings.LastIndex(path, ".")+1:] }

package learn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// record is what is kept of a key: the plans that delivered its cases. At a scope that is the Lessons of others, it
// names the scopes that came to a plan instead: their deliveries stay where they are, so that nothing of a scope is
// kept outside of it.
type record struct {
	Situation  string
	Conditions []string
	Goals      []string
	Template   string   // empty at a Lessons scope until two scopes came to it
	Paths      []string // of the inputs
	Plans      []plan
	Stops      []stop
	Edits      []edit
	Scopes     []memory.Scope
}

// plan is one list of names of calls, with the deliveries that made them.
type plan struct {
	ID                string // of its names
	Retired           bool   // by a person
	Delivered, Failed int
	Last              time.Time
	Rules             []string // digests of the rules that its last deliberation knew
	Deliveries        []delivery
}

// delivery is a case that was delivered, as it was, and the calls that did it.
type delivery struct {
	ID      string // of the Advice
	At      time.Time
	Text    string
	Inputs  json.RawMessage
	Calls   []reason.PlanCall
	Applied []applied // the memories that its deliberation applied
}

// applied is a memory with a digest of what it said.
type applied struct {
	ID    memory.ID
	Scope memory.Scope
	Said  string
}

// stop says that a verdict called a delivery of a plan wrong, or that a person has changed it. Deliveries until then
// count no more.
type stop struct {
	Plan string
	By   string // the ID of the Advice; "": a person's edit
	At   time.Time
}

// compared is a delivery made ready to be compared.
type compared struct {
	*delivery
	*shape
	made  []made
	scope memory.Scope
	stale string // why it does not count any more
}

// made are the inputs of a call.
type made struct {
	tree any
	in   []leaf
}

// read makes a delivery ready. What cannot be read is compared with nothing.
func (d *delivery) read(scope memory.Scope) *compared {
	v, err := decode(d.Inputs)
	c := &compared{delivery: d, shape: &shape{in: leaves(nil, "", v)}, scope: scope}
	for _, call := range d.Calls {
		tree, err2 := decode(call.Inputs)
		err = cmp.Or(err, err2)
		c.made = append(c.made, made{tree, leaves(nil, "", tree)})
	}
	if err != nil {
		c.stale = err.Error()
	}
	return c
}

// contender is a plan with its deliveries, of one scope or of several.
type contender struct {
	plan
	of     []*compared
	shared bool // a plan of several scopes: it takes deliveries in two of them
	exact  bool // of the very case
}

// planID is the digest of the names of a plan's calls.
func planID(calls []reason.PlanCall) string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return digest(strings.Join(names, "\x00"))
}

// plan returns where a plan is in Plans, or -1.
func (r *record) plan(id string) int {
	return slices.IndexFunc(r.Plans, func(p plan) bool { return p.ID == id })
}

func (r *record) retired(id string) bool {
	i := r.plan(id)
	return i >= 0 && r.Plans[i].Retired
}

// obey takes over what a person has said in the Lessons scope above: it holds for all below.
func (r *record) obey(above *record) {
	for i := range r.Plans {
		r.Plans[i].Retired = r.Plans[i].Retired || above.retired(r.Plans[i].ID)
	}
	for _, s := range above.Stops {
		if s.By == "" {
			r.Stops = append(r.Stops, s)
		}
	}
	r.Edits = append(r.Edits, above.Edits...)
}

// add takes in a delivery.
func (r *record) add(d delivery, rules []string) {
	id := planID(d.Calls)
	i := r.plan(id)
	if i < 0 {
		r.Plans = append(r.Plans, plan{ID: id})
		i = len(r.Plans) - 1
	}
	p := &r.Plans[i]
	p.Delivered, p.Last, p.Rules = p.Delivered+1, d.At, rules
	p.Deliveries = append(p.Deliveries, d)
	slices.SortStableFunc(p.Deliveries, func(a, b delivery) int { return a.At.Compare(b.At) })
	alike := 0 // the second of two equal deliveries makes a plan ready; older ones say nothing new, and may be stale
	for i := len(p.Deliveries) - 1; i >= 0; i-- {
		if o := p.Deliveries[i]; string(o.Inputs) == string(d.Inputs) && samePlan(o.Calls, d.Calls) {
			if alike++; alike > 2 {
				p.Deliveries = slices.Delete(p.Deliveries, i, i+1)
			}
		}
	}
	if n := len(p.Deliveries); n > maxDeliveries {
		p.Deliveries = slices.Delete(p.Deliveries, 0, n-maxDeliveries)
	}
	slices.SortStableFunc(r.Plans, func(a, b plan) int { return cmp.Compare(b.worth(), a.worth()) })
	if len(r.Plans) > maxPlans {
		last := maxPlans - 1 // the new one is tried before an old one that is no better
		if kept := slices.IndexFunc(r.Plans, func(p plan) bool { return p.ID == id }); kept > last {
			r.Plans[last] = r.Plans[kept]
		}
		r.Plans = r.Plans[:maxPlans]
	}
}

// remove takes a delivery back.
func (r *record) remove(advice string) {
	for i := range r.Plans {
		p := &r.Plans[i]
		p.Deliveries = slices.DeleteFunc(p.Deliveries, func(d delivery) bool { return d.ID == advice })
	}
}

func size(text string, inputs json.RawMessage, calls []reason.PlanCall) int {
	n := len(text) + len(inputs)
	for _, c := range calls {
		n += len(c.Name) + len(c.Inputs) + len(c.Text)
	}
	return n
}

// count changes the counters of a plan.
func (r *record) count(id string, delivered, failed int, at time.Time) {
	for i := range r.Plans {
		if p := &r.Plans[i]; p.ID == id {
			p.Delivered, p.Failed = max(0, p.Delivered+delivered), max(0, p.Failed+failed)
			p.Last = at
		}
	}
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

// worth is the mean of the posterior of a plan's deliveries, from a uniform prior.
func (p plan) worth() float64 { return float64(p.Delivered+1) / float64(p.Delivered+p.Failed+2) }

func samePlan(a, b []reason.PlanCall) bool {
	return slices.EqualFunc(a, b, func(x, y reason.PlanCall) bool {
		return x.Name == y.Name && string(x.Inputs) == string(y.Inputs)
	})
}

// contenders makes the plans of a record ready to be compared with cases of its key.
func (r *record) contenders(scope memory.Scope) (out []*contender) {
	for _, p := range r.Plans {
		c := &contender{plan: p}
		for i := range p.Deliveries {
			of := p.Deliveries[i].read(scope)
			for _, s := range r.Stops {
				if s.Plan == p.ID && !of.At.After(s.At) {
					if of.stale = "a delivery of it was wrong"; s.By == "" {
						of.stale = "a person has changed it"
					}
				}
			}
			if p.Retired {
				of.stale = "a person has retired it"
			}
			c.of = append(c.of, of)
		}
		out = append(out, c)
	}
	return out
}

// fire returns the plan for a case of its key, or why it must not run. Any two deliveries that agree will do; where
// two pairs mean different calls, none does.
func (c *contender) fire(now *shape) (calls []reason.PlanCall, why string) {
	why = "it was delivered once"
	if c.exact {
		why = "this very case was delivered once"
	}
	var of []*compared
	for _, d := range c.of {
		if d.stale == "" {
			of = append(of, d)
		} else {
			why = d.stale
		}
	}
	for i := len(of) - 1; i > 0; i-- {
		for j := i - 1; j >= 0; j-- {
			a, b := of[j], of[i]
			if c.shared && a.scope == b.scope {
				continue
			}
			got, no := fire(a, b, now, of)
			if no == "" && calls != nil && samePlan(calls, got) {
				continue
			}
			for _, d := range []*compared{a, b} {
				if no == "" {
					_, no = fire(a, b, d.shape, of)
				}
			}
			switch {
			case no != "":
				if calls == nil {
					why = no
				}
			case calls != nil:
				return nil, "its deliveries mean different calls for this case"
			default:
				calls, why = got, ""
			}
		}
	}
	return calls, why
}

// rival returns why a plan must not fire because of others of its key: it takes two more deliveries than any of them
// has. A model that is wrong now and then, where no gate sees it, is outvoted that way.
func (c *contender) rival(all []*contender) string {
	live := func(c *contender) (n int) {
		for _, d := range c.of {
			if d.stale == "" {
				n++
			}
		}
		return n
	}
	for _, o := range all {
		if o.ID != c.ID && o.exact == c.exact && live(o) > live(c)-2 {
			return "another plan delivered cases of these words, too: " + summary(o.of[0].Calls)
		}
	}
	return ""
}

// suggestion is the plan as it is shown for a case that it does not fire for: {name} stands for each parameter, and
// no value of another case is in it.
func (c *contender) suggestion(now *shape, text string) (s reason.Suggestion, ok bool) {
	of := slices.DeleteFunc(slices.Clone(c.of), func(d *compared) bool { return d.stale != "" })
	if len(of) == 0 {
		return s, false
	}
	last := of[len(of)-1]
	m := masker{now: pieces(append(said(now.in), text)...), of: of, at: map[string]any{}}
	for _, l := range slices.Concat(now.in, last.in) {
		m.at[l.path] = taken{} // an input fills its own name only
	}
	for i, call := range last.Calls {
		m.call = i
		s.Plan.Calls = append(s.Plan.Calls, reason.PlanCall{Name: call.Name, Inputs: encode(rewrite("", last.made[i].tree, m.leaf))})
	}
	s.Parameters, s.Delivered = map[string]string{}, c.Delivered
	for _, name := range m.names {
		s.Parameters[name] = m.typeOf(name)
	}
	return s, true
}

// masker puts {name} for what belongs to former cases.
type masker struct {
	now   map[string]bool // words and numbers of the case at hand
	of    []*compared
	call  int            // the one at hand
	names []string       // of the parameters, in order
	at    map[string]any // what a name stood for, in the last delivery
}

// typeOf is the JSON type of what a parameter stood for in the last delivery.
func (m *masker) typeOf(name string) string {
	v := m.at[name]
	for _, l := range m.of[len(m.of)-1].in {
		if l.path == name {
			v = l.v
		}
	}
	return jsonTypes[typeOf(v)]
}

// taken is what the name of an input stands for.
type taken struct{}

// leaf returns a value of a call as it is shown. What a single delivery says is shown if it names nothing.
func (m *masker) leaf(path string, v any) any {
	var shown any
	for i, d := range m.of {
		in := d.made[m.call].in
		at := slices.IndexFunc(in, func(l leaf) bool { return l.path == path })
		if at < 0 {
			return m.name(path, v) // it is not in all deliveries
		}
		said := m.bound(d, path, in[at].v)
		if i > 0 && said != shown {
			return m.name(path, v)
		}
		shown = said
	}
	last := m.of[len(m.of)-1]
	rest := word(shown)
	var names []string
	for _, l := range last.in {
		if place := "{" + l.path + "}"; strings.Contains(rest, place) {
			rest = strings.ReplaceAll(rest, place, " ")
			names = append(names, l.path)
		}
	}
	own := pieces(append(said(last.in), last.Text)...)
	for p := range pieces(rest) {
		if own[p] && !m.now[p] { // it is of the former case
			return m.name(path, v)
		}
	}
	if len(m.of) == 1 && strings.ContainsFunc(rest, naming) { // nothing says that it is not
		return m.name(path, v)
	}
	for _, n := range names {
		if !slices.Contains(m.names, n) {
			m.names = append(m.names, n)
		}
	}
	return shown
}

// said are the words of values.
func said(in []leaf) (out []string) {
	for _, l := range in {
		out = append(out, word(l.v))
	}
	return out
}

// bound returns a value of a call with {path} for the inputs that it says. A true or false is said by an input of
// its name only.
func (m *masker) bound(d *compared, path string, v any) any {
	for _, l := range d.in {
		if l.v == v && (word(v) != "" || typeOf(v) == "bool" && lastName(l.path) == lastName(path)) {
			return "{" + l.path + "}"
		}
	}
	if s, ok := v.(string); ok {
		return template(s, d.in)
	}
	return v
}

// name returns {name} for a value that no input says: a parameter that is named after its place.
func (m *masker) name(path string, v any) any {
	base := lastName(path)
	if strings.Trim(base, "0123456789") == "" {
		base = "value " + path
	}
	name := base
	for n := 2; ; n++ {
		if was, ok := m.at[name]; !ok || was == v {
			break
		}
		name = fmt.Sprintf("%s %d", base, n)
	}
	m.at[name] = v
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
	return "{" + name + "}"
}

// naming are the runes of words that name something: an order, a person, an address.
func naming(r rune) bool { return unicode.IsNumber(r) || unicode.IsUpper(r) || r == '@' }

func lastName(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// bind returns a suggestion's plan with its parameters filled: by given, an object by the names of parameters, and
// for the rest by the inputs of the case.
func bind(s reason.Suggestion, in []leaf, given json.RawMessage) (*reason.Plan, error) {
	values := make(map[string]any)
	for _, l := range in {
		values[l.path] = l.v
	}
	v, err := decode(given)
	if err != nil {
		return nil, fmt.Errorf("the inputs of %s: %w", s.Name, err)
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("the inputs of %s: no JSON object", s.Name)
	}
	for k, v := range object {
		want, known := s.Parameters[k]
		if !known {
			return nil, fmt.Errorf("%s has no parameter %q, but %q", s.Name, k, slices.Sorted(maps.Keys(s.Parameters)))
		}
		if own, ok := values[k]; ok && want == "" {
			want = jsonTypes[typeOf(own)]
		}
		if got := jsonTypes[typeOf(v)]; got == "" || want != "" && got != want {
			return nil, fmt.Errorf("%s wants a %s for %q", s.Name, cmp.Or(want, "string, number or bool"), k)
		}
		values[k] = v
	}
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		if _, ok := values[name]; !ok {
			return nil, fmt.Errorf("%s wants a value for %q", s.Name, name)
		}
	}
	out := &reason.Plan{}
	for _, call := range s.Plan.Calls {
		v, err := decode(call.Inputs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		call.Inputs = encode(rewrite("", v, func(_ string, v any) any { return fill(v, s.Parameters, values) }))
		out.Calls = append(out.Calls, call)
	}
	return out, nil
}

// jsonTypes are the types of values that a parameter may have.
var jsonTypes = map[string]string{typeOf(""): "string", typeOf(json.Number("")): "number", typeOf(true): "bool"}

// fill puts values into a string of a call: one that is a parameter alone becomes its value, of any type.
func fill(v any, names map[string]string, values map[string]any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	var swap []string
	for n := range names {
		if s == "{"+n+"}" {
			return values[n]
		}
		swap = append(swap, "{"+n+"}", cmp.Or(word(values[n]), string(encode(values[n]))))
	}
	return strings.NewReplacer(swap...).Replace(s)
}

package goal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// problem is what a search works on: the values that matter to a goal, each
// distinct one as a number, so that a state of the world is a few numbers.
type problem struct {
	state State
	goal  *Goal
	roots []root
	conds []*condition // the goal's is the first
	steps []step       // by name
	live  []int        // the steps that can be taken some time
	begin []int32      // the world as it is: the number of each root's value

	known [][]int8           // by condition and value: 0 not looked at, 1 not met, 2 met
	next  map[[2]int32]int32 // by effect and value: the value after it
	size  int                // of all values, in bytes

	// What follows is for the estimate.
	opens  [][]int // by step: the conditions that it may let become met
	prices []price // by condition
	costs  []float64
	floors []float64
}

// root is a place whose parents do not matter: a variable of the problem.
type root struct {
	place
	values  []any // by number
	numbers map[string]int32
	first   bool // the first value has its number, 1, and is not in numbers yet
}

// missing is the value of what is not known. Its number is 0.
type missing struct{}

// maxValues bounds the values of a problem, in bytes of JSON.
const maxValues = 64 << 20

func newProblem(s State, g *Goal, actions []Action) (*problem, error) {
	if err := g.Condition.Check(); err != nil {
		return nil, err
	}
	at, err := parseSelector(g.Selector)
	if err != nil {
		return nil, err
	}
	steps, err := sortedSteps(actions)
	if err != nil {
		return nil, err
	}
	p := &problem{state: s, goal: g, next: make(map[[2]int32]int32)}
	goal := &condition{Condition: g.Condition, at: at}
	p.keep(goal, steps)
	p.known = make([][]int8, len(p.conds))
	p.look()
	p.prepare()
	return p, nil
}

// rootsOf returns the places of the goal and the steps that lie in no other,
// in order.
func rootsOf(goal *condition, steps []step) []place {
	all := []place{goal.at}
	for i := range steps {
		for _, c := range steps[i].pre {
			all = append(all, c.at)
		}
		for _, e := range steps[i].effects {
			all = append(all, e.place)
		}
	}
	slices.SortFunc(all, place.compare)
	roots := all[:0]
	for _, p := range all { // what lies in a place follows it
		if len(roots) == 0 || !roots[len(roots)-1].within(p) {
			roots = append(roots, p)
		}
	}
	return roots
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.domain, q.domain), slices.Compare(p.keys, q.keys))
}

// keep fills in the roots, the conditions and the steps that can matter: those
// that change what the goal is about, those that change what their
// preconditions are about, and so on.
func (p *problem) keep(goal *condition, steps []step) {
	places := rootsOf(goal, steps)
	rootOf := func(q place) int {
		i, exact := slices.BinarySearchFunc(places, q, place.compare)
		if !exact {
			i-- // it lies in the one before
		}
		return i
	}
	changing := make([][]int, len(places)) // by root: the steps that change it
	for i := range steps {
		for j := range steps[i].effects {
			e := &steps[i].effects[j]
			e.root = rootOf(e.place)
			changing[e.root] = append(changing[e.root], i)
		}
	}
	matters := make([]bool, len(steps))
	seen := make([]bool, len(places))
	number := make([]int, len(places)) // in p.roots
	var queue []int
	visit := func(r int) int {
		if !seen[r] {
			seen[r], number[r] = true, len(p.roots)
			queue = append(queue, r)
			p.roots = append(p.roots, root{place: places[r], values: []any{missing{}}, numbers: make(map[string]int32)})
		}
		return number[r]
	}
	byKey := make(map[string]int)
	p.add(goal, visit(rootOf(goal.at)), byKey)
	for ; len(queue) > 0; queue = queue[1:] {
		for _, i := range changing[queue[0]] {
			if matters[i] {
				continue
			}
			matters[i] = true
			for j := range steps[i].pre {
				c := &steps[i].pre[j]
				p.add(c, visit(rootOf(c.at)), byKey)
			}
			for _, e := range steps[i].effects {
				visit(e.root)
			}
		}
	}
	for i := range steps {
		if matters[i] {
			p.steps = append(p.steps, steps[i])
		}
	}
	id := 0
	for i := range p.steps {
		for j := range p.steps[i].effects {
			e := &p.steps[i].effects[j]
			e.root, e.id = number[e.root], id
			id++
		}
	}
}

// add gives a condition its number, which it shares with those that are alike.
func (p *problem) add(c *condition, root int, byKey map[string]int) {
	c.root = root
	raw, err := json.Marshal(c.test())
	if err != nil { // it was checked
		panic(err)
	}
	k := fmt.Sprintf("%T %s %s", c.test(), raw, c.Selector)
	id, has := byKey[k]
	if !has {
		id = len(p.conds)
		byKey[k] = id
		p.conds = append(p.conds, c)
	}
	c.id = id
}

// look fills in what is known of the world. What a condition says then is what
// the state says, which knows how old each part of a value is.
func (p *problem) look() {
	p.begin = make([]int32, len(p.roots))
	for i := range p.roots {
		if r, err := p.state.look(p.roots[i].place, 0); err == nil {
			p.roots[i].values = append(p.roots[i].values, r.Value)
			p.begin[i], p.roots[i].first = 1, true
		}
	}
	told := make([]Status, len(p.conds))
	for id, c := range p.conds {
		g := Goal{Condition: c.Condition}
		if id == 0 {
			g.MaxAge = p.goal.MaxAge
		}
		told[id] = g.Evaluate(p.state).Status
		if r := &p.roots[c.root]; told[id] != p.status(c, p.begin[c.root]) {
			// Only parts of the value are known, or it is too old for the
			// goal. Such a value is like no other, and nothing can be added
			// to it.
			r.values = append(r.values, missing{})
			p.begin[c.root] = int32(len(r.values) - 1)
		}
	}
	for id, c := range p.conds {
		p.met(c, p.begin) // makes room
		p.known[id][p.begin[c.root]] = 1
		if told[id] == Met {
			p.known[id][p.begin[c.root]] = 2
		}
	}
}

// status returns what a condition says of the value n of its root.
func (p *problem) status(c *condition, n int32) Status {
	r := &p.roots[c.root]
	if r.values[n] == (missing{}) {
		return Unknown
	}
	v, found := lookup(r.values[n], c.at.keys[len(r.keys):])
	if !found {
		return Unknown
	}
	status, _ := c.test().eval(v)
	return status
}

// number returns the number of a value of a root.
func (p *problem) number(root int, v any) int32 {
	r := &p.roots[root]
	if r.first { // it may be large, and most plans compare it with no other
		r.first = false
		raw := encoded(r.values[1])
		r.numbers[raw] = 1
		p.size += len(raw)
	}
	raw := encoded(v)
	n, has := r.numbers[raw]
	if !has {
		n = int32(len(r.values))
		r.values = append(r.values, v)
		r.numbers[raw] = n
		p.size += len(raw)
	}
	return n
}

// encoded tells plain values apart.
func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil { // a plain value always encodes
		panic(err)
	}
	return string(raw)
}

// met reports whether a condition is met where the roots have these values.
func (p *problem) met(c *condition, vec []int32) bool {
	n := vec[c.root]
	known := p.known[c.id]
	if int(n) >= len(known) {
		known = append(known, make([]int8, len(p.roots[c.root].values)-len(known))...)
		p.known[c.id] = known
	}
	if known[n] == 0 {
		known[n] = 1
		if p.status(c, n) == Met {
			known[n] = 2
		}
	}
	return known[n] == 2
}

// apply changes a vector by the effects of a step.
func (p *problem) apply(st *step, vec []int32) {
	for i := range st.effects {
		e := &st.effects[i]
		k := [2]int32{int32(e.id), vec[e.root]}
		n, has := p.next[k]
		if !has {
			n = p.effect(e, vec[e.root])
			p.next[k] = n
		}
		vec[e.root] = n
	}
}

// effect returns the number of a value after an effect.
func (p *problem) effect(e *effect, n int32) int32 {
	if e.alters {
		return 0
	}
	v := p.roots[e.root].values[n]
	keys := e.place.keys[len(p.roots[e.root].keys):]
	switch {
	case v != (missing{}):
		after, changed := e.after(v, keys)
		if !changed {
			return n
		}
		return p.number(e.root, after)
	case e.add:
		return n
	case len(keys) == 0:
		return p.number(e.root, e.value)
	default:
		return 0 // a part of what is not known does not make it known
	}
}

// price is what it costs to bring a number within the bounds of a threshold,
// at least.
type price struct {
	up, down float64 // of a unit
	other    float64 // by other means than additions
}

// prepare fills in what the estimate needs.
func (p *problem) prepare() {
	p.opens = make([][]int, len(p.steps))
	p.prices = make([]price, len(p.conds))
	p.costs, p.floors = make([]float64, len(p.conds)), make([]float64, len(p.conds))
	byRoot := make([][]int, len(p.roots))
	for id, c := range p.conds {
		byRoot[c.root] = append(byRoot[c.root], id)
		p.prices[id] = price{math.Inf(1), math.Inf(1), math.Inf(1)}
	}
	for i := range p.steps {
		p.live = append(p.live, i)
		st := &p.steps[i]
		var near []int // conditions on what the step changes
		for _, e := range st.effects {
			near = append(near, byRoot[e.root]...)
		}
		slices.Sort(near)
		for _, id := range slices.Compact(near) {
			c, cost := p.conds[id], &p.prices[id]
			touch := st.touches(c)
			st.hopes = st.hopes || id == 0 && touch.alters
			if touch.leads(c, id == 0) {
				p.opens[i] = append(p.opens[i], id)
			}
			switch {
			case touch.last == nil:
			case !touch.onlyAdds:
				cost.other = min(cost.other, st.cost)
			case touch.sum > 0:
				cost.up = min(cost.up, st.cost/touch.sum)
			case touch.sum < 0:
				cost.down = min(cost.down, st.cost/-touch.sum)
			}
		}
	}
}

// slack keeps sums of floats from making an estimate too high.
const slack = 1 - 1e-9

// floor returns what it costs at least to let a condition become met that is
// about the value n of its root.
func (p *problem) floor(c *condition, n int32) float64 {
	t, ok := c.test().(Threshold)
	if !ok {
		return 0
	}
	cost := p.prices[c.id]
	v, _ := lookup(p.roots[c.root].values[n], c.at.keys[len(p.roots[c.root].keys):])
	f, isNumber := float(v)
	switch {
	case !isNumber:
		return cost.other
	case t.Min != nil && f < *t.Min:
		return min(cost.other, slack*cost.up*(*t.Min-f))
	case t.Max != nil && f > *t.Max:
		return min(cost.other, slack*cost.down*(f-*t.Max))
	default:
		return 0
	}
}

// estimate returns what it costs at least to meet the goal from where the roots
// have these values; infinity if it cannot be met. It leaves in p.costs what
// each condition costs.
func (p *problem) estimate(vec []int32) float64 {
	for id, c := range p.conds {
		p.costs[id] = 0
		if !p.met(c, vec) {
			p.costs[id], p.floors[id] = math.Inf(1), p.floor(c, vec[c.root])
		}
	}
	for changed := p.costs[0] > 0; changed; {
		changed = false
		for _, i := range p.live {
			cost := p.reach(i)
			if math.IsInf(cost, 1) {
				continue
			}
			cost += p.steps[i].cost
			for _, id := range p.opens[i] {
				if to := max(cost, p.floors[id]); to < p.costs[id] {
					p.costs[id], changed = to, true
				}
			}
		}
	}
	return p.costs[0]
}

// reach returns what it costs at least to be able to take a step, by p.costs.
func (p *problem) reach(step int) float64 {
	cost := 0.0
	for i := range p.steps[step].pre {
		cost = max(cost, p.costs[p.steps[step].pre[i].id])
	}
	return cost
}

// why says which effects and preconditions are missing if the goal cannot be
// met from the world as it is.
func (p *problem) why() string {
	if !math.IsInf(p.estimate(p.begin), 1) {
		return "what one action changes, another undoes, or needs otherwise"
	}
	var b strings.Builder
	p.explain(&b, p.conds[0], 0)
	return b.String()
}

// maxWhys is how many actions a reason names for each condition, and how deep
// it goes.
const maxWhys = 3

func (p *problem) explain(b *strings.Builder, c *condition, depth int) {
	var ways []int
	touched := 0
	for i := range p.steps {
		if p.steps[i].touches(c).last != nil {
			touched++
		}
		if slices.Contains(p.opens[i], c.id) {
			ways = append(ways, i)
		}
	}
	switch {
	case touched == 0:
		fmt.Fprintf(b, "no action changes %s", c.Selector)
	case len(ways) == 0:
		fmt.Fprintf(b, "no action is known to make %s", c.Condition)
	case depth == maxWhys:
		b.WriteString("and so on")
	default:
		fmt.Fprintf(b, "what can make %s cannot be done: ", c.Condition)
	}
	if len(ways) == 0 || depth == maxWhys {
		return
	}
	for n, i := range ways {
		if n > 0 {
			b.WriteString("; ")
		}
		if n == maxWhys {
			fmt.Fprintf(b, "and %d more", len(ways)-n)
			return
		}
		p.lacks(b, &p.steps[i], depth)
	}
}

// lacks names the first precondition of a step that cannot be met.
func (p *problem) lacks(b *strings.Builder, st *step, depth int) {
	for i := range st.pre {
		c := p.conds[st.pre[i].id]
		if !math.IsInf(p.costs[c.id], 1) {
			continue
		}
		v := Goal{Condition: c.Condition}.Evaluate(p.state)
		fmt.Fprintf(b, "%q needs that %s, but %s, and ", short(st.Name), c.Condition, v.Reason)
		p.explain(b, c, depth+1)
		return
	}
	fmt.Fprintf(b, "%q does not change what is there now", short(st.Name))
}

package rank

import (
	"math"
	"slices"

	"github.com/arc-learn/arc/rank/internal/rasch"
	"github.com/arc-learn/arc/rank/internal/skill"
)

const (
	curiosity = 0.2  // deviations of a rating added for what is not known
	firstCost = 0.25 // share of the mean that a first attempt costs
)

// rung is a candidate for the next attempt of a ladder.
type rung struct {
	curve         rasch.Curve
	known         int
	chance, price float64
	then          float64 // what the best attempt after it is worth
}

// net returns what the attempt is worth by itself.
func (g *rung) net(success float64) float64 { return success*g.chance - g.price }

// climb ranks for a ladder: by what the attempt and the best one after it are worth. Candidates that are not
// worth their price come last.
func climb(m *skill.Model, s *Situation, cs []Candidate, fs []contender, greedy bool) []Scored {
	hard, success := m.Tried(s.Failed), s.Worth.Success
	patience := curiosity * math.Sqrt(math.Log1p(m.N()))
	if greedy {
		patience = 0
	}
	rungs := make([]rung, len(cs))
	usual := firstCost * m.Usual(s.Worth.Second)
	for i := range cs {
		r, g := m.Rating(cs[i].Name), &rungs[i]
		g.curve, g.known = r.Curve(patience), int(r.N+0.5)
		if !slices.Contains(s.Failed, cs[i].Name) { // once is enough
			g.chance = hard.Chance(&g.curve)
		}
		g.price = (usual + r.USD + s.Worth.Second*r.Seconds) / (1 + r.N)
	}
	for i := range rungs {
		g, after := &rungs[i], hard
		after.Failed(&g.curve)
		for j := range rungs {
			if x := &rungs[j]; j != i && x.chance > 0 {
				g.then = max(g.then, success*after.Chance(&x.curve)-(1-g.chance)*x.price)
			}
		}
		net := g.net(success)
		if fs[i].by = net + g.then; net <= 0 {
			fs[i].by = net - MaxCostUSD
		}
	}
	out := make([]Scored, len(fs))
	for rank, i := range sortObserved(nil, fs, cs) {
		g, o := &rungs[i], &out[rank]
		o.Candidate, o.Score, o.Samples = cs[i], g.net(success), fs[i].window.samples()
		o.Parts = Parts{Basis: Priced, Known: g.known, Success: g.chance, Cost: g.price}
	}
	return out
}

// Purse spends so much a task on average. It turns what is left into the worth of a success now: saved money
// raises it, debts lower it.
type Purse struct {
	Each  float64 // US dollars a task, on average
	Tasks int     // that have begun
	Spent float64 // on all of them, and what is reserved
}

// The purse of a host that has not spent anything, in multiples of Each.
const (
	firstWorth = 10   // of a success
	thrift     = 0.08 // by how much saving one Each makes a success dearer
	credit     = 6.0  // that may be spent before it is earned
	everyday   = 1.5  // that a task may spend as long as there is credit …
	repaying   = 0.8  // … and where there is none
	mostWorth  = 1000 // of a success
)

// Worth returns what a success is worth now. If most.Success is set, it is the upper bound.
func (p Purse) Worth(most Worth) Worth {
	saved := float64(p.Tasks) - p.Spent/p.Each
	v := max(p.Each*min(mostWorth, firstWorth*math.Exp(thrift*saved)), math.SmallestNonzeroFloat64) // 0 is no price
	if most.Success > 0 {
		v = min(v, most.Success)
	}
	most.Success = v
	return most
}

// Affords reports whether a task that has used so much may begin an attempt of this price. Spent includes
// what it has used.
func (p Purse) Affords(used, price float64) bool {
	left, may := p.Each*(float64(p.Tasks)+credit)-p.Spent, everyday*p.Each
	if left < 0 {
		may = repaying * p.Each
	}
	return used+price <= may || price <= left
}

package rank

import "math"

// Purse spends so much a task on average. It turns what is left into what a
// success is worth now: saved money makes it dearer, debts make it cheaper.
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

// Worth returns what a success is worth now, at most what the host says that it
// is, if it does.
func (p Purse) Worth(most Worth) Worth {
	saved := float64(p.Tasks) - p.Spent/p.Each
	v := p.Each * min(mostWorth, firstWorth*math.Exp(thrift*saved))
	if most.Success > 0 {
		v = min(v, most.Success)
	}
	most.Success = v
	return most
}

// Affords reports whether a task that has used so much may begin an attempt
// of this price. What it has used is part of Spent.
func (p Purse) Affords(used, price float64) bool {
	left, may := p.Each*(float64(p.Tasks)+credit)-p.Spent, everyday*p.Each
	if left < 0 {
		may = repaying * p.Each
	}
	return used+price <= may || price <= left
}

// Package skill learns from the samples of a skill what each candidate is worth
// in a situation.
//
// A [Model] is what every sample with a worth changes a little. It has four layers:
//
//   - each candidate has a mean worth, drawn from a normal prior whose mean
//     and spread are those of the skill's candidates (empirical Bayes), so that
//     many candidates with few samples each are told apart only by what the
//     samples show;
//   - in a context (a situation's key, or the neighbourhood of its features)
//     all candidates may do better or worse, and one candidate may differ from
//     the others; only the second matters for the order;
//   - what a candidate that was never tried in a context does there is
//     predicted by its mean, or by whether it has delivered anywhere: in some
//     skills who is good is good everywhere, in others each candidate is there
//     for one kind of situation (see transfer);
//   - how far candidates differ by context is not assumed: several spreads,
//     zero among them, predict every sample before it counts, and each has the
//     weight that its predictions earned (Bayesian model averaging).
//
// Learn says what a sample changes, Put writes that, and Apply makes the change;
// Load reads what was written. A [Sight] is a situation as the Model sees it, and says
// what a candidate is worth there. Calls that only read may overlap.
package skill

import "github.com/arc-learn/arc/rank/internal/rasch"

// Model is what is known of a skill. It is changed by Apply only.
type Model struct {
	head     head
	arms     []arm
	index    map[string]int32 // of a candidate in arms
	settings settings
	places   places
}

// newModel returns the Model of a skill without samples.
func newModel() *Model {
	return &Model{head: newHead(), index: make(map[string]int32), settings: settings{by: make(map[uint64]*setting)}}
}

// Seen is how many samples there were.
func (m *Model) Seen() uint64 { return m.head.seen }

// N is how many samples of known worth there were.
func (m *Model) N() float64 { return m.head.n }

// arm returns the number of the candidate and what is known of it, or -1 and
// nothing.
func (m *Model) arm(name string) (int32, arm) {
	if i, ok := m.index[name]; ok {
		return i, m.arms[i]
	}
	return -1, arm{}
}

// Rating returns what the candidate can do.
func (m *Model) Rating(name string) rasch.Rating {
	if _, a := m.arm(name); a.rating.Variance > 0 {
		return a.rating
	}
	return rasch.First
}

// Tried returns the difficulty of a task at which these have failed.
func (m *Model) Tried(failed []string) rasch.Difficulty {
	d := rasch.Untried
	for i, name := range failed {
		r := m.Rating(name)
		c := r.Curve(0)
		d.Failed(&c)
		if i%64 == 63 {
			d.Norm() // before the weights are too small to tell apart
		}
	}
	d.Norm()
	return d
}

// Usual is what an attempt costs on average, where a second costs so much.
func (m *Model) Usual(second float64) float64 {
	n, sum := 0.0, 0.0
	for i := range m.arms {
		r := &m.arms[i].rating
		n += r.N
		sum += r.USD + second*r.Seconds
	}
	return sum / max(n, 1)
}

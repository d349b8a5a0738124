package skill

import (
	"sync"

	"github.com/arc-learn/arc/rank/internal/near"
)

// view is what a model knows of one kind of context of a situation.
type view struct {
	ok      bool
	shared  float64  // what the context does to all candidates
	setting *setting // byKey
	likes   []like
	around  *around // byFeatures
}

// around is what is known of the neighbourhood of a situation.
type around struct {
	x       []float32
	found   []near.Neighbour
	samples []evidence // by candidate; zero unless touched
	touched []int32
}

type evidence struct{ n, sum float64 }

var arounds = sync.Pool{New: func() any { return new(around) }}

func (m *Model) keyView(id, words uint64) view {
	if id == 0 {
		return view{}
	}
	v := view{ok: true, setting: m.settings.by[id], likes: m.settings.likes(id, words)}
	if c := v.setting; c != nil {
		u := sharedSpread * m.head.scale()
		v.shared = c.Moved / (1/(u*u) + c.Weight)
	}
	return v
}

// nearView gathers the samples of the neighbours, the nearer the heavier, and
// what they say of all candidates. It has to be released.
func (m *Model) nearView(x []float64) view {
	if !m.places.Fits(x) {
		return view{}
	}
	a := arounds.Get().(*around)
	a.x = near.Narrow(a.x[:0], x)
	a.found = m.places.Nearest(a.found[:0], a.x)
	if len(a.found) == 0 {
		arounds.Put(a)
		return view{}
	}
	if len(a.samples) < len(m.arms) {
		a.samples = make([]evidence, len(m.arms))
	}
	edge := a.found[len(a.found)-1].Distance
	if len(a.found) <= near.Neighbours {
		edge *= 2 // too few to say where the neighbourhood ends
	}
	for _, f := range a.found {
		weight := 1.0
		if edge > 0 {
			weight -= float64(f.Distance / edge)
		}
		a.gather(m, &m.places.points[f.Slot], weight)
	}
	return view{ok: true, around: a, shared: a.shared(m)}
}

func (a *around) gather(m *Model, p *point, weight float64) {
	if weight <= 0 {
		return
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		if c.Epoch != m.arms[c.Arm].epoch {
			continue
		}
		e := &a.samples[c.Arm]
		if e.n == 0 {
			a.touched = append(a.touched, c.Arm)
		}
		e.n += weight * c.N
		e.sum += weight * c.Sum
	}
}

// shared is what the neighbourhood does to all candidates.
func (a *around) shared(m *Model) float64 {
	h := &m.head
	u := sharedSpread * h.scale()
	weight, moved := 1/(u*u), 0.0
	prior, precision := h.mean/h.spread2, 1/h.spread2
	for _, i := range a.touched {
		e, arm := &a.samples[i], &m.arms[i]
		mean := (prior + arm.sum/h.noise2) / (precision + arm.n/h.noise2) // as posterior has it
		w := 1 / (h.context2[byFeatures] + h.noise2/e.n)
		weight += w
		moved += w * (e.sum/e.n - mean)
	}
	return moved / weight
}

// release gives back what the view borrowed.
func (v *view) release() {
	a := v.around
	if a == nil {
		return
	}
	for _, i := range a.touched {
		a.samples[i] = evidence{}
	}
	a.touched = a.touched[:0]
	v.around = nil
	arounds.Put(a)
}

// evidence returns the candidate's samples in the context, none of a candidate
// without a number.
func (v *view) evidence(i int32, a *arm) (e evidence) {
	switch {
	case !v.ok || i < 0:
	case v.around != nil:
		if int(i) < len(v.around.samples) {
			e = v.around.samples[i]
		}
	default:
		e.n, e.sum = hearsay(v.likes, i, a)
		if v.setting != nil {
			if x := v.setting.find(i); x != nil && x.Epoch == a.epoch {
				e.n, e.sum = e.n+x.N, e.sum+x.Sum
			}
		}
	}
	return e
}

// shift is what the context is expected to do to a candidate of this evidence
// alone, if candidates differ by spread.
func (v *view) shift(h *head, e evidence, mean, spread float64) float64 {
	prior2 := spread * spread
	if e.n == 0 || prior2 == 0 {
		return 0
	}
	return prior2 / (prior2 + h.noise2/e.n) * (e.sum/e.n - (mean + v.shared))
}

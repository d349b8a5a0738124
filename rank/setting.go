package rank

import (
	"math"
	"slices"
)

// Bounds of what a model keeps by context. What was used longest ago makes
// room.
const (
	maxSettings = 1024 // of keys, per skill
	maxCells    = 64   // candidates per context
)

// settingID stands for a situation's key in memory and in the store, so that
// a key that holds a secret need not be sanitized to be found again.
func settingID(key string) uint64 { return hash(0, key) }

// cell is what a candidate did in one context.
type cell struct {
	arm    int32
	epoch  uint32 // of the candidate; an older cell is void
	n, sum float64
	// What the cell adds to the context's sums.
	weight, moved float64
	used          uint64 // when, in samples of the skill
}

// context is what happened in the situations of one key. It is not changed
// once it is in a model.
type setting struct {
	weight float64 // precision of the candidates' common shift
	moved  float64 // that times their shift
	used   uint64
	cells  []cell
}

func (c *setting) find(arm int32) *cell {
	for i := range c.cells {
		if c.cells[i].arm == arm {
			return &c.cells[i]
		}
	}
	return nil
}

// with returns the context with a sample added; c may be nil.
func (c *setting) with(u *update, worth float64) *setting {
	h := &u.head
	out := &setting{used: h.seen}
	if c != nil {
		out.weight, out.moved = c.weight, c.moved
		out.cells = slices.Grow(out.cells, len(c.cells)+1)
		out.cells = append(out.cells, c.cells...)
	}
	x := out.find(u.index)
	if x == nil {
		x = out.room()
		x.arm = u.index
	}
	out.weight -= x.weight
	out.moved -= x.moved
	if x.epoch != u.arm.epoch {
		*x = cell{arm: u.index, epoch: u.arm.epoch}
	}
	x.n++
	x.sum += worth
	x.used = h.seen
	mean, _ := u.arm.posterior(h, h.mean, 0)
	x.weight = 1 / (h.context2[byKey] + h.noise2/x.n)
	x.moved = x.weight * (x.sum/x.n - mean)
	out.weight += x.weight
	out.moved += x.moved
	return out
}

// room returns an empty cell, that of the candidate used longest ago if the
// context is full.
func (c *setting) room() *cell {
	if len(c.cells) < maxCells {
		c.cells = append(c.cells, cell{})
		return &c.cells[len(c.cells)-1]
	}
	x := &c.cells[0]
	for i := range c.cells {
		if c.cells[i].used < x.used {
			x = &c.cells[i]
		}
	}
	c.weight -= x.weight
	c.moved -= x.moved
	*x = cell{}
	return x
}

// idlest returns the key of the context that was used longest ago.
func (m *model) idlest() uint64 {
	var id uint64
	used := uint64(math.MaxUint64)
	for k, c := range m.settings {
		if c.used < used { // no two are equal: each sample has one key
			id, used = k, c.used
		}
	}
	return id
}

// view is what a model knows of one kind of context of a situation.
type view struct {
	ok      bool
	shared  float64  // what the context does to all candidates
	setting *setting // byKey
	around  *around  // byFeatures
}

func (m *model) keyView(key string) view {
	if key == "" {
		return view{}
	}
	v := view{ok: true, setting: m.settings[settingID(key)]}
	if c := v.setting; c != nil {
		u := sharedSpread * m.head.scale()
		v.shared = c.moved / (1/(u*u) + c.weight)
	}
	return v
}

// evidence returns number and sum of the candidate's samples in the context.
func (v *view) evidence(i int32, a *arm) (n, sum float64) {
	if v.around != nil {
		return v.around.evidence(i)
	}
	if v.setting == nil {
		return 0, 0
	}
	if x := v.setting.find(i); x != nil && x.epoch == a.epoch {
		return x.n, x.sum
	}
	return 0, 0
}

// shift returns mean and variance of what the context does to one candidate
// alone, if candidates differ by spread.
func (v *view) shift(h *head, i int32, a *arm, mean, spread float64) (shift, variance float64) {
	n, sum := v.evidence(i, a)
	return shrink(h, n, sum, mean+v.shared, spread*spread)
}

// shrink returns mean and variance of a normal deviation from expected whose
// prior has the variance prior2, after n samples.
func shrink(h *head, n, sum, expected, prior2 float64) (mean, variance float64) {
	if n == 0 || prior2 == 0 {
		return 0, prior2
	}
	share := prior2 / (prior2 + h.noise2/n)
	return share * (sum/n - expected), prior2 * (1 - share)
}

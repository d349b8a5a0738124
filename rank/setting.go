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

// cell is what a candidate did in one context, as it is stored.
type cell struct {
	Arm   int32   `cbor:"1,keyasint,omitempty"`
	Epoch uint32  `cbor:"2,keyasint,omitempty"` // of the candidate; an older cell is void
	N     float64 `cbor:"3,keyasint,omitempty"`
	Sum   float64 `cbor:"4,keyasint,omitempty"`
	// What the cell adds to the context's sums.
	Weight float64 `cbor:"5,keyasint,omitempty"`
	Moved  float64 `cbor:"6,keyasint,omitempty"`
	Used   uint64  `cbor:"7,keyasint,omitempty"` // when, in samples of the skill
}

// setting is what happened in the situations of one key, as it is stored. It is not
// changed once it is in a model.
type setting struct {
	Weight float64 `cbor:"1,keyasint,omitempty"` // precision of the candidates' common shift
	Moved  float64 `cbor:"2,keyasint,omitempty"` // that times their shift
	Used   uint64  `cbor:"3,keyasint,omitempty"`
	Cells  []cell  `cbor:"4,keyasint,omitempty"`
}

func (c *setting) valid(arms int) bool {
	ok := len(c.Cells) <= maxCells && sane(c.Weight, c.Moved)
	for _, x := range c.Cells {
		ok = ok && x.Arm >= 0 && int(x.Arm) < arms && summed(x.N, x.Sum) && sane(x.Weight, x.Moved)
	}
	return ok
}

func (c *setting) find(arm int32) *cell {
	for i := range c.Cells {
		if c.Cells[i].Arm == arm {
			return &c.Cells[i]
		}
	}
	return nil
}

// with returns the context with a sample added; c may be nil.
func (c *setting) with(u *update, worth float64) *setting {
	h := &u.head
	out := &setting{Used: h.seen}
	if c != nil {
		out.Weight, out.Moved = c.Weight, c.Moved
		out.Cells = slices.Grow(out.Cells, len(c.Cells)+1)
		out.Cells = append(out.Cells, c.Cells...)
	}
	x := out.find(u.index)
	if x == nil {
		x = out.room()
		x.Arm = u.index
	}
	out.Weight -= x.Weight
	out.Moved -= x.Moved
	if x.Epoch != u.arm.epoch {
		*x = cell{Arm: u.index, Epoch: u.arm.epoch}
	}
	x.N++
	x.Sum += worth
	x.Used = h.seen
	mean, _ := u.arm.posterior(h, h.mean, 0)
	x.Weight = 1 / (h.context2[byKey] + h.noise2/x.N)
	x.Moved = x.Weight * (x.Sum/x.N - mean)
	out.Weight += x.Weight
	out.Moved += x.Moved
	return out
}

// room returns an empty cell, that of the candidate used longest ago if the
// context is full.
func (c *setting) room() *cell {
	if len(c.Cells) < maxCells {
		c.Cells = append(c.Cells, cell{})
		return &c.Cells[len(c.Cells)-1]
	}
	x := &c.Cells[0]
	for i := range c.Cells {
		if c.Cells[i].Used < x.Used {
			x = &c.Cells[i]
		}
	}
	c.Weight -= x.Weight
	c.Moved -= x.Moved
	*x = cell{}
	return x
}

// idlest returns the key of the context that was used longest ago.
func (m *model) idlest() uint64 {
	var id uint64
	used := uint64(math.MaxUint64)
	for k, c := range m.settings {
		if c.Used < used { // no two are equal: each sample has one key
			id, used = k, c.Used
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
		v.shared = c.Moved / (1/(u*u) + c.Weight)
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
	if x := v.setting.find(i); x != nil && x.Epoch == a.epoch {
		return x.N, x.Sum
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

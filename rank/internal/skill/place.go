package skill

import (
	"slices"

	"github.com/arc-learn/arc/rank/internal/near"
)

// places are the situations with features, each in its slot of the index.
type places struct {
	near.Index
	points []point
}

// point is a vector of features and what the candidates did there, as it is stored.
type point struct {
	X     []float32   `cbor:"1,keyasint"`
	Cells []pointCell `cbor:"2,keyasint"`
}

type pointCell struct {
	_     struct{} `cbor:",toarray"`
	Arm   int32
	Epoch uint32
	N     float64
	Sum   float64
}

func (p *point) sound(arms int) bool {
	ok := len(p.Cells) <= maxCells
	for _, x := range p.Cells {
		ok = ok && x.Arm >= 0 && int(x.Arm) < arms && summed(x.N, x.Sum)
	}
	return ok
}

// placed is what a sample changes in places.
type placed struct {
	slot  int32
	point point
	fresh bool // the point is new, and so are the axes
	axes  near.Axes
}

// with returns what a sample of an arm changes; the features fit.
func (ps *places) with(features []float64, arm int32, epoch uint32, worth float64) *placed {
	x := near.Narrow(make([]float32, 0, len(features)), features)
	p := &placed{slot: ps.At(x)}
	if p.slot < 0 {
		p.axes, p.slot = ps.With(x)
		p.point, p.fresh = point{X: x}, true
	} else {
		old := &ps.points[p.slot]
		p.point = point{X: old.X, Cells: slices.Clone(old.Cells)}
	}
	p.point.tried(arm, epoch, worth)
	return p
}

func (p *point) tried(arm int32, epoch uint32, worth float64) {
	i := slices.IndexFunc(p.Cells, func(c pointCell) bool { return c.Arm == arm })
	switch {
	case i < 0 && len(p.Cells) < maxCells:
		i = len(p.Cells)
		p.Cells = append(p.Cells, pointCell{Arm: arm, Epoch: epoch})
	case i < 0:
		p.Cells = append(p.Cells[1:], pointCell{Arm: arm, Epoch: epoch}) // the first came first
		i = len(p.Cells) - 1
	case p.Cells[i].Epoch != epoch:
		p.Cells[i] = pointCell{Arm: arm, Epoch: epoch}
	}
	p.Cells[i].N++
	p.Cells[i].Sum += worth
}

func (ps *places) apply(p *placed) {
	if p.fresh {
		ps.Put(p.slot, p.point.X, p.axes)
	}
	if int(p.slot) == len(ps.points) {
		ps.points = append(ps.points, point{})
	}
	ps.points[p.slot] = p.point
}

package rank

// Nearest enters points into an empty model and returns the slots of those nearest to x,
// by sketches and by the distances alone.
func Nearest(points [][]float64, x []float64) (by, alone []int32) {
	m := newModel()
	for _, p := range points {
		m.near.apply(m.near.with(p, 0, 0, 0))
	}
	slots := func() (out []int32) {
		for _, n := range m.near.nearest(nil, narrow(nil, x)) {
			out = append(out, n.slot)
		}
		return out
	}
	by = slots()
	m.near.coarse = coarse{least: 1} // all sketches are equal
	for i := range m.near.sketches {
		m.near.sketches[i] = m.near.coarse.sketch(make([]float32, len(x)))
	}
	return by, slots()
}

package rank

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of what a model keeps by context. What was used longest ago makes
// room.
const (
	maxSettings = 1024 // of keys, per skill
	maxCells    = 64   // candidates per context
)

const (
	maxPoints  = 1024 // feature vectors per skill; the oldest makes room
	neighbours = 8    // whose samples speak for a situation
	maxFeature = 1e30 // what is beyond counts as this
)

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

func (p *point) valid(arms, features int) bool {
	ok := len(p.X) == features && len(p.Cells) <= maxCells
	for _, v := range p.X {
		ok = ok && finite(float64(v))
	}
	for _, x := range p.Cells {
		ok = ok && x.Arm >= 0 && int(x.Arm) < arms && summed(x.N, x.Sum)
	}
	return ok
}

// axes are mean and spread of the features over the points, by which they
// are made comparable (Welford, 1962), as they are stored.
type axes struct {
	N    float64   `cbor:"1,keyasint"`
	Mean []float64 `cbor:"2,keyasint"`
	M2   []float64 `cbor:"3,keyasint"`
	Next int32     `cbor:"4,keyasint"` // the slot that the next point takes
}

func (a *axes) valid() bool {
	ok := a.N > 0 && finite(a.N) && len(a.Mean) == len(a.M2) && len(a.Mean) > 0 && len(a.Mean) <= MaxFeatures &&
		a.Next >= 0 && a.Next < maxPoints && sane(a.Mean...)
	for _, m2 := range a.M2 {
		ok = ok && m2 >= 0 && finite(m2)
	}
	return ok
}

// near finds the neighbourhood of a situation by its features.
type near struct {
	points []point
	byX    map[uint64]int32 // by hash of x
	axes   axes
	inv    []float32 // 1/standard deviation; 0: the feature does not vary

	coarse   coarse
	sketches []uint64      // of the points
	edge     atomic.Uint32 // of what was found last: a float32, a guess
}

// fits reports whether x can be used: the first features of a skill say how
// many there are.
func (n *near) fits(x []float64) bool {
	return len(x) > 0 && (n.axes.N == 0 || len(x) == len(n.axes.Mean))
}

// narrow returns x as it is kept.
func narrow(buf []float32, x []float64) []float32 {
	for _, v := range x {
		buf = append(buf, float32(max(-maxFeature, min(maxFeature, v))))
	}
	return buf
}

func hashX(x []float32) uint64 {
	h := uint64(len(x))
	for _, v := range x {
		h = mix(h ^ uint64(math.Float32bits(v+0))) // minus zero is zero
	}
	return h
}

// at returns the slot of x, or -1.
func (n *near) at(x []float32) int32 {
	if i, ok := n.byX[hashX(x)]; ok && slices.Equal(n.points[i].X, x) {
		return i
	}
	return -1
}

// pointUpdate is what a sample changes in near.
type pointUpdate struct {
	slot  int32
	point point
	fresh bool // the point is new, and so are the axes
	axes  axes
}

// with returns what a sample of an arm changes; the features fit.
func (n *near) with(features []float64, arm int32, epoch uint32, worth float64) *pointUpdate {
	x := narrow(make([]float32, 0, len(features)), features)
	p := &pointUpdate{slot: n.at(x)}
	if p.slot < 0 {
		p.slot, p.fresh = n.axes.Next, true
		p.axes = n.axes.with(x)
		p.point = point{X: x}
	} else {
		old := &n.points[p.slot]
		p.point = point{X: old.X, Cells: slices.Clone(old.Cells)}
	}
	p.point.add(arm, epoch, worth)
	return p
}

func (p *point) add(arm int32, epoch uint32, worth float64) {
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

func (a axes) with(x []float32) axes {
	out := axes{N: a.N + 1, Mean: slices.Clone(a.Mean), M2: slices.Clone(a.M2), Next: (a.Next + 1) % maxPoints}
	if a.N == 0 {
		out.Mean, out.M2 = make([]float64, len(x)), make([]float64, len(x))
	}
	for i, v := range x {
		d := float64(v) - out.Mean[i]
		out.Mean[i] += d / out.N
		out.M2[i] += d * (float64(v) - out.Mean[i])
	}
	return out
}

func (n *near) apply(p *pointUpdate) {
	if !p.fresh {
		n.points[p.slot] = p.point
		return
	}
	if int(p.slot) == len(n.points) {
		n.points, n.sketches = append(n.points, point{}), append(n.sketches, 0)
	} else {
		delete(n.byX, hashX(n.points[p.slot].X))
	}
	n.axes = p.axes
	n.enter(p.slot, p.point)
	n.rescale()
}

func (n *near) enter(slot int32, p point) {
	if n.byX == nil {
		n.byX = make(map[uint64]int32)
	}
	n.byX[hashX(p.X)] = slot
	n.points[slot], n.sketches[slot] = p, n.coarse.sketch(p.X)
}

// rescale computes inv, and the sketches once they were made for another scale.
func (n *near) rescale() {
	c := &n.coarse
	n.inv = slices.Grow(n.inv[:0], len(n.axes.M2))[:len(n.axes.M2)]
	c.least = math.MaxFloat32
	for i, m2 := range n.axes.M2 {
		n.inv[i] = 0
		if sd := math.Sqrt(m2 / n.axes.N); sd > 1/maxFeature {
			n.inv[i] = float32(1 / sd)
		}
		if i < sketched && c.inv[i] > 0 {
			c.least = min(c.least, n.inv[i]/c.inv[i])
		}
	}
	c.scale = steps / max(c.least, 1/maxFeature)
	if c.least > 0.9 && n.axes.N < 2*c.n {
		return
	}
	*c = coarse{n: n.axes.N, least: 1, scale: steps}
	for i := range n.inv[:min(len(n.inv), sketched)] {
		c.mean[i], c.inv[i] = float32(n.axes.Mean[i]), n.inv[i]
	}
	for i := range n.points {
		n.sketches[i] = c.sketch(n.points[i].X)
	}
}

// coarse says of most points by a word each that they are far: by the first
// features in steps of 1/24 of a standard deviation, seven bits each below one that is set.
type coarse struct {
	n         float64           // points when it was made
	mean, inv [sketched]float32 // then
	least     float32           // share of an inv that is left since
	scale     float32           // steps of a distance, by the least
}

const (
	sketched = 8 // features, a byte each
	steps    = 24
)

func (c *coarse) sketch(x []float32) uint64 {
	s := uint64(highs)
	for i := range x[:min(len(x), sketched)] {
		at := max(0, min(127, 64+(x[i]-c.mean[i])*c.inv[i]*steps))
		s |= uint64(at) << (8 * i)
	}
	return s
}

const highs = 0x8080808080808080

// beyond is the difference of sketches from which on points are at limit or beyond: each
// byte is rounded, and two steps more are for the rounding of distances.
func (c *coarse) beyond(limit float32) uint64 {
	return uint64(int32(min(limit*c.scale, 1<<12))) + sketched + 2
}

// nearer is the index of the next sketch that differs from y by less than far, or
// the number of all. Within its caller it would have too few registers.
//
//go:noinline
func nearer(sketches []uint64, next int, y, far uint64) int {
	const half, sum = 0x00ff00ff00ff00ff, 0x0001000100010001
	y &^= highs
	far = (far + 8*128) << 48
	for i, x := range sketches[next:] {
		d := x - y                      // 128 and the difference, in each byte
		less := ^d & highs >> 7         // 1 where that is below 128
		d = d ^ (less<<8 - less) + less // 128 and its absolute value
		if (d&half+d>>8&half)*sum < far {
			return next + i
		}
	}
	return len(sketches)
}

// neighbour is a point and its distance.
type neighbour struct {
	distance float32
	slot     int32
}

// nearest returns the nearest points to x, the nearest first, one more than
// neighbours if there are as many. The distance is the sum of the differences
// by feature, in standard deviations.
func (n *near) nearest(buf []neighbour, x []float32) []neighbour {
	guess := math.Float32frombits(n.edge.Load())
	if buf = n.within(1.2*guess, buf, x); len(buf) <= neighbours {
		buf = n.within(2*maxFeature, buf[:0], x)
	}
	n.edge.Store(math.Float32bits(max(buf[len(buf)-1].distance, 0.9*guess)))
	return buf
}

// within is nearest of the points that are nearer than limit.
func (n *near) within(limit float32, buf []neighbour, x []float32) []neighbour {
	y, far := n.coarse.sketch(x), n.coarse.beyond(limit)
	for slot := 0; ; slot++ {
		if slot = nearer(n.sketches, slot, y, far); slot == len(n.points) {
			return buf
		}
		d := min(distance(n.points[slot].X, x, n.inv, limit), maxFeature) // always a number
		if d >= limit {
			continue
		}
		if len(buf) <= neighbours {
			buf = append(buf, neighbour{})
		}
		i := len(buf) - 1
		for ; i > 0 && d < buf[i-1].distance; i-- {
			buf[i] = buf[i-1]
		}
		if buf[i] = (neighbour{d, int32(slot)}); len(buf) > neighbours {
			limit = buf[neighbours].distance
			far = n.coarse.beyond(limit)
		}
	}
}

// distance stops early once it is limit or more. Four sums at a time keep the processor busy.
func distance(x, y, inv []float32, limit float32) float32 {
	y, inv = y[:len(x)], inv[:len(x)]
	d, i := float32(0), 0
	for ; i <= len(x)-4; i += 4 {
		d += apart(x[i], y[i], inv[i]) + apart(x[i+1], y[i+1], inv[i+1]) +
			(apart(x[i+2], y[i+2], inv[i+2]) + apart(x[i+3], y[i+3], inv[i+3]))
		if d >= limit {
			return d
		}
	}
	for ; i < len(x); i++ {
		d += apart(x[i], y[i], inv[i])
	}
	return d
}

// apart is the difference by one feature.
func apart(x, y, inv float32) float32 {
	const sign = 1 << 31
	return math.Float32frombits(math.Float32bits((x-y)*inv) &^ sign)
}

// around is what is known of the neighbourhood of a situation.
type around struct {
	x       []float32
	found   []neighbour
	samples []evidence // by candidate; zero unless touched
	touched []int32
}

type evidence struct{ n, sum float64 }

var arounds = sync.Pool{New: func() any { return new(around) }}

func (a *around) evidence(i int32) (n, sum float64) {
	if int(i) >= len(a.samples) {
		return 0, 0
	}
	return a.samples[i].n, a.samples[i].sum
}

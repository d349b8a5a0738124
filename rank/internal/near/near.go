// Package near finds the vectors that are near to one, of those that were entered last.
package near

import (
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/arc-learn/arc/rank/internal/draw"
)

const (
	// Neighbours is how many speak for their neighbourhood.
	Neighbours = 8

	most        = 1024 // vectors that an Index keeps: the oldest makes room
	maxFeatures = 1024 // as package rank has it
	maxFeature  = 1e30 // what is beyond counts as this
)

// Axes are mean and spread of the features over the vectors, by which they
// are made comparable (Welford, 1962), as they are stored.
type Axes struct {
	N    float64   `cbor:"1,keyasint"`
	Mean []float64 `cbor:"2,keyasint"`
	M2   []float64 `cbor:"3,keyasint"`
	Next int32     `cbor:"4,keyasint"` // the slot that the next vector takes
}

func (a *Axes) sound() bool {
	ok := a.N > 0 && finite(a.N) && len(a.Mean) == len(a.M2) && len(a.Mean) > 0 && len(a.Mean) <= maxFeatures &&
		a.Next >= 0 && a.Next < most && (a.N >= most || float64(a.Next) == a.N)
	for i := range a.Mean {
		ok = ok && math.Abs(a.Mean[i]) <= 1e36 && i < len(a.M2) && a.M2[i] >= 0 && finite(a.M2[i])
	}
	return ok
}

func finite(f float64) bool { return f-f == 0 }

// Index keeps the last vectors of a skill's situations, each in a slot.
type Index struct {
	vectors [][]float32
	byX     map[uint64]int32 // slots by the hash of a vector
	axes    Axes
	inv     []float32 // 1/standard deviation; 0: the feature does not vary

	coarse   coarse
	sketches []uint64      // of the vectors
	edge     atomic.Uint32 // of what was found last: a float32, a guess
}

// Restore makes an Index what it was: vectors of these axes by slot. It returns the number of slots. Those without a
// vector, or with one that does not fit the axes, are empty. Axes that no Index can have are computed anew: then it
// reports false.
func (n *Index) Restore(axes Axes, vectors map[int32][]float32) (slots int, ok bool) {
	if ok = axes.sound(); !ok {
		axes = axesOf(vectors)
	}
	n.axes, slots = axes, int(min(axes.N, most))
	n.vectors, n.sketches = make([][]float32, slots), make([]uint64, slots)
	for slot, x := range vectors {
		if slot >= 0 && int(slot) < slots && len(x) == len(axes.Mean) && allFinite(x) {
			n.enter(slot, x)
		}
	}
	n.rescale()
	return slots, ok
}

// axesOf returns the axes of vectors by slot, all with as many features as the first. Slots below the last count too.
func axesOf(vectors map[int32][]float32) Axes {
	var n Index
	slots := int32(0)
	for _, slot := range slices.Sorted(maps.Keys(vectors)) {
		x := vectors[slot]
		if slot >= 0 && slot < most && len(x) > 0 && (slots == 0 || len(x) == len(n.axes.Mean)) && allFinite(x) {
			n.axes, _ = n.With(x)
			slots = slot + 1
		}
	}
	a := n.axes
	for i := range a.M2 {
		a.M2[i] *= float64(slots) / a.N
	}
	a.N, a.Next = float64(slots), slots%most
	return a
}

func allFinite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return !finite(float64(v)) })
}

// Has reports whether there is a vector in a slot.
func (n *Index) Has(slot int32) bool {
	return slot >= 0 && int(slot) < len(n.vectors) && n.vectors[slot] != nil
}

// Fits reports whether x can be used: the first vector says how many features
// there are.
func (n *Index) Fits(x []float64) bool {
	return len(x) > 0 && (n.axes.N == 0 || len(x) == len(n.axes.Mean))
}

// Narrow appends x to buf as it is kept.
func Narrow(buf []float32, x []float64) []float32 {
	for _, v := range x {
		buf = append(buf, float32(max(-maxFeature, min(maxFeature, v))))
	}
	return buf
}

func hash(x []float32) uint64 {
	h := uint64(len(x))
	for _, v := range x {
		h = draw.Mix(h ^ uint64(math.Float32bits(v+0))) // minus zero is zero
	}
	return h
}

// At returns the slot of x, or -1.
func (n *Index) At(x []float32) int32 {
	if i, ok := n.byX[hash(x)]; ok && slices.Equal(n.vectors[i], x) {
		return i
	}
	return -1
}

// With returns the axes once x is among the vectors, and the slot that it takes.
func (n *Index) With(x []float32) (out Axes, slot int32) {
	a := &n.axes
	out = Axes{N: a.N + 1, Mean: slices.Clone(a.Mean), M2: slices.Clone(a.M2), Next: (a.Next + 1) % most}
	if a.N == 0 {
		out.Mean, out.M2 = make([]float64, len(x)), make([]float64, len(x))
	}
	for i, v := range x {
		d := float64(v) - out.Mean[i]
		out.Mean[i] += d / out.N
		out.M2[i] += d * (float64(v) - out.Mean[i])
	}
	return out, a.Next
}

// Put enters x, which is new, as With has it.
func (n *Index) Put(slot int32, x []float32, axes Axes) {
	if int(slot) == len(n.vectors) {
		n.vectors, n.sketches = append(n.vectors, nil), append(n.sketches, 0)
	} else {
		delete(n.byX, hash(n.vectors[slot]))
	}
	n.axes = axes
	n.enter(slot, x)
	n.rescale()
}

func (n *Index) enter(slot int32, x []float32) {
	if n.byX == nil {
		n.byX = make(map[uint64]int32)
	}
	n.byX[hash(x)] = slot
	n.vectors[slot], n.sketches[slot] = x, n.coarse.sketch(x)
}

// rescale computes inv, and the sketches once they were made for another scale.
func (n *Index) rescale() {
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
	for i := range n.vectors {
		n.sketches[i] = c.sketch(n.vectors[i])
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

// Neighbour is a point and its distance.
type Neighbour struct {
	Distance float32
	Slot     int32
}

// Nearest appends to buf, which is empty, the nearest vectors to x, the nearest first, one more than
// Neighbours if there are as many; none if there are none. The distance is the sum of the differences
// by feature, in standard deviations.
func (n *Index) Nearest(buf []Neighbour, x []float32) []Neighbour {
	guess := math.Float32frombits(n.edge.Load())
	if buf = n.within(1.2*guess, buf, x); len(buf) <= Neighbours {
		buf = n.within(2*maxFeature, buf[:0], x)
	}
	if len(buf) == 0 {
		return buf
	}
	n.edge.Store(math.Float32bits(max(buf[len(buf)-1].Distance, 0.9*guess)))
	return buf
}

// within is Nearest of the points that are nearer than limit.
func (n *Index) within(limit float32, buf []Neighbour, x []float32) []Neighbour {
	y, far := n.coarse.sketch(x), n.coarse.beyond(limit)
	for slot := 0; ; slot++ {
		if slot = nearer(n.sketches, slot, y, far); slot == len(n.vectors) {
			return buf
		}
		if n.vectors[slot] == nil {
			continue
		}
		d := min(distance(n.vectors[slot], x, n.inv, limit), maxFeature) // always a number
		if d >= limit {
			continue
		}
		if len(buf) <= Neighbours {
			buf = append(buf, Neighbour{})
		}
		i := len(buf) - 1
		for ; i > 0 && d < buf[i-1].Distance; i-- {
			buf[i] = buf[i-1]
		}
		if buf[i] = (Neighbour{d, int32(slot)}); len(buf) > Neighbours {
			limit = buf[Neighbours].Distance
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

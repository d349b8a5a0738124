package vector

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/arc-learn/arc/internal/topk"
)

// Match is a vector that was found, and its cosine with the query.
type Match struct {
	Slot   uint32
	Cosine float64
}

// A search reranks this many vectors at least, and one of so many beyond.
const (
	minCandidates = 512
	candidatesOf  = 256
)

// parallelRows is the number of rows from which it pays to scan with several
// goroutines.
const parallelRows = 1 << 18

// Scratch holds a query, and memory that searches use again. It serves one
// goroutine at a time.
type Scratch struct {
	dim     int // 0: there is no query
	query   []float32
	scaled  []int64 // query in units of step
	step    float64
	signed  []int64 // for each four signs, by their bits: the sum of scaled where they are set
	rest    int64   // sum of scaled, halved
	bits    []uint64
	dist    []uint16 // by row; deadRow: not wanted
	counts  []uint32 // rows by their number of other signs
	matches []Match
}

const deadRow = math.MaxUint16

// Ask sets the query of the searches to come. It reports whether v has a
// direction.
func (sc *Scratch) Ask(v []float32) bool {
	sc.dim = 0
	width := widthOf(len(v))
	if len(v) == 0 {
		return false
	}
	if cap(sc.query) < width {
		sc.query, sc.scaled, sc.bits = make([]float32, width), make([]int64, width), make([]uint64, width/64)
		sc.counts, sc.signed = make([]uint32, width+1), make([]int64, width*4)
	}
	sc.query, sc.scaled, sc.bits = sc.query[:width], sc.scaled[:width], sc.bits[:width/64]
	sc.counts, sc.signed = sc.counts[:width+1], sc.signed[:width*4]
	if !unit(sc.query, v) {
		return false
	}
	rotate(sc.query)
	sc.step = float64(signs(sc.bits, sc.query)) / math.MaxInt16
	for i, x := range sc.query {
		sc.scaled[i] = int64(math.RoundToEven(float64(x) / sc.step))
	}
	sc.tabulate()
	sc.dim = len(v)
	return true
}

// Cosine returns the cosine of the slot's vector with the query, if the slot
// has one and the dimensions agree.
func (s *Set) Cosine(sc *Scratch, slot uint32) (float64, bool) {
	if sc.dim != s.dim {
		return 0, false
	}
	row, ok := s.row(slot)
	if !ok {
		return 0, false
	}
	return s.cosine(sc, row), true
}

// tabulate sums sc.scaled for all patterns of four signs.
func (sc *Scratch) tabulate() {
	sum := int64(0)
	for i := 0; i < len(sc.scaled); i += 4 {
		q, t := (*[4]int64)(sc.scaled[i:]), (*[16]int64)(sc.signed[i*4:])
		t[0] = 0
		for bit, x := range q {
			sum += x
			for p := range 1 << bit {
				t[1<<bit+p] = t[p] + x
			}
		}
	}
	sc.rest = sum / 2
}

// cosine multiplies what encode has kept with the query, in whole numbers:
// turning codes into floats takes longer.
func (s *Set) cosine(sc *Scratch, row uint32) float64 {
	b, i := s.at(row)
	units := dot(b.codes[i*s.width:][:s.width], sc.scaled) + sc.rest
	signed, at := int64(0), sc.signed
	for _, w := range b.bits[i*s.width/64:][:s.width/64] {
		for t := at[:16*16]; len(t) >= 64; t = t[64:] {
			signed += t[w&15] + t[16+w>>4&15] + t[32+w>>8&15] + t[48+w>>12&15]
			w >>= 16
		}
		at = at[16*16:]
	}
	c := float64(units-256*signed) * sc.step * float64(b.scale[i])
	return max(-1, min(1, c))
}

func dot(codes []uint8, q []int64) int64 {
	q = q[:len(codes)]
	var a, b, c, d int64
	for len(codes) >= 8 && len(q) >= 8 {
		a += int64(codes[0])*q[0] + int64(codes[4])*q[4]
		b += int64(codes[1])*q[1] + int64(codes[5])*q[5]
		c += int64(codes[2])*q[2] + int64(codes[6])*q[6]
		d += int64(codes[3])*q[3] + int64(codes[7])*q[7]
		codes, q = codes[8:], q[8:]
	}
	return a + b + c + d
}

// Search returns the n vectors of the largest cosine with the query, best
// first, ties by slot, of those whose flags agree with want in the bits of
// mask, and that skip, if there is one, does not leave out. It is close to
// exact; see the package comment. The result is the Scratch's, until its next
// use. A query of another dimension finds nothing.
func (s *Set) Search(sc *Scratch, n int, mask, want uint32, skip func(slot uint32) bool) []Match {
	sc.matches = sc.matches[:0]
	if sc.dim != s.dim || n <= 0 {
		return sc.matches
	}
	s.scan(sc, mask, want)
	enough := max(minCandidates, s.n/candidatesOf, 8*n)
	for from, taken := 0, 0; from <= s.width && taken < enough; {
		to, sum := from, 0
		for ; to <= s.width && taken+sum < enough; to++ {
			sum += int(sc.counts[to])
		}
		if sum > 0 {
			taken += s.rerank(sc, uint16(from), uint16(to), n, skip)
		}
		from = to
	}
	slices.SortFunc(sc.matches, func(a, b Match) int { return order(&a, &b) })
	return sc.matches
}

// order says which of two matches is better: the negative one.
func order(a, b *Match) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Slot, b.Slot))
}

// rerank adds the rows whose number of other signs is at least from and below
// to to the n best, and returns how many were not skipped.
func (s *Set) rerank(sc *Scratch, from, to uint16, n int, skip func(slot uint32) bool) int {
	taken := 0
	for row, d := range sc.dist {
		if d-from >= to-from {
			continue
		}
		slot := s.blocks[row/blockRows].slots[row%blockRows]
		if skip != nil && skip(slot) {
			continue
		}
		taken++
		m := Match{slot, s.cosine(sc, uint32(row))}
		if len(sc.matches) < n {
			sc.matches = append(sc.matches, m)
			if len(sc.matches) == n {
				topk.Heap(sc.matches, order)
			}
		} else if order(&m, &sc.matches[0]) < 0 {
			sc.matches[0] = m
			topk.Sink(sc.matches, 0, order)
		}
	}
	return taken
}

// scan fills sc.dist and sc.counts.
func (s *Set) scan(sc *Scratch, mask, want uint32) {
	rows := s.n
	if cap(sc.dist) < rows {
		sc.dist = make([]uint16, rows+rows/4)
	}
	sc.dist = sc.dist[:rows]
	clear(sc.counts)
	parts := min(runtime.GOMAXPROCS(0), rows/(parallelRows/2))
	if parts < 2 || rows < parallelRows {
		s.scanBlocks(sc, sc.counts, 0, rows, mask, want)
		return
	}
	blocks := (rows + blockRows - 1) / blockRows
	counts := make([]uint32, parts*len(sc.counts))
	var wg sync.WaitGroup
	for p := range parts {
		from, to := blocks*p/parts*blockRows, min(blocks*(p+1)/parts*blockRows, rows)
		wg.Go(func() {
			s.scanBlocks(sc, counts[p*len(sc.counts):][:len(sc.counts)], from, to, mask, want)
		})
	}
	wg.Wait()
	for i, c := range counts {
		sc.counts[i%len(sc.counts)] += c
	}
}

func (s *Set) scanBlocks(sc *Scratch, counts []uint32, from, to int, mask, want uint32) {
	for ; from < to; from += blockRows {
		dist := sc.dist[from:min(from+blockRows, to)]
		b := s.blocks[from/blockRows]
		distances(dist, b.bits, sc.bits)
		for i := range dist {
			if b.flags[i]&mask != want {
				dist[i] = deadRow
				continue
			}
			counts[dist[i]]++
		}
	}
}

// distances writes for each row in rows the number of bits in which it differs
// from the query, whose number of words is even.
func distances(dist []uint16, rows, query []uint64) {
	if len(query) == 6 {
		q := (*[6]uint64)(query)
		for i := range dist {
			r := (*[6]uint64)(rows[i*6:])
			dist[i] = uint16(bits.OnesCount64(r[0]^q[0]) + bits.OnesCount64(r[1]^q[1]) + bits.OnesCount64(r[2]^q[2]) +
				bits.OnesCount64(r[3]^q[3]) + bits.OnesCount64(r[4]^q[4]) + bits.OnesCount64(r[5]^q[5]))
		}
		return
	}
	for i := range dist {
		sum := 0
		r := rows[i*len(query):][:len(query)]
		for j := 0; j+1 < len(r) && j+1 < len(query); j += 2 {
			sum += bits.OnesCount64(r[j]^query[j]) + bits.OnesCount64(r[j+1]^query[j+1])
		}
		dist[i] = uint16(sum)
	}
}

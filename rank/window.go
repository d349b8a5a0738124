package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/arc-learn/arc/iar"
)

// window is a ring of the last samples of a pair, with their sums. The sums are always in memory. The samples are
// there while the window is among the last used, else in the store only.
type window struct {
	next   uint64   // sequence number of the next sample
	lost   []uint64 // sequence numbers in it without a sample
	latest int64    // time of the latest sample ever added
	ring   []entry  // by sequence number modulo Window; nil: at rest
	sums   sums
	left   []hourRecord // what has left it, from an hour on, and the last that changed
	from   int64        // that hour, which is after all others where none are read

	// The score of Observed and its terms, once the pair is warm.
	score, success, confidence, wall float64
}

// newWindow returns a window without samples. It may have had some: what has left it is not read.
func newWindow(next uint64) *window { return &window{next: next, from: math.MaxInt64} }

// full reports whether the next sample pushes another out.
func (w *window) full() bool { return w.next-w.oldest() == Window }

// oldest is the sequence number of the first sample in the window.
func (w *window) oldest() uint64 { return w.next - uint64(w.sums.samples) - uint64(len(w.lost)) }

// add puts a sample in its place. out is the sample that it replaces or pushes out, if there is one.
func (w *window) add(seq uint64, e entry, out *entry) {
	if out != nil {
		w.sums.add(out, -1)
	}
	w.lost = slices.DeleteFunc(w.lost, func(l uint64) bool { return l == seq-Window })
	if w.ring != nil || w.sums.samples == 0 {
		w.ring = w.put(w.ring, seq, e)
	}
	w.sums.add(&e, +1)
	w.latest = max(w.latest, e.at)
	w.next = max(w.next, seq+1)
}

// put sets the sample of a sequence number in a ring.
func (w *window) put(ring []entry, seq uint64, e entry) []entry {
	i := int(seq % Window)
	for len(ring) <= i {
		ring = append(ring, entry{at: math.MinInt64}) // none: before all times
	}
	ring[i] = e
	return ring
}

// samples returns how many samples there are; w may be nil.
func (w *window) samples() int {
	if w == nil {
		return 0
	}
	return int(w.sums.samples)
}

// keep puts an hour of the samples that have left the window among those in memory: the hours of the last day, and the
// last one that changed.
func (w *window) keep(h hourRecord, now int64) {
	w.from = max(w.from, hourOf(now-int64(Day)))
	w.left = slices.DeleteFunc(w.left, func(o hourRecord) bool { return o.hour == h.hour || o.hour < w.from })
	w.left = append(w.left, h)
	w.latest = max(w.latest, h.lastEnd())
}

// regain takes in the samples that have left the window from an hour on.
func (w *window) regain(left []hourRecord, from int64) {
	w.left, w.from = left, from
	for i := range left {
		w.latest = max(w.latest, left[i].lastEnd())
	}
}

// awake reports whether the samples since then are in memory.
func (w *window) awake(since int64) bool {
	return (w.ring != nil || w.latest < since) && w.from <= max(0, hourOf(since))
}

// HighConfidence is the reported confidence from which a failure counts as a
// high-confidence failure.
const HighConfidence = 0.8

// sums are in integers, so that a removed sample leaves no trace: windows of the same samples have the same sums,
// whatever they had before.
type sums struct {
	samples, known, successes     int64
	confident, confidentSuccesses int64 // with confidence, of known outcome
	highFailures                  int64 // of confidence HighConfidence or more
	confidence, confidenceSuccess fixed
	confidenceFailure, cost       fixed
	wall, in, out                 int64
	claims                        [claimBins]claim
}

// claim counts the reports in one of equal ranges of confidence.
type claim struct {
	said          int32 // their sum, in millionths
	n, successful uint8 // at most Window
}

const (
	claimBins = len(iar.Calibration{}.Bins)
	millionth = 1e-6
)

func (s *sums) add(e *entry, sign int64) {
	s.samples += sign
	s.wall += sign * e.wall
	s.in += sign * int64(e.in)
	s.out += sign * int64(e.out)
	s.cost.add(cmp.Or(e.cost, e.api), sign)
	if e.outcome == unknown {
		return
	}
	s.known += sign
	if e.outcome == success {
		s.successes += sign
	}
	if e.confidence < 0 {
		return
	}
	s.confident += sign
	c := &s.claims[min(int(e.confidence*float64(claimBins)), claimBins-1)]
	c.n += uint8(sign)
	c.said += int32(sign) * int32(e.confidence/millionth+0.5)
	s.confidence.add(e.confidence, sign)
	if e.outcome == success {
		s.confidentSuccesses += sign
		c.successful += uint8(sign)
		s.confidenceSuccess.add(e.confidence, sign)
		return
	}
	s.confidenceFailure.add(e.confidence, sign)
	if e.confidence >= HighConfidence {
		s.highFailures += sign
	}
}

// fixed is an exact sum of numbers in [0, 1e9]: a whole part, and a fraction in units of 2^-53. Only the rounding of a
// number to that unit is lost. The sum over a window does not overflow.
type fixed struct{ whole, fraction int64 }

const fractionBits = 53

func (f *fixed) add(v float64, sign int64) {
	whole := int64(v)
	f.whole += sign * whole
	f.fraction += sign * int64((v-float64(whole))*(1<<fractionBits)+0.5)
	f.whole += f.fraction >> fractionBits
	f.fraction &= 1<<fractionBits - 1
}

func (f fixed) float() float64 {
	return float64(f.whole) + float64(f.fraction)/(1<<fractionBits)
}

func mean(sum float64, n int64) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// The formula of Observed, as protoWorkstacean's planner has it.
const (
	trusted          = 5   // samples of known outcome that make a pair warm
	weightSuccess    = 2.0 // of the success rate
	weightConfidence = 0.5 // of the mean confidence of successes
	weightWall       = 0.3 // of the mean wall time in minutes
	maxWallMinutes   = 2.0
)

// warm reports whether the pair has enough samples for the formula; w may be nil.
func (w *window) warm() bool { return w != nil && w.sums.known >= trusted }

// rate sets the score and its terms by the sums.
func (w *window) rate(calibrated bool) {
	s := &w.sums
	w.success = weightSuccess * mean(float64(s.successes), s.known)
	w.confidence = 0
	if s.confident >= trusted {
		said := s.confidenceSuccess.float()
		if calibrated {
			said = s.corrected()
		}
		w.confidence = weightConfidence * mean(said, s.confidentSuccesses)
	}
	const minute = 60e9 // nanoseconds
	w.wall = -weightWall * min(mean(float64(s.wall), s.samples)/minute, maxWallMinutes)
	w.score = w.success + w.confidence + w.wall
}

// corrected is confidenceSuccess after correction by the outcomes of the reports.
func (s *sums) corrected() (sum float64) {
	var c iar.Calibration
	for i, b := range s.claims {
		c.Bins[i] = iar.Bin{Count: int(b.n), Successes: int(b.successful), Confidence: float64(b.said) * millionth}
	}
	for _, b := range c.Bins {
		if b.Successes > 0 {
			sum += float64(b.Successes) * c.Correct(b.Confidence/float64(b.Count))
		}
	}
	return sum
}

// fill sets the parts of the score; p is zero.
func (w *window) fill(p *Parts) {
	p.Basis, p.Known = Warm, int(w.sums.known)
	p.Success, p.Confidence, p.Wall = w.success, w.confidence, w.wall
}

// replay builds the window of a pair from the samples that can be read, in any order. There is one at least.
func replay(rs []record, calibrated bool) *window {
	slices.SortFunc(rs, func(a, b record) int { return cmp.Compare(a.Seq, b.Seq) })
	last := rs[len(rs)-1].Seq
	rs = slices.DeleteFunc(rs, func(r record) bool { return r.Seq+Window <= last })
	w := newWindow(rs[0].Seq)
	for i := range rs {
		for ; w.next < rs[i].Seq; w.next++ {
			w.lost = append(w.lost, w.next)
		}
		w.add(w.next, rs[i].entry(), nil)
	}
	w.rate(calibrated)
	return w
}

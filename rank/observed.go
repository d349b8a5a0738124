package rank

import (
	"context"
	"slices"

	"github.com/arc-learn/arc/iar"
)

// The formula of Observed, as protoWorkstacean's planner has it.
const (
	trusted          = 5   // samples of known outcome that make a pair warm
	weightSuccess    = 2.0 // of the success rate
	weightConfidence = 0.5 // of the mean confidence of successes
	weightWall       = 0.3 // of the mean wall time in minutes
	maxWallMinutes   = 2.0
)

// Observed returns the policy that goes by the record once there is one, and
// by the card until then. With at least five samples of known outcome for the
// skill the score is
//
//	2.0·success rate + 0.5·confidence − 0.3·min(wall/60 s, 2)
//
// where confidence is the mean of what was reported on successes, counted
// once five samples of known outcome report one, and wall is the mean. With
// Options.Calibrated each report counts as the chance of success that the
// candidate's reports of that size had ([iar.Calibration.Correct], range by range). With
// fewer samples the score is the prior. Equal scores are ordered by prior
// (larger first), then by blast (smaller first), then as they came.
//
// The policy is greedy: it never tries the second best to learn more. And
// both scores share one scale, so a card that claims 1.0 comes before a
// candidate that was seen to succeed half of the time. [Book.Learned] does
// neither.
func (b *Book) Observed() Policy { return observed{b} }

type observed struct{ b *Book }

func (o observed) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	var buf [few]contender
	fs, err := o.b.field(ctx, buf[:0], s.Skill, cs)
	if err != nil {
		return nil, err
	}
	defer o.b.mu.RUnlock()
	for i := range fs {
		f := &fs[i]
		f.by = cs[i].Prior
		if f.window.warm() {
			f.by = f.window.score
		}
	}
	var ranks [few]int32
	out := make([]Scored, len(fs))
	for rank, i := range sortObserved(ranks[:0], fs, cs) {
		f, o := &fs[i], &out[rank]
		o.Candidate, o.Score, o.Samples = cs[i], f.by, f.window.samples()
		if f.window.warm() {
			f.window.fill(&o.Parts)
			continue
		}
		o.Parts.Basis, o.Parts.Prior = Cold, f.by
		if f.window != nil {
			o.Parts.Known = int(f.window.sums.known)
		}
	}
	return out, nil
}

// sortObserved appends the indices of the contenders to buf, which is empty,
// in the order of Observed.
func sortObserved(buf []int32, fs []contender, cs []Candidate) []int32 {
	before := func(i, j int32) bool {
		if fs[i].by != fs[j].by {
			return fs[i].by > fs[j].by
		}
		a, b := &cs[i], &cs[j]
		if a.Prior != b.Prior {
			return a.Prior > b.Prior
		}
		return a.Blast < b.Blast || a.Blast == b.Blast && i < j
	}
	buf = slices.Grow(buf, len(fs))
	for i := range int32(len(fs)) {
		buf = append(buf, i)
	}
	if len(fs) > few {
		slices.SortFunc(buf, func(i, j int32) int {
			if before(i, j) {
				return -1
			}
			return +1 // no two are equal, as their indices differ
		})
		return buf
	}
	for i := range buf { // half the time of SortFunc at this size
		for j := i; j > 0 && before(buf[j], buf[j-1]); j-- {
			buf[j], buf[j-1] = buf[j-1], buf[j]
		}
	}
	return buf
}

// warm reports whether the pair's record is long enough to go by; w may be
// nil.
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

// corrected is confidenceSuccess after correction by what came of the reports.
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

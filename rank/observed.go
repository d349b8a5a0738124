package rank

import (
	"cmp"
	"context"
	"slices"
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
// fewer samples the score is the prior. Equal scores are ordered by prior
// (larger first), then by blast (smaller first), then as they came.
//
// The policy is greedy: it never tries the second best to learn more. And
// both scores share one scale, so a card that claims 1.0 comes before a
// candidate that was seen to succeed half of the time.
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
		fs[i].by = fs[i].window.score(cs[i].Prior)
	}
	slices.SortFunc(fs, func(f, g contender) int {
		if f.by != g.by {
			return cmp.Compare(g.by, f.by)
		}
		return cmp.Or(
			cmp.Compare(cs[g.index].Prior, cs[f.index].Prior),
			cmp.Compare(cs[f.index].Blast, cs[g.index].Blast),
			cmp.Compare(f.index, g.index),
		)
	})
	out := make([]Scored, len(fs))
	for i := range fs {
		f, o := &fs[i], &out[i]
		o.Candidate = cs[f.index]
		o.Score = f.by
		o.Parts = f.window.parts(o.Candidate.Prior)
		o.Samples = f.window.samples()
	}
	return out, nil
}

// score returns the sum of the parts; w may be nil.
func (w *window) score(prior float64) float64 {
	if w == nil || w.sums.known < trusted {
		return prior
	}
	return w.warm.Success + w.warm.Confidence + w.warm.Wall
}

// parts returns the terms of the formula for a candidate; w may be nil.
func (w *window) parts(prior float64) Parts {
	switch {
	case w == nil:
		return Parts{Basis: Cold, Prior: prior}
	case w.sums.known < trusted:
		return Parts{Basis: Cold, Prior: prior, Known: int(w.sums.known)}
	}
	return w.warm
}

// parts returns the terms of the formula for a warm pair.
func (s *sums) parts() Parts {
	p := Parts{Basis: Warm, Known: int(s.known)}
	p.Success = weightSuccess * mean(float64(s.successes), s.known)
	if s.confident >= trusted {
		p.Confidence = weightConfidence * mean(s.confidenceSuccess.float(), s.confidentSuccesses)
	}
	const minute = 60e9 // nanoseconds
	p.Wall = -weightWall * min(mean(float64(s.wall), s.samples)/minute, maxWallMinutes)
	return p
}

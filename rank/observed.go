package rank

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
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

// place is where a candidate stands while the order is made.
type place struct {
	by    float64 // larger first
	index int     // in the input
	w     *window // nil: no samples
}

// stackPlaces is how many candidates are ordered without a further
// allocation.
const stackPlaces = 32

func (o observed) Score(ctx context.Context, s Situation, cs []Candidate) ([]Scored, error) {
	if err := o.b.prepare(ctx, cs); err != nil {
		return nil, err
	}
	var buf [stackPlaces]place
	places := buf[:0]
	out := make([]Scored, len(cs))
	o.b.mu.RLock()
	defer o.b.mu.RUnlock()
	bySkill := o.b.mu.skills[s.Skill]
	for i := range cs {
		p := place{index: i, w: bySkill[cs[i].Name]}
		p.by = p.w.parts(cs[i].Prior).sum()
		places = append(places, p)
	}
	slices.SortFunc(places, func(p, q place) int {
		if p.by != q.by {
			return cmp.Compare(q.by, p.by)
		}
		return cmp.Or(
			cmp.Compare(cs[q.index].Prior, cs[p.index].Prior),
			cmp.Compare(cs[p.index].Blast, cs[q.index].Blast),
			cmp.Compare(p.index, q.index),
		)
	})
	for i, p := range places {
		c := cs[p.index]
		out[i] = Scored{Candidate: c, Score: p.by, Parts: p.w.parts(c.Prior)}
		if p.w != nil {
			out[i].Samples = len(p.w.entries)
		}
	}
	return out, nil
}

func (p Parts) sum() float64 { return p.Success + p.Confidence + p.Wall + p.Prior }

// parts returns the terms of the formula for a pair.
func (w *window) parts(prior float64) Parts {
	if w == nil || w.sums.known < trusted {
		p := Parts{Basis: Cold, Prior: prior}
		if w != nil {
			p.Known = int(w.sums.known)
		}
		return p
	}
	s := &w.sums
	p := Parts{Basis: Warm, Known: int(s.known)}
	p.Success = weightSuccess * mean(float64(s.successes), s.known)
	if s.confident >= trusted {
		p.Confidence = weightConfidence * mean(s.confidenceSuccess.float(), s.confidentSuccesses)
	}
	const minute = 60e9 // nanoseconds
	p.Wall = -weightWall * min(mean(float64(s.wall), s.samples)/minute, maxWallMinutes)
	return p
}

// prepare checks the candidates and makes their windows present in memory.
func (b *Book) prepare(ctx context.Context, cs []Candidate) error {
	if len(cs) == 0 {
		return ErrNoCandidate
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(cs); err != nil {
		return err
	}
	for {
		missing, err := b.missing(cs)
		if err != nil || missing == "" {
			return err
		}
		if err := b.ready(ctx, missing); err != nil {
			return fmt.Errorf("score: %w", err)
		}
	}
}

// missing returns the name of a candidate that is not in memory yet.
func (b *Book) missing(cs []Candidate) (string, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		return "", store.ErrClosed
	}
	for i := range cs {
		if _, ok := b.mu.windows[cs[i].Name]; !ok && cs[i].Name != "" {
			return cs[i].Name, nil
		}
	}
	return "", nil
}

// check returns the first thing that is wrong with the candidates.
func check(cs []Candidate) error {
	for i := range cs {
		c := &cs[i]
		if !unit(c.Prior) {
			return fmt.Errorf("%w: the prior of %q is %v", ErrCandidate, c.Name, c.Prior)
		}
		if err := key.CheckID("candidate", c.Name); err != nil {
			return fmt.Errorf("%w: %w", ErrCandidate, err)
		}
	}
	return checkDistinct(cs)
}

// fewCandidates is the number up to which comparing every pair of names is
// faster than building a set.
const fewCandidates = 32

func checkDistinct(cs []Candidate) error {
	if len(cs) <= fewCandidates {
		for i := range cs {
			for j := range i {
				if cs[i].Name == cs[j].Name && cs[i].Name != "" {
					return fmt.Errorf("%w: %q is named twice", ErrCandidate, cs[i].Name)
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, len(cs))
	for i := range cs {
		if _, twice := seen[cs[i].Name]; twice && cs[i].Name != "" {
			return fmt.Errorf("%w: %q is named twice", ErrCandidate, cs[i].Name)
		}
		seen[cs[i].Name] = struct{}{}
	}
	return nil
}

package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/rank"
)

// NewLinUCB returns the Learner that fits a ridge regression of worth on
// Features for each candidate, and chooses the largest
// θᵀx + alpha·√(xᵀA⁻¹x), where A starts as lambda times the identity (Li, Chu,
// Langford and Schapire, 2010, the disjoint model). The host adds a constant
// feature if it wants an intercept. The Parts hold θᵀx as Mean and √(xᵀA⁻¹x)
// as Spread. All situations have the same number of features; another is
// ErrDecision.
func NewLinUCB(lambda, alpha float64) Learner {
	return &linUCB{lambda: lambda, alpha: alpha, arms: make(map[string]*ridge)}
}

type linUCB struct {
	lambda, alpha float64
	arms          map[string]*ridge
}

// ridge is a regression: the inverse of A, and b.
type ridge struct {
	inv [][]float64
	b   []float64
}

func (l *linUCB) arm(name string, x []float64) (*ridge, error) {
	r := l.arms[name]
	if r == nil {
		r = &ridge{b: make([]float64, len(x))}
		for i := range x {
			row := make([]float64, len(x))
			row[i] = 1 / l.lambda
			r.inv = append(r.inv, row)
		}
		l.arms[name] = r
	}
	if len(r.b) != len(x) {
		return nil, fmt.Errorf("%w: %d features, want %d", ErrDecision, len(x), len(r.b))
	}
	return r, nil
}

func (l *linUCB) Score(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]rank.Scored, len(cs))
	for i, c := range cs {
		r, err := l.arm(c.Name, s.Features)
		if err != nil {
			return nil, err
		}
		ax := times(r.inv, s.Features)
		mean, spread := dot(r.b, ax), math.Sqrt(dot(s.Features, ax))
		p := rank.Parts{Mean: mean, Spread: spread, Draw: l.alpha * spread}
		out[i] = rank.Scored{Candidate: c, Score: p.Mean + p.Draw, Parts: p}
	}
	slices.SortStableFunc(out, func(a, b rank.Scored) int { return cmp.Compare(b.Score, a.Score) })
	return out, nil
}

// Observe updates the inverse by the formula of Sherman and Morrison (1950).
func (l *linUCB) Observe(_ context.Context, s rank.Sample) error {
	if s.Unknown && s.Reward == nil {
		return nil
	}
	x := s.Situation.Features
	r, err := l.arm(s.Candidate, x)
	if err != nil {
		return err
	}
	ax := times(r.inv, x)
	scale := 1 / (1 + dot(x, ax))
	worth := Worth(s)
	for i := range x {
		for j := range x {
			r.inv[i][j] -= scale * ax[i] * ax[j]
		}
		r.b[i] += worth * x[i]
	}
	return nil
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func times(m [][]float64, x []float64) []float64 {
	out := make([]float64, len(m))
	for i := range m {
		out[i] = dot(m[i], x)
	}
	return out
}

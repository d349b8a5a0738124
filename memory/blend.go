package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/internal/guard"
)

// ErrPolicy: the Bank's policy does not have what is asked for.
var ErrPolicy = errors.New("not with this policy")

// Blended is a value that no record may have by itself: the mean of those of
// several, each by its share e^(A/t) / Σ e^(A/t), t being ACTR.Temperature
// (Gonzalez, Lerch and Lebiere 2003).
type Blended struct {
	Value      float64
	Activation float64 // ln Σ e^A
	Latency    float64 // in seconds, by the Activation
	Of         int     // how many records have a value; 0: there is no blend
}

// Blend blends the values of the K most active records that Recall would find,
// under the policy [ACTR] (else ErrPolicy). A record for which value returns
// false is left out. The threshold is for the blend: below it, or without any
// value, Blended.Of is 0. value is called in the caller's goroutine; that it
// panics is an error.
func (s Space) Blend(ctx context.Context, q Query, value func(Record) (float64, bool)) (Blended, error) {
	var out Blended
	err := s.with(ctx, &q, func(sc *scratch) error {
		q := &sc.query
		if q.model == nil {
			return ErrPolicy
		}
		sc.findStanding(s.b, q.enough())
		hits, err := s.hits(ctx, sc, top(sc.found, q.k))
		if err != nil {
			return err
		}
		var activations, values []float64
		err = guard.Call(func() {
			for _, h := range hits {
				if v, ok := value(h.Record); ok {
					activations, values = append(activations, h.Score), append(values, v)
				}
			}
		})
		a := actr.BlendedActivation(activations)
		if err != nil || len(values) == 0 || a < q.model.threshold {
			return err
		}
		out = Blended{
			Value:      actr.Mean(actr.Softmax(activations, q.model.Temperature), values),
			Activation: a, Latency: actr.Latency(q.model.LatencyFactor, a), Of: len(values),
		}
		return nil
	})
	if err != nil {
		return Blended{}, fmt.Errorf("memory: blend: %w", err)
	}
	return out, nil
}

// Package activation has what ACT-R's equations need of a record: the base level of its
// uses, what the text of a query does not match, and draws of noise.
package activation

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
)

// Decay is the default d, with which a use fades as t^-d.
const Decay = 0.5

// leastRelevance stands for the similarity of what does not match at all.
const leastRelevance = 1e-6

// Form is a form of the base-level equation.
type Form string

// The forms, which memory.BaseLevel names for hosts.
const (
	hybrid    Form = ""
	exact     Form = "exact"
	optimized Form = "optimized"
	none      Form = "none"
)

// NoThreshold is a threshold that cuts nothing off.
const NoThreshold = -math.MaxFloat64

// Model has the parameters of the equations, see memory.ACTR. The base level of a nil Model is
// that of the defaults.
type Model struct {
	Form             Form
	Decay            float64
	Threshold        float64
	LatencyFactor    float64
	SourceActivation float64
	MaxAssociation   float64
	MismatchPenalty  float64
	Noise            float64
	Seed             uint64
}

// Cuts reports whether there is a threshold.
func (m *Model) Cuts() bool { return m.Threshold != NoThreshold }

// BaseLevel is B of a record as of a time, made at another, both in microseconds
// since 1970. Of its uses those of a later time do not count, where their times
// are kept.
func (m *Model) BaseLevel(c *tally.Counts, made, at int64) float64 {
	form, d := hybrid, Decay
	if m != nil {
		form, d = m.Form, m.Decay
	}
	n, life := 1+c.Helped, seconds(at-made)
	switch {
	case form == none:
		return 0
	case form == optimized:
		return actr.Optimized(n, life, d)
	case n == 1:
		return -d * math.Log(life) // what it comes to for most records
	}
	var few [tally.Uses]float64
	ages := few[:0]
	add := func(used tally.Instant) {
		switch {
		case int64(used) > at:
			n--
		case form == exact || len(ages) < tally.Uses:
			ages = append(ages, seconds(at-int64(used)))
		}
	}
	if c.LastUsed != 0 {
		add(c.LastUsed)
		for _, used := range slices.Backward(c.Earlier) {
			add(used)
		}
	}
	n = max(n, 1)
	if len(ages) == n-1 && (form == exact || n <= tally.Uses) {
		ages = append(ages, life)
	}
	return actr.Hybrid(ages, n, life, d)
}

// seconds are those of an age in microseconds.
func seconds(us int64) float64 { return max(float64(us)/1e6, actr.MinAge) }

// Mismatch is P of a record of that relevance.
func (m *Model) Mismatch(relevance float64) float64 {
	if m.MismatchPenalty <= 0 {
		return 0
	}
	return actr.Mismatch(m.MismatchPenalty, math.Log(max(relevance, leastRelevance)))
}

// Draws is the seed of the noise of a query.
func (m *Model) Draws(scope, text string, at int64, context []ident.Key) uint64 {
	buf := binary.BigEndian.AppendUint64(nil, uint64(at))
	for _, k := range context {
		buf = append(buf, k[:]...)
	}
	buf = append(append(append(buf, scope...), 0), text...)
	return actr.Draw(m.Seed, string(buf))
}

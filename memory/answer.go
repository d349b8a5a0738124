package memory

import (
	"math"

	"github.com/arc-learn/arc/internal/index"
)

// The weights are fitted to conversations of LoCoMo, where a question without an answer asks of one speaker
// what the other has said; see docs/benchmarks.md.
const (
	compared = 10 // matches
	few      = 3
	leadBase = 0.457
	leadBest = 3.78 // by how much the best of the named actor leads
	leadFew  = 3.10 // and the best few
	unnamed  = 0.95 // of a query that names no actor, or several
)

// meant is how much of a query a match is about, in (0,1): half of it with a ratio of 1.
func meant(ratio float64) float64 {
	odds := ratio * ratio * ratio
	return odds / (1 + odds)
}

// attributed estimates how likely what was found was said by the one actor whom the query names: it compares
// the best of their records with the best of the others.
func attributed(ms []index.Match) float64 {
	if len(ms) == 0 || !ms[0].Named && !ms[0].Another {
		return unnamed
	}
	var best, sum [2]float64 // of the named actor, and of the others
	var n [2]int
	for _, m := range ms[:min(compared, len(ms))] {
		side, score := 0, m.Ratio/(1+index.ActorNamed)
		if m.Another {
			side, score = 1, m.Ratio
		}
		best[side] = max(best[side], score)
		if n[side]++; n[side] <= few {
			sum[side] += score
		}
	}
	lead := func(s [2]float64) float64 { return (s[0] - s[1]) / max(s[0], s[1]) }
	return 1 / (1 + math.Exp(-leadBase-leadBest*lead(best)-leadFew*lead(sum)))
}

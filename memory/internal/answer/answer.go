// Package answer tells how likely it is that what a query has found answers it.
package answer

import (
	"math"

	"github.com/arc-learn/arc/internal/index"
)

// The weights are fitted to three of five conversations of LoCoMo, where a
// question without an answer asks of one speaker what the other has said; see
// docs/benchmarks.md.
const (
	base    = 0.457
	best    = 3.78 // by how much the best of the named actor leads
	bestFew = 3.10 // and the best few
	few     = 3
	onTopic = 0.9 // of Parts.Lexical's x: there, as likely as not
	likely  = onTopic * onTopic * onTopic * onTopic * onTopic * onTopic
)

// Unnamed is how likely what was found was said by whom the query asks about if
// it names no actor, or several.
const Unnamed = 0.95

// Compared is how many of the best matches an Attribution compares.
const Compared = 10

// Actor says by whom a record is, where the query names one actor. The zero
// Actor is any.
type Actor uint8

// The actors: the one whom the query names, and another one.
const (
	Named Actor = 1 + iota
	Another
)

// Attribution estimates how likely what a query found was said by the actor whom
// the query names: it compares the best of their records with the best of the
// others. The zero value has seen no record.
type Attribution struct {
	n    int
	best [Compared]struct {
		ratio float64
		by    Actor
	}
}

// Add takes a match into account. Ratio is that of its score.
func (a *Attribution) Add(ratio float64, by Actor) {
	at := a.n
	for at > 0 && ratio > a.best[at-1].ratio {
		at--
	}
	if at == Compared {
		return
	}
	a.n = min(a.n+1, Compared)
	copy(a.best[at+1:a.n], a.best[at:])
	a.best[at].ratio, a.best[at].by = ratio, by
}

// Likely is the estimate, in [0,1].
func (a *Attribution) Likely() float64 {
	// Of the named actor, and of the others: the best score, the sum of the best
	// few, and how many there are.
	var most, sum [2]float64
	var seen [2]int
	for _, f := range a.best[:a.n] {
		if f.by == 0 {
			continue
		}
		side, score := 0, f.ratio/index.NamedGain
		if f.by == Another {
			side, score = 1, f.ratio
		}
		most[side] = max(most[side], score)
		if seen[side]++; seen[side] <= few {
			sum[side] += score
		}
	}
	if seen[0]+seen[1] == 0 {
		return Unnamed
	}
	lead := func(s [2]float64) float64 { return (s[0] - s[1]) / max(s[0], s[1]) }
	return 1 / (1 + math.Exp(-base-best*lead(most)-bestFew*lead(sum)))
}

// Probability is how likely a match answers a question: by its relevance, and by
// how likely what was found was said by whom the question names.
func Probability(relevance, attributed float64) float64 {
	if relevance >= 1 {
		return attributed
	}
	odds := relevance / (1 - relevance) // x⁴
	y := odds * math.Sqrt(odds) / likely
	return attributed * y / (1 + y)
}

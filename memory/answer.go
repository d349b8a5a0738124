package memory

import (
	"math"

	"github.com/arc-learn/arc/internal/index"
)

// Whether there is an answer, fitted to three of five conversations of LoCoMo,
// whose questions without one ask of one speaker what the other has said; see
// docs/benchmarks.md.
const (
	saidByAny    = 0.95 // the question names no actor, or several
	saidBase     = 0.457
	saidBest     = 3.78 // by how much the best of the named one leads
	saidBestFew  = 3.10 // and the best few
	fewBest      = 3
	onTopic      = 0.9 // of Parts.Lexical's x: there, as likely as not
	likely       = onTopic * onTopic * onTopic * onTopic * onTopic * onTopic
	attributable = 10 // hits that are looked at
)

const (
	byAny said = iota
	byNamed
	byAnother
)

// attribute notes by whom the records are that were found from one on. The caller
// holds mu of sh.
func (sc *scratch) attribute(sh *shard, from int) {
	if of, one := sh.index.Names(&sc.index); one && !sc.query.alone {
		for i := range sc.found[from:] {
			f := &sc.found[from+i]
			if f.by = byAnother; of(f.row) {
				f.by = byNamed
			}
		}
	}
}

// attributed returns how likely what was found is what the one whom the query
// names has said: the best of those records against the best of the others.
func attributed(fs []found) float64 {
	var best [attributable]*found
	n := 0
	for i := range fs {
		at := n
		for at > 0 && fs[i].ratio > best[at-1].ratio {
			at--
		}
		if at == attributable {
			continue
		}
		n = min(n+1, attributable)
		copy(best[at+1:n], best[at:])
		best[at] = &fs[i]
	}
	var most, few [2]float64 // of the best, and of the best few: those of the named one, and the others
	var seen [2]int
	for _, f := range best[:n] {
		if f.by == byAny {
			continue
		}
		side, score := 0, f.ratio/index.NamedGain
		if f.by == byAnother {
			side, score = 1, f.ratio
		}
		most[side] = max(most[side], score)
		if seen[side]++; seen[side] <= fewBest {
			few[side] += score
		}
	}
	if seen[0]+seen[1] == 0 {
		return saidByAny
	}
	lead := func(s [2]float64) float64 { return (s[0] - s[1]) / max(s[0], s[1]) }
	return 1 / (1 + math.Exp(-saidBase-saidBest*lead(most)-saidBestFew*lead(few)))
}

// answers is Parts.Answer.
func (q *query) answers(f *found) float64 {
	switch {
	case q.all:
		return 0
	case q.alone || f.flags.kind().learned(): // of a situation, which asks nothing of what was said
		return f.relevance
	case f.relevance >= 1:
		return q.attributed
	}
	odds := f.relevance / (1 - f.relevance) // x⁴
	y := odds * math.Sqrt(odds) / likely
	return q.attributed * y / (1 + y)
}

package memory

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
)

// activate scores what was found by its activation.
func (q *query) activate(fs []found) {
	var b bonds
	for i := range fs {
		f := &fs[i]
		if b.sh != f.sh {
			b = q.bonds(f.sh)
		}
		f.score = q.activation(f, b).Activation
	}
}

// activation is the part of a score that ACT-R's equations give.
func (q *query) activation(f *found, b bonds) Parts {
	m := q.model
	p := Parts{BaseLevel: q.baseLevel(f), Spreading: b.spread(m, f.entry)}
	if !q.all && m.MismatchPenalty > 0 {
		p.Mismatch = actr.Mismatch(m.MismatchPenalty, math.Log(max(f.relevance, leastRelevance)))
	}
	p.Activation = p.BaseLevel + p.Spreading + p.Mismatch
	p.Probability = actr.Probability(p.Activation, m.threshold, m.Noise)
	if m.Noise > 0 {
		var buf [64]byte
		p.Noise = actr.Noise(m.Noise, q.draws, string(f.appendName(buf[:0])))
		p.Activation += p.Noise
	}
	p.Latency = actr.Latency(m.LatencyFactor, p.Activation)
	return p
}

// drawsOf is the seed of the noise of a query.
func (m *model) drawsOf(s Scope, text string, at int64, context []ident.Key) uint64 {
	buf := binary.BigEndian.AppendUint64(nil, uint64(at))
	for _, k := range context {
		buf = append(buf, k[:]...)
	}
	buf = append(append(append(buf, s...), 0), text...)
	return actr.Draw(m.seed, string(buf))
}

// baseLevel is B as of the query. Uses after that do not count, as far as their
// times are known.
func (q *query) baseLevel(f *found) float64 {
	form, d := HybridBase, float64(baseDecay)
	if q.model != nil {
		form, d = q.model.BaseLevel, q.model.Decay
	}
	c := f.tally
	n, life := 1+c.Helped, seconds(q.at-f.known)
	switch {
	case form == NoBase:
		return 0
	case form == OptimizedBase:
		return actr.Optimized(n, life, d)
	case n == 1:
		return -d * math.Log(life) // what it comes to for most records
	}
	var few [tally.Uses]float64
	ages := few[:0]
	add := func(at int64) {
		switch {
		case at > q.at:
			n--
		case form == ExactBase || len(ages) < tally.Uses:
			ages = append(ages, seconds(q.at-at))
		}
	}
	if c.LastUsed != 0 {
		add(int64(c.LastUsed))
		for _, at := range slices.Backward(c.Earlier) {
			add(int64(at))
		}
	}
	n = max(n, 1)
	if len(ages) == n-1 && (form == ExactBase || n <= tally.Uses) {
		ages = append(ages, life)
	}
	return actr.Hybrid(ages, n, life, d)
}

// seconds are those of an age in microseconds.
func seconds(us int64) float64 { return max(float64(us)/1e6, actr.MinAge) }

// bonds are the records of the context, as a shard has them.
type bonds struct {
	sh      *shard
	sources []source
}

// source is a record of the context.
type source struct {
	key  ident.Key
	of   *entry // nil: the shard has none
	refs int    // its links, in either direction
}

func (q *query) bonds(sh *shard) bonds {
	b := bonds{sh: sh, sources: make([]source, len(q.context))}
	for i, k := range q.context {
		b.sources[i] = sh.source(k)
	}
	return b
}

// source returns the record that a key leads to, with the links of what became
// part of it.
func (sh *shard) source(k ident.Key) source {
	sh.mu.Enter()
	defer sh.mu.Leave()
	s := source{key: k}
	if s.of = sh.findLocked(k); s.of == nil {
		s.refs = sh.fanLocked(k)
		return s
	}
	s.key = s.of.id
	for k := range s.of.keys() {
		s.refs += sh.fanLocked(k)
	}
	return s
}

// held returns how many links there are between the source and e.
func (s *source) held(e *entry) int {
	n := 0
	for _, l := range e.links() {
		if k := ident.Of(l.To); k == s.key || s.of != nil && s.of.is(k) {
			n++
		}
	}
	if s.of != nil {
		for _, l := range s.of.links() {
			if e.is(ident.Of(l.To)) {
				n++
			}
		}
	}
	return n
}

// spread is the activation that e receives from the sources.
func (b bonds) spread(m *model, e *entry) float64 {
	if len(b.sources) == 0 {
		return 0
	}
	sum := 0.0
	for i := range b.sources {
		s := &b.sources[i]
		if s.key == e.id {
			continue
		}
		sum += actr.Association(m.MaxAssociation, s.refs, s.held(e), false)
	}
	return m.SourceActivation * sum / float64(len(b.sources))
}

// spreading is the mean over the context of 1/fan, for those that e is linked
// with in either direction.
func (sh *shard) spreading(q *query, e *entry) float64 {
	if len(q.context) == 0 {
		return 0
	}
	sum := 0.0
	for _, k := range q.context {
		if s := sh.source(k); s.key != e.id && s.held(e) > 0 {
			sum += 1 / float64(max(s.refs, 1))
		}
	}
	return sum / float64(len(q.context))
}

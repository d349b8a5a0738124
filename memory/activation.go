package memory

import (
	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/ident"
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
	p := Parts{BaseLevel: m.BaseLevel(f.tally, f.known, q.at), Spreading: b.spread(m, f.entry)}
	if !q.all {
		p.Mismatch = m.Mismatch(f.Relevance)
	}
	p.Activation = p.BaseLevel + p.Spreading + p.Mismatch
	p.Probability = actr.Probability(p.Activation, m.Threshold, m.Noise)
	if m.Noise > 0 {
		var buf [64]byte
		p.Noise = actr.Noise(m.Noise, q.draws, string(f.appendName(buf[:0])))
		p.Activation += p.Noise
	}
	p.Latency = actr.Latency(m.LatencyFactor, p.Activation)
	return p
}

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
func (b bonds) spread(m *activation.Model, e *entry) float64 {
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

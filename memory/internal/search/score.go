package search

import (
	"math"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
)

// The weights of a score.
const (
	relevanceWeight     = 0.5
	effectivenessWeight = 0.3
	recencyWeight       = 0.2
)

// weigh scores what was found: 0.5·relevance + 0.3·effectiveness +
// 0.2·recency for those near the best, 0.5·relevance for the others, which are
// thus below all of the former.
func (q *Query) weigh(fs []Found) {
	best := q.best
	for i := range fs {
		if fs[i].Ratio > best { // cheaper than max, which heeds NaN
			best = fs[i].Ratio
		}
	}
	for i := range fs {
		f := &fs[i]
		f.Score = relevanceWeight * f.Relevance
		if f.near = f.Ratio >= gate*best; f.near {
			f.effectiveness, f.recency = f.Tally.Effectiveness(q.Situation), q.recency(f)
			f.Score += effectivenessWeight*f.effectiveness + recencyWeight*f.recency
		}
	}
}

// recency is 2^(-age/half-life) since the last use, or since At.
func (q *Query) recency(f *Found) float64 {
	last := f.At
	if f.Tally.LastUsed != 0 {
		last = int64(f.Tally.LastUsed)
	}
	if last >= q.At {
		return 1
	}
	return math.Exp2(float64(last-q.At) * q.Rate)
}

// Parts are what a score is made of, as memory.Parts documents it.
type Parts struct {
	Relevance, Answer, Lexical, Cosine, Effectiveness, Recency, BaseLevel, Spreading float64
	Mismatch, Noise, Activation, Latency, Probability                                float64
	Near                                                                             bool
}

// Parts returns what the score of f is made of.
func (q *Query) Parts(f *Found) Parts {
	if !f.near {
		f.effectiveness, f.recency = f.Tally.Effectiveness(q.Situation), q.recency(f)
	}
	var p Parts
	if q.Model != nil {
		p = q.activation(f, q.bonds(f.In))
	} else {
		p.BaseLevel, p.Spreading = q.Model.BaseLevel(f.Tally, f.Known, q.At), q.spreading(f)
	}
	p.Relevance, p.Lexical, p.Cosine, p.Near = f.Relevance, f.Lexical, f.Cosine, f.near
	p.Answer, p.Effectiveness, p.Recency = q.answers(f), f.effectiveness, f.recency
	return p
}

// activate scores what was found by its activation.
func (q *Query) activate(fs []Found) {
	var b bonds
	for i := range fs {
		f := &fs[i]
		if b.in != f.In {
			b = q.bonds(f.In)
		}
		f.Score = q.activation(f, b).Activation
	}
}

// activation is the part of a score that ACT-R's equations give.
func (q *Query) activation(f *Found, b bonds) Parts {
	m := q.Model
	p := Parts{BaseLevel: m.BaseLevel(f.Tally, f.Known, q.At), Spreading: b.spread(m, f.Entry)}
	if !q.All {
		p.Mismatch = m.Mismatch(f.Relevance)
	}
	p.Activation = p.BaseLevel + p.Spreading + p.Mismatch
	p.Probability = actr.Probability(p.Activation, m.Threshold, m.Noise)
	if m.Noise > 0 {
		var buf [64]byte
		p.Noise = actr.Noise(m.Noise, q.Draws, string(f.AppendName(buf[:0])))
		p.Activation += p.Noise
	}
	p.Latency = min(actr.Latency(m.LatencyFactor, p.Activation), math.MaxFloat64)
	return p
}

// bonds are the records of the context, as a table has them.
type bonds struct {
	in      *table.Table
	sources []source
}

// source is a record of the context.
type source struct {
	key  ident.Key
	of   *table.Entry // nil: the table has none
	refs int          // its links, in either direction
}

func (q *Query) bonds(t *table.Table) bonds {
	b := bonds{in: t, sources: make([]source, len(q.Context))}
	for i, k := range q.Context {
		b.sources[i] = sourceOf(t, k)
	}
	return b
}

func sourceOf(t *table.Table, k ident.Key) source {
	s := source{key: k}
	if s.of, s.refs = t.Fan(k); s.of != nil {
		s.key = s.of.Key
	}
	return s
}

// held returns how many links there are between the source and e.
func (s *source) held(e *table.Entry) int {
	n := 0
	for _, l := range e.Links() {
		if l.To == s.key || s.of != nil && s.of.Is(l.To) {
			n++
		}
	}
	if s.of != nil {
		for _, l := range s.of.Links() {
			if e.Is(l.To) {
				n++
			}
		}
	}
	return n
}

// spread is the activation that e receives from the sources.
func (b bonds) spread(m *activation.Model, e *table.Entry) float64 {
	if len(b.sources) == 0 {
		return 0
	}
	sum := 0.0
	for i := range b.sources {
		s := &b.sources[i]
		if s.key == e.Key {
			continue
		}
		sum += actr.Association(m.MaxAssociation, s.refs, s.held(e), false)
	}
	return m.SourceActivation * sum / float64(len(b.sources))
}

// spreading is the mean over the context of 1/fan, for those that f is linked
// with in either direction.
func (q *Query) spreading(f *Found) float64 {
	if len(q.Context) == 0 {
		return 0
	}
	sum := 0.0
	for _, k := range q.Context {
		if s := sourceOf(f.In, k); s.key != f.Key && s.held(f.Entry) > 0 {
			sum += 1 / float64(max(s.refs, 1))
		}
	}
	return sum / float64(len(q.Context))
}

package memory

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/tally"
)

// Policy says how what a query finds is ranked: [Weighted], the default, or
// [ACTR]. Both are values; there are no others.
type Policy interface {
	// check returns what is wrong with the parameters, all at once.
	check() error
}

var (
	_ Policy = Weighted{}
	_ Policy = ACTR{}
)

// Weighted ranks by 0.5·relevance + 0.3·effectiveness + 0.2·recency, behind a
// gate of relevance; see the package comment.
type Weighted struct{}

func (Weighted) check() error { return nil }

// ACTR ranks by the activation that ACT-R's declarative memory has (Anderson
// and Lebiere 1998; the ACT-R 7 reference manual):
//
//	A = B + Σ (W/n)·S + P + noise
//
// B is the base level: how often and how lately the record helped, its making
// being the first use. S is how strongly each of the n records in
// Query.Context is bound to it, by links in either direction: MaxAssociation
// less the logarithm of the fan, which is one more than the links of that
// record, over those of them that lead to this one; not below 0. A record is no
// source for itself. P is what partial matching takes from what the text does
// not match in full: MismatchPenalty·ln(relevance), so that the similarity of a
// perfect match is 0, and nothing without a text. The noise is logistic.
//
// Hit.Score is A, in natural logarithms of odds: it may be negative. Everything
// that the words of the query find is scored, where Weighted looks only at what
// is near the best, so a recall takes time in proportion to the matches; of what
// vectors find, the nearest. Effectiveness does not enter: what misled fades
// only.
//
// The zero value is ready. Fields that are out of range are an error of Open.
type ACTR struct {
	// Decay is d, with which a use fades as t^-d, t in seconds. Above 0 and
	// below 1; 0: 0.5. (:bll)
	Decay float64
	// BaseLevel says how B is computed.
	BaseLevel BaseLevel
	// Threshold cuts off what is less active. Nil: nothing. (:rt)
	Threshold *float64
	// LatencyFactor is F: a retrieval takes F·e^-A seconds. 0: 1. (:lf)
	LatencyFactor float64
	// SourceActivation is W, which the records in Query.Context share. 0: 1.
	SourceActivation float64
	// MaxAssociation is S. 0: 1.6, as in the model of the fan effect. (:mas)
	MaxAssociation float64
	// MismatchPenalty is how much relevance counts. 0: 16, with which a
	// relevance of 0.8 for 1 weighs as much as 36 times the uses or 1260
	// times the age. Negative: nothing, so that relevance only selects. (:mp)
	MismatchPenalty float64
	// Noise is s, the scale of the noise, whose variance is π²s²/3. 0: none.
	// Draws depend on Options.Seed, the scope, text, time and context of the
	// query, and the record: the same recall repeats, and another record does
	// not change it. (:ans)
	Noise float64
}

// BaseLevel is a form of ACT-R's base-level equation.
type BaseLevel string

// The forms. A record keeps the last ten times at which it helped, or the last
// 256 in a Bank whose policy asks for ExactBase.
const (
	// HybridBase has the last ten uses exact and spreads the others evenly
	// between those and the making of the record (Petrov 2006).
	HybridBase BaseLevel = ""
	// ExactBase is ln Σ t^-d over all uses. Where there were more than are
	// kept, the others are spread evenly as in HybridBase.
	ExactBase BaseLevel = "exact"
	// OptimizedBase is ln(n/(1-d)) - d·ln(L), which needs no times: n uses in
	// the L seconds since the record was made.
	OptimizedBase BaseLevel = "optimized"
	// NoBase is 0: all records are as active as one another.
	NoBase BaseLevel = "none"
)

const (
	baseDecay      = 0.5
	defaultS       = 1.6
	defaultPenalty = 16
	leastRelevance = 1e-6
	noThreshold    = -math.MaxFloat64
)

func (a ACTR) check() error {
	threshold := 0.0
	if a.Threshold != nil {
		threshold = *a.Threshold
	}
	var errs []error
	for _, f := range []struct {
		field       string
		value, from float64
		below       float64
	}{
		{"Decay", a.Decay, 0, 1},
		{"Threshold", threshold, math.Inf(-1), math.Inf(1)},
		{"MismatchPenalty", a.MismatchPenalty, math.Inf(-1), math.Inf(1)},
		{"LatencyFactor", a.LatencyFactor, 0, math.Inf(1)},
		{"SourceActivation", a.SourceActivation, 0, math.Inf(1)},
		{"MaxAssociation", a.MaxAssociation, 0, math.Inf(1)},
		{"Noise", a.Noise, 0, math.Inf(1)},
	} {
		if !finite(f.value) || f.value < f.from || f.value >= f.below {
			errs = append(errs, fmt.Errorf("memory: ACTR.%s is %v, not in [%v,%v)", f.field, f.value, f.from, f.below))
		}
	}
	if !slices.Contains([]BaseLevel{HybridBase, ExactBase, OptimizedBase, NoBase}, a.BaseLevel) {
		errs = append(errs, fmt.Errorf("memory: ACTR.BaseLevel is %.32q", string(a.BaseLevel)))
	}
	return errors.Join(errs...)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// model is an ACTR with its defaults filled in.
type model struct {
	ACTR
	threshold float64
	seed      uint64
}

func newModel(a ACTR, seed uint64) *model {
	m := &model{ACTR: a, threshold: noThreshold, seed: seed}
	if a.Threshold != nil {
		m.threshold = *a.Threshold
	}
	m.Decay, m.LatencyFactor = cmp.Or(a.Decay, baseDecay), cmp.Or(a.LatencyFactor, 1)
	m.SourceActivation, m.MaxAssociation = cmp.Or(a.SourceActivation, 1), cmp.Or(a.MaxAssociation, defaultS)
	m.MismatchPenalty = max(cmp.Or(a.MismatchPenalty, defaultPenalty), 0)
	return m
}

// uses is how many times of use a record keeps.
func (o *Options) uses() int {
	if a, ok := o.Policy.(ACTR); ok && a.BaseLevel == ExactBase {
		return tally.MostUses
	}
	return tally.Uses
}

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

// enough is how many of the best by relevance have to be looked at; 0: all.
func (q *query) enough() int {
	if q.model != nil || q.triggered {
		return 0
	}
	return max(q.k, attributable)
}

// below reports whether f is below the threshold.
func (q *query) below(f *found) bool {
	return q.model != nil && q.model.Threshold != nil && f.score < q.model.threshold
}

// cut leaves what is not below the threshold, nor below the floor.
func (q *query) cut(fs []found) []found {
	if q.floor == 0 && (q.model == nil || q.model.Threshold == nil) {
		return fs
	}
	return slices.DeleteFunc(fs, func(f found) bool { return q.answers(&f) < q.floor || q.below(&f) })
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

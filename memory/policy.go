package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/memory/internal/activation"
)

// Policy ranks what a query finds. It is [Weighted], the default, or [ACTR]; there are no others.
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

// ACTR ranks by the activation of ACT-R's declarative memory (Anderson and Lebiere 1998; the ACT-R 7
// reference manual):
//
//	A = B + Σ (W/n)·S + P + noise
//
// B is the base level: how often and how lately the record helped, its making being the first use. S
// is the strength of association with each of the n records in Query.Context, over links in either
// direction: MaxAssociation - ln(fan/m), not below 0, where fan is 1 plus the links of the record in
// the Context, and m is how many of these lead to this record. A record is no source for itself. P is
// the penalty of partial matching, MismatchPenalty·ln(relevance): the similarity of a perfect match is
// 0. Without a text P is 0. The noise is logistic.
//
// Hit.Score is A, in natural logarithms of odds: it may be negative. ACTR scores everything that the
// words of the query find, and the nearest of what vectors find, so the time of a recall is
// proportional to the matches; Weighted scores only what is near the best. Effectiveness does not
// enter: a record that misled only fades.
//
// The zero value is ready. Fields that are out of range, or not below a million, are an error of Open.
type ACTR struct {
	// Decay is d, with which a use fades as t^-d, t in seconds. Above 0 and
	// below 1; 0: 0.5. (:bll)
	Decay float64
	// BaseLevel says how B is computed.
	BaseLevel BaseLevel
	// Threshold leaves out records of less activation. Nil: none. (:rt)
	Threshold *float64
	// LatencyFactor is F: a retrieval takes F·e^-A seconds. 0: 1. (:lf)
	LatencyFactor float64
	// SourceActivation is W, which the records in Query.Context share. 0: 1.
	SourceActivation float64
	// MaxAssociation is S. 0: 1.6, as in the model of the fan effect. (:mas)
	MaxAssociation float64
	// MismatchPenalty is how much relevance counts. 0: 16, with which a relevance of 1 instead of 0.8
	// weighs as much as 36 times the uses or 1/1260 of the age. Negative: nothing, so that relevance only
	// selects. (:mp)
	MismatchPenalty float64
	// Noise is s, the scale of the noise, whose variance is π²s²/3. 0: none. Draws depend on Options.Seed,
	// on the scope, text, time and context of the query, and on the record: the same recall repeats, and
	// other records do not change it. (:ans)
	Noise float64
}

// BaseLevel is a form of ACT-R's base-level equation.
type BaseLevel string

// The forms. A record keeps the last ten times at which it helped; the last 256 in a Bank with
// ExactBase.
const (
	// HybridBase takes the last ten uses exactly and spreads the earlier ones evenly between the making of
	// the record and the first of the ten (Petrov 2006).
	HybridBase BaseLevel = ""
	// ExactBase is ln Σ t^-d over all uses. If there were more than the record keeps, it spreads the
	// others as HybridBase does.
	ExactBase BaseLevel = "exact"
	// OptimizedBase is ln(n/(1-d)) - d·ln(L): n uses in the L seconds since the record was made. It needs
	// no times of use.
	OptimizedBase BaseLevel = "optimized"
	// NoBase is 0 for all records.
	NoBase BaseLevel = "none"
)

const (
	defaultS       = 1.6
	defaultPenalty = 16
)

func (a ACTR) check() error {
	const most = 1e6 // scores stay finite
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
		{"Threshold", threshold, -most, most},
		{"MismatchPenalty", a.MismatchPenalty, -most, most},
		{"LatencyFactor", a.LatencyFactor, 0, most},
		{"SourceActivation", a.SourceActivation, 0, most},
		{"MaxAssociation", a.MaxAssociation, 0, most},
		{"Noise", a.Noise, 0, most},
	} {
		if !(f.value >= f.from && f.value < f.below) {
			errs = append(errs, fmt.Errorf("memory: ACTR.%s is %v, not in [%v,%v)", f.field, f.value, f.from, f.below))
		}
	}
	if !slices.Contains([]BaseLevel{HybridBase, ExactBase, OptimizedBase, NoBase}, a.BaseLevel) {
		errs = append(errs, fmt.Errorf("memory: ACTR.BaseLevel is %.32q", string(a.BaseLevel)))
	}
	return errors.Join(errs...)
}

// model returns the parameters with their defaults filled in.
func (a ACTR) model(seed uint64) *activation.Model {
	m := &activation.Model{
		Form: activation.Form(a.BaseLevel), Decay: cmp.Or(a.Decay, activation.Decay), Threshold: activation.NoThreshold,
		LatencyFactor: cmp.Or(a.LatencyFactor, 1), SourceActivation: cmp.Or(a.SourceActivation, 1),
		MaxAssociation:  cmp.Or(a.MaxAssociation, defaultS),
		MismatchPenalty: max(cmp.Or(a.MismatchPenalty, defaultPenalty), 0),
		Noise:           a.Noise, Seed: seed,
	}
	if a.Threshold != nil {
		m.Threshold = *a.Threshold
	}
	return m
}

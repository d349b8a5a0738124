package memory

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// Policy scores what a recall has found. [Weighted] and [ACTR] are Policies.
//
// Score returns a value in (0,1], higher for what comes first, or 0 to leave the candidate out. It is called once
// for each candidate, may be called concurrently, and must not keep what it is given.
type Policy interface {
	Score(q *Query, c *Candidate) float64
}

// Candidate is a memory that the words or the vector of a query have found.
type Candidate struct {
	Record *Record
	Parts  Parts
	Near   bool        // it matches at least .8 times as well as the best
	Now    time.Time   // of the query
	Uses   []time.Time // when it helped, the last ten in order
	Bonds  []Bond      // with the memories of Query.Context
}

// Bond says how a candidate is linked with a memory of the context.
type Bond struct {
	Links int // between the two, in either direction
	Fan   int // of the memory of the context: one more than its links in either direction
}

// Weighted scores by 0.5·relevance + 0.3·effectiveness + 0.2·recency where the match is near the best, and by
// 0.5·relevance elsewhere, so that what is no answer does not come first for being new.
type Weighted struct{}

// The weights, and the share of the best match that is near.
const (
	relevanceWeight     = 0.5
	effectivenessWeight = 0.3
	recencyWeight       = 0.2
	gate                = 0.8
	factGate            = 0.72 // of Facts, whose texts change with what they state
)

// Score implements [Policy].
func (Weighted) Score(_ *Query, c *Candidate) float64 {
	score := relevanceWeight * c.Parts.Relevance
	if c.Near {
		score += effectivenessWeight*c.Parts.Effectiveness + recencyWeight*c.Parts.Recency
	}
	return score
}

// ACTR scores by the activation of ACT-R's declarative memory (Anderson and Lebiere 1998; the ACT-R 7 reference
// manual), in natural logarithms of odds:
//
//	A = B + Σ (W/n)·S + P + noise
//
// B is the base level ln Σ t^-d over the uses, the first of which is the making of the record, with t in seconds; of
// more than ten the earlier ones are spread evenly (Petrov 2006). S is the strength of association with each of the n
// memories in Query.Context that are linked with the record: MaxAssociation - ln(fan/links), not below 0. P is
// MismatchPenalty·ln(relevance). The noise is logistic. The score is 1/(1+e^-A).
//
// Effectiveness does not enter. The zero value is ready; a field that is out of range is an error of Open.
type ACTR struct {
	Decay            float64  // d, in (0,1); 0: .5 (:bll)
	Threshold        *float64 // less activation leaves a record out; nil: none (:rt)
	SourceActivation float64  // W; 0: 1
	MaxAssociation   float64  // S; 0: 1.6, as in the model of the fan effect (:mas)
	MismatchPenalty  float64  // 0: 16, so that a relevance of .8 weighs as 1/36 of the uses; negative: none (:mp)
	Noise            float64  // s, whose variance is π²s²/3; 0: none (:ans)
	Seed             uint64   // of the noise, which depends on it, the query and the record only
}

func (a ACTR) check() error {
	const most = 1e6
	threshold := 0.0
	if a.Threshold != nil {
		threshold = *a.Threshold
	}
	var errs []error
	for _, f := range []struct {
		name               string
		value, least, most float64
	}{
		{"Decay", a.Decay, 0, 1}, {"Threshold", threshold, -most, most}, {"SourceActivation", a.SourceActivation, 0, most},
		{"MaxAssociation", a.MaxAssociation, 0, most}, {"MismatchPenalty", a.MismatchPenalty, -most, most},
		{"Noise", a.Noise, 0, most},
	} {
		if !(f.value >= f.least && f.value < f.most) {
			errs = append(errs, fmt.Errorf("memory: ACTR.%s is %v, not in [%v,%v)", f.name, f.value, f.least, f.most))
		}
	}
	return errors.Join(errs...)
}

// Score implements [Policy].
func (a ACTR) Score(q *Query, c *Candidate) float64 {
	d := cmp.Or(a.Decay, 0.5)
	ages := []float64{}
	for i := len(c.Uses) - 1; i >= 0; i-- {
		ages = append(ages, c.Now.Sub(c.Uses[i]).Seconds())
	}
	n, life := 1+c.Record.Stats.Helped, c.Now.Sub(c.Record.At).Seconds()
	if n <= len(ages)+1 {
		ages = append(ages, life)
	}
	activation := baseLevel(ages, n, life, d)
	for _, b := range c.Bonds {
		w := cmp.Or(a.SourceActivation, 1) / float64(len(c.Bonds))
		activation += w * association(cmp.Or(a.MaxAssociation, 1.6), b)
	}
	if penalty := cmp.Or(a.MismatchPenalty, 16); penalty > 0 && (q.Text != "" || q.Vector != nil) {
		activation += penalty * math.Log(max(c.Parts.Relevance, 1e-6))
	}
	if a.Noise > 0 {
		activation += a.Noise * logistic(a.Seed, q.Text, string(c.Record.Scope), string(c.Record.ID))
	}
	if a.Threshold != nil && activation < *a.Threshold {
		return 0
	}
	return 1 / (1 + math.Exp(-activation))
}

// minAge is the least age of a use in seconds, so that none weighs infinitely much (ACT-R 7, compute-references).
const minAge = 0.05

// baseLevel is that of n uses, of which the latest are known by their ages in seconds, the most recent first, and the
// others lie between the oldest of those and life, the age of the first:
//
//	ln( Σ_{j≤k} t_j^-d + (n-k)·(L^(1-d) - t_k^(1-d)) / ((1-d)·(L - t_k)) )
func baseLevel(recent []float64, n int, life, d float64) float64 {
	sum, last := 0.0, 0.0
	for _, t := range recent {
		last = max(t, minAge)
		sum += math.Pow(last, -d)
	}
	if rest := float64(n - len(recent)); rest > 0 {
		if life = max(life, last, minAge); life-last < minAge {
			sum += rest * math.Pow((life+last)/2, -d) // the limit of the mean
		} else {
			sum += rest * (math.Pow(life, 1-d) - math.Pow(last, 1-d)) / ((1 - d) * (life - last))
		}
	}
	return math.Log(sum)
}

// association is S_ji of a memory of the context, 0 without a link.
func association(most float64, b Bond) float64 {
	if b.Links == 0 {
		return 0
	}
	return max(0, most-math.Log(float64(b.Fan)/float64(b.Links)))
}

// logistic draws from the standard logistic distribution, always the same for the same names.
func logistic(seed uint64, names ...string) float64 {
	h := fnv.New64a()
	for _, n := range names {
		fmt.Fprintf(h, "%d %d:%s ", seed, len(n), n)
	}
	x := h.Sum64() // FNV's low bits are weak: mix them (splitmix64)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	u := (float64((x^x>>31)>>11) + 0.5) / (1 << 53)
	return math.Log(u / (1 - u))
}

package memory

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

// Policy scores what a recall has found. [Weighted] and [ACTR] are Policies.
//
// Score returns a value in (0,1], higher for what comes first, or 0 to leave the candidate out. The At of its query is
// set: that of the question, or now. It is called once for each candidate, may be called concurrently, and must not
// keep what it is given.
type Policy interface {
	Score(q *Query, c *Candidate) float64
}

// Candidate is a memory that the words or the vector of a query have found.
type Candidate struct {
	Record
	Parts
	near  bool    // it matches about as well as the best
	uses  []int64 // when it helped, the last ten in order
	bonds []bond  // with the memories of Query.Context
}

// bond says how a candidate is linked with a memory of the context.
type bond struct {
	links int // between the two, in either direction
	fan   int // of the memory of the context: one more than its links in either direction
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
	factGate            = 0.7                // of Facts, whose texts change with what they state
	halfLife            = 7 * 24 * time.Hour // of recency
)

// Score implements [Policy].
func (Weighted) Score(_ *Query, c *Candidate) float64 {
	return c.Parts.weighted(c.near)
}

func (p *Parts) weighted(near bool) float64 {
	score := relevanceWeight * p.Relevance
	if near {
		score += effectivenessWeight*p.Effectiveness + recencyWeight*p.Recency
	}
	return score
}

// ACTR scores by the activation of ACT-R's declarative memory (Anderson and Lebiere 1998; the ACT-R 7 reference
// manual), in natural logarithms of odds:
//
//	A = B + Σ (W/n)·S + P + noise
//
// B is the base level ln Σ t^-½ over the uses, the first of which is the making of the record, with t in seconds; of
// more than ten the earlier ones are spread evenly (Petrov 2006). S is the strength of association with each of the n
// memories in Query.Context that are linked with the record: 1.6 - ln(fan/links), not below 0, as in the model of the
// fan effect; W is 1. P is 16·ln(relevance), so that a relevance of .8 weighs as 1/36 of the uses. The noise is
// logistic, and always the same for one query, time and record. The score is 1/(1+e^-A).
//
// Effectiveness does not enter. The zero value is ready; a field that is out of range is an error of Open.
type ACTR struct {
	Threshold float64 // in [0,1): a lesser score leaves a record out; ACT-R's :rt of 0 is .5
	Noise     float64 // s of :ans, at least 0: the variance is π²s²/3
}

// The other parameters.
const (
	decay          = 0.5 // :bll
	maxAssociation = 1.6 // :mas
	mismatch       = 16  // :mp
)

func (a ACTR) check() error {
	if a.Threshold >= 0 && a.Threshold < 1 && a.Noise >= 0 && a.Noise < 1e6 {
		return nil
	}
	return fmt.Errorf("memory: a policy of %+v", a)
}

// Score implements [Policy].
func (a ACTR) Score(q *Query, c *Candidate) float64 {
	ages := []float64{}
	for _, at := range slices.Backward(c.uses) {
		ages = append(ages, q.At.Sub(timeOf(at, 0)).Seconds())
	}
	n, life := 1+c.Stats.Helped, q.At.Sub(c.Record.At).Seconds()
	if n <= len(ages)+1 {
		ages = append(ages, life)
	}
	activation := baseLevel(ages, n, life, decay)
	for _, b := range c.bonds {
		activation += association(maxAssociation, b) / float64(len(c.bonds))
	}
	if q.Text != "" || q.Vector != nil {
		activation += mismatch * math.Log(max(c.Relevance, 1e-6))
	}
	if a.Noise > 0 {
		activation += a.Noise * logistic(q.Text, q.At.String(), string(c.Scope), string(c.ID))
	}
	if score := 1 / (1 + math.Exp(-activation)); score >= a.Threshold {
		return score
	}
	return 0
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
func association(most float64, b bond) float64 {
	if b.links == 0 {
		return 0
	}
	return max(0, most-math.Log(float64(b.fan)/float64(b.links)))
}

// logistic draws from the standard logistic distribution, always the same for the same names.
func logistic(names ...string) float64 {
	h := fnv.New64a()
	for _, n := range names {
		fmt.Fprintf(h, "%d:%s ", len(n), n)
	}
	x := h.Sum64() // FNV's low bits are weak: mix them (splitmix64)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	u := (float64((x^x>>31)>>11) + 0.5) / (1 << 53)
	return math.Log(u / (1 - u))
}

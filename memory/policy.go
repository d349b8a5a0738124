package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Policy scores what a recall has found: a value in (0,1], higher for what comes first, or 0 to leave it out.
// The query has its At, that of the question or now, and its K. A Policy is called once for each candidate,
// may be called concurrently, and must not keep what it is given. [Weighted] is one, and [ACTR] makes others.
type Policy func(q *Query, c *Candidate) float64

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
// 0.5·relevance elsewhere: what is no answer does not come first for being new. It is the default [Policy].
func Weighted(_ *Query, c *Candidate) float64 { return c.weighted(c.near) }

// The weights, and the share of the best match that is near.
const (
	relevanceWeight     = 0.5
	effectivenessWeight = 0.3
	recencyWeight       = 0.2
	gate                = 0.8
	factGate            = 0.7                // of Facts, whose texts change with what they state
	halfLife            = 7 * 24 * time.Hour // of recency
)

func (p *Parts) weighted(near bool) float64 {
	score := relevanceWeight * p.Relevance
	if near {
		score += effectivenessWeight*p.Effectiveness + recencyWeight*p.Recency
	}
	return score
}

// ACTR scores by the activation of ACT-R's declarative memory (Anderson and Lebiere 1998; the ACT-R 7
// reference manual), in natural logarithms of odds:
//
//	A = B + Σ (W/n)·S + P + noise
//
// B is the base level ln Σ t^-½ over the uses, the first of which is the making of the record, with t in
// seconds; of more than ten the earlier ones are spread evenly (Petrov 2006). S is the strength of
// association with each of the n memories in Query.Context that are linked with the record: 1.6 -
// ln(fan/links), not below 0, as in the model of the fan effect; W is 1. P is 16·ln(relevance), so that a
// relevance of .8 weighs as 1/36 of the uses. The noise is logistic, and always the same for one query, time
// and record. The score is 1/(1+e^-A).
//
// Effectiveness does not enter. A score below threshold leaves a record out: ACT-R's :rt of 0 is .5. Noise is
// the s of :ans, whose variance is π²s²/3.
func ACTR(threshold, noise float64) Policy {
	return func(q *Query, c *Candidate) float64 {
		if score := 1 / (1 + math.Exp(-activation(q, c, noise))); score >= threshold {
			return score
		}
		return 0
	}
}

// The other parameters.
const (
	decay          = 0.5 // :bll
	maxAssociation = 1.6 // :mas
	mismatch       = 16  // :mp
)

func activation(q *Query, c *Candidate, noise float64) float64 {
	ages := []float64{}
	for _, at := range slices.Backward(c.uses) {
		ages = append(ages, q.At.Sub(timeOf(at, 0)).Seconds())
	}
	n, life := 1+c.Stats.Helped, q.At.Sub(c.Record.At).Seconds()
	if n <= len(ages)+1 {
		ages = append(ages, life)
	}
	a := baseLevel(ages, n, life)
	for _, b := range c.bonds {
		a += association(maxAssociation, b) / float64(len(c.bonds))
	}
	if q.Text != "" || q.Vector != nil {
		a += mismatch * math.Log(max(c.Relevance, 1e-6))
	}
	if noise != 0 {
		a += noise * logistic(q.Text, q.At.String(), string(c.Scope), string(c.ID))
	}
	return a
}

// minAge is the least age of a use in seconds, so that none weighs infinitely (ACT-R 7, compute-references).
const minAge = 0.05

// baseLevel is that of n uses, of which the latest are known by their ages in seconds, the most recent first,
// and the others lie between the oldest of those and life, the age of the first:
//
//	ln( Σ_{j≤k} t_j^-d + (n-k)·(L^(1-d) - t_k^(1-d)) / ((1-d)·(L - t_k)) )
func baseLevel(recent []float64, n int, life float64) float64 {
	const d = decay
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
	x := rand.NewPCG(hashOf(fmt.Sprintf("%q", names)), 0).Uint64() // FNV's low bits are weak
	u := (float64(x>>11) + 0.5) / (1 << 53)
	return math.Log(u / (1 - u))
}

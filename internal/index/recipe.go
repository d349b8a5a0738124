package index

import "math"

// The constants of the score. Term frequencies of the fields are multiplied by
// the weight of the field, added up, and saturated once (BM25F).
const (
	k1 = 1.2  // where the saturation bends
	b  = 0.75 // how much the length counts

	triggerWeight = 2
	contentWeight = 1
	actorWeight   = 1
)

// Two statistics are smoothed, so that in a scope of usual size one more
// record that has nothing to do with a query leaves the scores of the others
// exactly as they were: the number of records counts as at least minRecords,
// and the mean length is rounded up to a power of two, at least minLength.
const (
	minRecords = 1024
	minLength  = 32
)

// minInformation is the least that a query counts as asking for, in units of
// idf: that of a word which one record in minRecords holds. A few function
// words or common words alone thus make no record very relevant.
const minInformation = 6.5

// knee is the relevance from which on it bends towards 1.
const knee = 0.8

// idf is ln(1 + (N - df + 0.5) / (df + 0.5)).
func idf(records, df int) float64 {
	n := float64(max(records, minRecords, df))
	return math.Log1p((n - float64(df) + 0.5) / (float64(df) + 0.5))
}

// saturate is tf / (tf + norm): what is left of the BM25 formula once k1+1 is
// part of the term's weight and k1·(1-b+b·length/mean) is the norm.
func saturate(tf, norm float32) float32 { return tf / (tf + norm) }

// norms are what depends on the mean length only, by code of length.
type norms struct {
	mean float64
	norm [256]float32
	once [256]float32 // saturate(1, norm)
}

func newNorms(mean float64) *norms {
	n := &norms{mean: mean}
	for code := range n.norm {
		n.norm[code] = float32(k1 * (1 - b + b*lengthOf(uint8(code))/mean))
		n.once[code] = saturate(1, n.norm[code])
	}
	return n
}

// roundMean rounds a mean length up to a power of two.
func roundMean(mean float64) float64 {
	if mean <= minLength {
		return minLength
	}
	return math.Exp2(math.Ceil(math.Log2(mean)))
}

// relevance maps s/U to (0,1). It is linear up to the knee, so that a ratio of
// relevances is a ratio of scores, and strictly increasing, so that it changes
// no order.
func relevance(x float64) float64 {
	y := knee * x
	if y <= knee {
		return y
	}
	return knee + (1-knee)*-math.Expm1(-(y-knee)/(1-knee))
}

// scoreOf is the inverse of relevance.
func scoreOf(r float64) float64 {
	if r <= knee {
		return r / knee
	}
	return (knee - (1-knee)*math.Log1p(-(r-knee)/(1-knee))) / knee
}

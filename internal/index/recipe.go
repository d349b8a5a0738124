package index

import (
	"math"
	"math/bits"
)

// The score of a record i for a query of distinct terms t, each of which has
// the weight w of its kind (text.Term.Weight):
//
//	own_j = tf_j · inv(length_j)
//	tau_i = own_i + h(length_i) · sum over d of window_d · h(length_i+d) · own_i+d
//	s_i   = factor_i · sum over t of w · idf · (k1+1) · tau_i / (tau_i + k1)
//
// where i+d is the record d places after i in its thread. Without a thread that
// is BM25 with tf summed over the fields; a neighbor is a field with a length
// norm of its own (Robertson and Zaragoza, The Probabilistic Relevance
// Framework: BM25 and Beyond, 2009, §3.5). The constants were measured on
// dialogue with evidence marked.
const (
	k1 = 0.9 // where the saturation bends
	b  = 0.9 // how much the length counts

	// Weights of the fields in tf.
	triggerWeight = 2
	contentWeight = 1
	actorWeight   = 1
)

// window is what a record takes of those within reach before and after it, by
// distance plus reach.
var window = [2*reach + 1]float32{0.09, 0.18, 0.3, 0, 0.15, 0.12, 0.06}

const (
	reach      = 3
	windowSum  = 0.09 + 0.18 + 0.3 + 0.15 + 0.12 + 0.06
	windowMost = 0.3

	// A record up to openLength takes and gives all of that, a longer one a
	// share that falls with the square of its length; from closedLength on it
	// stands for itself.
	openLength   = 32
	closedLength = 96
)

// The score of a record is multiplied by 1 plus what holds of these.
const (
	actorNamed = 0.28  // the query names its actor and no other
	otherAsked = -0.5  // the query is about its asker, and the other side said it
	justAsks   = -0.25 // it is a question of at most shortAsk length
	shortAsk   = 16
)

// Two statistics are coarse, so that one more record that has nothing to do
// with a query mostly leaves the scores of the others exactly as they were. The
// number of records counts as at least minRecords, and is rounded up to a power
// of two. The length that inv calls usual is that of the lower quartile, at
// least minLength, rounded up so too: where some write at length and others do
// not, it is that of the latter.
const (
	minRecords = 1024
	minLength  = 64
)

// roundUp returns the power of two from n, or from least, on.
func roundUp(n, least int) int { return 1 << bits.Len(uint(max(n, least)-1)) }

// usualLength rounds the length of the lower quartile.
func usualLength(quartile float64) float64 {
	return max(minLength, math.Exp2(math.Ceil(math.Log2(quartile))))
}

// idf is ln(1 + (N - df + 0.5) / (df + 0.5)).
func idf(records, df int) float64 {
	n := float64(max(records, df))
	return math.Log1p((n - float64(df) + 0.5) / (float64(df) + 0.5))
}

// saturate is p / (p + k1).
func saturate(p float32) float32 { return p / (p + k1) }

// norms are what depends on the usual length only, by code of length.
type norms struct {
	usual float64
	inv   [256]float32
	once  [256]float32 // saturate(inv)
}

func newNorms(usual float64) *norms {
	n := &norms{usual: usual}
	for code := range n.inv {
		n.inv[code] = float32(1 / (1 - b + b*lengthOf(uint8(code))/usual))
		n.once[code] = saturate(n.inv[code])
	}
	return n
}

// open is h, by code of length.
var open = func() (h [256]float32) {
	for code := range h {
		switch length := lengthOf(uint8(code)); {
		case length <= openLength:
			h[code] = 1
		case length <= closedLength:
			h[code] = float32(openLength / length * openLength / length)
		}
	}
	return h
}()

// minInformation is the least that a query counts as asking for, in units of
// idf: that of a word which one record in minRecords holds. A few function
// words or common words alone thus make no record very relevant.
const minInformation = 6.5

// relevance turns r = s/U of a query with n weighted terms into a probability:
// with even odds, that the record is evidence for the question rather than the
// best of a scope that knows nothing about it. It is x^4/(1+x^4), with
// x = 9/8·r·(max(n,4)/4)^(3/4), fitted to dialogue.
func relevance(r, n float64) float64 {
	x := 1.125 * r * math.Pow(max(n, 4)/4, 0.75)
	x *= x
	return x * x / (1 + x*x)
}

// The score of a thread is the BM25 score of all its words, with idf over
// threads, plus furtherWeight times that of each of its best records; its r is
// that divided by threadScale·U.
const (
	threadK1        = 1.2
	threadB         = 0.75
	threadHits      = 3
	furtherWeight   = 0.3
	threadScale     = 2.1
	minThreads      = 64  // as minRecords, for the idf of threads
	minThreadLength = 256 // as minLength, for the mean of threads
)

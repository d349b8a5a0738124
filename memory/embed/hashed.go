package embed

import (
	"context"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
)

// Hashed embeds a text by the spelling of its words (feature hashing, Weinberger
// et al. 2009). Each word, and each of its sequences of 3, 4 and 5 characters, is
// a feature: its hash chooses one number of the vector and a sign, and the feature
// adds its weight there. A word is near its inflections and misspellings, and near
// nothing else. Two texts without a common feature have a cosine of 0 ± 1/√Dim.
// The zero value is ready. Hashed is safe for concurrent use.
//
// By the defaults of memory.Options a record found by spelling alone has a
// relevance near 0: it ranks below all records found by words, and below a
// Query.Floor. Hosts whose users misspell set MinCosine to 3/√Dim and
// CosineWeight to 4.
type Hashed struct {
	// Dim is the dimension, at least 16. 0: 384.
	Dim int
}

const defaultDim = 384

// A word of weight w adds w·wordShare as a whole. Its n sequences of characters
// add w·gramShare/√n each, so that the length of a word does not count.
const (
	wordShare = 0.6
	gramShare = 0.8
	minGram   = 3
	maxGram   = 5
)

func (h Hashed) dim() int {
	if h.Dim == 0 {
		return defaultDim
	}
	return h.Dim
}

// Model returns the name of the method and the dimension: "hashed-1/384".
func (h Hashed) Model() string { return fmt.Sprintf("hashed-1/%d", h.dim()) }

// Embed returns one vector of length 1 for each text, and nil for a text without
// a word. It fails when ctx has ended, and when Dim is below 16.
func (h Hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	dim := h.dim()
	if dim < 16 {
		return nil, fmt.Errorf("embed: dimension %d is below 16", dim)
	}
	out := make([][]float32, len(texts))
	var terms []text.Term
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		terms = text.Append(terms[:0], s)
		v := make([]float32, dim)
		for _, t := range terms {
			addWord(v, t.Text, float32(t.Weight()))
		}
		if normalize(v) {
			out[i] = v
		}
	}
	return out, nil
}

// addWord adds the features of a word to v: the word, and its sequences of
// characters between the marks < and >, which tell the ends of a word apart.
func addWord(v []float32, word string, weight float32) {
	addFeature(v, word, weight*wordShare)
	var buf [160]byte
	marked := append(append(append(buf[:0], '<'), word...), '>')
	grams := 0
	for range eachGram(marked) {
		grams++
	}
	if grams == 0 {
		return
	}
	share := weight * gramShare / float32(math.Sqrt(float64(grams)))
	for g := range eachGram(marked) {
		addFeature(v, g, share)
	}
}

// eachGram yields the sequences of 3, 4 and 5 characters of a marked word.
func eachGram(word []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for start := 0; start < len(word); {
			end, runes := start, 0
			for end < len(word) && runes < maxGram {
				_, n := utf8.DecodeRune(word[end:])
				end, runes = end+n, runes+1
				if runes >= minGram && !yield(word[start:end]) {
					return
				}
			}
			_, n := utf8.DecodeRune(word[start:])
			start += n
		}
	}
}

// addFeature adds ±weight to one number of v. The feature's hash (FNV-1a with the
// finaliser of SplitMix64) chooses the sign by its lowest bit, and the number by
// the others.
func addFeature[S string | []byte](v []float32, feature S, weight float32) {
	h := uint64(14695981039346656037)
	for i := range len(feature) {
		h = (h ^ uint64(feature[i])) * 1099511628211
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	if h&1 != 0 {
		weight = -weight
	}
	v[h>>1%uint64(len(v))] += weight
}

// normalize scales v to length 1. It reports false for a v of zeros.
func normalize(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return false
	}
	inv := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * inv)
	}
	return true
}

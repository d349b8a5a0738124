package embed

import (
	"context"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
)

// DefaultDim is the dimension of the zero Hashed.
const DefaultDim = 384

// Hashed embeds a text by the spelling of its words: each word, and each of its
// sequences of 3, 4 and 5 characters, adds to or takes from one number of the
// vector, which a hash chooses (feature hashing, Weinberger et al. 2009). So a
// word is near its inflections and misspellings, and near nothing else: what is
// said in other words is not found. Two texts that have nothing in common have
// a cosine of 0 ± 1/√Dim. The zero value is ready, and safe for concurrent use.
//
// By the defaults of memory.Options, what is found by spelling alone has a
// relevance near 0: it comes after all that is found by words, and below a
// Query.Floor. Where misspelt questions have to pass one, a MinCosine of three
// times 1/√Dim and a CosineWeight of 4 let them.
type Hashed struct {
	// Dim is the dimension, at least 16. 0: DefaultDim.
	Dim int
}

// The shares of a word's length that go to the word as a whole and to its
// sequences of characters, and how long these are.
const (
	wordShare = 0.6
	gramShare = 0.8
	minGram   = 3
	maxGram   = 5
)

func (h Hashed) dim() int {
	if h.Dim == 0 {
		return DefaultDim
	}
	return h.Dim
}

// Model names the method and the dimension.
func (h Hashed) Model() string { return fmt.Sprintf("hashed-1/%d", h.dim()) }

// Embed returns a vector of length 1 for each text, nil for one without a
// word. It fails if ctx has ended, or if Dim is too small.
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
		if unit(v) {
			out[i] = v
		}
	}
	return out, nil
}

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

// eachGram yields the sequences of characters of a marked word.
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

// addFeature adds weight to the number that the feature's hash chooses, with
// the sign that it chooses. The hash is FNV-1a with the finaliser of SplitMix64.
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

// unit scales v to length 1, unless it has none.
func unit(v []float32) bool {
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

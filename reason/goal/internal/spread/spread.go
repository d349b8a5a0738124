// Package spread says how the values of a list, or an object, are spread.
package spread

import (
	"maps"
	"math"
	"slices"

	"github.com/arc-learn/arc/reason/goal/internal/plain"
)

// Of returns the values of a plain list or object as texts, and the share of each in
// [0,1]. The share of a text is how often it is among the values, by their number. In an
// object of numbers, none below 0 and not all 0, it is the number under that key by the
// sum of all. It reports false for what is neither list nor object.
func Of(v any) (texts []string, shares map[string]float64, ok bool) {
	values, isList := v.([]any)
	m, isMap := v.(map[string]any)
	shares, sum, numbers := make(map[string]float64), 0.0, 0
	for _, k := range slices.Sorted(maps.Keys(m)) { // in order: sums of floats depend on it
		values = append(values, m[k])
		if f, ok := m[k].(float64); ok && f >= 0 {
			shares[k], sum, numbers = f, sum+f, numbers+1
		}
	}
	for _, e := range values {
		text, isText := e.(string)
		if !isText {
			text = plain.JSON(e)
		}
		texts = append(texts, text)
	}
	if numbers < len(values) || !(sum > 0 && sum <= math.MaxFloat64) {
		clear(shares)
		for _, text := range texts {
			shares[text]++
		}
		sum = float64(len(texts))
	}
	for k := range shares {
		shares[k] /= sum
	}
	return texts, shares, isList || isMap
}

// Package lists merges lists that two states of one thing have, and bounds them.
package lists

import (
	"encoding/json"
	"slices"
)

// maxBytes is how many bytes a bounded list has.
const maxBytes = 128 << 10

// Union returns the elements of both lists, sorted. One that both have comes as
// often as in that which has it more often.
func Union[T any](a, b []T, compare func(T, T) int) (out []T) {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(a, compare)
	slices.SortStableFunc(b, compare)
	for len(a) > 0 && len(b) > 0 {
		c := compare(a[0], b[0])
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Once returns the list sorted, each element once.
func Once[T any](list []T, compare func(T, T) int) []T {
	list = Union(list, nil, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 })
}

// Latest returns a copy of the last of a list, at most n, and as many as have maxBytes in JSON
// together, but one in any case.
func Latest[T any](list []T, n int) []T {
	i := len(list)
	for left := maxBytes; i > 0 && i > len(list)-n; i-- {
		raw, _ := json.Marshal(list[i-1]) // texts and times
		if left -= len(raw); left < 0 && i < len(list) {
			break
		}
	}
	return slices.Clone(list[i:])
}

// Leading returns how many of the first of a list have at most size bytes in JSON together: at
// most n, but one in any case.
func Leading[T any](list []T, n, size int) int {
	for i := range min(len(list), n) {
		raw, _ := json.Marshal(list[i]) // texts and times
		if size -= len(raw); size < 0 && i > 0 {
			return i
		}
	}
	return min(len(list), n)
}

// Number is 1 for true, and 0 for false: true sorts behind, and counts.
func Number(b bool) int {
	if b {
		return 1
	}
	return 0
}

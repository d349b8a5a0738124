// Package topk finds the best of many in a heap of as few as are wanted. An order is negative
// where the first of two is the better one.
package topk

// Of moves the k best to the front, in order, and returns them.
func Of[T any](all []T, k int, order func(a, b *T) int) []T {
	k = min(k, len(all))
	if k == 0 {
		return all[:0]
	}
	heap := all[:k]
	Heap(heap, order)
	for i := k; i < len(all); i++ {
		if order(&all[i], &heap[0]) < 0 {
			heap[0], all[i] = all[i], heap[0]
			Sink(heap, 0, order)
		}
	}
	for n := k - 1; n > 0; n-- {
		heap[0], heap[n] = heap[n], heap[0]
		Sink(heap[:n], 0, order)
	}
	return all[:k]
}

// Heap makes a heap of all: the worst of them first.
func Heap[T any](all []T, order func(a, b *T) int) {
	for i := len(all)/2 - 1; i >= 0; i-- {
		Sink(all, i, order)
	}
}

// Sink restores the heap below i: no child is worse than its parent.
func Sink[T any](heap []T, i int, order func(a, b *T) int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(heap); c++ {
			if order(&heap[c], &heap[worst]) > 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}

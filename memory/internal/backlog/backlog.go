// Package backlog holds what waits to be worked on: a bounded part of it in memory, of which the
// rest is where it can be looked up.
package backlog

import (
	"slices"
	"sync"
)

// Most is how many wait in memory.
const Most = 1024

// Backlog is what waits, in order. The zero value is empty. It may be used concurrently;
// only one goroutine at a time calls Next.
type Backlog[T any] struct {
	mu    sync.Mutex
	queue []T
	more  bool // there may be others elsewhere
}

// Add adds what is elsewhere as well: it is left there if too many wait here.
func (b *Backlog[T]) Add(t T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more = b.more || len(b.queue) >= Most; !b.more {
		b.queue = append(b.queue, t)
	}
}

// Again adds what was taken, behind all others, however many these are.
func (b *Backlog[T]) Again(t T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, t)
}

// LookUp says that there may be some elsewhere.
func (b *Backlog[T]) LookUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.more = true
}

// Len is how many wait in memory.
func (b *Backlog[T]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// Next takes the first, false if there is none. If none is in memory and some may be
// elsewhere, it calls elsewhere for the first of these, at most Most, and whether there may be
// more. Same reports whether two are one.
func (b *Backlog[T]) Next(elsewhere func() ([]T, bool, error), same func(a, b T) bool) (t T, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 && b.more {
		b.more = false // what is added from here on waits by itself
		b.mu.Unlock()
		waiting, more, err := elsewhere()
		b.mu.Lock()
		if b.more = b.more || more || err != nil; err != nil {
			return t, false, err
		}
		b.refill(waiting, same)
	}
	if len(b.queue) == 0 {
		return t, false, nil
	}
	t = b.queue[0]
	b.queue = b.queue[1:]
	return t, true, nil
}

// refill adds what was elsewhere, unless it was added meanwhile.
func (b *Backlog[T]) refill(waiting []T, same func(a, b T) bool) {
	for _, w := range waiting {
		if len(b.queue) == Most { // others have filled it meanwhile
			b.more = true
			return
		}
		if !slices.ContainsFunc(b.queue, func(o T) bool { return same(o, w) }) {
			b.queue = append(b.queue, w)
		}
	}
}

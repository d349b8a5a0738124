// Package notify hands the commits of a store to those that watch it, in
// order and without loss.
//
// A [Feed] is a linked list of what was published, and each [Cursor] a place
// in it. Nothing is kept that no cursor has yet to read, and publishing never
// waits: a cursor that falls behind keeps what it has not read in memory. The
// type is generic because store, whose entries it carries, imports it.
package notify

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is the error of Next after the last value of a closed feed.
var ErrClosed = errors.New("feed is closed")

// Feed carries published values to its cursors. It may be used concurrently.
// The zero Feed is ready to use.
type Feed[T any] struct {
	mu struct {
		sync.Mutex
		tail    *node[T]
		cursors int
		closed  bool
	}
}

// node is a place in the list: value and next are set before ready is closed,
// and not changed after. A nil next is the end of a closed feed.
type node[T any] struct {
	ready chan struct{}
	value T
	next  *node[T]
}

func newNode[T any]() *node[T] { return &node[T]{ready: make(chan struct{})} }

// Followed reports whether there is a cursor. Without one the publisher need not
// make values: no cursor would read them.
func (f *Feed[T]) Followed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.cursors > 0
}

// Publish appends v for every cursor that exists now.
func (f *Feed[T]) Publish(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.cursors == 0 || f.mu.closed {
		return
	}
	n := f.mu.tail
	n.value, n.next = v, newNode[T]()
	f.mu.tail = n.next
	close(n.ready)
}

// Follow returns a cursor at the present end of the feed. It must be stopped.
func (f *Feed[T]) Follow() *Cursor[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.tail == nil {
		f.mu.tail = newNode[T]()
		if f.mu.closed {
			close(f.mu.tail.ready)
		}
	}
	f.mu.cursors++
	return &Cursor[T]{feed: f, at: f.mu.tail}
}

// Close ends the feed: cursors read what was published and then ErrClosed. It
// is idempotent.
func (f *Feed[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.mu.closed && f.mu.tail != nil {
		close(f.mu.tail.ready)
	}
	f.mu.closed = true
}

// Cursor reads a feed. It is for one goroutine.
type Cursor[T any] struct {
	feed *Feed[T]
	at   *node[T]
}

// Next waits for the next value. It returns the error of ctx, or ErrClosed.
func (c *Cursor[T]) Next(ctx context.Context) (T, error) {
	var zero T
	select {
	case <-c.at.ready:
	case <-ctx.Done():
		return zero, ctx.Err()
	}
	if c.at.next == nil {
		return zero, ErrClosed
	}
	v := c.at.value
	c.at = c.at.next
	return v, nil
}

// Watch yields what there is now, and then a copy of what is published, unless copied leaves
// it out. It returns the error that ends it, ErrClosed or that of ctx; nil: yield wants no more.
func Watch[E any](
	ctx context.Context, now []E, later *Cursor[[]E], copied func(E) (E, bool), yield func(E, error) bool,
) error {
	for _, e := range now {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(e, nil) {
			return nil
		}
	}
	for {
		some, err := later.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range some {
			if own, passes := copied(e); passes && !yield(own, nil) { // other watches have it too
				return nil
			}
		}
	}
}

// Stop releases the cursor, which must not be used after.
func (c *Cursor[T]) Stop() {
	c.feed.mu.Lock()
	defer c.feed.mu.Unlock()
	c.feed.mu.cursors--
	c.at = nil
}

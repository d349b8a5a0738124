// Package pipeline works on the entries of a store in parallel, and in their order.
package pipeline

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/arc-learn/arc/store"
)

// Run reads entries in batches, has them prepared by one goroutine less than there are
// processors, and puts each batch in place in the order in which it was read.
func Run[T any](
	ctx context.Context, in iter.Seq2[store.Entry, error], prepare func([]store.Entry) T, place func(T) error,
) error {
	const size, underWay = 256, 16
	type batch struct {
		entries []store.Entry
		done    chan T
	}
	g, ctx := errgroup.WithContext(ctx)
	work, order := make(chan batch), make(chan batch, underWay)
	g.Go(func() error {
		defer close(work)
		defer close(order)
		var entries []store.Entry
		send := func() error {
			b := batch{entries, make(chan T, 1)}
			entries = nil
			for _, c := range []chan<- batch{order, work} {
				select {
				case c <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}
		for e, err := range in {
			if err != nil {
				return err
			}
			if entries = append(entries, e); len(entries) == size {
				if err := send(); err != nil {
					return err
				}
			}
		}
		return send()
	})
	for range max(runtime.GOMAXPROCS(0)-1, 1) {
		g.Go(func() error {
			for b := range work {
				b.done <- prepare(b.entries)
			}
			return nil
		})
	}
	g.Go(func() error {
		for b := range order {
			select {
			case t := <-b.done:
				if err := place(t); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

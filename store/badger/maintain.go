package badger

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/engine"
	"github.com/arc-learn/arc/store/badger/internal/files"
)

// ask is a call of Maintain.
type ask struct {
	ctx  context.Context
	due  bool // it is, whatever the store holds
	done chan error
}

// Maintain gives back disk space: if the tables take more than 1.5 times as much as the entries, plus 4 MiB, it
// rewrites the store, so that they take as much as the entries. Commits and reads go on meanwhile. It needs
// Options.MinFree, and as much again as the tables take. It returns when the old files are gone, which is after
// the iterations that were open. Until then no other rewrite begins.
//
// A store also rewrites itself when many small tables slow reads down. Maintain is for a store in which much
// was deleted or overwritten.
func (s *Store) Maintain(ctx context.Context) error { return s.rewritten(ctx, false) }

// Purge rewrites the store as Maintain does, however little is garbage. When it returns nil, no file has
// anything that was deleted or replaced before.
func (s *Store) Purge(ctx context.Context) error { return s.rewritten(ctx, true) }

// rewritten asks for a rewrite, and waits for it.
func (s *Store) rewritten(ctx context.Context, due bool) error {
	if err := store.CheckContext(ctx); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	s.use.RUnlock()
	if s.reading != nil {
		return s.reading
	}
	a := ask{ctx: ctx, due: due, done: make(chan error, 1)}
	select {
	case s.asked <- a:
	case <-s.collected:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-a.done:
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			return fmt.Errorf("%w: %v", store.ErrClosed, err)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sweep rewrites the store when that is due or asked for, until ctx ends. Nothing else does, so there is at most one
// former generation that is still read.
func (s *Store) sweep(ctx context.Context) {
	defer close(s.collected)
	if err := s.reads.Generation().CheckAll(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("comparing tables with their checksums", "error", err)
	}
	tried := 0 // tables at the last attempt that failed
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			n, crowded := s.reads.Generation().Crowded()
			if !crowded || tried > 0 && n < tried+engine.FewTables {
				continue
			}
			tried = n
			if err := files.Attempt(func() error { return s.rewrite(ctx) }); err == nil {
				tried = 0
			} else if ctx.Err() == nil { // not ended by Close
				s.log.Warn("the store was not rewritten", "error", err)
			}
		case a := <-s.asked:
			a.done <- files.Attempt(func() error { return s.maintain(ctx, a) })
		}
	}
}

// slack is the number of bytes of garbage that are not worth a rewrite.
const slack = 4 << 20

func (s *Store) maintain(ctx context.Context, a ask) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	gen, seq := s.reads.Begin()
	live := uint64(0)
	err := gen.Each(ctx, 0, seq, func(key []byte, _ uint64, rec []byte) error {
		live += uint64(len(key) + len(rec))
		return nil
	})
	held := gen.Tables()
	s.reads.End(gen)
	if err != nil || !a.due && held <= live+live/2+slack {
		return err
	}
	return s.rewrite(ctx)
}

package badger

import (
	"context"
	"iter"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/engine"
)

// Get returns the entry of key, or store.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) (e store.Entry, err error) {
	if err := store.CheckContext(ctx); err != nil {
		return store.Entry{}, err
	}
	if err := store.CheckKey(key); err != nil {
		return store.Entry{}, err
	}
	if err := s.enter(); err != nil {
		return store.Entry{}, err
	}
	defer s.exit(&err)
	gen, seq := s.reads.Begin()
	defer s.reads.End(gen)
	return gen.Get(seq, key)
}

// Scan yields the entries of r in key order, as of the beginning of the iteration.
func (s *Store) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.CheckContext(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		for e, err := range s.entries(func() {}, r) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entries calls follow and yields the entries of r as of that moment.
func (s *Store) entries(follow func(), r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		sc, err := s.scan(follow, r)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		defer s.endScan(sc)
		for more := true; more; {
			var batch []store.Entry
			if batch, more, err = s.next(sc); err != nil {
				yield(store.Entry{}, err)
				return
			}
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// scan calls follow and begins an iteration as of that moment.
func (s *Store) scan(follow func(), r store.Range) (sc *engine.Scan, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.exit(&err)
	return s.reads.Scan(follow, r)
}

// next returns some entries, so that no caller's code runs inside Badger.
func (s *Store) next(sc *engine.Scan) (batch []store.Entry, more bool, err error) {
	if err := s.enter(); err != nil {
		return nil, false, err
	}
	defer s.exit(&err)
	return sc.Next()
}

// endScan ends an iteration, unless Close has done so.
func (s *Store) endScan(sc *engine.Scan) {
	s.use.RLock()
	defer s.use.RUnlock()
	s.reads.Close(sc)
}

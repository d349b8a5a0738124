package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/record"
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
	gen, seq := s.reads.begin()
	defer s.reads.end(gen)
	txn := gen.db.NewTransactionAt(seq, false)
	defer txn.Discard()
	e.Key = key
	err = gen.read(txn, []byte(record.Host+key), func(rev uint64, value []byte) {
		e.Rev, e.Value = store.Revision(rev), bytes.Clone(value)
	})
	if err != nil {
		return store.Entry{}, err
	}
	return e, nil
}

// read calls fn with what a key holds. The value is valid during the call.
func (g *generation) read(txn *badger.Txn, key []byte, fn func(rev uint64, value []byte)) error {
	if err := g.check(key, key, nil); err != nil {
		return err
	}
	item, err := txn.Get(key)
	if err != nil {
		if errors.Is(err, badger.ErrKeyNotFound) {
			return store.NotFound(record.Name(key))
		}
		return fmt.Errorf("get %q: %v", record.Name(key), err) // Badger's errors stay behind
	}
	return readItem(item, fn)
}

func readItem(item *badger.Item, fn func(rev uint64, value []byte)) error {
	var damage error
	err := item.Value(func(rec []byte) error {
		rev, value, err := record.Open(item.Key(), rec)
		if err != nil {
			damage = err
			return nil
		}
		fn(rev, value)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %q: %v", store.ErrDamaged, record.Name(item.Key()), err)
	}
	return damage
}

// revision returns the revision of a key, 0 if it does not exist.
func (t *group) revision(key []byte) (rev uint64, err error) {
	err = t.gen.read(t.txn, key, func(r uint64, _ []byte) { rev = r })
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return rev, err
}

// Scan yields the entries of r in key order, as of the moment at which the
// iteration began.
func (s *Store) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.CheckContext(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		sc, err := s.openScan(r)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		defer sc.close()
		for more := true; more; {
			if more, err = sc.next(); err != nil {
				yield(store.Entry{}, err)
				return
			}
			for _, e := range sc.batch {
				if err := ctx.Err(); err != nil {
					yield(store.Entry{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// A scan reads a batch of entries at a time, so that it is not inside Badger
// while the caller's code runs.
const (
	batchEntries = 64
	batchBytes   = 256 << 10
)

// scan is an iteration under way. It is used by one goroutine, and released
// by Close when no caller is inside Badger. It keeps the generation that it began
// with.
type scan struct {
	s     *Store
	gen   *generation
	txn   *badger.Txn
	it    *badger.Iterator
	after []byte // the key not to be yielded, if the scan began there
	from  []byte // where the next batch begins
	under []byte // prefix
	left  int    // entries that Limit allows; negative: any number
	batch []store.Entry
}

func (s *Store) openScan(r store.Range) (*scan, error) { return s.scanFrom(func() {}, r) }

// scanFrom calls follow and begins an iteration as of that moment.
func (s *Store) scanFrom(follow func(), r store.Range) (sc *scan, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.exit(&err)
	gen, seq := s.reads.follow(follow)
	defer func() {
		if err != nil {
			s.reads.end(gen)
		}
	}()
	defer gen.suspect(&err)
	return s.scanAt(gen, seq, r), nil
}

// scanAt begins an iteration, whose end is that of gen's reader. The caller is
// inside Badger.
func (s *Store) scanAt(gen *generation, seq uint64, r store.Range) *scan {
	sc := &scan{
		s: s, gen: gen, left: r.Limit, after: []byte(record.Host + r.After),
		from: []byte(record.Host + max(r.Prefix, r.After)), under: []byte(record.Host + r.Prefix),
	}
	if r.Limit <= 0 {
		sc.left = -1
	}
	sc.txn = gen.db.NewTransactionAt(seq, false)
	// Values are in the tables: prefetching would only start goroutines.
	sc.it = sc.txn.NewIterator(badger.IteratorOptions{Prefix: sc.under})
	sc.it.Seek(sc.from)
	s.reads.register(sc)
	return sc
}

// next fills the batch, and reports whether there may be another.
func (sc *scan) next() (more bool, err error) {
	if err := sc.s.enter(); err != nil {
		return false, err
	}
	defer sc.s.exit(&err)
	defer sc.gen.suspect(&err)
	if more, err = sc.fill(); err != nil {
		return false, err
	}
	var to []byte
	if n := len(sc.batch); n > 0 && (more || sc.left == 0) {
		to = []byte(record.Host + sc.batch[n-1].Key)
	}
	err = sc.gen.check(sc.from, to, sc.under)
	sc.from = to
	return more && err == nil, err
}

func (sc *scan) fill() (more bool, err error) {
	sc.batch = sc.batch[:0]
	size := 0
	for ; sc.it.Valid(); sc.it.Next() {
		if sc.left == 0 {
			return false, nil
		}
		if len(sc.batch) == batchEntries || size >= batchBytes {
			return true, nil
		}
		item := sc.it.Item()
		if bytes.Equal(item.Key(), sc.after) {
			continue
		}
		e := store.Entry{Key: record.Name(item.Key())}
		if err := readItem(item, func(rev uint64, value []byte) {
			e.Rev, e.Value = store.Revision(rev), bytes.Clone(value)
		}); err != nil {
			return false, err
		}
		sc.batch = append(sc.batch, e)
		size += len(e.Key) + len(e.Value)
		sc.left--
	}
	return false, nil
}

// close ends the iteration, unless Close has done so.
func (sc *scan) close() {
	sc.s.use.RLock()
	defer sc.s.use.RUnlock()
	if sc.s.reads.unregister(sc) {
		sc.release()
	}
}

func (sc *scan) release() {
	sc.it.Close()
	sc.txn.Discard()
	sc.s.reads.end(sc.gen)
}

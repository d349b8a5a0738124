package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// Get returns the entry of a key as of seq, or store.ErrNotFound.
func (g *Generation) Get(seq uint64, key string) (store.Entry, error) {
	txn := g.DB.NewTransactionAt(seq, false)
	defer txn.Discard()
	e := store.Entry{Key: key}
	err := g.readKey(txn, []byte(record.Host+key), func(rev uint64, value []byte) {
		e.Rev, e.Value = store.Revision(rev), bytes.Clone(value)
	})
	if err != nil {
		return store.Entry{}, err
	}
	return e, nil
}

// readKey calls fn with what a key holds. The value is valid during the call.
func (g *Generation) readKey(txn *badger.Txn, key []byte, fn func(rev uint64, value []byte)) error {
	if err := g.checkKeys(key, key, nil); err != nil {
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

// Each calls fn with the newest record that each key has as of seq, in key
// order. With since, it is for keys that were written after that, and rec is
// nil for one that was deleted.
func (g *Generation) Each(
	ctx context.Context, since, seq uint64, fn func(key []byte, version uint64, rec []byte) error,
) error {
	if err := g.CheckAll(ctx); err != nil {
		return err
	}
	txn := g.DB.NewTransactionAt(seq, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{SinceTs: since, AllVersions: since > 0})
	defer it.Close()
	var last []byte
	n := 0
	for it.Rewind(); it.Valid(); it.Next() {
		if n++; n%batchEntries == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		item := it.Item()
		if since > 0 && bytes.Equal(item.Key(), last) {
			continue
		}
		last = append(last[:0], item.Key()...)
		if item.IsDeletedOrExpired() {
			if err := fn(item.Key(), item.Version(), nil); err != nil {
				return err
			}
			continue
		}
		err := item.Value(func(rec []byte) error { return fn(item.Key(), item.Version(), rec) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Compare returns an error unless both generations hold the same as of seq.
func (g *Generation) Compare(ctx context.Context, other *Generation, seq uint64) error {
	txn := g.DB.NewTransactionAt(seq, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	it.Rewind()
	err := other.Each(ctx, 0, seq, func(key []byte, _ uint64, rec []byte) error {
		if !it.Valid() || !bytes.Equal(it.Item().Key(), key) {
			return fmt.Errorf("the copy lacks %q", record.Name(key))
		}
		if err := sameValue(it.Item(), key, rec); err != nil {
			return err
		}
		it.Next()
		return nil
	})
	if err == nil && it.Valid() {
		err = fmt.Errorf("the copy has %q", record.Name(it.Item().Key()))
	}
	return err
}

func sameValue(item *badger.Item, key, rec []byte) error {
	if string(key) == record.SeqKey {
		return nil
	}
	same := false
	err := item.Value(func(copied []byte) error {
		same = bytes.Equal(copied, rec)
		return nil
	})
	if err != nil || !same {
		return fmt.Errorf("the copy of %q differs (%v)", record.Name(key), err)
	}
	return nil
}

// A scan reads a batch of entries at a time, so that it is not inside Badger
// while the caller's code runs.
const (
	batchEntries = 64
	batchBytes   = 256 << 10
)

// Scan is an iteration under way, by one goroutine.
type Scan struct {
	gen   *Generation
	txn   *badger.Txn
	it    *badger.Iterator
	after []byte // the key not to be yielded, if the scan began there
	from  []byte // where the next batch begins
	under []byte // prefix
	left  int    // entries that Limit allows; negative: any number
	batch []store.Entry
}

// newScan begins an iteration as of seq.
func (g *Generation) newScan(seq uint64, r store.Range) (sc *Scan, err error) {
	defer g.suspect(&err)
	sc = &Scan{
		gen: g, left: r.Limit, after: []byte(record.Host + r.After),
		from: []byte(record.Host + max(r.Prefix, r.After)), under: []byte(record.Host + r.Prefix),
	}
	if r.Limit <= 0 {
		sc.left = -1
	}
	sc.txn = g.DB.NewTransactionAt(seq, false)
	// Values are in the tables: prefetching would only start goroutines.
	sc.it = sc.txn.NewIterator(badger.IteratorOptions{Prefix: sc.under})
	sc.it.Seek(sc.from)
	return sc, nil
}

// Next returns the next entries, which stay valid until it is called again, and reports
// whether there may be more.
func (sc *Scan) Next() (batch []store.Entry, more bool, err error) {
	defer sc.gen.suspect(&err)
	if more, err = sc.fill(); err != nil {
		return nil, false, err
	}
	var to []byte
	if n := len(sc.batch); n > 0 && (more || sc.left == 0) {
		to = []byte(record.Host + sc.batch[n-1].Key)
	}
	err = sc.gen.checkKeys(sc.from, to, sc.under)
	sc.from = to
	return sc.batch, more && err == nil, err
}

func (sc *Scan) fill() (more bool, err error) {
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

package engine

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// EntryOverhead is what Badger adds to the size of key and value when it
// measures a transaction.
const EntryOverhead = 12

// A transaction of Badger is limited to 15 % of a memtable. The largest commit
// fits with some room; a group stays below that.
const (
	MaxGroupSize = 15*minMemTable/100 - 16<<10
	MaxGroupOps  = 2 * store.MaxCommitOps
)

// Group is what becomes one transaction: all of it is written, or none.
type Group struct {
	gen  *Generation
	txn  *badger.Txn
	recs map[string][]byte // by key; nil: deleted

	ops, size int // as Badger counts: each write, also of a key once more
}

// Group returns an empty group over what is there as of seq. It is to be discarded.
func (g *Generation) Group(seq uint64) *Group {
	return &Group{gen: g, txn: g.DB.NewTransactionAt(seq, true), recs: map[string][]byte{}}
}

// Stage writes a record, or deletes the key if rec is nil.
func (t *Group) Stage(key, rec []byte) (err error) {
	t.recs[string(key)] = rec
	t.ops, t.size = t.ops+1, t.size+len(key)+len(rec)+EntryOverhead
	if rec == nil {
		err = t.txn.Delete(key)
	} else {
		err = t.txn.SetEntry(badger.NewEntry(key, rec))
	}
	if err != nil {
		return fmt.Errorf("commit: %q: %v", record.Name(key), err)
	}
	return nil
}

// full reports whether a record of so many bytes has to go into the next group.
func (t *Group) full(next int) bool {
	return t.ops > 0 && (t.size+next > MaxGroupSize || t.ops >= MaxGroupOps)
}

// Finish adds what the group says of the generation, and writes it with fn.
func (t *Group) Finish(seq uint64, fn func(txn *badger.Txn, seq uint64) error) error {
	entries := t.gen.entries + uint64(len(t.recs)) + 1
	if err := t.Stage([]byte(record.SeqKey), record.Seq(seq, entries)); err != nil {
		return err
	}
	if err := fn(t.txn, seq); err != nil {
		return err
	}
	t.gen.entries = entries
	return nil
}

// Discard ends the use of the group.
func (t *Group) Discard() { t.txn.Discard() }

// Revision returns the revision of a key, 0 if it does not exist.
func (t *Group) Revision(key []byte) (rev uint64, err error) {
	err = t.gen.readKey(t.txn, key, func(r uint64, _ []byte) { rev = r })
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return rev, err
}

// Applier applies changes to a generation, and reads them back.
type Applier struct {
	gen    *Generation
	seq    uint64 // of the newest group
	commit func(txn *badger.Txn, seq uint64) error
	ready  func() error
	group  *Group
}

// Apply returns an Applier of groups behind seq, which commit writes. Ready is asked before
// each: the disk has room for it.
func (g *Generation) Apply(seq uint64, ready func() error, commit func(txn *badger.Txn, seq uint64) error) *Applier {
	return &Applier{gen: g, seq: seq, commit: commit, ready: ready}
}

// Add takes in a record, or a deletion if rec is nil.
func (a *Applier) Add(key, rec []byte) error {
	if a.group != nil && a.group.full(len(key)+len(rec)+EntryOverhead) {
		if err := a.Flush(0); err != nil {
			return err
		}
	}
	if a.group == nil {
		a.group = a.gen.Group(a.seq)
	}
	return a.group.Stage(key, rec)
}

// Flush writes what was added as a group, whose number is the next, or as large as least.
func (a *Applier) Flush(least uint64) error {
	if a.group == nil {
		return nil
	}
	defer a.group.Discard()
	if err := a.ready(); err != nil {
		return err
	}
	a.seq = max(a.seq+1, least)
	if err := a.group.Finish(a.seq, a.commit); err != nil {
		return err
	}
	txn := a.gen.DB.NewTransactionAt(a.seq, false)
	defer txn.Discard()
	for key, rec := range a.group.recs {
		item, err := txn.Get([]byte(key))
		switch {
		case err == nil && rec != nil:
			err = sameValue(item, []byte(key), rec)
		case errors.Is(err, badger.ErrKeyNotFound) && rec == nil:
			err = nil
		default:
			err = fmt.Errorf("%q was applied and is not there (%v)", record.Name([]byte(key)), err)
		}
		if err != nil {
			return err
		}
	}
	a.group = nil
	return nil
}

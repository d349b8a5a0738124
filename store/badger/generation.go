package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// A generation is a Badger directory in which the engine never compacts: its
// compaction takes tables whose rewrite failed for done and deletes what it
// read. Garbage goes with the generation instead.
//
// A store is a directory with these files:
//
//	arc.lock   held while the store is open
//	arc.mark   how far the commits had come, see [mark]
//	CURRENT    names the generation that counts; without it, the directory
//	           itself is that generation
//	g000001/   generations
//
// A rewrite takes these steps. Only the fifth changes what a later Open reads;
// an error, or a kill, on the way to it leaves a directory that does not count,
// and that this rewrite or the next Open removes.
//
//	copy     what a snapshot holds goes into tables without overlap, in key order
//	open     Badger opens them
//	verify   both generations are compared, entry by entry
//	follow   commits since the snapshot are applied and read back, while others
//	         go on; then the last few, while commits wait
//	switch   CURRENT is replaced by a rename; commits and new readers go on in
//	         the new generation
//	remove   when its last reader has ended, the old one is closed and deleted
type generation struct {
	name     string // empty for the directory of the store itself
	dir      string
	db       *badger.DB
	memTable int64
	entries  uint64        // in it, of all versions; for its one writer
	readers  int           // guarded by snapshots
	idle     chan struct{} // closed when it no longer counts and has no reader
	unread   unread
}

// openGeneration opens a directory that has been surveyed. Memtables hold at
// least what its largest log does.
func (s *Store) openGeneration(name string, v *survey, tables uint64) (*generation, error) {
	gen := &generation{
		name: name, dir: v.dir, entries: v.entries, idle: make(chan struct{}), memTable: memTableFor(tables, v.largest),
	}
	if v.told == 0 && v.seq > 0 {
		s.log.Debug("the store begins to count its entries", "dir", v.dir, "entries", v.entries)
	}
	// Badger ends the process if it cannot make this file, or has no room for it,
	// or cannot list its directory for want of a descriptor.
	err := errors.Join(checkDescriptors(len(v.tables)+2*minFiles), checkMemory(int64(tables)+memTables*gen.memTable))
	if err == nil {
		err = disk.Typed(disk.Write(filepath.Join(v.dir, discardName), make([]byte, 1<<20)), nil)
	}
	if err != nil {
		return nil, err
	}
	if gen.db, err = openBadger(settings(v.dir, gen.memTable, &logger{s})); err != nil {
		return nil, err
	}
	if got := gen.db.MaxVersion(); got != v.newest {
		err = fmt.Errorf("%w: versions up to %d were read, and Badger has %d", store.ErrDamaged, v.newest, got)
		return nil, errors.Join(err, s.quit(gen.db))
	}
	gen.expect(v)
	return gen, nil
}

type eachFunc = func(key []byte, version uint64, rec []byte) error

// each calls fn with the newest record that each key has as of seq, in key
// order. With since, it is for keys that were written after that, and rec is
// nil for one that was deleted.
func (g *generation) each(ctx context.Context, since, seq uint64, fn eachFunc) error {
	if err := g.checkAll(ctx); err != nil {
		return err
	}
	txn := g.db.NewTransactionAt(seq, false)
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
		var failed error
		err := item.Value(func(rec []byte) error {
			failed = fn(item.Key(), item.Version(), rec)
			return nil
		})
		if err = errors.Join(failed, err); err != nil {
			return err
		}
	}
	return nil
}

// group is what becomes one transaction: all of it is written, or none.
type group struct {
	gen  *generation
	txn  *badger.Txn
	keys map[string]struct{}
	size int
}

func (g *generation) group(seq uint64) *group {
	return &group{gen: g, txn: g.db.NewTransactionAt(seq, true), keys: map[string]struct{}{}}
}

// stage writes a record, or deletes the key if rec is nil.
func (t *group) stage(key, rec []byte) (err error) {
	t.keys[string(key)] = struct{}{}
	t.size += len(key) + len(rec) + entryOverhead
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

func (t *group) full(next int) bool {
	return len(t.keys) > 0 && (t.size+next > maxGroupSize || len(t.keys) >= maxGroupOps)
}

// finish adds what the group says of the generation, and writes it with fn.
func (t *group) finish(seq uint64, fn func(txn *badger.Txn, seq uint64) error) error {
	entries := t.gen.entries + uint64(len(t.keys)) + 1
	if err := t.stage([]byte(record.SeqKey), record.Seq(seq, entries)); err != nil {
		return err
	}
	if err := fn(t.txn, seq); err != nil {
		return err
	}
	t.gen.entries = entries
	return nil
}

// gap is how many numbers a rewrite leaves to the groups in which it applies
// what was committed since its snapshot.
const gap = 1 << 20

// rewrite writes a new generation and switches to it.
func (s *Store) rewrite(ctx context.Context) (err error) {
	begin := time.Now()
	old, seq := s.reads.begin()
	reading := true
	done := func() {
		if reading {
			reading = false
			s.reads.end(old)
		}
	}
	defer done()
	next, err := s.build(ctx, old, seq)
	if err != nil {
		return fmt.Errorf("rewrite: %w", err)
	}
	if err := s.follow(ctx, old, next, seq); err != nil {
		if s.failure.Load() == nil {
			err = errors.Join(err, s.discard(ctx, next))
		} else {
			err = errors.Join(err, s.shut(ctx, next)) // it may be the one that counts
		}
		return fmt.Errorf("rewrite: %w", err)
	}
	done()
	s.log.Info("the store was rewritten", "dir", next.dir, "took", time.Since(begin))
	<-old.idle
	return errors.Join(s.step("switched"), s.discard(ctx, old))
}

// shut closes a generation's engine, when there is room for what that writes.
func (s *Store) shut(ctx context.Context, gen *generation) error {
	for {
		err := s.checkSpace(s.minFree(gen.tables()), s.dir)
		if err == nil {
			return gen.db.Close()
		}
		select {
		case <-ctx.Done():
			return err // it stays open, and the next Open of the store clears it away
		case <-time.After(markDelay / 10):
		}
	}
}

// discard closes a generation and deletes it.
func (s *Store) discard(ctx context.Context, gen *generation) error {
	if err := s.shut(ctx, gen); err != nil {
		return fmt.Errorf("closing %s: %w", gen.dir, err)
	}
	if gen.name != "" {
		return os.RemoveAll(gen.dir)
	}
	there, err := os.ReadDir(gen.dir)
	if err != nil {
		return err
	}
	for _, f := range there {
		if f.Type().IsRegular() && (engines[f.Name()] || numbered.MatchString(f.Name())) {
			err = errors.Join(err, os.Remove(filepath.Join(gen.dir, f.Name())))
		}
	}
	return err
}

// build copies what old holds as of seq, opens that, and compares the two.
func (s *Store) build(ctx context.Context, old *generation, seq uint64) (next *generation, err error) {
	name := nextName(old.name)
	dir := filepath.Join(s.dir, name)
	if err := s.checkSpace(s.minFree(old.tables())+old.tables(), s.dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	w, err := newWriter(dir)
	if err != nil {
		return nil, err
	}
	if err := s.step("begun"); err != nil {
		return nil, err
	}
	if err := old.each(ctx, 0, seq, func(key []byte, version uint64, rec []byte) error {
		if string(key) == record.SeqKey {
			return nil // the new one has another number of entries
		}
		return w.Add(files.Entry{Key: key, Version: version, Rec: rec})
	}); err != nil {
		return nil, err
	}
	if err := errors.Join(finish(w, dir, seq), s.step("copied")); err != nil {
		return nil, err
	}
	v := &survey{dir: dir, seq: seq, told: w.Entries, entries: w.Entries, newest: w.Newest, tables: w.Tables}
	if next, err = s.openGeneration(name, v, w.Size); err != nil {
		return nil, err
	}
	if err = s.step("opened"); err == nil {
		err = next.compare(ctx, old, seq)
	}
	if err == nil {
		err = s.step("verified")
	}
	if err != nil {
		return nil, errors.Join(err, s.shut(ctx, next))
	}
	return next, nil
}

// newWriter returns what writes a new generation, in key order.
func newWriter(dir string) (*files.Writer, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return files.NewWriter(dir, 1, files.LastLevel), nil
}

// finish writes the number of entries, whose key is the last, and the manifest.
func finish(w *files.Writer, dir string, seq uint64) error {
	err := w.Add(files.Entry{Key: []byte(record.SeqKey), Version: seq, Rec: record.Seq(seq, w.Entries+1)})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	return files.ReplaceManifest(dir, w.Tables)
}

func nextName(name string) string {
	n := 0
	if name != "" {
		// A name of a generation is a letter and six digits, see inspect.
		_, _ = fmt.Sscanf(name, "g%d", &n)
	}
	return fmt.Sprintf("g%06d", (n+1)%1_000_000)
}

// compare returns an error unless both generations hold the same as of seq.
func (g *generation) compare(ctx context.Context, other *generation, seq uint64) error {
	txn := g.db.NewTransactionAt(seq, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	it.Rewind()
	err := other.each(ctx, 0, seq, func(key []byte, _ uint64, rec []byte) error {
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

// few is how many writes may be left for the time in which commits wait.
const few = 256

// follow applies what has been committed since seq, and switches.
func (s *Store) follow(ctx context.Context, old, next *generation, seq uint64) error {
	<-s.turn
	from := s.reads.last()
	s.tail = &tail{}
	s.reads.advance(from+gap, func() {}) // numbers for this function's groups
	s.turn <- struct{}{}
	defer func() {
		<-s.turn
		s.tail = nil
		s.turn <- struct{}{}
	}()
	var room reserve
	a := applier{next: next, seq: from, commit: s.commitAt, ready: func() error {
		return errors.Join(s.checkSpace(s.minFree(next.tables()), s.dir), room.logs(next))
	}}
	if err := old.each(ctx, seq, from, func(key []byte, _ uint64, rec []byte) error {
		if string(key) == record.SeqKey {
			return nil
		}
		return a.add(bytes.Clone(key), bytes.Clone(rec))
	}); err != nil {
		return err
	}
	if err := errors.Join(a.flush(), s.step("followed")); err != nil {
		return err
	}
	for last := false; !last; {
		<-s.turn
		late := *s.tail
		*s.tail = tail{}
		last = len(late.writes) <= few
		if !last {
			s.turn <- struct{}{}
		}
		err := a.addAll(&late)
		if last {
			if err == nil {
				err = s.switchTo(ctx, next)
			}
			s.turn <- struct{}{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// switchTo makes next the generation that counts. The caller has the turn.
func (s *Store) switchTo(ctx context.Context, next *generation) error {
	if f := s.failure.Load(); f != nil {
		return f.cause
	}
	if err := errors.Join(ctx.Err(), s.step("switching")); err != nil {
		return err
	}
	path := filepath.Join(s.dir, currentName)
	if err := disk.Write(path+disk.Tmp, encodeCurrent(next.name)); err != nil {
		return err
	}
	err := os.Rename(path+disk.Tmp, path)
	if err == nil {
		err = disk.SyncDir(s.dir)
	}
	if err != nil {
		s.fail(err) // either may count now
		return err
	}
	s.reads.switchTo(next)
	s.room.log = 0
	return nil
}

// tail is what is committed while a rewrite follows, for the caller that has the turn.
type tail struct {
	writes []write
	seq    uint64
}

// applier applies changes to a generation, and reads them back.
type applier struct {
	next   *generation
	seq    uint64 // of the newest group
	commit func(txn *badger.Txn, seq uint64) error
	ready  func() error // before each group: the disk has room for it
	group  *group
	writes []write
}

func (a *applier) add(key, rec []byte) error {
	if a.group != nil && a.group.full(len(key)+len(rec)+entryOverhead) {
		if err := a.flush(); err != nil {
			return err
		}
	}
	if a.group == nil {
		a.group = a.next.group(a.seq)
	}
	a.writes = append(a.writes, write{key: key, rec: rec})
	return a.group.stage(key, rec)
}

// addAll applies what was committed up to late.seq, which is the number that its
// last group gets.
func (a *applier) addAll(late *tail) error {
	for _, w := range late.writes {
		if err := a.add(w.key, w.rec); err != nil {
			return err
		}
	}
	if late.seq > 0 && a.group != nil {
		a.seq = max(a.seq, late.seq-1)
	}
	return a.flush()
}

func (a *applier) flush() error {
	if a.group == nil {
		return nil
	}
	defer a.group.txn.Discard()
	if err := a.ready(); err != nil {
		return err
	}
	a.seq++
	if err := a.group.finish(a.seq, a.commit); err != nil {
		return err
	}
	txn := a.next.db.NewTransactionAt(a.seq, false)
	defer txn.Discard()
	expect := make(map[string][]byte, len(a.writes))
	for _, w := range a.writes {
		expect[string(w.key)] = w.rec
	}
	for key, rec := range expect {
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
	a.group, a.writes = nil, nil
	return nil
}

// tables returns the size of all tables.
func (g *generation) tables() uint64 {
	size := int64(0)
	for _, level := range g.db.Levels() {
		size += level.Size
	}
	return uint64(max(size, 0))
}

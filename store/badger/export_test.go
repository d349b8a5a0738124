package badger

import (
	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/engine"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/layout"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// What the tests need to play the disk.

const (
	ManifestName = files.Manifest
	MarkName     = layout.MarkName
	LockName     = layout.LockName
	CleanName    = "arc.clean"
)

// OnCommit has fn called in place of Badger's commit, which it may call.
func (s *Store) OnCommit(fn func(commit func() error) error) {
	s.commitAt = func(txn *badger.Txn, seq uint64) error {
		return fn(func() error { return s.write(txn, seq) })
	}
}

// OnFree has fn asked for the free space.
func (s *Store) OnFree(fn func() uint64) {
	s.free = func(string) (uint64, uint64, error) { return fn(), engine.MinFiles, nil }
}

// LogError logs a line as Badger does.
func (s *Store) LogError(format string, args ...any) {
	engine.Logger(s.log, s.fail).Errorf(format, args...)
}

// OnStep has fn called at each step of a rewrite.
func (s *Store) OnStep(fn func(step string) error) { s.step = fn }

// OnStop has fn called once Close has ended the rewrite under way.
func (s *Store) OnStop(fn func()) {
	stop := s.stop
	s.stop = func() { stop(); fn() }
}

// Tables returns the number of tables on level 0 and of all, and their size.
func (s *Store) Tables() (zero, all int, size uint64) {
	gen := s.reads.Generation()
	for _, level := range gen.DB.Levels() {
		all += level.NumTables
	}
	return gen.DB.Levels()[0].NumTables, all, gen.Tables()
}

// Waiting returns the number of commits that nobody has taken yet.
func (s *Store) Waiting() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.mu.waiting)
}

// Spoil changes the stored record of a key.
func (s *Store) Spoil(key string, change func(rec []byte) []byte) error {
	seq := s.reads.Last()
	txn := s.reads.Generation().DB.NewTransactionAt(seq, true)
	defer txn.Discard()
	item, err := txn.Get([]byte(record.Host + key))
	if err != nil {
		return err
	}
	rec, err := item.ValueCopy(nil)
	if err != nil {
		return err
	}
	if err := txn.Set([]byte(record.Host+key), change(rec)); err != nil {
		return err
	}
	return txn.CommitAt(seq, nil)
}

// Record and Unrecord are the format of a stored value.
func Record(key string, value []byte, rev store.Revision) []byte {
	return record.Sealed(record.Host+key, value, uint64(rev))
}

func Unrecord(key string, rec []byte) ([]byte, store.Revision, error) {
	rev, value, err := record.Open([]byte(record.Host+key), rec)
	return value, store.Revision(rev), err
}

// Preflight does what Open does before it lets Badger in.
func Preflight(dir string) error {
	c, err := layout.Inspect(dir)
	if err == nil {
		_, err = c.Preflight()
	}
	return err
}

package badger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/arc-learn/arc/next/store"
)

// generation is a Badger directory. A rewrite makes the next one.
type generation struct {
	db     *badger.DB
	dir    string
	tables uint64   // the newest commit in a table when it was opened: later ones were in logs
	logID  int      // of the log that sync has opened
	log    *os.File // Badger's newest; nil before the first sync
	scans  int      // under way; guarded by Store.mu
}

// openGeneration opens Badger in a directory that is new, or that a kill may have left in any state.
func openGeneration(dir string, o *Options) (g *generation, err error) {
	defer rescue(&err)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	g = &generation{dir: dir}
	if g.tables, err = checkFiles(dir); err != nil {
		return nil, err
	}
	tableSize := o.MemoryBytes / 4
	g.db, err = badger.OpenManaged(badger.DefaultOptions(dir).
		WithLogger(logger{o.Logger}).
		WithSyncWrites(!ownSync). // see sync
		WithBypassLockGuard(true).
		WithMetricsEnabled(false).
		WithDetectConflicts(false). // there is one writer
		WithNumVersionsToKeep(1).
		WithNumCompactors(0). // the package comment says why
		WithCompactL0OnClose(false).
		WithNumLevelZeroTables(1 << 20).
		WithNumLevelZeroTablesStall(1 << 30).
		WithMemTableSize(tableSize).
		WithNumMemtables(2).
		WithIndexCacheSize(tableSize).
		WithBlockCacheSize(0). // blocks are read from the map
		WithCompression(options.None).
		WithChecksumVerificationMode(options.NoVerification). // checkFiles has done it
		WithValueThreshold(1 << 20).                          // nothing goes to the value log
		WithValueLogFileSize(1 << 20))
	if err != nil {
		return nil, damage("", err)
	}
	there, err := os.ReadDir(dir)
	for _, f := range there { // in order: the last one is the newest
		if _, bad := fmt.Sscanf(f.Name(), "%d.mem", &g.logID); bad == nil {
			g.logID--
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.db.Close())
	}
	return g, nil
}

func (g *generation) close() (err error) {
	defer rescue(&err)
	if g.log != nil {
		err = g.log.Close()
	}
	return errors.Join(err, g.db.Close())
}

// rescue turns a panic, with which Badger meets some damage, into an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: badger: %v", store.ErrDamaged, r)
	}
}

// damage says that what could not be read is damaged, unless the operating system had another reason.
func damage(what string, err error) error {
	if isErrno(err) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %s %w", store.ErrDamaged, what, err)
}

// checkFiles removes the empty files at which Badger stumbles after a kill, and verifies its list of tables and
// the tables, which Badger does in goroutines where damage ends the process. It returns the newest commit in them.
func checkFiles(dir string) (newest uint64, err error) {
	there, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	count := map[string]int{} // by the ending of the name
	for _, f := range there {
		info, err := f.Info()
		if err != nil {
			return 0, err
		}
		ext := filepath.Ext(f.Name())
		if info.Size() > 0 || ext != ".mem" && ext != ".vlog" && ext != ".sst" {
			count[ext]++
		} else if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			return 0, err
		}
	}
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) && count[".sst"]+count[".mem"] == 0 {
		return 0, nil // new
	}
	if err != nil {
		return 0, damage("", err)
	}
	defer f.Close() // it is only read
	m, end, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return 0, damage(badger.ManifestFilename, err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	// Badger deletes a table that is not listed. A kill leaves one, whose log is still there.
	lost := count[".sst"] - len(m.Tables)
	if lost > 1 || lost == 1 && (count[".mem"] == 0 || info.Size() != end) {
		return 0, fmt.Errorf("%w: %s lacks %d tables", store.ErrDamaged, badger.ManifestFilename, lost)
	}
	for id := range m.Tables {
		data, err := os.ReadFile(table.NewFilename(id, dir))
		var t *table.Table
		if err == nil {
			t, err = table.OpenInMemoryTable(data, id, &table.Options{})
		}
		if err == nil {
			newest, err = max(newest, t.MaxVersion()), t.VerifyChecksum()
		}
		if err != nil {
			return 0, damage(fmt.Sprintf("table %d", id), err)
		}
	}
	return newest, nil
}

// checkLogs returns the newest commit, once it has found all that were in logs: of a damaged log Badger takes the
// beginning, and goes on with the next log.
func (g *generation) checkLogs() (last uint64, err error) {
	defer rescue(&err)
	last = max(g.db.MaxVersion(), g.tables)
	txn := g.db.NewTransactionAt(last, false)
	defer txn.Discard()
	it := txn.NewKeyIterator(groupKey, badger.IteratorOptions{AllVersions: true, SinceTs: g.tables})
	defer it.Close()
	lost := last - g.tables
	for it.Rewind(); it.Valid(); it.Next() {
		if it.Item().Version() > g.tables {
			lost--
		}
	}
	if lost != 0 {
		return 0, fmt.Errorf("%w: a log has lost %d commits", store.ErrDamaged, lost)
	}
	return last, nil
}

// due reports whether so many tables were added that the store should be rewritten. A large store waits for more,
// so that rewriting is a bounded share of all writing.
func (g *generation) due() bool {
	levels := g.db.Levels()
	limit := 16
	for _, l := range levels[1:] {
		limit += l.NumTables
	}
	return levels[0].NumTables > limit
}

// size returns the bytes of all tables, those in memory included.
func (g *generation) size() int64 {
	bytes := 2 * g.db.Opts().MemTableSize
	for _, l := range g.db.Levels() {
		bytes += l.Size
	}
	return bytes
}

// copyTo makes a generation in dir, with all entries as of a commit, and closes it.
func (g *generation) copyTo(ctx context.Context, dir string, seq uint64, o *Options) (err error) {
	next, err := openGeneration(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, next.close()) }()
	defer rescue(&err)
	w := next.db.NewStreamWriter()
	if err := w.Prepare(); err != nil {
		return err
	}
	from := g.db.NewStreamAt(seq)
	from.NumGo = 2
	from.Send = func(buf *z.Buffer) error { return w.Write(buf) }
	return errors.Join(from.Orchestrate(ctx), w.Flush())
}

// write writes the commits of a group whose conditions hold, as one transaction, and says what became of each.
func (g *generation) write(group *group, answers []answer, seq uint64) (written bool, err error) {
	defer rescue(&err)
	txn := g.db.NewTransactionAt(seq, true)
	defer txn.Discard()
	for n, r := range group.all {
		a := &answers[n]
		for i := 0; i < len(r.ops) && a.err == nil; i++ {
			a.err = holds(txn, &r.ops[i])
		}
		for i := 0; i < len(r.ops) && a.err == nil && err == nil; i++ {
			op := &r.ops[i]
			if op.Check {
				continue
			}
			if op.Delete {
				err = txn.Delete(keyOf(op.Key))
			} else {
				err = txn.Set(keyOf(op.Key), seal(op.Key, op.Value))
			}
			written, a.rev = true, store.Revision(seq+1)
		}
	}
	if !written || err != nil {
		return written, err
	}
	if err = txn.Set(groupKey, []byte{1}); err == nil {
		err = txn.CommitAt(seq+1, nil)
	}
	if err == nil && ownSync {
		err = g.sync()
	}
	return true, err
}

// sync makes the last group durable, which the newest log has whole. With SyncWrites Badger syncs its value log too,
// in which there is nothing. Where a full table has made it begin another log, the one before was synced before.
func (g *generation) sync() error {
	for {
		f, err := os.OpenFile(filepath.Join(g.dir, fmt.Sprintf("%05d.mem", g.logID+1)), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) && g.log != nil {
			return syncData(g.log)
		}
		if err == nil {
			err = syncDir(g.dir)
		}
		if err != nil { // there is no descriptor: Badger has its own
			return errors.Join(g.db.Sync(), syncDir(g.dir))
		}
		if g.log != nil {
			err = g.log.Close()
		}
		g.log, g.logID = f, g.logID+1
		if err != nil {
			return err
		}
	}
}

// holds returns a *store.ConflictError if a condition does not hold.
func holds(txn *badger.Txn, op *store.Op) error {
	if op.If == store.Any {
		return nil
	}
	rev := store.Revision(0)
	item, err := txn.Get(keyOf(op.Key))
	if err == nil {
		rev = store.Revision(item.Version())
	} else if !errors.Is(err, badger.ErrKeyNotFound) {
		return damage(op.Key, err)
	}
	if !op.If.Holds(rev) {
		return &store.ConflictError{Key: op.Key}
	}
	return nil
}

func (g *generation) get(key string, seq uint64) (e store.Entry, err error) {
	defer rescue(&err)
	txn := g.db.NewTransactionAt(seq, false)
	defer txn.Discard()
	item, err := txn.Get(keyOf(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return e, fmt.Errorf("%w: %q", store.ErrNotFound, key)
	}
	if err != nil {
		return e, damage(key, err)
	}
	return entry(key, item)
}

const (
	pageEntries = 256
	pageBytes   = 1 << 20
)

// page returns the first entries of a range as of a commit, and whether there are more.
func (g *generation) page(seq uint64, r store.Range, limit int) (page []store.Entry, more bool, err error) {
	defer rescue(&err)
	if limit <= 0 || limit > pageEntries {
		limit = pageEntries
	}
	txn := g.db.NewTransactionAt(seq, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{Prefix: keyOf(r.Prefix)})
	defer it.Close()
	size := 0
	for it.Seek(keyOf(max(r.Prefix, r.After))); it.Valid(); it.Next() {
		key := string(it.Item().Key()[1:])
		if key == r.After {
			continue
		}
		if len(page) == limit || size >= pageBytes {
			return page, true, nil
		}
		e, err := entry(key, it.Item())
		if err != nil {
			return page, false, err
		}
		page = append(page, e)
		size += len(key) + len(e.Value)
	}
	return page, false, nil
}

// A host's key has a prefix, so that none begins as Badger's own do. groupKey is written with each group: its
// versions have no gap, and the newest keeps the revision through a rewrite.
var groupKey = []byte("g")

func keyOf(key string) []byte { return append([]byte{'k'}, key...) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}

// seal returns a value behind a checksum, which binds it to its key.
func seal(key string, value []byte) []byte {
	sealed := make([]byte, 4, 4+len(value))
	binary.BigEndian.PutUint32(sealed, sum(key, value))
	return append(sealed, value...)
}

// entry returns what is stored at a key.
func entry(key string, item *badger.Item) (store.Entry, error) {
	sealed, err := item.ValueCopy(nil)
	if err != nil || len(sealed) < 4 || binary.BigEndian.Uint32(sealed) != sum(key, sealed[4:]) {
		return store.Entry{}, fmt.Errorf("%w: key %q does not match its checksum", store.ErrDamaged, key)
	}
	return store.Entry{Key: key, Value: sealed[4:], Rev: store.Revision(item.Version())}, nil
}

// logger passes on Badger's errors and warnings. Its lower levels are left out: there are keys in them.
type logger struct{ to *slog.Logger }

func (l logger) Errorf(format string, args ...any) {
	l.to.Error(strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (l logger) Warningf(format string, args ...any) {
	l.to.Warn(strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (logger) Infof(string, ...any)  {}
func (logger) Debugf(string, ...any) {}

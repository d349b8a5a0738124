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
	"runtime"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/arc-learn/arc/store"
)

// generation is a Badger directory. A rewrite makes the next one.
type generation struct {
	db     *badger.DB
	dir    string
	tabled uint64     // the newest commit in a table when it was opened: later ones were in logs
	log    int        // the number of Badger's newest log, or of an older one
	file   z.MmapFile // that log; zero: not opened yet
	ready  int        // bytes that have a place in it before they are written; not fewer than this
	users  int        // scans, and one while it counts; guarded by disk.mu
}

// openGeneration opens Badger in a directory that is new, or that a kill may have left in any state. Nothing
// is compacted (see the package), so two levels do, and no value is so large that it goes to the value log.
func openGeneration(dir string, to *slog.Logger) (g *generation, err error) {
	defer rescue(&err)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	g = &generation{dir: dir, users: 1}
	if err := g.verify(); err != nil {
		return nil, err
	}
	g.db, err = badger.OpenManaged(badger.DefaultOptions(dir).WithLogger(logger{to}).WithBlockCacheSize(0).
		WithSyncWrites(runtime.GOOS != "linux").WithDetectConflicts(false).WithNumMemtables(2).
		WithNumCompactors(0).WithMaxLevels(2).WithMetricsEnabled(false).WithNumLevelZeroTables(1 << 20).
		WithNumLevelZeroTablesStall(1 << 30).WithBypassLockGuard(true).WithMemTableSize(tableBytes).
		WithBaseTableSize(tableBytes / 4).WithIndexCacheSize(tableBytes).WithValueThreshold(1 << 20).
		WithValueLogFileSize(1 << 20).WithCompression(options.None))
	if err != nil {
		return nil, damage("badger", err)
	}
	return g, nil
}

func (g *generation) close() (err error) {
	defer rescue(&err)
	_ = g.file.Close(-1) // it was synced, or that has failed
	return g.db.Close()
}

// rescue turns a panic, with which Badger meets some damage, into an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: badger: %v", store.ErrDamaged, r)
	}
}

// verify removes the empty files at which Badger stumbles after a kill, and reads its list of tables and the
// tables, which Badger does in goroutines where damage ends the process.
func (g *generation) verify() error {
	there, err := os.ReadDir(g.dir)
	if err != nil {
		return err
	}
	tables, logs := 0, 0
	for _, f := range there {
		info, err := f.Info()
		ext := filepath.Ext(f.Name())
		if err == nil && info.Size() == 0 && (ext == ".mem" || ext == ".vlog" || ext == ".sst") {
			err, ext = os.Remove(filepath.Join(g.dir, f.Name())), ""
		}
		if err != nil {
			return err
		}
		switch ext {
		case ".sst":
			tables++
		case ".mem":
			logs++
			g.log, _ = strconv.Atoi(strings.TrimSuffix(f.Name(), ext)) // in order: the newest is the last
		}
	}
	f, err := os.Open(filepath.Join(g.dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) && tables+logs == 0 {
		return nil // it is new
	}
	if err != nil {
		return damage(badger.ManifestFilename, err)
	}
	defer f.Close() // it is only read
	m, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(g.dir).WithLogger(nil))
	if err != nil {
		return damage(badger.ManifestFilename, err)
	}
	// Badger deletes a table that is not listed. A kill leaves one, whose log is still there.
	if lost := tables - len(m.Tables); lost > min(1, logs) {
		return fmt.Errorf("%w: %s lacks %d tables", store.ErrDamaged, badger.ManifestFilename, lost)
	}
	for id := range m.Tables {
		data, err := os.ReadFile(table.NewFilename(id, g.dir))
		var t *table.Table
		if err == nil {
			t, err = table.OpenInMemoryTable(data, id, &table.Options{})
		}
		if err == nil {
			g.tabled, err = max(g.tabled, t.MaxVersion()), t.VerifyChecksum()
		}
		if err != nil {
			return damage(fmt.Sprintf("table %d", id), err)
		}
	}
	return nil
}

// newest returns the newest commit, once it has found all that were in logs: of a damaged log Badger takes
// the beginning, and goes on with the next log. Each group has written groupKey at its number, and numbers
// have no gap, so from tabled on there are as many versions of it as groups.
func (g *generation) newest() (seq uint64, err error) {
	defer rescue(&err)
	seq = max(g.db.MaxVersion(), g.tabled)
	txn := g.db.NewTransactionAt(seq, false)
	defer txn.Discard()
	it := txn.NewKeyIterator(groupKey, badger.IteratorOptions{AllVersions: true, SinceTs: g.tabled})
	defer it.Close()
	lost := seq - g.tabled
	for it.Rewind(); it.Valid(); it.Next() {
		lost--
	}
	if lost != 0 {
		err = fmt.Errorf("%w: a log has lost %d commits", store.ErrDamaged, lost)
	}
	return seq, err
}

// tables returns how many were added, how many a rewrite has filled, and the bytes of all, and of memory.
func (g *generation) tables() (added, rest int, bytes int64) {
	levels := g.db.Levels()
	for _, l := range levels {
		bytes += l.Size
	}
	return levels[0].NumTables, int((bytes - levels[0].Size) / tableBytes), bytes + 2*g.db.Opts().MemTableSize
}

// copyTo makes a generation in dir, with all entries as of a commit, and closes it. It reads one range of
// keys after the other, since Badger has a builder of a table in memory for each range that has not ended.
func (g *generation) copyTo(ctx context.Context, dir string, seq uint64, to *slog.Logger) (err error) {
	next, err := openGeneration(dir, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, next.close()) }()
	defer rescue(&err)
	w, from := next.db.NewStreamWriter(), g.db.NewStreamAt(seq)
	if err := w.Prepare(); err != nil {
		return err
	}
	from.NumGo, from.Send = 1, func(buf *z.Buffer) error { return w.Write(buf) }
	from.SendDoneMarkers(true)
	return errors.Join(from.Orchestrate(ctx), w.Flush())
}

// write writes the commits of a group whose conditions hold, as one transaction, and notes what came of each.
func (g *generation) write(group *group, seq uint64) (written bool, err error) {
	defer rescue(&err)
	txn := g.db.NewTransactionAt(seq-1, true)
	defer txn.Discard()
	for _, r := range group.all {
		if r.err = check(txn, r.ops); r.err != nil {
			continue
		}
		for _, op := range r.ops {
			switch {
			case op.Check:
				continue
			case op.Delete:
				err = txn.Delete(keyOf(op.Key))
			default:
				err = txn.Set(seal(op.Key, op.Value))
			}
			if err != nil {
				return false, err
			}
			written, r.rev = true, store.Revision(seq)
		}
	}
	if !written {
		return false, nil
	}
	if err = txn.Set(groupKey, []byte{1}); err == nil {
		err = txn.CommitAt(seq, nil)
	}
	if err == nil && !g.db.Opts().SyncWrites { // on Linux; elsewhere Badger has synced its map
		err = g.sync(group.size)
	}
	return true, err
}

// sync makes the last group durable, of so many bytes, which the newest log has whole; with SyncWrites Badger
// would sync its empty value log, too. By a map the bytes are synced, and not the times of the file.
func (g *generation) sync(size int) (err error) {
	name := func(log int) string { return filepath.Join(g.dir, fmt.Sprintf("%05d.mem", log)) }
	// There is a next one where a table was full. Badger has synced the log before.
	for _, none := os.Stat(name(g.log + 1)); none == nil; _, none = os.Stat(name(g.log + 1)) {
		_ = g.file.Close(-1)
		g.log, g.file, g.ready, err = g.log+1, z.MmapFile{}, 0, errors.Join(err, syncDir(g.dir))
	}
	if g.file.Fd == nil {
		file, lack := z.OpenMmapFile(name(g.log), os.O_RDWR, 0)
		if lack != nil { // there is no descriptor for it, and Badger has its own
			return errors.Join(err, g.db.Sync())
		}
		g.file = *file
	}
	err = errors.Join(err, g.file.Sync())
	if g.ready -= size; err == nil && g.ready < 0 {
		g.makeReady()
	}
	return err
}

// makeReady fills the log's next hole, in which nothing was written, with the zeros as which it reads: a sync
// of bytes that have a place takes a third less time. A large write would make large pages, synced whole.
func (g *generation) makeReady() {
	hole, _ := g.file.Fd.Seek(0, 4) // SEEK_HOLE of Linux
	for end := min(hole+256<<10, g.db.Opts().MemTableSize); hole > 0 && hole < end; hole += 4 << 10 {
		_, _ = g.file.Fd.WriteAt(make([]byte, 4<<10), hole) // without room it is as if this were not there
	}
	g.ready = 128 << 10
}

// check returns a *store.ConflictError if a condition does not hold.
func check(txn *badger.Txn, ops []store.Op) error {
	for _, op := range ops {
		if op.If == store.Any {
			continue
		}
		item, err := txn.Get(keyOf(op.Key))
		if err != nil && !errors.Is(err, badger.ErrKeyNotFound) {
			return damage(op.Key, err)
		}
		if err != nil && op.If != store.Absent || err == nil && op.If != store.At(store.Revision(item.Version())) {
			return &store.ConflictError{Key: op.Key}
		}
	}
	return nil
}

// get returns the entry of a key as of a commit.
func (g *generation) get(key string, seq uint64) (e store.Entry, err error) {
	defer rescue(&err)
	txn := g.db.NewTransactionAt(seq, false)
	defer txn.Discard()
	item, err := txn.Get(keyOf(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return e, store.ErrNotFound
	}
	if err != nil {
		return e, damage(key, err)
	}
	return entry(key, item)
}

const pageEntries, pageBytes = 256, 1 << 20

// page returns the first entries of a range as of a commit, and whether there are more.
func (g *generation) page(r store.Range, seq uint64) (page []store.Entry, more bool, err error) {
	defer rescue(&err)
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
		if r.Limit > 0 && len(page) == r.Limit || len(page) == pageEntries || size >= pageBytes {
			return page, len(page) != r.Limit, nil
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

func keyOf(key string) []byte { return append(append(make([]byte, 0, len(key)+1), 'k'), key...) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key[1:], castagnoli), castagnoli, value)
}

// seal returns a key, and its value behind a checksum that binds it to that.
func seal(key string, value []byte) (k, sealed []byte) {
	k = append(append(make([]byte, 0, len(key)+len(value)+5), 'k'), key...)
	sealed = binary.BigEndian.AppendUint32(k[len(k):], sum(k, value))
	return k[:len(k):len(k)], append(sealed, value...)
}

func entry(key string, item *badger.Item) (store.Entry, error) {
	sealed, err := item.ValueCopy(nil)
	if err != nil || len(sealed) < 4 || binary.BigEndian.Uint32(sealed) != sum(item.Key(), sealed[4:]) {
		return store.Entry{}, fmt.Errorf("%w: key %q does not match its checksum", store.ErrDamaged, key)
	}
	return store.Entry{Key: key, Value: sealed[4:], Rev: store.Revision(item.Version())}, nil
}

// logger passes on Badger's errors and warnings. Its lower levels are left out: there are keys in them.
type logger struct{ to *slog.Logger }

func (l logger) Errorf(format string, args ...any)   { l.to.Error(fmt.Sprintf(format, args...)) }
func (l logger) Warningf(format string, args ...any) { l.to.Warn(fmt.Sprintf(format, args...)) }
func (logger) Infof(string, ...any)                  {}
func (logger) Debugf(string, ...any)                 {}

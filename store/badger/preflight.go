package badger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/skl"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
)

// survey is what the files of a generation hold. It is made by reading alone,
// since Badger deletes, cuts and rewrites files before it knows whether it can
// open them.
type survey struct {
	dir     string
	id      []byte     // of the store, nil if it has none yet
	seq     uint64     // of the newest group
	told    uint64     // entries that the newest group says there are; 0 in old stores
	entries uint64     // entries that there are
	newest  uint64     // version of any entry
	largest int64      // memory that the largest log takes
	marked  uint64     // the commit that the mark names
	torn    bool       // MANIFEST ends within a record
	gone    bool       // MANIFEST lists a table that is not there
	mu      sync.Mutex // guards what hear takes
	quick   bool       // the blocks of the tables are left for later, see [unread]
	tables  []found
	logs    []found
}

// found is a table or a log. A log whose newest version is that of a table on
// level 0 is the log from which that was made.
type found struct {
	name    string
	level   uint8
	entries uint64
	newest  uint64
	end     int // of what is whole in a log
}

// preflight surveys the current generation, and returns what Badger would turn into
// a loss as an error. The mark names the store and a commit.
func (c *contents) preflight(id [idSize]byte, marked uint64) (*survey, error) {
	if c.vouched() {
		v, err := c.look(id, marked, true)
		if err == nil {
			return v, nil
		} // the other look says what it is
	}
	return c.look(id, marked, false)
}

func (c *contents) look(id [idSize]byte, marked uint64, quick bool) (*survey, error) {
	v := &survey{dir: c.current, marked: marked, quick: quick}
	if !c.manifest {
		// DISCARD comes before MANIFEST, and all else after it.
		held := slices.ContainsFunc(c.data, func(name string) bool { return name != discardName })
		if c.marked || held || len(c.rest) > 0 {
			return nil, fmt.Errorf("%w: %s is missing", store.ErrDamaged, manifestName)
		}
		return v, v.compare(id, marked)
	}
	if err := v.readTables(); err != nil {
		return nil, err
	}
	for _, name := range c.data {
		if err := v.readOther(name); err != nil {
			return nil, err
		}
	}
	if err := v.tally(c); err != nil {
		return nil, err
	}
	return v, v.compare(id, marked)
}

// tally compares what there is with what the newest group says.
func (v *survey) tally(c *contents) error {
	flushed := map[uint64]bool{}
	for _, f := range slices.Concat(v.tables, v.logs) {
		if v.newest = max(v.newest, f.newest); f.level == 0 && flushed[f.newest] {
			continue
		}
		flushed[f.newest] = flushed[f.newest] || f.level == 0
		v.entries += f.entries
	}
	unlisted := len(c.data) > 0 && slices.ContainsFunc(c.data, func(name string) bool {
		return strings.HasSuffix(name, ".sst") && !slices.ContainsFunc(v.tables, func(f found) bool { return f.name == name })
	})
	switch {
	case v.entries < v.told:
		return fmt.Errorf("%w: %d of %d entries are missing", store.ErrDamaged, v.told-v.entries, v.told)
	case v.seq < v.newest:
		return fmt.Errorf("%w: the last commit is %d, but there are versions up to %d", store.ErrDamaged, v.seq, v.newest)
	case v.told == 0 && unlisted && (v.torn || v.seq == 0):
		return fmt.Errorf("%w: %s does not list all tables", store.ErrDamaged, manifestName)
	case v.told == 0 && v.gone:
		return fmt.Errorf("%w: a table of %s is missing", store.ErrDamaged, manifestName)
	case v.seq > 0 && len(v.id) != idSize:
		return fmt.Errorf("%w: the id of the store is missing", store.ErrDamaged)
	}
	return nil
}

// mend takes tables that are not there out of the manifest.
func (v *survey) mend() error {
	if !v.gone {
		return nil
	}
	var ids, levels []uint64
	for _, f := range v.tables {
		id, _ := table.ParseFileID(f.name) // made of one
		ids, levels = append(ids, id), append(levels, uint64(f.level))
	}
	return replaceFile(filepath.Join(v.dir, manifestName), encodeManifest(ids, levels))
}

// hear takes what a record of this package says about the store.
func (v *survey) hear(key []byte, version uint64, rec []byte) error {
	switch string(key) {
	case seqKey, idKey:
	default:
		return nil
	}
	rev, value, err := openRecord(key, rec)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case string(key) == idKey:
		v.id = bytes.Clone(value)
	case version >= v.seq:
		v.seq, v.told = rev, 0
		if len(value) == 8 {
			v.told = binary.BigEndian.Uint64(value)
		}
	}
	return nil
}

func readManifest(dir string) (m badger.Manifest, torn bool, err error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return m, false, err
	}
	defer f.Close()
	m, end, err := badger.ReplayManifestFile(f, magic, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return m, false, fmt.Errorf("%w: %s: %v", store.ErrDamaged, manifestName, err)
	}
	info, err := f.Stat()
	return m, err == nil && info.Size() != end, err
}

// readTables reads the tables that the manifest lists. Others are what a kill
// left of a flush, whose log is still there. One that is listed and not there may
// have been withdrawn, because the sync of the manifest failed: then the log is
// there, too.
func (v *survey) readTables() error {
	manifest, torn, err := readManifest(v.dir)
	if err != nil {
		return err
	}
	v.torn = torn
	for id, listed := range manifest.Tables {
		v.tables = append(v.tables, found{name: table.IDToFilename(id), level: listed.Level})
	}
	errs := make([]error, len(v.tables))
	var all sync.WaitGroup
	for w := range readers {
		all.Go(func() {
			for i := w; i < len(errs); i += readers {
				errs[i] = v.readTable(&v.tables[i])
			}
		})
	}
	all.Wait()
	for i, err := range slices.Backward(errs) {
		if errors.Is(err, fs.ErrNotExist) {
			v.gone, errs[i] = true, nil
			v.tables = slices.Delete(v.tables, i, i+1)
		}
	}
	return errors.Join(errs...)
}

// readers is how many tables are read at a time.
const readers = 2

// readTable reads a table and verifies its blocks. Badger does so in goroutines
// of its own, where the panics with which it meets a table that was cut short,
// or a block whose checksum cannot even be found, would end the process.
func (v *survey) readTable(f *found) (err error) {
	read := os.ReadFile
	if v.quick {
		read = mapFile
	}
	data, err := read(filepath.Join(v.dir, f.name))
	if err != nil {
		return err
	}
	if v.quick {
		defer func() { err = errors.Join(err, unmap(data)) }()
	}
	err = attempt(func() error {
		t, err := table.OpenInMemoryTable(data, 0, &table.Options{})
		if err == nil && !v.quick {
			err = t.VerifyChecksum()
		}
		if err != nil {
			return err
		}
		f.entries, f.newest = uint64(t.KeyCount()), t.MaxVersion()
		it := t.NewIterator(table.NOCACHE)
		defer it.Close()
		for _, key := range []string{idKey, seqKey} {
			it.Seek(y.KeyWithTs([]byte(key), math.MaxUint64))
			if !it.Valid() || string(y.ParseKey(it.Key())) != key {
				continue
			}
			if err := v.hear([]byte(key), y.ParseTs(it.Key()), it.Value().Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %v", store.ErrDamaged, f.name, err)
	}
	return nil
}

// attempt returns the panics with which Badger meets damage as errors.
func attempt(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", store.ErrDamaged, r)
		}
	}()
	return fn()
}

// readOther reads a file of the generation that is not a table.
func (v *survey) readOther(name string) error {
	switch {
	case name == badger.KeyRegistryFileName:
		r, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: v.dir, ReadOnly: true})
		if err != nil {
			return fmt.Errorf("%w: %s: %v", store.ErrDamaged, name, err)
		}
		return r.Close()
	case !strings.HasSuffix(name, ".mem"):
		return nil
	}
	data, err := os.ReadFile(filepath.Join(v.dir, name))
	if err != nil || len(data) == 0 {
		return err
	}
	f := found{name: name, end: min(logHeader, len(data))}
	if !bytes.Equal(data[:min(8, len(data))], make([]byte, min(8, len(data)))) {
		return fmt.Errorf("%w: %s names a key of encryption", store.ErrDamaged, name)
	}
	memory := int64(0)
	bad, err := readLog(data, func(end int, group []logEntry) error {
		f.end = end
		for _, e := range group {
			f.entries, f.newest = f.entries+1, max(f.newest, e.version)
			memory += int64(skl.MaxNodeSize + len(e.key) + len(e.rec) + 32)
			if err := v.hear(e.key, e.version, e.rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.largest = max(v.largest, memory)
	v.logs = append(v.logs, f)
	// A power cut may tear the last group, which was not acknowledged then and
	// which the mark does not name. Anything else is damage.
	if fins := finsAfter(data, bad); len(fins) > 1 || len(fins) == 1 && fins[0] <= v.marked {
		return fmt.Errorf("%w: %s is whole again behind a record that is not", store.ErrDamaged, name)
	}
	return nil
}

// A log of Badger's has a header with the id of a key, which is zero here, and
// a nonce. Then come groups: entries, each with its version behind the key, and
// one that ends the group. An entry is a header, the key, the value, and a
// checksum over these.
const (
	logHeader = 20
	finKey    = "!badger!txn"

	metaDelete = 1 << 0
	metaGroup  = 1 << 6
	metaFin    = 1 << 7
)

type logEntry struct {
	key     []byte
	version uint64
	meta    byte
	rec     []byte
	size    int
}

// readLog calls fn with each whole group and where it ends, and returns where
// the first record stands that is not whole.
func readLog(data []byte, fn func(end int, group []logEntry) error) (bad int, err error) {
	return readLogAt(data, min(logHeader, len(data)), fn)
}

func readLogAt(data []byte, at int, fn func(end int, group []logEntry) error) (bad int, err error) {
	var group []logEntry
	for {
		e, ok := parseEntry(data[at:])
		if !ok || len(group) > 0 && group[0].version != e.version {
			return at, nil
		}
		at += e.size
		switch {
		case e.meta&metaGroup != 0:
			group = append(group, e)
			continue
		case e.meta&metaFin == 0:
			group = append(group, e)
		case string(e.rec) != fmt.Sprint(e.version) || len(group) == 0:
			return at - e.size, nil
		}
		if err := fn(at, group); err != nil {
			return at, err
		}
		group = nil
	}
}

func parseEntry(data []byte) (e logEntry, ok bool) {
	if len(data) < 2 {
		return e, false
	}
	e.meta = data[0]
	at := 2
	var sizes [3]uint64 // of key and value; the third is when it expires
	for i := range sizes {
		n := 0
		if sizes[i], n = binary.Uvarint(data[at:]); n <= 0 {
			return e, false
		}
		at += n
	}
	rest := uint64(len(data) - at)
	if sizes[0] < 8 || sizes[0] > math.MaxUint16 || sizes[1] > rest || sizes[0]+sizes[1]+4 > rest {
		return e, false
	}
	key, end := data[at:at+int(sizes[0])], at+int(sizes[0]+sizes[1])
	if crc32.Checksum(data[:end], castagnoli) != binary.BigEndian.Uint32(data[end:]) {
		return e, false
	}
	e.key, e.version, e.rec, e.size = y.ParseKey(key), y.ParseTs(key), data[at+len(key):end], end+4
	return e, true
}

// finsAfter returns the versions of the groups that end in data after at.
func finsAfter(data []byte, at int) (versions []uint64) {
	const lead = 2 + 1 + 1 + 1 // what stands before the key of such an entry
	for at < len(data) {
		i := bytes.Index(data[at:], []byte(finKey))
		if i < 0 {
			break
		}
		if begin := at + i - lead; begin >= 0 {
			if e, ok := parseEntry(data[begin:]); ok && e.meta&metaFin != 0 {
				versions = append(versions, e.version)
			}
		}
		at += i + len(finKey)
	}
	return versions
}

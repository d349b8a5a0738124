package badger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// survey is what the files of a generation hold, by reading alone.
type survey struct {
	dir     string
	id      []byte // of the store, nil if it has none yet
	seq     uint64 // of the newest group
	told    uint64 // entries that the newest group says there are; 0 in old stores
	entries uint64 // entries that there are
	newest  uint64 // version of any entry
	largest int64  // memory that the largest log takes
	marked  uint64 // the commit that the mark names
	torn    bool   // MANIFEST ends within a record
	gone    bool   // MANIFEST lists a table that is not there
	quick   bool   // the blocks of the tables are left for later, see [unread]
	tables  []files.Listed
	logs    []string
	parts   []part
	mu      sync.Mutex // guards id, seq and told
}

// part is a table or a log. A log whose newest version is that of a table on level 0
// is the log from which that was made.
type part struct {
	level           uint8
	entries, newest uint64
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
			return nil, fmt.Errorf("%w: %s is missing", store.ErrDamaged, files.Manifest)
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
	for _, p := range v.parts {
		if v.newest = max(v.newest, p.newest); p.level == 0 && flushed[p.newest] {
			continue
		}
		flushed[p.newest] = flushed[p.newest] || p.level == 0
		v.entries += p.entries
	}
	unlisted := slices.ContainsFunc(c.data, func(name string) bool {
		id, ok := files.TableID(name)
		return ok && !slices.ContainsFunc(v.tables, func(t files.Listed) bool { return t.ID == id })
	})
	switch {
	case v.entries < v.told:
		return fmt.Errorf("%w: %d of %d entries are missing", store.ErrDamaged, v.told-v.entries, v.told)
	case v.seq < v.newest:
		return fmt.Errorf("%w: the last commit is %d, but there are versions up to %d", store.ErrDamaged, v.seq, v.newest)
	case v.told == 0 && unlisted && (v.torn || v.seq == 0):
		return fmt.Errorf("%w: %s does not list all tables", store.ErrDamaged, files.Manifest)
	case v.told == 0 && v.gone:
		return fmt.Errorf("%w: a table of %s is missing", store.ErrDamaged, files.Manifest)
	case v.seq > 0 && len(v.id) != idSize:
		return fmt.Errorf("%w: the id of the store is missing", store.ErrDamaged)
	}
	return nil
}

// compare returns the error of a store that holds less than the mark names.
func (v *survey) compare(id [idSize]byte, marked uint64) error {
	switch {
	case marked > 0 && v.seq > 0 && string(id[:]) != string(v.id):
		return fmt.Errorf("%w: %s belongs to another store", store.ErrDamaged, markName)
	case v.seq < marked:
		return fmt.Errorf("%w: the last %d commits are missing; to go on without them, remove %s",
			store.ErrDamaged, marked-v.seq, markName)
	}
	return nil
}

// mend takes tables that are not there out of the manifest.
func (v *survey) mend() error {
	if !v.gone {
		return nil
	}
	return files.ReplaceManifest(v.dir, v.tables)
}

// hear takes what a record of this package says about the store.
func (v *survey) hear(key []byte, version uint64, rec []byte) error {
	if string(key) != record.SeqKey && string(key) != record.IDKey {
		return nil
	}
	rev, value, err := record.Open(key, rec)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case string(key) == record.IDKey:
		v.id = bytes.Clone(value)
	case version >= v.seq:
		v.seq, v.told = rev, 0
		if len(value) == 8 {
			v.told = binary.BigEndian.Uint64(value)
		}
	}
	return nil
}

// readers is how many tables are read at a time.
const readers = 2

// readTables reads the tables that the manifest lists. Others are what a kill
// left of a flush, whose log is still there. One that is listed and not there may
// have been withdrawn, because the sync of the manifest failed: then the log is
// there, too.
func (v *survey) readTables() (err error) {
	if v.tables, v.torn, err = files.ReadManifest(v.dir); err != nil {
		return err
	}
	v.parts = make([]part, len(v.tables))
	errs := make([]error, len(v.tables))
	var all sync.WaitGroup
	for w := range readers {
		all.Go(func() {
			for i := w; i < len(errs); i += readers {
				t, p := v.tables[i], &v.parts[i]
				p.level = t.Level
				p.entries, p.newest, errs[i] = files.CheckTable(v.dir, t.ID, v.quick, v.hear)
			}
		})
	}
	all.Wait()
	for i, err := range slices.Backward(errs) {
		if errors.Is(err, fs.ErrNotExist) {
			v.gone, errs[i] = true, nil
			v.tables, v.parts = slices.Delete(v.tables, i, i+1), slices.Delete(v.parts, i, i+1)
		}
	}
	return errors.Join(errs...)
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
	v.logs = append(v.logs, name)
	if err != nil || len(data) == 0 {
		return err
	}
	p, memory := part{}, int64(0)
	behind, err := files.ReadLog(data, func(group []files.Entry) error {
		for _, e := range group {
			p.entries, p.newest = p.entries+1, max(p.newest, e.Version)
			memory += e.Memory()
			if err := v.hear(e.Key, e.Version, e.Rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	v.largest = max(v.largest, memory)
	v.parts = append(v.parts, p)
	// A power cut may tear the last group, which was not acknowledged then and
	// which the mark does not name. Anything else is damage.
	if len(behind) > 1 || len(behind) == 1 && behind[0] <= v.marked {
		return fmt.Errorf("%w: %s is whole again behind a record that is not", store.ErrDamaged, name)
	}
	return nil
}

package layout

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
	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// Survey is what the files of a generation hold, by reading alone.
type Survey struct {
	Dir     string
	ID      []byte // of the store, nil if it has none yet
	Seq     uint64 // of the newest group
	Entries uint64 // entries that there are
	Newest  uint64 // version of any entry
	Largest int64  // memory that the largest log takes
	Quick   bool   // the blocks of the tables are left for later
	Tables  []files.Listed

	named  [IDSize]byte // the store and the commit that the mark names
	marked uint64
	told   uint64 // entries that the newest group says there are; 0 in old stores
	torn   bool   // MANIFEST ends within a record
	gone   bool   // MANIFEST lists a table that is not there
	logs   []string
	parts  []part
	mu     sync.Mutex // guards ID, Seq and told
}

// part is a table or a log. A log whose newest version is that of a table on level 0
// is the log from which that was made.
type part struct {
	level           uint8
	entries, newest uint64
}

// Preflight surveys the current generation, and returns what Badger would turn into
// a loss as an error.
func (c *Contents) Preflight() (*Survey, error) {
	id, marked, err := ReadMark(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w; to go on without it, remove %s", err, MarkName)
	}
	if c.vouched() {
		v := &Survey{Dir: c.Current, named: id, marked: marked, Quick: true}
		if v.look(c) == nil {
			return v, nil
		} // the other look says what it is
	}
	v := &Survey{Dir: c.Current, named: id, marked: marked}
	return v, disk.Typed(v.look(c), nil)
}

// look reads the files.
func (v *Survey) look(c *Contents) error {
	if !c.Manifest {
		// DISCARD comes before MANIFEST, and all else after it.
		held := slices.ContainsFunc(c.data, func(name string) bool { return name != DiscardName })
		if c.marked || held || len(c.rest) > 0 {
			return fmt.Errorf("%w: %s is missing", store.ErrDamaged, files.Manifest)
		}
		return v.compare()
	}
	if err := v.readTables(); err != nil {
		return err
	}
	for _, name := range c.data {
		if err := v.readOther(name); err != nil {
			return err
		}
	}
	if err := v.tally(c); err != nil {
		return err
	}
	return v.compare()
}

// tally compares what there is with what the newest group says.
func (v *Survey) tally(c *Contents) error {
	flushed := map[uint64]bool{}
	for _, p := range v.parts {
		if v.Newest = max(v.Newest, p.newest); p.level == 0 && flushed[p.newest] {
			continue
		}
		flushed[p.newest] = flushed[p.newest] || p.level == 0
		v.Entries += p.entries
	}
	unlisted := slices.ContainsFunc(c.data, func(name string) bool {
		id, ok := files.TableID(name)
		return ok && !slices.ContainsFunc(v.Tables, func(t files.Listed) bool { return t.ID == id })
	})
	switch {
	case v.Entries < v.told:
		return fmt.Errorf("%w: %d of %d entries are missing", store.ErrDamaged, v.told-v.Entries, v.told)
	case v.Seq < v.Newest:
		return fmt.Errorf("%w: the last commit is %d, but there are versions up to %d", store.ErrDamaged, v.Seq, v.Newest)
	case v.told == 0 && unlisted && (v.torn || v.Seq == 0):
		return fmt.Errorf("%w: %s does not list all tables", store.ErrDamaged, files.Manifest)
	case v.told == 0 && v.gone:
		return fmt.Errorf("%w: a table of %s is missing", store.ErrDamaged, files.Manifest)
	case v.Seq > 0 && len(v.ID) != IDSize:
		return fmt.Errorf("%w: the id of the store is missing", store.ErrDamaged)
	}
	return nil
}

// compare returns the error of a store that holds less than the mark names.
func (v *Survey) compare() error {
	switch {
	case v.marked > 0 && v.Seq > 0 && string(v.named[:]) != string(v.ID):
		return fmt.Errorf("%w: %s belongs to another store", store.ErrDamaged, MarkName)
	case v.Seq < v.marked:
		return fmt.Errorf("%w: the last %d commits are missing; to go on without them, remove %s",
			store.ErrDamaged, v.marked-v.Seq, MarkName)
	}
	return nil
}

// Mend takes tables that are not there out of the manifest.
func (v *Survey) Mend() error {
	if !v.gone {
		return nil
	}
	return files.ReplaceManifest(v.Dir, v.Tables)
}

// hear takes what a record of this package says about the store.
func (v *Survey) hear(key []byte, version uint64, rec []byte) error {
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
		v.ID = bytes.Clone(value)
	case version >= v.Seq:
		v.Seq, v.told = rev, 0
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
func (v *Survey) readTables() (err error) {
	if v.Tables, v.torn, err = files.ReadManifest(v.Dir); err != nil {
		return err
	}
	v.parts = make([]part, len(v.Tables))
	errs := make([]error, len(v.Tables))
	var all sync.WaitGroup
	for w := range readers {
		all.Go(func() {
			for i := w; i < len(errs); i += readers {
				t, p := v.Tables[i], &v.parts[i]
				p.level = t.Level
				p.entries, p.newest, errs[i] = files.CheckTable(v.Dir, t.ID, v.Quick, v.hear)
			}
		})
	}
	all.Wait()
	for i, err := range slices.Backward(errs) {
		if errors.Is(err, fs.ErrNotExist) {
			v.gone, errs[i] = true, nil
			v.Tables, v.parts = slices.Delete(v.Tables, i, i+1), slices.Delete(v.parts, i, i+1)
		}
	}
	return errors.Join(errs...)
}

// readOther reads a file of the generation that is not a table.
func (v *Survey) readOther(name string) error {
	switch {
	case name == badger.KeyRegistryFileName:
		r, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: v.Dir, ReadOnly: true})
		if err != nil {
			return fmt.Errorf("%w: %s: %v", store.ErrDamaged, name, err)
		}
		return r.Close()
	case !strings.HasSuffix(name, ".mem"):
		return nil
	}
	data, err := os.ReadFile(filepath.Join(v.Dir, name))
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
	v.Largest = max(v.Largest, memory)
	v.parts = append(v.parts, p)
	// A power cut may tear the last group, which was not acknowledged then and
	// which the mark does not name. Anything else is damage.
	if len(behind) > 1 || len(behind) == 1 && behind[0] <= v.marked {
		return fmt.Errorf("%w: %s is whole again behind a record that is not", store.ErrDamaged, name)
	}
	return nil
}

// Bare reports whether the tables are all that there is: then Badger can read them where
// they are.
func (v *Survey) Bare() bool { return !v.gone && len(v.logs) == 0 }

// CopyTo makes a directory that has what was surveyed, and no log.
func (v *Survey) CopyTo(dir string) error {
	largest := uint64(0)
	for _, t := range v.Tables {
		name := files.TableName(t.ID)
		if err := os.Symlink(filepath.Join(v.Dir, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		largest = max(largest, t.ID)
	}
	var all []files.Entry
	for _, name := range v.logs {
		data, err := os.ReadFile(filepath.Join(v.Dir, name))
		if err != nil {
			return err
		}
		if _, err := files.ReadLog(data, func(group []files.Entry) error {
			all = append(all, group...)
			return nil
		}); err != nil {
			return err
		}
	}
	slices.SortFunc(all, func(a, b files.Entry) int {
		return y.CompareKeys(y.KeyWithTs(a.Key, a.Version), y.KeyWithTs(b.Key, b.Version))
	})
	w := files.NewWriter(dir, largest+1, 0)
	for _, e := range all {
		if err := w.Add(e); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return files.ReplaceManifest(dir, append(v.Tables, w.Tables...))
}

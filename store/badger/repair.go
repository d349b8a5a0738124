package badger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/layout"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// Repaired is what Repair found.
type Repaired struct {
	Entries int       // that the new store has
	Missing []Missing // what could not be read, in no order
	// Commits is the number of the newest commits that are gone without a trace, by arc.mark.
	Commits uint64
}

// Missing is an unreadable part of a damaged store, which had keys between From and To, which are equal for a single
// key. An empty To is no bound. A key may be there all the same, also with an older value or one that was deleted.
type Missing struct {
	File     string
	From, To string
}

// Repair reads what it can of the store in dir, which must not be open, and writes it as a new store in to,
// which must not exist or be empty. It changes nothing in dir. It accepts each record that it finds by its own
// checksum, whatever surrounds it, but a deletion only where what surrounds it matches a checksum too. The newest
// of a key counts. What only a table has that is not in the store's list of tables is taken, and named in Missing. It
// needs memory for all of them.
func Repair(dir, to string) (*Repaired, error) {
	r := salvage{newest: map[string]files.Entry{}}
	err := r.collect(dir, to)
	if err != nil {
		return nil, fmt.Errorf("repair %q: %w", dir, disk.Typed(err, nil))
	}
	return &r.found, nil
}

// salvage collects records.
type salvage struct {
	found  Repaired
	newest map[string]files.Entry
	seq    uint64
}

func (r *salvage) collect(dir, to string) error {
	if lock, err := os.Stat(filepath.Join(dir, layout.LockName)); err == nil && lock.Mode().IsRegular() {
		f, err := disk.Lock(filepath.Join(dir, layout.LockName))
		if err != nil {
			return err
		}
		defer f.Close() // it was not written to
	}
	if there, err := os.ReadDir(to); err == nil && len(there) > 0 {
		return fmt.Errorf("%w: %s is not empty", store.ErrForeign, to)
	}
	// If CURRENT cannot be read, all generations are read, and the newest counts.
	name, _ := layout.ReadCurrent(dir) // "" then
	dirs := []string{filepath.Join(dir, name)}
	if name == "" {
		more, err := filepath.Glob(filepath.Join(dir, "g[0-9]*"))
		if err != nil {
			return err
		}
		dirs = append(dirs, more...)
	}
	for _, dir := range dirs {
		if err := r.read(dir); err != nil {
			return err
		}
	}
	id, marked, err := layout.ReadMark(dir)
	if err == nil && marked > r.seq {
		r.found.Commits = marked - r.seq
	}
	if own := r.newest[record.IDKey].Rec; len(own) != record.Header+layout.IDSize {
		if err != nil || marked == 0 {
			rand.Read(id[:]) // never fails
		}
		r.newest[record.IDKey] = files.Entry{Key: []byte(record.IDKey), Version: 1, Rec: record.Sealed(record.IDKey, id[:], 1)}
	}
	return r.write(to, max(r.seq, marked)+1)
}

// read collects the records in the files of a generation.
func (r *salvage) read(dir string) error {
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	tables, torn, listErr := files.ReadManifest(dir)
	listed := map[uint64]bool{}
	for _, t := range tables {
		listed[t.ID] = true
		if _, err := os.Stat(filepath.Join(dir, files.TableName(t.ID))); errors.Is(err, fs.ErrNotExist) {
			r.miss(files.TableName(t.ID), nil, nil)
		}
	}
	strays := map[string][]byte{}
	for _, f := range there {
		id, isTable := files.TableID(f.Name())
		isLog := strings.HasSuffix(f.Name(), ".mem")
		if !f.Type().IsRegular() || !isLog && !isTable {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		take := func(group []files.Entry) {
			for _, e := range group {
				r.take(f.Name(), e)
			}
		}
		switch {
		case isLog:
			if files.SalvageLog(data, take) {
				r.miss(f.Name(), nil, nil)
			}
		case !listed[id] && !torn && listErr == nil:
			strays[f.Name()] = data
		case !files.SalvageTable(data, func(block []files.Entry, whole bool, from, to []byte) {
			if take(block); !whole {
				r.miss(f.Name(), from, to)
			}
		}):
			r.miss(f.Name(), nil, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(strays)) {
		r.stray(name, strays[name])
	}
	return nil
}

// stray takes what nothing else has from a table that is not listed. It is one that a crash has left behind, all of
// which is elsewhere, or the list has lost its end where a change of it ends too: what is taken then is named.
func (r *salvage) stray(file string, data []byte) {
	var news []files.Entry
	files.SalvageTable(data, func(block []files.Entry, whole bool, _, _ []byte) {
		for _, e := range block {
			_, _, err := record.Open(e.Key, e.Rec)
			old, ok := r.newest[string(e.Key)]
			if whole && (err == nil || e.Deleted()) && (!ok && !e.Deleted() || ok && old.Version < e.Version) {
				news = append(news, e)
			}
		}
	})
	for _, e := range news {
		r.take(file, e)
	}
	if n := len(news); n > 0 {
		r.miss(file, news[0].Key, news[n-1].Key)
	}
}

func (r *salvage) miss(file string, from, to []byte) {
	r.found.Missing = append(r.found.Missing, Missing{file, record.Name(from), record.Name(to)})
}

// take keeps a record, if it matches its checksum and is the newest.
func (r *salvage) take(file string, e files.Entry) {
	if _, _, err := record.Open(e.Key, e.Rec); err != nil && !e.Deleted() {
		r.miss(file, e.Key, e.Key)
		return
	}
	r.seq = max(r.seq, e.Version)
	if old, ok := r.newest[string(e.Key)]; !ok || old.Version < e.Version {
		r.newest[string(e.Key)] = e
	}
}

// write makes the new store.
func (r *salvage) write(to string, seq uint64) error {
	first := layout.NextName("")
	w, err := layout.Begin(filepath.Join(to, first))
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(r.newest)) {
		e := r.newest[key]
		if e.Deleted() || key == record.SeqKey {
			continue
		}
		e.Meta = 0 // of groups
		if err := w.Add(e); err != nil {
			return err
		}
		if strings.HasPrefix(key, record.Host) {
			r.found.Entries++
		}
	}
	if err := layout.Finish(w, filepath.Join(to, first), seq); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(to, layout.CurrentName), layout.EncodeCurrent(first))
}

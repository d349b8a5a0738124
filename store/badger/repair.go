package badger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
)

// Repaired tells what Repair found.
type Repaired struct {
	Entries int       // that the new store has
	Missing []Missing // what could not be read, in no order
	// Commits is how many of the newest commits are gone without a trace, by
	// what the store remembered of them.
	Commits uint64
}

// Missing is a part of a damaged store that could not be read: what it held of
// the keys between From and To, which are equal for a single key. To is empty
// where there is no bound. A key may be there all the same, with a value from
// another file, which is then an older one.
type Missing struct {
	File     string
	From, To string
}

// Repair writes what can be read of the store in dir, which must not be open,
// as a new store in to, which must not exist or be empty. It changes nothing in
// dir. Each record is taken by its own checksum, whatever surrounds it, and the
// newest one of a key counts. It needs memory for all of them.
func Repair(dir, to string) (*Repaired, error) {
	r := salvage{newest: map[string]logEntry{}}
	err := r.collect(dir, to)
	if err != nil {
		return nil, fmt.Errorf("repair %q: %w", dir, scarce(err))
	}
	return &r.found, nil
}

// salvage collects records.
type salvage struct {
	found  Repaired
	newest map[string]logEntry
	seq    uint64
}

func (r *salvage) collect(dir, to string) error {
	if lock, err := os.Stat(filepath.Join(dir, lockName)); err == nil && lock.Mode().IsRegular() {
		f, err := lockFile(filepath.Join(dir, lockName))
		if err != nil {
			return err
		}
		defer f.Close() // it was not written to
	}
	if files, err := os.ReadDir(to); err == nil && len(files) > 0 {
		return fmt.Errorf("%w: %s is not empty", store.ErrForeign, to)
	}
	// Where CURRENT cannot be read, all generations are, and the newest counts.
	name, _ := readCurrent(dir) // "" then
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
	id, marked, err := readMark(filepath.Join(dir, markName))
	if err == nil && marked > r.seq {
		r.found.Commits = marked - r.seq
	}
	if own := r.newest[idKey].rec; len(own) != recordHeader+idSize {
		if err != nil || marked == 0 {
			randomID(id[:])
		}
		rec, sum := newRecord([]byte(idKey), id[:])
		seal(rec, sum, 1)
		r.newest[idKey] = logEntry{key: []byte(idKey), version: 1, rec: rec}
	}
	return r.write(to, max(r.seq, marked)+1)
}

// read takes what the files of a generation hold.
func (r *salvage) read(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	manifest, torn, listErr := readManifest(dir)
	for id := range manifest.Tables {
		if _, err := os.Stat(table.NewFilename(id, dir)); errors.Is(err, fs.ErrNotExist) {
			r.miss(table.IDToFilename(id), "", "")
		}
	}
	for _, f := range files {
		id, isTable := table.ParseFileID(f.Name())
		_, listed := manifest.Tables[id]
		isLog := strings.HasSuffix(f.Name(), ".mem")
		if !f.Type().IsRegular() || !isLog && !(isTable && (listed || torn || listErr != nil)) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if isLog {
			r.readLog(f.Name(), data)
		} else {
			r.readTable(f.Name(), id, data)
		}
	}
	return nil
}

func (r *salvage) miss(file, from, to string) {
	r.found.Missing = append(r.found.Missing, Missing{file, from, to})
}

// take keeps a record, if it matches its checksum and is the newest.
func (r *salvage) take(file string, e logEntry) {
	if e.meta&metaDelete == 0 {
		if _, _, err := openRecord(e.key, e.rec); err != nil {
			r.miss(file, name(e.key), name(e.key))
			return
		}
	} else {
		e.rec = nil
	}
	r.seq = max(r.seq, e.version)
	if old, ok := r.newest[string(e.key)]; !ok || old.version < e.version {
		r.newest[string(e.key)] = e
	}
}

// readLog takes the groups of a log, also those behind a record that is not whole.
func (r *salvage) readLog(file string, data []byte) {
	for at := min(logHeader, len(data)); at < len(data); {
		bad, err := readLogAt(data, at, func(_ int, group []logEntry) error {
			for _, e := range group {
				r.take(file, e)
			}
			return nil
		})
		if err != nil || len(finsAfter(data, bad)) == 0 {
			return
		}
		r.miss(file, "", "")
		for at = bad + 1; at < len(data) && !plausible(data[at:]); at++ {
		}
	}
}

// plausible reports whether a record of a group begins here. Most places are
// told by their first bytes.
func plausible(data []byte) bool {
	if len(data) < 2 || data[0]&^metaDelete != metaGroup || data[1] != 0 {
		return false
	}
	e, ok := parseEntry(data[:min(len(data), 2*store.MaxValue)])
	return ok && len(e.key) > 0
}

// readTable takes the records of a table, block by block.
func (r *salvage) readTable(file string, id uint64, data []byte) {
	var t *table.Table
	var starts []string
	if attempt(func() (err error) {
		if t, err = table.OpenInMemoryTable(data, id, &table.Options{}); err == nil {
			starts = t.KeySplits(math.MaxInt32, nil)
		}
		return err
	}) != nil {
		r.miss(file, "", "")
		return
	}
	for i, start := range starts {
		end, to := []byte(nil), ""
		if i+1 < len(starts) {
			end = []byte(starts[i+1])
			to = name(y.ParseKey(end))
		}
		var block []logEntry
		if attempt(func() error {
			it := t.NewIterator(table.NOCACHE)
			defer it.Close()
			for it.Seek([]byte(start)); it.Valid(); it.Next() {
				if end != nil && y.CompareKeys(it.Key(), end) >= 0 {
					break
				}
				vs := it.Value()
				block = append(block, logEntry{
					key: bytes.Clone(y.ParseKey(it.Key())), version: y.ParseTs(it.Key()), meta: vs.Meta, rec: vs.Value,
				})
			}
			return nil
		}) != nil {
			r.miss(file, name(y.ParseKey([]byte(start))), to)
		}
		for _, e := range block {
			r.take(file, e)
		}
	}
}

// write makes the new store.
func (r *salvage) write(to string, seq uint64) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	first := nextName("")
	w, err := newTables(filepath.Join(to, first))
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(r.newest)) {
		e := r.newest[key]
		if e.rec == nil || key == seqKey {
			continue
		}
		if err := w.add([]byte(key), e.version, e.rec); err != nil {
			return err
		}
		if strings.HasPrefix(key, hostPrefix) {
			r.found.Entries++
		}
	}
	if _, err := w.finish(seq); err != nil {
		return err
	}
	return replaceFile(filepath.Join(to, currentName), encodeCurrent(first))
}

package badger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
)

// openReading opens a store that cannot be written to, for the reason given.
// Badger refuses to read a directory with logs, so these become tables in a
// scratch directory, beside links to the others.
func (s *Store) openReading(v *survey, cause error) (err error) {
	gen := &generation{dir: v.dir, idle: make(chan struct{}), memTable: minMemTable}
	defer func() {
		if err != nil {
			err = errors.Join(cause, err)
			if s.scratch != "" {
				err = errors.Join(err, os.RemoveAll(s.scratch))
			}
		}
	}()
	if v.gone || len(v.logs) > 0 {
		above := s.opts.Scratch
		if above == "" {
			above = disk.Memory
		}
		if above == "" {
			return errors.New("and Options.Scratch is missing, to read what was committed last")
		}
		if s.scratch, err = os.MkdirTemp(above, "arc"); err != nil {
			return err
		}
		gen.dir = s.scratch
		if err := v.copyTo(gen.dir); err != nil {
			return disk.Typed(err, nil)
		}
	}
	if gen.db, err = openBadger(settings(gen.dir, gen.memTable, &logger{s}).WithReadOnly(true)); err != nil {
		return err
	}
	gen.expect(v)
	s.reads.init(gen, v.seq)
	s.reading = fmt.Errorf("%w: the store was opened for reading alone", cause)
	s.log.Warn("the store is opened for reading alone", "dir", s.dir, "cause", cause)
	return nil
}

// copyTo makes a directory that has what was surveyed, and no log.
func (v *survey) copyTo(dir string) error {
	largest := uint64(0)
	for _, t := range v.tables {
		name := files.TableName(t.ID)
		if err := os.Symlink(filepath.Join(v.dir, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		largest = max(largest, t.ID)
	}
	var all []files.Entry
	for _, name := range v.logs {
		data, err := os.ReadFile(filepath.Join(v.dir, name))
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
	return files.ReplaceManifest(dir, append(v.tables, w.Tables...))
}

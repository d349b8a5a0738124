package badger

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
)

// openReading opens a store that cannot be written to, for the reason given.
// Badger refuses to read a directory with logs, so these become a table in a
// scratch directory, beside links to the others.
func (s *Store) openReading(c *contents, v *survey, cause error) (err error) {
	gen := &generation{dir: c.current, idle: make(chan struct{}), memTable: minMemTable}
	if v.gone || slices.ContainsFunc(c.data, func(name string) bool { return strings.HasSuffix(name, ".mem") }) {
		above := s.opts.Scratch
		if above == "" {
			above = memoryDir
		}
		if above == "" {
			return fmt.Errorf("%w, and Options.Scratch to read what was committed last", cause)
		}
		if gen.dir, err = os.MkdirTemp(above, "arc"); err != nil {
			return errors.Join(cause, err)
		}
		s.scratch = gen.dir
		if err := v.copyTo(gen.dir); err != nil {
			return errors.Join(cause, err, os.RemoveAll(gen.dir))
		}
	}
	gen.db, err = openBadger(settings(gen.dir, gen.memTable, &logger{s}).WithReadOnly(true))
	if err != nil {
		if s.scratch != "" {
			err = errors.Join(err, os.RemoveAll(s.scratch))
		}
		return errors.Join(cause, err)
	}
	gen.expect(v)
	s.reads.init(gen, v.seq)
	s.reading = fmt.Errorf("%w: the store was opened for reading alone", cause)
	s.log.Warn("the store is opened for reading alone", "dir", s.dir, "cause", cause)
	return nil
}

// copyTo makes a directory that has what was surveyed, and no log.
func (v *survey) copyTo(dir string) error {
	var ids, levels []uint64
	largest := uint64(0)
	for _, f := range v.tables {
		id, ok := table.ParseFileID(f.name)
		if !ok {
			return fmt.Errorf("%w: %s", store.ErrDamaged, f.name)
		}
		if err := os.Symlink(filepath.Join(v.dir, f.name), filepath.Join(dir, f.name)); err != nil {
			return err
		}
		ids, levels, largest = append(ids, id), append(levels, uint64(f.level)), max(largest, id)
	}
	var all []logEntry
	for _, f := range v.logs {
		data, err := os.ReadFile(filepath.Join(v.dir, f.name))
		if err != nil {
			return err
		}
		if _, err := readLog(data, func(_ int, group []logEntry) error {
			all = append(all, group...)
			return nil
		}); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		for i := range all {
			all[i].key = y.KeyWithTs(all[i].key, all[i].version)
		}
		slices.SortFunc(all, func(a, b logEntry) int { return y.CompareKeys(a.key, b.key) })
		o := settings(dir, minMemTable, nil)
		b := table.NewTableBuilder(table.Options{
			TableSize: math.MaxInt32, BlockSize: o.BlockSize, BloomFalsePositive: o.BloomFalsePositive,
		})
		defer b.Close()
		for _, e := range all {
			b.Add(e.key, y.ValueStruct{Meta: e.meta, Value: e.rec}, 0)
		}
		if err := writeFile(table.NewFilename(largest+1, dir), b.Finish()); err != nil {
			return scarce(err)
		}
		ids, levels = append(ids, largest+1), append(levels, 0)
	}
	return scarce(writeFile(filepath.Join(dir, manifestName), encodeManifest(ids, levels)))
}

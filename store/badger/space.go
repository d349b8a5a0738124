package badger

import (
	"fmt"

	"github.com/arc-learn/arc/store"
)

// What Badger writes in the background takes space before it gives some back:
// memtables become tables while their logs are still there, and a compaction
// writes its tables anew before it removes them. The largest rewrites the
// newest tables and the level below, which together are all of a small store
// and seldom more than wideCompaction of a large one; deeper down it is a part.
const (
	flushes        = 6 * memTable
	wideCompaction = 192 << 20
	deepShare      = 8
)

// minFree is how much must be free to write, given the size of the tables:
// twice what Badger may need, once for what it is doing and once for Close.
func (s *Store) minFree(tables uint64) uint64 {
	if s.opts.MinFree > 0 {
		return s.opts.MinFree
	}
	wide := min(tables, wideCompaction)
	return 2 * (flushes + wide + (tables-wide)/deepShare)
}

func (s *Store) commitFree() uint64 {
	tables := int64(0)
	for _, level := range s.db.Levels() {
		tables += level.Size
	}
	return s.minFree(uint64(max(tables, 0)))
}

// closeFree is less than what commits need, so that a store whose commits
// have just been refused can be closed.
func (s *Store) closeFree() uint64 { return s.commitFree() / 2 }

// checkSpace returns ErrFull unless need bytes are free on the disk of dir.
// Asking takes about a microsecond, which is nothing beside the sync of a
// group, so the answer is not kept.
func (s *Store) checkSpace(need uint64, dir string) error {
	free, err := s.free(dir)
	if err != nil {
		return fmt.Errorf("free space: %w", err)
	}
	if free < need {
		return fmt.Errorf("%w: %d MiB are free, %d MiB are needed", store.ErrFull, free>>20, need>>20)
	}
	return nil
}

package badger

import (
	"fmt"

	"github.com/arc-learn/arc/store"
)

// Badger writes in the background: memtables to tables (the active one, those
// that wait, and their logs), and tables to new tables before the old ones go,
// of which each compaction rewrites a small part of all.
const (
	defaultFree = 4*memTables*memTable + 2*(10<<20) + 76<<20 // 192 MiB
	tablesShare = 8
)

// minFree is how much must be free to write, given the size of the tables.
func (s *Store) minFree(tables uint64) uint64 {
	if s.opts.MinFree > 0 {
		return s.opts.MinFree
	}
	return defaultFree + tables/tablesShare
}

func (s *Store) commitFree() uint64 {
	tables, _ := s.db.Size() // the value log is empty
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

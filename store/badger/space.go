package badger

import (
	"fmt"

	"github.com/arc-learn/arc/store"
)

// Memtables grow with the store, so that a rewrite, which takes as long as the
// store is large, is due after a share of it has been written.
const (
	minMemTable = 8 << 20
	maxMemTable = 96 << 20
	memTables   = 3
	memShare    = 32
)

// memTableFor returns the size for a store with so many bytes in tables, whose
// largest log takes so many when it is replayed.
func memTableFor(tables uint64, largest int64) int64 {
	size := min(max(int64(tables/memShare), minMemTable), maxMemTable)
	const step = 1 << 20
	return (max(size, largest) + step - 1) / step * step
}

// What Badger writes in the background takes space before it gives some back:
// memtables become tables while their logs are still there. Spare is for what
// others write meanwhile.
const spare = 64 << 20

// minFree is how much must be free to write, given the size of the tables:
// twice what Badger may need, once for what it is doing and once for Close.
func (s *Store) minFree(tables uint64) uint64 {
	if s.opts.MinFree > 0 {
		return s.opts.MinFree
	}
	return spare + (memTables+1)*uint64(memTableFor(tables, 0))
}

// closeFree is less than what commits need, so that a store whose commits
// have just been refused can be closed.
func (s *Store) closeFree() uint64 { return s.minFree(s.reads.generation().tables()) / 2 }

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

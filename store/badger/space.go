package badger

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
)

// Memtables grow with the store, so that a rewrite, which takes as long as the
// store is large, is due after a third of it has been written.
const (
	minMemTable = 8 << 20
	maxMemTable = 96 << 20
	memTables   = 3
	memShare    = 16
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

// minFiles is how many files, and how many descriptors, must be left to begin:
// for logs and tables, and what a store makes once.
const minFiles = 16

// checkSpace returns ErrFull unless need bytes are free on the disk of dir, and
// ErrScarce if it takes too few files. Asking takes about a microsecond, which
// is nothing beside the sync of a group, so the answer is not kept.
func (s *Store) checkSpace(need uint64, dir string) error {
	free, files, err := s.free(dir)
	switch {
	case err != nil:
		return fmt.Errorf("free space: %w", err)
	case free < need:
		return fmt.Errorf("%w: %d MiB are free, %d MiB are needed", store.ErrFull, free>>20, need>>20)
	case files < minFiles:
		return fmt.Errorf("%w: the disk takes %d more files, and %d are needed", store.ErrScarce, files, minFiles)
	}
	return nil
}

// minMemory is how many bytes a process must be able to map, beyond what Badger maps
// next, for its own memory to grow.
const minMemory = 128 << 20

// checkMemory returns ErrScarce unless Badger can map its next log, and a table.
func checkMemory(memTable int64) error { return disk.CheckMemory(4*memTable + minMemory) }

// reserve is what the store holds so that Badger finds it: descriptors, which it
// needs for each table and log, a file that Close gives up on a full disk, and
// space for the logs. Badger writes to these through memory maps, where a disk
// without room ends the process.
type reserve struct {
	spares []*os.File
	log    int // number of the log that is to be made next
}

// takeUp takes the descriptors that the reserve lacks of n.
func (r *reserve) takeUp(n int) error {
	for len(r.spares) < n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("%w: %v", store.ErrScarce, err)
		}
		r.spares = append(r.spares, f)
	}
	return nil
}

// keep gives back all descriptors but n, for Badger to take.
func (r *reserve) keep(n int) {
	for _, f := range r.spares[min(n, len(r.spares)):] {
		_ = f.Close() // it was not written to
	}
	r.spares = r.spares[:min(n, len(r.spares))]
}

// checkDescriptors returns ErrScarce unless n can be had.
func checkDescriptors(n int) error {
	var probe reserve
	defer probe.keep(0)
	return probe.takeUp(n)
}

// discard removes the log that was never used.
func (r *reserve) discard(gen *generation) {
	if info, err := os.Stat(files.LogName(gen.dir, r.log)); err == nil && info.Size() == 0 {
		_ = os.Remove(files.LogName(gen.dir, r.log)) // the next Open does it too
	}
}

// handy is how many descriptors are left to Badger while a group is written: for
// a log, and for the table that it makes of the last one.
const handy = 4

// checkFiles returns ErrScarce while descriptors run out: it tries to take some
// more than are held in reserve, and gives up all where it cannot.
func (r *reserve) checkFiles() error {
	if err := r.takeUp(minFiles + handy); err != nil {
		r.keep(0)
		return err
	}
	r.keep(minFiles)
	return nil
}

// logs gives the log in use, and the next one, room on the disk. Badger makes the
// next one in the middle of a group, so the file is there before, and empty.
func (r *reserve) logs(gen *generation) error {
	if r.log > 0 {
		if info, err := os.Stat(files.LogName(gen.dir, r.log)); err == nil && info.Size() == 0 {
			return nil
		}
	}
	logs, err := filepath.Glob(filepath.Join(gen.dir, "*.mem"))
	if err != nil {
		return err
	}
	r.log = 0
	for _, name := range logs {
		n := 0
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.mem", &n); err == nil {
			r.log = max(r.log, n)
		}
	}
	for _, name := range []string{files.LogName(gen.dir, r.log), files.LogName(gen.dir, r.log+1)} {
		if err := disk.Reserve(name, gen.memTable+2*maxGroupSize); err != nil {
			return err
		}
	}
	r.log++
	return disk.SyncDir(gen.dir)
}

package engine

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

// Need is how much must be free to write, given the size of the tables:
// twice what Badger may need, once for what it is doing and once for Close.
func Need(tables uint64) uint64 { return spare + (memTables+1)*uint64(memTableFor(tables, 0)) }

// MinFiles is how many files, and how many descriptors, must be left to begin:
// for logs and tables, and what a store makes once.
const MinFiles = 16

// minMemory is how many bytes a process must be able to map, beyond what Badger maps
// next, for its own memory to grow.
const minMemory = 128 << 20

// checkMemory returns ErrScarce unless Badger can map its next log, and a table.
func checkMemory(memTable int64) error { return disk.CheckMemory(4*memTable + minMemory) }

// CheckMemory returns ErrScarce unless there is memory for the next log.
func (g *Generation) CheckMemory() error { return checkMemory(g.MemTable) }

// Reserve is what the store holds so that Badger finds it: descriptors, which it
// needs for each table and log, a file that Close gives up on a full disk, and
// space for the logs. Badger writes to these through memory maps, where a disk
// without room ends the process.
type Reserve struct {
	spares []*os.File
	of     *Generation // that the log is of
	log    int         // number of the log that is to be made next
}

// takeUp takes the descriptors that the reserve lacks of n.
func (r *Reserve) takeUp(n int) error {
	for len(r.spares) < n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("%w: %v", store.ErrScarce, err)
		}
		r.spares = append(r.spares, f)
	}
	return nil
}

// Keep gives back all descriptors but n, for Badger to take.
func (r *Reserve) Keep(n int) {
	for _, f := range r.spares[min(n, len(r.spares)):] {
		_ = f.Close() // it was not written to
	}
	r.spares = r.spares[:min(n, len(r.spares))]
}

// checkDescriptors returns ErrScarce unless n can be had.
func checkDescriptors(n int) error {
	var probe Reserve
	defer probe.Keep(0)
	return probe.takeUp(n)
}

// Discard removes the log that was never used.
func (r *Reserve) Discard(gen *Generation) {
	if info, err := os.Stat(files.LogName(gen.Dir, r.log)); err == nil && info.Size() == 0 {
		_ = os.Remove(files.LogName(gen.Dir, r.log)) // the next Open does it too
	}
}

// handy is how many descriptors are left to Badger while a group is written: for
// a log, and for the table that it makes of the last one.
const handy = 4

// CheckFiles returns ErrScarce while descriptors run out: it tries to take some
// more than are held in reserve, and gives up all where it cannot.
func (r *Reserve) CheckFiles() error {
	if err := r.takeUp(MinFiles + handy); err != nil {
		r.Keep(0)
		return err
	}
	r.Keep(MinFiles)
	return nil
}

// Logs gives the log in use, and the next one, room on the disk. Badger makes the
// next one in the middle of a group, so the file is there before, and empty.
func (r *Reserve) Logs(gen *Generation) error {
	if r.of == gen {
		if info, err := os.Stat(files.LogName(gen.Dir, r.log)); err == nil && info.Size() == 0 {
			return nil
		}
	}
	logs, err := filepath.Glob(filepath.Join(gen.Dir, "*.mem"))
	if err != nil {
		return err
	}
	r.of, r.log = nil, 0
	for _, name := range logs {
		n := 0
		if _, err := fmt.Sscanf(filepath.Base(name), "%d.mem", &n); err == nil {
			r.log = max(r.log, n)
		}
	}
	for _, name := range []string{files.LogName(gen.Dir, r.log), files.LogName(gen.Dir, r.log+1)} {
		if err := disk.Reserve(name, gen.MemTable+2*MaxGroupSize); err != nil {
			return err
		}
	}
	r.of = gen
	r.log++
	return disk.SyncDir(gen.Dir)
}

// HoldBallast has a file hold as much as Close needs on a disk that is full otherwise.
func (g *Generation) HoldBallast(name string) error {
	return disk.Reserve(name, g.MemTable+spare/8)
}

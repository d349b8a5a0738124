// Package engine is a generation of a store: Badger in a directory, and what is read from it
// and written to it.
package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/layout"
)

// Generation is a Badger directory in which the engine never compacts: its
// compaction takes tables whose rewrite failed for done and deletes what it
// read. Garbage goes with the generation instead.
//
// A store is a directory with these files:
//
//	arc.lock   held while the store is open
//	arc.mark   how far the commits had come, see layout.Mark
//	CURRENT    names the generation that counts; without it, the directory
//	           itself is that generation
//	g000001/   generations
//
// A rewrite takes these steps. Only the fifth changes what a later Open reads;
// an error, or a kill, on the way to it leaves a directory that does not count,
// and that this rewrite or the next Open removes.
//
//	copy     what a snapshot holds goes into tables without overlap, in key order
//	open     Badger opens them
//	verify   both generations are compared, entry by entry
//	follow   commits since the snapshot are applied and read back, while others
//	         go on; then the last few, while commits wait
//	switch   CURRENT is replaced by a rename; commits and new readers go on in
//	         the new generation
//	remove   when its last reader has ended, the old one is closed and deleted
type Generation struct {
	Name     string // empty for the directory of the store itself
	Dir      string
	DB       *badger.DB
	MemTable int64

	entries uint64        // in it, of all versions; for its one writer
	readers int           // guarded by Snapshots
	idle    chan struct{} // closed when it no longer counts and has no reader
	unread  unread
}

// settings are chosen for durability first. Nothing goes to the value log: a
// failed sync of it is not reported. Compressed, a damaged block is a panic;
// package layout reads all tables before Badger does. An index cache of 0 would keep
// every index in memory. Metrics are global to the process. Conflicts are
// detected by the one writer. Why nothing is compacted: see [Generation].
func settings(dir string, memTable int64, log badger.Logger) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(true).       // or a power cut takes what was acknowledged
		WithMemTableSize(memTable). // bounds a group (15 %), replay and memory
		WithNumMemtables(memTables).
		WithValueThreshold(1 << 20).
		WithValueLogFileSize(16 << 20). // its apparent size is twice that
		WithCompression(options.None).
		WithChecksumVerificationMode(options.NoVerification).
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(16 << 20).
		WithNumCompactors(0).
		WithCompactL0OnClose(false).
		WithNumLevelZeroTables(1 << 20).
		WithNumLevelZeroTablesStall(1 << 30).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithLogger(log).
		WithExternalMagic(files.Magic)
}

// Options say how a generation is opened.
type Options struct {
	Name     string
	Tables   uint64        // bytes in its tables
	Patience time.Duration // how long an engine that is not put to use is waited for
	Log      badger.Logger
}

// Check returns ErrScarce unless there is what Open takes of descriptors and memory: Badger
// ends the process if it cannot make a file, or list its directory for want of a descriptor.
func Check(v *layout.Survey, tables uint64) error {
	memory := int64(tables) + memTables*memTableFor(tables, v.Largest)
	return errors.Join(checkDescriptors(len(v.Tables)+2*MinFiles), checkMemory(memory))
}

// Open opens a directory that has been surveyed. Memtables hold at least what its largest
// log does.
func Open(v *layout.Survey, o *Options) (*Generation, error) {
	gen := &Generation{
		Name: o.Name, Dir: v.Dir, entries: v.Entries, idle: make(chan struct{}), MemTable: memTableFor(o.Tables, v.Largest),
	}
	err := Check(v, o.Tables)
	if err == nil { // Badger ends the process if it has no room for this file
		err = disk.Typed(disk.Write(filepath.Join(v.Dir, layout.DiscardName), make([]byte, 1<<20)), nil)
	}
	if err != nil {
		return nil, err
	}
	if gen.DB, err = openBadger(settings(v.Dir, gen.MemTable, o.Log)); err != nil {
		return nil, err
	}
	if got := gen.DB.MaxVersion(); got != v.Newest {
		err = fmt.Errorf("%w: versions up to %d were read, and Badger has %d", store.ErrDamaged, v.Newest, got)
		return nil, errors.Join(err, gen.Quit(o.Patience))
	}
	gen.expect(v)
	return gen, nil
}

// OpenReading opens what has been surveyed, for reading alone, in a directory without logs.
func OpenReading(dir string, v *layout.Survey, log badger.Logger) (gen *Generation, err error) {
	gen = &Generation{Dir: dir, idle: make(chan struct{}), MemTable: minMemTable}
	if gen.DB, err = openBadger(settings(dir, gen.MemTable, log).WithReadOnly(true)); err != nil {
		return nil, err
	}
	gen.expect(v)
	return gen, nil
}

// openBadger opens a directory, and turns the panics with which Badger meets some
// damage into errors.
func openBadger(o badger.Options) (db *badger.DB, err error) {
	err = files.Attempt(func() error {
		db, err = badger.OpenManaged(o)
		return disk.Typed(err, store.ErrDamaged)
	})
	return db, err
}

// Quit ends an engine that is not put to use, and leaves it behind after patience.
func (g *Generation) Quit(patience time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- files.Attempt(g.DB.Close) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%w: Badger does not end", context.DeadlineExceeded)
	}
}

// Tables returns the size of all tables.
func (g *Generation) Tables() uint64 {
	size := int64(0)
	for _, level := range g.DB.Levels() {
		size += level.Size
	}
	return uint64(max(size, 0))
}

// Reads look into every table on level 0. A rewrite is begun when these are a
// third of what the others are, so that writing costs some five times the bytes;
// not for so few that they cost nothing, and in any case for so many.
const (
	FewTables = 4
	maxTables = 12
	newShare  = 3
)

// Crowded reports whether a rewrite is due for the tables on level 0, and how
// many these are.
func (g *Generation) Crowded() (tables int, due bool) {
	levels := g.DB.Levels()
	rest := int64(0)
	for _, level := range levels[1:] {
		rest += level.Size
	}
	n := levels[0].NumTables
	return n, n >= maxTables || n >= FewTables && levels[0].Size*newShare >= rest
}

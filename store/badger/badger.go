// Package badger keeps a [store.Store] in a directory, with Badger; see [Open].
//
// A commit that was acknowledged is on disk: it survives a kill and a power cut. Commits that wait at the
// same time share one sync, so many writers are much faster than one. Each value has a checksum over its key
// and itself, and Open verifies what Badger wrote before Badger sees it: damage is an error, never a loss.
//
// Badger's own compaction is off, since it may lose tables when it cannot make a file. The store is rewritten
// instead, in up to 1 GB of memory, while commits wait and reads go on: after many tables, and by Compact.
//
// One process at a time has a directory open, on a local file system. While less than 256 MiB of the disk are
// free, and without descriptors or inodes (looked at every 10 ms), commits are refused with [store.ErrFull].
// In a rewrite such a lack may end the process, and a file that is cut while it is open does: they are in
// memory maps. Nothing acknowledged is lost. No repair: restore a copy ([store.Copy]). Not for 32 bits.
package badger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/store"
)

// Options tune [Open]. The zero value is the default.
type Options struct {
	// Logger gets Badger's warnings and errors, and what the store does unasked. Nil: nothing is logged.
	Logger *slog.Logger
}

// tableBytes is the size of a table; a rewrite makes them of a quarter. Badger has one or two in memory, four
// as much while it writes one, and indices of as much as one. Its limit of a commit is 15 %.
const tableBytes = 32 << 20

// disk is a store in a directory.
type disk struct {
	dir    string
	logger *slog.Logger
	header header
	life   context.Context // ends with the store, and a rewrite with it
	stop   context.CancelFunc
	close  func() error   // what Close does, once
	asking sync.WaitGroup // those who wait for an answer
	lead   chan struct{}  // held by the one of them that writes; what follows is its own
	tried  int            // tables at the last rewrite that failed
	looked time.Time      // when there was room

	// use is held for reading by each call inside Badger, and for writing where the generation changes or is
	// closed. No code of the caller runs under it. Who takes several takes lead, then use, then mu.
	use sync.RWMutex
	mu  struct {
		sync.Mutex // not held by who leads where it reads gen, last and err, which it alone changes
		gen        *generation
		last       uint64        // the newest commit, which readers see
		err        error         // why the store takes no more calls
		old        []*generation // replaced ones, which scans still read
		queue      []*request
	}
}

// Open opens the store in dir, and makes one if dir is missing or empty. It reads all of the store's files
// once. Its errors are [store.ErrForeign] for a directory of something else, [store.ErrVersion],
// [store.ErrLocked], [store.ErrDamaged], [store.ErrFull], and those of the operating system.
func Open(ctx context.Context, dir string, o *Options) (store.Compacter, error) {
	s := &disk{logger: cmp.Or(cmp.Or(o, new(Options)).Logger, slog.New(slog.DiscardHandler))}
	if err := s.begin(ctx, dir); err != nil {
		return nil, fmt.Errorf("open store %q: %w", dir, typed(errors.Join(err, s.release())))
	}
	s.life, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.close, s.lead = sync.OnceValue(s.shut), make(chan struct{}, 1)
	return s, nil
}

func (s *disk) begin(ctx context.Context, dir string) (err error) {
	if dir == "" || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("%w: no directory; store.NewMem() needs none", fs.ErrInvalid))
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if s.header, err = openHeader(s.dir); err != nil {
		return err
	}
	folders, _, err := list(s.dir)
	if err = cmp.Or(err, s.checkRoom(0)); err != nil {
		return err
	}
	name, others := "g000001", folders // which counts, and which do not
	if last := len(folders) - 1; last >= 0 && folders[last] != unfinished {
		name, others = folders[last], folders[:last]
	}
	if s.mu.gen, err = openGeneration(filepath.Join(s.dir, name), s.logger); err != nil {
		return err
	}
	if s.mu.last, err = s.mu.gen.newest(); err != nil {
		return err
	}
	if s.mu.last < s.header.mark {
		return fmt.Errorf("%w: %s has %d of %d commits: restore a copy, or the folder that has the rest",
			store.ErrDamaged, name, s.mu.last, s.header.mark)
	}
	for _, other := range others { // that a kill has left
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, other)))
	}
	return errors.Join(err, syncDir(s.dir))
}

// Close waits for the commits under way, ends a rewrite, and closes the directory. It does not wait for the
// loop over a scan, which then gets [store.ErrClosed]. It is idempotent.
func (s *disk) Close() error { return s.close() }

func (s *disk) shut() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.asking.Wait()
	s.use.Lock() // waits for the calls inside Badger
	defer s.use.Unlock()
	if err := s.release(); err != nil {
		return fmt.Errorf("close store %q: %w", s.dir, typed(err))
	}
	return nil
}

func (s *disk) usableLocked() error {
	if s.life.Err() != nil {
		return store.ErrClosed
	}
	return s.mu.err
}

// enter begins a call inside Badger, which s.use.RUnlock ends, and returns what to read. A scan keeps it so.
func (s *disk) enter(ctx context.Context, scan bool) (gen *generation, seq uint64, err error) {
	s.use.RLock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(ctx.Err(), s.usableLocked()); err != nil {
		s.use.RUnlock()
		return nil, 0, err
	}
	if scan {
		s.mu.gen.users++
	}
	return s.mu.gen, s.mu.last, nil
}

// leave ends a scan, or the time in which a generation counts. Without users it is closed and removed.
func (s *disk) leave(gen *generation) {
	s.use.RLock() // Close waits for it
	defer s.use.RUnlock()
	s.mu.Lock()
	gen.users--
	unused := gen.users == 0 && s.life.Err() == nil
	if unused {
		s.mu.old = slices.DeleteFunc(s.mu.old, func(old *generation) bool { return old == gen })
	}
	s.mu.Unlock()
	if !unused {
		return
	}
	if err := errors.Join(gen.close(), os.RemoveAll(gen.dir)); err != nil {
		s.logger.Warn("a replaced generation stays until the next Open", "dir", gen.dir, "error", err)
	}
}

func (s *disk) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.Check(store.Op{Key: key}); err != nil {
		return store.Entry{}, err
	}
	gen, seq, err := s.enter(ctx, false)
	if err != nil {
		return store.Entry{}, err
	}
	defer s.use.RUnlock()
	return gen.get(key, seq)
}

// Scan yields the entries of r in key order, as of the beginning of the loop, which runs outside Badger.
func (s *disk) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		gen, seq, err := s.enter(ctx, true)
		if err == nil {
			defer s.leave(gen)
		}
		for r, more := r, true; err == nil && more; {
			var page []store.Entry
			page, more, err = gen.page(r, seq)
			s.use.RUnlock()
			for _, e := range page {
				if ctx.Err() != nil {
					yield(store.Entry{}, ctx.Err())
					return
				}
				if !yield(e, nil) {
					return
				}
			}
			if more {
				r.After, r.Limit = page[len(page)-1].Key, max(r.Limit-len(page), 0)
				_, _, err = s.enter(ctx, false)
			}
		}
		if err != nil {
			yield(store.Entry{}, err)
		}
	}
}

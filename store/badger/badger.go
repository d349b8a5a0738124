// Package badger keeps a [store.Store] in a directory, with Badger.
//
// A [Store] opened by [Open] acknowledges a commit when it is on disk, so that
// it survives a kill and a power cut. Concurrent commits share one sync: each
// is atomic and checked on its own, but they are written as a group. Reads
// work on what was acknowledged last and never wait for a commit.
//
//	st, err := badger.Open(dir, nil)
//	if err != nil {
//		return err
//	}
//	defer st.Close()
//	rev, err := st.Commit(ctx, store.Op{Key: "greeting", Value: []byte("hello")})
//
// A store is for one opener at a time, on a local file system (ext4, xfs;
// Windows and macOS without the promise of power cuts; network file systems
// not at all).
//
// # What is guarded
//
// Badger maps its files into memory, and the operating system kills a process
// that writes to a map when the disk is full. Commits are therefore refused
// with [store.ErrFull] while too little space is free (see [Options.MinFree]),
// and with [store.ErrScarce] while too few files or descriptors are left; reads
// go on, and commits too as soon as there is room. On Linux the logs have
// their room before they are written to. A store for which there is no room is
// opened for reading alone, and one is closed with room that was held for that.
// What remains is a disk that another program fills to the last byte in the
// moment in which Badger writes a table in the background.
//
// A disk that cannot sync may have dropped what it was given, and does not say
// so twice. After any such error the store is [store.ErrFailed] until it is
// closed and opened again.
//
// Damage is an error and never a missing record: values carry a checksum, every
// file is read and checked before Badger opens it, each group of commits says
// how many entries there are, and a small file beside them, arc.mark, remembers
// how far the commits had come. A directory that Open refuses is as it was.
// After a Close, and as long as the sizes and times of the files are as they were
// then, the blocks of tables are read and checked once the store is open: in the
// background, and before a read returns what it found in them.
//
// # What becomes of garbage
//
// Badger's own compaction does not run: where inodes or descriptors run out, it
// deletes what it has not rewritten. Instead the whole store is rewritten beside
// itself, compared, and then put in its place, while reads and commits go on;
// see [Store.Maintain].
//
// # What is not there
//
// No encryption, no compression, and no sharing of a directory between
// processes.
package badger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/internal/notify"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/engine"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/layout"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// Options tune Open. The zero value is the default.
type Options struct {
	// Logger takes what Badger reports: its errors and warnings as such, the
	// rest at debug level. Keys and values are not logged. Nil discards.
	Logger *slog.Logger

	// MinFree is the number of bytes that have to be free on the disk for
	// Open and Commit; Close asks for half. It has to cover what Badger writes
	// in the background. 0 means 96 MiB for a store of up to 128 MiB, and a
	// quarter of what is over that more, up to 448 MiB.
	MinFree uint64

	// Scratch is a directory, on another disk or in memory, for a store that is
	// opened for reading alone after a crash: it takes what the logs hold. Empty
	// means /dev/shm on Linux, and elsewhere that such a store does not open.
	Scratch string

	// Patience is how long a commit waits for the disk, and a Close for all that
	// has to end. A commit that is not on disk by then ends the use of the store.
	// 0 means 30 s.
	Patience time.Duration
}

// Store is a store.Store and a store.Watcher in a directory. It may be used
// concurrently. Use [Open].
//
// An iteration that is open when the store is closed ends with
// store.ErrClosed at its next step; Close does not wait for it. One that is
// never ended keeps the tables that it began with on the disk until then.
type Store struct {
	dir  string
	opts Options
	log  *slog.Logger
	lock *os.File
	mark *layout.Mark
	feed notify.Feed[[]store.Entry]

	// use is held for reading by who is inside Badger, and for writing by
	// Close. It is never held while the caller's code runs.
	use     sync.RWMutex
	closing atomic.Bool           // set before Close asks for use
	failure atomic.Pointer[error] // why the store takes no more calls

	closeMu struct {
		sync.Mutex
		try *ending
	}

	queue   queue
	turn    chan struct{} // holds one token: who has it commits
	tail    *tail         // for the caller that has the turn; nil without a rewrite
	reads   engine.Snapshots
	reading error          // why the store is opened for reading alone, or nil
	scratch string         // the directory that was made for that, or empty
	room    engine.Reserve // for the holder of the turn

	wake      chan struct{} // there are many tables
	asked     chan ask
	stop      context.CancelFunc // ends sweep
	collected chan struct{}      // closed when it has ended

	// Seams for tests of what a disk does.
	commitAt func(txn *badger.Txn, seq uint64) error
	free     func(dir string) (bytes, files uint64, err error)
	step     func(name string) error
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
)

// Open opens the store in dir, and makes one if dir is missing or empty. One for
// which there is too little room is opened for reading alone: commits return
// store.ErrFull or store.ErrScarce until it is closed and opened again. Its
// errors are, besides those of the operating system such as fs.ErrPermission:
// store.ErrForeign for a directory with other files in it, or a file;
// store.ErrNewer for a store of a newer version; store.ErrLocked while it is
// open elsewhere; store.ErrFull; store.ErrScarce; store.ErrDamaged. It changes
// nothing in a directory that it refuses, apart from creating an empty arc.lock:
// the files are read, and compared with one another, before Badger opens them.
//
// A new directory has mode 0700, which also protects Badger's files in it:
// their own mode follows the umask.
func Open(dir string, opts *Options) (*Store, error) {
	s := &Store{
		turn: make(chan struct{}, 1), free: disk.Free, step: func(string) error { return nil },
		wake: make(chan struct{}, 1), asked: make(chan ask), collected: make(chan struct{}),
	}
	s.commitAt = s.write
	s.turn <- struct{}{}
	s.opts = *cmp.Or(opts, new(Options))
	if s.opts.Patience <= 0 {
		s.opts.Patience = 30 * time.Second
	}
	s.log = cmp.Or(s.opts.Logger, slog.New(slog.DiscardHandler))
	if err := s.open(dir); err != nil {
		return nil, fmt.Errorf("open %q: %w", dir, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.sweep(ctx)
	return s, nil
}

func (s *Store) open(dir string) (err error) {
	if s.dir, err = layout.Resolve(dir); err != nil {
		return err
	}
	s.log = s.log.With("dir", s.dir)
	before, err := layout.Inspect(s.dir)
	if err != nil {
		return err
	}
	tight := s.checkSpace(s.minFree(before.Tables), layout.Existing(s.dir))
	if tight != nil && (!before.Manifest || !errors.Is(tight, store.ErrFull) && !errors.Is(tight, store.ErrScarce)) {
		return tight
	}
	if err := before.Create(); err != nil {
		return err
	}
	if s.lock, err = disk.Lock(filepath.Join(s.dir, layout.LockName)); err != nil {
		return disk.Typed(err, nil)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.lock.Close())
		}
	}()
	// Only now no other opener changes the directory.
	now, err := layout.Inspect(s.dir)
	if err != nil {
		return err
	}
	v, err := now.Preflight()
	if err != nil {
		return err
	}
	if tight != nil {
		return s.openReading(v, tight)
	}
	return s.start(now, v)
}

// start opens what has been found whole.
func (s *Store) start(c *layout.Contents, v *layout.Survey) error {
	if err := errors.Join(c.Clear(), v.Mend()); err != nil {
		return disk.Typed(err, nil)
	}
	name := ""
	if c.Current != c.Dir {
		name = filepath.Base(c.Current)
	}
	gen, err := s.openGeneration(name, v, c.Tables)
	if err != nil {
		return err
	}
	if v.Seq == 0 {
		err = s.create(gen, v)
	}
	if err == nil {
		err = errors.Join(s.room.CheckFiles(), s.room.Logs(gen))
	}
	if err == nil {
		err = gen.HoldBallast(filepath.Join(s.dir, layout.BallastName))
	}
	if err == nil {
		s.reads.Init(gen, v.Seq)
		s.mark, err = layout.OpenMark(s.dir, [layout.IDSize]byte(v.ID), v.Seq, s.log)
	}
	if err != nil {
		s.room.Keep(0)
		return errors.Join(err, gen.Quit(s.opts.Patience))
	}
	return nil
}

func (s *Store) openGeneration(name string, v *layout.Survey, tables uint64) (*engine.Generation, error) {
	return engine.Open(v, &engine.Options{
		Name: name, Tables: tables, Patience: s.opts.Patience, Log: engine.Logger(s.log, s.fail),
	})
}

// create makes the first commit, with the id of the store.
func (s *Store) create(gen *engine.Generation, v *layout.Survey) error {
	v.ID, v.Seq = make([]byte, layout.IDSize), 1
	rand.Read(v.ID) // never fails: it ends the process instead
	group := gen.Group(0)
	defer group.Discard()
	if err := group.Stage([]byte(record.IDKey), record.Sealed(record.IDKey, v.ID, v.Seq)); err != nil {
		return err
	}
	return group.Finish(v.Seq, s.write)
}

// openReading opens a store that cannot be written to, for the reason given.
// Badger refuses to read a directory with logs, so these become tables in a
// scratch directory, beside links to the others.
func (s *Store) openReading(v *layout.Survey, cause error) (err error) {
	dir := v.Dir
	defer func() {
		if err != nil {
			err = errors.Join(cause, err)
			if s.scratch != "" {
				err = errors.Join(err, os.RemoveAll(s.scratch))
			}
		}
	}()
	if !v.Bare() {
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
		dir = s.scratch
		if err := v.CopyTo(dir); err != nil {
			return disk.Typed(err, nil)
		}
	}
	gen, err := engine.OpenReading(dir, v, engine.Logger(s.log, s.fail))
	if err != nil {
		return err
	}
	s.reads.Init(gen, v.Seq)
	s.reading = fmt.Errorf("%w: the store was opened for reading alone", cause)
	s.log.Warn("the store is opened for reading alone", "cause", cause)
	return nil
}

// minFree is how much must be free to write, given the size of the tables.
func (s *Store) minFree(tables uint64) uint64 { return cmp.Or(s.opts.MinFree, engine.Need(tables)) }

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
	case files < engine.MinFiles:
		return fmt.Errorf("%w: the disk takes %d more files, and %d are needed", store.ErrScarce, files, engine.MinFiles)
	}
	return nil
}

// enter begins a call into Badger; exit ends it.
func (s *Store) enter() error {
	if s.closing.Load() {
		return store.ErrClosed // at once, also while Close waits
	}
	s.use.RLock()
	if err := s.usable(); err != nil {
		s.use.RUnlock()
		return err
	}
	return nil
}

// exit also turns a panic of Badger's, whose memtable is gone when it could not
// make the next one, into an error.
func (s *Store) exit(err *error) {
	s.use.RUnlock()
	if r := recover(); r != nil {
		s.fail(fmt.Errorf("panic: %v", r))
		*err = s.usable()
	}
}

func (s *Store) usable() error {
	if s.closing.Load() {
		return store.ErrClosed
	}
	return s.failed()
}

func (s *Store) failed() error {
	if cause := s.failure.Load(); cause != nil {
		return fmt.Errorf("%w: %v", store.ErrFailed, *cause)
	}
	return nil
}

// fail ends the use of the store. The first cause is kept.
func (s *Store) fail(cause error) {
	if s.failure.CompareAndSwap(nil, &cause) {
		s.log.Error("store has failed", "cause", cause)
		s.feed.Close()
	}
}

// Close waits for the commits under way and closes the directory. Nothing is
// lost by a process that ends without it, but the next Open takes longer.
//
// It returns store.ErrFull, and leaves Badger running, if there is not enough
// space for what Badger writes then; likewise the error of the operating system
// if the directory is out of reach. The store is closed to all other calls; Close
// can be called again when that has changed.
//
// It returns context.DeadlineExceeded after Options.Patience, whatever hangs: the
// disk, or Badger where it cannot make a file. The directory stays locked until
// that has ended, and another call of Close waits for it as long.
func (s *Store) Close() error {
	s.closing.Store(true)
	s.feed.Close()
	try := s.ending()
	timer := time.NewTimer(s.opts.Patience)
	defer timer.Stop()
	err := fmt.Errorf("%w: the disk did not answer in %v", context.DeadlineExceeded, s.opts.Patience)
	select {
	case <-try.over:
		err = try.err
	case <-timer.C:
	}
	if err != nil {
		return fmt.Errorf("close %q: %w", s.dir, err)
	}
	return nil
}

// ending is an attempt to close a store.
type ending struct {
	over  chan struct{} // closed when it has ended
	ended bool          // Badger has; there is no other attempt
	err   error
}

// ending returns the attempt under way, or the one that has ended Badger, or
// begins one.
func (s *Store) ending() *ending {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if try := s.closeMu.try; try != nil {
		select {
		case <-try.over:
			if try.ended {
				return try
			}
		default:
			return try
		}
	}
	try := &ending{over: make(chan struct{})}
	s.closeMu.try = try
	go func() {
		defer close(try.over)
		try.ended, try.err = s.end()
	}()
	return try
}

// yield gives up what was held for Close, and returns an error where that is not
// enough for what Badger writes.
func (s *Store) yield() error {
	if s.reading != nil {
		return nil
	}
	gen := s.reads.Generation()
	// Less than what commits need: a store can be closed whose commits have just been refused.
	err := s.checkSpace(s.minFree(gen.Tables())/2, s.dir)
	if errors.Is(err, store.ErrFull) {
		if gone := os.Remove(filepath.Join(s.dir, layout.BallastName)); gone == nil || errors.Is(gone, fs.ErrNotExist) {
			err = s.checkSpace(uint64(gen.MemTable), s.dir)
		}
	}
	if err != nil && !errors.Is(err, store.ErrScarce) {
		return err
	}
	s.room.Keep(0)
	return nil
}

// end waits for who is inside Badger, and ends that.
func (s *Store) end() (ended bool, err error) {
	s.use.Lock()
	s.reads.CloseAll()
	s.use.Unlock()
	s.stop()
	<-s.collected
	if err := s.yield(); err != nil {
		return false, err
	}
	gen := s.reads.Generation()
	err = files.Attempt(gen.DB.Close)
	if s.reading == nil {
		s.room.Discard(gen)
		if err = errors.Join(err, s.mark.Close()); err == nil {
			s.vouch(gen)
		}
	} else if s.scratch != "" {
		err = errors.Join(err, os.RemoveAll(s.scratch))
	}
	return true, errors.Join(err, s.lock.Close())
}

// vouch has the next Open trust the blocks of the tables, unless something is wrong with the
// store.
func (s *Store) vouch(gen *engine.Generation) {
	if s.failed() != nil || gen.Damaged() {
		return
	}
	if err := layout.Vouch(s.dir); err != nil {
		s.log.Debug("the next Open reads all tables", "error", err)
	}
}

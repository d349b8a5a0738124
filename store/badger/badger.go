// Package badger keeps a [store.Store] in a directory, with Badger.
//
// A [Store] opened by [Open] acknowledges a commit when it is on disk: the commit survives a kill and a power
// cut. Concurrent commits share one sync: each is atomic and checked on its own, and all are written as a
// group. Reads see what was acknowledged last, and never wait for a commit.
//
//	st, err := badger.Open(dir, nil)
//	if err != nil {
//		return err
//	}
//	defer st.Close()
//	rev, err := st.Commit(ctx, store.Op{Key: "greeting", Value: []byte("hello")})
//
// A directory is for one opener at a time, on a local file system: ext4 or xfs; Windows and macOS without the
// promise about power cuts; no network file system.
//
// # What is guarded
//
// Badger maps its files into memory, and the operating system kills a process that writes to a map when the
// disk is full. So the store refuses commits with [store.ErrFull] while too little space is free (see
// [Options.MinFree]), and with [store.ErrScarce] while too few files or descriptors are left. Reads go on, and
// commits do as soon as there is room. On Linux the logs have their room before anything is written to them. A
// store without room is opened for reading alone. Close uses room that was held for it. One risk remains:
// another program fills the disk to the last byte while Badger writes a table in the background.
//
// A disk that cannot sync may have dropped what it was given, and does not say so twice. After any such error
// the store is [store.ErrFailed] until it is closed and opened again.
//
// Damage is an error and never a missing record. Values have a checksum. Open reads and checks every file
// before Badger opens it. Each group of commits says how many entries there are, and a small file beside them,
// arc.mark, has the position of the last one. A directory that Open refuses stays as it was. After a Close, if
// the sizes and times of the files are as they were then, Open leaves the blocks of tables for later: the store
// reads and checks them in the background, and before a read returns what it found in them.
//
// # Garbage
//
// Badger's own compaction does not run: without free inodes or descriptors, it deletes what it has not
// rewritten. Instead the store rewrites itself beside the former files, compares the two, and puts the new
// files in place, while reads and commits go on; see [Store.Maintain].
//
// # What is not here
//
// No encryption, no compression, and no directory that processes share.
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
	// Logger gets what Badger reports: errors and warnings as such, the rest at debug level. Keys and values are
	// not logged. Nil: nothing is logged.
	Logger *slog.Logger

	// MinFree is the number of free bytes on the disk that Open and Commit need; Close needs half. It has to cover
	// what Badger writes in the background. 0: 96 MiB for a store of up to 128 MiB, plus a quarter of what is over
	// that, up to 448 MiB.
	MinFree uint64

	// Scratch is a directory, on another disk or in memory, for the logs of a store that is opened for reading alone
	// after a crash. Empty: /dev/shm on Linux; elsewhere such a store does not open.
	Scratch string

	// Patience is how long a commit waits for Badger to write and sync it, and Close for everything to end. If a commit
	// is not on disk by then, the store is store.ErrFailed. What a commit asks for before, free space and room for the
	// next log, has no limit, nor has the moment in which a rewrite takes the place of the former files. 0: 30 s.
	Patience time.Duration
}

// Store is a store.Store and a store.Watcher in a directory. It may be used
// concurrently. Use [Open].
//
// An iteration that is open when the store is closed ends with
// store.ErrClosed at its next step; Close does not wait for it. One that is
// never ended keeps the tables that it began with on the disk until then, and
// once a rewrite has taken place, the next one waits for it: tables become many,
// and Maintain and Purge wait.
type Store struct {
	dir  string
	opts Options
	log  *slog.Logger
	lock *os.File
	mark *layout.Mark
	feed notify.Feed[[]store.Entry]

	// use is held for reading by calls inside Badger, and for writing by Close. No call holds it while the caller's
	// code runs.
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

// Open opens the store in dir, and makes one if dir is missing or empty. Without enough room it opens the store for
// reading alone: commits return store.ErrFull or store.ErrScarce until the store is closed and opened again.
//
// Besides those of the operating system, such as fs.ErrPermission, the errors are store.ErrForeign for a file, or a
// directory with other files in it; store.ErrNewer for a store of a newer version; store.ErrLocked while it is open
// elsewhere; store.ErrFull; store.ErrScarce; and store.ErrDamaged. Open changes nothing in a directory that it
// refuses, except that it creates an empty arc.lock: it reads the files, compares them with each other, and looks
// whether there is what Badger needs, before Badger opens them. If the disk fails or fills up only then, what
// Badger makes anew is gone, and the next Open reads all.
//
// A directory that is new or was empty gets mode 0700, which protects Badger's files in it too: their own mode follows
// the umask.
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

// start opens the files, which were found whole.
func (s *Store) start(c *layout.Contents, v *layout.Survey) error {
	if err := engine.Check(v, c.Tables); err != nil {
		return err
	}
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

// create makes the first commit, which has the id of the store.
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

// openReading opens a store for reading alone, for the reason given. Badger refuses to read a directory with logs, so
// these become tables in a scratch directory, beside links to the other files.
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

// minFree returns how much must be free to write, given the size of the tables.
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

// exit also turns a panic of Badger into an error: its memtable is gone if it could not make the next one.
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

// fail ends the use of the store. It keeps the first cause.
func (s *Store) fail(cause error) {
	if s.failure.CompareAndSwap(nil, &cause) {
		s.log.Error("store has failed", "cause", cause)
		s.feed.Close()
	}
}

// Close waits for the commits under way and closes the directory. If a process ends without Close, nothing is lost, and
// the next Open takes longer.
//
// Close returns store.ErrFull, and leaves Badger running, if the disk has too little space for what Badger writes then,
// or the error of the operating system if the directory is out of reach. The store is closed to all other calls; call
// Close again when there is space.
//
// Close returns context.DeadlineExceeded after Options.Patience, if the disk hangs, or Badger, which cannot make a
// file. The directory stays locked until that has ended, and another call of Close waits as long.
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

// ending returns the attempt under way, or the one that has ended Badger; else it begins one.
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

// yield frees the room that was held for Close. It returns an error if that is too little for what Badger writes.
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

// end waits for the calls inside Badger, and ends Badger.
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

// vouch lets the next Open trust the blocks of the tables, unless something is wrong with the store.
func (s *Store) vouch(gen *engine.Generation) {
	if s.failed() != nil || gen.Damaged() {
		return
	}
	if err := layout.Vouch(s.dir); err != nil {
		s.log.Debug("the next Open reads all tables", "error", err)
	}
}

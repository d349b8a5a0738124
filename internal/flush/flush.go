// Package flush writes small changes behind the caller: they are in memory at
// once and on disk with the next group.
package flush

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/store"
)

// Delay is how long a change waits for others before it is written.
const Delay = 50 * time.Millisecond

// A group is written before it can outgrow a commit. Together with one that failed it may be
// as large as that, less what a lease adds.
const (
	maxBytes    = store.MaxCommitBytes / 4
	maxOps      = store.MaxCommitOps / 4
	commitBytes = store.MaxCommitBytes - store.MaxKey - 1<<10
	commitOps   = store.MaxCommitOps - 1
)

// Writer collects writes of absolute values and commits them as one group, at
// the latest Delay after the first. Groups are committed one after another,
// in order; a group that could not be written is joined with the next and
// tried again, and the next call returns its error if it is not written by then.
//
// The owner must write a key through the Writer only, once it has done so. A
// Writer may be used concurrently. It has no goroutine while nothing waits.
type Writer struct {
	st   store.Store
	turn chan struct{} // holds one token; its holder commits

	mu struct {
		sync.Mutex
		pending *group // to be written
		writing *group // being written; its holder of the turn alone changes it
		timer   *time.Timer
		waiting bool  // the timer runs
		err     error // of the last group, until a call has returned it
		closed  bool
	}
}

// Late is a record that changes more often than it is written: its value is asked for
// when its group is. It has one Writer, and is not copied once that knows it.
type Late struct {
	Key   string
	value func(buf []byte) ([]byte, error)
	at    int // in the ops of the last group
}

// LateOf returns the Late of a key. Value appends to buf, and is called with the Writer locked.
func LateOf(key string, value func(buf []byte) ([]byte, error)) Late {
	return Late{Key: key, value: value}
}

// Batch is a list of changes that becomes ops when their group is written. It has one
// Writer, and is not copied once that knows it.
type Batch struct {
	ops      func(add func(store.Op)) error
	n, bytes int // of the ops at most; zero: no group will ask for them
}

// BatchOf returns a Batch. Its function adds the ops of all changes, in order, and then
// drops these; it is called with the Writer locked.
func BatchOf(ops func(add func(store.Op)) error) Batch { return Batch{ops: ops} }

// lateBytes is more than most Lates take, encoded.
const lateBytes = 1 << 10

// group holds writes in the order in which their keys came.
type group struct {
	ops   []store.Op
	late  []*Late        // by op; nil: the op has its value
	at    map[string]int // of a key in ops
	bytes int            // what batches come to among them
	more  int            // ops of batches at most
	batch []*Batch       // what they add comes behind ops
	add   func(store.Op) // include, for them
	block []byte         // what the late have become, until it is full
}

func newGroup() *group {
	g := &group{at: make(map[string]int)}
	g.add = func(op store.Op) { g.include(op, nil) }
	return g
}

// include has the group write op, or late under its key.
func (g *group) include(op store.Op, late *Late) {
	i, ok := g.at[op.Key]
	if ok {
		if g.bytes -= len(op.Key) + len(g.ops[i].Value); g.late[i] != nil {
			g.bytes -= lateBytes
		}
	} else {
		i = len(g.ops)
		g.at[op.Key], g.ops, g.late = i, append(g.ops, store.Op{}), append(g.late, nil)
	}
	g.bytes += len(op.Key) + len(op.Value)
	if g.ops[i], g.late[i] = op, late; late != nil {
		late.at, g.bytes = i, g.bytes+lateBytes
	}
}

func (g *group) empty() bool { return len(g.ops) == 0 && len(g.batch) == 0 }

// unpack has batches add their ops.
func (g *group) unpack() error {
	for i, b := range g.batch {
		if err := b.ops(g.add); err != nil {
			g.batch = slices.Delete(g.batch, 0, i)
			return err
		}
		g.bytes, g.more, b.n, b.bytes = g.bytes-b.bytes, g.more-b.n, 0, 0
	}
	clear(g.batch)
	g.batch = g.batch[:0]
	return nil
}

// holds reports whether the group asks for the value of late.
func (g *group) holds(late *Late) bool { return late.at < len(g.late) && g.late[late.at] == late }

// ripen gives an op its value, as it stands.
func (g *group) ripen(i int) (err error) {
	late := g.late[i]
	if late == nil {
		return nil
	}
	if cap(g.block)-len(g.block) < lateBytes {
		g.block = make([]byte, 0, 8*lateBytes)
	}
	from := len(g.block)
	block, err := late.value(g.block)
	if err == nil {
		g.block, g.ops[i].Value, g.late[i] = block, slices.Clip(block[from:]), nil
		g.bytes += len(block) - from - lateBytes
	}
	return err
}

func (g *group) clear() {
	clear(g.ops)
	clear(g.late)
	clear(g.at)
	g.ops, g.late, g.bytes = g.ops[:0], g.late[:0], 0
}

// Shared is a store all of whose Writers are one: what its users change
// together is committed together. Closing one of them closes all.
type Shared struct {
	store.Store
	w *Writer

	mu      sync.Mutex
	shut    bool
	commits sync.WaitGroup // those under way; none is added once it is shut
}

// Share returns st as a store whose Writers are one.
func Share(st store.Store) *Shared {
	s := &Shared{Store: st}
	s.w = newWriter(s)
	return s
}

// Commit is that of the store, until Shut.
func (s *Shared) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return 0, store.ErrClosed
	}
	s.commits.Add(1)
	s.mu.Unlock()
	defer s.commits.Done()
	return s.Store.Commit(ctx, ops...)
}

// Shut has every later commit return store.ErrClosed, and waits for those under
// way. It leaves the store open.
func (s *Shared) Shut() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.commits.Wait()
}

// New returns a Writer to st, which it does not close.
func New(st store.Store) *Writer {
	if s, ok := st.(*Shared); ok {
		return s.w
	}
	return newWriter(st)
}

func newWriter(st store.Store) *Writer {
	w := &Writer{st: st, turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	w.mu.pending, w.mu.writing = newGroup(), newGroup()
	return w
}

// Add joins ops, which must be unconditional, to the pending group: they are
// committed together or not at all. A later Add of the same key replaces the
// earlier. It returns the error of an earlier group, if there is one that no
// call has returned yet; ops are added all the same, unless the group is full
// because the store refuses it, or the Writer is closed.
func (w *Writer) Add(ctx context.Context, ops ...store.Op) error {
	return w.Change(ctx, nil, nil, ops...)
}

// Change is Add that calls apply, unless it is nil, when the ops are added: what that
// changes of the late is written with them. What late are encoded of changes in no other
// way.
func (w *Writer) Change(ctx context.Context, apply func(), late []*Late, ops ...store.Op) error {
	if err := store.CheckOps(ops); err != nil {
		return err
	}
	return w.pend(ctx, func() int {
		if apply != nil {
			apply()
		}
		return 0
	}, late, nil, len(ops), sizeOf(ops), ops)
}

// ChangeBatch is Change of what apply adds to a batch: n ops of size bytes at most, which
// a commit can hold. It returns by how many there are more.
func (w *Writer) ChangeBatch(ctx context.Context, apply func() int, late []*Late, b *Batch, n, size int) error {
	return w.pend(ctx, apply, late, b, n, size, nil)
}

// pend is Change, or ChangeBatch if b is not nil.
func (w *Writer) pend(
	ctx context.Context, apply func() int, late []*Late, b *Batch, n, size int, ops []store.Op,
) error {
	all := size + lateBytes*len(late)
	w.mu.Lock()
	for !w.mu.closed && !w.holdsLocked(all, len(late)+n) {
		w.mu.Unlock()
		if err := w.Flush(ctx); err != nil {
			return err
		}
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	if w.mu.closed {
		return store.ErrClosed
	}
	g := w.mu.pending
	if len(ops) > 0 { // behind those of batches, whose keys they may have
		if err := g.unpack(); err != nil {
			return err
		}
	}
	for i := range ops {
		g.include(ops[i], nil)
	}
	for _, l := range late {
		if !g.holds(l) {
			g.include(store.Op{Key: l.Key}, l)
		}
	}
	n = apply()
	if b != nil {
		if b.n == 0 {
			g.batch = append(g.batch, b)
		}
		g.bytes, g.more, b.n, b.bytes = g.bytes+size, g.more+n, b.n+n, b.bytes+size
	}
	w.startLocked()
	err := w.mu.err
	w.mu.err = nil
	return err
}

// holdsLocked reports whether so much more can be pending. Large ops are a group by themselves.
func (w *Writer) holdsLocked(bytes, ops int) bool {
	g, failing := w.mu.pending, w.mu.writing // the latter may become part of the former
	bytes, ops = bytes+g.bytes, ops+len(g.ops)+g.more
	return (g.empty() || bytes <= maxBytes && ops <= maxOps) &&
		(failing.empty() || bytes+failing.bytes <= commitBytes && ops+len(failing.ops) <= commitOps)
}

// startLocked sees to it that what is pending is written after the Delay.
func (w *Writer) startLocked() {
	if w.mu.waiting || w.mu.pending.empty() {
		return
	}
	w.mu.waiting = true
	if w.mu.timer != nil {
		w.mu.timer.Reset(Delay)
		return
	}
	w.mu.timer = time.AfterFunc(Delay, func() {
		// The caller is gone: the error waits for the next.
		if err := w.flush(context.Background()); err != nil {
			w.mu.Lock()
			w.mu.err = err
			w.mu.Unlock()
		}
	})
}

// Pending returns the write of key that is not on disk yet, if any, so that
// the owner can read its own writes.
func (w *Writer) Pending(key string) (store.Op, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range [...]*group{w.mu.pending, w.mu.writing} {
		_ = g.unpack() // without it the key reads as not there
		if i, ok := g.at[key]; ok {
			_ = g.ripen(i) // without a value it reads as damaged
			return g.ops[i], true
		}
	}
	return store.Op{}, false
}

// Flush writes what is pending and waits for it. Callers that arrive while a
// group is being written share the next.
func (w *Writer) Flush(ctx context.Context) error {
	if ctx == nil {
		return store.CheckContext(ctx)
	}
	err := w.flush(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.mu.err
	}
	w.mu.err = nil
	return err
}

func (w *Writer) flush(ctx context.Context) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	defer w.passTurn()
	group, err := w.group()
	if len(group) == 0 {
		return err
	}
	_, err = w.st.Commit(ctx, group...)
	w.done(err)
	return err
}

// Commit commits ops, which may have conditions, in one commit with all that
// is pending, and returns the revision. If it fails, what was pending is tried
// again later, and ops are not. It does not report errors of earlier groups:
// they are part of this one.
func (w *Writer) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := w.takeTurn(ctx); err != nil {
		return 0, err
	}
	group, err := w.group()
	if len(group) == 0 {
		// Nothing to wait for: commits of other callers go on side by side.
		w.passTurn()
		if err != nil {
			return 0, err
		}
		return w.st.Commit(ctx, ops...)
	}
	defer w.passTurn()
	all := append(group, ops...)
	if len(all) > commitOps || sizeOf(all) > commitBytes {
		if _, err := w.st.Commit(ctx, group...); err != nil {
			w.done(err)
			return 0, err
		}
		w.done(nil)
		return w.st.Commit(ctx, ops...)
	}
	rev, err := w.st.Commit(ctx, all...)
	w.done(err)
	return rev, err
}

// sizeOf is the bytes of keys and values.
func sizeOf(ops []store.Op) (size int) {
	for i := range ops {
		size += len(ops[i].Key) + len(ops[i].Value)
	}
	return size
}

func (w *Writer) takeTurn(ctx context.Context) error {
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Writer) passTurn() { w.turn <- struct{}{} }

// group makes what is pending the group to be written, and returns its ops. What cannot be
// encoded is tried again. The caller has the turn.
func (w *Writer) group() (ops []store.Op, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.waiting {
		w.mu.timer.Stop()
		w.mu.waiting = false
	}
	g := w.mu.pending
	err = g.unpack()
	for i := 0; err == nil && i < len(g.ops); i++ {
		err = g.ripen(i)
	}
	if err != nil {
		w.retryLocked()
		return nil, err
	}
	w.mu.pending, w.mu.writing = w.mu.writing, g
	return g.ops, nil
}

// retryLocked sees to it that what failed is written after the Delay.
func (w *Writer) retryLocked() {
	if !w.mu.closed {
		w.startLocked()
	}
}

// done ends the group. One that was not written is pending again.
func (w *Writer) done(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.mu.err = nil // what could not be written before was part of this
	} else {
		for _, op := range w.mu.writing.ops {
			if _, newer := w.mu.pending.at[op.Key]; !newer {
				w.mu.pending.include(op, nil)
			}
		}
		w.retryLocked()
	}
	w.mu.writing.clear()
}

// Close writes what is pending and refuses what comes later. It is
// idempotent. It returns the error of a group that could not be written.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.mu.closed = true
	w.mu.Unlock()
	err := w.Flush(context.Background())
	if errors.Is(err, store.ErrClosed) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.mu.pending.empty() {
			return nil
		}
	}
	return err
}

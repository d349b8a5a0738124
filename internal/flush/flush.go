// Package flush writes small changes behind the caller: they are in memory at
// once and on disk with the next group.
package flush

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/arc-learn/arc/store"
)

// Delay is how long a change waits for others before it is written.
const Delay = 50 * time.Millisecond

// A group is written before it can outgrow a commit, even together with one
// that failed and waits to be tried again.
const (
	maxBytes = store.MaxCommitBytes / 4
	maxOps   = store.MaxCommitOps / 4
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
	ops  []store.Op    // of the group being written; belongs to the turn

	mu struct {
		sync.Mutex
		pending map[string]store.Op // to be written
		writing map[string]store.Op // being written
		bytes   int                 // of pending
		timer   *time.Timer
		waiting bool  // the timer runs
		err     error // of the last group, until a call has returned it
		closed  bool
	}
}

// Shared is a store all of whose Writers are one: what its users change
// together is committed together. Closing one of them closes all.
type Shared struct {
	store.Store
	w *Writer

	mu struct {
		sync.Mutex
		commits int           // under way
		shut    chan struct{} // not nil: Shut waits until it is closed
	}
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
	if s.mu.shut != nil {
		s.mu.Unlock()
		return 0, store.ErrClosed
	}
	s.mu.commits++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.commits--
		if s.mu.shut != nil && s.mu.commits == 0 {
			close(s.mu.shut)
		}
	}()
	return s.Store.Commit(ctx, ops...)
}

// Shut has every later commit return store.ErrClosed, and waits for those under
// way. It is called once, and leaves the store open.
func (s *Shared) Shut() {
	s.mu.Lock()
	s.mu.shut = make(chan struct{})
	if s.mu.commits == 0 {
		close(s.mu.shut)
	}
	s.mu.Unlock()
	<-s.mu.shut
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
	w.mu.pending, w.mu.writing = make(map[string]store.Op), make(map[string]store.Op)
	return w
}

// Add joins ops, which must be unconditional, to the pending group: they are
// committed together or not at all. A later Add of the same key replaces the
// earlier. It returns the error of an earlier group, if there is one that no
// call has returned yet; ops are added all the same, unless the group is full
// because the store refuses it, or the Writer is closed.
func (w *Writer) Add(ctx context.Context, ops ...store.Op) error {
	if err := store.CheckOps(ops); err != nil {
		return err
	}
	size := 0
	for i := range ops {
		size += len(ops[i].Key) + len(ops[i].Value)
	}
	w.mu.Lock()
	for w.mu.bytes+size > maxBytes || len(w.mu.pending)+len(ops) > maxOps {
		if w.mu.closed || len(w.mu.pending) == 0 {
			break
		}
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
	for _, op := range ops {
		w.putLocked(op)
	}
	w.startLocked()
	err := w.mu.err
	w.mu.err = nil
	return err
}

// startLocked sees to it that what is pending is written after the Delay.
func (w *Writer) startLocked() {
	if w.mu.waiting || len(w.mu.pending) == 0 {
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

func (w *Writer) putLocked(op store.Op) {
	if old, ok := w.mu.pending[op.Key]; ok {
		w.mu.bytes -= len(old.Key) + len(old.Value)
	}
	w.mu.bytes += len(op.Key) + len(op.Value)
	w.mu.pending[op.Key] = op
}

// Pending returns the write of key that is not on disk yet, if any, so that
// the owner can read its own writes.
func (w *Writer) Pending(key string) (store.Op, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if op, ok := w.mu.pending[key]; ok {
		return op, true
	}
	op, ok := w.mu.writing[key]
	return op, ok
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
	if w.group() == 0 {
		return nil
	}
	_, err := w.st.Commit(ctx, w.ops...)
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
	if w.group() == 0 {
		// Nothing to wait for: commits of other callers go on side by side.
		w.passTurn()
		return w.st.Commit(ctx, ops...)
	}
	defer w.passTurn()
	n := len(w.ops)
	w.ops = append(w.ops, ops...)
	if !fits(w.ops) {
		if _, err := w.st.Commit(ctx, w.ops[:n]...); err != nil {
			w.done(err)
			return 0, err
		}
		w.done(nil)
		return w.st.Commit(ctx, ops...)
	}
	rev, err := w.st.Commit(ctx, w.ops...)
	w.done(err)
	return rev, err
}

// fits reports whether ops are within the limits of one commit.
func fits(ops []store.Op) bool {
	size := 0
	for i := range ops {
		size += len(ops[i].Key) + len(ops[i].Value)
	}
	return len(ops) <= store.MaxCommitOps && size <= store.MaxCommitBytes
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

// group makes what is pending the group to be written, in ops, and returns its
// size. The caller has the turn.
func (w *Writer) group() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.pending, w.mu.writing, w.mu.bytes = w.mu.writing, w.mu.pending, 0
	if w.mu.waiting {
		w.mu.timer.Stop()
		w.mu.waiting = false
	}
	w.ops = w.ops[:0]
	for _, op := range w.mu.writing {
		w.ops = append(w.ops, op)
	}
	return len(w.ops)
}

// done ends the group. One that was not written is pending again.
func (w *Writer) done(err error) {
	clear(w.ops)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.mu.err = nil // what could not be written before was part of this
	} else {
		for _, op := range w.mu.writing {
			if _, newer := w.mu.pending[op.Key]; !newer {
				w.putLocked(op)
			}
		}
		if !w.mu.closed {
			w.startLocked() // to try again
		}
	}
	clear(w.mu.writing)
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
		if len(w.mu.pending) == 0 {
			return nil
		}
	}
	return err
}

// Package flush is a write-behind buffer: it keeps small changes in memory, and commits
// them as one group shortly after.
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

// A group is written before it outgrows a commit. Joined with one that failed it may be as
// large as a commit, less the one op that a lease adds.
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
// Once a key was written through the Writer, its owner must not write it in another way. A
// Writer is safe for concurrent use. It has no goroutine while nothing is pending.
type Writer struct {
	st   store.Store
	turn chan struct{} // holds one token; its holder commits

	mu struct {
		sync.Mutex
		pending *group // to be written
		writing *group // being written; only the holder of the turn changes it
		timer   *time.Timer
		waiting bool  // the timer is running
		err     error // of the last group, until a call has returned it
		closed  bool
	}
}

// Late is a record that changes more often than it is written: the Writer asks for its value
// when it writes the group. A Late belongs to one Writer, and must not be copied after its
// first use.
type Late struct {
	Key   string
	value func(buf []byte) ([]byte, error)
	at    int // in the ops of the last group
}

// LateOf returns the Late of a key. Value appends the encoded record to buf. It is called with
// the Writer locked.
func LateOf(key string, value func(buf []byte) ([]byte, error)) Late {
	return Late{Key: key, value: value}
}

// Batch is a list of changes that are encoded when their group is written. A Batch belongs to
// one Writer, and must not be copied after its first use.
type Batch struct {
	ops      func(add func(store.Op)) error
	n, bytes int // at most, of the ops; zero: the Batch is in no group
}

// BatchOf returns a Batch. Ops adds the ops of all changes, in order, and then forgets the
// changes. It is called with the Writer locked.
func BatchOf(ops func(add func(store.Op)) error) Batch { return Batch{ops: ops} }

// lateBytes is the room counted for a Late before it is encoded. Most take less.
const lateBytes = 1 << 10

// group holds writes in the order in which their keys came first.
type group struct {
	ops   []store.Op
	late  []*Late        // by op; nil: the op has its value
	at    map[string]int // of a key in ops
	bytes int            // of ops, late records and batches, at most
	more  int            // ops that batches will add, at most
	batch []*Batch       // their ops come behind ops
	add   func(store.Op) // what a Batch calls
	block []byte         // holds encoded late records
}

func newGroup() *group {
	g := &group{at: make(map[string]int)}
	g.add = func(op store.Op) { g.include(op, nil) }
	return g
}

// include puts op, or late under op's key, into the group. It replaces an earlier write of the key.
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

// unpack turns the batches into ops.
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

// holds reports whether late is in the group and not encoded yet.
func (g *group) holds(late *Late) bool { return late.at < len(g.late) && g.late[late.at] == late }

// ripen encodes the late record of an op, as it is now.
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

// Shared is a store with one Writer for all its users: their pending changes are committed
// together. Closing the Writer of one closes it for all.
type Shared struct {
	store.Store
	w *Writer

	mu      sync.Mutex
	shut    bool
	commits sync.WaitGroup // in flight; none is added once shut is set
}

// Share returns st as a store with one Writer.
func Share(st store.Store) *Shared {
	s := &Shared{Store: st}
	s.w = newWriter(s)
	return s
}

// Commit implements store.Store. After Shut it returns store.ErrClosed.
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

// Shut makes every later commit return store.ErrClosed, and waits for those in flight. It
// leaves the store open.
func (s *Shared) Shut() {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.commits.Wait()
}

// New returns a Writer to st, or the one that a Shared has. It does not close st.
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

// Add adds ops, which must be unconditional, to the pending group: they are committed
// together or not at all. A later Add of the same key replaces the earlier. The error is that
// of an earlier group, if no call has returned it yet; the ops are added nevertheless, unless
// they cannot be encoded, the group is full and ctx ends or the store refuses it, or the
// Writer is closed.
func (w *Writer) Add(ctx context.Context, ops ...store.Op) error {
	return w.Change(ctx, nil, nil, ops...)
}

// Change is Add for ops and late records. It calls apply, unless that is nil, under the
// Writer's lock together with adding the ops. Only apply may change what the late records
// are encoded from.
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

// ChangeBatch is Change for changes that apply adds to a batch: at most n ops of size bytes,
// which fit a commit. Apply returns how many ops it has added.
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
	if len(ops) > 0 { // batches first: ops may write the same keys, and are later
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

// holdsLocked reports whether so much more fits the pending group. A change that is too large
// for any group becomes one by itself.
func (w *Writer) holdsLocked(bytes, ops int) bool {
	g, failing := w.mu.pending, w.mu.writing // if writing fails it is joined with pending
	bytes, ops = bytes+g.bytes, ops+len(g.ops)+g.more
	return (g.empty() || bytes <= maxBytes && ops <= maxOps) &&
		(failing.empty() || bytes+failing.bytes <= commitBytes && ops+len(failing.ops) <= commitOps)
}

// startLocked starts the timer that writes the pending group, unless it is running.
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
		_ = w.flush(context.Background(), true) // no caller waits here: the next call returns the error
	})
}

// Pending returns the write of key that is not committed yet, if any, so that the owner can
// read its own writes.
func (w *Writer) Pending(key string) (store.Op, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range [...]*group{w.mu.pending, w.mu.writing} {
		_ = g.unpack() // the flush returns its error; till then the key is not found
		if i, ok := g.at[key]; ok {
			_ = g.ripen(i) // the flush returns its error; till then the value is damaged
			return g.ops[i], true
		}
	}
	return store.Op{}, false
}

// Flush commits the pending group and waits for it. Callers that arrive during a commit share
// the next.
func (w *Writer) Flush(ctx context.Context) error {
	if ctx == nil {
		return store.CheckContext(ctx)
	}
	err := w.flush(ctx, false)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.mu.err
	}
	w.mu.err = nil
	return err
}

// flush is Flush of the group alone. With later the next call returns the error, unless the group is written by then.
func (w *Writer) flush(ctx context.Context, later bool) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	defer w.passTurn()
	group, err := w.group()
	if len(group) > 0 {
		_, err = w.st.Commit(ctx, group...)
		w.done(err)
	}
	if err != nil && later {
		w.mu.Lock()
		w.mu.err = err
		w.mu.Unlock()
	}
	return err
}

// Commit commits ops, which may have conditions, in one commit with the pending group, or
// behind it if the two are too large for one, and returns the revision. If it fails, the
// pending group is tried again later, and ops are not. It does not return errors of earlier
// groups, since their changes are part of this commit.
func (w *Writer) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := w.takeTurn(ctx); err != nil {
		return 0, err
	}
	group, err := w.group()
	if len(group) == 0 {
		// Nothing is pending: commits of several callers need no order.
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

// sizeOf returns the bytes of all keys and values.
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

// group makes the pending group the one being written, and returns its ops. If a record cannot
// be encoded the group stays pending and is tried again. The caller holds the turn.
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

// retryLocked starts the timer for a group that failed, unless the Writer is closed.
func (w *Writer) retryLocked() {
	if !w.mu.closed {
		w.startLocked()
	}
}

// done ends the group being written. If its commit failed its writes are pending again.
func (w *Writer) done(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.mu.err = nil // the changes of groups that had failed were part of this one
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

// Close commits what is pending and makes later calls of Add return store.ErrClosed. It is
// idempotent. The error is that of a group that could not be written.
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

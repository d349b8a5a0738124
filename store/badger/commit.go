package badger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/engine"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// Commit applies all ops or none, and returns when they are on disk.
//
// Badger syncs once per transaction, so commits that wait at the same time share one. The caller that gets the turn
// takes all that wait, its own among them. Each commit is checked against the store and against those before it in the
// group. One that fails is left out.
//
// If the disk fails while the group is written, the outcome of its commits is unknown, and the store is
// store.ErrFailed.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	if err := store.CheckOps(ops); err != nil {
		return 0, err
	}
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.use.RUnlock()
	if len(ops) == 0 {
		return 0, nil
	}
	if s.reading != nil {
		return 0, s.reading
	}
	r := newRequest(ops)
	s.queue.add(r)
	select {
	case <-r.done:
		return r.rev, r.err
	case <-s.turn:
		for !r.isDone() {
			s.writeGroup(s.queue.take())
		}
		s.turn <- struct{}{}
		return r.rev, r.err
	case <-ctx.Done():
		if s.queue.withdraw(r) {
			return 0, ctx.Err()
		}
		<-r.done // too late: it is being written
		return r.rev, r.err
	}
}

// request is a commit that waits for a group.
type request struct {
	writes []write
	size   int
	done   chan struct{}

	// Set before done is closed.
	rev store.Revision
	err error
}

// write is an op in Badger's terms.
type write struct {
	key  []byte
	rec  []byte // nil: delete
	sum  uint32
	cond store.Condition
}

// newRequest copies ops, and does the part of the work that needs no turn.
func newRequest(ops []store.Op) *request {
	r := &request{writes: make([]write, len(ops)), done: make(chan struct{})}
	for i := range ops {
		w := write{key: []byte(record.Host + ops[i].Key), cond: ops[i].If}
		if !ops[i].Delete {
			w.rec, w.sum = record.New(w.key, ops[i].Value)
		}
		r.writes[i] = w
		r.size += len(w.key) + len(w.rec) + engine.EntryOverhead
	}
	return r
}

func (r *request) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// queue holds the requests that no group has taken yet, in order of arrival.
type queue struct {
	mu struct {
		sync.Mutex
		waiting []*request
	}
}

func (q *queue) add(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.waiting = append(q.mu.waiting, r)
}

// take removes as many requests as fit into a group.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size, ops := 0, 0, 0
	for _, r := range q.mu.waiting {
		size += r.size
		ops += len(r.writes)
		if n > 0 && (size > engine.MaxGroupSize || ops > engine.MaxGroupOps) {
			break
		}
		n++
	}
	group := q.mu.waiting[:n:n]
	q.mu.waiting = q.mu.waiting[n:]
	if len(q.mu.waiting) == 0 {
		q.mu.waiting = nil
	}
	return group
}

// withdraw removes a request, and reports false if it has been taken.
func (q *queue) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.mu.waiting, r)
	if i < 0 {
		return false
	}
	q.mu.waiting = slices.Delete(q.mu.waiting, i, i+1)
	return true
}

// writeGroup commits the requests of a group whose conditions hold, and finishes all. The caller has the turn.
func (s *Store) writeGroup(group []*request) {
	accepted, seq, err := s.stageAndCommit(group)
	if err == nil && len(accepted) > 0 {
		s.mark.Move(seq)
		s.reads.Advance(seq, func() { s.publish(accepted) })
		s.keepTail(accepted, seq)
	}
	for _, r := range group {
		if err != nil && r.err == nil {
			r.rev, r.err = 0, err
		}
		close(r.done)
	}
}

// keepTail keeps what was committed for a rewrite that follows, and asks for a rewrite when there are many tables.
func (s *Store) keepTail(accepted []*request, seq uint64) {
	if s.tail != nil {
		for _, r := range accepted {
			s.tail.writes = append(s.tail.writes, r.writes...)
		}
		s.tail.seq = seq
		return
	}
	if _, due := s.reads.Generation().Crowded(); due {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// stageAndCommit returns the requests that were written. The others have their
// own error, or share the one returned.
func (s *Store) stageAndCommit(requests []*request) (accepted []*request, seq uint64, err error) {
	defer func() { // the turn goes on, and all that wait hear of it
		if r := recover(); r != nil {
			s.fail(fmt.Errorf("panic: %v", r))
			accepted, err = nil, fmt.Errorf("commit: outcome unknown: panic: %v", r)
		}
	}()
	if err := s.ready(); err != nil {
		return nil, 0, err
	}
	seq = s.reads.Last()
	group := s.reads.Generation().Group(seq)
	defer group.Discard()
	for _, r := range requests {
		if r.err = r.check(group); r.err != nil {
			continue
		}
		seq++
		r.rev = store.Revision(seq)
		if err := r.stage(group); err != nil {
			return nil, 0, err // nothing is written before commitAt
		}
		accepted = append(accepted, r)
	}
	if len(accepted) == 0 {
		return nil, 0, nil
	}
	if err = group.Finish(seq, s.commitAt); err == nil {
		err = s.failed() // a sync failed behind Badger's back
	}
	if err != nil {
		s.fail(err)
		if unwritten(err) {
			return nil, 0, s.usable()
		}
		return nil, 0, fmt.Errorf("commit: outcome unknown: %v", err)
	}
	return accepted, seq, nil
}

// unwritten reports whether Badger has written nothing of a transaction: it makes the log first.
func unwritten(err error) bool { return strings.Contains(err.Error(), "cannot create new mem table") }

// ready returns the error with which a group is refused before it begins.
func (s *Store) ready() error {
	if err := s.failed(); err != nil {
		return err
	}
	gen := s.reads.Generation()
	err := s.checkSpace(s.minFree(gen.Tables()), s.dir)
	if err == nil {
		err = s.room.CheckFiles()
	}
	if err == nil {
		err = gen.CheckMemory()
	}
	if err == nil {
		err = s.room.Logs(gen)
	}
	if err != nil && !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrScarce) {
		// The directory is out of reach, and Badger would go on writing to
		// files that no Open finds again.
		s.fail(err)
		return fmt.Errorf("%w: %v", store.ErrFailed, err)
	}
	return err
}

// check returns nil if all conditions hold. The transaction has what the group has written so far.
func (r *request) check(group *engine.Group) error {
	for i := range r.writes {
		w := &r.writes[i]
		if w.cond == store.Any {
			continue
		}
		rev, err := group.Revision(w.key)
		if err != nil {
			return err
		}
		if !w.cond.Holds(store.Revision(rev)) {
			return fmt.Errorf("%w: %q", store.ErrConflict, record.Name(w.key))
		}
	}
	return nil
}

func (r *request) stage(group *engine.Group) error {
	for i := range r.writes {
		w := &r.writes[i]
		if w.rec != nil {
			record.Seal(w.rec, w.sum, uint64(r.rev))
		}
		if err := group.Stage(w.key, w.rec); err != nil {
			return err
		}
	}
	return nil
}

// write writes and syncs a transaction. Everything in it has the version seq. If the disk hangs, or Badger tries a
// flush for ever, it returns an error after patience.
func (s *Store) write(txn *badger.Txn, seq uint64) error {
	done := make(chan error, 1)
	if err := txn.CommitAt(seq, func(err error) { done <- err }); err != nil {
		return err
	}
	timer := time.NewTimer(s.opts.Patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("the disk did not answer in %v", s.opts.Patience)
	}
}

// publish gives a group to the watchers. They share the values with Badger, which does not change them any more.
func (s *Store) publish(group []*request) {
	if !s.feed.Followed() {
		return
	}
	var entries []store.Entry
	for _, r := range group {
		for i := range r.writes {
			w := &r.writes[i]
			e := store.Entry{Key: record.Name(w.key), Rev: r.rev, Deleted: w.rec == nil}
			if w.rec != nil {
				e.Value = w.rec[record.Header:]
			}
			entries = append(entries, e)
		}
	}
	s.feed.Publish(entries)
}

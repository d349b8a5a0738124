package badger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/arc-learn/arc/store"
)

// request is a commit that waits to be carried out.
type request struct {
	ops  []store.Op
	rev  store.Revision // the answer, once done is closed
	err  error
	done chan struct{}
}

// Commit applies all ops or none, and returns when they are on disk. Once it has begun it waits for the
// outcome, for as long as a rewrite takes. One of those who wait leads: it carries out what waits, as one
// group, so that no commit waits for another goroutine to begin with it.
func (s *disk) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.Check(ops...); err != nil {
		return 0, err
	}
	r := &request{ops: ops, done: make(chan struct{})}
	if err := s.admit(ctx, r); err != nil {
		return 0, err
	}
	defer s.asking.Done()
	for {
		select {
		case <-r.done:
			return r.rev, r.err
		case s.lead <- struct{}{}:
			s.carryOut()
			<-s.lead
		}
	}
}

// Compact rewrites the store while commits wait. The files then hold nothing that was deleted or replaced
// before; what a scan still reads goes with the scan. Twice the size of the store must be free, or it returns
// [store.ErrFull]. A ctx that ends leaves the store as it was.
func (s *disk) Compact(ctx context.Context) error {
	if err := s.admit(ctx); err != nil {
		return err
	}
	defer s.asking.Done()
	s.lead <- struct{}{}
	defer func() { <-s.lead }()
	return s.rewrite(ctx)
}

// admit queues requests of a caller, for whom Close then waits until s.asking.Done.
func (s *disk) admit(ctx context.Context, rs ...*request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := cmp.Or(ctx.Err(), s.usableLocked())
	if err == nil {
		s.mu.queue = append(s.mu.queue, rs...)
		s.asking.Add(1)
	}
	return err
}

// carryOut makes the next group of what waits, and before that a rewrite that is due.
func (s *disk) carryOut() {
	if added, rest, _ := s.mu.gen.tables(); added > max(manyTables+rest, s.tried) && s.life.Err() == nil {
		s.tried = added
		_ = s.rewrite(s.life) // which says why there is none
	}
	g := group{keys: map[string]bool{}}
	s.mu.Lock()
	for len(s.mu.queue) > 0 && g.takes(s.mu.queue[0]) {
		s.mu.queue = s.mu.queue[1:]
	}
	s.mu.Unlock()
	if len(g.all) > 0 { // else others have led
		s.commit(&g)
	}
}

// group is what is written and synced together. No commit of it has a key that another writes, so each may be
// checked against the state before the group, in any order.
type group struct {
	all  []*request
	keys map[string]bool // true: written, not only checked
	size int
}

const maxGroupSize = tableBytes*15/100 - 64<<10 // Badger's limit of a transaction

// takes adds a commit, unless it shares a key or the group is full.
func (g *group) takes(r *request) bool {
	size := g.size
	for i := range r.ops {
		if written, there := g.keys[r.ops[i].Key]; there && (written || !r.ops[i].Check) {
			return false
		}
		size += len(r.ops[i].Key) + len(r.ops[i].Value) + 32
	}
	if len(g.all) > 0 && size > maxGroupSize {
		return false
	}
	for i := range r.ops {
		g.keys[r.ops[i].Key] = !r.ops[i].Check
	}
	g.all, g.size = append(g.all, r), size
	return true
}

// commit writes a group and answers. A write that fails leaves the outcome unknown, and the store failed.
func (s *disk) commit(g *group) {
	written, err := false, s.checkRoom(0)
	if err == nil {
		if written, err = s.mu.gen.write(g, s.mu.last+1); err != nil {
			err = s.fail(err)
		} else if written {
			s.header.moveMark(s.mu.last + 1)
			s.mu.Lock()
			s.mu.last++
			s.mu.Unlock()
		}
	}
	for _, r := range g.all {
		if r.err == nil && err != nil {
			r.rev, r.err = 0, err
		}
		close(r.done)
	}
}

// fail ends the use of a store whose disk may have dropped what it got. It returns the error of the commits.
func (s *disk) fail(cause error) error {
	s.logger.Error("a write failed: the store takes no more calls", "dir", s.dir, "error", cause)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.err = fmt.Errorf("%w after a failed write; open it again: %v", store.ErrClosed, cause)
	return fmt.Errorf("commit: the outcome is unknown: %v", cause)
}

// manyTables are added before a rewrite, more where a store is large: rewriting is a bounded share of writes.
const manyTables = 16

// rewrite copies what there is into a new generation, which then takes the place of the old one, unless the
// caller's context or the store ends. Who calls it leads: nothing is committed meanwhile.
func (s *disk) rewrite(caller context.Context) (err error) {
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	defer func() {
		if err = typed(err); err != nil && s.life.Err() != nil {
			err = store.ErrClosed
		} else if err != nil && caller.Err() == nil { // of one that has gone it is no fault
			s.logger.Warn("the store was not rewritten", "dir", s.dir, "error", err)
		}
	}()
	if s.mu.last == 0 { // there is nothing to rewrite
		return nil
	}
	old := s.mu.gen
	_, _, size := old.tables()
	if err := s.checkRoom(2 * size); err != nil {
		return err
	}
	n, _ := strconv.Atoi(filepath.Base(old.dir)[1:]) // generations has seen digits
	made, name := filepath.Join(s.dir, unfinished), filepath.Join(s.dir, fmt.Sprintf("g%06d", n+1))
	if err = old.copyTo(ctx, made, s.mu.last, s.logger); err == nil {
		err = os.Rename(made, name) // which is complete and synced
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(made))
	}
	next, err := openGeneration(name, s.logger)
	if err = errors.Join(err, syncDir(s.dir)); err != nil {
		return s.fail(err)
	}
	s.use.Lock() // no call is inside the old one any more, but for scans between their pages
	s.mu.Lock()
	s.mu.gen, s.mu.old, s.tried = next, append(s.mu.old, old), 0
	s.mu.Unlock()
	s.use.Unlock()
	s.leave(old)
	return nil
}

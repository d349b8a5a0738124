package badger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/arc-learn/arc/next/store"
)

// request is a commit or a compaction that waits for the writer.
type request struct {
	ctx     context.Context
	ops     []store.Op
	compact bool
	taken   atomic.Bool // by the writer, or by the caller who gave up
	done    chan answer
}

type answer struct {
	rev store.Revision
	err error
}

// Commit applies all ops or none, and returns when they are on disk. A ctx that ends before the writer has taken
// the commit drops it; afterwards Commit waits for the outcome.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.CheckOps(ops); err != nil {
		return 0, err
	}
	return s.ask(&request{ctx: ctx, ops: ops, done: make(chan answer, 1)})
}

// Compact rewrites the store while commits wait. The files then hold nothing that was deleted or replaced before;
// what a scan still reads goes with the scan. Twice the size of the store must be free, or it returns
// [store.ErrFull]. A ctx that ends leaves the store as it was.
func (s *Store) Compact(ctx context.Context) error {
	_, err := s.ask(&request{ctx: ctx, compact: true, done: make(chan answer, 1)})
	return err
}

// ask hands a request to the writer and waits for its answer.
func (s *Store) ask(r *request) (store.Revision, error) {
	s.mu.Lock()
	err := s.usableLocked()
	s.mu.Unlock()
	if err = errors.Join(r.ctx.Err(), err); err != nil || len(r.ops) == 0 && !r.compact {
		return 0, err
	}
	select {
	case s.queue <- r:
	case <-s.ended:
		return 0, store.ErrClosed
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
	select {
	case a := <-r.done:
		return a.rev, a.err
	case <-s.ended:
		err = store.ErrClosed
	case <-r.ctx.Done():
		err = r.ctx.Err()
	}
	if !r.taken.Swap(true) {
		return 0, err
	}
	a := <-r.done
	return a.rev, a.err
}

// write is the goroutine of all writes, until ctx ends: it takes what waits as a group.
func (s *Store) write(ctx context.Context) {
	defer close(s.ended)
	var r *request // what the group before did not take
	for written := int64(0); ; {
		if r == nil {
			select {
			case r = <-s.queue:
			case <-ctx.Done():
				if len(s.queue) == 0 {
					return // what comes now finds that the writer has ended
				}
				continue
			}
		}
		if r.compact {
			if !r.taken.Swap(true) {
				r.done <- answer{err: s.compact(ctx, r.ctx)}
			}
			r = nil
			continue
		}
		g := group{keys: map[string]bool{}}
		for r != nil && !r.compact && g.takes(r) {
			r = nil
			if len(g.all) < maxGroup && len(s.queue) > 0 {
				r = <-s.queue
			}
		}
		s.commit(&g)
		if written += int64(g.size); written < s.opts.MemoryBytes/4 {
			continue
		}
		written = 0 // there is a table more
		if s.mu.gen.due() {
			if err := s.compact(ctx, ctx); err != nil {
				s.opts.Logger.Warn("the store was not rewritten", "dir", s.dir, "error", err)
			}
		}
	}
}

// group is what is written and synced together. No commit of it has a key that another writes, so each may be
// checked against the state before the group, in any order.
type group struct {
	all  []*request
	keys map[string]bool // true: written, not only checked
	size int
}

const (
	maxGroup     = 1 << 10
	maxGroupSize = leastMemory/4*15/100 - 64<<10 // Badger's limit of a transaction
)

// takes adds a commit, unless it shares a key or the group is full. A commit whose caller gave up is dropped.
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
	if r.taken.Swap(true) {
		return true
	}
	for i := range r.ops {
		g.keys[r.ops[i].Key] = !r.ops[i].Check
	}
	g.all, g.size = append(g.all, r), size
	return true
}

// commit writes a group. A write that fails leaves the outcome unknown, and the store failed.
func (s *Store) commit(g *group) {
	s.mu.Lock()
	gen, seq, err := s.mu.gen, s.mu.last, s.mu.err
	s.mu.Unlock()
	if err == nil {
		err = s.checkRoom(0)
	}
	answers := make([]answer, len(g.all))
	if err == nil {
		var written bool
		if written, err = gen.write(g, answers, seq); err != nil {
			err = s.fail(err)
		} else if written {
			s.moveMark(seq + 1)
			s.mu.Lock()
			s.mu.last = seq + 1
			s.mu.Unlock()
		}
	}
	for i, r := range g.all {
		if answers[i].err == nil && err != nil {
			answers[i] = answer{err: err}
		}
		r.done <- answers[i]
	}
}

// compact rewrites the store, until caller or writing, which Close ends.
func (s *Store) compact(writing, caller context.Context) error {
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	defer context.AfterFunc(writing, cancel)()
	err := s.rewrite(ctx)
	if err != nil && writing.Err() != nil {
		return store.ErrClosed
	}
	return typed(err)
}

// rewrite copies what there is into a new generation, which then takes the place of the old one. Nothing is
// committed meanwhile: it is called by the writer, or before there is one.
func (s *Store) rewrite(ctx context.Context) error {
	s.mu.Lock()
	old, seq, err := s.mu.gen, s.mu.last, s.mu.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.checkRoom(2 * old.size()); err != nil {
		return err
	}
	n := 0
	if _, err := fmt.Sscanf(filepath.Base(old.dir), "g%d", &n); err != nil {
		return err
	}
	made, name := filepath.Join(s.dir, unfinished), filepath.Join(s.dir, fmt.Sprintf("g%06d", n+1))
	err = old.copyTo(ctx, made, seq, &s.opts)
	if err == nil { // the files are complete and synced: they count once they have the name
		err = errors.Join(os.Rename(made, name), syncDir(s.dir))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(made))
	}
	next, err := openGeneration(name, &s.opts)
	if err != nil {
		return s.fail(err)
	}
	s.use.Lock() // no call is inside the old one any more, but for scans between their pages
	s.mu.Lock()
	s.mu.gen, s.mu.old = next, append(s.mu.old, old)
	s.mu.Unlock()
	s.use.Unlock()
	s.drop(old)
	return nil
}

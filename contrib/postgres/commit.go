package postgres

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/arc-learn/arc/store"
)

// request is a commit that waits to be sent.
type request struct {
	keys, vals [][]byte
	kinds      []int32
	conds      []int64
	bytes      int
	writes     bool
	taken      atomic.Bool // by who sends it, or by the caller who gave up
	sent       bool        // of who sends it: he has taken it

	rev  store.Revision // the answer, once done is closed
	err  error
	done chan struct{}
}

const put, remove, check int32 = 0, 1, 2 // kinds of ops, as arc_commit takes them

func newRequest(ops []store.Op) *request {
	r := &request{done: make(chan struct{})}
	for _, op := range ops {
		kind, value := put, []byte(nil)
		switch {
		case op.Check:
			kind = check
		case op.Delete:
			kind = remove
		default:
			value = append([]byte{}, op.Value...) // empty, not NULL
		}
		r.keys, r.vals = append(r.keys, []byte(op.Key)), append(r.vals, value)
		r.kinds, r.conds = append(r.kinds, kind), append(r.conds, int64(op.If)) // Absent is -1
		r.bytes += len(op.Key) + len(value)
		r.writes = r.writes || kind != check
	}
	return r
}

// Commit applies all ops or none, and returns when PostgreSQL has acknowledged them. Where ctx or
// Options.Patience ends before they were sent they are dropped; where it ends later, the outcome is unknown.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.Check(ops...); err != nil {
		return 0, err
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if len(ops) == 0 {
		return 0, nil
	}
	r := newRequest(ops)
	s.mu.Lock()
	s.mu.queue = append(s.mu.queue, r)
	s.mu.Unlock()
	patient, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	s.tasks.Go(func() { // others may depend on it when this caller gives up
		for {
			select {
			case <-r.done:
				return
			case s.lead <- struct{}{}: // one of those that wait sends what there is for all
				if g := s.take(); len(g) > 0 {
					s.send(g)
				}
				<-s.lead
			}
		}
	})
	select {
	case <-r.done:
		return r.rev, r.err
	case <-patient.Done():
	}
	if !r.taken.Swap(true) {
		close(r.done)
		return 0, cmp.Or(ctx.Err(), fmt.Errorf("postgres: commit: no connection in %v", s.opts.Patience))
	}
	return 0, fmt.Errorf("postgres: commit: the outcome is unknown: %v", patient.Err())
}

// take returns the commits that wait first and that share no key but in checks: so they hold or not, whatever
// their order. Together they are no larger than one may be.
func (s *Store) take() (g []*request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, ops, bytes := map[string]bool{}, 0, 0 // by key; false: only checked
	for n, r := range s.mu.queue {
		ops, bytes = ops+len(r.keys), bytes+r.bytes
		fits := len(g) == 0 || ops <= 4096 && bytes <= 4<<20
		for i, key := range r.keys {
			w, named := written[string(key)]
			fits = fits && (!named || !w && r.kinds[i] == check)
		}
		if !fits {
			s.mu.queue = slices.Delete(s.mu.queue, 0, n)
			return g
		}
		for i, key := range r.keys {
			written[string(key)] = r.kinds[i] != check
		}
		g = append(g, r)
	}
	s.mu.queue = nil
	return g
}

// dropped reports whether the caller gave up before who sends it took it.
func (r *request) dropped() bool {
	r.sent = r.sent || !r.taken.Swap(true)
	return !r.sent
}

// send has a group tried until PostgreSQL has taken or refused it, and answers its callers. What was rolled
// back is sent again; what was sent and not answered is not.
func (s *Store) send(g []*request) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Patience)
	defer cancel()
	err := s.retry(ctx, func(ctx context.Context) error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return s.typed(err, false)
		}
		defer conn.Release()
		if g = slices.DeleteFunc(g, (*request).dropped); len(g) == 0 {
			return nil
		}
		return s.commit(ctx, conn, g)
	})
	for _, r := range slices.DeleteFunc(g, (*request).dropped) {
		if err != nil {
			r.rev, r.err = 0, fmt.Errorf("postgres: commit: %w", err)
		}
		close(r.done)
	}
}

// commit sends a group, and notes the answer of each commit.
func (s *Store) commit(ctx context.Context, in Tx, g []*request) error {
	if r := g[0]; len(g) == 1 && len(r.kinds) == 1 && r.kinds[0] == put {
		var rev *int64
		if err := in.QueryRow(ctx, s.sql.put, r.keys[0], r.vals[0], r.conds[0]).Scan(&rev); err != nil {
			return s.typed(err, true)
		}
		if rev == nil {
			r.err = &store.ConflictError{Key: string(r.keys[0])}
		} else {
			r.rev = store.Revision(*rev)
		}
		return nil
	}
	var all request
	var commits []int32 // by op: the number of its commit
	for i, r := range g {
		commits = append(commits, slices.Repeat([]int32{int32(i)}, len(r.keys))...)
		all.keys, all.vals = append(all.keys, r.keys...), append(all.vals, r.vals...)
		all.kinds, all.conds = append(all.kinds, r.kinds...), append(all.conds, r.conds...)
	}
	var answer []int64 // the revision, and the places of ops that do not hold
	err := in.QueryRow(ctx, s.sql.commit, commits, all.keys, all.vals, all.kinds, all.conds).Scan(&answer)
	if err != nil {
		return s.typed(err, true)
	}
	for _, r := range g {
		if r.writes {
			r.rev = store.Revision(answer[0])
		}
	}
	for _, place := range slices.Backward(answer[1:]) { // the first one of a commit counts
		r := g[commits[place-1]]
		r.rev, r.err = 0, &store.ConflictError{Key: string(all.keys[place-1])}
	}
	return nil
}

// Tx is a transaction of a host; a pgx.Tx is one.
type Tx interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// InTx returns the store within a transaction of the host, in the same database and at the level read
// committed: what is committed to it takes place with the transaction, as of a job with its order.
//
//	q, err := queue.Open(ctx, store.NewGroup(store.Sub(st.InTx(tx), store.Scope("acme").TenantPrefix())), nil)
//	_, _, err = q.Add(ctx, queue.Draft{Subject: "ship order 7"})
//	err = tx.Commit(ctx)
//
// From its first Commit to the end of the transaction all other commits to the store wait: commit last. Calls
// are made one at a time and not tried again. A Scan is read as a whole before it is yielded.
func (s *Store) InTx(tx Tx) store.Store { return inTx{s, tx} }

type inTx struct {
	s  *Store
	tx Tx
}

func (in inTx) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := cmp.Or(store.Check(store.Op{Key: key}), ctx.Err()); err != nil {
		return store.Entry{}, err
	}
	return in.s.get(ctx, in.tx, key)
}

func (in inTx) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := cmp.Or(store.Check(ops...), ctx.Err()); err != nil || len(ops) == 0 {
		return 0, err
	}
	r := newRequest(ops)
	if err := in.s.commit(ctx, in.tx, []*request{r}); err != nil {
		return 0, fmt.Errorf("postgres: commit: %w", err)
	}
	return r.rev, r.err
}

func (in inTx) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		all, err := in.s.scan(r)(ctx, in.tx, store.Entry{}, cmp.Or(r.Limit, math.MaxInt))
		for i := 0; i < len(all) && ctx.Err() == nil; i++ {
			if !yield(all[i], nil) {
				return
			}
		}
		if err = cmp.Or(ctx.Err(), err); err != nil {
			yield(store.Entry{}, err)
		}
	}
}

func (in inTx) Close() error { return nil }

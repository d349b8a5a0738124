package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc/store"
)

// Commit applies all ops or none, and returns when PostgreSQL has acknowledged them.
// The end of ctx ends the wait for a connection; from then on Options.Patience counts,
// and the outcome of a commit that takes longer is unknown.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	if err := store.CheckOps(ops); err != nil {
		return 0, err
	}
	if err := s.letIn(); err != nil {
		return 0, err
	}
	defer s.use.RUnlock()
	if len(ops) == 0 {
		return 0, nil
	}
	w := newWrite(ops)
	rev, err := s.send(ctx, w)
	if err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	s.tell()
	return rev, nil
}

// tell wakes those that watch, here and in other processes.
func (s *Store) tell() {
	s.news.rouse()
	select {
	case s.hints <- struct{}{}:
	default: // one is due already
	}
}

// write is a commit as arc_commit takes it.
type write struct {
	keys, values [][]byte
	conds        []int64
	locks        []int32 // nil: all keys
}

// maxLocks is how many locks on keys a commit takes: PostgreSQL has room for some
// thousand at a time.
const maxLocks = 64

func newWrite(ops []store.Op) write {
	w := write{
		keys: make([][]byte, len(ops)), values: make([][]byte, len(ops)),
		conds: make([]int64, len(ops)), locks: make([]int32, len(ops)),
	}
	for i, op := range ops {
		w.keys[i] = []byte(op.Key)
		if !op.Delete {
			w.values[i] = seal(op.Key, op.Value)
		}
		w.conds[i] = int64(op.If) // absent is -1
		w.locks[i] = lock(op.Key)
	}
	slices.Sort(w.locks)
	if w.locks = slices.Compact(w.locks); len(w.locks) > maxLocks {
		w.locks = nil
	}
	return w
}

// lock returns the number that all processes lock a key by. It is odd: 0 stands for
// all keys, and 2 for pruning.
func lock(key string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never an error
	return int32(h.Sum32() | 1)
}

// send has a write tried until PostgreSQL has taken or refused it. What was rolled back
// is sent again; what was sent and not answered is not.
func (s *Store) send(ctx context.Context, w write) (rev store.Revision, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		sent, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Patience)
		defer cancel()
		rev, err = answer(conn.QueryRow(sent, s.stmts.commit, w.args()...))
		return err
	})
	return rev, err
}

// args are those of statements.commit.
func (w write) args() []any { return []any{int32(newest), w.keys, w.values, w.conds, w.locks} }

// answer reads what arc_commit says.
func answer(row pgx.Row) (store.Revision, error) {
	var number *int64
	var clash []byte
	if err := row.Scan(&number, &clash); err != nil {
		return 0, commitError(err)
	}
	if clash != nil {
		return 0, fmt.Errorf("%w: %q", store.ErrConflict, clash)
	}
	if number == nil {
		return 0, errors.New("outcome unknown: no revision")
	}
	return store.Revision(*number), nil
}

// acquire returns a connection. That it cannot is an error to try again at, since
// nothing was sent.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, connectError(err)
	}
	return conn, nil
}

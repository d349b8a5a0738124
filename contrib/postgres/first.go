package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc/store"
)

// CommitFirst commits what fn makes of the first of keys that is free: the mark beside it
// exists, and no other CommitFirst is at work on it. Fn gets the number of the key and its
// entry. It is called again where the server has rolled back what it made, and puts conditions as ever: a
// Commit is held off by nothing here. It may call the Store, which then takes another connection. Where no key is
// free, or a condition does not hold, the error is store.ErrConflict; where the Store is closed meanwhile, which
// does not wait for fn, store.ErrClosed.
func (s *Store) CommitFirst(
	ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
) (rev store.Revision, err error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	err = s.retry(ctx, func(ctx context.Context) error {
		conn, n, e, err := s.take(ctx, marks, keys)
		if conn != nil {
			defer s.leave(ctx, conn)
		}
		if err != nil {
			return err
		}
		ops, err := fn(n, e)
		if err == nil {
			err = store.CheckOps(ops)
		}
		if err != nil {
			return err
		}
		rev, err = s.give(ctx, conn, ops)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	s.tell()
	return rev, nil
}

// take begins a transaction that has taken the first free key. The caller leaves its
// connection, if there is one, also after an error.
func (s *Store) take(ctx context.Context, marks, keys []string) (conn *pgxpool.Conn, n int, e store.Entry, err error) {
	if err := s.letIn(); err != nil {
		return nil, 0, e, err
	}
	defer s.use.RUnlock()
	if conn, err = s.acquire(ctx); err != nil {
		return nil, 0, e, err
	}
	m, k, locks := make([][]byte, len(keys)), make([][]byte, len(keys)), make([]int32, len(keys))
	for i := range keys {
		m[i], k[i], locks[i] = []byte(marks[i]), []byte(keys[i]), takeLock(keys[i])
	}
	var b pgx.Batch
	b.Queue("begin")
	b.Queue(s.stmts.take, m, k, locks)
	answers := conn.SendBatch(ctx, &b)
	defer answers.Close()
	var sealed []byte
	var rev int64
	_, err = answers.Exec()
	if err == nil {
		err = answers.QueryRow().Scan(&n, &sealed, &rev)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return conn, 0, e, fmt.Errorf("%w: no key is free", store.ErrConflict)
	}
	if err != nil {
		return conn, 0, e, readError(err)
	}
	n--
	e, err = unseal(keys[n], sealed, rev)
	return conn, n, e, err
}

// give commits ops in the transaction of take.
func (s *Store) give(ctx context.Context, conn *pgxpool.Conn, ops []store.Op) (rev store.Revision, err error) {
	if err := s.letIn(); err != nil {
		return 0, err
	}
	defer s.use.RUnlock()
	sent, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Patience)
	defer cancel()
	var b pgx.Batch
	b.Queue(s.stmts.commit, newWrite(ops).args()...)
	b.Queue("commit")
	answers := conn.SendBatch(sent, &b)
	defer answers.Close()
	if rev, err = answer(answers.QueryRow()); err != nil {
		return 0, err
	}
	if _, err = answers.Exec(); err != nil {
		return 0, commitError(err)
	}
	return rev, nil
}

// takeLock returns the number that all processes take a key by. It is even, and neither of
// those that stand for all keys and for pruning.
func takeLock(key string) int32 {
	if n := lock(key) &^ 1; n != 0 && n != 2 {
		return n
	}
	return 4
}

// leave gives a connection back, out of any transaction.
func (s *Store) leave(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release() // ends one that is still in a transaction
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Patience)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback") // what fails ends the connection
}

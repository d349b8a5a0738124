package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc/store"
)

// Get returns the entry of key, or store.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.CheckContext(ctx); err != nil {
		return store.Entry{}, err
	}
	if err := store.CheckKey(key); err != nil {
		return store.Entry{}, err
	}
	var e store.Entry
	err := s.reading(ctx, func(ctx context.Context) error {
		var sealed []byte
		var rev int64
		err := s.pool.QueryRow(ctx, s.stmts.get, []byte(key)).Scan(&sealed, &rev)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.NotFound(key)
		}
		if err != nil {
			return readError(err)
		}
		e, err = unseal(key, sealed, rev)
		return err
	})
	return e, err
}

// reading calls fn, and again while that may help. It is what every call of the server
// but a commit goes through: it ends when the Store is closed.
func (s *Store) reading(ctx context.Context, fn func(ctx context.Context) error) error {
	if err := s.letIn(); err != nil {
		return err
	}
	defer s.use.RUnlock()
	during, done := s.during(ctx)
	defer done()
	err := s.retry(during, fn)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case s.life.Err() != nil:
		return store.ErrClosed
	}
	return err
}

// atLength is reading for what Options.Patience does not bound: that is for the connection.
func (s *Store) atLength(ctx context.Context, fn func(ctx context.Context, conn *pgxpool.Conn) error) error {
	during, done := s.during(ctx)
	defer done()
	return s.reading(ctx, func(ctx context.Context) error {
		conn, err := s.pool.Acquire(ctx)
		if err == nil {
			defer conn.Release()
			err = fn(during, conn)
		}
		return readError(err)
	})
}

// A page is what a scan reads at a time: so many entries or a little over so many
// bytes.
const (
	pageEntries = 512
	pageBytes   = 1 << 20
)

// Scan yields the entries of r in key order, as of the moment at which the iteration
// began. One page is one statement, and takes no connection while the loop's body
// runs. More are read in one transaction of level repeatable read on a connection of
// their own, a page at a time behind the last key.
func (s *Store) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.CheckContext(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		sc := scan{s: s, prefix: []byte(r.Prefix), after: []byte(r.After), left: r.Limit}
		defer sc.close()
		for more := true; more; {
			var page []store.Entry
			var err error
			if page, more, err = sc.further(ctx); err != nil {
				yield(store.Entry{}, err)
				return
			}
			for _, e := range page {
				if err := ctx.Err(); err != nil {
					yield(store.Entry{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// scan is an iteration under way.
type scan struct {
	s      *Store
	prefix []byte
	after  []byte
	left   int // entries that Limit allows; 0 or less: any number
	conn   *pgxpool.Conn
	tx     pgx.Tx      // nil: none is needed yet
	stop   func() bool // lets the connection be, when the Store closes
}

// further returns a page, and whether another may follow.
func (sc *scan) further(ctx context.Context) (page []store.Entry, more bool, err error) {
	err = sc.s.reading(ctx, func(ctx context.Context) error {
		if sc.tx != nil {
			page, more, err = sc.page(ctx, sc.tx)
			return err // the view is gone with its connection
		}
		if page, more, err = sc.page(ctx, sc.s.pool); err == nil && more {
			if err = sc.hold(ctx); err == nil {
				page, more, err = sc.page(ctx, sc.tx)
			}
		}
		if err != nil {
			sc.close()
		}
		return readError(err)
	})
	if err != nil {
		return nil, false, fmt.Errorf("scan: %w", err)
	}
	if n := len(page); n > 0 {
		sc.after, sc.left = []byte(page[n-1].Key), sc.left-n
	}
	return page, more, nil
}

// hold opens the transaction in which all pages are read.
func (sc *scan) hold(ctx context.Context) (err error) {
	if sc.conn, err = sc.s.long.Acquire(ctx); err != nil {
		return err
	}
	// An iteration that is not ended would keep its transaction open after Close.
	socket := sc.conn.Conn().PgConn().Conn()
	sc.stop = context.AfterFunc(sc.s.life, func() { _ = socket.Close() }) // nothing is lost with it
	sc.tx, err = sc.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	return err
}

func (sc *scan) page(ctx context.Context, in interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}) (page []store.Entry, more bool, err error) {
	limit := pageEntries
	if sc.left > 0 {
		limit = min(limit, sc.left)
	}
	rows, err := in.Query(ctx, sc.s.stmts.page, sc.prefix, sc.after, behind(sc.prefix), limit, pageBytes)
	if err != nil {
		return nil, false, err
	}
	page, bytes, err := entries(rows)
	full := len(page) == limit || bytes >= pageBytes
	return page, full && len(page) != sc.left, err
}

// entries reads rows of key, value and revision, and tells how long the values were.
func entries(rows pgx.Rows) (found []store.Entry, bytes int, err error) {
	defer rows.Close()
	for rows.Next() {
		var key, sealed []byte
		var rev int64
		if err := rows.Scan(&key, &sealed, &rev); err != nil {
			return nil, 0, err
		}
		e, err := unseal(string(key), sealed, rev)
		if err != nil {
			return nil, 0, err
		}
		found, bytes = append(found, e), bytes+len(sealed)
	}
	return found, bytes, rows.Err()
}

// close gives the connection back. Its transaction has read only.
func (sc *scan) close() {
	if sc.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sc.s.opts.Patience)
	defer cancel()
	if sc.tx != nil {
		_ = sc.tx.Rollback(ctx) // one that fails ends the connection
	}
	sc.stop()
	sc.conn.Release()
	sc.conn, sc.tx = nil, nil
}

// behind returns the first key that is behind all with the prefix. Keys are UTF-8, so 0xff
// is behind all of them.
func behind(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] < 0xff {
			next := bytes.Clone(prefix[:n])
			next[n-1]++
			return next
		}
	}
	return []byte{0xff}
}

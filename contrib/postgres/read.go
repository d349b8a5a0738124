package postgres

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/arc-learn/arc/store"
)

// Get returns the entry of key.
func (s *Store) Get(ctx context.Context, key string) (e store.Entry, err error) {
	if err = store.Check(store.Op{Key: key}); err == nil {
		err = s.enter(ctx)
	}
	if err != nil {
		return e, err
	}
	defer s.calls.Done()
	err = s.read(ctx, func(ctx context.Context) (err error) {
		e, err = s.get(ctx, s.pool, key)
		return err
	})
	return e, err
}

func (s *Store) get(ctx context.Context, in Tx, key string) (store.Entry, error) {
	e := store.Entry{Key: key}
	err := in.QueryRow(ctx, s.sql.get, []byte(key)).Scan(&e.Value, &e.Rev)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Entry{}, store.ErrNotFound
	}
	return e, s.typed(err, false)
}

// paging reads up to limit entries behind last, which the loop has had.
type paging func(ctx context.Context, in Tx, last store.Entry, limit int) ([]store.Entry, error)

// Scan yields the entries of r. What does not fit into a page of 256 entries is read through a connection of
// its own, which is held, with the state of the store, until the loop ends.
func (s *Store) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return s.iterate(ctx, r.Limit, s.scan(r))
}

func (s *Store) scan(r store.Range) paging {
	return func(ctx context.Context, in Tx, last store.Entry, limit int) (page []store.Entry, err error) {
		// 0xff is behind every byte of UTF-8.
		after, end := []byte(max(r.After, last.Key)), []byte(r.Prefix+"\xff")
		rows, err := in.Query(ctx, s.sql.scan, []byte(r.Prefix), after, end, limit)
		if err != nil {
			return nil, s.typed(err, false)
		}
		var e store.Entry
		var key []byte
		_, err = pgx.ForEachRow(rows, []any{&key, &e.Value, &e.Rev}, func() error {
			e.Key = string(key)
			page = append(page, e)
			return nil
		})
		return page, s.typed(err, false)
	}
}

// Changes yields the keys with a prefix that changed after a revision. It reads as Scan does.
func (s *Store) Changes(
	ctx context.Context, prefix string, after store.Revision,
) iter.Seq2[store.Entry, error] {
	next := func(ctx context.Context, in Tx, last store.Entry, limit int) (page []store.Entry, err error) {
		since := min(after, math.MaxInt64) // Latest is behind all
		key, rev := []byte("\xff"), since
		if last.Key != "" {
			key, rev = []byte(last.Key), last.Rev
		}
		rows, err := in.Query(ctx, s.sql.changes, since, rev, key, limit, []byte(prefix), []byte(prefix+"\xff"))
		if err != nil {
			return nil, s.typed(err, false)
		}
		var e store.Entry
		var lost bool
		_, err = pgx.ForEachRow(rows, []any{&key, &e.Value, &e.Rev, &lost}, func() error {
			if lost { // who reads everything again needs none of these
				page = nil
			}
			if e.Key, e.Deleted = string(key), lost || key != nil && e.Value == nil; key != nil || len(page) < limit {
				page = append(page, e) // the last row, which has no key, only behind all others
			}
			return nil
		})
		return page, s.typed(err, false)
	}
	return s.iterate(ctx, 0, next)
}

// Entries of a page: the first one has the fewest, a later one as many as have about a MiB.
const fewest, most = 256, 4096

// iterate yields page after page of one snapshot, at most bound entries if that is not 0.
func (s *Store) iterate(ctx context.Context, bound int, next paging) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		w := walk{s: s, next: next, size: fewest, left: cmp.Or(bound, math.MaxInt)}
		defer w.end()
		for more := true; more; {
			var page []store.Entry
			err := s.enter(ctx)
			if err == nil {
				page, more, err = w.page(ctx)
				s.calls.Done()
			}
			for i := 0; i < len(page) && err == nil; i++ {
				if !yield(page[i], nil) {
					return
				}
				err = ctx.Err()
			}
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
		}
	}
}

// walk is a loop over pages. From the second page on it has a connection, which is none of the pool, so that
// loops within loops never wait for one another.
type walk struct {
	s          *Store
	next       paging
	conn       *pgx.Conn
	last       store.Entry
	size, left int
}

// page returns the next page, and whether another may follow.
func (w *walk) page(ctx context.Context) (page []store.Entry, more bool, err error) {
	limit, bytes := min(w.size, w.left), 0
	read := func(ctx context.Context, in Tx) (err error) {
		page, err = w.next(ctx, in, w.last, limit)
		more = len(page) == limit && len(page) < w.left && page[limit-1].Key != ""
		return err
	}
	if w.conn != nil { // its snapshot ends with it, so nothing is tried again
		err = errors.Join(read(ctx, w.conn), ctx.Err())
	} else if err = w.s.read(ctx, func(ctx context.Context) error {
		return read(ctx, w.s.pool)
	}); err == nil && more {
		err = w.s.read(ctx, func(ctx context.Context) (err error) { // the first page again, of the snapshot of all
			w.end() // that of a try that failed
			if w.conn, err = pgx.ConnectConfig(ctx, w.s.pool.Config().ConnConfig); err == nil {
				_, err = w.conn.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
			}
			if err != nil {
				return w.s.typed(err, false)
			}
			return read(ctx, w.conn)
		})
	}
	if err != nil || len(page) == 0 {
		return nil, false, err
	}
	for _, e := range page {
		bytes += len(e.Key) + len(e.Value)
	}
	w.last, w.left = page[len(page)-1], w.left-len(page)
	w.size = min(max(fewest, 1<<20/(1+bytes/len(page))), most)
	return page, more, nil
}

// end closes the connection, and its transaction with it, which has read only.
func (w *walk) end() {
	if w.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), w.s.opts.Patience)
		defer cancel()
		_ = w.conn.Close(ctx)
		w.conn = nil
	}
}

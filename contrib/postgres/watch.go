package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc/store"
)

// Watch yields the entries under prefix that were written after the revision after,
// and then each later change, until ctx ends or the Store is closed. It collects the
// entries before it yields the first one, for as long as that takes, and reads changes a
// page at a time, so that those of a slow loop cost no memory. A loop that is slower than
// Options.Keep ends with an error, as does one that was cut off from the server for so long.
func (s *Store) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.CheckContext(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		if err := s.listening(); err != nil {
			yield(store.Entry{}, err)
			return
		}
		w := watch{s: s, prefix: []byte(prefix)}
		some, err := w.existing(ctx, after)
		for err == nil {
			for _, e := range some {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(e, nil) {
					return
				}
			}
			if err == nil {
				some, err = w.await(ctx)
			}
		}
		yield(store.Entry{}, err)
	}
}

// place is that of the change that was read last. No key: all of the commit was.
type place struct {
	rev int64
	key []byte
}

// watch is an iteration over changes.
type watch struct {
	s      *Store
	prefix []byte
	place
	idle time.Duration // how long it waited last

	// What the view had seen although another commit was at work that comes before:
	// of these changes, those that stood then are yielded in their turn.
	seen view
	held map[int64]map[string]bool // by revision and key
}

// existing reads what is under the prefix, in order of revision and up to where no commit
// was at work.
func (w *watch) existing(ctx context.Context, after store.Revision) (now []store.Entry, err error) {
	err = w.s.atLength(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			var floor, base int64
			var snapshot string
			if err := tx.QueryRow(ctx, w.s.stmts.floor).Scan(&floor, &base, &snapshot); err != nil {
				return err
			}
			if w.seen, err = parseView(base, snapshot); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, w.s.stmts.view, int64(after), w.prefix, behind(w.prefix))
			if err != nil {
				return err
			}
			if now, _, err = entries(rows); err != nil {
				return err
			}
			w.place, w.held = place{floor - 1, nil}, map[int64]map[string]bool{}
			for n := len(now); n > 0 && int64(now[n-1].Rev) >= floor; n-- {
				rev := int64(now[n-1].Rev)
				if w.held[rev] == nil {
					w.held[rev] = map[string]bool{}
				}
				w.held[rev][now[n-1].Key] = true
				now = now[:n-1]
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return now, nil
}

// watchEntries is how many changes are read at a time.
const watchEntries = 128

// await waits for changes. It waits out a server that does not answer.
func (w *watch) await(ctx context.Context) ([]store.Entry, error) {
	for {
		news := w.s.news.soon()
		found, more, err := w.page(ctx)
		var later again
		switch {
		case errors.As(err, &later) && ctx.Err() == nil:
			w.idle = time.Second
		case err != nil:
			return nil, fmt.Errorf("watch: %w", err)
		case len(found) > 0:
			w.idle = 0
			return found, nil
		case more:
			w.idle = min(max(2*w.idle, 2*time.Millisecond), w.s.opts.Poll)
		default:
			w.idle = min(max(2*w.idle, 10*time.Millisecond), w.s.poll())
		}
		timer := time.NewTimer(w.idle)
		select {
		case <-ctx.Done():
		case <-w.s.life.Done():
		case <-news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// page reads changes behind the place, and moves it. More says that there are some
// which wait for a commit at work.
func (w *watch) page(ctx context.Context) (found []store.Entry, more bool, err error) {
	err = w.s.reading(ctx, func(ctx context.Context) error {
		deep := w.idle >= min(8*time.Millisecond, w.s.opts.Poll) // what holds it back lasts
		rows, err := w.s.pool.Query(ctx, w.s.stmts.changes, w.rev, w.key, w.prefix, behind(w.prefix), watchEntries, deep)
		if err != nil {
			return readError(err)
		}
		found, more, err = w.changed(rows)
		return err
	})
	return found, more, err
}

func (w *watch) changed(rows pgx.Rows) (found []store.Entry, others bool, err error) {
	defer rows.Close()
	at, n, bytes := place{w.rev, w.key}, 0, 0
	var floor int64
	for bytes < pageBytes && rows.Next() {
		var pruned int64
		var more bool
		var rev *int64
		var key, sealed []byte
		if err := rows.Scan(&pruned, &floor, &more, &rev, &key, &sealed); err != nil {
			return nil, false, readError(err)
		}
		if pruned > w.rev || pruned == w.rev && w.key != nil { // of the commit there is more, or may be
			return nil, false, fmt.Errorf("the changes after revision %d were pruned before they were read", w.rev)
		}
		if rev == nil {
			others = more // the first row, which is always there
			continue
		}
		at, n, bytes = place{*rev, key}, n+1, bytes+len(sealed)
		if w.seen.has(*rev) && !w.held[*rev][string(key)] {
			continue
		}
		e := store.Entry{Key: string(key), Rev: store.Revision(*rev), Deleted: true}
		if sealed != nil {
			if e, err = unseal(e.Key, sealed, *rev); err != nil {
				return nil, false, err
			}
		}
		found = append(found, e)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, false, readError(err)
	}
	if n < watchEntries && bytes < pageBytes && floor > at.rev {
		at = place{floor - 1, nil} // all below the floor was read
	}
	w.place = at
	return found, others, nil
}

// Purge leaves of the changes that are kept the last one of each key, so that no row that can be
// read holds what was deleted or replaced before. A Watch that is behind hears of that one alone.
// Dead rows are PostgreSQL's until a VACUUM. It takes as long as it has to, until ctx ends.
func (s *Store) Purge(ctx context.Context) error {
	if err := store.CheckContext(ctx); err != nil {
		return err
	}
	err := s.atLength(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, s.stmts.purge)
		return err
	})
	if err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	return nil
}

// view is what a snapshot has seen.
type view struct {
	base, end int64 // it has seen no transaction from end on
	working   map[int64]bool
}

// parseView reads a pg_snapshot: xmin:xmax:xid,xid,…
func parseView(base int64, snapshot string) (v view, err error) {
	v = view{base: base, working: map[int64]bool{}}
	parts := strings.SplitN(snapshot, ":", 3)
	if len(parts) != 3 {
		return v, fmt.Errorf("a snapshot is %q", snapshot)
	}
	if v.end, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return v, err
	}
	for id := range strings.SplitSeq(parts[2], ",") {
		if id == "" {
			continue
		}
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return v, err
		}
		v.working[n] = true
	}
	return v, nil
}

func (v view) has(rev int64) bool { return rev-v.base < v.end && !v.working[rev-v.base] }

// poll returns how long a Watch waits for a notice.
func (s *Store) poll() time.Duration {
	if s.news.heard.Load() {
		return 10 * s.opts.Poll
	}
	return s.opts.Poll
}

// news wakes those that watch.
type news struct {
	heard atomic.Bool // notices of the server arrive
	mu    struct {
		sync.Mutex
		ready chan struct{} // closed by the next rouse
	}
}

func (n *news) soon() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.ready == nil {
		n.mu.ready = make(chan struct{})
	}
	return n.mu.ready
}

func (n *news) rouse() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.ready != nil {
		close(n.mu.ready)
		n.mu.ready = nil
	}
}

// hintEvery is how long a Store that has told others of a commit waits before it tells
// them of the next.
const hintEvery = 5 * time.Millisecond

// hint tells those that listen. The transaction holds nothing, so it need not last.
func (s *Store) hint() error {
	ctx, cancel := context.WithTimeout(s.life, s.opts.Patience)
	defer cancel()
	_, err := s.pool.Exec(ctx, `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')`, s.channel)
	return err
}

// hear listens until the Store is closed. Behind a pooler, which tells another number
// of the backend than the server, it does not: LISTEN would stay in a connection that
// others use.
func (s *Store) hear() {
	for s.life.Err() == nil {
		if err := s.hearing(); errors.Is(err, errPooler) {
			return
		} else if s.life.Err() == nil {
			s.opts.Logger.Warn("listening to PostgreSQL", "error", err)
		}
		s.news.heard.Store(false)
		s.news.rouse()
		pause(s.life, time.Second)
	}
}

// listening has the first Watch begin to listen, inside of what Close waits for.
func (s *Store) listening() error {
	if err := s.letIn(); err != nil {
		return err
	}
	defer s.use.RUnlock()
	s.listen.Do(func() { s.tasks.Go(s.hear) })
	return nil
}

var errPooler = errors.New("there is a pooler between")

func (s *Store) hearing() error {
	conn, err := s.long.Acquire(s.life)
	if err != nil {
		return err
	}
	own := conn.Hijack()
	defer func() { _ = own.Close(context.WithoutCancel(s.life)) }() // it holds nothing
	var pid uint32
	if err := own.QueryRow(s.life, `SELECT pg_backend_pid()::bigint`).Scan(&pid); err != nil {
		return err
	}
	if pid != own.PgConn().PID() {
		return errPooler
	}
	if _, err := own.Exec(s.life, `LISTEN `+s.channel); err != nil {
		return err
	}
	select {
	case s.hints <- struct{}{}: // to hear oneself
	default:
	}
	for {
		if _, err := own.WaitForNotification(s.life); err != nil {
			return err
		}
		s.news.heard.Store(true)
		s.news.rouse()
	}
}

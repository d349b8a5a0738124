package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc/store"
)

// Options tune Open and New. The zero value is the default.
type Options struct {
	// Schema holds the tables, which begin with arc_: "" means arc. Stores with
	// other schemas share the database. It is made if it is missing. It has lower-case
	// letters, digits and _, begins with no digit, and is no longer than 63 bytes.
	Schema string

	// Patience is how long a call waits for a connection and for what it reads, a page at
	// a time, and a commit then for the server. A Purge, and a Watch that collects what
	// there is, wait longer. 0 means 30 s.
	Patience time.Duration

	// Poll is how often a Watch looks for changes where no notices arrive. Where they
	// do it looks a tenth as often. 0 means 100 ms.
	Poll time.Duration

	// Keep is how long changes are kept for a Watch that is slow or cut off. 0 means
	// 15 minutes.
	Keep time.Duration

	// Logger takes what no caller gets: errors of the upkeep in the background. Nil
	// discards.
	Logger *slog.Logger
}

// Store is a store.Store and a store.Watcher in a database. It may be used
// concurrently. Use [Open] or [New].
//
// An iteration that is open when the store is closed ends with store.ErrClosed at its
// next page; Close does not wait for it.
type Store struct {
	opts    Options
	pool    *pgxpool.Pool // for what takes one round trip
	long    *pgxpool.Pool // for scans of several pages, and the listener
	own     bool          // pool is the Store's
	stmts   statements
	channel string // of notices
	news    news

	// use is held for reading by calls under way, and for writing by Close. It is
	// never held while the caller's code runs.
	use     sync.RWMutex
	closed  bool // under use
	closing sync.Once
	life    context.Context // ends when Close begins
	end     context.CancelFunc
	tasks   sync.WaitGroup
	listen  sync.Once
	hints   chan struct{} // of commits, for others
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
)

// longConns bounds the scans of several pages that are open at once.
const longConns = 64

// Open connects to the database that conninfo names, a URL or keywords and values as
// of libpq, with the settings of pgx and pgxpool (default_query_exec_mode,
// pool_max_conns: 16 if it is not given). It makes the schema, or brings it to
// this version, which any number of processes may do at once. A schema of a newer
// version is store.ErrNewer, and one where another program's table or function has a
// name that arc's would have, store.ErrForeign; others stay beside them.
func Open(ctx context.Context, conninfo string, opts *Options) (*Store, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(conninfo)
	if err != nil {
		return nil, unreadable(err)
	}
	if !strings.Contains(conninfo, "pool_max_conns") {
		config.MaxConns = 16
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s, err := New(ctx, pool, opts)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// New is Open with a pool that the caller closes after the Store. Scans of several
// pages and the listener use connections of their own with the settings of pool.
func New(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Store, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	s := &Store{pool: pool, hints: make(chan struct{}, 1)}
	if opts != nil {
		s.opts = *opts
	}
	if err := s.opts.orDefaults(); err != nil {
		return nil, err
	}
	s.stmts = statementsFor(s.opts.Schema)
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.migrate(ctx); err != nil {
		s.end()
		return nil, fmt.Errorf("postgres: schema %q: %w", s.opts.Schema, err)
	}
	config := pool.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = longConns, 0, 0
	config.MaxConnIdleTime = time.Minute
	long, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		s.end()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s.long = long
	s.tasks.Go(s.upkeep)
	return s, nil
}

func (o *Options) orDefaults() error {
	if o.Schema == "" {
		o.Schema = "arc"
	}
	for _, d := range []struct {
		of    *time.Duration
		usual time.Duration
	}{{&o.Patience, 30 * time.Second}, {&o.Poll, 100 * time.Millisecond}, {&o.Keep, 15 * time.Minute}} {
		if *d.of < 0 {
			return fmt.Errorf("postgres: a negative duration: %v", *d.of)
		}
		if *d.of == 0 {
			*d.of = d.usual
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if !schemaName.MatchString(o.Schema) {
		return fmt.Errorf("postgres: schema %q is not of lower-case letters, digits and _", o.Schema)
	}
	return nil
}

// letIn lets a call in, which unlocks use when it is over.
func (s *Store) letIn() error {
	s.use.RLock()
	if s.closed {
		s.use.RUnlock()
		return store.ErrClosed
	}
	return nil
}

// during returns ctx with an end when Close begins.
func (s *Store) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Close waits for the commits under way, ends reads, and closes what the Store
// has opened. It is idempotent.
func (s *Store) Close() error {
	s.end()
	s.use.Lock() // waits for the calls under way
	s.closed = true
	s.use.Unlock()
	s.closing.Do(func() {
		s.tasks.Wait()
		shut(s.long)
		if s.own {
			shut(s.pool)
		}
	})
	return nil
}

// shut closes a pool, behind the caller's back where code of a host still has a connection: the
// body of a scan's loop, or a function that makes a commit.
func shut(pool *pgxpool.Pool) {
	if pool.Stat().AcquiredConns() == 0 {
		pool.Close()
	} else {
		go pool.Close()
	}
}

// upkeep tells other processes of commits, and prunes changes.
func (s *Store) upkeep() {
	prune := time.NewTicker(min(time.Minute, s.opts.Keep))
	defer prune.Stop()
	for {
		var err error
		select {
		case <-s.life.Done():
			return
		case <-s.hints:
			err = s.hint()
			pause(s.life, hintEvery)
		case <-prune.C:
			err = s.prune()
		}
		if err != nil && s.life.Err() == nil {
			s.opts.Logger.Warn("upkeep of a store in PostgreSQL", "error", err)
		}
	}
}

// prune deletes changes that are old.
func (s *Store) prune() error {
	for {
		var n int
		if err := s.pool.QueryRow(s.life, s.stmts.prune, s.opts.Keep).Scan(&n); err != nil || n == 0 {
			return err
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

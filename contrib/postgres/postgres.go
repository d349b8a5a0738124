// Package postgres keeps a [store.Store] in a PostgreSQL database, for several processes: see [Open], and
// give it to arc.New or learn.New.
//
// PostgreSQL 13 or later, whose default isolation for the role is read committed. One table has the state and
// the feed: each key with the revision of its last change. A commit is one statement; commits of a process
// that wait at the same time and share no key are one transaction. One lock orders all commits, so a follower
// of [Store.Changes] never misses one that began earlier and ended later. Data checksums tell of damage.
//
// What PostgreSQL has rolled back for its own reasons, and what could not be sent, is tried again until
// [Options.Patience] is over. So is what a server refuses because it only reads: after a failover its
// connections are closed, and new ones lead to the server of the connection string that takes writes. Where a
// connection ends while a commit is under way, the outcome is unknown, and the error says so; it may still
// take place a little later. What a server has acknowledged and loses in a failover is lost: set
// synchronous_standby_names so that it is not. A commit overrides synchronous_commit, not fsync.
//
// It works behind PgBouncer in transaction mode: no statement is prepared by name, and no state is kept in a
// session. Set server_login_retry = 1 there: by the default of 15 s a restart of 2 s takes 14, and an Agent
// gives up what is under way. Without a pooler, default_query_exec_mode=cache_statement is faster.
//
// Not there: read replicas, since every call needs the primary; LISTEN, since followers poll; keys that do
// not compress to 2,600 bytes, which no index of PostgreSQL holds: [store.ErrInvalid].
package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/arc-learn/arc/store"
)

// Options tune [Open]. Nil and the zero value are the defaults.
type Options struct {
	// Schema is where the tables are, in lower-case letters, digits and "_"; one store each. "": arc.
	Schema string
	// Patience bounds each read and commit: how long a server that cannot be reached, or that only reads, is
	// waited for, and how long an answer may take. A call has several, one after the other, as a commit and a
	// read of what became of it, and a tenant's first use many: give it a deadline. 0: 30 s.
	Patience time.Duration
	// Keep is how long Changes knows which keys were deleted; 0: one hour. A part that was away for longer, and
	// of whose tenant one was deleted then, reads everything again.
	Keep time.Duration
	// Logger is told of what is tried again, once a call. nil: nobody is told.
	Logger *slog.Logger
}

// Store is a store in a schema of a PostgreSQL database, which several processes may have open. It implements
// [store.Changer] and [store.Compacter].
type Store struct {
	opts    Options
	sql     statements
	pool    *pgxpool.Pool
	tasks   sync.WaitGroup // who purges, and who leads for a caller that may give up
	calls   sync.WaitGroup
	lead    chan struct{} // held by who sends commits
	closing chan struct{} // closed by Close: nothing is tried again
	once    sync.Once     // of Close

	mu struct {
		sync.Mutex
		closed bool
		queue  []*request // commits that wait
	}
}

var _, _ = store.Changer((*Store)(nil)), store.Compacter((*Store)(nil))

// Open connects to a database by a connection string, which is a URL or keywords and values and may name
// several servers, and makes the schema or brings it to the newest version. The size of the pool is
// pool_max_conns of the string; each scan over more than a page has one more connection.
//
// Its errors are [store.ErrForeign] where the schema is another's, [store.ErrVersion], and PostgreSQL's.
func Open(ctx context.Context, conninfo string, o *Options) (*Store, error) {
	s := &Store{opts: *cmp.Or(o, new(Options)), lead: make(chan struct{}, 1), closing: make(chan struct{})}
	s.opts.Schema = cmp.Or(s.opts.Schema, "arc")
	s.opts.Patience = cmp.Or(max(0, s.opts.Patience), 30*time.Second)
	s.opts.Keep = cmp.Or(max(0, s.opts.Keep), time.Hour)
	s.opts.Logger = cmp.Or(s.opts.Logger, slog.New(slog.DiscardHandler))
	if !schemaName.MatchString(s.opts.Schema) {
		return nil, fmt.Errorf("postgres: Options.Schema %q is no name of a-z, 0-9 and \"_\"", s.opts.Schema)
	}
	s.sql.fill(s.opts.Schema)
	config, err := pgxpool.ParseConfig(conninfo)
	if err != nil { // which may repeat a password
		return nil, errors.New("postgres: the connection string is no URL, and no keywords that pgx knows")
	}
	if !strings.Contains(conninfo, "default_query_exec_mode") { // a pooler may change sessions: nothing is named
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	config.PingTimeout = s.opts.Patience / 60 // of a connection that was idle: a firewall may have forgotten it
	if config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := s.read(ctx, s.migrate); err != nil {
		return nil, fmt.Errorf("postgres: open: %w", errors.Join(err, s.Close()))
	}
	s.tasks.Go(s.purging)
	return s, nil
}

//go:embed schema.sql
var version1 string

// migrations bring the schema from one version to the next. One that older processes must not write beside
// gives arc_commit another name: they then get ErrVersion.
var migrations = []string{version1}

// schemaName is what a schema may be called, so that it stands in SQL as it is.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// statements are what a Store sends. Each names its schema, so a search_path decides nothing.
type statements struct{ get, scan, changes, commit, put, purge, vacuum string }

func (q *statements) fill(schema string) {
	in := strings.NewReplacer("{{schema}}", schema).Replace
	q.get = in(`SELECT value, rev FROM {{schema}}.arc_entries WHERE key = $1 AND value IS NOT NULL`)
	q.scan = in(`SELECT key, value, rev FROM {{schema}}.arc_entries
		WHERE key >= $1 AND key > $2 AND key < $3 AND value IS NOT NULL ORDER BY key LIMIT $4::bigint`)
	// What changed behind revision $2 and key $3, from key $5 to $6, and a last row: the revision up to which
	// the snapshot has all, and whether what was deleted there after revision $1 is not known any more.
	q.changes = in(`(SELECT key, value, rev, false FROM {{schema}}.arc_entries
			WHERE (rev, key) > ($2::bigint, $3::bytea) AND key >= $5 AND key < $6
			AND (value IS NOT NULL OR $1::bigint > 0) ORDER BY rev, key LIMIT $4::bigint)
		UNION ALL SELECT NULL, NULL,
			greatest(0, (SELECT max(floor) FROM {{schema}}.arc_floors), (SELECT max(rev) FROM {{schema}}.arc_entries)),
			$1 < 9223372036854775807 AND ($1 > (SELECT last_value FROM {{schema}}.arc_revisions) OR $1 > 0 AND
			EXISTS (SELECT FROM {{schema}}.arc_floors WHERE floor > $1 AND
				{{schema}}.arc_tenant($5) IN (tenant, {{schema}}.arc_tenant(''))))
		ORDER BY rev, key NULLS LAST`)
	q.commit = in(`SELECT {{schema}}.arc_commit($1, $2, $3, $4, $5)`)
	q.put = in(`SELECT {{schema}}.arc_put($1, $2, $3)`)
	q.purge = in(`SELECT {{schema}}.arc_purge(make_interval(secs => $1))`)
	q.vacuum = in(`VACUUM {{schema}}.arc_entries`)
}

// migrate makes the schema, or brings it to the newest version. Only that needs a right to create.
func (s *Store) migrate(ctx context.Context) error {
	version, err := s.version(ctx, s.pool)
	if err != nil || version == len(migrations) {
		return err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// The lock ends with the transaction: who waited finds what another process has made.
		_, err := tx.Exec(ctx, fmt.Sprintf(`SELECT pg_advisory_xact_lock(6386275, hashtext('%[1]s'));
			DO $$BEGIN IF to_regnamespace('%[1]s') IS NULL THEN CREATE SCHEMA %[1]s; END IF; END$$`, s.opts.Schema))
		if err == nil {
			version, err = s.version(ctx, tx)
		}
		for ; err == nil && version < len(migrations); version++ {
			_, err = tx.Exec(ctx, strings.ReplaceAll(migrations[version], "{{schema}}", s.opts.Schema))
		}
		return err
	})
	return s.typed(err, false)
}

// version returns that of the schema, 0 for none.
func (s *Store) version(ctx context.Context, in Tx) (version int, err error) {
	there := "" // to_regclass returns NULL where there is none
	err = in.QueryRow(ctx, `SELECT coalesce(to_regclass('`+s.opts.Schema+`.arc_meta')::text, '')`).Scan(&there)
	if err == nil && there != "" {
		err = in.QueryRow(ctx, `SELECT version FROM `+s.opts.Schema+`.arc_meta`).Scan(&version)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42703" { // it has no such column
		return 0, fmt.Errorf("%w: schema %s: %v", store.ErrForeign, s.opts.Schema, pg)
	} else if version > len(migrations) {
		return 0, fmt.Errorf("%w: schema %s has version %d", store.ErrVersion, s.opts.Schema, version)
	}
	return version, s.typed(err, false)
}

// enter begins a call, which ends by s.calls.Done.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return store.ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// Close waits for the calls under way, without further tries, and closes all connections. It is idempotent.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.mu.closed = true
		s.mu.Unlock()
		close(s.closing)
		s.calls.Wait()
		s.tasks.Wait()
		s.pool.Close()
	})
	return nil
}

// purging removes keys that were deleted long ago, until the store is closed.
func (s *Store) purging() {
	for {
		select {
		case <-s.closing:
			return
		case <-time.After(max(s.opts.Keep/8, time.Millisecond)):
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.opts.Patience)
		if err := s.purge(ctx, s.opts.Keep); err != nil {
			s.opts.Logger.Warn("postgres: deleted keys were not purged", "schema", s.opts.Schema, "error", err)
		}
		cancel()
	}
}

// purge removes the keys that were deleted longer ago than keep, in parts, so that no commit waits for long.
func (s *Store) purge(ctx context.Context, keep time.Duration) (err error) {
	for n := 1; n > 0 && err == nil; {
		err = s.pool.QueryRow(ctx, s.sql.purge, keep.Seconds()).Scan(&n)
	}
	return err
}

// Compact removes all deleted keys, and has PostgreSQL clear away the rows of what was deleted or replaced
// before, where the role owns the table. Afterwards nothing deleted is in the table; older snapshots, WAL,
// backups and pages not used again are the host's. A part that has not yet heard of a deletion reads
// everything again. Commits go on.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	err := s.purge(ctx, 0)
	if err == nil {
		_, err = s.pool.Exec(ctx, s.sql.vacuum)
	}
	if err != nil {
		err = fmt.Errorf("postgres: compact: %w", cmp.Or(ctx.Err(), err))
	}
	return err
}

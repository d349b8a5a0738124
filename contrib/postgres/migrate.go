package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/arc-learn/arc/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// newest is the version of the schema that this package writes and reads: the number
// of the last migration.
const newest = 2

// migrate makes the schema or brings it to the newest version, under a lock that all
// processes share. It also raises revisions: in a database that was restored from a
// dump, ids of transactions begin anew, so that a change may have one that is to come.
func (s *Store) migrate(ctx context.Context) error {
	return s.retry(ctx, func(ctx context.Context) error {
		version, err := s.version(ctx, s.pool)
		if err == nil && version < newest {
			err = s.upgradeSchema(ctx)
		}
		if err == nil {
			_, err = s.pool.Exec(ctx, s.stmts.raise)
		}
		if err == nil {
			err = s.pool.QueryRow(ctx, s.stmts.channel).Scan(&s.channel)
		}
		return readError(err)
	})
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns that of the schema, 0 for none.
func (s *Store) version(ctx context.Context, in querier) (version int, err error) {
	err = in.QueryRow(ctx, s.stmts.version).Scan(&version)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000"): // no table, no schema
		return 0, nil
	case errors.As(err, &pg) && pg.Code == "42703": // no such column
		return 0, fmt.Errorf("%w: %v", store.ErrForeign, err)
	case err == nil && version > newest:
		return 0, fmt.Errorf("%w: the schema has version %d, and this package knows %d", store.ErrNewer, version, newest)
	}
	return version, err
}

// upgradeSchema runs the migrations that are due, in one transaction.
func (s *Store) upgradeSchema(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('arc_migrate/' || $1::text, 0))`, s.opts.Schema); err != nil {
			return err
		}
		var missing bool
		if err := tx.QueryRow(ctx, `SELECT to_regnamespace($1::text) IS NULL`, s.opts.Schema).Scan(&missing); err != nil {
			return err
		}
		if missing { // asking needs no right to make one
			if _, err := tx.Exec(ctx, `CREATE SCHEMA "`+s.opts.Schema+`"`); err != nil {
				return err
			}
		}
		version, err := s.reread(ctx, tx)
		if err != nil {
			return err
		}
		for version < newest {
			version++
			text, err := fs.ReadFile(migrations, fmt.Sprintf("migrations/%04d.sql", version))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, strings.ReplaceAll(string(text), "{{schema}}", `"`+s.opts.Schema+`"`)); err != nil {
				var pg *pgconn.PgError
				if errors.As(err, &pg) && (pg.Code == "42P07" || pg.Code == "42723") { // such a table or function is there
					return fmt.Errorf("%w: %v", store.ErrForeign, err)
				}
				return err
			}
		}
		_, err = tx.Exec(ctx, `UPDATE "`+s.opts.Schema+`".arc_meta SET version = $1`, version)
		return err
	})
}

// reread returns the version as it is under the lock. A statement that fails would end
// the transaction, so the table is looked for first.
func (s *Store) reread(ctx context.Context, tx pgx.Tx) (int, error) {
	var there bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass($1::text) IS NOT NULL`, `"`+s.opts.Schema+`".arc_meta`).Scan(&there); err != nil || !there {
		return 0, err
	}
	return s.version(ctx, tx)
}

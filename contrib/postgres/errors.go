package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/arc-learn/arc/store"
)

// again is an error after which nothing was written, and another try may succeed.
type again struct{ error }

func (e again) Unwrap() error { return e.error }

// retry calls try until it returns no again, ctx ends, or the store is closed.
func (s *Store) retry(ctx context.Context, try func(ctx context.Context) error) error {
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := try(ctx)
		if _, more := errors.AsType[again](err); !more || ctx.Err() != nil {
			return err
		}
		if wait < 4*time.Millisecond { // the first time; in an outage there are thousands
			s.opts.Logger.Warn("postgres: trying again", "schema", s.opts.Schema, "error", err)
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return err
		case <-s.closing:
			return fmt.Errorf("%w while PostgreSQL was tried again: %v", store.ErrClosed, err)
		}
	}
}

// read has something read until that succeeds, the server refuses it, or Options.Patience is over.
func (s *Store) read(ctx context.Context, try func(ctx context.Context) error) error {
	patient, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	return errors.Join(s.retry(patient, try), ctx.Err()) // so that why it took so long is said, too
}

// typed says what an error of pgx means. One of the severity ERROR has rolled the statement back. After any
// other, and without an answer, what was sent to be written has an unknown outcome: no error of a context or
// of pgx stays in it, so that nobody takes it for a definite one. Codes:
// postgresql.org/docs/current/errcodes-appendix.html
func (s *Store) typed(err error, sent bool) error {
	if err == nil {
		return nil
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		pg = &pgconn.PgError{Code: "08000"} // connection_exception
	}
	class := pg.Code[:min(2, len(pg.Code))] // some poolers have no code
	definite := pg.SeverityUnlocalized == "ERROR" && class != "08"
	switch {
	case !definite && sent && !pgconn.SafeToRetry(err):
		return fmt.Errorf("the outcome is unknown: %v", err)
	case !definite && (class == "" || class == "08" || class == "25" || class == "53" || class == "57"):
		return again{fmt.Errorf("no connection or no answer: %v", err)}
	}
	switch pg.Code {
	case "25006": // the server only reads, as after a failover: so do those of the other connections
		s.pool.Reset()
		return again{pg}
	case "40001", "40P01", "55P03": // serialization failure, deadlock, no lock in time
		return again{pg}
	case "54000":
		return fmt.Errorf("%w: PostgreSQL refuses the key: %w", store.ErrInvalid, pg)
	case "53100":
		return fmt.Errorf("%w: %w", store.ErrFull, pg)
	case "XX001", "XX002":
		return fmt.Errorf("%w: %w", store.ErrDamaged, pg)
	case "42883", "42P01": // the function or the table is gone
		return fmt.Errorf("%w: %w", store.ErrVersion, pg)
	}
	return pg
}

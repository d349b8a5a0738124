package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/arc-learn/arc/store"
)

// again is an error after which nothing was written and another try may succeed.
type again struct{ error }

func (e again) Unwrap() error { return e.error }

// retry calls fn while it returns again, until ctx ends or Options.Patience is over.
func (s *Store) retry(ctx context.Context, fn func(ctx context.Context) error) error {
	patient, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := fn(patient)
		if err == nil {
			return nil
		}
		if _, more := errors.AsType[again](err); !more {
			return err
		}
		pause(patient, wait/2+rand.N(wait))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if patient.Err() != nil {
			return err
		}
	}
}

// unreadable is the error of a conninfo, without the conninfo: pgx finds no password in it that has
// blanks around its "=", and repeats a word of one that has blanks and no quotes.
func unreadable(err error) error {
	if bad, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		bad.ConnString = "…"
	}
	if strings.Contains(err.Error(), "keyword/value") {
		return errors.New("postgres: the conninfo is neither a URL nor keywords and values: values with blanks need quotes")
	}
	return fmt.Errorf("postgres: %w", err)
}

// Classes and codes of errors: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	serialization = "40001"
	deadlock      = "40P01"
	diskFull      = "53100"
	stalePlan     = "0A000" // "cached plan must not change result type", after a migration
	newerSchema   = "ARC01"
	wentBack      = "ARC02"
)

// commitError says what became of a commit. An error of severity ERROR rolled it
// back; after any other, and where no answer came, its outcome is unknown. No error
// of pgx's or of a context stays in it then, so that it is not taken for a definite one.
func commitError(err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR":
		return definite(pg)
	case pgconn.SafeToRetry(err):
		return again{fmt.Errorf("%v", err)}
	}
	return fmt.Errorf("outcome unknown: %v", err)
}

// definite translates an error of the server.
func definite(pg *pgconn.PgError) error {
	switch {
	case slices.Contains([]string{serialization, deadlock, stalePlan}, pg.Code):
		return again{fmt.Errorf("%v", pg)}
	case pg.Code == newerSchema:
		return fmt.Errorf("%w: %v", store.ErrNewer, pg)
	case pg.Code == wentBack:
		return fmt.Errorf("%w: %v", store.ErrFailed, pg)
	case pg.Code == diskFull:
		return fmt.Errorf("%w: %v", store.ErrFull, pg)
	case strings.HasPrefix(pg.Code, "53"):
		return fmt.Errorf("%w: %v", store.ErrScarce, pg)
	case pg.Code == "XX001" || pg.Code == "XX002":
		return fmt.Errorf("%w: %v", store.ErrDamaged, pg)
	}
	return fmt.Errorf("%w", pg)
}

// connectError says whether to try again: not where the server refuses what it is
// asked for, as a password or the name of a database. Some poolers refuse without a code.
func connectError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && !slices.Contains([]string{"", "08", "53", "57"}, pg.Code[:min(2, len(pg.Code))]) {
		return err
	}
	return again{fmt.Errorf("no connection, or no answer: %v", err)} // may be of a context, but not the caller's
}

// readError says the same of a read, and nothing of none: all that the server did not
// refuse may be read once more.
func readError(err error) error {
	if err == nil {
		return nil
	}
	for _, ours := range []error{store.ErrDamaged, store.ErrForeign, store.ErrNewer} {
		if errors.Is(err, ours) {
			return err
		}
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR" {
		return definite(pg)
	}
	return connectError(err)
}

const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}

// seal returns a value as it is stored, behind a checksum.
func seal(key string, value []byte) []byte {
	b := make([]byte, sumBytes, sumBytes+len(value))
	binary.BigEndian.PutUint32(b, sum(key, value))
	return append(b, value...)
}

// unseal returns the entry of a key, of which b is what seal has made.
func unseal(key string, b []byte, rev int64) (store.Entry, error) {
	if len(b) < sumBytes || binary.BigEndian.Uint32(b) != sum(key, b[sumBytes:]) {
		return store.Entry{}, fmt.Errorf("%w: %q", store.ErrDamaged, key)
	}
	return store.Entry{Key: key, Value: b[sumBytes:], Rev: store.Revision(rev)}, nil
}

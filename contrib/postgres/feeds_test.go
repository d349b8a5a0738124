package postgres_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/arc-learn/arc/contrib/postgres"
)

// faulty is a Store that the suite cuts off from the server, and whose changes it prunes.
type faulty struct {
	*postgres.Store
	schema string
}

// Cut ends all connections.
func (f faulty) Cut() error {
	return f.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
}

// Prune deletes all changes but the last.
func (f faulty) Prune() error { return f.run("SELECT " + f.schema + ".arc_prune('0 seconds')") }

// run may be cut off by another.
func (faulty) run(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, conninfo)
		if err == nil {
			_, err = conn.Exec(ctx, sql)
			_ = conn.Close(ctx) // it may be cut off
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
}

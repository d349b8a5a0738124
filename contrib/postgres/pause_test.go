//go:build !windows

package postgres_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// pauseOne stops the backend of a connection for some milliseconds, wherever it is.
func pauseOne(random *rand.Rand) error {
	conn, err := pgx.Connect(context.Background(), conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	var pid int
	err = conn.QueryRow(context.Background(),
		"SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY random() LIMIT 1").Scan(&pid)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	pause(pid, random)
	return nil
}

// pause stops a process for some milliseconds.
func pause(pid int, random *rand.Rand) {
	if syscall.Kill(pid, syscall.SIGSTOP) == nil {
		<-time.After(time.Duration(random.IntN(200)) * time.Millisecond)
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may be gone
	}
}

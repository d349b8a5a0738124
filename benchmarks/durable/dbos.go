package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

// dbosSystem is a workflow of three steps. Its handle on SQLite is the host's: by itself DBOS opens one with
// synchronous=NORMAL, which loses what it has acknowledged in a power cut.
type dbosSystem struct {
	ctx  dbos.Context
	db   *sql.DB
	flow dbos.Workflow[string, string]
}

func openDBOS(ctx context.Context, dir string) (system, error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "dbos.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)"+
		"&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	var full int
	if err := db.QueryRow("PRAGMA synchronous").Scan(&full); err != nil || full != 2 {
		return nil, fmt.Errorf("synchronous is %d: %w", full, err)
	}
	d, err := dbos.NewContext(ctx, dbos.Config{
		SQLiteSystemDB: db, AppName: "durable", ApplicationVersion: "1", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	s := &dbosSystem{d, db, flow}
	dbos.RegisterWorkflow(d, s.flow, dbos.WithWorkflowName("turn"))
	return s, dbos.Launch(d)
}

func flow(ctx dbos.Context, objective string) (string, error) {
	plan, err := dbos.RunAsStep(ctx, func(context.Context) ([]string, error) {
		return []string{objective}, nil
	}, dbos.WithStepName("reason"))
	if err != nil {
		return "", err
	}
	out, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) {
		_ = plan[0]
		return answer, nil
	}, dbos.WithStepName("act"))
	if err != nil {
		return "", err
	}
	pass, err := dbos.RunAsStep(ctx, func(context.Context) (bool, error) {
		return out == answer, nil
	}, dbos.WithStepName("verify"))
	if err == nil && !pass {
		err = errors.New("it is another")
	}
	return out, err
}

func (s *dbosSystem) turn(context.Context) error {
	h, err := dbos.RunWorkflow(s.ctx, s.flow, question)
	if err == nil {
		_, err = h.GetResult()
	}
	return err
}

func (s *dbosSystem) close() error {
	dbos.Shutdown(s.ctx, 10*time.Second)
	return s.db.Close()
}

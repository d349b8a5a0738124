//go:build cgo && sqlite_fts5

package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"unicode"

	_ "github.com/mattn/go-sqlite3"
)

// sqliteEngine is FTS5 in a file, with the Porter stemmer, bm25 ranks and a
// prepared query.
type sqliteEngine struct {
	db  *sql.DB
	ask *sql.Stmt
}

func newSQLite() engine { return &sqliteEngine{} }

func (e *sqliteEngine) name() string { return "SQLite FTS5" }

func (e *sqliteEngine) build(ctx context.Context, dir string, docs []doc) (err error) {
	e.db, err = sql.Open("sqlite3", filepath.Join(dir, "db")+"?_journal_mode=WAL&_synchronous=NORMAL&_cache_size=-262144&_mmap_size=1073741824")
	if err != nil {
		return err
	}
	e.db.SetMaxOpenConns(1)
	if _, err := e.db.ExecContext(ctx, `CREATE VIRTUAL TABLE m USING fts5(t, tokenize = "porter unicode61")`); err != nil {
		return err
	}
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done(tx.Rollback())) }()
	insert, err := tx.PrepareContext(ctx, `INSERT INTO m(rowid, t) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	for i := range docs {
		if _, err := insert.ExecContext(ctx, i, docs[i].text); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if _, err := e.db.ExecContext(ctx, `INSERT INTO m(m) VALUES ('optimize')`); err != nil {
		return err
	}
	e.ask, err = e.db.PrepareContext(ctx, `SELECT rowid, t FROM m WHERE m MATCH ? ORDER BY rank LIMIT ?`)
	return err
}

// done takes the error of a rollback after a commit for none.
func done(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (e *sqliteEngine) search(ctx context.Context, q query) (hits []hit, err error) {
	var b strings.Builder
	for i, w := range strings.FieldsFunc(q.text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(`"` + w + `"`)
	}
	rows, err := e.ask.QueryContext(ctx, b.String(), q.k)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.doc, &h.text); err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

func (e *sqliteEngine) close() error { return errors.Join(e.ask.Close(), e.db.Close()) }

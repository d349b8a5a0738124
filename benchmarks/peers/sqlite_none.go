//go:build !cgo || !sqlite_fts5

package main

// newSQLite returns nil: FTS5 takes cgo and the tag sqlite_fts5.
func newSQLite() engine { return nil }

package engine

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// logger passes on what Badger logs, and listens for the failed syncs that
// Badger reports nowhere else.
type logger struct {
	to     *slog.Logger
	failed func(error)
}

// Logger returns what Badger logs to. Failed is told of a sync that has failed.
func Logger(to *slog.Logger, failed func(error)) badger.Logger { return &logger{to, failed} }

func (l *logger) Errorf(format string, args ...any) {
	text := line(format, args)
	l.to.Error(text)
	if strings.Contains(text, "sync") {
		l.failed(fmt.Errorf("badger: %s", text))
	}
}

func (l *logger) Warningf(format string, args ...any) {
	l.to.Warn(line(format, args))
}

func (l *logger) Infof(format string, args ...any) {
	// Two of Badger's lines, which it writes for slow compactions, list the
	// bounds of tables: those are keys.
	if strings.Contains(format, "Range") {
		return
	}
	l.to.Debug(line(format, args))
}

// Debugf drops what it gets, since Badger logs keys at this level.
func (l *logger) Debugf(string, ...any) {}

func line(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}

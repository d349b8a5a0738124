package badger

import (
	"fmt"
	"strings"
)

// logger passes on what Badger logs, and listens for the failed syncs that
// Badger reports nowhere else.
type logger struct{ s *Store }

func (l *logger) Errorf(format string, args ...any) {
	text := line(format, args)
	l.s.log.Error(text, "dir", l.s.dir)
	if strings.Contains(text, "sync") {
		l.s.fail(fmt.Errorf("badger: %s", text))
	}
}

func (l *logger) Warningf(format string, args ...any) {
	l.s.log.Warn(line(format, args), "dir", l.s.dir)
}

func (l *logger) Infof(format string, args ...any) {
	// Two of Badger's lines, which it writes for slow compactions, list the
	// bounds of tables: those are keys.
	if strings.Contains(format, "Range") {
		return
	}
	l.s.log.Debug(line(format, args), "dir", l.s.dir)
}

// Debugf drops what it gets, since Badger logs keys at this level.
func (l *logger) Debugf(string, ...any) {}

func line(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}

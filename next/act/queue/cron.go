package queue

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// nextCron returns the first time of an expression after another, in UTC.
//
// Days are those of crontab(5): where both the day of the month and that of the week are restricted, one of them
// has to match; a field that begins with "*" restricts only by its step, and then both have to. The parser's own
// rule is that both always have to.
func nextCron(expr string, after time.Time) (time.Time, error) {
	at, err := next(expr, after.UTC())
	if err == nil && at.IsZero() {
		err = errors.New("it never comes")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("cron %q: %w", expr, err)
	}
	return at.UTC(), nil
}

func next(expr string, after time.Time) (time.Time, error) {
	options := fields
	given := strings.Fields(expr)
	if len(given) > 0 && strings.Contains(given[0], "TZ=") {
		given = given[1:]
	}
	switch {
	case len(given) > 0 && given[0] == "@every":
		return time.Time{}, errors.New("@every is Draft.Every")
	case len(given) == 5 && !strings.HasPrefix(given[2], "*") && !strings.HasPrefix(given[4], "*"):
		options |= cron.DowOrDom
	}
	parser, err := cron.TryNewParser(options)
	if err != nil {
		return time.Time{}, err
	}
	schedule, err := parser.Parse(expr)
	if err != nil {
		return time.Time{}, err
	}
	return schedule.Next(after), nil
}

package queue

import (
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// Days are those of crontab(5): where both the day of the month and that of the week are restricted, one of them has
// to match; a field that begins with "*" restricts only by its step, and then both have to.
var oneDay, bothDays = cron.NewParser(fields | cron.DowOrDom), cron.NewParser(fields)

// nextCron returns the first time of an expression after now, in UTC. Those of "@every" are counted from due, the
// last one; where that is zero it is now.
func nextCron(expr string, due, now time.Time) (time.Time, error) {
	parser, given := oneDay, strings.Fields(expr)
	if n := len(given); n >= 5 && (strings.HasPrefix(given[n-3], "*") || strings.HasPrefix(given[n-1], "*")) {
		parser = bothDays
	}
	schedule, err := parser.Parse(expr)
	if err != nil {
		return time.Time{}, fmt.Errorf("cron %q: %w", expr, err)
	}
	if every, ok := schedule.(cron.ConstantDelaySchedule); ok {
		if due.IsZero() {
			return now, nil
		}
		return due.Add((max(0, now.Sub(due)/every.Delay) + 1) * every.Delay), nil
	}
	at := schedule.Next(now.UTC()).UTC()
	if at.IsZero() {
		return at, fmt.Errorf("cron %q: it never comes", expr)
	}
	return at, nil
}

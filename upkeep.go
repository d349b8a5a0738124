package arc

import (
	"context"
	"errors"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// firstLook is how long after it was opened an Agent looks for what is due:
	// a host that calls ResumeDue itself comes first.
	firstLook = time.Second
	// together is how many runs go on at a time.
	together = 8
)

// keepUp begins the background of an Agent, which Shutdown ends. Each of its parts
// does what is due, and returns when it has more to do, in Unix nanoseconds; 0 if
// it does not know. The Agent looks again after longestWait at the latest, since
// others may use the store.
func (a *Agent) keepUp() {
	parts := []func() int64{a.renewSome, a.resumeSome, a.maintainSome}
	a.upkeep.Start(firstLook, func() time.Duration {
		pause := longestWait
		for _, do := range parts {
			if at := do(); at != 0 {
				pause = min(pause, time.Duration(at-a.o.Now().UnixNano()))
			}
		}
		return max(pause, time.Second)
	})
}

// resumeSome begins to go on with as many of the runs that are due as may.
func (a *Agent) resumeSome() int64 {
	ctx := context.Background() // enter makes one that Shutdown ends
	due, next, err := a.dueRuns(ctx)
	if err != nil {
		a.o.Logger.Error("what is due could not be read", "error", a.o.Sanitizer.Sanitize(err.Error()))
	}
	for _, d := range due {
		letGo := a.upkeep.Take(d.key, together)
		if letGo == nil {
			continue // the one that is let go pokes
		}
		a.upkeep.Go(func() {
			err := a.goOn(ctx, d)
			letGo(err == nil)
			if err != nil && !errors.Is(err, ErrRunning) && !a.runs.Closing() {
				a.logDue(d.id, err)
			}
		})
	}
	return next
}

// ResumeDue goes on with the runs that are due: those that are Waiting, and whose
// Report.Next has come. It waits until each of them has ended, asks, or waits
// again, and returns how many they were. An open Agent does so by itself, some at
// a time; ResumeDue is for hosts that open one for a short while. The error joins
// what went wrong with single runs, which are due again later. If ctx ends, runs
// are left where they are, and are due at once.
func (a *Agent) ResumeDue(ctx context.Context) (int, error) {
	if err := alive(ctx); err != nil {
		return 0, err
	}
	due, _, err := a.dueRuns(ctx)
	if err != nil {
		return 0, err
	}
	taken := a.upkeep.Taken()
	n, errs := len(taken), make([]error, len(due))
	var all errgroup.Group
	all.SetLimit(together)
	for i, d := range due {
		letGo := a.upkeep.Take(d.key, math.MaxInt)
		if letGo == nil {
			continue // it is one of those taken
		}
		n++
		all.Go(func() error {
			defer letGo(true)
			if err := a.goOn(ctx, d); !errors.Is(err, ErrRunning) {
				errs[i] = err
			}
			return nil
		})
	}
	_ = all.Wait() // errs has them
	for _, gone := range taken {
		select {
		case <-gone:
		case <-ctx.Done():
		}
	}
	return n, errors.Join(errs...)
}

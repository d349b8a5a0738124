package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// Sensor looks at something from time to time, such as an inbox, and says which jobs it calls for. A Draft's Key
// keeps a signal that is seen twice from being two jobs.
type Sensor struct {
	Name  string
	Every time.Duration // at least a second
	Read  func(ctx context.Context) ([]Draft, error)
}

// Look has a sensor read if it is due, adds its jobs with the source "sensor:NAME", and returns those that are new.
// When a sensor last looked is in the store: it keeps its cadence over restarts, and of several processes one looks.
func (q *Queue) Look(ctx context.Context, s Sensor) (added []Job, err error) {
	if err := store.CheckID(s.Name); err != nil || s.Every < time.Second || s.Read == nil {
		return nil, errors.Join(fmt.Errorf("%w: sensor %q needs a name, a cadence of a second, and Read", ErrInvalid, s.Name), err)
	}
	if due, err := q.due(ctx, s); err != nil || !due {
		return nil, err
	}
	drafts, err := call.Do(ctx, max(s.Every, time.Minute), s.Read)
	for _, d := range drafts {
		d.Source = cut("sensor:"+s.Name, store.MaxID)
		j, isNew, wrong := q.Add(ctx, d)
		if isNew {
			added = append(added, j)
		}
		err = errors.Join(err, wrong)
	}
	if err != nil {
		err = fmt.Errorf("queue: sensor %q: %w", s.Name, err)
	}
	return added, err
}

// due reports whether a sensor is to look now, and notes that it does.
func (q *Queue) due(ctx context.Context, s Sensor) (due bool, err error) {
	key := store.Scope("").Key(sensorKind, s.Name)
	err = q.g.Update(ctx, func(b *store.Batch) error {
		due = false
		var last time.Time
		cond, now := store.Absent, q.o.Now().UTC()
		e, err := b.Get(ctx, key)
		if err == nil && e.Rev == 0 {
			return nil // an earlier part of the commit does
		} else if err == nil {
			cond, err = store.At(e.Rev), codec.Unmarshal(e.Value, &last)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if due = now.Sub(last) >= s.Every || last.After(now); !due {
			return nil
		}
		value, err := codec.Marshal(now)
		if err != nil {
			return err
		}
		return b.Put(key, value, cond)
	})
	return due && err == nil, err
}

// Sense has each sensor look at its own cadence until ctx ends, and returns when all have stopped. A sensor that
// fails or hangs does not hold the others up; its errors go to the Logger.
func (q *Queue) Sense(ctx context.Context, sensors ...Sensor) {
	var wg sync.WaitGroup
	for _, s := range sensors {
		wg.Go(func() {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for ctx.Err() == nil {
				if _, err := q.Look(ctx, s); err != nil && ctx.Err() == nil {
					q.o.Logger.Warn("queue: a sensor failed", "sensor", s.Name, "error", err)
				}
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
			}
		})
	}
	wg.Wait()
}

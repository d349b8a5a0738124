package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// Sense has a sensor look, such as at an inbox, if its last look was that long ago, and adds the jobs that read
// returns, with the source "sensor:NAME". A Draft's Key keeps a signal that is seen twice from being two jobs. It
// returns those that are new; nil without an error where it is not time yet.
//
// A host calls it once a minute for each sensor, each in a goroutine of its own, so that one that fails or hangs does
// not hold the others up. When a sensor last looked is in the store: it keeps its cadence over restarts, and of
// several processes one looks.
func (q *Queue) Sense(
	ctx context.Context, name string, every time.Duration, read func(context.Context) ([]Draft, error),
) (added []Job, err error) {
	if err := store.CheckID(name); err != nil || every < time.Second || read == nil {
		return nil, errors.Join(fmt.Errorf("%w: sensor %q needs a name, a cadence of a second, and read", ErrInvalid, name), err)
	}
	if due, err := q.due(ctx, name, every); err != nil || !due {
		return nil, err
	}
	drafts, err := call.Do(ctx, max(every, time.Minute), read)
	for _, d := range drafts {
		d.Source = cut("sensor:"+name, store.MaxID)
		j, isNew, wrong := q.Add(ctx, d)
		if isNew {
			added = append(added, j)
		}
		err = errors.Join(err, wrong)
	}
	if err != nil {
		err = fmt.Errorf("queue: sensor %q: %w", name, err)
	}
	return added, err
}

// due reports whether a sensor is to look now, and notes that it does.
func (q *Queue) due(ctx context.Context, name string, every time.Duration) (due bool, err error) {
	key := store.Scope("").Key(sensorKind, name)
	err = q.g.Update(ctx, func(b *store.Batch) error {
		due = false
		var last time.Time
		e, err := b.Get(ctx, key)
		if err == nil {
			err = codec.Unmarshal(e.Value, &last)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		now := q.o.Now().UTC()
		if due = now.Sub(last) >= every || last.After(now); !due {
			return nil
		}
		value, err := codec.Marshal(now)
		return cmp.Or(err, b.Put(key, value, store.At(e.Rev)))
	})
	return due && err == nil, err
}

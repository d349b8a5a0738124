package portable

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/parcel"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Place is the store into which a file is imported, and its parts.
type Place struct {
	Store store.Store
	Scope memory.Scope
	Runs  runs
	// Book and Monitor count the samples and outcomes of a scope below its tenant. The file of a tenant
	// has its statistics as records.
	Book    *rank.Book
	Monitor *meta.Monitor
}

// Import checks a file to its end, and then stores it from the spool. Of a file that is refused nothing
// is stored. The errors are those of Agent.Import.
func Import(ctx context.Context, to Place, in *parcel.Reader, spool *parcel.Spool) error {
	x := arrival{Place: to, ctx: ctx, jobs: make(map[string]bool)}
	if err := x.inspect(in); err != nil {
		return err
	}
	if err := spool.Rewind(); err != nil {
		return err
	}
	again, err := parcel.NewReader(spool)
	if err != nil {
		return err
	}
	return x.takeIn(again)
}

// arrival is an import in progress.
type arrival struct {
	Place
	ctx   context.Context
	known int        // records that the store has
	ops   []store.Op // of the next commit
	bytes int        // of ops
	due   []store.Op // the index of runs that are due, which comes last

	jobs map[string]bool // store keys by which the file's jobs hold their Keys
}

// inspect reads the file to its end, and returns why it is refused.
func (x *arrival) inspect(in *parcel.Reader) error {
	known := NewCustoms(x.Scope, x.Runs)
	try, err := census.NewTrial(x.ctx, x.Scope)
	if err != nil {
		return err
	}
	defer func() { _ = try.Close() }() // nothing of it is kept
	err = in.Each(func(e store.Entry) error {
		if err := errors.Join(x.ctx.Err(), known.Check(e)); err != nil {
			return err
		}
		if err := try.Try(x.ctx, e); err != nil {
			return err
		}
		old, err := x.Store.Get(x.ctx, e.Key)
		if errors.Is(err, store.ErrNotFound) {
			return x.vacant(e)
		}
		if err == nil && !bytes.Equal(old.Value, e.Value) {
			err = fmt.Errorf("%w: %q is there, and differs", store.ErrConflict, e.Key)
		}
		x.known++
		return err
	})
	if err == nil {
		err = try.Rank(x.ctx)
	}
	return err
}

// vacant returns store.ErrConflict for a job whose Key is another's.
func (x *arrival) vacant(e store.Entry) error {
	if parts := key.Split(e.Key); len(parts) <= 4 || parts[2] != jobKeys {
		return nil
	}
	ops, err := queue.Arrival(e)
	for _, op := range ops {
		if err != nil || op.If != store.Absent {
			continue
		}
		if _, err = x.Store.Get(x.ctx, op.Key); err == nil || x.jobs[op.Key] {
			err = fmt.Errorf("%w: another job has the key of %q", store.ErrConflict, e.Key)
		} else if errors.Is(err, store.ErrNotFound) {
			err, x.jobs[op.Key] = nil, true
		}
	}
	return err
}

// arrivedAtOnce is how many bytes of keys and values are committed together.
const arrivedAtOnce = store.MaxCommitBytes / 4

// takeIn writes the records of a file that was inspected. It writes the index of due runs last, so that
// no run is resumed before its records are complete.
func (x *arrival) takeIn(in *parcel.Reader) error {
	err := in.Each(func(e store.Entry) error {
		if census.Is(e) {
			return census.Count(x.ctx, e, x.Book, x.Monitor)
		}
		if x.known > 0 {
			if _, err := x.Store.Get(x.ctx, e.Key); !errors.Is(err, store.ErrNotFound) {
				return errors.Join(err, x.enlist(e, false))
			}
		}
		if x.bytes+len(e.Key)+len(e.Value) > arrivedAtOnce {
			if err := x.land(); err != nil {
				return err
			}
		}
		x.hold(store.Op{Key: e.Key, Value: e.Value, If: store.Absent})
		return x.enlist(e, true)
	})
	if err == nil {
		err = x.land()
	}
	if err == nil {
		x.ops = x.due
		err = x.land()
	}
	return err
}

func (x *arrival) hold(op store.Op) {
	x.ops = append(x.ops, op)
	x.bytes += len(op.Key) + len(op.Value)
}

// enlist adds a run, or a job, to its indexes, unless it is there.
func (x *arrival) enlist(e store.Entry, fresh bool) error {
	with, last, err := x.Runs.Enlist(e, fresh)
	if parts := key.Split(e.Key); fresh && len(parts) > 4 && parts[2] == jobKeys {
		with, err = queue.Arrival(e)
	}
	for _, op := range with {
		x.hold(op)
	}
	x.due = append(x.due, last...)
	return err
}

// land commits the collected ops, in as many commits as they need.
func (x *arrival) land() error {
	for all := x.ops; len(all) > 0; {
		n, size := 0, 0
		for ; n < min(len(all), store.MaxCommitOps); n++ {
			if size += len(all[n].Key) + len(all[n].Value); n > 0 && size > store.MaxCommitBytes {
				break
			}
		}
		if _, err := x.Store.Commit(x.ctx, all[:n]...); err != nil {
			return err
		}
		all = all[n:]
	}
	x.ops, x.bytes = nil, 0
	return nil
}

package arc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/parcel"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// Import takes in what Export has written, and returns its scope. The file is checked as a
// whole before anything of it is kept, in the store, so it may be larger than memory. Runs
// go on where they stood: one that is Waiting is resumed once it is due. Records that the
// store has are left alone: the same file again changes nothing. Where a record is there and
// differs the error is store.ErrConflict, and nothing has changed: Erase the scope before, to
// replace it. Samples and outcomes of a user's runs are counted with those of the tenant.
//
// The file is believed as the host is: what it calls trusted is, and texts come in as they
// stand. Otherwise errors name the line, and nothing has changed: store.ErrDamaged for a file
// that is cut or changed, memory.ErrTenant for a record of another scope, store.ErrForeign,
// store.ErrNewer, or a *store.LimitError. After an error of the store a part may be there:
// call it again. A process that ends meanwhile leaves what was read in the store, until the
// next Import into the tenant, or its Erase. ErrRunning, and what else waits, are as with Export; the file of a tenant
// is refused by ErrRunning while any call of the tenant is under way, and keeps all calls
// but those of its memory from beginning. No other call may use the memory of the scope
// meanwhile, and no goal.Controller its ledgers.
func (a *Agent) Import(ctx context.Context, r io.Reader) (memory.Scope, error) {
	err := alive(ctx)
	if err == nil && guard.IsNil(r) {
		err = errors.New("the reader is nil")
	}
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	spool := parcel.NewSpool(ctx, a.st)
	in, err := parcel.NewReader(io.TeeReader(r, spool))
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	scope := memory.Scope(in.Scope)
	if err = scope.Check(); err == nil {
		err = a.stilled(ctx, scope, whole(scope), func() error { return a.admit(ctx, scope, in, spool) })
	}
	if err != nil {
		return "", fmt.Errorf("import %.64q: %w", scope, err)
	}
	a.upkeep.Poke() // runs may be due
	return scope, nil
}

// admit checks a file, and takes it in.
func (a *Agent) admit(ctx context.Context, scope memory.Scope, in *parcel.Reader, spool *parcel.Spool) (err error) {
	tenant := scope.Tenant()
	spool.Prefix = key.Under(tenant, spoolKeys, "")
	if err := a.dropAll(ctx, spool.Prefix); err != nil { // of an import that was cut off
		return err
	}
	defer func() { err = errors.Join(err, a.dropAll(context.WithoutCancel(ctx), spool.Prefix)) }()
	x := arrival{a: a, ctx: ctx}
	if err := x.inspect(in, scope); err != nil {
		return err
	}
	if err := spool.Rewind(); err != nil {
		return err
	}
	again, err := parcel.NewReader(spool)
	if err == nil {
		err = x.takeIn(again, scope)
	}
	if err == nil {
		err = a.bank.Reload(ctx, scope)
	}
	if err == nil {
		err = identity.Adopt(ctx, a.st, a.bank)
	}
	return err
}

// arrival is a file that is taken in.
type arrival struct {
	a     *Agent
	ctx   context.Context
	own   *tenant
	known int        // records that the store has
	ops   []store.Op // to be committed together
	bytes int        // of these
	due   []store.Op // the index of runs that are due, which comes last
}

// inspect reads the file to its end, and says why it cannot be taken in.
func (x *arrival) inspect(in *parcel.Reader, scope memory.Scope) error {
	known := newCustoms(scope)
	try, err := census.NewTrial(x.ctx, scope)
	if err != nil {
		return err
	}
	defer func() { _ = try.Close() }() // nothing of it is kept
	err = in.Each(func(e store.Entry) error {
		if err := errors.Join(x.ctx.Err(), known.check(e)); err != nil {
			return err
		}
		if err := try.Try(x.ctx, e); err != nil {
			return err
		}
		old, err := x.a.st.Get(x.ctx, e.Key)
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
		if _, err = x.a.st.Get(x.ctx, op.Key); err == nil {
			err = fmt.Errorf("%w: another job has the key of %q", store.ErrConflict, e.Key)
		} else if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	return err
}

// arrivedAtOnce is in bytes of keys and values: what is committed together.
const arrivedAtOnce = store.MaxCommitBytes / 4

// takeIn writes the records of a file that was inspected. Runs that are due are found
// once all else is there.
func (x *arrival) takeIn(in *parcel.Reader, scope memory.Scope) error {
	if !whole(scope) {
		own, err := x.a.tenant(x.ctx, scope)
		if err != nil {
			return err
		}
		defer x.a.handBack(own)
		x.own = own
	}
	err := in.Each(func(e store.Entry) error {
		if census.Is(e) {
			return census.Count(x.ctx, e, x.own.book, x.own.monitor)
		}
		if x.known > 0 {
			if _, err := x.a.st.Get(x.ctx, e.Key); !errors.Is(err, store.ErrNotFound) {
				return errors.Join(err, x.enlist(e, false))
			}
		}
		x.hold(store.Op{Key: e.Key, Value: e.Value, If: store.Absent})
		if err := x.enlist(e, true); err != nil || x.bytes < arrivedAtOnce {
			return err
		}
		return x.land()
	})
	if err == nil {
		err = x.land()
	}
	x.ops = x.due
	return errors.Join(err, x.land(), x.a.w.Flush(x.ctx))
}

func (x *arrival) hold(op store.Op) {
	x.ops = append(x.ops, op)
	x.bytes += len(op.Key) + len(op.Value)
}

// enlist puts a run, or a job, into the indexes that name it, unless it is there.
func (x *arrival) enlist(e store.Entry, fresh bool) error {
	parts := key.Split(e.Key)
	if len(parts) > 4 && parts[2] == jobKeys && fresh {
		ops, err := queue.Arrival(e)
		for _, op := range ops {
			x.hold(op)
		}
		return err
	}
	if len(parts) != 4 || parts[2] != runKeys {
		return nil
	}
	var s state
	if err := codec.Decode(e, &s); err != nil {
		return err
	}
	if at := s.Wait.Due; at != 0 {
		x.due = append(x.due, store.Op{Key: s.dueKey(at)})
	}
	if !fresh {
		return nil
	}
	x.hold(store.Op{Key: s.statusKey(new(key.Block), s.Status), Value: []byte(s.Objective.Scope)})
	if k := s.sessionKey(); k != "" {
		x.hold(store.Op{Key: k})
	}
	return nil
}

// land commits what is held.
func (x *arrival) land() error {
	err := x.a.commitAll(x.ctx, x.ops)
	x.ops, x.bytes = x.ops[:0], 0
	return err
}

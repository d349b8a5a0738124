package goal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// The first parts of the keys of this package below those of a tenant, in the words of
// the version that wrote the first of them. A controller's name follows.
const (
	// ledgerKeys: number, goal → entry; without the goal → Outcome, of an earlier version.
	ledgerKeys = "goap/outcome"
	markKeys   = "goap/flight" // goal → open, of an earlier version
	countKeys  = "goap/head"   // → a count of dispatches, of an earlier version
)

// entry is a dispatch in the store: open from its admission on, until its Outcome
// takes the place of that.
type entry struct {
	Outcome
	Open *open `cbor:"12,keyasint,omitempty"`
}

// open is a dispatch without an outcome: its run is live, or unfinished.
type open struct {
	Dispatch Dispatch      `cbor:"1,keyasint,omitempty"`
	Resumed  int           `cbor:"3,keyasint,omitempty"` // times that the run was resumed
	About    reason.Effect `cbor:"4,keyasint,omitzero"`  // the value that the goal is about
}

// ledger is what the store holds of a controller's dispatches.
type ledger struct {
	outcomes []Outcome // by number
	keys     []string  // of the outcomes
	open     []*flight
	damaged  map[string]error // by goal: an entry that cannot be read, and may be open
	last     uint64           // number
}

// ledgerPrefix begins the keys of the entries.
func (c *Controller) ledgerPrefix() string { return key.Under(c.o.Tenant, ledgerKeys, c.o.Name, "") }

func (c *Controller) entryKey(d *Dispatch) string {
	return c.ledgerPrefix() + key.Join(fmt.Sprintf("%016x", d.Number), d.Goal)
}

// readLedger reads the ledger. Marks of an earlier version become entries of it first,
// as does what it has under no tenant.
func (c *Controller) readLedger(ctx context.Context) (*ledger, error) {
	l := &ledger{damaged: make(map[string]error)}
	if err := errors.Join(c.moveMarks(ctx, l), c.moveEntries(ctx)); err != nil {
		return nil, err
	}
	prefix := c.ledgerPrefix()
	for e, err := range c.st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return nil, err
		}
		var x entry
		parts := key.Split(e.Key[len(prefix):]) // number and goal
		number, err := strconv.ParseUint(parts[0], 16, 64)
		if err == nil {
			err = codec.Decode(e, &x)
		}
		l.last = max(l.last, number)
		switch {
		case err != nil && len(parts) < 2:
			return nil, err
		case err != nil:
			l.damaged[parts[1]] = err
		case x.Open != nil:
			l.open = append(l.open, &flight{open: *x.Open, key: e.Key, rev: e.Rev})
		default:
			l.outcomes, l.keys = append(l.outcomes, x.Outcome), append(l.keys, e.Key)
		}
	}
	return l, nil
}

// moveMarks replaces the marks that an earlier version kept of what is in flight by
// open entries of the ledger.
func (c *Controller) moveMarks(ctx context.Context, l *ledger) error {
	for e, err := range c.st.Scan(ctx, store.Range{Prefix: key.Prefix(markKeys, c.o.Name)}) {
		if err != nil {
			return err
		}
		var x open
		if err := codec.Decode(e, &x); err != nil {
			l.damaged[key.Split(e.Key)[2]] = err
			continue
		}
		put, err := putEntry(c.entryKey(&x.Dispatch), &entry{Open: &x}, store.At(0))
		if err != nil {
			return err
		}
		if _, err := c.st.Commit(ctx, put, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)}); err != nil {
			return err
		}
	}
	count, err := c.st.Get(ctx, key.Join(countKeys, c.o.Name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil { // the numbers of the entries say as much
		_, err = c.st.Commit(ctx, store.Op{Key: count.Key, Delete: true})
	}
	return err
}

// moveEntries moves the ledger of an earlier version, which knew of no tenants, to that
// of the Controller.
func (c *Controller) moveEntries(ctx context.Context) error {
	if c.o.Tenant == "" {
		return nil
	}
	before := key.Prefix(ledgerKeys, c.o.Name)
	for e, err := range c.st.Scan(ctx, store.Range{Prefix: before}) {
		if err != nil {
			return err
		}
		to := c.ledgerPrefix() + e.Key[len(before):]
		value, err := codec.Move(e, to)
		if err != nil {
			value = e.Value // what is damaged is so under any key
		}
		put := store.Op{Key: to, Value: value, If: store.Absent}
		if _, err := c.st.Commit(ctx, put, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)}); err != nil {
			return err
		}
	}
	return nil
}

// putEntry returns the operation that writes an entry under a condition.
func putEntry(k string, x *entry, cond store.Condition) (store.Op, error) {
	value, err := codec.Encode(k, x)
	return store.Op{Key: k, Value: value, If: cond}, err
}

// writeEntry writes the open entry of a flight, which must still be as the flight knows
// it.
func (c *Controller) writeEntry(ctx context.Context, f *flight) error {
	put, err := putEntry(f.key, &entry{Open: &f.open}, store.At(f.rev))
	if err != nil {
		return err
	}
	f.rev, err = c.st.Commit(context.WithoutCancel(ctx), put)
	return err
}

// maxPruned is how many outcomes one commit drops at most.
const maxPruned = 100

// saveOutcome lets the outcome of a flight take the place of its open entry, and
// drops those of the lowest numbers, in one commit. The highest number stays: the next
// controller counts on from it. It returns false if another controller has brought the
// flight to its end. It can be called until there is no error.
func (c *Controller) saveOutcome(ctx context.Context, f *flight) (kept bool, err error) {
	c.saving.Lock()
	defer c.saving.Unlock()
	ctx = context.WithoutCancel(ctx)
	put, err := putEntry(f.key, &entry{Outcome: *f.out}, store.At(f.rev))
	if err != nil {
		return false, err
	}
	ops, saved := []store.Op{put}, slices.Clone(c.saved)
	at, _ := slices.BinarySearch(saved, f.key)
	saved = slices.Insert(saved, at, f.key)
	var old []string
	for _, k := range saved[:min(maxPruned, max(0, len(saved)-c.o.History))] {
		if k != f.key {
			old, ops = append(old, k), append(ops, store.Op{Key: k, Delete: true})
		}
	}
	if _, err = c.st.Commit(ctx, ops...); errors.Is(err, store.ErrConflict) {
		// An earlier commit took place although it reported an error, or the flight is
		// another controller's by now.
		var e store.Entry
		e, err = c.st.Get(ctx, f.key)
		if errors.Is(err, store.ErrNotFound) || err == nil && !bytes.Equal(e.Value, put.Value) {
			return false, nil
		}
		old = nil // the next outcome drops them, perhaps once more
	}
	if err == nil {
		c.saved = slices.DeleteFunc(saved, func(k string) bool { return slices.Contains(old, k) })
	}
	return err == nil, err
}

// replaceOutcome replaces an outcome that was kept as Unseen. One that was dropped
// since is gone.
func (c *Controller) replaceOutcome(ctx context.Context, o *Outcome) error {
	ctx = context.WithoutCancel(ctx)
	e, err := c.st.Get(ctx, c.entryKey(&Dispatch{Number: o.Number, Goal: o.Goal}))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	put, err := putEntry(e.Key, &entry{Outcome: *o}, store.At(e.Rev))
	if err == nil {
		_, err = c.st.Commit(ctx, put)
	}
	return err
}

// Outcomes yields the outcomes that are kept, in the order in which their
// dispatches were admitted. An error is the last thing that it yields: that of ctx or
// of the store, and store.ErrDamaged for an entry that cannot be read.
func (c *Controller) Outcomes(ctx context.Context) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		for e, err := range c.st.Scan(ctx, store.Range{Prefix: c.ledgerPrefix()}) {
			var x entry
			if err == nil {
				err = codec.Decode(e, &x)
			}
			if err != nil {
				yield(Outcome{}, fmt.Errorf("goal: outcomes: %w", err))
				return
			}
			if x.Open == nil && !yield(x.Outcome, nil) {
				return
			}
		}
	}
}

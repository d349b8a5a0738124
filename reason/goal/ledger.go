package goal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

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

// held is an open entry as it is stored.
type held struct {
	open
	key string
	rev store.Revision
}

// ledger keeps the dispatches of a tenant's controllers of one name in a store. Its
// methods may be called concurrently.
type ledger struct {
	st           store.Store
	tenant, name string
	history      int // outcomes that are kept

	mu    sync.Mutex // held while an outcome is saved
	saved []string   // the keys of the outcomes, by number
}

// dispatches is what a ledger holds.
type dispatches struct {
	outcomes []Outcome // by number
	open     []held
	damaged  map[string]error // by goal: an entry that cannot be read, and may be open
	last     uint64           // number
}

// prefix begins the keys of the entries.
func (l *ledger) prefix() string { return key.Under(l.tenant, ledgerKeys, l.name, "") }

func (l *ledger) entryKey(number uint64, goal string) string {
	return l.prefix() + key.Join(fmt.Sprintf("%016x", number), goal)
}

// read reads the ledger. Marks of an earlier version become entries of it first, as does
// what it has under no tenant.
func (l *ledger) read(ctx context.Context) (*dispatches, error) {
	ds := &dispatches{damaged: make(map[string]error)}
	if err := errors.Join(l.moveMarks(ctx, ds), l.moveEntries(ctx)); err != nil {
		return nil, err
	}
	var saved []string
	prefix := l.prefix()
	for e, err := range l.st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return nil, err
		}
		var x entry
		parts := key.Split(e.Key[len(prefix):]) // number and goal
		number, err := strconv.ParseUint(parts[0], 16, 64)
		if err == nil {
			err = codec.Decode(e, &x)
		}
		ds.last = max(ds.last, number)
		switch {
		case len(parts) < 2 && errors.Is(err, store.ErrDamaged): // an Outcome: nothing is in flight by it
			saved = append(saved, e.Key)
		case err != nil && len(parts) < 2:
			return nil, err
		case err != nil:
			ds.damaged[parts[1]] = err
		case x.Open != nil:
			ds.open = append(ds.open, held{*x.Open, e.Key, e.Rev})
		default:
			ds.outcomes, saved = append(ds.outcomes, x.Outcome), append(saved, e.Key)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saved == nil {
		l.saved = saved
	}
	return ds, nil
}

// moveMarks replaces the marks that an earlier version kept of what is in flight by
// open entries of the ledger.
func (l *ledger) moveMarks(ctx context.Context, ds *dispatches) error {
	for e, err := range l.st.Scan(ctx, store.Range{Prefix: key.Prefix(markKeys, l.name)}) {
		if err != nil {
			return err
		}
		var x open
		if err := codec.Decode(e, &x); err != nil {
			ds.damaged[key.Split(e.Key)[2]] = err
			continue
		}
		put, err := putEntry(l.entryKey(x.Dispatch.Number, x.Dispatch.Goal), &entry{Open: &x}, store.At(0))
		if err != nil {
			return err
		}
		if _, err := l.st.Commit(ctx, put, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)}); err != nil {
			return err
		}
	}
	count, err := l.st.Get(ctx, key.Join(countKeys, l.name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil { // the numbers of the entries say as much
		_, err = l.st.Commit(ctx, store.Op{Key: count.Key, Delete: true})
	}
	return err
}

// moveEntries moves the ledger of an earlier version, which knew of no tenants, to that
// of the Controller. Entries of a Controller that has no tenant say what they are about.
func (l *ledger) moveEntries(ctx context.Context) error {
	if l.tenant == "" {
		return nil
	}
	before := key.Prefix(ledgerKeys, l.name)
	for e, err := range l.st.Scan(ctx, store.Range{Prefix: before}) {
		if err != nil {
			return err
		}
		var x entry
		if codec.Decode(e, &x) == nil && x.About != (reason.Effect{}) {
			continue
		}
		to := l.prefix() + e.Key[len(before):]
		value, err := codec.Move(e, to)
		if err != nil {
			value = e.Value // what is damaged is so under any key
		}
		put := store.Op{Key: to, Value: value, If: store.Absent}
		if _, err := l.st.Commit(ctx, put, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)}); err != nil {
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

// write writes an open entry, which must still be as the caller knows it.
func (l *ledger) write(ctx context.Context, h *held) error {
	put, err := putEntry(h.key, &entry{Outcome{About: h.About}, &h.open}, store.At(h.rev))
	if err != nil {
		return err
	}
	h.rev, err = l.st.Commit(context.WithoutCancel(ctx), put)
	return err
}

// maxPruned is how many outcomes one commit drops at most.
const maxPruned = 100

// save lets an outcome take the place of its open entry, and drops those of the lowest
// numbers, in one commit. The highest number stays: the next controller counts on from
// it. It returns false if another controller has brought the dispatch to its end. It can
// be called until there is no error.
func (l *ledger) save(ctx context.Context, h *held, o *Outcome) (kept bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	put, err := putEntry(h.key, &entry{Outcome: *o}, store.At(h.rev))
	if err != nil {
		return false, err
	}
	ops, saved := []store.Op{put}, slices.Clone(l.saved)
	at, _ := slices.BinarySearch(saved, h.key)
	saved = slices.Insert(saved, at, h.key)
	var old []string
	for _, k := range saved[:min(maxPruned, max(0, len(saved)-l.history))] {
		if k != h.key {
			old, ops = append(old, k), append(ops, store.Op{Key: k, Delete: true})
		}
	}
	if _, err = l.st.Commit(ctx, ops...); errors.Is(err, store.ErrConflict) {
		// An earlier commit took place although it reported an error, or the dispatch is
		// another controller's by now.
		var e store.Entry
		e, err = l.st.Get(ctx, h.key)
		if errors.Is(err, store.ErrNotFound) || err == nil && !bytes.Equal(e.Value, put.Value) {
			return false, nil
		}
		old = nil // the next outcome drops them, perhaps once more
	}
	if err == nil {
		l.saved = slices.DeleteFunc(saved, func(k string) bool { return slices.Contains(old, k) })
	}
	return err == nil, err
}

// rejudge replaces an outcome that was kept as Unseen. One that was dropped since is
// gone.
func (l *ledger) rejudge(ctx context.Context, o *Outcome) error {
	ctx = context.WithoutCancel(ctx)
	e, err := l.st.Get(ctx, l.entryKey(o.Number, o.Goal))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	put, err := putEntry(e.Key, &entry{Outcome: *o}, store.At(e.Rev))
	if err == nil {
		_, err = l.st.Commit(ctx, put)
	}
	return err
}

// all yields the outcomes by number.
func (l *ledger) all(ctx context.Context) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		for e, err := range l.st.Scan(ctx, store.Range{Prefix: l.prefix()}) {
			var x entry
			if err == nil {
				err = codec.Decode(e, &x)
			}
			if err != nil {
				err = fmt.Errorf("goal: outcomes: %w", err)
				if !yield(Outcome{}, err) || !codec.Unreadable(err) {
					return
				}
			} else if x.Open == nil && !yield(x.Outcome, nil) {
				return
			}
		}
	}
}

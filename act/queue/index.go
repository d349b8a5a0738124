package queue

import (
	"cmp"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"github.com/arc-learn/arc/store"
)

// item is a job that is pending, or active under a lease that may run out. Times are in nanoseconds.
type item struct {
	key      string
	rev      store.Revision
	created  int64
	free     int64 // when it can be claimed: its next time, or the end of the lease
	late     int64 // when its priority rises; 0: it was given no time
	wake     int64 // its place in waiting: free, or late once it is free
	level    int16 // its place in ready: its priority now
	priority int16
}

// index has the items in the order in which they can be claimed. What it says is checked against the record
// before a claim, so it may be behind what other processes have done. The Queue's lock guards it.
type index struct {
	items   map[string]*item
	ready   *btree.BTreeG[*item] // what is free
	waiting *btree.BTreeG[*item] // what becomes free or late by itself
	// pass is how many of equal priority the next claim passes over. Processes that claim at one time would all
	// take the first job, and all but one would be in vain; after such a conflict each takes some other one.
	pass int
}

func newIndex() index {
	tree := func(order func(a, b *item) int) *btree.BTreeG[*item] {
		less := func(a, b *item) bool { return cmp.Or(order(a, b), strings.Compare(a.key, b.key)) < 0 }
		return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
	}
	return index{
		items: map[string]*item{},
		ready: tree(func(a, b *item) int {
			return cmp.Or(int(a.level-b.level), cmp.Compare(a.free, b.free), cmp.Compare(a.created, b.created))
		}),
		waiting: tree(func(a, b *item) int { return cmp.Compare(a.wake, b.wake) }),
	}
}

// set takes in a job as it is, unless a newer one is there; of those of one commit the last holds. An active
// job is free when its record has not changed for the length of a lease from now.
func (x *index) set(r *record, now time.Time) {
	if old := x.items[r.key]; old != nil {
		if again := r.rev == old.rev && r.State == Active; again || r.rev < old.rev {
			return
		}
	}
	x.remove(r.key)
	it := &item{key: r.key, rev: r.rev, created: r.Created.UnixNano(), priority: int16(r.Priority)}
	it.free = r.At.UnixNano()
	if !r.Due.IsZero() {
		it.late = r.Due.Add(late).UnixNano() + 1
	}
	switch r.State {
	case Active:
		it.free = now.Add(lease).UnixNano()
	case Pending:
	default:
		return
	}
	it.wake = it.free
	x.items[it.key] = it
	x.waiting.Set(it)
}

func (x *index) remove(key string) {
	if it := x.items[key]; it != nil {
		x.ready.Delete(it)
		x.waiting.Delete(it)
		delete(x.items, key)
	}
}

// after returns the item that comes next in the order of claims; nil: there is none. That after nil is the
// first; but after a conflict with another process one that is pass places behind it, of the same priority,
// and with each claim one place less. Those that were passed over come last.
func (x *index) after(last *item, now time.Time) (next *item) {
	x.free(now)
	if last == nil {
		return x.first()
	}
	x.ready.Ascend(last, func(it *item) bool {
		if it != last {
			next = it
		}
		return next == nil
	})
	if next == nil && x.pass > 0 {
		x.pass = 0
		return x.first()
	}
	return next
}

// first returns the item in the place of pass, or the last one of the first priority.
func (x *index) first() (first *item) {
	passed := 0
	x.ready.Scan(func(it *item) bool {
		if first != nil && it.level > first.level {
			return false
		}
		first = it
		passed++
		return passed <= x.pass
	})
	x.pass = max(0, x.pass-1)
	return first
}

// free gives what has become free, or late, by now its place in ready.
func (x *index) free(now time.Time) {
	at := now.UnixNano()
	for it, ok := x.waiting.Min(); ok && it.wake <= at; it, ok = x.waiting.Min() {
		x.ready.Delete(it)
		x.waiting.Delete(it)
		switch it.level = it.priority; {
		case it.late != 0 && it.late <= at:
			it.level = max(1, it.priority-boost)
		case it.late != 0:
			it.wake = it.late
			x.waiting.Set(it)
		}
		x.ready.Set(it)
	}
}

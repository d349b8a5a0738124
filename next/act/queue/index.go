package queue

import (
	"cmp"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"github.com/arc-learn/arc/next/store"
)

// late is how long after its time a job gains boost priorities.
const (
	late  = time.Minute
	boost = 2
)

// head is what the index has of a job's record.
type head struct {
	Priority int       `cbor:"4,keyasint"`
	At       time.Time `cbor:"12,keyasint"`
	State    State     `cbor:"31,keyasint"`
	Created  time.Time `cbor:"34,keyasint"`
	Ended    time.Time `cbor:"36,keyasint"`
	Next     time.Time `cbor:"37,keyasint"`
	Round    int       `cbor:"42,keyasint"`
}

func (j *Job) head() head {
	return head{j.Priority, j.At, j.State, j.Created, j.Ended, j.Next, j.Round}
}

// item is a job that can be claimed, now or later: it is pending, or active under a lease that may run out. Times are
// in nanoseconds; 0 is none.
type item struct {
	key      string
	rev      store.Revision
	created  int64
	at       int64 // when the job was to run, where a time was given
	free     int64 // when it can be claimed: its next time, or the end of the lease
	wake     int64 // when its place changes: it becomes free, or late; it is in waiting then
	level    int16 // its priority now; 0: it is not in ready
	priority int16
	active   bool
	taken    bool // a commit that claims it is under way
}

// index has the items in the order in which they can be claimed. What it says is checked against the record before
// a claim, so it may be behind what other processes have done. The Queue's lock guards it.
type index struct {
	items   map[string]*item
	ready   *btree.BTreeG[*item]
	waiting *btree.BTreeG[*item]
}

func newIndex() index {
	tree := func(less func(a, b *item) int) *btree.BTreeG[*item] {
		return btree.NewBTreeGOptions(func(a, b *item) bool { return less(a, b) < 0 }, btree.Options{NoLocks: true})
	}
	return index{
		items: map[string]*item{},
		ready: tree(func(a, b *item) int {
			return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.free, b.free), cmp.Compare(a.created, b.created),
				strings.Compare(a.key, b.key))
		}),
		waiting: tree(func(a, b *item) int {
			return cmp.Or(cmp.Compare(a.wake, b.wake), strings.Compare(a.key, b.key))
		}),
	}
}

// set takes in the record of a job, unless a newer one is there. An active job is free when its record has not
// changed for the length of a lease from now.
func (x *index) set(key string, rev store.Revision, h head, now time.Time, lease time.Duration) {
	it := x.items[key]
	if it != nil && rev <= it.rev {
		return
	}
	x.remove(key)
	if h.State != Pending && h.State != Active {
		return
	}
	it = &item{key: key, rev: rev, created: h.Created.UnixNano(), priority: int16(h.Priority), active: h.State == Active}
	if !h.At.IsZero() {
		it.at = h.At.UnixNano()
	}
	it.free = h.Next.UnixNano()
	if it.active {
		it.free = now.Add(lease).UnixNano()
	}
	x.items[key] = it
	x.place(it, now.UnixNano())
}

func (x *index) remove(key string) {
	if it := x.items[key]; it != nil {
		x.unplace(it)
		delete(x.items, key)
	}
}

func (x *index) unplace(it *item) {
	if it.level != 0 {
		x.ready.Delete(it)
	}
	if it.wake != 0 {
		x.waiting.Delete(it)
	}
	it.level, it.wake = 0, 0
}

// place puts an item where it belongs at a time.
func (x *index) place(it *item, now int64) {
	x.unplace(it)
	if it.free > now {
		it.wake = it.free
		x.waiting.Set(it)
		return
	}
	it.level = it.priority
	if it.at != 0 && now-it.at > int64(late) {
		it.level = max(1, it.priority-boost)
	} else if it.at != 0 {
		it.wake = it.at + int64(late) + 1
		x.waiting.Set(it)
	}
	x.ready.Set(it)
}

// advance moves what has become free or late.
func (x *index) advance(now time.Time) {
	for {
		it, ok := x.waiting.Min()
		if !ok || it.wake > now.UnixNano() {
			return
		}
		x.place(it, now.UnixNano())
	}
}

// take returns the first item that no claim under way has taken, and takes it; nil: there is none.
func (x *index) take() (first *item) {
	x.ready.Scan(func(it *item) bool {
		if !it.taken {
			first = it
		}
		return first == nil
	})
	if first != nil {
		first.taken = true
	}
	return first
}

// next returns when the index changes by itself; zero: never.
func (x *index) next() time.Time {
	if it, ok := x.waiting.Min(); ok {
		return time.Unix(0, it.wake)
	}
	return time.Time{}
}

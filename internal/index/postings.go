package index

import "sync/atomic"

// term is a word of the dictionary with the records that hold it. Most words
// are in one record only: that one is kept in place.
type term struct {
	text   string
	stop   bool
	count  uint8         // writer's: in the record at hand
	bounds atomic.Uint32 // largest count <<8 | shortest length; of the dead as well
	df     atomic.Uint32 // records that hold it and are not deleted
	first  atomic.Uint64 // the only posting, if posts is nil: present | row<<8 | count
	posts  atomic.Pointer[list]
}

const present = 1 << 63

// list are postings in order of row. What is below n is immutable.
type list struct {
	n      atomic.Uint32
	rows   []uint32
	counts []uint8 // term frequencies
}

func newList(capacity int) *list {
	return &list{rows: make([]uint32, capacity), counts: make([]uint8, capacity)}
}

// append adds a posting, and returns the list that holds it: l, or a larger
// one.
func (l *list) append(row uint32, count uint8) *list {
	n := l.n.Load()
	if int(n) == len(l.rows) {
		grown := newList(capacity(int(n) + 1))
		copy(grown.rows, l.rows)
		copy(grown.counts, l.counts)
		grown.n.Store(n)
		l = grown
	}
	l.rows[n], l.counts[n] = row, count
	l.n.Store(n + 1)
	return l
}

// capacity leaves room for a quarter more, in sizes that the allocator has.
func capacity(n int) int {
	if n <= 2 {
		return 2
	}
	return (n + n/4 + 3) &^ 3
}

// view returns the postings with rows below limit. The buffers serve if there
// is only one.
func (t *term) view(limit uint32, row *[1]uint32, count *[1]uint8) ([]uint32, []uint8) {
	l := t.posts.Load()
	if l == nil {
		one := t.first.Load()
		row[0], count[0] = uint32(one>>8), uint8(one)
		if one == 0 || row[0] >= limit {
			return nil, nil
		}
		return row[:], count[:]
	}
	n := l.n.Load()
	for n > 0 && l.rows[n-1] >= limit {
		n--
	}
	return l.rows[:n], l.counts[:n]
}

// post adds a posting.
func (t *term) post(row uint32, count, length uint8) {
	l := t.posts.Load()
	one := t.first.Load()
	switch {
	case l != nil:
		if grown := l.append(row, count); grown != l {
			t.posts.Store(grown)
		}
	case t.df.Load() == 0:
		t.first.Store(present | uint64(row)<<8 | uint64(count))
		t.bounds.Store(uint32(count)<<8 | uint32(length))
		t.df.Store(1)
		return
	default:
		l = newList(2)
		l.append(uint32(one>>8), uint8(one))
		l.append(row, count)
		t.posts.Store(l)
	}
	bounds := t.bounds.Load()
	t.bounds.Store(max(bounds>>8, uint32(count))<<8 | min(bounds&255, uint32(length)))
	t.df.Add(1)
}

// drop takes note that one of the records was deleted, and leaves out the dead
// when they are a quarter.
func (t *term) drop(dead func(row uint32) bool) {
	df := t.df.Add(^uint32(0))
	l := t.posts.Load()
	if l == nil {
		return
	}
	if df == 0 {
		t.posts.Store(nil)
		return
	}
	n := l.n.Load()
	if n < 8 || n-df <= n/4 {
		return
	}
	live := newList(capacity(int(df)))
	for i, row := range l.rows[:n] {
		if !dead(row) {
			live.append(row, l.counts[i])
		}
	}
	t.posts.Store(live)
}

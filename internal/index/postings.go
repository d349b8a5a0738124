package index

// term is a word of the dictionary with the records that hold it. Most words
// are in one record only: that one is kept in place.
type term struct {
	text   string
	stop   bool
	count  uint8  // in the record that is being put or deleted
	bounds uint32 // largest count <<8 | shortest length; of the dead as well
	df     uint32 // records that hold it and are not deleted
	first  uint64 // the only posting, if posts is nil: present | row<<8 | count
	posts  *list
}

const present = 1 << 63

// list are postings in order of row.
type list struct {
	rows   []uint32
	counts []uint8 // term frequencies
}

func newList(n int) *list { return &list{make([]uint32, 0, room(n)), make([]uint8, 0, room(n))} }

// append adds a posting.
func (l *list) append(row uint32, count uint8) {
	if n := len(l.rows); n == cap(l.rows) {
		grown := newList(n + 1)
		*l = list{append(grown.rows, l.rows...), append(grown.counts, l.counts...)}
	}
	l.rows, l.counts = append(l.rows, row), append(l.counts, count)
}

// room is for n postings and a quarter more, in sizes that the allocator has.
func room(n int) int {
	if n <= 2 {
		return 2
	}
	return (n + n/4 + 3) &^ 3
}

// view returns the postings. The buffers serve if there is only one.
func (t *term) view(row *[1]uint32, count *[1]uint8) ([]uint32, []uint8) {
	if t.posts != nil {
		return t.posts.rows, t.posts.counts
	}
	row[0], count[0] = uint32(t.first>>8), uint8(t.first)
	if t.first == 0 {
		return nil, nil
	}
	return row[:], count[:]
}

// post adds a posting.
func (t *term) post(row uint32, count, length uint8) {
	switch {
	case t.posts != nil:
		t.posts.append(row, count)
	case t.df == 0:
		t.first = present | uint64(row)<<8 | uint64(count)
		t.bounds, t.df = uint32(count)<<8|uint32(length), 1
		return
	default:
		t.posts = newList(2)
		t.posts.append(uint32(t.first>>8), uint8(t.first))
		t.posts.append(row, count)
	}
	t.bounds = max(t.bounds>>8, uint32(count))<<8 | min(t.bounds&255, uint32(length))
	t.df++
}

// drop takes note that one of the records was deleted, and leaves out the dead
// when they are a quarter.
func (t *term) drop(dead func(row uint32) bool) {
	t.df--
	l := t.posts
	if l == nil {
		return
	}
	n := uint32(len(l.rows))
	if n < 8 || n-t.df <= n/4 {
		return
	}
	live := newList(int(t.df))
	for i, row := range l.rows {
		if !dead(row) {
			live.append(row, l.counts[i])
		}
	}
	t.posts = live
}

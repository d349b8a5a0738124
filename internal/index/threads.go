package index

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// thread is a conversation.
type thread struct {
	id     uint32
	name   string
	length atomic.Int64 // of its records, in sumUnit
	chunks []uint32     // the writer's: numbers, in order
}

// chunk is a piece of a thread, which is what a search weighs at once. It is
// immutable: a change replaces it. A chunk that is not the last of its thread
// has at least reach records, so that what is near a record is in its own chunk
// and in the two beside it.
type chunk struct {
	thread     *thread
	prev, next uint32   // numbers; none at the ends
	rows       []uint32 // in order
	places     []place  // by position; the writer's
}

const (
	maxChunk = 32
	minChunk = 8
	none     = ^uint32(0)
)

// place is where a record stands in its thread.
type place struct{ at, tie int64 }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.tie, q.tie))
}

// threads are what is kept of threads, by number of chunk.
type threads struct {
	chunks []atomic.Pointer[chunk] // nil: the number is free
}

// A cell of columns.chunk is 0 for a record without a thread, or the number of
// its chunk plus one, its position there, and whether records of the chunk
// before or after are within reach.
const (
	nearPrev = 1 << iota
	nearNext
	placeShift = iota
	cellShift  = placeShift + 5 // 5 bits for positions up to maxChunk
)

func cellOf(id uint32, i int) uint32 { return (id+1)<<cellShift | uint32(i)<<placeShift }

func chunkOf(cell uint32) uint32 { return cell>>cellShift - 1 }

func placeOf(cell uint32) int { return int(cell >> placeShift % maxChunk) }

func (th *threads) chunk(id uint32) *chunk {
	if int(id) >= len(th.chunks) {
		return nil
	}
	return th.chunks[id].Load()
}

// neighbor returns the row that stands d places after position i of c, which
// is within reach.
func (th *threads) neighbor(c *chunk, i, d int) (row uint32, ok bool) {
	i += d
	switch {
	case i < 0:
		if c = th.chunk(c.prev); c == nil {
			return 0, false
		}
		i += len(c.rows)
	case i >= len(c.rows):
		i -= len(c.rows)
		if c = th.chunk(c.next); c == nil {
			return 0, false
		}
	}
	if i < 0 || i >= len(c.rows) {
		return 0, false
	}
	return c.rows[i], true
}

// Latest returns the last n rows of a thread, in order. No change may go on
// meanwhile.
func (ix *Index) Latest(name string, n int) []uint32 {
	t := ix.named[name]
	if t == nil {
		return nil
	}
	th := ix.threads.Load()
	var rows []uint32
	for _, id := range slices.Backward(t.chunks) {
		if len(rows) >= n {
			break
		}
		rows = append(slices.Clone(th.chunk(id).rows), rows...)
	}
	return rows[max(0, len(rows)-n):]
}

// joinThread puts a record into its thread.
func (ix *Index) joinThread(row uint32, name string, p place) {
	t := ix.named[name]
	if t == nil {
		t = ix.newThread(name)
	}
	ix.lengthen(t, row, 1)
	if len(t.chunks) == 0 {
		id := ix.newChunk()
		t.chunks = []uint32{id}
		ix.set(id, &chunk{thread: t, prev: none, next: none, rows: []uint32{row}, places: []place{p}})
		ix.refresh(id, 0, 1)
		return
	}
	th := ix.threads.Load()
	last := t.chunks[len(t.chunks)-1]
	c := th.chunk(last)
	if p.compare(c.places[len(c.places)-1]) >= 0 {
		ix.extend(t, last, c, row, p)
		return
	}
	ix.moves.Add(1)
	defer ix.moves.Add(1)
	k, _ := slices.BinarySearchFunc(t.chunks, p, func(id uint32, p place) int {
		if first := th.chunk(id).places[0]; first.compare(p) <= 0 {
			return -1
		}
		return 1
	})
	k = max(k-1, 0)
	id := t.chunks[k]
	c = th.chunk(id)
	i, _ := slices.BinarySearchFunc(c.places, p, func(q, p place) int {
		if q.compare(p) <= 0 {
			return -1
		}
		return 1
	})
	n := *c
	n.rows, n.places = insert(c.rows, i, row), insert(c.places, i, p)
	ix.set(id, &n)
	ix.balance(t, k)
	ix.refreshAround(t, k)
}

func (ix *Index) newThread(name string) *thread {
	t := &thread{name: name, id: ix.lastThread}
	if n := len(ix.freeThreads); n > 0 {
		t.id = ix.freeThreads[n-1]
		ix.freeThreads = ix.freeThreads[:n-1]
	} else {
		ix.lastThread++
	}
	ix.named[name] = t
	ix.threadCount.Add(1)
	return t
}

// extend puts a record at the end of a thread.
func (ix *Index) extend(t *thread, last uint32, c *chunk, row uint32, p place) {
	n := *c
	if len(c.rows) < maxChunk {
		n.rows, n.places = extended(c.rows, row), extended(c.places, p)
		ix.set(last, &n)
		ix.refresh(last, len(c.rows), len(n.rows))
		return
	}
	id := ix.newChunk()
	ix.set(id, &chunk{thread: t, prev: last, next: none, rows: []uint32{row}, places: []place{p}})
	n.next = id
	ix.set(last, &n)
	t.chunks = append(t.chunks, id)
	ix.refresh(last, len(c.rows)-reach, len(c.rows))
	ix.refresh(id, 0, 1)
}

// leaveThread takes a record out of its thread.
func (ix *Index) leaveThread(row uint32) {
	ix.moves.Add(1)
	defer ix.moves.Add(1)
	cell := &ix.cols.Load().chunk[row]
	id := chunkOf(cell.Load())
	cell.Store(0)
	c := ix.threads.Load().chunk(id)
	t, i := c.thread, slices.Index(c.rows, row)
	ix.lengthen(t, row, -1)
	k := slices.Index(t.chunks, id)
	n := *c
	n.rows, n.places = without(c.rows, i), without(c.places, i)
	ix.set(id, &n)
	ix.balance(t, k)
	if len(t.chunks) == 0 {
		delete(ix.named, t.name)
		ix.freeThreads = append(ix.freeThreads, t.id)
		ix.threadCount.Add(-1)
		return
	}
	ix.refreshAround(t, k)
}

// balance splits the k-th chunk of a thread if it is too large, and brings it
// together with another if it is too small.
func (ix *Index) balance(t *thread, k int) {
	c := ix.threads.Load().chunk(t.chunks[k])
	switch {
	case len(c.rows) == 0:
		ix.remove(t, k)
	case len(c.rows) > maxChunk:
		ix.split(t, k)
	case len(c.rows) < minChunk && k+1 < len(t.chunks):
		next := ix.threads.Load().chunk(t.chunks[k+1])
		n := *c
		n.rows, n.places = slices.Concat(c.rows, next.rows), slices.Concat(c.places, next.places)
		ix.set(t.chunks[k], &n)
		ix.remove(t, k+1)
		if len(n.rows) > maxChunk {
			ix.split(t, k)
		}
	}
}

// split moves the second half of a chunk to a new one.
func (ix *Index) split(t *thread, k int) {
	th, id := ix.threads.Load(), t.chunks[k]
	c := th.chunk(id)
	half := len(c.rows) / 2
	fresh := ix.newChunk()
	second := &chunk{
		thread: t, prev: id, next: c.next,
		rows: slices.Clone(c.rows[half:]), places: slices.Clone(c.places[half:]),
	}
	ix.set(fresh, second)
	first := *c
	first.next, first.rows, first.places = fresh, slices.Clone(c.rows[:half]), slices.Clone(c.places[:half])
	ix.set(id, &first)
	ix.link(c.next, func(n *chunk) { n.prev = fresh })
	t.chunks = slices.Insert(t.chunks, k+1, fresh)
	ix.refresh(fresh, 0, len(second.rows))
}

// remove takes the k-th chunk, whose records are gone, out of its thread.
func (ix *Index) remove(t *thread, k int) {
	id := t.chunks[k]
	c := ix.threads.Load().chunk(id)
	ix.link(c.prev, func(n *chunk) { n.next = c.next })
	ix.link(c.next, func(n *chunk) { n.prev = c.prev })
	ix.set(id, nil)
	ix.free = append(ix.free, id)
	t.chunks = slices.Delete(t.chunks, k, k+1)
}

func (ix *Index) link(id uint32, change func(*chunk)) {
	if c := ix.threads.Load().chunk(id); c != nil {
		n := *c
		change(&n)
		ix.set(id, &n)
	}
}

func (ix *Index) set(id uint32, c *chunk) { ix.threads.Load().chunks[id].Store(c) }

// newChunk returns a number that is free.
func (ix *Index) newChunk() uint32 {
	if n := len(ix.free); n > 0 {
		id := ix.free[n-1]
		ix.free = ix.free[:n-1]
		return id
	}
	old := ix.threads.Load()
	id := ix.chunks
	ix.chunks++
	if int(id) == len(old.chunks) {
		n := int(id) + int(id)/4 + 8
		grown := &threads{chunks: make([]atomic.Pointer[chunk], n)}
		for i := range old.chunks {
			grown.chunks[i].Store(old.chunks[i].Load())
		}
		ix.threads.Store(grown)
	}
	return id
}

// refreshAround renews what is derived of the k-th chunk of a thread and those
// beside it.
func (ix *Index) refreshAround(t *thread, k int) {
	for i := max(k-1, 0); i < min(k+3, len(t.chunks)); i++ { // k may have been split
		ix.refresh(t.chunks[i], 0, maxChunk)
	}
}

// refresh renews the cells of the records from position i to j of a chunk.
func (ix *Index) refresh(id uint32, from, to int) {
	cols, c := ix.cols.Load(), ix.threads.Load().chunk(id)
	for i := max(from, 0); i < min(to, len(c.rows)); i++ {
		cell := cellOf(id, i)
		if c.prev != none && i < reach {
			cell |= nearPrev
		}
		if c.next != none && i >= len(c.rows)-reach {
			cell |= nearNext
		}
		cols.chunk[c.rows[i]].Store(cell)
	}
}

// lengthen keeps the length of a thread when a record joins or leaves.
func (ix *Index) lengthen(t *thread, row uint32, sign int64) {
	length := sign * sums[uint8(ix.cols.Load().meta[row].Load())]
	t.length.Add(length)
	ix.threadLength.Add(length)
}

// insert, extended and without leave s as it is.
func insert[T any](s []T, i int, v T) []T {
	return slices.Insert(slices.Clip(s), i, v)
}

// extended may use the room behind s: no reader looks there.
func extended[T any](s []T, v T) []T {
	if n := len(s); n == cap(s) {
		s = append(make([]T, 0, n+min(n, minChunk)), s...)
	}
	return append(s, v)
}

func without[T any](s []T, i int) []T {
	return slices.Concat(s[:i], s[i+1:])
}

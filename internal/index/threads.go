package index

import (
	"cmp"
	"slices"
)

// thread is a conversation.
type thread struct {
	id     uint32
	name   string
	length int64    // of its records, in sumUnit
	chunks []uint32 // numbers, in order
}

// chunk is a piece of a thread, which is what a search weighs at once. A chunk that is not the last of its thread
// has at least reach records, so that what is near a record is in its own chunk
// and in the two beside it.
type chunk struct {
	thread     *thread
	prev, next uint32   // numbers; none at the ends
	rows       []uint32 // in order
	places     []place  // by position
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
type threads []*chunk // nil: the number is free

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

// chunk returns the one of a number, or nil for none.
func (th threads) chunk(id uint32) *chunk {
	if id == none {
		return nil
	}
	return th[id]
}

// Latest returns the last n rows of a thread, in order.
func (ix *Index) Latest(name string, n int) []uint32 {
	t := ix.named[name]
	if t == nil {
		return nil
	}
	var rows []uint32
	for _, id := range slices.Backward(t.chunks) {
		if len(rows) >= n {
			break
		}
		rows = append(slices.Clone(ix.threads[id].rows), rows...)
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
		t.chunks = []uint32{ix.newChunk(&chunk{thread: t, prev: none, next: none, rows: []uint32{row}, places: []place{p}})}
		ix.refresh(t.chunks[0], 0, 1)
		return
	}
	last := t.chunks[len(t.chunks)-1]
	if c := ix.threads[last]; p.compare(c.places[len(c.places)-1]) >= 0 {
		ix.extend(t, last, row, p)
		return
	}
	k, _ := slices.BinarySearchFunc(t.chunks, p, func(id uint32, p place) int {
		if first := ix.threads[id].places[0]; first.compare(p) <= 0 {
			return -1
		}
		return 1
	})
	k = max(k-1, 0)
	c := ix.threads[t.chunks[k]]
	i, _ := slices.BinarySearchFunc(c.places, p, func(q, p place) int {
		if q.compare(p) <= 0 {
			return -1
		}
		return 1
	})
	c.rows, c.places = slices.Insert(c.rows, i, row), slices.Insert(c.places, i, p)
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
	ix.threadCount++
	return t
}

// extend puts a record at the end of a thread, whose last chunk is given.
func (ix *Index) extend(t *thread, last, row uint32, p place) {
	c := ix.threads[last]
	n := len(c.rows)
	if n < maxChunk {
		c.rows, c.places = extended(c.rows, row), extended(c.places, p)
		ix.refresh(last, n, n+1)
		return
	}
	c.next = ix.newChunk(&chunk{thread: t, prev: last, next: none, rows: []uint32{row}, places: []place{p}})
	t.chunks = append(t.chunks, c.next)
	ix.refresh(last, n-reach, n)
	ix.refresh(c.next, 0, 1)
}

// leaveThread takes a record out of its thread.
func (ix *Index) leaveThread(row uint32) {
	cell := &ix.cols.chunk[row]
	id := chunkOf(*cell)
	*cell = 0
	c := ix.threads[id]
	t, i := c.thread, slices.Index(c.rows, row)
	ix.lengthen(t, row, -1)
	k := slices.Index(t.chunks, id)
	c.rows, c.places = slices.Delete(c.rows, i, i+1), slices.Delete(c.places, i, i+1)
	ix.balance(t, k)
	if len(t.chunks) == 0 {
		delete(ix.named, t.name)
		ix.freeThreads = append(ix.freeThreads, t.id)
		ix.threadCount--
		return
	}
	ix.refreshAround(t, k)
}

// balance splits the k-th chunk of a thread if it is too large, and brings it
// together with another if it is too small.
func (ix *Index) balance(t *thread, k int) {
	c := ix.threads[t.chunks[k]]
	switch {
	case len(c.rows) == 0:
		ix.remove(t, k)
	case len(c.rows) > maxChunk:
		ix.split(t, k)
	case len(c.rows) < minChunk && k+1 < len(t.chunks):
		next := ix.threads[t.chunks[k+1]]
		c.rows, c.places = append(c.rows, next.rows...), append(c.places, next.places...)
		ix.remove(t, k+1)
		if len(c.rows) > maxChunk {
			ix.split(t, k)
		}
	}
}

// split moves the second half of a chunk to a new one.
func (ix *Index) split(t *thread, k int) {
	id := t.chunks[k]
	c := ix.threads[id]
	half := len(c.rows) / 2
	second := &chunk{
		thread: t, prev: id, next: c.next, rows: slices.Clone(c.rows[half:]), places: slices.Clone(c.places[half:]),
	}
	fresh := ix.newChunk(second)
	if n := ix.threads.chunk(c.next); n != nil {
		n.prev = fresh
	}
	c.next, c.rows, c.places = fresh, slices.Clone(c.rows[:half]), slices.Clone(c.places[:half])
	t.chunks = slices.Insert(t.chunks, k+1, fresh)
	ix.refresh(fresh, 0, len(second.rows))
}

// remove takes the k-th chunk, whose records are gone, out of its thread.
func (ix *Index) remove(t *thread, k int) {
	id := t.chunks[k]
	c := ix.threads[id]
	if p := ix.threads.chunk(c.prev); p != nil {
		p.next = c.next
	}
	if n := ix.threads.chunk(c.next); n != nil {
		n.prev = c.prev
	}
	ix.threads[id] = nil
	ix.free = append(ix.free, id)
	t.chunks = slices.Delete(t.chunks, k, k+1)
}

// newChunk gives a chunk a number.
func (ix *Index) newChunk(c *chunk) uint32 {
	if n := len(ix.free); n > 0 {
		id := ix.free[n-1]
		ix.free = ix.free[:n-1]
		ix.threads[id] = c
		return id
	}
	ix.threads = append(ix.threads, c)
	return uint32(len(ix.threads) - 1)
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
	c := ix.threads[id]
	for i := max(from, 0); i < min(to, len(c.rows)); i++ {
		cell := cellOf(id, i)
		if c.prev != none && i < reach {
			cell |= nearPrev
		}
		if c.next != none && i >= len(c.rows)-reach {
			cell |= nearNext
		}
		ix.cols.chunk[c.rows[i]] = cell
	}
}

// lengthen keeps the length of a thread when a record joins or leaves.
func (ix *Index) lengthen(t *thread, row uint32, sign int64) {
	length := sign * sums[uint8(ix.cols.meta[row])]
	t.length += length
	ix.threadLength += length
}

// extended appends v to s, of which few are longer than minChunk.
func extended[T any](s []T, v T) []T {
	if n := len(s); n == cap(s) {
		s = append(make([]T, 0, n+min(n, minChunk)), s...)
	}
	return append(s, v)
}

package index

import (
	"math/bits"
	"slices"
)

// state is what a search knows of a chunk.
type state struct {
	bound float32 // no record of it has more, of the words that were walked
	more  float32 // see note
	word  int32   // of the last hit, plus one
	hits  int32   // the last, plus one; 0: none
}

// hit is a posting that counts in a chunk: that of a record in it, or within
// reach of one.
type hit struct {
	before int32 // the hit before it in the chunk, plus one
	word   int32
	place  uint8 // position in the chunk, plus reach
	count  uint8
}

// hit notes a posting of a record in a thread.
func (sc *Scratch) hit(cell uint32, w *word, n int, count, length uint8) {
	id, i := chunkOf(cell), placeOf(cell)
	sc.note(id, i+reach, w, n, count, length)
	if cell&(nearPrev|nearNext) == 0 {
		return
	}
	c := sc.th.chunk(id)
	if c == nil {
		return
	}
	if cell&nearPrev != 0 {
		if p := sc.th.chunk(c.prev); p != nil {
			sc.note(c.prev, i+reach+len(p.slots), w, n, count, length)
		}
	}
	if cell&nearNext != 0 && c.next != none {
		sc.note(c.next, i+reach-len(c.slots), w, n, count, length)
	}
}

// note notes a hit of a chunk. The bound grows by what the word gives there at
// most: a sum saturates at less than its parts do together, and all of them but
// a record's own count for at most windowMost.
func (sc *Scratch) note(id uint32, place int, w *word, n int, count, length uint8) {
	if uint(place) >= maxPlaces || int(id) >= len(sc.states) {
		return // the thread has changed since the search began
	}
	st := &sc.states[id]
	if st.hits == 0 {
		sc.chunks = append(sc.chunks, id)
	}
	var all, half float32
	if count == 1 {
		all, half = sc.norms.once[length], sc.norms.half[length]
	} else {
		p := float32(count) * sc.norms.inv[length]
		all, half = saturate(p), saturate(p*windowMost)
	}
	if st.word != int32(n+1) {
		st.word, st.more = int32(n+1), all-half
		st.bound += w.gain * all
	} else {
		if more := all - half; more > st.more {
			half += more - st.more
			st.more = more
		}
		st.bound += w.gain * half
	}
	sc.hits = append(sc.hits, hit{before: st.hits, word: int32(n), place: uint8(place), count: count})
	st.hits = int32(len(sc.hits))
}

// forget drops the hits that were weighed.
func (sc *Scratch) forget() {
	for _, id := range sc.chunks {
		sc.states[id] = state{}
	}
	sc.chunks, sc.hits = sc.chunks[:0], sc.hits[:0]
}

// bands are shares of the best bound: the chunks in the higher ones are weighed
// first, since what they come to often spares the others.
var bands = [...]float32{0.8, 0.65, 0.5, 0.35, 0}

// weighChunks scores the records of the chunks that may have wanted ones, by
// the words that were walked, of which there are n.
func (sc *Scratch) weighChunks(n int) {
	if len(sc.chunks) == 0 {
		return
	}
	most := float32(0)
	for _, id := range sc.chunks {
		most = max(most, sc.states[id].bound)
	}
	rest, above := sc.after[n], float32(2)
	for _, band := range bands {
		least := sc.least()
		for _, id := range sc.chunks {
			bound := sc.states[id].bound
			if bound < band*most || bound >= above*most || bound*sc.most+rest < least {
				continue
			}
			sc.weighChunk(id, true)
		}
		above = band
	}
}

// local is a chunk that is being weighed, by place: position plus reach.
type local struct {
	slots  [maxPlaces]uint32
	metas  [maxPlaces]uint32
	scores [maxPlaces]float32
	own    [maxPlaces]float32 // of the word at hand
	near   [maxPlaces]float32 // of the word at hand, of those around
	hits   []hit              // the last first
	within uint64             // places that are in the chunk, and that a hit is within reach of
}

const (
	maxPlaces = maxChunk + 2*reach
	around    = 1<<(2*reach+1) - 1 // the places within reach of place reach
)

// weighChunk scores the records of a chunk by its hits: from nothing, or in
// addition to what those have that have something.
func (sc *Scratch) weighChunk(id uint32, fresh bool) {
	c, l := sc.th.chunk(id), &sc.local
	if c == nil {
		return
	}
	l.hits = l.hits[:0]
	load := uint64(0)
	l.within = 0
	for at := sc.states[id].hits; at != 0; at = sc.hits[at-1].before {
		h := sc.hits[at-1]
		l.hits = append(l.hits, h)
		load |= 1 << h.place
		l.within |= around << h.place >> reach
	}
	l.within &= (1<<len(c.slots) - 1) << reach
	for set := load | l.within; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		slot, ok := sc.th.place(c, i)
		if !ok || slot >= sc.limit { // it is newer than the search
			slot, l.within = 0, l.within&^(1<<i)
		}
		l.slots[i], l.metas[i], l.scores[i] = slot, sc.cols.meta[slot].Load(), 0
		if !fresh {
			l.scores[i] = max(sc.scores[slot], 0)
		}
	}
	for len(l.hits) > 0 {
		sc.weighWord(l)
	}
	sc.settle(l, fresh)
}

// place returns the slot at a place of c.
func (th *threads) place(c *chunk, i int) (uint32, bool) {
	switch i -= reach; {
	case i < 0:
		return th.neighbor(c, 0, i)
	case i >= len(c.slots):
		return th.neighbor(c, len(c.slots)-1, i-len(c.slots)+1)
	}
	return c.slots[i], true
}

// weighWord takes the hits of one word, which are the last of l.hits, and adds
// what they give.
func (sc *Scratch) weighWord(l *local) {
	from := len(l.hits) - 1
	n := l.hits[from].word
	for from > 0 && l.hits[from-1].word == n {
		from--
	}
	hits, w, set := l.hits[from:], &sc.words[n], uint64(0)
	l.hits = l.hits[:from]
	if len(hits) > 1 { // sums must not depend on the order of slots
		slices.SortFunc(hits, func(a, b hit) int { return int(a.place) - int(b.place) })
	}
	for _, h := range hits {
		length := uint8(l.metas[h.place])
		p := float32(h.count) * sc.norms.inv[length]
		l.own[h.place] = p
		reached := around << h.place >> reach & l.within
		set |= reached
		p *= open[length]
		for reached &^= 1 << h.place; reached != 0; reached &= reached - 1 {
			i := bits.TrailingZeros64(reached)
			l.near[i] += float32(window[int(h.place)-i+reach] * p)
		}
	}
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		m := l.metas[i]
		tau := l.own[i] + float32(open[uint8(m)]*l.near[i])
		if tau > 0 && (l.scores[i] > 0 || !w.stop || !sc.content) {
			l.scores[i] += float32(w.gain * sc.factor(l.slots[i], m) * saturate(tau))
		}
		l.near[i] = 0
	}
	for _, h := range hits {
		l.own[h.place] = 0
	}
}

// settle takes over what a chunk was weighed.
func (sc *Scratch) settle(l *local, fresh bool) {
	for set := l.within; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		slot, s := l.slots[i], l.scores[i]
		if s == 0 || flagsOf(l.metas[i])&(sc.q.Exclude|dead) != 0 {
			continue
		}
		switch old := sc.scores[slot]; {
		case old > 0 || old == 0 && fresh && sc.touch(slot) == 0:
			sc.scores[slot] = s
		case old == 0 && fresh:
			sc.scores[slot] = skipped
		}
	}
}

// needAround adds to need the slots around those that are in threads.
func (sc *Scratch) needAround() {
	for _, slot := range sc.need {
		cell := sc.cols.chunk[slot].Load()
		if cell == 0 {
			continue
		}
		c := sc.th.chunk(chunkOf(cell))
		if c == nil {
			continue
		}
		for d := -reach; d <= reach; d++ {
			if near, ok := sc.th.neighbor(c, placeOf(cell), d); ok && near < sc.limit {
				sc.need = append(sc.need, near)
			}
		}
	}
}

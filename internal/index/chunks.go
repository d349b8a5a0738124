package index

import (
	"math/bits"
	"slices"
)

// state is what a search knows of a chunk.
type state struct {
	before float32 // no record of it has more, of the words before the last
	bound  float32 // no record of it has more, of the words that were walked
	sum    float32 // of what the postings of the last word count
	most   float32 // the most that one of them counts
	word   int32   // the last, plus one
	hits   int32   // the last, plus one; 0: none
	closed bool    // it has no wanted record
}

// hit is a posting that counts in a chunk: that of a record in it, or within
// reach of one.
type hit struct {
	before int32 // the hit before it in the chunk, plus one
	word   int32
	row    uint32
	p      float32 // what the record counts itself: tf · inv
	place  uint8   // position in the chunk, plus reach
	length uint8   // code
}

// hit notes a posting of a record in a thread.
func (sc *Scratch) hit(cell, row uint32, w *word, n int, count, length uint8) {
	id, i := chunkOf(cell), placeOf(cell)
	sc.note(id, i+reach, row, w, n, count, length)
	if cell&(nearPrev|nearNext) == 0 {
		return
	}
	c := sc.th[id]
	if cell&nearPrev != 0 {
		if p := sc.th.chunk(c.prev); p != nil {
			sc.note(c.prev, i+reach+len(p.rows), row, w, n, count, length)
		}
	}
	if cell&nearNext != 0 && c.next != none {
		sc.note(c.next, i+reach-len(c.rows), row, w, n, count, length)
	}
}

// note notes a hit of a chunk. The bound of a word there is that of a record
// which has the posting that counts most, and the others around it.
func (sc *Scratch) note(id uint32, place int, row uint32, w *word, n int, count, length uint8) {
	st := &sc.states[id]
	if st.hits == 0 {
		sc.chunks = append(sc.chunks, id)
	}
	p := float32(count) * sc.norms.inv[length]
	if st.word != int32(n+1) {
		st.word, st.before, st.sum, st.most = int32(n+1), st.bound, p, p
	} else {
		st.sum += p
		st.most = max(st.most, p)
	}
	tau := st.most + min(windowMost*(st.sum-st.most), windowSum*st.most)
	st.bound = st.before + w.gain*saturate(tau)
	sc.hits = append(sc.hits, hit{before: st.hits, word: int32(n), row: row, p: p, place: uint8(place), length: length})
	st.hits = int32(len(sc.hits))
}

// isOpen reports whether the chunk has hits and may have a wanted record.
func (sc *Scratch) isOpen(id uint32) bool {
	return sc.states[id].hits != 0 && !sc.states[id].closed
}

// samples is the number of chunks from which narrow learns what is wanted.
const samples = 16

// sample weighs the chunks with the best bounds, and returns what least is then.
func (sc *Scratch) sample(least float32) float32 {
	var best [samples]uint32
	n := 0 // of best, which is in ascending order from the end
	for _, id := range sc.chunks {
		bound := sc.states[id].bound
		if n == samples {
			if bound <= sc.states[best[0]].bound {
				continue
			}
		} else {
			n++
			copy(best[samples-n:], best[samples-n+1:])
		}
		at := samples - n + 1
		for ; at < samples && sc.states[best[at]].bound < bound; at++ {
			best[at-1] = best[at]
		}
		best[at-1] = id
	}
	for _, id := range best[samples-n:] {
		sc.weighChunk(id)
	}
	return sc.improve(least)
}

// boundByPlace returns a score that no record of the chunk has more than, like
// state.bound, but heeding where the words are.
func (sc *Scratch) boundByPlace(id uint32) float32 {
	var scores [maxPlaces]float32
	most := float32(0)
	for at := sc.states[id].hits; at != 0; {
		first, word := at, sc.hits[at-1].word
		sum, largest, reached := float32(0), float32(0), uint64(0)
		for ; at != 0 && sc.hits[at-1].word == word; at = sc.hits[at-1].before {
			h := &sc.hits[at-1]
			sum += h.p
			largest = max(largest, h.p)
			reached |= around << h.place >> reach
		}
		gain := sc.words[word].gain
		near := gain * saturate(min(windowMost*sum, windowSum*largest))
		for set := reached & (1<<maxPlaces - 1); set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			scores[i] += near
			most = max(most, scores[i])
		}
		for at := first; at != 0 && sc.hits[at-1].word == word; at = sc.hits[at-1].before {
			h := &sc.hits[at-1]
			own := gain * saturate(h.p+min(windowMost*(sum-h.p), windowSum*largest))
			scores[h.place] += own - near
			most = max(most, scores[h.place])
		}
	}
	return most
}

func (sc *Scratch) bestBound(chunks []uint32) float32 {
	most := float32(0)
	for _, id := range chunks {
		most = max(most, sc.states[id].bound)
	}
	return most
}

// bands are shares of the best bound: the chunks in the higher ones are weighed
// first, since what they come to often spares the others.
var bands = [...]float32{0.85, 0.7, 0.55, 0.4, 0}

// weighChunks scores the records of the chunks in open that may have wanted
// ones, and ranks them with those in single.
func (sc *Scratch) weighChunks(least float32) {
	sc.rank.reset(sc.q.K)
	sc.rate(sc.single)
	most, above := sc.bestBound(sc.open), float32(2)
	for _, band := range bands {
		if most == 0 {
			return
		}
		for _, id := range sc.open {
			bound := sc.states[id].bound
			if bound < band*most || bound >= above*most || bound*sc.most < least ||
				least > 0 && sc.boundByPlace(id)*sc.most < least {
				continue
			}
			sc.rate(sc.weighChunk(id))
			least = max(least, rounding*sc.rank.least(sc.q.Gate))
		}
		above = band
	}
}

// rate ranks the scores of rows.
func (sc *Scratch) rate(rows []uint32) {
	for _, row := range rows {
		if s := sc.scores[row]; sc.rank.wants(s) && !sc.skips(row) {
			sc.rank.add(s)
		}
	}
}

// local is a chunk that is being weighed, by place: position plus reach.
type local struct {
	rows   [maxPlaces]uint32
	metas  [maxPlaces]uint32
	scores [maxPlaces]float32
	own    [maxPlaces]float32 // of the word at hand
	near   [maxPlaces]float32 // of the word at hand, of those around
	hits   []hit              // the last first
	found  [maxChunk]uint32
	within uint64 // places in the chunk within reach of a hit
}

const (
	maxPlaces = maxChunk + 2*reach
	around    = 1<<(2*reach+1) - 1 // the places within reach of place reach
)

// weighChunk scores the records of a chunk by its hits, and returns those that
// have a score.
func (sc *Scratch) weighChunk(id uint32) []uint32 {
	c, l := sc.th[id], &sc.local
	l.hits = l.hits[:0]
	l.within = 0
	for at := sc.states[id].hits; at != 0; at = sc.hits[at-1].before {
		h := sc.hits[at-1]
		l.hits = append(l.hits, h)
		l.within |= around << h.place >> reach
	}
	l.within &= (1<<len(c.rows) - 1) << reach
	for set := l.within; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		row := c.rows[i-reach]
		l.rows[i], l.metas[i], l.scores[i] = row, sc.cols.meta[row], 0
	}
	for len(l.hits) > 0 {
		sc.weighWord(l)
	}
	return sc.collect(l)
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
	if len(hits) > 1 { // sums must not depend on the order of rows
		slices.SortFunc(hits, func(a, b hit) int { return int(a.place) - int(b.place) })
	}
	for _, h := range hits {
		l.own[h.place] = h.p
		reached := around << h.place >> reach & l.within
		set |= reached
		p := h.p * open[h.length]
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
			l.scores[i] += float32(w.gain * sc.factor(l.rows[i], m) * saturate(tau))
		}
		l.near[i] = 0
	}
	for _, h := range hits {
		l.own[h.place] = 0
	}
}

// collect takes over what the records of a chunk were weighed, and returns those
// that have a score.
func (sc *Scratch) collect(l *local) []uint32 {
	found := l.found[:0]
	for set := l.within; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		row, s := l.rows[i], l.scores[i]
		if s == 0 || flagsOf(l.metas[i])&(sc.q.Exclude|dead) != 0 {
			continue
		}
		old := sc.scores[row]
		if old == 0 {
			sc.settled = append(sc.settled, row)
		}
		if old < 0 {
			sc.scores[row] = old
			continue
		}
		sc.scores[row] = s
		found = append(found, row)
	}
	return found
}

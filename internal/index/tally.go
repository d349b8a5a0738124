package index

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/text"
)

// Thread is a conversation that a query found. Ratio and Relevance are as in
// Match; Best are its best records, at most three, best first.
type Thread struct {
	Name             string
	Ratio, Relevance float64
	Best             []Match
}

// tally is what a search knows of a thread.
type tally struct {
	thread *thread
	tf     int64   // of the word at hand
	score  float64 // of its words
	best   [threadHits]Match
	n      int // of best
}

// Threads returns the K best of the threads in which the query finds a record,
// best first; 0: all of them. Gate has no effect. The result is valid until the
// next use of sc.
func (ix *Index) Threads(sc *Scratch, q *Query) []Thread {
	all := *q
	all.K = 0
	ix.begin(sc, &all)
	defer sc.end()
	done := 0
	for ; done < len(sc.words) && !(sc.words[done].stop && sc.content); done++ {
		sc.walk(&sc.words[done], done)
	}
	sc.weighChunks(sc.narrow(done, 0))
	if n := int(ix.threadCount); len(sc.tallies) < n {
		sc.tallies = slices.Grow(sc.tallies, n-len(sc.tallies))[:n]
	}
	for _, row := range sc.settled {
		if s := sc.scores[row]; s > 0 && !sc.skips(row) {
			sc.tallyRecord(row, s)
		}
	}
	count := ix.threadCount
	mean := float64(ix.threadLength) * sumUnit / float64(max(count, 1))
	usual := max(minThreadLength, math.Exp2(math.Ceil(math.Log2(mean))))
	for i := range sc.words {
		sc.tallyWord(&sc.words[i], roundUp(int(count), minThreads), usual)
	}
	return sc.bestThreads(q.K)
}

// tallyOf returns the tally of the thread of a row, or nil.
func (sc *Scratch) tallyOf(row uint32) *tally {
	cell := sc.cols.chunk[row]
	if cell == 0 {
		return nil
	}
	c := sc.th[chunkOf(cell)]
	if n := int(c.thread.id) + 1; len(sc.tallies) < n {
		sc.tallies = slices.Grow(sc.tallies, n-len(sc.tallies))[:n]
	}
	t := &sc.tallies[c.thread.id]
	if t.thread == nil {
		t.thread = c.thread
		sc.found = append(sc.found, c.thread.id)
	}
	return t
}

// tallyRecord notes a record of a thread, if it is among its best.
func (sc *Scratch) tallyRecord(row uint32, s float32) {
	t := sc.tallyOf(row)
	if t == nil {
		return
	}
	m, at := Match{Row: row, Ratio: float64(s) / sc.total}, t.n
	for at > 0 && (t.best[at-1].Ratio < m.Ratio || t.best[at-1].Ratio == m.Ratio && sc.first(row, t.best[at-1].Row)) {
		at--
	}
	if at == threadHits {
		return
	}
	t.n = min(t.n+1, threadHits)
	copy(t.best[at+1:], t.best[at:])
	t.best[at] = m
}

// first orders records of equal scores.
func (sc *Scratch) first(a, b uint32) bool {
	if sc.q.First != nil {
		return sc.q.First(a, b)
	}
	return a > b
}

// tallyWord adds what a word gives to threads.
func (sc *Scratch) tallyWord(w *word, threads int, usual float64) {
	df := 0
	for i, row := range w.rows {
		if flagsOf(sc.cols.meta[row])&dead != 0 {
			continue
		}
		if t := sc.tallyOf(row); t != nil {
			if t.tf == 0 {
				df++
			}
			t.tf += int64(w.counts[i])
		}
	}
	weight := 1.0
	if w.stop {
		weight = text.StopWeight
	}
	gain := weight * w.share * idf(threads, df) * (threadK1 + 1)
	for _, id := range sc.found {
		t := &sc.tallies[id]
		tf, length := float64(t.tf), float64(t.thread.length)*sumUnit
		t.score += gain * tf / (tf + threadK1*(1-threadB+threadB*length/usual))
		t.tf = 0
	}
}

// bestThreads returns the k best threads that have a record.
func (sc *Scratch) bestThreads(k int) []Thread {
	sc.threads = sc.threads[:0]
	sc.matches = slices.Grow(sc.matches[:0], threadHits*len(sc.found))
	for _, id := range sc.found {
		t := &sc.tallies[id]
		from := len(sc.matches)
		s := t.score
		for _, m := range t.best[:t.n] {
			s += furtherWeight * m.Ratio * sc.total
			m.Relevance = relevance(m.Ratio, sc.size)
			sc.matches = append(sc.matches, m)
		}
		if t.n > 0 {
			r := s / (threadScale * sc.total)
			sc.threads = append(sc.threads, Thread{t.thread.name, r, relevance(r, sc.size), slices.Clip(sc.matches[from:])})
		}
		*t = tally{}
	}
	sc.found = sc.found[:0]
	slices.SortFunc(sc.threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), strings.Compare(a.Name, b.Name))
	})
	if k > 0 && k < len(sc.threads) {
		clear(sc.threads[k:])
		sc.threads = sc.threads[:k]
	}
	return sc.threads
}

package index_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

// Readers go on while one goroutine writes. They find what was there before
// they began and still is when they end, with a score that it can have, and
// nothing that was gone before they began.
func TestReadersDuringWrites(t *testing.T) {
	t.Parallel()
	const rows = 1500
	ix := index.New()
	doc := func(row uint32) index.Doc {
		rng := rand.New(rand.NewPCG(uint64(row), 1))
		d := index.Doc{At: int64(rng.IntN(20))}
		for range 1 + rng.IntN(6) {
			d.Content = text.Append(d.Content, vocabulary[rng.IntN(len(vocabulary))])
		}
		if row%3 > 0 {
			d.Thread = vocabulary[rng.IntN(3)]
		}
		d.Actor = text.Append(nil, vocabulary[rng.IntN(4)])
		return d
	}
	var state [rows]atomic.Int32 // 0: not there, 1: there, 2: gone
	var done atomic.Bool
	var wg sync.WaitGroup
	for reader := range 3 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(reader), 2))
			var sc index.Scratch
			var before [rows]int32
			for !done.Load() {
				for i := range before {
					before[i] = state[i].Load()
				}
				term := text.Append(nil, vocabulary[rng.IntN(10)])
				q := &index.Query{Terms: append(term, text.Append(nil, vocabulary[rng.IntN(10)])...), K: rng.IntN(20), Gate: 0.8}
				found := map[uint32]bool{}
				for _, m := range ix.Search(&sc, q) {
					found[m.Row] = true
					if before[m.Row] == 2 || !(m.Relevance > 0 && m.Relevance < 1) {
						t.Errorf("row %d, which was %d, has relevance %v", m.Row, before[m.Row], m.Relevance)
						return
					}
				}
				for row := range before {
					if q.K > 0 || found[uint32(row)] || before[row] != 1 || state[row].Load() != 1 {
						continue
					}
					if holds(doc(uint32(row)), term) {
						t.Errorf("row %d is missing", row)
						return
					}
				}
				ix.Threads(&sc, q)
				ix.Words(&sc, q.Terms, 0)
				similar(ix, &sc, nil, term, 0.9, func(row uint32) (trigger, content []text.Term) { return nil, doc(row).Content })
			}
		})
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for row := range uint32(rows) {
		ix.Put(row, doc(row))
		state[row].Store(1)
		if old := uint32(rng.IntN(int(row) + 1)); state[old].Load() == 1 && rng.IntN(3) > 0 {
			state[old].Store(3) // neither there nor gone
			ix.Delete(old, doc(old))
			state[old].Store(2)
		}
		ix.SetFlags(uint32(rng.IntN(int(row)+1)), index.Flags(rng.IntN(4)))
	}
	done.Store(true)
	wg.Wait()
	require.Positive(t, ix.Len())
}

func holds(d index.Doc, terms []text.Term) bool {
	for _, t := range d.Content {
		if t.Text == terms[0].Text && !t.Stop {
			return true
		}
	}
	return false
}

package memory

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// start reads what the store holds.
func (b *Bank) start(ctx context.Context) error {
	noted, err := b.loadModel(ctx)
	if err != nil {
		return err
	}
	if err := b.vectors.start(b.o.Embedder, noted); err != nil {
		return err
	}
	return b.load(ctx, "")
}

// load reads what the store holds of a scope and of those below it.
func (b *Bank) load(ctx context.Context, scope Scope) error {
	in := stored{b.st, scope, make(map[string]bool)}
	shards, err := b.loadRecords(ctx, &in)
	if err != nil {
		return err
	}
	var strays []stray
	for e, err := range in.under(ctx, countsPart) {
		if err != nil {
			return err
		}
		c, err := decodeCounts(e)
		if err != nil {
			return err
		}
		s := stray{key: e.Key, counts: c}
		if p := key.Split(e.Key); len(p) == 4 && shards[p[2]] != nil {
			s.sh, s.id = shards[p[2]], ID(p[3])
			if old := s.sh.entry(s.id); old != nil && old.id == keyOf(s.id) {
				s.sh.tally(change{old, c})
				continue
			}
		}
		strays = append(strays, s)
	}
	if err := b.settle(ctx, strays); err != nil {
		return err
	}
	if err := b.loadGuesses(ctx, &in, shards); err != nil {
		return err
	}
	b.reading.Lock()
	b.reading.more = b.o.Extractor != nil
	b.reading.Unlock()
	return b.loadVectors(ctx, &in, shards)
}

// batch is a part of the records. The worker that has prepared it closes ready.
type batch struct {
	stored  []store.Entry
	records []loading
	terms   []text.Term // of all docs
	err     error       // of the record after those
	ready   chan struct{}
}

type loading struct {
	scope Scope
	entry *entry
	doc   index.Doc
}

const (
	batchRecords = 256
	maxBatches   = 16 // under way
)

// loadRecords reads the records, and returns the shards by their part of the
// key. One goroutine reads, others decode and split texts into terms, one puts
// it all in place, in the order in which it was read.
func (b *Bank) loadRecords(ctx context.Context, in *stored) (map[string]*shard, error) {
	g, ctx := errgroup.WithContext(ctx)
	unprepared := make(chan *batch)
	inOrder := make(chan *batch, maxBatches)
	idle := make(chan *batch, maxBatches+2)
	g.Go(func() error {
		defer close(unprepared)
		defer close(inOrder)
		return readBatches(ctx, in, idle, func(n *batch) error {
			for _, c := range []chan<- *batch{inOrder, unprepared} {
				select {
				case c <- n:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range max(runtime.GOMAXPROCS(0)-1, 1) {
		g.Go(func() error {
			for n := range unprepared {
				n.prepare(b)
			}
			return nil
		})
	}
	shards := make(map[string]*shard)
	g.Go(func() error {
		var sh *shard
		for n := range inOrder {
			select {
			case <-n.ready:
			case <-ctx.Done():
				return ctx.Err()
			}
			for _, l := range n.records {
				if sh == nil || sh.scope != l.scope {
					sh = b.shardFor(l.scope)
					shards[sh.part] = sh
				}
				sh.put(l.entry, l.doc)
			}
			if n.err != nil {
				return n.err
			}
			select {
			case idle <- n:
			default:
			}
		}
		return nil
	})
	return shards, g.Wait()
}

// readBatches calls fn with the records that are stored. It uses idle batches
// again.
func readBatches(ctx context.Context, in *stored, idle <-chan *batch, fn func(*batch) error) error {
	var n *batch
	for e, err := range in.under(ctx, recordPart) {
		if err != nil {
			return err
		}
		if n == nil {
			select {
			case n = <-idle:
			default:
				n = &batch{stored: make([]store.Entry, 0, batchRecords)}
			}
			n.ready = make(chan struct{})
		}
		if n.stored = append(n.stored, e); len(n.stored) == batchRecords {
			if err := fn(n); err != nil {
				return err
			}
			n = nil
		}
	}
	if n == nil {
		return nil
	}
	return fn(n)
}

// prepare decodes the records of the batch.
func (n *batch) prepare(b *Bank) {
	defer close(n.ready)
	n.records, n.terms = n.records[:0], n.terms[:0]
	for _, e := range n.stored {
		r, with, err := decodeRecord(e)
		if err != nil {
			n.err = err
			break
		}
		l := loading{scope: r.Scope, entry: newEntry(r, with, nil, e.Rev)}
		l.doc, n.terms = b.appendDocument(n.terms, r, with)
		n.records = append(n.records, l)
	}
	clear(n.stored)
	n.stored = n.stored[:0]
}

// stray are counters without a record of their own: the process ended after
// the record was merged into another, or forgotten, and before its counters
// followed.
type stray struct {
	sh     *shard
	id     ID
	key    string
	counts *counts
}

// settle adds strays to the record that theirs was merged into, if any, and
// removes them.
func (b *Bank) settle(ctx context.Context, strays []stray) error {
	for _, s := range strays {
		ops := []store.Op{{Key: s.key, Delete: true}}
		if s.sh != nil {
			if e := s.sh.entry(s.id); e != nil {
				sum := change{e, e.counts().sum(s.counts)}
				var err error
				if ops, err = s.sh.encodeCounts(ops, nil, sum); err != nil {
					return err
				}
				s.sh.tally(sum)
			}
		}
		if err := b.w.Add(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

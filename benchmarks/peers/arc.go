package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// arcEngine is a memory.Bank over Badger, through the public interface. Its
// memories are episodes, so that none is merged into another.
type arcEngine struct {
	dir   string
	st    store.Store
	bank  *memory.Bank
	space memory.Space

	opened              float64 // seconds that opening store and bank took
	storeHeap, bankHeap float64 // bytes
}

func (e *arcEngine) name() string { return "arc" }

func draft(i int, d *doc) memory.Draft {
	return memory.Draft{
		Kind:    memory.Episode,
		Content: d.text,
		Key:     strconv.Itoa(i),
		At:      d.at,
		Actor:   d.actor,
		Thread:  d.thread,
		Vector:  d.vector,
	}
}

// build writes all memories, durably, and opens them again.
func (e *arcEngine) build(ctx context.Context, dir string, docs []doc) error {
	e.dir = filepath.Join(dir, "store")
	if err := e.open(ctx); err != nil {
		return err
	}
	drafts := make([]memory.Draft, 0, 1000)
	for i := range docs {
		drafts = append(drafts, draft(i, &docs[i]))
		if len(drafts) == cap(drafts) || i == len(docs)-1 {
			if _, err := e.space.RememberAll(ctx, drafts); err != nil {
				return err
			}
			drafts = drafts[:0]
		}
	}
	return nil
}

// reopen closes the engine and opens it again.
func (e *arcEngine) reopen(ctx context.Context) error {
	if err := e.close(); err != nil {
		return err
	}
	return e.open(ctx)
}

// open opens store and bank, and measures that.
func (e *arcEngine) open(ctx context.Context) (err error) {
	before := heap()
	start := time.Now()
	if e.st, err = badger.Open(e.dir, nil); err != nil {
		return err
	}
	e.opened = time.Since(start).Seconds()
	between := heap()
	start = time.Now()
	if e.bank, err = memory.Open(ctx, e.st, nil); err != nil {
		return err
	}
	e.opened += time.Since(start).Seconds()
	e.storeHeap, e.bankHeap = between-before, heap()-between
	e.space = e.bank.In("bench")
	return nil
}

func (e *arcEngine) search(ctx context.Context, q query) ([]hit, error) {
	found, err := e.space.Recall(ctx, memory.Query{Text: q.text, Vector: q.vector, K: q.k})
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(found))
	for i := range found {
		r := &found[i].Record
		hits[i] = hit{doc: int(r.At.Sub(epoch) / time.Minute), text: r.Content}
	}
	return hits, nil
}

func (e *arcEngine) close() error {
	err := errors.Join(e.bank.Close(), e.st.Close())
	e.bank, e.st = nil, nil
	return err
}

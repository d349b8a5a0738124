package memory

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/arc-learn/arc/store"
)

// Embed embeds what has no vector yet, without waiting for the Bank to do so
// behind, and returns when all is done or the Embedder has failed. It is for
// hosts that have just stored much, and for tests; without an Embedder it does
// nothing.
func (b *Bank) Embed(ctx context.Context) error {
	if err := store.CheckContext(ctx); err != nil {
		return err
	}
	if b.closed.Load() {
		return store.ErrClosed
	}
	for {
		n, err := b.embedNext(ctx)
		if err != nil {
			return fmt.Errorf("memory: embed: %w", &cleaned{b.sanitize.Sanitize(err.Error()), err})
		}
		if n == 0 {
			return nil
		}
	}
}

// cleaned is an error that may quote a host's secrets, without them.
type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }

// Unwrap lets callers find the cause, with all that it says.
func (c *cleaned) Unwrap() error { return c.err }

// embedNext embeds the next records that wait, and returns how many they were.
func (b *Bank) embedNext(ctx context.Context) (int, error) {
	v := &b.vectors
	if v.host == nil {
		return 0, nil
	}
	release, err := v.alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	sh, next, err := b.nextWaiting(ctx)
	if err == nil && len(next) > 0 {
		err = b.embedThese(ctx, sh, next)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err() // which is no failure of the Embedder
	}
	if sh != nil {
		v.report(b.now(), sh.scope.Tenant(), err)
	}
	return len(next), err
}

func (b *Bank) embedThese(ctx context.Context, sh *shard, next []waiting) error {
	v := &b.vectors
	var texts []string
	found := make(map[[16]byte][]float32)
	for _, w := range next {
		if _, ok := found[w.key]; ok {
			continue
		}
		x, ok := v.cache.Get(w.key)
		if found[w.key] = x; !ok {
			texts = append(texts, w.text)
		}
	}
	if len(texts) > 0 {
		out, err := v.embed(ctx, embedLimit, texts)
		if err != nil {
			if len(texts) == 1 {
				sh.waits.putOff(next)
			}
			return err
		}
		for i, x := range out {
			k := textKey(sh.scope.Tenant(), texts[i])
			found[k] = x
			v.cache.Add(k, x)
		}
	}
	for _, w := range next {
		if err := b.keepVector(ctx, sh, w, found[w.key]); err != nil {
			return err
		}
	}
	return nil
}

// waiting is a record that is being embedded.
type waiting struct {
	e    *entry
	text string
	key  [16]byte
}

// waits is what the holder of the turn knows of a shard: the records below from
// have a vector, but for those that were put off.
type waits struct {
	queued atomic.Bool
	from   uint32
	off    uint32 // 1 + the first row that was put off; 0: none
}

// putOff lets others go before those that failed.
func (w *waits) putOff(failed []waiting) {
	first, last := failed[0].e.row, failed[len(failed)-1].e.row
	if w.off == 0 || first < w.off-1 {
		w.off = 1 + first
	}
	w.from = last + 1
}

// wanted tells the Embedder that there are records without a vector.
func (b *Bank) wanted(sh *shard) {
	v := &b.vectors
	if v.host == nil || !sh.waits.queued.CompareAndSwap(false, true) {
		return
	}
	v.Lock()
	v.queue = append(v.queue, sh)
	v.Unlock()
	v.nudge()
}

// nextWaiting returns the next batch, of one shard. The caller has the turn.
func (b *Bank) nextWaiting(ctx context.Context) (*shard, []waiting, error) {
	v := &b.vectors
	for {
		v.Lock()
		if len(v.queue) == 0 {
			v.Unlock()
			return nil, nil, nil
		}
		sh, size := v.queue[0], v.size
		v.queue = v.queue[1:]
		v.Unlock()
		sh.waits.queued.Store(false) // what comes from now on queues it again
		next, err := b.waitingIn(ctx, sh, size)
		if len(next) > 0 || err != nil {
			b.wanted(sh)
			return sh, next, err
		}
	}
}

func (b *Bank) waitingIn(ctx context.Context, sh *shard, size int) ([]waiting, error) {
	w := &sh.waits
	end := sh.entries.next.Load()
	var next []waiting
	bytes := 0
	for row := w.from; ; row++ {
		if row >= end {
			if len(next) > 0 || w.off == 0 {
				return next, nil
			}
			row, w.off = w.off-1, 0
			w.from = row
		}
		e := sh.entries.at(row)
		if e == nil || e.row != row || !sh.vectorless(e) {
			if len(next) == 0 {
				w.from = row + 1
			}
			continue
		}
		r, err := b.record(ctx, sh, e)
		if err = sh.missing(e, err); errors.Is(err, store.ErrNotFound) {
			continue // it has just gone
		}
		switch {
		case err == nil:
		case len(next) > 0:
			return next, nil // these first
		default:
			w.putOff([]waiting{{e: e}})
			return nil, err
		}
		text := embedded(r)
		if bytes += len(text); len(next) == size || len(next) > 0 && bytes > batchBytes {
			return next, nil
		}
		next = append(next, waiting{e, text, textKey(sh.scope.Tenant(), text)})
	}
}

// embedded is the text of a record that is embedded.
func embedded(r *Record) string {
	if r.Trigger == "" {
		return r.Content
	}
	return r.Trigger + "\n" + r.Content
}

// keepVector makes a vector visible, and has it written behind: one that is
// lost in a crash is made again.
func (b *Bank) keepVector(ctx context.Context, sh *shard, w waiting, x []float32) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := w.e
	if sh.entries.at(e.row) != e || !sh.vectorless(e) {
		b.vectors.cache.Remove(w.key)
		return nil // it has gone, or is another by now
	}
	m, ops, err := b.vectors.note()
	if err != nil {
		return err
	}
	op, err := sh.encodeVector(e.name(), m.Name, x)
	if err != nil {
		return err
	}
	taken, err := b.add(ctx, append(ops, op)...)
	if taken {
		b.vectors.noted(m)
		sh.setVector(e, x)
	}
	return err
}

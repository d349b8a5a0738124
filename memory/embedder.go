package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

// embedQuery fills in the vector of a query that has only a text.
func (s Space) embedQuery(ctx context.Context, q *Query) (err error) {
	v := &s.b.vectors
	if !v.Works() || q.Triggered || len(q.Vector) > 0 || len(q.Text) > MaxText || strings.TrimSpace(q.Text) == "" {
		return nil
	}
	q.Vector, err = v.Query(ctx, s.b.now, s.scope.Tenant(), s.b.sanitize.Sanitize(q.Text)) // nil: words alone have to do
	return err
}

// checkQueryVector returns ErrVector for a vector that cannot be compared.
func (b *Bank) checkQueryVector(x []float32) error {
	if err := vectors.Check(x); err != nil {
		return err
	}
	if dim := b.vectors.Model().Dim; len(x) > 0 && dim != 0 && len(x) != dim {
		return fmt.Errorf("%w: dimension %d, not %d", ErrVector, len(x), dim)
	}
	return nil
}

// Embed embeds the records that have no vector yet. It returns when all have one, or with the
// error of the Embedder. The Bank does the same behind: Embed is for tests, and for hosts that
// have just stored much. Without an Embedder it does nothing.
func (b *Bank) Embed(ctx context.Context) error { return b.exhaust(ctx, "embed", b.embedNext) }

// A batch has at most so many bytes, or is one text.
const batchBytes = 256 << 10

// embedNext embeds the next records that wait, and returns their number.
func (b *Bank) embedNext(ctx context.Context) (int, error) {
	v := &b.vectors
	if !v.Works() {
		return 0, nil
	}
	release, err := v.Alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	sh, next, done, err := b.nextWaiting(ctx)
	defer done()
	if err == nil && len(next) > 0 {
		err = b.embedThese(ctx, sh, next)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err() // which is no failure of the Embedder
	}
	if sh != nil {
		v.Tried(b.now(), sh.scope.Tenant(), err)
	}
	return len(next), err
}

// waiting is a record without a vector.
type waiting struct {
	e    *table.Entry
	text string
}

func (b *Bank) embedThese(ctx context.Context, sh *shard, next []waiting) error {
	texts := make([]string, len(next))
	for i, w := range next {
		texts[i] = w.text
	}
	found, asked, err := b.vectors.Texts(ctx, sh.scope.Tenant(), texts)
	if err != nil {
		if asked == 1 {
			sh.queue.PutOff(next[0].e.Row, next[len(next)-1].e.Row)
		}
		return err
	}
	for i, w := range next {
		if err := b.keepVector(ctx, sh, w, found[i]); err != nil {
			return err
		}
		b.resemble(ctx, sh, w.e, found[i])
	}
	return nil
}

// nextWaiting returns the next batch, of one shard, which stays in memory until the caller calls
// done. The caller has the turn.
func (b *Bank) nextWaiting(ctx context.Context) (sh *shard, next []waiting, done func(), err error) {
	for {
		scope, size, ok := b.vectors.Next()
		if !ok {
			return nil, nil, nothing, nil
		}
		if sh, done, _ = b.In(Scope(scope)).holding(context.WithoutCancel(ctx)); sh == nil {
			done() // the scope is queued again once it can be read
			continue
		}
		next, err = b.waitingIn(ctx, sh, size)
		if len(next) > 0 || err != nil {
			b.vectors.Want(sh.Table.Scope)
			return sh, next, done, err
		}
		done()
	}
}

func (b *Bank) waitingIn(ctx context.Context, sh *shard, size int) ([]waiting, error) {
	w := &sh.queue
	var next []waiting
	bytes := 0
	for row := w.From; ; {
		e, at := sh.NextVectorless(row)
		if row = at + 1; len(next) == 0 {
			w.From = at
		}
		if e == nil {
			if len(next) > 0 {
				return next, nil
			}
			var again bool
			if row, again = w.Return(); !again {
				return nil, nil
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
			w.PutOff(e.Row, e.Row)
			return nil, err
		}
		text := r.embedded()
		if bytes += len(text); len(next) == size || len(next) > 0 && bytes > batchBytes {
			return next, nil
		}
		next = append(next, waiting{e, text})
	}
}

// keepVector makes a vector visible, and leaves it to be written behind: one that a crash loses is
// made again.
func (b *Bank) keepVector(ctx context.Context, sh *shard, w waiting, x []float32) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := w.e
	if !sh.Holds(e) || !sh.Vectorless(e) {
		b.vectors.Drop(sh.scope.Tenant(), w.text)
		return nil // it has gone, or is another by now
	}
	m, ops, err := b.vectors.Note()
	if err != nil {
		return err
	}
	op, err := stored.PutVector(sh.key(stored.Vectors, ID(e.Name())), m.Name, x)
	if err != nil {
		return err
	}
	taken, err := b.late.Add(ctx, append(ops, op)...)
	if taken {
		b.vectors.Noted(m)
		sh.SetVector(e, x)
	}
	return err
}

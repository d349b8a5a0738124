package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/heard"
	"github.com/arc-learn/arc/memory/internal/search"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tenants"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Bank holds the memories of all scopes of a store, in memory as well as on
// disk. It may be used concurrently. Close it before the store.
type Bank struct {
	lexicon
	st       store.Store
	w        *flush.Writer
	o        Options
	sanitize *redact.Sanitizer
	model    *activation.Model                 // nil: the policy is Weighted
	scratch  sync.Pool                         // *scratch
	bodies   *lru.Cache[*table.Entry, *Record] // cold records that were read last
	shards   sync.Map                          // Scope -> *shard
	tenants  *tenants.Tenants                  // nil: they are all in memory
	vectors  embedding
	reading  reading
	heard    *heard.Heard // of what the store has
	asked    atomic.Uint32
	closed   atomic.Bool
}

// shard returns what is in memory of a scope, or nil.
func (b *Bank) shard(s Scope) *shard {
	sh, _ := b.shards.Load(s)
	known, _ := sh.(*shard) // nil if there is none
	return known
}

// shardFor returns what is in memory of a scope, which it makes if need be.
func (b *Bank) shardFor(s Scope) *shard {
	if sh := b.shard(s); sh != nil {
		return sh
	}
	of := b.tenants.Of(s.Tenant())
	fresh := newShard(s, nil)
	if of != nil {
		fresh = newShard(s, &of.Bytes)
	}
	sh, there := b.shards.LoadOrStore(s, fresh)
	if !there {
		fresh.Arrive()
		if of != nil {
			of.Add(string(s))
		}
	}
	return sh.(*shard)
}

// evict takes a scope out of memory, and says when it was changed last.
func (b *Bank) evict(scope string) (changed int64, there bool) {
	sh, there := b.shards.LoadAndDelete(Scope(scope))
	if there {
		changed = sh.(*shard).Changed()
	}
	return changed, there
}

func nothing() {}

// Flush writes the counters that are in memory only, and waits for it.
func (b *Bank) Flush(ctx context.Context) error {
	if b.closed.Load() {
		return store.ErrClosed
	}
	return b.w.Flush(ctx)
}

// Close writes the counters that are in memory only, and ends the embedding of
// what waits for it. The Bank's methods return store.ErrClosed from then on. It
// does not close the store, and is idempotent.
func (b *Bank) Close() error {
	b.closed.Store(true)
	b.heard.Close()
	b.vectors.Close()
	b.reading.Close()
	return b.w.Close()
}

// add hands ops to the writer behind. They are in its hands if taken is true,
// even if there is an error, which may be that of an earlier group.
func (b *Bank) add(ctx context.Context, ops ...store.Op) (taken bool, err error) {
	err = b.w.Add(ctx, ops...)
	if err == nil {
		return true, nil
	}
	// All ops of a call go together: one of them tells.
	op := ops[0]
	if p, ok := b.w.Pending(op.Key); ok {
		return p.Delete == op.Delete && bytes.Equal(p.Value, op.Value), err
	}
	e, look := b.st.Get(ctx, op.Key)
	if look != nil {
		return op.Delete && errors.Is(look, store.ErrNotFound), err
	}
	return !op.Delete && bytes.Equal(e.Value, op.Value), err
}

// read returns what was written behind under key, or store.ErrNotFound.
func (b *Bank) read(ctx context.Context, key string) (store.Entry, error) {
	if op, ok := b.w.Pending(key); ok {
		if op.Delete {
			return store.Entry{}, store.ErrNotFound
		}
		return store.Entry{Key: key, Value: op.Value}, nil
	}
	return b.st.Get(ctx, key)
}

// now returns the time by the Bank's clock, as exactly as it is stored.
func (b *Bank) now() time.Time { return b.o.Now().UTC().Truncate(time.Microsecond) }

// shardAt returns what is in memory of the scope with this part of keys, or nil.
func (b *Bank) shardAt(part string) (found *shard) {
	if sh := b.shard(Scope(part)); sh != nil || !strings.HasPrefix(part, longMark) {
		return sh
	}
	b.shards.Range(func(_, v any) bool {
		if sh := v.(*shard); sh.part == part {
			found = sh
		}
		return found == nil
	})
	return found
}

// scratch is memory that recalls use again.
type scratch struct {
	search.Search
	terms  []text.Term // of the query
	shards []*shard    // of Query.Tables, in their order
}

// release keeps no record alive, nor anything of the caller's.
func (b *Bank) release(sc *scratch) {
	sc.Forget()
	clear(sc.terms)
	b.scratch.Put(sc)
}

// check returns why the Bank cannot be used, or nil.
func (b *Bank) check(ctx context.Context) error {
	if b.closed.Load() {
		return store.ErrClosed
	}
	return store.CheckContext(ctx)
}

// exhaust calls next until there is nothing to do or it has failed, without waiting for run.
func (b *Bank) exhaust(ctx context.Context, verb string, next func(context.Context) (int, error)) error {
	for n := 1; n > 0; {
		err := b.check(ctx)
		if err == nil {
			n, err = next(ctx)
		}
		if err != nil {
			return fmt.Errorf("memory: %s: %w", verb, &cleaned{b.sanitize.Sanitize(err.Error()), err})
		}
	}
	return nil
}

// cleaned is an error that may quote a host's secrets, without them.
type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }

// Unwrap lets callers find the cause, with all that it says.
func (c *cleaned) Unwrap() error { return c.err }

// Latest is the revision of all that was acknowledged before a call, at whichever Bank.
const Latest store.Revision = math.MaxUint64

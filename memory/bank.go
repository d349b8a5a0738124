package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/calendar"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/pool"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Bank holds the memories of all scopes of a store, in memory as well as on
// disk. It may be used concurrently. Close it before the store.
type Bank struct {
	st       store.Store
	w        *flush.Writer
	o        Options
	sanitize *redact.Sanitizer
	model    *model // nil: the policy is Weighted
	lang     text.Language
	dates    *calendar.Calendar
	scratch  sync.Pool                   // *scratch
	bodies   *lru.Cache[*entry, *Record] // cold records that were read last
	shards   sync.Map                    // Scope -> *shard
	tenants  *pool.Pool[*tenancy]        // nil: they are all in memory
	sizes    sync.Map                    // name -> *tenancy, of those in memory
	left     sync.Map                    // name -> *sync.Map of others: Scope -> int64, as changed
	vectors  embedding
	reading  reading
	heard    hearing
	closed   atomic.Bool
}

// Open loads the memories of st, and indexes them. A damaged record is an
// error that names its key. With IndexBytes a tenant's are loaded on first use, and the
// error is that of the call. St stays open when the Bank is closed.
func Open(ctx context.Context, st store.Store, opts *Options) (*Bank, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	err := o.fill()
	if st == nil {
		err = errors.Join(err, errors.New("memory: no store"))
	}
	if err != nil {
		return nil, err
	}
	for o.Seed == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, fmt.Errorf("memory: seed: %w", err)
		}
		o.Seed = binary.BigEndian.Uint64(b[:])
	}
	b := &Bank{st: st, w: flush.New(st), o: o, sanitize: o.Sanitizer}
	if a, ok := o.Policy.(ACTR); ok {
		b.model = newModel(a, o.Seed)
	}
	if o.Language == "none" {
		b.lang = text.Plain
	}
	b.dates = calendar.New(b.lang)
	b.heard.more = make(chan struct{})
	b.reading.Prime()
	b.vectors.Prime()
	b.scratch.New = func() any { return new(scratch) }
	b.bodies, err = lru.New[*entry, *Record](o.Cache)
	if err != nil {
		return nil, fmt.Errorf("memory: cache: %w", err)
	}
	if o.IndexBytes > 0 {
		size := func(t *tenancy) int64 { return t.bytes.Load() }
		b.tenants = pool.New(b.enter, b.w.Flush, o.IndexBytes, size, b.leaves, o.Home)
	}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("memory: open: %w", err), b.w.Close())
	}
	if b.vectors.host != nil {
		b.vectors.Run(b.now, b.embedNext)
	}
	if b.o.Extractor != nil {
		b.reading.more = true
		b.reading.Run(b.now, b.readNext)
	}
	return b, nil
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
	fresh := newShard(s)
	t, bounded := b.sizes.Load(s.Tenant())
	if bounded {
		fresh.size = &t.(*tenancy).bytes
	}
	sh, there := b.shards.LoadOrStore(s, fresh)
	if !there {
		fresh.grow(scopeBytes)
		if bounded {
			t.(*tenancy).scopes.Store(s, nil)
		}
	}
	return sh.(*shard)
}

// tenancy is a tenant in memory that may leave it.
type tenancy struct {
	bytes  atomic.Int64
	scopes sync.Map // Scope -> nil: those that had a shard
}

// enter reads what the store has of a tenant.
func (b *Bank) enter(ctx context.Context, name string) (*tenancy, error) {
	t := new(tenancy)
	b.sizes.Store(name, t)
	err := b.w.Flush(ctx)
	if err == nil {
		err = b.load(ctx, Scope(name))
	}
	if err != nil {
		before, known := b.left.Load(name)
		if b.leaves(name); known {
			b.left.Store(name, before)
		}
		return nil, fmt.Errorf("load: %w", err)
	}
	return t, nil
}

// leaves forgets a tenant that no call uses: all of it is in the store.
func (b *Bank) leaves(name string) {
	left := new(sync.Map)
	if t, ok := b.sizes.LoadAndDelete(name); ok {
		t.(*tenancy).scopes.Range(func(s, _ any) bool {
			if sh, there := b.shards.LoadAndDelete(s); there {
				left.Store(s, sh.(*shard).changed())
			}
			return true
		})
	}
	b.left.Store(name, left)
}

func nothing() {}

// In returns the view of one scope. A bad scope is ErrScope at the first use
// of the view.
func (b *Bank) In(s Scope) Space { return Space{b: b, scope: s, err: s.Check()} }

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
	b.heard.note(0)
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

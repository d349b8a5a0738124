package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/deferred"
	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/memory/internal/heard"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/lexicon"
	"github.com/arc-learn/arc/memory/internal/search"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tenants"
	"github.com/arc-learn/arc/memory/internal/turns"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Bank holds the memories of all scopes of a store, in memory and on disk. It may be used
// concurrently. Close it before the store.
type Bank struct {
	st       store.Store
	w        *flush.Writer
	late     *deferred.Store // st, with what w has in hand
	lexicon  *lexicon.Lexicon
	o        Options
	sanitize *redact.Sanitizer
	model    *activation.Model                 // nil: the policy is Weighted
	scratch  sync.Pool                         // *scratch
	bodies   *lru.Cache[*table.Entry, *Record] // cold records that were read last
	shards   sync.Map                          // Scope -> *shard
	tenants  *tenants.Tenants                  // nil: they are all in memory
	latest   sync.Map                          // tenant -> *atomic.Int64, see stamp
	vectors  embedder.Embedder
	reading  reading
	heard    *heard.Heard  // of what the store has
	gone     atomic.Uint64 // see removed
	closed   atomic.Bool
}

// shard is a scope of a Bank: its records in memory, their place in the store, and the locks of
// those who change them.
type shard struct {
	*table.Table
	scope Scope
	at    stored.Place

	// edit guards changes of records that exist. The caller holds it from reading them until the
	// change is in the store and in memory. New records are under the claims of Remember instead,
	// so that many share a commit.
	edit   sync.Mutex
	claims turns.Claims
	// passing has the passing Episodes, the oldest first; nil: not known yet. edit guards it.
	passing []ident.Key
	// doubt has the latest new records, at most maxDoubt, whose commit failed but which the store may
	// have. edit guards it; doubts says that there are some.
	doubt  []ID
	doubts atomic.Bool

	injected atomic.Int64  // recalls with Query.Inject or Background that found something
	queue    vectors.Queue // of the worker that has the turn to embed
}

func newShard(s Scope, size *atomic.Int64) *shard {
	return &shard{Table: table.New(string(s), size), scope: s, at: stored.PlaceOf(string(s))}
}

// entry returns the record that the id leads to, or nil.
func (sh *shard) entry(id ID) *table.Entry { return sh.Find(ident.Of(id)) }

// key is the key of a part of a record in the store.
func (sh *shard) key(part string, id ID) string { return sh.at.Key(part, string(id)) }

// unqueue takes a record that is removed, or stays for good, from the passing ones. The caller
// holds edit.
func (sh *shard) unqueue(e *table.Entry) {
	if e.Flags&table.Passing != 0 {
		sh.passing = slices.DeleteFunc(sh.passing, func(k ident.Key) bool { return k == e.Key })
	}
}

// passed returns the passing Episodes of the scope, the oldest first. The caller
// holds edit.
func (sh *shard) passed() []ident.Key {
	if sh.passing == nil {
		sh.passing = make([]ident.Key, 0, maxPassing)
		for _, e := range table.ByTime(sh.Snapshot()) {
			if e.Flags&table.Passing != 0 {
				sh.passing = append(sh.passing, e.Key)
			}
		}
	}
	return sh.passing
}

// maxPassing is the number of passing Episodes of a scope.
const maxPassing = 256

// shard returns the shard of a scope that is in memory, or nil.
func (b *Bank) shard(s Scope) *shard {
	sh, _ := b.shards.Load(s)
	known, _ := sh.(*shard) // nil if there is none
	return known
}

// shardFor returns the shard of a scope. It makes one if there is none.
func (b *Bank) shardFor(s Scope) *shard {
	if sh := b.shard(s); sh != nil {
		return sh
	}
	of := b.tenants.Of(s.Tenant())
	var size *atomic.Int64
	if of != nil {
		size = &of.Bytes
	}
	own := newShard(s, size)
	own.Made = b.latestOf(s.Tenant())
	sh, there := b.shards.LoadOrStore(s, own)
	if !there {
		sh.(*shard).Arrive()
		if of != nil {
			of.Add(string(s))
		}
	}
	return sh.(*shard)
}

// evict takes a scope out of memory, and returns when it was changed last.
func (b *Bank) evict(scope string) (changed int64, there bool) {
	sh, there := b.shards.LoadAndDelete(Scope(scope))
	if there {
		changed = sh.(*shard).Changed()
	}
	return changed, there
}

func nothing() {}

// Flush writes the counters that are in memory only. It returns when they are on disk.
func (b *Bank) Flush(ctx context.Context) error {
	if b.closed.Load() {
		return store.ErrClosed
	}
	return b.w.Flush(ctx)
}

// Close writes the counters that are in memory only, and stops embedding and extracting. The
// Bank's methods return store.ErrClosed from then on, apart from Follow, which does nothing. Close
// does not close the store, and is idempotent.
func (b *Bank) Close() error {
	b.closed.Store(true)
	b.tenants.Close()
	b.heard.Close()
	b.vectors.Close()
	b.reading.Close()
	return b.w.Close()
}

// now returns the time by the Bank's clock, in the precision in which it is stored.
func (b *Bank) now() time.Time { return b.o.Now().UTC().Truncate(time.Microsecond) }

// maxAhead bounds how far the latest record may be ahead of the clock for stamp to follow it.
const maxAhead = 30 * 24 * time.Hour

// stamp returns the time for a record of the scope that is made or vouched for now: that of the
// Bank's clock or, if the clock was put back, a microsecond after the latest of the tenant's
// records. So a later statement has a later time: it takes the place of the earlier one, and is
// news to plans that were made before.
func (b *Bank) stamp(s Scope) time.Time {
	now, last := b.now(), time.UnixMicro(b.latestOf(s.Tenant()).Load()).UTC()
	if ahead := last.Sub(now); ahead > 0 && ahead <= maxAhead {
		return last.Add(time.Microsecond)
	}
	return now
}

// latestOf is the latest time at which a record of the tenant was made or vouched for, in
// microseconds since 1970.
func (b *Bank) latestOf(tenant string) *atomic.Int64 {
	at, ok := b.latest.Load(tenant)
	if !ok {
		at, _ = b.latest.LoadOrStore(tenant, new(atomic.Int64))
	}
	return at.(*atomic.Int64)
}

// shardAt returns the shard of the scope with this part of keys, or nil if it is not in memory.
func (b *Bank) shardAt(part string) (found *shard) {
	if sh := b.shard(Scope(part)); sh != nil || !strings.HasPrefix(part, stored.LongMark) {
		return sh
	}
	b.shards.Range(func(_, v any) bool {
		if sh := v.(*shard); sh.at.Part == part {
			found = sh
		}
		return found == nil
	})
	return found
}

// scratch is memory that recalls reuse.
type scratch struct {
	search.Search
	terms  []text.Term // of the query
	shards []*shard    // of Query.Tables, in their order
}

// release gives the scratch back, without references to records and to what is the caller's.
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

// exhaust calls next until it has nothing to do or fails. It does not wait for the goroutine
// that does so behind.
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

// cleaned is an error of a host, which may quote secrets, without these.
type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }

// Unwrap lets callers find the cause, whose text is not sanitised.
func (c *cleaned) Unwrap() error { return c.err }

// Latest stands for the revision of all that any Bank has acknowledged before the call.
const Latest store.Revision = math.MaxUint64

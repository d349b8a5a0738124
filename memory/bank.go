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

// Bank holds the memories of all scopes of a store, in memory as well as on
// disk. It may be used concurrently. Close it before the store.
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
	heard    *heard.Heard // of what the store has
	closed   atomic.Bool
}

// shard is a scope of a Bank: its records in memory, where they are in the store, and whose turn it
// is to change them.
type shard struct {
	*table.Table
	scope Scope
	at    stored.Place

	// edit is for a change of records that exist: the caller holds it from
	// reading them until the change is in the store and in memory. Remember
	// holds claims instead for new records, so that many share a commit.
	edit   sync.Mutex
	claims turns.Claims
	// passing are the passing Episodes, the oldest first; nil: not known yet. It
	// belongs to edit.
	passing []ident.Key
	// doubt are the latest new records whose commit failed, and which may be in the store
	// all the same: maxDoubt at most. It belongs to edit; doubts says that there are some.
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

// key is where a part of a record is in the store.
func (sh *shard) key(part string, id ID) string { return sh.at.Key(part, string(id)) }

// unqueue takes a record that goes, or stays for good, from the passing ones. The
// caller holds edit.
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

// now returns the time by the Bank's clock, as exactly as it is stored.
func (b *Bank) now() time.Time { return b.o.Now().UTC().Truncate(time.Microsecond) }

// maxAhead is how far ahead of the clock the latest record may be for stamp to go on behind it.
const maxAhead = 30 * 24 * time.Hour

// stamp returns the time at which a record of the scope is made or vouched for: that of the Bank's clock, or, if the
// clock was put back, a microsecond after the latest of the tenant's records. So what is told later is later:
// it takes the place of what was told before, and is news to the plans that were made before.
func (b *Bank) stamp(s Scope) time.Time {
	now, last := b.now(), time.UnixMicro(b.latestOf(s.Tenant()).Load()).UTC()
	if ahead := last.Sub(now); ahead > 0 && ahead <= maxAhead {
		return last.Add(time.Microsecond)
	}
	return now
}

// latestOf is when a record of the tenant was made or vouched for at the latest, in microseconds since 1970.
func (b *Bank) latestOf(tenant string) *atomic.Int64 {
	at, ok := b.latest.Load(tenant)
	if !ok {
		at, _ = b.latest.LoadOrStore(tenant, new(atomic.Int64))
	}
	return at.(*atomic.Int64)
}

// shardAt returns what is in memory of the scope with this part of keys, or nil.
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

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
	"github.com/arc-learn/arc/next/store"
)

// Sanitizer takes secrets out of texts. *redact.Sanitizer is one.
type Sanitizer interface{ Prose(text string) string }

// Options configure a [Bank]. Nil and the zero value are ready.
type Options struct {
	Now          func() time.Time // nil: time.Now
	Sanitizer    Sanitizer        // cleans every text before it is kept; nil: texts are clean already
	Languages    []string         // of the texts, whose words are reduced to stems: "en", "de", …; none: "en"
	Policy       Policy           // nil: Weighted{}
	HalfLife     time.Duration    // of recency; 0: seven days
	Embedder     Embedder         // nil: words alone
	VectorWeight float64          // what a cosine of 1 adds to the words of a query, in (0,4]; 0: .2
}

func (o *Options) complete() (out Options, err error) {
	if o != nil {
		out = *o
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	if out.Policy == nil {
		out.Policy = Weighted{}
	}
	out.HalfLife, out.VectorWeight = cmp.Or(out.HalfLife, 7*24*time.Hour), cmp.Or(out.VectorWeight, 0.2)
	var errs []error
	if out.HalfLife < 0 {
		errs = append(errs, fmt.Errorf("memory: a half-life of %v", out.HalfLife))
	}
	if !(out.VectorWeight > 0 && out.VectorWeight <= 4) {
		errs = append(errs, fmt.Errorf("memory: a vector weight of %v", out.VectorWeight))
	}
	if p, ok := out.Policy.(interface{ check() error }); ok {
		errs = append(errs, p.check())
	}
	return out, errors.Join(errs...)
}

// Bank is the memory of one tenant. Create one with [Open] or [OpenGroup], and close it.
type Bank struct {
	o      Options
	g      *store.Group
	an     *text.Analyzer
	embeds *embeds // nil: no Embedder

	mu     sync.RWMutex
	tables map[Scope]*table
	broken error // an entry of another process that could not be read
}

// Open reads the memories of a tenant's sub-store, or of a store of its own, which the Bank does not close.
func Open(ctx context.Context, st store.Store, o *Options) (*Bank, error) {
	g := store.NewGroup(st)
	if err := g.Refresh(ctx); err != nil { // what is committed from now on comes by the next one
		return nil, fmt.Errorf("memory: %w", err)
	}
	return OpenGroup(ctx, g, o)
}

// OpenGroup is Open for the Group that the parts of a tenant share, before its first Update, so that what a step
// changes can be one commit: see [Space.StageRemember]. Where the store is a [store.Changer] the first Refresh of the
// Group comes before.
func OpenGroup(ctx context.Context, g *store.Group, o *Options) (*Bank, error) {
	opts, err := o.complete()
	if err != nil {
		return nil, err
	}
	an, err := text.New(opts.Languages...)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	b := &Bank{o: opts, g: g, an: an, tables: map[Scope]*table{}}
	if opts.Embedder != nil {
		b.embeds = newEmbeds(opts.Embedder)
	}
	g.Follow("s/", func(e store.Entry) {
		if err := b.apply(e); err != nil {
			b.mu.Lock()
			b.broken = cmp.Or(b.broken, err)
			b.mu.Unlock()
		}
	})
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	if b.embeds != nil {
		b.embeds.start(b)
	}
	return b, nil
}

// Close ends the work of the Embedder and waits for it. It is idempotent.
func (b *Bank) Close() error {
	if b.embeds != nil {
		b.embeds.stop()
	}
	return nil
}

// Refresh takes in what other processes have written since the last call, where the store is a [store.Changer]. A
// process that shares a store calls it every 100 ms, and before a run begins. After an error that wraps
// [store.ErrNotFound] the Bank must be opened again.
func (b *Bank) Refresh(ctx context.Context) error {
	err := b.g.Refresh(ctx)
	b.mu.RLock()
	defer b.mu.RUnlock()
	return cmp.Or(err, b.broken)
}

// In returns the Space of a scope.
func (b *Bank) In(scope Scope) Space { return Space{b, scope} }

// Scopes yields the scopes that have memories, in order.
func (b *Bank) Scopes() iter.Seq[Scope] {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []Scope
	for s, t := range b.tables {
		t.mu.RLock()
		if t.ix.Len() > 0 {
			out = append(out, s)
		}
		t.mu.RUnlock()
	}
	slices.Sort(out)
	return slices.Values(out)
}

// Space is the memory of one scope. It has no state of its own and may be copied.
type Space struct {
	b     *Bank
	scope Scope
}

func (s Space) key(id ID) string { return s.scope.Key(recordKind, string(id)) }

// table returns that of the scope, or nil if it has no memories.
func (b *Bank) table(scope Scope) *table {
	if scope == "_" {
		scope = ""
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tables[scope]
}

// tableFor returns that of the scope, which it makes if need be.
func (b *Bank) tableFor(scope Scope) *table {
	if t := b.table(scope); t != nil {
		return t
	}
	t := newTable(scope, b.an)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables[scope] = t
	return t
}

// apply takes a stored entry into memory. It is what Open does with every entry, a writer with what it has
// committed, and a follower with what another process has. Only one goroutine applies at a time: the one that
// opens, then the one that leads the Group.
func (b *Bank) apply(e store.Entry) error {
	scope, kind, id, ok := store.ParseKey(e.Key)
	switch {
	case !ok:
	case kind == recordKind && e.Deleted:
		if t := b.table(scope); t != nil {
			t.remove(ID(id), e.Rev)
		}
	case kind == recordKind:
		s, err := decode(e)
		if err != nil {
			return err
		}
		b.take(scope, s.entry(ID(id), e.Rev), nil)
	case kind == vectorKind && !e.Deleted:
		return b.applyVector(scope, ID(id), e)
	}
	return nil
}

// take puts a record into its table, and has it embedded.
func (b *Bank) take(scope Scope, e *entry, terms *index.Terms) {
	t := b.tableFor(scope)
	t.put(e, terms)
	if b.embeds != nil {
		b.embeds.want(t, e.id)
	}
}

// load reads all memories. Entries are decoded and analysed by several goroutines, and taken in by this one, in order.
func (b *Bank) load(ctx context.Context) error {
	type item struct {
		store.Entry
		scope Scope
		rec   *entry // nil: another kind
		terms *index.Terms
	}
	type chunk struct {
		items []item
		err   error
		done  chan struct{}
	}
	ready := func(c *chunk) {
		defer close(c.done)
		blank := index.New(b.an)
		for i := range c.items {
			it := &c.items[i]
			scope, kind, id, ok := store.ParseKey(it.Key)
			if !ok || kind != recordKind {
				continue
			}
			s, err := decode(it.Entry)
			if err != nil {
				c.err = err
				return
			}
			it.scope, it.rec = scope, s.entry(ID(id), it.Rev)
			it.terms, it.Value = blank.Analyze(it.rec.doc()), nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	todo, inOrder := make(chan *chunk, workers), make(chan *chunk, 4*workers)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		wg.Go(func() {
			for c := range todo {
				ready(c)
			}
		})
	}
	wg.Go(func() {
		defer close(todo)
		defer close(inOrder)
		send := func(c *chunk) {
			c.done = make(chan struct{})
			select {
			case inOrder <- c:
				todo <- c
			case <-ctx.Done():
			}
		}
		next := &chunk{}
		for e, err := range b.entries(ctx) {
			if err != nil {
				next = &chunk{err: err}
				break
			}
			if next.items = append(next.items, item{Entry: e}); len(next.items) == 256 {
				send(next)
				next = &chunk{}
			}
		}
		send(next)
	})
	for c := range inOrder {
		<-c.done
		for i := range c.items {
			it := &c.items[i]
			switch {
			case c.err != nil:
			case it.rec != nil:
				b.take(it.scope, it.rec, it.terms)
			default:
				c.err = b.apply(it.Entry)
			}
		}
		if c.err != nil {
			return c.err
		}
	}
	return ctx.Err()
}

// entries yields the records and vectors of all scopes. It steps over what other parts keep in a scope.
func (b *Bank) entries(ctx context.Context) iter.Seq2[store.Entry, error] {
	const patience = 64 // entries of another part in a row, before it looks for the next kind
	return func(yield func(store.Entry, error) bool) {
		for again, after := true, ""; again; {
			again = false
			others, last := 0, ""
			for e, err := range b.g.Store().Scan(ctx, store.Range{Prefix: "s/", After: after}) {
				if err != nil {
					yield(e, err)
					return
				}
				scope, kind, _, ok := store.ParseKey(e.Key)
				if ok && (kind == recordKind || kind == vectorKind) {
					if !yield(e, nil) {
						return
					}
					continue
				}
				prefix := scope.Prefix(kind)
				if others++; prefix != last {
					others, last = 0, prefix
				}
				if ok && others == patience {
					again, after = true, prefix+string(utf8.MaxRune)
					break
				}
			}
		}
	}
}

// now is the time in microseconds since 1970.
func (b *Bank) now() int64 { return b.o.Now().UnixMicro() }

// forever is a time after all records.
const forever = math.MaxInt64

// snapshot returns the records of a scope, the oldest first.
func (t *table) snapshot() (out []*entry) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, e := range t.rows {
		if e != nil {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
	return out
}

// all returns the tables, in order of scope.
func (b *Bank) all() (out []*table) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, s := range slices.Sorted(maps.Keys(b.tables)) {
		out = append(out, b.tables[s])
	}
	return out
}

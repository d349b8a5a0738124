package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options configure a [Bank]. Nil and the zero value are ready.
type Options struct {
	Now      func() time.Time // nil: time.Now
	Policy   Policy           // nil: Weighted
	Embedder Embedder         // nil: words alone

	// Languages of the texts; none: "en". Words in ar, da, de, en, es, fi, fr, ga, hu, it, nl, no, pt, ro, ru,
	// sv, ta and tr are found by stems, in others by how they begin. Any code of 2 or 3 letters is taken.
	Languages []string

	// Sanitizer takes secrets out of all that a Draft says before it is kept. Nil: drafts are clean already.
	Sanitizer *redact.Sanitizer
}

// Bank is the memory of one tenant. Create one with [Open], and close it.
type Bank struct {
	o      Options
	g      *store.Group
	an     *text.Analyzer
	embeds *embeds // nil: no Embedder

	// early has the vectors of texts that no record has yet, by key: of what another process has written twice,
	// the vector may come before the record. Whoever applies uses it.
	early map[string]*storedVector

	mu     sync.RWMutex
	tables map[Scope]*table // made at the first record of a scope, and never taken out
	broken error            // an entry of another process that could not be read
}

// Open reads the memories of a tenant, before the first Update of its Group. The Group is the one that the
// tenant's other parts share, so that what a step changes can be one commit (see [Space.Stage]), or one of
// its own: over the part of a tenant, see [store.Sub], where an Agent or a Layer has the same store.
func Open(ctx context.Context, g *store.Group, o *Options) (*Bank, error) {
	if g == nil || call.None(g.Store()) {
		return nil, errors.New("memory: no store: give it store.NewGroup(st), of store.NewMem() or badger.Open")
	}
	opts := *cmp.Or(o, &Options{})
	opts.Now = call.Clock(opts.Now)
	an, err := text.New(opts.Languages...)
	if err = cmp.Or(err, g.Refresh(ctx)); err != nil { // what is committed from now on comes by the next one
		return nil, fmt.Errorf("memory: %w", err)
	}
	b := &Bank{o: opts, g: g, an: an}
	if opts.Embedder != nil {
		if b.embeds, err = newEmbeds(b); err != nil {
			return nil, err
		}
	}
	g.Follow("s/", func(e store.Entry) {
		if err := b.apply(e); err != nil {
			b.mu.Lock()
			b.broken = cmp.Or(b.broken, err)
			b.mu.Unlock()
		}
	}, b.load)
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	if b.embeds != nil {
		go b.embeds.run(b)
	}
	return b, nil
}

// Close ends the work of the Embedder and waits for it. It is idempotent.
func (b *Bank) Close() error {
	if b.embeds != nil {
		b.embeds.cancel()
		<-b.embeds.done
	}
	return nil
}

// In returns the Space of a scope. One of another tenant is no error, and that tenant finds nothing of it.
func (b *Bank) In(scope Scope) Space {
	if scope == "_" {
		scope = ""
	}
	return Space{b: b, scope: scope}
}

// Space is the memory of one scope. It has no state of its own and may be copied. An unknown id is an error
// that wraps [store.ErrNotFound]; what is malformed or over a bound is [store.ErrInvalid]. What reads first
// takes in what other processes have written, where the store is a [store.Changer]: that is not for an
// Update of the Group. After an error of an entry that cannot be read, open the Bank again.
type Space struct {
	b      *Bank
	scope  Scope
	batch  *store.Batch // nil: each write is a commit
	staged bool         // reads take nothing in
}

// Stage returns the Space for an Update of the Bank's Group: its writes go into the batch, and are read once
// that is committed; nil: each is a commit. What reads goes by what the Group's last Refresh has taken in.
// Erase and Maintain are not for it: they commit by themselves.
func (s Space) Stage(b *store.Batch) Space {
	s.batch, s.staged = b, true
	return s
}

func (s Space) key(id ID) string       { return s.scope.Key(recordKind, string(id)) }
func (s Space) vectorKey(id ID) string { return s.scope.Key(vectorKind, string(id)) }

// table returns that of the scope, or nil if it has had no memories.
func (s Space) table() *table {
	s.b.mu.RLock()
	defer s.b.mu.RUnlock()
	return s.b.tables[s.scope]
}

// now is table with what other processes have written.
func (s Space) now(ctx context.Context) (*table, error) {
	var err error
	if !s.staged {
		err = s.b.g.Refresh(ctx)
	}
	s.b.mu.RLock()
	defer s.b.mu.RUnlock()
	return s.b.tables[s.scope], cmp.Or(s.scope.Check(), err, s.b.broken)
}

// apply takes a stored entry into memory. It is what Open does with every entry, a writer with what it has
// committed, and a follower with what another process has. Only one goroutine applies at a time: the one that
// opens, then the one that leads the Group.
func (b *Bank) apply(e store.Entry) error {
	scope, kind, id, _ := store.ParseKey(e.Key) // a key of another form has no kind
	switch {
	case kind == recordKind && e.Deleted:
		b.In(scope).table().remove(ID(id), e.Rev)
	case kind == recordKind:
		r, err := decode(ID(id), e)
		if err != nil {
			return err
		}
		b.take(scope, nil, r)
	case kind == vectorKind && e.Deleted:
		b.takeVector(e.Key, scope, ID(id), nil)
	case kind == vectorKind:
		kept := new(storedVector)
		if err := codec.Unmarshal(e.Value, kept); err != nil {
			return fmt.Errorf("memory: %s: %w", e.Key, err)
		}
		b.takeVector(e.Key, scope, ID(id), kept)
	}
	return nil
}

// take puts records into their table, and has them embedded. Terms are of their docs; nil: not made yet.
func (b *Bank) take(scope Scope, terms *index.Terms, rs ...*record) {
	if len(rs) == 0 {
		return
	}
	t := b.In(scope).table()
	if t == nil {
		t = newTable(scope, b.an)
		b.mu.Lock()
		b.tables[scope] = t
		b.mu.Unlock()
	}
	// New records go in under one lock. One that is known, or that others were merged into, replaces something.
	replaces := func(r *record) bool { return t.get(r.id) != nil || len(r.more().Former) > 0 }
	together := terms != nil && !slices.ContainsFunc(rs, replaces)
	if together {
		t.mu.Lock()
		t.insert(terms, rs...)
		t.mu.Unlock()
	}
	for _, r := range rs {
		if !together {
			t.put(r)
		}
		if len(b.early) > 0 {
			key := scope.Key(vectorKind, string(r.id))
			if kept := b.early[key]; kept != nil {
				b.takeVector(key, scope, r.id, kept)
			}
		}
		if b.embeds != nil {
			b.embeds.want(waiting{t, r.id})
		}
	}
}

// part is what Open takes in together: entries in the order of their keys, whose records are of one scope.
type part struct {
	entries []store.Entry
	scope   Scope
	records []*record
	terms   *index.Terms  // of records
	single  []store.Entry // to be applied: vectors, and records that others were merged into
	done    chan error
}

// load reads all memories, in place of those that were read before. This goroutine takes them in, in order,
// while others decode and analyse those behind.
func (b *Bank) load(ctx context.Context) error {
	now := &Bank{o: b.o, g: b.g, an: b.an, embeds: b.embeds}
	now.tables, now.early = map[Scope]*table{}, map[string]*storedVector{}
	const atOnce = 4096
	var parts []*part // those that are being prepared, in order
	take := func(most int) (err error) {
		for ; len(parts) > most; parts = parts[1:] {
			p := parts[0]
			if err = cmp.Or(err, <-p.done); err == nil {
				now.take(p.scope, p.terms, p.records...)
				for i := 0; i < len(p.single) && err == nil; i++ {
					err = now.apply(p.single[i])
				}
			}
		}
		return err
	}
	p := &part{done: make(chan error, 1)}
	next := func() error {
		go func(p *part) { p.done <- now.prepare(p) }(p)
		parts, p = append(parts, p), &part{done: make(chan error, 1)}
		return take(runtime.GOMAXPROCS(0))
	}
	for e, err := range codec.Scan(ctx, now.g.Store(), recordKind, vectorKind) {
		scope, _, _, _ := store.ParseKey(e.Key)
		if err == nil && len(p.entries) > 0 && (len(p.entries) == atOnce || scope != p.scope) {
			err = next()
		}
		if err != nil {
			return cmp.Or(take(0), err)
		}
		p.scope, p.entries = scope, append(p.entries, e)
	}
	if err := cmp.Or(next(), take(0)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables, b.early = now.tables, now.early
	return nil
}

// prepare decodes and analyses the entries of a part.
func (b *Bank) prepare(p *part) error {
	for _, e := range p.entries {
		_, kind, id, _ := store.ParseKey(e.Key)
		if kind != recordKind {
			p.single = append(p.single, e)
			continue
		}
		r, err := decode(ID(id), e)
		switch {
		case err != nil:
			return err
		case len(r.more().Former) > 0:
			p.single = append(p.single, e)
		default:
			p.records = append(p.records, r)
		}
	}
	p.terms = analyze(b.an, p.records...)
	return nil
}

const forever = math.MaxInt64 // a time after all records

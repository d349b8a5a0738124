package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/deferred"
	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/memory/internal/heard"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/lexicon"
	"github.com/arc-learn/arc/memory/internal/pipeline"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tenants"
	"github.com/arc-learn/arc/store"
)

// Open loads the memories of st, and indexes them. A damaged record is an error that names its key.
// With IndexBytes the Bank loads the memories of a tenant at first use, and the error is that of the
// call. st stays open when the Bank is closed.
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
	w := flush.New(st)
	b := &Bank{st: st, w: w, late: deferred.New(st, w, o.Shared), o: o, sanitize: o.Sanitizer, heard: heard.New()}
	if a, ok := o.Policy.(ACTR); ok {
		b.model = a.model(o.Seed)
	}
	lang := text.Language(0)
	if o.Language == "none" {
		lang = text.Plain
	}
	b.lexicon = lexicon.New(lang)
	b.reading.host = o.Extractor
	b.reading.Prime()
	b.scratch.New = func() any { return new(scratch) }
	b.bodies, err = lru.New[*table.Entry, *Record](o.Cache)
	if err != nil {
		return nil, fmt.Errorf("memory: cache: %w", err)
	}
	if o.IndexBytes > 0 {
		b.tenants = tenants.New(b.loadTenant, b.w.Flush, b.evict, o.IndexBytes, o.Home)
	}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("memory: open: %w", err), b.w.Close())
	}
	if b.vectors.Works() {
		b.vectors.Run(b.now, b.embedNext)
	}
	if b.reading.host != nil {
		b.reading.waiting.LookUp()
		b.reading.Run(b.now, b.readNext)
	}
	return b, nil
}

// loadTenant reads what the store has of a tenant.
func (b *Bank) loadTenant(ctx context.Context, name string) error {
	if err := b.w.Flush(ctx); err != nil {
		return err
	}
	return b.load(ctx, Scope(name))
}

// start reads what the store holds.
func (b *Bank) start(ctx context.Context) error {
	noted, err := embedder.Load(ctx, b.st)
	if err != nil {
		return err
	}
	if err := b.vectors.Start(b.o.Embedder, noted); err != nil {
		return err
	}
	if b.tenants != nil {
		return nil
	}
	return b.load(ctx, "")
}

// load reads what the store holds of a scope and of those below it.
func (b *Bank) load(ctx context.Context, scope Scope) error {
	in := contents{b.st, scope, make(map[string]bool)}
	shards, err := b.loadRecords(ctx, &in)
	if err != nil {
		return err
	}
	var strays []stray
	for e, err := range in.under(ctx, stored.Counts) {
		if err != nil {
			return err
		}
		c, err := stored.CountsOf(e)
		if err != nil {
			return err
		}
		sh, of, its := shards.record(e.Key)
		if its {
			sh.Tally(table.Change{Entry: of, Counts: c})
		} else {
			strays = append(strays, stray{e.Key, sh, of, c})
		}
	}
	if err := b.settle(ctx, strays); err != nil {
		return err
	}
	if err := b.loadGuesses(ctx, &in, shards); err != nil {
		return err
	}
	if b.reading.host != nil {
		b.reading.waiting.LookUp()
	}
	return b.loadVectors(ctx, &in, shards)
}

// parts has the shards by their part of keys.
type parts map[string]*shard

// record returns the record that an entry of the store belongs to, nil if it is gone, and whether
// the entry is its own, rather than that of a record that was merged into it.
func (in parts) record(k string) (sh *shard, e *table.Entry, its bool) {
	if _, part, id, ok := stored.Split(k); ok && in[part] != nil {
		sh = in[part]
		e = sh.Find(ident.Of(id))
		its = e != nil && e.Key == ident.Of(id)
	}
	return sh, e, its
}

// loadRecords reads the records, and returns the shards by their part of keys.
func (b *Bank) loadRecords(ctx context.Context, in *contents) (parts, error) {
	shards := make(parts)
	return shards, pipeline.Run(ctx, in.under(ctx, stored.Records), b.prepare, func(records []loading) error {
		var sh *shard
		for _, l := range records {
			if l.err != nil {
				return l.err
			}
			if sh == nil || sh.scope != l.scope {
				sh = b.shardFor(l.scope)
				shards[sh.at.Part] = sh
			}
			sh.Put(l.entry, l.doc)
		}
		return nil
	})
}

// loadVectors reads the vectors of the Bank's model. Records with vectors of another model wait to be
// embedded again. Vectors without a record are removed.
func (b *Bank) loadVectors(ctx context.Context, in *contents, shards parts) error {
	err := pipeline.Run(ctx, in.under(ctx, stored.Vectors), stored.CodeVectors, func(batch []stored.CodedVector) error {
		for i := range batch {
			if err := b.placeVector(ctx, shards, &batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, sh := range shards {
		if sh.Pending() > 0 {
			b.vectors.Want(sh.Table.Scope)
		}
	}
	return err
}

func (b *Bank) placeVector(ctx context.Context, shards parts, l *stored.CodedVector) error {
	sh, e, its := shards.record(l.Key)
	if !its {
		if b.o.Shared {
			return nil // of a record that another has just made, perhaps
		}
		return b.w.Add(ctx, store.Op{Key: l.Key, Delete: true})
	}
	if l.Err != nil {
		return l.Err
	}
	if b.fits(l.Model, l.Dim) {
		sh.SetCode(e, l.Dim, &l.Code)
	}
	return nil
}

// loadGuesses reads what perhaps replaces what. Guesses of records that are gone stay in the store,
// and have no effect.
func (b *Bank) loadGuesses(ctx context.Context, in *contents, shards parts) error {
	for e, err := range in.under(ctx, stored.Guesses) {
		if err != nil {
			return err
		}
		kept, err := stored.GuessesOf(e)
		if err != nil {
			return err
		}
		if sh, by, _ := shards.record(e.Key); by != nil {
			sh.guess(by, kept)
		}
	}
	return nil
}

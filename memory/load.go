package memory

import (
	"context"
	"errors"

	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/pipeline"
	"github.com/arc-learn/arc/internal/tally"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// start reads what the store holds.
func (b *Bank) start(ctx context.Context) error {
	noted, err := b.loadModel(ctx)
	if err != nil {
		return err
	}
	if err := b.vectors.start(b.o.Embedder, noted); err != nil {
		return err
	}
	if b.tenants != nil {
		return nil
	}
	return b.load(ctx, "")
}

// load reads what the store holds of a scope and of those below it.
func (b *Bank) load(ctx context.Context, scope Scope) error {
	in := stored{b.st, scope, make(map[string]bool)}
	shards, err := b.loadRecords(ctx, &in)
	if err != nil {
		return err
	}
	var strays []stray
	for e, err := range in.under(ctx, countsPart) {
		if err != nil {
			return err
		}
		c, err := decodeCounts(e)
		if err != nil {
			return err
		}
		sh, of, its := shards.record(e.Key)
		if its {
			sh.tally(change{of, c})
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
	b.reading.Lock()
	b.reading.more = b.o.Extractor != nil
	b.reading.Unlock()
	return b.loadVectors(ctx, &in, shards)
}

// loading is a record that was read, or why it cannot be.
type loading struct {
	scope Scope
	entry *entry
	doc   index.Doc
	err   error
}

// loadRecords reads the records, and returns the shards by their part of the key.
func (b *Bank) loadRecords(ctx context.Context, in *stored) (parts, error) {
	shards := make(parts)
	return shards, pipeline.Run(ctx, in.under(ctx, recordPart), b.prepare, func(records []loading) error {
		var sh *shard
		for _, l := range records {
			if l.err != nil {
				return l.err
			}
			if sh == nil || sh.scope != l.scope {
				sh = b.shardFor(l.scope)
				shards[sh.part] = sh
			}
			sh.put(l.entry, l.doc)
		}
		return nil
	})
}

// prepare decodes records, and splits their texts into terms.
func (b *Bank) prepare(entries []store.Entry) []loading {
	out := make([]loading, len(entries))
	var terms []text.Term // of all
	for i, e := range entries {
		l := &out[i]
		var r *Record
		var with stowed
		if r, with, l.err = decodeRecord(e); l.err != nil {
			return out[:i+1]
		}
		l.scope, l.entry = r.Scope, newEntry(r, with, nil, e.Rev)
		l.doc, terms = b.appendDocument(terms, r, with)
	}
	return out
}

// parts are the shards by their part of keys.
type parts map[string]*shard

// record returns the record that an entry of the store is of, nil if it is gone, and whether
// the entry is its own: not that of one which became part of it.
func (in parts) record(k string) (sh *shard, e *entry, its bool) {
	if p := key.Split(k); len(p) == 4 && in[p[2]] != nil {
		sh = in[p[2]]
		e = sh.entry(ID(p[3]))
		its = e != nil && e.id == ident.Of(ID(p[3]))
	}
	return sh, e, its
}

// stray are counters without a record of their own: the process ended after
// the record was merged into another, or forgotten, and before its counters
// followed.
type stray struct {
	key    string
	sh     *shard
	into   *entry // nil: it is gone
	counts *tally.Counts
}

// settle adds strays to the record that theirs was merged into, if any, and
// removes them.
func (b *Bank) settle(ctx context.Context, strays []stray) error {
	for _, s := range strays {
		op, err := store.Op{Key: s.key, Delete: true}, error(nil)
		switch {
		case s.into != nil:
			if b.o.Shared {
				op.If = store.At(s.counts.Rev) // else another has settled it
			}
			_, err = b.count(ctx, s.sh, []store.Op{op}, nil, change{s.into, s.into.counts().Sum(s.counts)})
		case !b.o.Shared: // else it is of a record that another has just made, perhaps
			err = b.w.Add(ctx, op)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

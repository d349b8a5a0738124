package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory/internal/asker"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/search"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// prepare checks q and fills sc.Query.
func (s Space) prepare(q *Query, sc *scratch) error {
	if err := cmp.Or(q.check(), s.b.checkQueryVector(q.Vector)); err != nil {
		return err
	}
	p := &sc.Query
	*p = search.Query{
		View: table.View{Without: q.without(), Before: latest(q.At), Known: latest(q.Known)},
		K:    min(cmp.Or(q.K, defaultK), maxK), All: strings.TrimSpace(q.Text) == "", Tables: p.Tables[:0], Text: q.Text,
		Apart: q.Background, Rate: float64(time.Microsecond) / float64(s.b.o.HalfLife), Situation: tally.Hash(q.Situation),
		Context: p.Context[:0], Floor: q.Floor, Model: s.b.model, Triggered: q.Triggered, Linked: q.Linked,
		Fusion: hybrid.Fusion{Min: s.b.o.MinCosine, Weight: s.b.o.CosineWeight},
	}
	since := int64(always)
	if at := latest(q.Since); !q.Since.IsZero() {
		p.May = func(e *table.Entry) bool { return e.Told() > at }
		if p.Without&table.Untold == table.Untold {
			since = at
		}
	}
	if p.Rescue = !q.Triggered && !q.Archived && !q.Inject && !q.Background && !p.All; p.Rescue {
		p.Without &^= table.Archived
	}
	if p.All {
		p.Floor = 0
	}
	if len(q.Vector) > 0 {
		p.Vector, p.Fusion.Alone, p.All = sc.Hybrid.Vector.Ask(q.Vector), p.All, false
	}
	if p.At = p.Before; q.At.IsZero() {
		p.At = s.b.now().UnixMicro()
	}
	for _, id := range q.Context {
		p.Context = append(p.Context, ident.Of(id))
	}
	sc.shards = sc.shards[:0]
	sc.in(s.b.shard(s.scope), since)
	for _, also := range q.Also {
		if err := also.Check(); err != nil {
			return err
		}
		if also.Tenant() != s.scope.Tenant() {
			return fmt.Errorf("%w: a scope of another tenant", ErrTenant)
		}
		sc.in(s.b.shard(also), since)
	}
	if p.Model != nil && p.Model.Noise > 0 {
		p.Draws = p.Model.Draws(string(s.scope), q.Text, p.At, p.Context)
	}
	sc.terms, p.Half = s.b.lexicon.Query(sc.terms[:0], q.Text)
	p.Terms, p.Asker = sc.terms, asker.About(q.Text)
	return nil
}

// always is the since of a query that does not set it.
const always = math.MinInt64

// in adds a shard to the search, unless it is nil, is there already, or was told nothing since.
func (sc *scratch) in(sh *shard, since int64) {
	if sh != nil && (since == always || sh.Told() > since) && !slices.Contains(sc.shards, sh) {
		sc.shards, sc.Query.Tables = append(sc.shards, sh), append(sc.Query.Tables, sh.Table)
	}
}

// of returns the shard of a table that was searched.
func (sc *scratch) of(t *table.Table) *shard { return sc.shards[slices.Index(sc.Query.Tables, t)] }

// with calls fn with a checked query and memory to work in.
func (s Space) with(ctx context.Context, q *Query, fn func(*scratch) error) error {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	if err := s.b.Await(ctx, q.After); err != nil {
		return err
	}
	if err := s.embedQuery(ctx, q); err != nil {
		return err
	}
	sc := s.b.scratch.Get().(*scratch)
	defer s.b.release(sc)
	if err := s.prepare(q, sc); err != nil {
		return err
	}
	return fn(sc)
}

// Recall returns the records that match the query, best first; see [Parts] and the package comment for
// the score. With a text, a record that shares no word with it is no hit, nor is one that shares
// function words alone, unless the text has no others. Equal scores are ordered by At, the newer first,
// then by ID. Recall does not fill Record.Vector: Get does.
//
// The errors of a bad query are ErrKind, ErrQuery, ErrScope, ErrTenant, ErrVector and *store.LimitError.
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error) {
	return s.RecallInto(ctx, []Hit{}, q)
}

// RecallInto appends to hits what Recall returns. With an error it returns nil.
func (s Space) RecallInto(ctx context.Context, hits []Hit, q Query) ([]Hit, error) {
	before := len(hits)
	err := s.with(ctx, &q, func(sc *scratch) (err error) {
		hits, err = s.hits(ctx, sc, hits, sc.Recall())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	if sh := s.b.shard(s.scope); (q.Inject || q.Background) && len(hits) > before && sh != nil {
		sh.injected.Add(1) // for Health
	}
	return hits, nil
}

// RecallThreads returns the threads that match the query, best first, at most K. It leaves out records
// without a Thread, and threads without a record that reaches the Floor. Threads of the same name in
// different scopes are different.
//
// With a text, the Score of a thread is computed as the Relevance of a record: s is the BM25 score of all
// its words together plus 0.3 times that of each of its three best records, and U counts 1.9 times. The
// words of a thread weigh by how few threads have them: with few threads, no Score is high. Without a
// text, Score is that of the best record plus 0.3 times those of the next two, divided by 1.6. Under
// [ACTR] it is ln Σ e^A over the three best.
//
// Effectiveness and recency do not enter Score, and vectors do only without a text or under [ACTR]. A
// thread with a trusted record among its hits comes before those without one, and the trusted record comes
// first, as with Recall.
func (s Space) RecallThreads(ctx context.Context, q Query) ([]ThreadHit, error) {
	var hits []ThreadHit
	err := s.with(ctx, &q, func(sc *scratch) error {
		for _, t := range sc.Threads() {
			best, err := s.hits(ctx, sc, nil, t.Best)
			if err != nil {
				return err
			}
			if len(best) > 0 {
				hits = append(hits, ThreadHit{Thread: t.Name, Score: t.Score, Hits: best})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall threads: %w", err)
	}
	return hits, nil
}

// hits appends a copy of what was found, for the caller. It is the last step of a recall, and the only one
// that may read the disk: for the texts of cold records.
func (s Space) hits(ctx context.Context, sc *scratch, hits []Hit, fs []search.Found) ([]Hit, error) {
	hits = slices.Grow(hits, len(fs))
	var buf [ident.Length]byte
	var names strings.Builder // of all hits, in one piece of memory
	names.Grow(len(fs) * ident.Length)
	for i := range fs {
		f := &fs[i]
		sh := sc.of(f.In)
		hits = append(hits, Hit{Score: f.Score, Parts: Parts(sc.Query.Parts(f))})
		h := &hits[len(hits)-1]
		if m := sc.Replaced(f.Entry); m != nil {
			h.Replaced = Replaced{ID(m.By.Name()), m.Probability, Evidence(m.Of)}
		}
		if f.Link != nil {
			h.Linked = ID(f.Link.Name())
		}
		at := names.Len()
		names.Write(f.AppendName(buf[:0]))
		h.Record.ID = ID(names.String()[at:])
		if err := sh.missing(f.Entry, s.b.copy(ctx, sh, f.Entry, f.Tally, &h.Record)); errors.Is(err, store.ErrNotFound) {
			hits = hits[:len(hits)-1] // it was forgotten meanwhile
		} else if err != nil {
			return nil, err
		} else if err := s.relate(ctx, sc, f, h); err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// relate fills in what a hit replaces and what contradicts it.
func (s Space) relate(ctx context.Context, sc *scratch, f *search.Found, h *Hit) error {
	old, conflicts := sc.Query.Relations(f.In, f.Entry)
	for _, e := range conflicts {
		h.Conflicts = append(h.Conflicts, ID(e.Name()))
	}
	if old == nil {
		return nil
	}
	r := Record{ID: ID(old.Name())}
	if err := s.b.copy(ctx, sc.of(f.In), old, old.Counts(), &r); err == nil {
		h.Superseded = &r
	} else if f.In.Holds(old) {
		return err
	}
	return nil
}

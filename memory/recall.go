package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/topk"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/asker"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

const (
	defaultK = 10
	maxK     = 1 << 26 // no scope has more, and multiples of it are numbers
)

// query checks q and fills sc.query.
func (s Space) query(q *Query, sc *scratch) error {
	switch {
	case q.K < 0:
		return fmt.Errorf("%w: K is %d", ErrQuery, q.K)
	case !(q.Floor >= 0 && q.Floor <= 1):
		return fmt.Errorf("%w: Floor is %v", ErrQuery, q.Floor)
	}
	err := cmp.Or(
		limit("text", MaxText, len(q.Text)), limit("situation", MaxText, len(q.Situation)), s.b.checkQueryVector(q.Vector))
	if err != nil {
		return err
	}
	for _, k := range q.Kinds {
		if !k.valid() {
			return fmt.Errorf("%w: %.32q", ErrKind, string(k))
		}
	}
	p := &sc.query
	*p = query{
		k: min(cmp.Or(q.K, defaultK), maxK), all: strings.TrimSpace(q.Text) == "", shards: p.shards[:0], asked: q.Text,
		apart: q.Background, without: q.without(), before: latest(q.At), known: latest(q.Known),
		rate: float64(time.Microsecond) / float64(s.b.o.HalfLife), situation: tally.Hash(q.Situation),
		context: p.context[:0], floor: q.Floor, attributed: answer.Unnamed, model: s.b.model,
		fusion: hybrid.Fusion{Min: s.b.o.MinCosine, Weight: s.b.o.CosineWeight},
	}
	p.triggered, p.linked, p.half = q.Triggered, q.Linked, s.b.dates.Next
	if p.rescue = !q.Triggered && !q.Archived && !q.Inject && !q.Background && !p.all; p.rescue {
		p.without &^= isArchived
	}
	if p.all {
		p.floor = 0
	}
	if len(q.Vector) > 0 {
		p.vector, p.fusion.Alone, p.all = sc.hybrid.Vector.Ask(q.Vector), p.all, false
	}
	if p.at = p.before; q.At.IsZero() {
		p.at = s.b.now().UnixMicro()
	}
	for _, id := range q.Context {
		p.context = append(p.context, ident.Of(id))
	}
	p.addShard(s.b.shard(s.scope))
	for _, also := range q.Also {
		if err := also.Check(); err != nil {
			return err
		}
		if also.Tenant() != s.scope.Tenant() {
			return fmt.Errorf("%w: a scope of another tenant", ErrTenant)
		}
		p.addShard(s.b.shard(also))
	}
	if p.model != nil && p.model.Noise > 0 {
		p.draws = p.model.Draws(string(s.scope), q.Text, p.at, p.context)
	}
	sc.terms = s.b.dates.AppendNamed(s.b.lang.Append(sc.terms[:0], q.Text))
	p.text, p.asker = sc.terms, asker.About(q.Text)
	return nil
}

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
	if err := s.query(q, sc); err != nil {
		return err
	}
	return fn(sc)
}

// Recall returns the records that match the query, best first; see [Parts] and
// the package comment for the score. With a text, a record that shares no word
// with it is not returned, nor one that shares function words alone, unless
// the text has no others. Equal scores are ordered by At, the newer first,
// then by ID. Record.Vector is not filled: Get does that.
//
// The errors are ErrKind, ErrQuery, ErrScope, ErrTenant and *store.LimitError
// for a bad query.
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error) {
	return s.RecallInto(ctx, []Hit{}, q)
}

// RecallInto appends to hits what Recall returns. With an error it returns nil.
func (s Space) RecallInto(ctx context.Context, hits []Hit, q Query) ([]Hit, error) {
	before := len(hits)
	err := s.with(ctx, &q, func(sc *scratch) (err error) {
		q := &sc.query
		sc.find(q.enough())                                     // candidates, filters, what is superseded, score
		best := sc.vouch(topk.Of(q.cut(sc.found), q.k, better)) // selection, what is trusted before what is not
		best = q.bring(sc.order(best))                          // what is current first, what is linked
		hits, err = s.hits(ctx, sc, hits, best)                 // copy
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

// hits appends a copy of what was found for the caller. This is the last stage, and the
// only one that may ask the disk: for the texts of records that are cold.
func (s Space) hits(ctx context.Context, sc *scratch, hits []Hit, fs []found) ([]Hit, error) {
	hits = slices.Grow(hits, len(fs))
	var buf [ident.Length]byte
	var names strings.Builder // of all hits, in one piece of memory
	names.Grow(len(fs) * ident.Length)
	for i := range fs {
		f := &fs[i]
		hits = append(hits, Hit{Score: f.score, Parts: s.parts(&sc.query, f), Replaced: sc.replaced(f.entry)})
		r := &hits[len(hits)-1].Record
		if f.link != nil {
			hits[len(hits)-1].Linked = f.link.name()
		}
		at := names.Len()
		names.Write(f.appendName(buf[:0]))
		r.ID = ID(names.String()[at:])
		if err := f.sh.missing(f.entry, s.b.copy(ctx, f.sh, f.entry, f.tally, r)); errors.Is(err, store.ErrNotFound) {
			hits = hits[:len(hits)-1] // it was forgotten meanwhile
		} else if err != nil {
			return nil, err
		} else if err := s.relate(ctx, &sc.query, f, &hits[len(hits)-1]); err != nil {
			return nil, err
		}
	}
	return hits, nil
}

func (s Space) parts(q *query, f *found) Parts {
	if !f.near {
		f.effectiveness, f.recency = f.tally.Effectiveness(q.situation), q.recency(f)
	}
	var p Parts
	if q.model != nil {
		p = q.activation(f, q.bonds(f.sh))
	} else {
		p.BaseLevel, p.Spreading = q.model.BaseLevel(f.tally, f.known, q.at), f.sh.spreading(q, f.entry)
	}
	p.Relevance, p.Lexical, p.Cosine, p.Near = f.Relevance, f.Lexical, f.Cosine, f.near
	p.Answer, p.Effectiveness, p.Recency = q.answers(f), f.effectiveness, f.recency
	return p
}

// relate fills in what a hit replaces and what contradicts it.
func (s Space) relate(ctx context.Context, q *query, f *found, h *Hit) error {
	if f.more == nil || f.more.slot == nil && len(f.more.links) == 0 {
		return nil
	}
	f.sh.mu.Enter()
	old := q.superseded(f.sh, f.entry)
	h.Conflicts = q.conflicts(f.sh, f.entry)
	f.sh.mu.Leave()
	if old == nil {
		return nil
	}
	r := Record{ID: old.name()}
	if err := s.b.copy(ctx, f.sh, old, old.counts(), &r); err == nil {
		h.Superseded = &r
	} else if f.sh.holds(old) {
		return err
	}
	return nil
}

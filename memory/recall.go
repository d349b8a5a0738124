package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/lexical"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

const defaultK = 10

// query is a checked Query.
type query struct {
	k         int
	text      []text.Term
	all       bool // there is no text: every record is found
	scopes    []Scope
	kinds     []Kind
	before    time.Time // no later At; zero: any
	known     time.Time // no later Known; zero: any
	at        time.Time // when recency is taken
	inject    bool
	archived  bool
	situation uint64
	context   []ID
	halfLife  time.Duration
}

// scratch is memory that recalls use again.
type scratch struct {
	index lexical.Scratch
	terms []text.Term
	query query
	found []found
}

// query checks q and fills sc.query.
func (s Space) query(q *Query, sc *scratch) error {
	switch {
	case q.K < 0:
		return fmt.Errorf("%w: K is %d", ErrQuery, q.K)
	case len(q.Text) > MaxText:
		return &store.LimitError{Field: "text", Limit: MaxText, Got: len(q.Text)}
	case len(q.Situation) > MaxText:
		return &store.LimitError{Field: "situation", Limit: MaxText, Got: len(q.Situation)}
	}
	for _, k := range q.Kinds {
		if !k.valid() {
			return fmt.Errorf("%w: %.32q", ErrKind, string(k))
		}
	}
	p := &sc.query
	*p = query{
		k: q.K, all: strings.TrimSpace(q.Text) == "", scopes: append(p.scopes[:0], s.scope), kinds: q.Kinds,
		before: q.At, known: q.Known, at: q.At, inject: q.Inject, archived: q.Archived,
		situation: hashSituation(q.Situation), context: q.Context, halfLife: s.b.o.HalfLife,
	}
	if p.k == 0 {
		p.k = defaultK
	}
	if p.at.IsZero() {
		p.at = s.b.now()
	}
	for _, also := range q.Also {
		if err := also.Check(); err != nil {
			return err
		}
		if also.Tenant() != s.scope.Tenant() {
			return fmt.Errorf("%w: a scope of another tenant", ErrTenant)
		}
		if !slices.Contains(p.scopes, also) {
			p.scopes = append(p.scopes, also)
		}
	}
	sc.terms = text.Append(sc.terms[:0], q.Text)
	p.text = sc.terms
	return nil
}

// excludes returns why the query leaves a record out, or "".
func (q *query) excludes(e *entry) string {
	switch {
	case len(q.kinds) > 0 && !slices.Contains(q.kinds, e.rec.Kind):
		return "its kind is not asked for"
	case q.inject && !e.rec.Trusted:
		return "it is quarantined, and Inject leaves those out until Trust"
	case e.counts.Archived && !q.archived:
		return "it is archived"
	case !q.before.IsZero() && e.rec.At.After(q.before):
		return "it did not hold yet at At"
	case !q.known.IsZero() && e.rec.Known.After(q.known):
		return "it was not known yet at Known"
	}
	return ""
}

// find fills sc.found with what matches the query, scored, in no order: with
// all of that, or at least with the n best.
func (s Space) find(sc *scratch, n int) {
	q := &sc.query
	sc.found = sc.found[:0]
	for _, scope := range q.scopes {
		if sh := s.b.shard(scope); sh != nil {
			sh.find(sc, n)
		}
	}
	q.weigh(sc.found)
}

func (sh *shard) find(sc *scratch, n int) {
	q := &sc.query
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if q.all {
		for _, e := range slices.Backward(sh.mu.entries) {
			if e != nil && q.excludes(e) == "" {
				sc.found = append(sc.found, found{entry: e})
			}
		}
		return
	}
	matches := sh.mu.index.Search(&sc.index, q.text)
	kept, best := matches[:0], 0.0
	for _, m := range matches {
		if q.excludes(sh.mu.entries[m.Slot]) == "" {
			kept = append(kept, m)
			if m.Relevance > best {
				best = m.Relevance
			}
		}
	}
	// What is not near the best is below all that is, whatever else is found
	// in other scopes, and counts by its relevance alone.
	near := sh.take(sc, kept, gate*best, math.Inf(1))
	if near < n {
		sh.take(sc, kept, nth(kept, gate*best, n-near), gate*best)
	}
}

// take adds the matches to sc.found whose relevance is at least from and below
// to, and returns how many they are. The latest come first: few of what follows
// is better.
func (sh *shard) take(sc *scratch, matches []lexical.Match, from, to float64) int {
	before := len(sc.found)
	for i := len(matches) - 1; i >= 0; i-- {
		if m := &matches[i]; from <= m.Relevance && m.Relevance < to {
			sc.found = append(sc.found, found{entry: sh.mu.entries[m.Slot], relevance: m.Relevance})
		}
	}
	return len(sc.found) - before
}

// with calls fn with a checked query and memory to work in.
func (s Space) with(ctx context.Context, q *Query, fn func(*scratch) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	sc := s.b.scratch.Get().(*scratch)
	defer s.b.release(sc)
	if err := s.query(q, sc); err != nil {
		return err
	}
	return fn(sc)
}

// release keeps no record alive, nor anything of the caller's.
func (b *Bank) release(sc *scratch) {
	clear(sc.found)
	clear(sc.terms)
	sc.query = query{scopes: sc.query.scopes}
	b.scratch.Put(sc)
}

// Recall returns the records that match the query, best first; see [Parts] and
// the package comment for the score. With a text, a record that shares no word
// with it is not returned, nor one that shares function words alone, unless
// the text has no others. Equal scores are ordered by At, the newer first,
// then by ID.
//
// The errors are ErrKind, ErrQuery, ErrScope, ErrTenant and *store.LimitError
// for a bad query.
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error) {
	var hits []Hit
	err := s.with(ctx, &q, func(sc *scratch) error {
		s.find(sc, sc.query.k)
		hits = s.hits(sc, top(sc.found, sc.query.k))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	return hits, nil
}

// hits copies what was found for the caller.
func (s Space) hits(sc *scratch, fs []found) []Hit {
	hits := make([]Hit, len(fs))
	for i := range fs {
		h := &hits[i]
		fs[i].copy(&h.Record)
		h.Score = fs[i].score
		h.Parts = s.parts(&sc.query, &fs[i])
	}
	return hits
}

func (s Space) parts(q *query, f *found) Parts {
	if !f.near {
		f.effectiveness, f.recency = f.counts.effectiveness(q.situation), q.recency(f.entry)
	}
	return Parts{
		Relevance:     f.relevance,
		Effectiveness: f.effectiveness,
		Recency:       f.recency,
		BaseLevel:     q.baseLevel(f.entry),
		Spreading:     s.spreading(q, f.rec),
		Near:          f.near,
	}
}

// spreading is the mean over the context of 1/fan, for those that r is linked
// with in either direction.
func (s Space) spreading(q *query, r *Record) float64 {
	if len(q.context) == 0 {
		return 0
	}
	sh := s.b.shard(r.Scope)
	if sh == nil {
		return 0
	}
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	sum := 0.0
	for _, id := range q.context {
		if id != r.ID && (linked(r, id) || sh.linksLocked(id, r.ID)) {
			sum += 1 / float64(max(sh.mu.fan[id], 1))
		}
	}
	return sum / float64(len(q.context))
}

func (sh *shard) linksLocked(from, to ID) bool {
	e := sh.entryLocked(from)
	return e != nil && linked(e.rec, to)
}

func linked(r *Record, to ID) bool {
	return slices.ContainsFunc(r.Links, func(l Link) bool { return l.To == to })
}

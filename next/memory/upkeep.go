package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
	"github.com/arc-learn/arc/next/store"
)

// idle is after how long an untrusted memory is archived that never helped.
const idle = 180 * 24 * time.Hour

// DecayReport says what Decay did.
type DecayReport struct {
	Archived int // memories
	Keys     int // of drafts and feedback that are no longer known
}

// Decay archives quarantined memories that never helped and were not said for 180 days, and forgets Keys of drafts
// and feedback after 90. That recency fades needs no call: it is a function of the time. What is trusted is never
// archived for being idle.
func (s Space) Decay(ctx context.Context) (report DecayReport, err error) {
	if err := s.scope.Check(); err != nil {
		return report, fmt.Errorf("memory: decay: %w", err)
	}
	now := s.b.now()
	old := func(trusted, archived bool, c *stats, said int64) bool {
		return !trusted && !archived && (c == nil || c.Helped == 0) && now-said >= idle.Microseconds()
	}
	if t := s.b.table(s.scope); t != nil {
		for _, e := range t.snapshot() {
			if !old(e.trusted, e.archived, e.stats, max(e.said(), e.created)) {
				continue
			}
			archived := false
			err := s.change(ctx, e.id, func(r *stored) (bool, error) {
				archived = old(r.Trusted, r.Archived, r.Stats, max(r.At, r.LastSaid, r.Created))
				r.Archived = r.Archived || archived
				return archived, nil
			})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return report, err
			}
			if archived {
				report.Archived++
			}
		}
	}
	for _, kind := range []string{draftKind, feedbackKind} {
		n, err := s.sweep(ctx, kind, now-markersLast.Microseconds())
		if report.Keys += n; err != nil {
			return report, fmt.Errorf("memory: decay: %w", err)
		}
	}
	return report, nil
}

// sweep deletes markers that were made before a time.
func (s Space) sweep(ctx context.Context, kind string, before int64) (n int, err error) {
	var old []store.Entry
	del := func() error {
		err := s.b.g.Update(ctx, func(b *store.Batch) error {
			for _, e := range old {
				if err := b.Delete(e.Key, store.At(e.Rev)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			n += len(old)
		} else if errors.Is(err, store.ErrConflict) {
			err = nil // one is in use again: the next call has the others
		}
		old = nil
		return err
	}
	for e, err := range s.b.g.Store().Scan(ctx, store.Range{Prefix: s.scope.Prefix(kind)}) {
		if err != nil {
			return n, err
		}
		var at int64
		if kind == draftKind {
			var m draftMarker
			err = codec.Unmarshal(e.Value, &m)
			at = m.At
		} else {
			var m feedbackMarker
			err = codec.Unmarshal(e.Value, &m)
			at = m.At
		}
		if err != nil {
			return n, err
		}
		if at < before {
			old = append(old, e)
		}
		if len(old) == 1000 {
			if err := del(); err != nil {
				return n, err
			}
		}
	}
	return n, del()
}

// Pair is two memories that are near-duplicates.
type Pair struct {
	A, B       ID // A is the older
	Similarity float64
}

// ConsolidateReport says what Consolidate did.
type ConsolidateReport struct {
	Merged int    // memories that were equal to another
	Near   []Pair // that are alike, and stay apart until somebody merges them: at most 1,000
}

// similar is from where on two texts are near-duplicates, and Similar the Rel of the link between them.
const (
	similarity = 0.85
	Similar    = "similar"
)

// Consolidate merges memories that are equal, as a change or another process may have left them; the older stays. It
// links memories that are alike (the cosine of their words is .85 or more, trigger and content each, of one kind,
// trust, actor and thread) and lists them: whether they say the same is for a person or a model to decide, with
// [Space.Merge]. Episodes are neither.
func (s Space) Consolidate(ctx context.Context) (report ConsolidateReport, err error) {
	if err := s.scope.Check(); err != nil {
		return report, fmt.Errorf("memory: consolidate: %w", err)
	}
	t := s.b.table(s.scope)
	if t == nil {
		return report, nil
	}
	seen := map[[2]ID]bool{}
	for _, e := range t.snapshot() {
		if e.is(Episode) || t.current(e.id) != e {
			continue
		}
		for _, o := range t.alike(e) {
			if seen[[2]ID{o.e.id, e.id}] {
				continue
			}
			seen[[2]ID{e.id, o.e.id}] = true
			if o.equal {
				first, second := e, o.e
				if second.created < first.created {
					first, second = second, first
				}
				if err := s.Merge(ctx, first.id, second.id); err == nil {
					report.Merged++
				} else if !errors.Is(err, store.ErrNotFound) {
					return report, err
				}
				continue
			}
			link := Link{To: o.e.id, Rel: Similar}
			err := s.change(ctx, e.id, func(r *stored) (bool, error) {
				n := len(r.Links)
				r.Links = union(r.Links, []Link{link})
				return len(r.Links) > n, nil
			})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return report, err
			}
			if len(report.Near) < 1000 {
				report.Near = append(report.Near, Pair{e.id, o.e.id, o.similarity})
			}
		}
		if err := ctx.Err(); err != nil {
			return report, err
		}
	}
	return report, nil
}

// current returns the record with an id as it is now.
func (t *table) current(id ID) *entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.entry(id)
}

type like struct {
	e          *entry
	equal      bool
	similarity float64
}

// alike returns the records among the eight best for the words of e that are equal to it or near-duplicates.
func (t *table) alike(e *entry) (out []like) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	row, ok := t.byID[e.id]
	if !ok {
		return nil
	}
	const compared = 8
	exclude := ^(index.Flags(1)<<e.kind | isTrusted | isQuarantined | isArchived | isLive)
	if e.trusted {
		exclude |= isQuarantined
	} else {
		exclude |= isTrusted
	}
	terms := func(s string) []text.Term { return t.an.Append(nil, s) }
	trigger, content := terms(e.trigger), terms(e.content)
	ms := t.ix.Search(&index.Query{
		Text: embedded(e.trigger, e.content), At: timeOf(e.at, e.zone), K: compared, Exclude: exclude,
		Skip: func(r uint32) bool {
			o := t.rows[r]
			return r == row || o.actor != e.actor || o.thread != e.thread || o.rest().slot != e.rest().slot
		},
	})
	for _, m := range ms[:min(compared, len(ms))] {
		o := t.rows[m.Row]
		l := like{e: o, similarity: 1}
		l.equal = text.Fold(o.trigger) == text.Fold(e.trigger) && text.Fold(o.content) == text.Fold(e.content)
		if e.trigger != "" || o.trigger != "" {
			l.similarity = text.Similarity(trigger, terms(o.trigger))
		}
		l.similarity = min(l.similarity, text.Similarity(content, terms(o.content)))
		if l.equal || l.similarity >= similarity {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b like) int { return a.e.later(b.e) })
	return out
}

// Health says what a scope holds.
type Health struct {
	Memories   int
	Kinds      map[Kind]int
	Trusted    int
	Archived   int
	Superseded int
	Helped     int // that helped at least once
	Misled     int // that misled at least once
	Vectors    int
	Embedder   string // its last error, in words; "": none
}

// Health counts what the scope holds.
func (s Space) Health(context.Context) (Health, error) {
	h := Health{Kinds: map[Kind]int{}}
	if err := s.scope.Check(); err != nil {
		return h, fmt.Errorf("memory: health: %w", err)
	}
	if m := s.b.embeds; m != nil {
		m.mu.Lock()
		if m.err != nil {
			h.Embedder = m.err.Error()
		}
		m.mu.Unlock()
	}
	t := s.b.table(s.scope)
	if t == nil {
		return h, nil
	}
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, e := range t.rows {
		if e == nil {
			continue
		}
		h.Memories++
		h.Kinds[kindsInOrder[e.kind]]++
		count(&h.Trusted, e.trusted)
		count(&h.Archived, e.archived)
		count(&h.Superseded, t.standing(e, forever) != e)
		count(&h.Helped, e.stats != nil && e.stats.Helped > 0)
		count(&h.Misled, e.stats != nil && e.stats.Misled > 0)
	}
	h.Vectors = len(t.vectors)
	return h, nil
}

package memory

import (
	"cmp"
	"context"
	"errors"
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

// Decay archives quarantined memories that never helped and were not said for 180 days, and drops the Keys of drafts
// and feedback after 90. That recency fades needs no call: it is a function of the time. What is trusted is never
// archived for being idle.
func (s Space) Decay(ctx context.Context) (report DecayReport, err error) {
	now := s.b.o.Now().UnixMicro()
	old := func(r *record) bool {
		last := max(r.said(), r.Created)
		return !r.Trusted && !r.Archived && r.more().Counts.Helped == 0 && now-last >= idle.Microseconds()
	}
	for _, r := range s.table().snapshot() {
		if !old(r) {
			continue
		}
		archived := false
		err := s.change(ctx, r.id, func(r *record) (bool, error) {
			archived = old(r)
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
	for _, kind := range []string{draftKind, feedbackKind} {
		n, err := s.sweep(ctx, s.scope.Prefix(kind), func(e store.Entry) bool {
			var m marker
			return codec.Unmarshal(e.Value, &m) == nil && now-m.At > markersLast.Microseconds()
		})
		if report.Keys += n; err != nil {
			return report, err
		}
	}
	return report, nil
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

// Similar is the Rel of a link between near-duplicates, similarity from where on they are.
const (
	Similar    = "similar"
	similarity = 0.85
	maxNear    = 1000
)

// Consolidate merges memories that are equal, as a change or another process may have left them, into the older one.
// It links memories that are alike (the cosine of their words is .85 or more, of trigger and content each, and they
// are of one kind, trust, actor, thread and slot) and lists them: whether they say the same is for a person or a
// model to decide, with [Space.Merge]. Episodes are neither.
func (s Space) Consolidate(ctx context.Context) (report ConsolidateReport, err error) {
	t := s.table()
	for _, r := range t.snapshot() {
		if r = t.current(r.id); r == nil || r.is(Episode) {
			continue
		}
		for _, o := range t.alike(r) {
			if o.similarity == 1 && r.equal(o.record) {
				err = s.Merge(ctx, r.id, o.id)
				report.Merged++
			} else {
				err = s.change(ctx, r.id, func(r *record) (bool, error) {
					m, n := r.own(), len(r.more().Links)
					m.Links = union(m.Links, []Link{{To: o.id, Rel: Similar}})
					return len(m.Links) > n, nil
				})
				if len(report.Near) < maxNear {
					report.Near = append(report.Near, Pair{r.id, o.id, o.similarity})
				}
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return report, err
			}
		}
	}
	return report, nil
}

// like is a record that is like another.
type like struct {
	*record
	similarity float64
}

// alike returns the near-duplicates of r that are younger, of the records that its words find best.
func (t *table) alike(r *record) (out []like) {
	const compared = 32
	t.mu.RLock()
	defer t.mu.RUnlock()
	of := func(a, b string) float64 {
		if a == b {
			return 1
		}
		return text.Similarity(t.an.Append(nil, a), t.an.Append(nil, b))
	}
	ask := index.Query{Text: r.text(), At: timeOf(r.At, r.Zone), K: compared, Skip: func(row uint32) bool {
		o := t.rows[row]
		return o.Kind != r.Kind || o.Trusted != r.Trusted || *o.voice() != *r.voice() || o.more().Slot != r.more().Slot ||
			cmp.Or(cmp.Compare(o.Created, r.Created), cmp.Compare(o.id, r.id)) <= 0
	}}
	for _, m := range t.ix.Search(&ask) {
		o := t.rows[m.Row]
		if sim := min(of(r.Trigger, o.Trigger), of(r.Content, o.Content)); sim >= similarity {
			out = append(out, like{o, sim})
		}
	}
	slices.SortFunc(out, func(a, b like) int { return a.later(b.record) })
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
	if m := s.b.embeds; m != nil {
		m.mu.Lock()
		if m.err != nil {
			h.Embedder = m.err.Error()
		}
		m.mu.Unlock()
	}
	t := s.table()
	if t == nil {
		return h, s.scope.Check()
	}
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range t.rows {
		if r == nil {
			continue
		}
		h.Memories++
		h.Kinds[kinds[r.Kind]]++
		count(&h.Trusted, r.Trusted)
		count(&h.Archived, r.Archived)
		count(&h.Superseded, t.standing(r, forever) != r)
		count(&h.Helped, r.more().Counts.Helped > 0)
		count(&h.Misled, r.more().Counts.Misled > 0)
	}
	h.Vectors = t.vectors.Len()
	return h, nil
}

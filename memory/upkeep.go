package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// idle is after how long an untrusted memory is archived that never helped.
const idle = 180 * 24 * time.Hour

// Maintain archives quarantined memories that never helped and were not said for 180 days, and returns how
// many. It drops the Keys of drafts and feedback after 90 days. Recency fades without it, as a function of
// the time. What is trusted is never archived for being idle. Never call it in an Update, see [Space.Erase].
func (s Space) Maintain(ctx context.Context) (archived int, err error) {
	now := s.b.o.Now().UnixMicro()
	stays := func(r *record) bool {
		young := now-max(r.said(), r.Created) < idle.Microseconds()
		return young || r.Trusted || r.Archived || r.more().Counts[helped] > 0
	}
	for _, r := range slices.DeleteFunc(s.table().snapshot(), stays) {
		is := false
		err := s.change(ctx, r.id, func(r *record) error {
			is = !stays(r)
			r.Archived = r.Archived || is
			return nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return archived, err
		}
		if is {
			archived++
		}
	}
	for _, kind := range []string{draftKind, feedbackKind} {
		entries := s.b.g.Store().Scan(ctx, store.Range{Prefix: s.scope.Key(kind, "")})
		_, err := codec.Sweep(ctx, s.b.g, entries, func(e store.Entry) bool {
			var m marker
			return codec.Unmarshal(e.Value, &m) == nil && now-m.At > markersLast.Microseconds()
		}, false)
		if err != nil {
			return archived, fmt.Errorf("memory: %w", err)
		}
	}
	return archived, nil
}

const similarity, maxNear = 0.85, 1000

// Consolidate merges memories that are equal, as a change or another process may leave them, into the older,
// and returns how many. It links those that are alike (the cosine of words of triggers and of contents is .85
// or more; kind, trust, actor, thread and slot are one) and lists the first 1,000 pairs, the older first, for
// a person or a model to [Space.Merge]. Episodes are neither. It looks at the 32 its words find best.
func (s Space) Consolidate(ctx context.Context) (merged int, near [][2]ID, err error) {
	t, err := s.now(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, r := range t.snapshot() {
		if r = t.current(r.id); r == nil || r.is(Episode) {
			continue
		}
		var links []Link
		for _, o := range t.alike(r) {
			if !r.equal(o) {
				links = append(links, Link{o.id})
				if len(near) < maxNear {
					near = append(near, [2]ID{r.id, o.id})
				}
			} else if err = s.Merge(ctx, r.id, o.id); err == nil {
				merged++
			} else if !errors.Is(err, store.ErrNotFound) {
				return merged, near, err
			}
		}
		if len(links) > 0 {
			err = s.change(ctx, r.id, func(r *record) error {
				m := r.own()
				m.Links = union(m.Links, links)
				return nil
			})
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return merged, near, err
		}
	}
	return merged, near, nil
}

// alike returns the younger equals and near-duplicates of r, of the records that its words find best.
func (t *table) alike(r *record) (out []*record) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	trigger, content := t.an.Append(nil, r.Trigger), t.an.Append(nil, r.Content)
	near := func(o *record) bool {
		return (o.Trigger == r.Trigger || cosine(trigger, t.an.Append(nil, o.Trigger)) >= similarity) &&
			(o.Content == r.Content || cosine(content, t.an.Append(nil, o.Content)) >= similarity)
	}
	ask := index.Query{Text: r.text(), K: 32, Wants: func(row uint32) bool {
		o := t.rows[row]
		younger := cmp.Or(cmp.Compare(o.Created, r.Created), cmp.Compare(o.id, r.id)) > 0
		return younger && o.sameStanding(r)
	}}
	found := t.ix.Search(&ask)
	for _, m := range found[:min(len(found), ask.K)] { // without all that are as good as the last of them
		if o := t.rows[m.Row]; r.equal(o) || near(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, (*record).later)
	return out
}

// cosine is that of two texts' terms, in [0,1].
func cosine(a, b []text.Term) float64 {
	counts := make(map[string][2]float64, len(a))
	for side, terms := range [][]text.Term{a, b} {
		for _, t := range terms {
			n := counts[t.Text]
			n[side] += t.Weight()
			counts[t.Text] = n
		}
	}
	dot, x, y := 0.0, 0.0, 0.0 // sums of eighths are exact, so their order does not matter
	for _, n := range counts {
		dot, x, y = dot+n[0]*n[1], x+n[0]*n[0], y+n[1]*n[1]
	}
	return min(1, dot/math.Sqrt(max(x*y, 1e-9))) // 0 where one has no words
}

// Health counts the memories of the scope by kind, those in quarantine, and adds up the Stats of all. The
// counts are valid beside an error: it is the last one of the Embedder, which tries again.
func (s Space) Health(ctx context.Context) (memories map[Kind]int, quarantined int, all Stats, err error) {
	memories = map[Kind]int{}
	var sums counts
	t, err := s.now(ctx)
	for _, r := range t.snapshot() {
		memories[kinds[r.Kind]]++
		if !r.Trusted {
			quarantined++
		}
		sums.sum(r.more().Counts)
		all.Strengthened += r.more().Strengthened
	}
	all.Helped, all.Unused, all.Misled = sums[helped], sums[unused], sums[misled]
	if m := s.b.embeds; m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		err = cmp.Or(err, m.err)
	}
	return memories, quarantined, all, err
}

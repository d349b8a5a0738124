package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// The cases of a scope's plans are found as all else is that a scope remembers: a memory, with the key as its
// Slot, has the words of its cases. It lies in a scope below, of a name of its own, which no other recall has.
func casesOf(scope memory.Scope) memory.Scope { return cmp.Or(scope, "_") + "/_cases" }

// like returns the keys of cases that are most like the case, by the words of their situation and text.
func (l *Layer) like(ctx context.Context, c *Case, s *shape) (keys []string, err error) {
	var all []memory.Hit
	for _, scope := range scopesOf(c) {
		if casesOf(scope).Check() != nil {
			continue // too long a name: it has none
		}
		q := memory.Query{Text: head(c.Situation+"\n"+s.template, memory.MaxText), K: maxLike, At: l.now()}
		hits, err := l.bank.In(casesOf(scope)).Recall(ctx, q)
		if err != nil {
			return nil, err
		}
		all = slices.Insert(hits, 0, all...)
	}
	slices.SortStableFunc(all, func(x, y memory.Hit) int { return cmp.Compare(y.Relevance, x.Relevance) })
	for _, h := range all {
		if len(keys) < maxLike && h.Slot != s.key && !slices.Contains(keys, h.Slot) {
			keys = append(keys, h.Slot)
		}
	}
	return keys, nil
}

// word gives a key the words of its cases, and lets them be found.
func (l *Layer) word(ctx context.Context, b *store.Batch, scope memory.Scope, r *record, c *Case, s *shape) error {
	r.Situation, r.Conditions, r.Goals, r.Template, r.Paths = c.Situation, c.Conditions, c.Goals, s.template, s.paths()
	said := strings.TrimSpace(c.Situation + "\n" + s.template)
	if said == "" || casesOf(scope).Check() != nil {
		return nil
	}
	m, err := l.bank.In(casesOf(scope)).Stage(b).Remember(ctx, memory.Draft{Kind: memory.Pattern, Content: head(said, memory.MaxText), Slot: s.key, At: l.now()})
	r.Like = m.ID
	return err
}

const otherWords = "it is said in other words"

// differs says in a sentence what a case has otherwise than the cases of a key.
func (r *record) differs(c *Case, s *shape) string {
	var out []string
	say := func(differs bool, what string) {
		if differs {
			out = append(out, what)
		}
	}
	say(r.Situation != c.Situation, "its situation is another")
	say(!slices.Equal(r.Conditions, c.Conditions), "its conditions are others")
	say(!slices.Equal(r.Goals, c.Goals), "it serves another goal")
	now := s.paths()
	for _, p := range now {
		say(!slices.Contains(r.Paths, p), p+" is given")
	}
	for _, p := range r.Paths {
		say(!slices.Contains(now, p), p+" is not given")
	}
	say(out == nil || fold(r.Template) != s.folded, otherWords) // else it had the same key
	return strings.Join(out, "; ")
}

// scan calls f for each record of a kind in a scope.
func scan[T any](ctx context.Context, st store.Store, scope memory.Scope, kind string, f func(id string, e store.Entry, v *T) error) error {
	for e, err := range st.Scan(ctx, store.Range{Prefix: scope.Prefix(kind)}) {
		var v T
		if err == nil {
			err = codec.Unmarshal(e.Value, &v)
		}
		_, _, id, _ := store.ParseKey(e.Key)
		if err == nil {
			err = f(id, e, &v)
		}
		if err != nil {
			return fmt.Errorf("learn: %s: %w", e.Key, err)
		}
	}
	return nil
}

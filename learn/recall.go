package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// queries asks for the memories of a case: for what is trusted, with the rules; then, where somebody has to
// think, for the lessons of its situation; and for what nobody vouches for.
func queries(c *Case, s *shape) []memory.Query {
	text := c.Text
	for _, t := range c.Turns[max(0, len(c.Turns)-6):] {
		if t.Role == reason.UserRole {
			text += "\n" + t.Text
		}
	}
	kinds := []memory.Kind{memory.Rule, memory.Pattern, memory.Failure, memory.Fact, memory.Episode}
	if c.Actor == "" {
		kinds = kinds[:4]
	}
	return []memory.Query{
		{Text: text, K: maxMemories, Kinds: kinds, Trust: memory.Trusted, Linked: true},
		{Text: c.Situation + "\n" + s.template, K: maxMemories / 2, Kinds: kinds[1:3]},
		{Text: text, K: maxMemories / 2, Kinds: kinds[2:], Trust: memory.Quarantined},
	}
}

// recall adds what queries find.
func (l *Layer) recall(ctx context.Context, a *Advice, s *shape, queries ...memory.Query) error {
	c := &a.Case
	seen := func(id memory.ID) bool {
		is := func(h memory.Hit) bool { return h.Record.ID == id }
		return slices.ContainsFunc(a.Memories, is) || slices.ContainsFunc(a.Background, is)
	}
	for _, q := range queries {
		q.Text, q.At, q.Situation = head(q.Text, memory.MaxText), l.now(), c.Situation
		q.Also = append(slices.Clone(c.Also), scopesOf(c)[1:]...)
		hits, err := l.bank.In(c.Scope).Recall(ctx, q)
		if err != nil {
			return err
		}
		for i, h := range hits {
			refused := h.Record.Source.Ref == refusedRef
			if seen(h.Record.ID) || refused && h.Record.Trigger == head(cmp.Or(c.Situation, s.template), maxLesson) {
				continue // it is said already, or warned of
			}
			if refused {
				var w warning
				_ = json.Unmarshal(h.Record.Plan, &w)
				h.Record.Trigger, h.Record.Content, h.Record.Plan = "", extract.Tell(w.Said, w.Own, textsOf(c, s)), nil
			}
			to := &a.Background
			if h.Record.Trusted {
				to = &a.Memories
			}
			*to = append(slices.Grow(*to, len(hits)-i), h)
		}
	}
	return nil
}

func ruleDigests(hits []memory.Hit) (out []string) {
	for _, h := range hits {
		if h.Record.Kind == memory.Rule {
			out = append(out, saying(&h.Record))
		}
	}
	return out
}

// saying is a digest of what a memory says.
func saying(r *memory.Record) string { return digest(r.Trigger + "\x00" + r.Content)[:12] }

// lapsed says why a delivery does not count: a memory that its plan was made of says something else.
func (l *Layer) lapsed(ctx context.Context, d *delivery) (why string, err error) {
	for _, m := range d.Applied {
		r, err := l.bank.In(m.Scope).Get(ctx, m.ID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return "a memory that it was made of is forgotten", nil
		case err != nil:
			return "", err
		case r.SupersededBy != "" || saying(&r) != m.Said && r.Source.Ref != refusedRef: // that is told in part
			why = "a memory that it was made of was changed"
		}
	}
	return why, nil
}

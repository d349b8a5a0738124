package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/memory/extract"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// queries asks for the memories of a case: for what is trusted, with the rules; then, where somebody has to think, for
// the lessons of its situation, and the keys of plans whose cases are like it; and for what nobody vouches for.
func queries(c *Case, s *shape) []memory.Query {
	text := c.Text
	for _, t := range c.Turns[max(0, len(c.Turns)-6):] {
		if t.Role == reason.UserRole {
			text += "\n" + t.Text
		}
	}
	kinds := []memory.Kind{memory.Failure, memory.Fact}
	if c.Actor != "" {
		kinds = append(kinds, memory.Episode)
	}
	return []memory.Query{
		{Text: text, K: maxMemories, Kinds: append(slices.Clone(kinds), memory.Pattern, memory.Rule), Trust: memory.Trusted, Linked: true},
		{Text: pointText(c, s), K: 4 * maxLike, Kinds: []memory.Kind{memory.Failure, memory.Pattern}},
		{Text: text, K: maxMemories / 2, Kinds: kinds, Trust: memory.Quarantined},
	}
}

// recall adds what queries find, and returns the keys of plans whose cases are like it.
func (l *Layer) recall(ctx context.Context, a *Advice, s *shape, queries ...memory.Query) (near []pointed, err error) {
	c, seen := &a.Case, make(map[memory.ID]bool)
	for _, h := range a.Memories {
		seen[h.Record.ID] = true
	}
	for _, q := range queries {
		q.Text, q.At, q.Situation = head(q.Text, memory.MaxText), l.opts.Now(), c.Situation
		q.Also = append(slices.Clone(c.Also), scopesOf(c)[1:]...)
		hits, err := l.bank.In(c.Scope).Recall(ctx, q)
		if err != nil {
			return nil, err
		}
		for told, i := 0, 0; i < len(hits); i++ {
			h := hits[i]
			if key, ok := strings.CutPrefix(h.Record.Key, pointerKey); ok && h.Record.Kind == memory.Pattern {
				near = append(near, pointed{key: key, scope: h.Record.Scope, score: h.Parts.Relevance})
				continue
			}
			refused := h.Record.Source.Ref == refusedRef
			if seen[h.Record.ID] || q.Trust == 0 && told >= maxMemories/2 || refused && h.Record.Trigger == triggerOf(c, s) {
				continue // it is said already, or warned of
			}
			if refused { // with no word of the other case that this one has not
				var lesson string
				_ = json.Unmarshal(h.Record.Plan, &lesson)
				h.Record.Trigger, h.Record.Content, h.Record.Plan = "", tell(lesson, c, s), nil
			}
			if told++; h.Record.Trusted {
				a.Memories = append(a.Memories, h)
			} else {
				a.Background = append(a.Background, h)
			}
			seen[h.Record.ID] = true
		}
	}
	slices.SortStableFunc(a.Memories, func(x, y memory.Hit) int { // rules first
		rule := map[memory.Kind]int{memory.Rule: -1}
		return rule[x.Record.Kind] - rule[y.Record.Kind]
	})
	return near, nil
}

// maxLike is how many keys a case is compared with beside its own.
const maxLike = 6

// pointerKey begins the Key of a Pattern that stands for a key: so plans are found for cases that are like theirs.
const pointerKey = "plan "

// pointed is a key whose cases are like a case.
type pointed struct {
	*record
	key   string
	scope memory.Scope
	score float64
}

// pointText is what keys are found by.
func pointText(c *Case, s *shape) string {
	text := c.Situation + "\n" + s.template
	for _, v := range s.in {
		text += " " + v.path
	}
	return text
}

// keepPointer remembers where the plans of a key are. It holds the words of a case, which nobody vouches for.
func (l *Layer) keepPointer(ctx context.Context, b *store.Batch, scope memory.Scope, c *Case, s *shape) error {
	_, err := l.bank.In(scope).Stage(b).Remember(ctx, memory.Draft{Kind: memory.Pattern, Trigger: c.Situation, At: l.opts.Now(),
		Content: head(pointText(c, s), 12<<10), Key: pointerKey + s.key, Source: memory.Source{Origin: memory.User}})
	return err
}

// like returns the keys whose cases are most like the case, by what they are found by, and those nearly as much.
func (l *Layer) like(ctx context.Context, near []pointed, c *Case, s *shape) (out []pointed, err error) {
	for _, p := range near {
		if p.key == s.key || !slices.Contains(scopesOf(c), p.scope) {
			continue
		}
		r, _, err := codec.Load[record](ctx, l.group.Store(), p.scope.Key(planKind, p.key))
		if err != nil {
			return nil, err
		}
		if r.Paths == nil { // it is not there any more
			continue
		}
		p.record = &r
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(x, y pointed) int { return cmp.Compare(y.score, x.score) })
	out = slices.DeleteFunc(out, func(p pointed) bool { return p.score < .7*out[0].score })
	return out[:min(len(out), maxLike)], nil
}

func ruleDigests(hits []memory.Hit) (out []string) {
	for _, h := range hits {
		if h.Record.Kind == memory.Rule {
			out = append(out, saying(&h.Record))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// saying is a digest of what a memory says.
func saying(r *memory.Record) string { return digest(r.Trigger + "\x00" + r.Content)[:12] }

// lapse marks the deliveries whose plan was made of a memory that does not say the same any more.
func (l *Layer) lapse(ctx context.Context, plans []*plan) error {
	for _, p := range plans {
		for _, d := range p.Deliveries {
			for _, m := range d.Applied {
				r, err := l.bank.In(m.Scope).Get(ctx, m.ID)
				switch {
				case errors.Is(err, store.ErrNotFound):
					d.stale = "a memory that it was made of is forgotten"
				case err != nil:
					return err
				case r.SupersededBy != "" || saying(&r) != m.Said:
					d.stale = "a memory that it was made of was changed"
				}
			}
		}
	}
	return nil
}

// Extract has a model write down the facts of a conversation, Case.Turns, see [extract.Facts].
func (l *Layer) Extract(ctx context.Context, m reason.Model, c Case) ([]memory.ID, error) {
	c, err := l.check(c)
	if err != nil {
		return nil, err
	}
	return extract.Facts(ctx, m, l.bank.In(c.Scope), c.Turns, memory.Draft{Thread: c.Session, At: l.opts.Now(),
		Source: memory.Source{Run: c.ID, Ref: c.Session}})
}

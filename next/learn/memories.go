package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/memory/extract"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/rank"
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

// like returns the keys whose cases are most like the case in words, situation and inputs, and those nearly as much.
func (l *Layer) like(ctx context.Context, near []pointed, c *Case, s *shape) (out []pointed, err error) {
	for _, p := range near {
		if p.key == s.key || !slices.Contains(scopesOf(c), p.scope) {
			continue
		}
		r, at, err := load[record](ctx, l.group.Store(), p.scope.Key(planKind, p.key))
		if err != nil {
			return nil, err
		}
		if !at.known {
			continue
		}
		if p.record = &r; r.Situation == c.Situation && r.Situation != "" {
			p.score++
		}
		both := 0
		for _, v := range s.in {
			if slices.Contains(r.Paths, v.path) {
				both++
			}
		}
		p.score += float64(both) / float64(max(1, len(s.in)+len(r.Paths)-both))
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

// outcomes are rank's words for verdicts.
var outcomes = map[Verdict]rank.Outcome{Delivered: rank.Delivered, Failed: rank.Failed, Unknown: rank.Unknown}

// credit says what became of the memories that were shown, and of the worker.
func (l *Layer) credit(ctx context.Context, b *store.Batch, g *given, by int) error {
	c, o := &g.Case, &g.Outcome
	if by < 0 {
		return nil // what comes next of the Advice replaces the former
	}
	for _, scope := range scopesOf(c) {
		f := memory.Feedback{Key: c.ID, Situation: c.Situation}
		for _, m := range g.Shown {
			if m.Scope == scope {
				f.Shown = append(f.Shown, m.ID)
			}
		}
		of := func(ids []memory.ID) []memory.ID {
			return slices.DeleteFunc(slices.Clone(ids), func(id memory.ID) bool { return !slices.Contains(f.Shown, id) })
		}
		if f.Misled = of(o.Misled); o.Verdict == Delivered {
			f.Utilized = of(o.Utilized)
		}
		if o.Verdict != Unknown && f.Shown != nil {
			if err := l.bank.In(scope).Stage(b).Feedback(ctx, f); err != nil {
				return err
			}
		}
	}
	if o.Worker == "" {
		return nil
	}
	one := rank.Sample{Run: c.ID, Candidate: o.Worker, Outcome: outcomes[o.Verdict], Task: rank.Task{Skill: c.Skill, Key: c.Situation}, At: g.At}
	if u := o.Usage; u != nil {
		one.TokensIn, one.TokensOut, one.CostUSD, one.EstimateUSD = u.Input, u.Output, u.CostUSD, u.EstimateUSD
	}
	return l.book.In(c.Lessons).Stage(ctx, b, one)
}

// session records the tries of a case in its session.
func (l *Layer) session(ctx context.Context, b *store.Batch, g *given) (err error) {
	c, o := &g.Case, &g.Outcome
	if l.meta == nil || c.Session == "" || o.Verdict == Unknown {
		return nil
	}
	tries := []meta.Try{}
	for _, f := range o.Failed {
		tries = append(tries, meta.Try{Approach: cmp.Or(f.Approach, f.Worker)})
	}
	for _, t := range append(tries, meta.Try{Approach: o.Worker, Delivered: o.Verdict == Delivered}) {
		t.Goal = cmp.Or(c.Situation, c.Text)
		err = cmp.Or(err, l.meta.Stage(ctx, b, c.Scope, c.Session, t))
	}
	return err
}

// maxEpisodes are kept of a scope, the last ones.
const maxEpisodes = 256

// episodes keeps what was said: in the scope of the case, which all agents share, and in that of the agent with it.
func (l *Layer) episodes(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	if c.Actor == "" || c.Text+o.Answer == "" {
		return nil
	}
	d := memory.Draft{Kind: memory.Episode, Content: c.Text, Actor: c.Actor, Thread: c.Session, At: g.At,
		Key: "episode " + c.ID, Source: memory.Source{Origin: memory.User, Run: c.ID}}
	if o.Answer != "" {
		d.Content += "\n→ " + o.Answer
	}
	d.Content = head(d.Content, memory.MaxText)
	scopes := []memory.Scope{c.Scope}
	if o.Worker != "" {
		scopes = append(scopes, memory.Scope(strings.Trim(string(c.Scope)+"/agent/"+strings.ReplaceAll(o.Worker, "/", "_"), "/")))
	}
	for _, scope := range scopes {
		r, err := l.bank.In(scope).Stage(b).Remember(ctx, d)
		if err != nil {
			return err
		}
		err = edit(ctx, b, scope.Key(episodeKind, "last"), func(last *[]memory.ID) (bool, error) {
			*last = append(*last, r.ID)
			if len(*last) <= maxEpisodes {
				return true, nil
			}
			oldest := (*last)[0]
			*last = (*last)[1:]
			if err := l.bank.In(scope).Stage(b).Forget(ctx, oldest); !errors.Is(err, store.ErrNotFound) {
				return true, err
			}
			return true, nil
		})
		if err != nil {
			return err
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

package learn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// recall adds the memories of a case. First that is what is trusted, with the rules; then, where somebody has to think,
// in one query the lessons of its situation, and the keys of plans whose cases are like it; in one what nobody vouches
// for.
func (l *Layer) recall(ctx context.Context, a *Advice, s *shape, then bool) (near []pointed, err error) {
	c, space := &a.Case, l.bank.In(a.Case.Scope)
	also := slices.Clone(c.Also)
	if c.Lessons != c.Scope {
		also = append(also, c.Lessons)
	}
	text := c.Text
	for _, t := range c.Turns[max(0, len(c.Turns)-6):] {
		if t.Role == reason.UserRole {
			text += "\n" + t.Text
		}
	}
	kinds := []memory.Kind{memory.Failure, memory.Fact}
	if c.Actor != "" || c.System != "" {
		kinds = append(kinds, memory.Episode)
	}
	trusted := append(slices.Clone(kinds), memory.Pattern, memory.Rule)
	lessons := []memory.Kind{memory.Failure, memory.Pattern}
	half := max(1, l.opts.K/2)
	seen := make(map[memory.ID]bool)
	for _, h := range a.Memories {
		seen[h.Record.ID] = true
	}
	queries := []memory.Query{
		{Text: head(text, memory.MaxText), K: l.opts.K, Kinds: trusted, Trust: memory.Trusted, Linked: true},
		{Text: head(pointText(c, s), memory.MaxText), K: 4 * maxLike, Kinds: lessons},
		{Text: head(text, memory.MaxText), K: half, Kinds: kinds, Trust: memory.Quarantined},
	}
	if queries = queries[:1]; then {
		queries = queries[1:3]
	}
	for _, q := range queries {
		q.Also, q.At, q.Situation = also, l.opts.Now(), c.Situation
		hits, err := space.Recall(ctx, q)
		if err != nil {
			return nil, err
		}
		told := 0
		for _, h := range hits {
			var p pointer
			switch {
			case h.Record.Kind == memory.Pattern && json.Unmarshal(h.Record.Plan, &p) == nil && p.Key != "":
				near = append(near, pointed{key: p.Key, scope: h.Record.Scope, score: h.Parts.Relevance})
				continue
			case seen[h.Record.ID] || q.Trust == 0 && told >= half:
				continue
			}
			failureAt(&h.Record, c, s)
			switch {
			case h.Record.Trusted:
				a.Memories = append(a.Memories, h)
			default:
				a.Background = append(a.Background, h)
			}
			seen[h.Record.ID] = true
			told++
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

// pointer is the Plan of a Pattern that stands for a key: so plans are found for cases that are like theirs.
type pointer struct{ Key string }

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
	raw, err := json.Marshal(pointer{s.key})
	if err != nil {
		return err
	}
	text := pointText(c, s)
	_, err = l.bank.In(scope).Stage(b).Remember(ctx, memory.Draft{Kind: memory.Pattern, Trigger: c.Situation,
		Content: head(text, 12<<10), Plan: raw, Key: "plan " + s.key, At: l.opts.Now(),
		Source: memory.Source{Origin: memory.User, Ref: "plan " + s.key}})
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

// said returns the memories that a plan applied, as they are now.
func (l *Layer) applied(ctx context.Context, c *Case, ids []memory.ID) (out []applied, err error) {
	for _, id := range ids {
		for _, scope := range slices.Concat(scopesOf(c), c.Also) {
			r, err := l.bank.In(scope).Get(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, applied{ID: id, Scope: scope, Said: saying(&r)})
			break
		}
	}
	return out, nil
}

// valid marks the deliveries whose plan was made of a memory that does not say the same any more.
func (l *Layer) valid(ctx context.Context, plans []*contender) ([]*contender, error) {
	for _, p := range plans {
		for _, d := range p.of {
			for _, m := range d.Applied {
				r, err := l.bank.In(m.Scope).Get(ctx, m.ID)
				switch {
				case errors.Is(err, store.ErrNotFound):
					d.stale = "a memory that it was made of is forgotten"
				case err != nil:
					return nil, err
				case r.SupersededBy != "" || saying(&r) != m.Said:
					d.stale = "a memory that it was made of was changed"
				}
			}
		}
	}
	return plans, nil
}

// outcomes are rank's words for verdicts.
var outcomes = map[Verdict]rank.Outcome{Delivered: rank.Delivered, Failed: rank.Failed, Unknown: rank.Unknown}

// credit says what became of the memories that were shown, and of the worker.
func (l *Layer) credit(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	for _, scope := range scopesOf(c) {
		f := memory.Feedback{Key: g.ID, Situation: c.Situation}
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
	if o.Sample == nil && o.Worker == "" {
		return nil
	}
	one := rank.Sample{Candidate: o.Worker, Outcome: outcomes[o.Verdict], Task: rank.Task{Skill: c.Skill, Key: c.Situation}}
	if u := o.Usage; u != nil {
		one.TokensIn, one.TokensOut, one.CostUSD, one.EstimateUSD = u.Input, u.Output, u.CostUSD, u.EstimateUSD
	}
	if o.Sample != nil {
		one = *o.Sample
	}
	one.Run = cmp.Or(one.Run, g.ID)
	if one.At.IsZero() {
		one.At = g.At
	}
	o.Sample = &one
	return l.book.In(c.Lessons).Stage(ctx, b, one)
}

// session records the tries of a case in its session.
func (l *Layer) session(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	if l.meta == nil || c.Session == "" || o.Verdict == Unknown {
		return nil
	}
	goal := cmp.Or(c.Situation, c.Text)
	for _, f := range o.Failed {
		if err := l.meta.Stage(ctx, b, c.Scope, c.Session, meta.Try{Goal: goal, Approach: cmp.Or(f.Approach, f.Worker)}); err != nil {
			return err
		}
	}
	return l.meta.Stage(ctx, b, c.Scope, c.Session, meta.Try{Goal: goal, Approach: o.Worker, Delivered: o.Verdict == Delivered})
}

// cost is what usage cost: as reported, or else as estimated; nil: unknown.
func cost(u *reason.Usage) *float64 {
	if u == nil {
		return nil
	}
	if u.CostUSD != nil {
		return u.CostUSD
	}
	return u.EstimateUSD
}

// keepFailure remembers what a case failed of, in its own scope, for cases that are like it. The words are those of
// whoever refused it, which may be a stranger's: nobody vouches for them.
func (l *Layer) keepFailure(ctx context.Context, b *store.Batch, g *given, s *shape, lesson string) error {
	raw, err := json.Marshal(failure{Lesson: lesson, Words: g.Case.Situation == ""})
	if err != nil {
		return err
	}
	return l.keep(ctx, b, g, g.Case.Scope, memory.Draft{
		Kind: memory.Failure, Trigger: triggerOf(&g.Case, s), Content: hide(&g.Case, s, lesson), Plan: raw, At: g.At,
		Source: memory.Source{Origin: memory.Executor, Run: g.ID},
	})
}

// failure is the Plan of a Failure: its lesson with the words of the case, and whether it is found by those words.
type failure struct {
	Lesson string
	Words  bool
}

// failureAt makes a Failure as it is told for a case: with no word of the former case that this one has not.
func failureAt(r *memory.Record, c *Case, s *shape) {
	var f failure
	if r.Kind != memory.Failure || json.Unmarshal(r.Plan, &f) != nil || f.Lesson == "" {
		return
	}
	r.Content, r.Plan = restore(r.Content, f.Lesson, c, s), nil
	if f.Words {
		none := strings.Repeat("… ", len(strings.Fields(r.Trigger)))
		r.Trigger = restore(none, r.Trigger, c, s)
	}
}

// triggerOf is what a memory of a case is found by: its situation, or its words without what names something.
func triggerOf(c *Case, s *shape) string {
	if c.Situation != "" {
		return c.Situation
	}
	return plainly(c, s, c.Text)
}

func (l *Layer) keep(ctx context.Context, b *store.Batch, g *given, scope memory.Scope, d memory.Draft) error {
	r, err := l.bank.In(scope).Stage(b).Remember(ctx, d)
	if err != nil {
		return err
	}
	g.Learned.Memories = append(g.Learned.Memories, r.ID)
	if r.Strengthened == 0 && scope == g.Case.Scope && d.Kind == memory.Failure {
		g.Made = append(g.Made, r.ID)
	}
	return nil
}

// unmake forgets the failures that an outcome left, when a verdict takes it back.
func (l *Layer) unmake(ctx context.Context, b *store.Batch, g *given) error {
	for _, id := range g.Made {
		if err := l.bank.In(g.Case.Scope).Stage(b).Forget(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		g.Learned.Memories = slices.DeleteFunc(g.Learned.Memories, func(m memory.ID) bool { return m == id })
	}
	g.Made = nil
	return nil
}

// maxEpisodes are kept of a scope, the last ones.
const maxEpisodes = 256

// episodes keeps what was said: in the person's scope, which all agents share, and in that of the agent with this
// person; or, where a program asked, in that of the program.
func (l *Layer) episodes(ctx context.Context, b *store.Batch, g *given) error {
	c, o := &g.Case, &g.Outcome
	if c.Actor == "" && c.System == "" || c.Text+o.Answer == "" {
		return nil
	}
	d := memory.Draft{Kind: memory.Episode, Content: c.Text, Actor: c.Actor, Thread: c.Session, At: g.At,
		Key: "episode " + g.ID, Source: memory.Source{Origin: memory.User, Run: g.ID}}
	if o.Answer != "" {
		d.Content += "\n→ " + o.Answer
	}
	d.Content = head(d.Content, memory.MaxText)
	for _, scope := range episodeScopes(c) {
		if err := l.keep(ctx, b, g, scope, d); err != nil {
			return err
		}
		key := scope.Key(episodeKind, "last")
		last, rev, err := load[[]memory.ID](ctx, b, key)
		if err != nil {
			return err
		}
		last = append(last, g.Learned.Memories[len(g.Learned.Memories)-1])
		for ; len(last) > maxEpisodes; last = last[1:] {
			if err := l.bank.In(scope).Stage(b).Forget(ctx, last[0]); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if err := put(b, key, &last, rev); err != nil {
			return err
		}
	}
	return nil
}

func episodeScopes(c *Case) []memory.Scope {
	below := func(kind, name string) memory.Scope {
		return memory.Scope(strings.Trim(string(c.Scope)+"/"+kind+"/"+strings.ReplaceAll(name, "/", "_"), "/"))
	}
	switch {
	case c.System != "":
		return []memory.Scope{below("system", c.System)}
	case c.Agent != "":
		return []memory.Scope{c.Scope, below("agent", c.Agent)}
	}
	return []memory.Scope{c.Scope}
}

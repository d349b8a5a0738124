package learn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Found is what is known for a goal. Its Hits are, in order:
//
//  1. Trusted of them to be injected: memories one of whose Triggers stands in the situation or the
//     objective; memories that match these, best first; memories that are linked with them; and
//     news to a chunk that would fire otherwise
//  2. background, to be shown as data, in a fence: chunks found by the names of inputs in place of
//     their values; lessons in quarantine, whose words no gate has verified; and how up to three
//     runs with similar goals have ended
//
// If Withheld is set, the goal is in the Holdout: the host must not show the hits or fire a chunk,
// and says so in Outcome.Withheld.
type Found struct {
	Hits     []memory.Hit
	Chunks   []Chunk // what Match says of Hits
	Trusted  int
	Withheld bool
}

// crowd is how many times Options.Recall records are searched for lessons in quarantine, since other
// quarantined texts stand between them.
const crowd = 4

// deaf is how often a plan acts, the time when the reasoner makes it again included, before the reasoner
// is told of more news that shares no word with it. If there is much news, one run in five reasons, and
// a plan acts on outdated facts four times at most.
const deaf = 5

// The kinds in which background and news are searched for.
var (
	lessons = []memory.Kind{memory.Failure, memory.Pattern}
	endings = []memory.Kind{memory.Episode}
	taught  = []memory.Kind{memory.Fact, memory.Failure, memory.Pattern}
)

// Recall returns what is known for a goal.
func (l *Learner) Recall(ctx context.Context, a Ask) (f Found, err error) {
	if l.o.Recall < 0 {
		return f, nil
	}
	all := make([]memory.Hit, 0, l.room.Load())
	add := func(q memory.Query) (from int) {
		from = len(all)
		if err == nil {
			all, err = l.recall(ctx, &a, all, q)
		}
		return from
	}
	add(memory.Query{K: l.o.Recall, Inject: true, Triggered: true})
	from := add(memory.Query{K: l.o.Recall, Inject: true, Linked: true})
	if err != nil {
		return f, err
	}
	all = all[:from+len(slices.DeleteFunc(all[from:], func(h memory.Hit) bool {
		drawn := h.Linked != "" && h.Record.Kind == memory.Pattern // a plan is for what it was found by
		return drawn || listed(all[:from], &h.Record)
	}))]
	all = all[:min(len(all), l.o.Recall)]
	f.Trusted = add(memory.Query{K: crowd * l.o.Recall, Background: true, Kinds: lessons})
	if err != nil {
		return f, err
	}
	others := func(h memory.Hit) bool { return h.Record.Source.Origin != memory.Derived }
	background := slices.DeleteFunc(all[f.Trusted:], others)
	all = all[:f.Trusted+min(len(shown(background, a.User)), l.o.Recall)]
	asked := a.chunkCase(a.Situation, a.Objective)
	if as := asked.General(); as != "" {
		from, near := add(memory.Query{Text: text.Shorten(as, maxNote), K: similar, Kinds: lessons[1:]}), false
		if err != nil {
			return f, err
		}
		all = all[:from+len(slices.DeleteFunc(shown(all[from:], a.User), func(h memory.Hit) bool {
			c, ok := l.match(&h.Record, &a, &asked)
			if !ok || !c.fits && near || listed(all[:from], &h.Record) {
				return true
			}
			near = near || !c.fits // one that does not fit says why
			return false
		}))]
	}
	scope, also, read := a.Scope, a.Also, append(slices.Clip(a.Episodes), a.Also...)
	if len(a.Episodes) > 0 {
		a.Scope, a.Also = a.Episodes[0], a.Episodes[1:]
		from := add(memory.Query{K: 2 * maxTold, Kinds: endings})
		if err != nil {
			return f, err
		}
		all = all[:from+len(distinct(shown(all[from:], a.User)))]
	}
	l.room.Store(int32(len(all)))
	if all, err = l.holding(ctx, all, &f.Trusted, read); err != nil {
		return f, err
	}
	a.Scope, a.Also = scope, also
	f.Chunks = l.Match(all, a)
	found, err := l.newest(ctx, &a, f.Chunks, all)
	if err != nil {
		return f, err
	}
	all = slices.Insert(all, f.Trusted, found...)
	f.Trusted += len(found)
	f.Hits = slices.Clip(all)
	f.Withheld = len(f.Hits) > 0 && l.holds(a.GoalKey)
	return f, nil
}

// Again returns the memories that Recall has found for a goal, by their IDs, as they are now. A memory
// that was forgotten since, or that repeats the words of another user now, is a Record with its ID alone:
// a run that has the ID of an earlier one may have stored something else under it. Found has no Chunks.
func (l *Learner) Again(ctx context.Context, a Ask, ids []memory.ID) (f Found, err error) {
	for _, id := range ids {
		rec, err := l.bank.In(a.Scope).Get(ctx, id)
		for _, scope := range slices.Concat(a.Also, a.Episodes) {
			if !errors.Is(err, store.ErrNotFound) {
				break
			}
			rec, err = l.bank.In(scope).Get(ctx, id)
		}
		if errors.Is(err, store.ErrNotFound) {
			rec = memory.Record{ID: id}
		} else if err != nil {
			return f, err
		}
		at := len(f.Hits)
		if rec.Trusted {
			at, f.Trusted = f.Trusted, f.Trusted+1
		}
		f.Hits = slices.Insert(f.Hits, at, memory.Hit{Record: rec})
	}
	for _, id := range hidden(f.Hits, a.User) {
		i := slices.IndexFunc(f.Hits, func(h memory.Hit) bool { return h.Record.ID == id })
		f.Hits[i].Record = memory.Record{ID: id}
	}
	return f, nil
}

// newest returns the news to those of the chunks that would fire, without the hits: at most crowd times
// Options.Recall records for each. News that shares a word with plan or case comes first, since older
// records may match the case better and leave it no room. Other news comes when it is time, or along.
func (l *Learner) newest(ctx context.Context, a *Ask, chunks []Chunk, hits []memory.Hit) ([]memory.Hit, error) {
	var found []memory.Hit
	for i := range chunks {
		c := &chunks[i]
		if len(c.Differs) > 0 && c.heard == 0 {
			continue // it would not fire anyway
		}
		said := append(c.texts(), a.Situation, a.Objective)
		q := memory.Query{
			Text: text.Shorten(strings.Join(said, "\n"), maxNote), K: crowd * l.o.Recall, Inject: true,
			Kinds: taught, Also: a.Also, Since: time.UnixMicro(c.since),
		}
		all, err := l.bank.In(a.Scope).Recall(ctx, q)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(h memory.Hit) bool {
			return listed(hits, &h.Record) || !c.heeds(&h, a)
		})
		if c.heard > 0 || c.told == 0 || c.acted+1-c.told >= deaf {
			q.Text = "" // about anything
			beside, err := l.bank.In(a.Scope).Recall(ctx, q)
			if err != nil {
				return nil, err
			}
			for j := range beside {
				if h := &beside[j]; !listed(hits, &h.Record) && !listed(all, &h.Record) && c.heeds(h, nil) {
					all, c.told = append(all, *h), c.acted+1
				}
			}
			for j := range a.Facts {
				if c.heeds(&a.Facts[j], nil) {
					c.told = c.acted + 1
				}
			}
		}
		for j := range all[:min(len(all), q.K)] {
			if !listed(found, &all[j].Record) {
				found = append(found, all[j])
			}
		}
	}
	return found, nil
}

// listed reports whether a record is one of the hits.
func listed(hits []memory.Hit, r *memory.Record) bool {
	return slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Record.ID == r.ID && h.Record.Scope == r.Scope })
}

// recall puts what is asked for into a query, and appends what that finds.
func (l *Learner) recall(ctx context.Context, a *Ask, hits []memory.Hit, q memory.Query) ([]memory.Hit, error) {
	if q.Text == "" {
		q.Text = text.Shorten(a.Situation, maxNote)
		if a.Objective != a.Situation {
			q.Text += "\n" + text.Shorten(a.Objective, maxNote)
		}
	}
	if strings.TrimSpace(q.Text) == "" {
		return hits, nil // an empty text would match all
	}
	q.Also, q.Situation, q.Floor = a.Also, situationKey(a.Situation), max(0, l.o.Floor)
	return l.bank.In(a.Scope).RecallInto(ctx, hits, q)
}

// Match returns the chunks among hits, best first, with what keeps each of them
// from firing: they are plans to suggest.
func (l *Learner) Match(hits []memory.Hit, a Ask) (out []Chunk) {
	asked := a.chunkCase(a.Situation, a.Objective)
	for i := range hits {
		if r := &hits[i].Record; r.Kind == memory.Pattern && mayFire(hits, r, a.User) {
			if c, ok := l.match(r, &a, &asked); ok {
				l.inform(&c, r, hits, &a)
				out = append(out, c)
			}
		}
	}
	return out
}

// match matches the chunk of a pattern against a case.
func (l *Learner) match(r *memory.Record, a *Ask, asked *chunk.Case) (Chunk, bool) {
	stored, err := l.decoded.chunk(r)
	if err != nil {
		return older(r)
	}
	b, differs := stored.Fit(asked)
	out := Chunk{Suggestion: reason.Suggestion{ID: r.ID, Situation: stored.Situation}, scope: r.Scope, unfit: stored.Unfit}
	out.Said = saidOf(stored)
	out.Approach, out.Tasks, err = stored.Bind(&b)
	out.fits = len(differs) == 0 && err == nil
	for path, v := range b.Now {
		out.moved = out.moved || v != b.Was[path]
	}
	if stored.Unfit != "" {
		differs = slices.Insert(differs, 0, stored.Unfit)
	}
	switch {
	case len(differs) > 0:
	case err != nil:
		differs = []string{err.Error()}
	case redacted(out.Tasks):
		differs = []string{"a part of it was a secret, which was not kept"}
	case r.Scope != a.Scope && r.Scope != "":
		differs = []string{fmt.Sprintf("it was learned in scope %s", r.Scope)}
	default:
		differs = l.unproven(r)
	}
	out.Differs = differs
	return out, true
}

// redacted reports whether a Sanitizer has replaced something in tasks.
func redacted(tasks []reason.Task) bool {
	const token = "[REDACTED:"
	return slices.ContainsFunc(tasks, func(t reason.Task) bool {
		return strings.Contains(t.Objective, token) || strings.Contains(t.Delta, token) ||
			strings.Contains(t.Verify, token) || bytes.Contains(t.Inputs, []byte(token))
	})
}

// unproven returns which deliveries a chunk lacks to fire, or "".
func (l *Learner) unproven(r *memory.Record) []string {
	delivered := 1 + r.Stats.Helped // the delivery that made it counts too
	if n := generalises(r); n > 0 {
		delivered = n + r.Stats.Helped // the patterns that it was drawn from
	}
	reliability := float64(1+delivered) / float64(2+delivered+r.Stats.Misled)
	switch {
	case l.o.FireAfter < 0:
		return unfired
	case delivered < l.o.FireAfter:
		return []string{fmt.Sprintf("it has delivered %d of the %d times that it takes", delivered, l.o.FireAfter)}
	case reliability < reliable:
		return []string{fmt.Sprintf("it has misled %d times, and delivered %d", r.Stats.Misled, delivered)}
	}
	return nil
}

// unfired is why no chunk fires if FireAfter is negative.
var unfired = []string{"chunks do not fire here"}

// older returns a plan that was stored without conditions. It never fires.
func older(r *memory.Record) (Chunk, bool) {
	p, ok := chunk.DecodeUnconditional(r.Plan)
	return Chunk{Suggestion: reason.Suggestion{
		ID: r.ID, Situation: r.Trigger, Approach: p.Approach, Tasks: p.Tasks,
		Differs: []string{"it was stored without its conditions"},
	}}, ok
}

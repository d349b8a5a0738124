package learn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Learn learns from an outcome. It is idempotent on Outcome.Key. If it returns an error, part of the outcome may
// have been learned: calling it again with the same outcome completes it.
func (l *Learner) Learn(ctx context.Context, o Outcome) (Lessons, error) {
	var lessons Lessons
	if err := checkGoal(o.GoalKey); err != nil {
		return lessons, err
	}
	if o.Worker != "" {
		if err := l.book.Observe(ctx, o.sample()); err != nil {
			return lessons, fmt.Errorf("observe: %w", err)
		}
	}
	var err error
	var credited memory.ID
	if err = l.warn(ctx, &o); err != nil {
		return lessons, fmt.Errorf("warn: %w", err)
	}
	switch {
	case o.Goal == Delivered && o.Plan != nil:
		if lessons.Chunk, credited, err = l.chunk(ctx, &o); err != nil {
			return lessons, fmt.Errorf("chunk: %w", err)
		}
	case o.Goal == Blocked:
		draft := memory.Draft{Kind: memory.Failure, Content: failureText(&o), Key: o.GoalKey + "/failure", Quotes: o.quotes()}
		if lessons.Failure, err = l.remember(ctx, &o, draft); err != nil {
			return lessons, fmt.Errorf("remember the failure: %w", err)
		}
	}
	var few [8]memory.Scope
	ids := make([]memory.ID, 0, len(o.Injected)+len(o.Utilized)+1)
	for _, scope := range o.scopes(few[:0]) {
		f, ok := o.feedback(scope, credited, ids)
		if !ok {
			continue
		}
		if err := l.bank.In(scope).Feedback(ctx, f); err != nil {
			return lessons, fmt.Errorf("feedback: %w", err)
		}
	}
	if o.Task != Open {
		if err := l.monitor.Record(ctx, o.verdict()); err != nil {
			return lessons, fmt.Errorf("record the outcome: %w", err)
		}
	}
	if err := l.tell(ctx, &o); err != nil {
		return lessons, fmt.Errorf("tell the episode: %w", err)
	}
	if err := l.offer(ctx, &o); err != nil {
		return lessons, fmt.Errorf("offer the output: %w", err)
	}
	if err := l.measure(ctx, &o); err != nil {
		return lessons, fmt.Errorf("measure the memories: %w", err)
	}
	return lessons, nil
}

// checkGoal checks the key of a goal, with which the keys of memories and feedback begin.
func checkGoal(k string) error {
	if most := key.MaxID - len("/chunk"); len(k) > most {
		return &store.LimitError{Field: "GoalKey", Limit: most, Got: len(k)}
	}
	return key.CheckID("GoalKey", k)
}

// Lessons are what was remembered of an outcome.
type Lessons struct {
	Chunk   memory.Receipt // of the pattern; zero: not delivered by deliberation
	Failure memory.Receipt // of the failure; zero if the goal was not blocked
}

// Chunk remembers the plan that delivered a goal as a pattern, with the conditions under which it fires, or
// strengthens the pattern that says the same. It is idempotent on the goal's key. Learn does it for every goal
// that was delivered by deliberation.
func (l *Learner) Chunk(ctx context.Context, o Outcome) (memory.Receipt, error) {
	o.Unfit = cmp.Or(o.Unfit, o.alone())
	d, err := o.chunk()
	if err != nil {
		return memory.Receipt{}, err
	}
	return l.remember(ctx, &o, d)
}

// chunk returns the chunk of an outcome.
func (o *Outcome) chunk() (d memory.Draft, err error) {
	plan := chunk.Plan{Approach: o.Approach, Tasks: o.Plan, Ranked: o.Ranked, Said: o.Said, Unfit: o.Unfit}
	for i := range o.Facts {
		if r := &o.Facts[i].Record; slices.Contains(o.Parents, r.ID) {
			plan.Facts = append(plan.Facts, r.Content)
		}
	}
	c, err := chunk.New(o.chunkCase(o.Situation, o.Objective), plan)
	if err == nil {
		d, err = draft(c)
		d.Key, d.Links = o.GoalKey+"/chunk", o.parents(c)
	}
	return d, err
}

// draft returns a chunk as a pattern to be remembered.
func draft(c *chunk.Chunk) (memory.Draft, error) {
	raw, err := c.Encode()
	return memory.Draft{Kind: memory.Pattern, Trigger: c.Trigger(), Content: c.Wording(), Plan: raw}, err
}

// remember stores the lessons of the outcome.
func (l *Learner) remember(ctx context.Context, o *Outcome, d memory.Draft) (memory.Receipt, error) {
	if d.At = o.At; d.Trigger == "" {
		d.Trigger = o.trigger()
	}
	d.Source = memory.Source{Origin: memory.Derived, Run: o.Run, Ref: o.GoalKey}
	if d.Kind == memory.Pattern {
		d.Quotes = o.Quotes
	}
	return kept(l.bank.In(o.Scope).Remember(ctx, d))
}

// chunk credits the pattern that says what the outcome teaches, or remembers a new one. It returns the pattern
// that this call has credited for the delivery. A pattern that was injected needs no search, and feedback
// credits it: that it was used is all that there is to say.
func (l *Learner) chunk(ctx context.Context, o *Outcome) (r memory.Receipt, credited memory.ID, err error) {
	o.Unfit = cmp.Or(o.Unfit, o.alone())
	ask := Ask{Scope: o.Scope, Situation: o.Situation, Objective: o.Objective, Case: o.Case}
	if o.Chunks == nil {
		o.Chunks = l.Match(o.Injected, ask)
	}
	if c := o.known(o.Chunks); c != nil {
		o.used = c.ID
		r = memory.Receipt{ID: c.ID, Disposition: memory.Strengthened, Into: c.ID}
		if c.moved || c.heard > 0 || !slices.Contains(c.Said, o.Said) {
			err = l.renew(ctx, o, c)
		}
		return r, "", err
	}
	d, err := o.chunk()
	if err != nil {
		return r, "", err
	}
	patterns := memory.Query{Text: text.Shorten(d.Trigger, maxNote), Kinds: []memory.Kind{memory.Pattern}, K: similar}
	like, err := l.bank.In(o.Scope).Recall(ctx, patterns)
	if err != nil {
		return r, "", err
	}
	// This goal's own pattern was stored before a crash.
	made := slices.ContainsFunc(like, func(h memory.Hit) bool { return h.Record.Source.Ref == o.GoalKey })
	if c := o.known(l.Match(like, ask)); c != nil && !made {
		f := memory.Feedback{
			Key: digest(o.GoalKey, "chunk"), Delivered: true, Situation: situationKey(o.Situation),
			Injected: []memory.ID{c.ID}, Utilized: []memory.ID{c.ID}, Actor: o.User,
		}
		r = memory.Receipt{ID: c.ID, Disposition: memory.Strengthened, Into: c.ID}
		return r, c.ID, errors.Join(l.renew(ctx, o, c), l.bank.In(o.Scope).Feedback(ctx, f))
	}
	if r, err = l.remember(ctx, o, d); err != nil {
		return r, "", err
	}
	if r.Disposition == memory.Stored {
		if err := l.generalise(ctx, o, r.ID, like); err != nil {
			return r, "", fmt.Errorf("generalise: %w", err)
		}
	}
	return r, r.Into, nil
}

// similar is how many patterns a new chunk is compared with.
const similar = 16

// known returns the one of chunks whose plan is that of the outcome, or nil.
func (o *Outcome) known(chunks []Chunk) *Chunk {
	for i := range chunks {
		c := &chunks[i]
		if c.fits && c.unfit == o.Unfit && c.scope == o.Scope && slices.EqualFunc(c.Tasks, o.Plan, equal) {
			return c
		}
	}
	return nil
}

// maxSaid is how many digests of what sources said a chunk keeps, the latest.
const maxSaid = 16

// saidOf returns the digests of what sources said when the reasoner made the plan of a chunk. Callers must not
// change it.
func saidOf(c *chunk.Chunk) []uint64 {
	if len(c.Said) == 0 {
		return nothing
	}
	return c.Said
}

var nothing = []uint64{0}

// renew updates a stored chunk by an outcome with the same plan. It removes a task's worker if another one has
// delivered the task for other values of the inputs: which worker is for which values is for the ranking to
// learn. If the memories from which the plan was made no longer hold, it links those of this outcome. And
// what the reasoner was told of is no longer news.
func (l *Learner) renew(ctx context.Context, o *Outcome, c *Chunk) error {
	for {
		was, err := l.bank.In(o.Scope).Get(ctx, c.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil // it is forgotten since
		}
		if err != nil {
			return err
		}
		stored, err := l.decoded.chunk(&was)
		if err != nil {
			return err
		}
		lapsed, err := l.lapsed(ctx, &was, o.Injected, o.scopes(nil))
		if err != nil {
			return err
		}
		lapsed = lapsed && generalises(&was) == 0
		n, changed := stored, false
		if c.moved {
			n, changed = stored.Unnamed(o.Plan)
		}
		if said := saidOf(n); c.heard > n.Heard || !slices.Contains(said, o.Said) {
			again := *n
			again.Heard, again.Told, changed = max(n.Heard, c.heard), max(n.Told, c.told), true
			if !slices.Contains(said, o.Said) {
				again.Said = slices.Concat(said[max(0, len(said)+1-maxSaid):], []uint64{o.Said})
			}
			n = &again
		}
		d, err := draft(n)
		if err != nil || !changed && !lapsed {
			return err
		}
		is := was.Clone()
		is.Content, is.Plan = d.Content, d.Plan
		if lapsed {
			is.Links = o.parents(stored)
		}
		if err = l.bank.In(o.Scope).Amend(ctx, memory.Amended{Was: was, Is: is}); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// equal reports whether two tasks are the same, apart from the worker.
func equal(a, b reason.Task) bool {
	x, err := template.NodeOf(a.Inputs)
	y, err2 := template.NodeOf(b.Inputs)
	if err != nil || err2 != nil || (x == nil) != (y == nil) || x != nil && !bytes.Equal(x.Raw, y.Raw) {
		return false
	}
	return a.Objective == b.Objective && a.Delta == b.Delta && a.Verify == b.Verify && a.Skill == b.Skill &&
		(a.Effect == b.Effect || a.Effect != nil && b.Effect != nil && *a.Effect == *b.Effect)
}

// generalise looks for chunks of the same shape as the one that was just stored, and remembers one with variables
// in place of the words in which they differ. Three chunks have to agree: in their conditions and, with the
// variables in place, in their words and plans. Chunks that cannot be unified are left as they are; the errors
// are those of the store alone.
func (l *Learner) generalise(ctx context.Context, o *Outcome, id memory.ID, like []memory.Hit) error {
	own, err := l.bank.In(o.Scope).Get(ctx, id)
	if err != nil {
		return err
	}
	first, err := l.decoded.chunk(&own)
	if err != nil || first.Unfit != "" {
		return nil
	}
	first = first.Loose()
	shape, links := []*chunk.Chunk{first}, []memory.Link{{To: id, Rel: isGeneral}}
	for i := range like {
		r := &like[i].Record
		if !r.MayFire() || r.ID == id || generalises(r) > 0 {
			continue
		}
		c, err := l.decoded.chunk(r)
		if err != nil {
			continue
		}
		if c = c.Loose(); !first.Alike(c) {
			continue
		}
		if all := append(slices.Clone(shape), c); chunk.Joins(all) {
			shape, links = all, append(links, memory.Link{To: r.ID, Rel: isGeneral})
		}
	}
	c, ok := chunk.Unify(shape)
	if !ok {
		return nil
	}
	d, err := draft(c)
	if err != nil {
		return nil
	}
	for _, l := range links {
		d.Links = append(d.Links, memory.Link{To: l.To}) // so that Revoke follows the link
	}
	d.Links, d.Key = append(d.Links, links...), digest(d.Trigger+"\x00"+string(d.Plan), "general")
	if _, err = l.remember(ctx, o, d); errors.Is(err, memory.ErrPlan) {
		return nil
	}
	return err
}

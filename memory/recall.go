package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/date"
	"github.com/arc-learn/arc/store"
)

const (
	defaultK   = 10
	maxK       = 1 << 20
	candidates = 256 // of the best matches, which a Policy other than Weighted scores
)

// ask is a Query as it is carried out, with K and At set.
type ask struct {
	Query
	tables    []*table      // of the scopes that are asked
	at, since int64         // of what is wanted
	kinds     uint8         // a bit for each that is wanted
	cold      bool          // what is archived is wanted, too
	days      [][]text.Term // that the question names
	situation uint64
	weighted  bool
}

// begun is by when what supersedes something holds: what is dated ahead is found, and hides nothing.
func (a *ask) begun() int64 { return min(a.at, a.At.UnixMicro()) }

// found is a match.
type found struct {
	t     *table
	r     *record
	old   *record // superseded by r, and matched better
	ratio float64 // orders matches
	Parts
	near  bool // it matches about as well as the best
	score float64
}

// Recall returns what the query finds, if anything: first the Rules whose turn it is, with Score 1, then the
// best K, those of a day that the Text names ("Monday") first. It is a function of the memories and the time.
//
// A Rule's turn is always, or where a line of its Trigger stands in the Text, in the same words or forms of
// them, or with five letters or more within a word; only trusted Rules have one. A memory that is superseded
// gives way to the one that holds. Archived ones come where nothing else matches. With an Embedder, to what
// the words say a vector only adds.
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error) {
	a, err := s.ask(ctx, &q)
	if err != nil {
		return nil, err
	}
	fs, err := s.find(ctx, a)
	if err != nil {
		return nil, err
	}
	fs = slices.DeleteFunc(fs, func(f found) bool {
		return f.score <= 0 || f.Relevance < q.Floor && (q.Text != "" || a.Vector != nil)
	})
	fs = fs[:min(a.K, len(fs))]
	hits := slices.Grow(s.due(a), len(fs))
	for i := range fs {
		hits = append(hits, fs[i].hit())
	}
	if q.Linked {
		hits = append(hits, linked(a, fs)...)
	}
	return hits, nil
}

// Explain says in words where a memory comes for a query, whatever its K and Floor, or why it does not.
func (s Space) Explain(ctx context.Context, q Query, id ID) (string, error) {
	q.K, q.Floor, q.Linked = maxK, 0, false
	hits, err := s.Recall(ctx, q)
	if i := slices.IndexFunc(hits, func(h Hit) bool { return h.ID == id }); i >= 0 || err != nil {
		return fmt.Sprintf("%d of %d", i+1, len(hits)), err
	}
	r, err := s.Get(ctx, id)
	switch {
	case r.SupersededBy != "":
		return "superseded by " + string(r.SupersededBy), err
	case r.Archived && !q.Archived:
		return "archived, and other memories match", err
	}
	return "of another kind, time, trust or scope, without a word of the query, or a Rule not in its turn", err
}

// hit returns what a host gets of a match.
func (f *found) hit() Hit {
	h := Hit{Record: f.r.export(f.t.scope), Score: f.score, Parts: f.Parts}
	if f.old != nil {
		old := f.old.export(f.t.scope)
		old.SupersededBy = f.r.id
		h.Superseded = &old
	}
	return h
}

// ask checks a query and completes it.
func (s Space) ask(ctx context.Context, q *Query) (*ask, error) {
	_, err := s.now(ctx)
	err = cmp.Or(err, checkVector(q.Vector), checkTime(q.At), checkTime(q.Since),
		store.Limit("query", len(q.Text), MaxText), store.Limit("K", q.K, maxK),
		refuse(q.K < 0, "K must not be negative"),
		refuse(!(q.Floor >= 0 && q.Floor <= 1), "Floor must be in [0,1]"))
	for _, k := range q.Kinds {
		err = cmp.Or(err, refuse(!slices.Contains(kinds, k), "a query for an unknown kind"))
	}
	for _, o := range q.Also {
		err = cmp.Or(err, o.Check(), refuse(o.Tenant() != s.scope.Tenant(), "Also must be of the same tenant"))
	}
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	a := &ask{
		Query: *q, at: forever, since: math.MinInt64,
		situation: hashOf(q.Situation), weighted: s.b.o.Policy == nil,
	}
	a.K = cmp.Or(q.K, defaultK)
	for _, scope := range append([]Scope{s.scope}, q.Also...) {
		if t := s.b.In(scope).table(); t != nil && !slices.Contains(a.tables, t) {
			a.tables = append(a.tables, t)
		}
	}
	if q.At.IsZero() {
		a.At = s.b.o.Now()
	} else {
		a.at = q.At.UnixMicro()
	}
	if !q.Since.IsZero() {
		a.since = q.Since.UnixMicro()
	}
	for i, k := range kinds {
		if k != Rule && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, k)) {
			a.kinds |= 1 << i
		}
	}
	for _, d := range date.Days(q.Text, a.At) {
		a.days = append(a.days, d.Terms(s.b.an))
	}
	if a.Vector == nil && q.Text != "" && s.b.embeds != nil {
		a.Vector = s.b.embeds.query(ctx, q.Text)
	}
	return a, nil
}

// wants reports whether the query may have a record.
func (a *ask) wants(r *record) bool { return a.kinds&(1<<r.Kind) != 0 && a.allows(r) }

// allows is wants for records of any kind.
func (a *ask) allows(r *record) bool {
	place := !r.Archived || a.cold || a.Archived
	trust := a.Trust == 0 || r.Trusted == (a.Trust == Trusted)
	return place && trust && r.At <= a.at && r.At >= a.since
}

// index returns the query of a table's index.
func (a *ask) index(t *table, k int) *index.Query {
	wants := func(row uint32) bool { return a.wants(t.rows[row]) }
	return &index.Query{Text: a.Text, Days: a.days, K: k, Gate: gate, Wants: wants}
}

// find returns all matches that may be among the best K, scored and in order.
func (s Space) find(ctx context.Context, a *ask) (fs []found, err error) {
	defer func() { a.cold = false }() // as the query has it, for who asks further
	for {
		for _, t := range a.tables {
			fs = t.search(fs, a)
		}
		if len(fs) > 0 || a.Archived || a.cold {
			break
		}
		a.cold = true // nothing live matches, or only what gives way: once more, with what is archived
	}
	s.rate(a, fs)
	if a.weighted {
		for i := range fs {
			fs[i].score = fs[i].weighted(fs[i].near)
		}
	} else if err := s.judge(ctx, a, fs); err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	slices.SortFunc(fs, func(x, y found) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.ratio, x.ratio), y.r.later(x.r))
	})
	return fs, nil
}

// rate fills in what does not depend on words: what is near the best, effectiveness and recency. That of a
// Fact is counted from the newest that is near, not from now: what holds does not get worse by being old. If
// it is not the newest itself, half goes at once: what was stated since, however soon, may have changed it.
func (s Space) rate(a *ask, fs []found) {
	best, newest := 0.0, int64(math.MinInt64)
	for i := range fs {
		best = max(best, fs[i].ratio)
	}
	for i := range fs {
		f := &fs[i]
		f.near = f.ratio >= gate*best || f.r.is(Fact) && f.ratio >= factGate*best
	}
	s.b.setApart(a.Text, fs, best)
	for i := range fs {
		if f := &fs[i]; f.near && f.r.is(Fact) {
			newest = max(newest, f.r.said())
		}
	}
	now := a.At.UnixMicro()
	for i := range fs {
		f := &fs[i]
		m, last, from, most := f.r.more(), f.r.said(), now, 1.0
		switch uses := len(m.Uses); {
		case f.near && f.r.is(Fact):
			from = newest
			if last < newest {
				most = 0.5
			}
		case uses > 0:
			last = max(last, m.Uses[uses-1])
		}
		f.Recency = most * math.Exp2(-float64(max(0, from-last))/float64(halfLife.Microseconds()))
		f.Effectiveness = m.effectiveness(a.situation)
	}
}

// judge has the host's Policy score what was found.
func (s Space) judge(ctx context.Context, a *ask, fs []found) error {
	_, err := call.Do(ctx, 0, func(context.Context) (none struct{}, err error) {
		q := a.Query // a copy: a Policy of the host's may change it
		for i := 0; i < len(fs) && err == nil; i++ {
			f := &fs[i]
			c := Candidate{Record: f.r.export(f.t.scope), Parts: f.Parts, near: f.near, uses: f.r.more().Uses,
				bonds: f.t.bonds(f.r, a.Context)}
			if f.score = s.b.o.Policy(&q, &c); !(f.score >= 0 && f.score <= 1) {
				err = fmt.Errorf("%w: a score of %v", call.ErrMalformed, f.score)
			}
		}
		return none, err
	})
	return err
}

// bonds returns how a record is linked with those of a context.
func (t *table) bonds(r *record, context []ID) (out []bond) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, id := range context {
		b := bond{fan: 1 + len(t.linkers[id])}
		if slices.Contains(r.more().Links, Link{To: id}) {
			b.links++
		}
		if o := t.get(id); o != nil && o != r {
			b.fan += len(o.more().Links)
			if slices.Contains(o.more().Links, Link{To: r.id}) {
				b.links++
			}
		}
		out = append(out, b)
	}
	return out
}

// search appends the matches of a table to fs. It looks first whether the table has ever had a record of such
// a kind, trust and archive: most queries of a case find none.
func (t *table) search(fs []found, a *ask) []found {
	t.mu.RLock()
	defer t.mu.RUnlock()
	wanted := func(is record) bool {
		is.At = a.at // when it was does not matter here
		return a.wants(&is)
	}
	first, k := len(fs), a.K
	if !a.weighted {
		k = max(k, candidates)
	}
	if len(t.slots)+len(t.over) > 0 {
		k += defaultK // some give way
	}
	switch {
	case !slices.ContainsFunc(t.had, wanted):
	case a.Text == "" && a.Vector == nil:
		for _, r := range t.rows {
			if r != nil && a.wants(r) {
				fs = append(fs, found{t: t, r: r, ratio: 1})
			}
		}
	case t.vectors[len(a.Vector)] != nil:
		fs = t.hybrid(fs, a, t.vectors[len(a.Vector)])
	case a.Text != "":
		ms := t.ix.Search(a.index(t, k))
		said := attributed(ms)
		fs = slices.Grow(fs, len(ms))
		for _, m := range ms {
			f := found{t: t, r: t.rows[m.Row], ratio: m.Ratio}
			f.Relevance = said * meant(m.Ratio)
			fs = append(fs, f)
		}
	}
	if len(t.slots)+len(t.over) == 0 {
		return fs
	}
	return append(fs[:first], t.giveWay(fs[first:], a)...)
}

// giveWay puts what holds into the place of what is superseded, whatever their rows.
func (t *table) giveWay(fs []found, a *ask) []found {
	at := map[*record]int{}
	out := fs[:0]
	for _, f := range fs {
		if r := t.standing(f.r, a.begun()); r != f.r {
			if f.old, f.r = f.r, r; !a.wants(r) {
				continue
			}
		}
		if i, ok := at[f.r]; !ok {
			at[f.r] = len(out)
			out = append(out, f)
		} else if f.before(&out[i]) {
			out[i] = f
		}
	}
	return out
}

// before reports whether f stands for what both lead to: the better match, or else that itself, or the later.
func (f *found) before(o *found) bool {
	if f.ratio != o.ratio || o.old == nil {
		return f.ratio > o.ratio
	}
	return f.old == nil || f.old.later(o.old) > 0
}

// due returns the Rules whose turn it is.
func (s Space) due(a *ask) (hits []Hit) {
	if len(a.Kinds) > 0 && !slices.Contains(a.Kinds, Rule) || a.Trust == Quarantined {
		return nil
	}
	for _, t := range a.tables {
		t.mu.RLock()
		for _, r := range t.due(a.Text) {
			if r.Trusted && !r.Archived && r.At <= a.at && r.At >= a.since && t.standing(r, a.begun()) == r {
				parts := Parts{Relevance: 1, Effectiveness: r.more().effectiveness(a.situation), Recency: 1}
				hits = append(hits, Hit{Record: r.export(t.scope), Score: 1, Parts: parts})
			}
		}
		t.mu.RUnlock()
	}
	return hits
}

// linked returns what matches link to and what links to them, whatever its kind, up to K in all.
func linked(a *ask, fs []found) (hits []Hit) {
	have := map[*record]bool{}
	for _, f := range fs {
		have[f.r] = true
	}
	for _, f := range fs {
		f.t.mu.RLock()
		next := slices.Clone(f.t.linkers[f.r.id])
		for _, l := range f.r.more().Links {
			if r := f.t.get(l.To); r != nil {
				next = append(next, r)
			}
		}
		for _, r := range next {
			r = f.t.standing(r, a.begun())
			if have[r] || !a.allows(r) || len(fs)+len(hits) >= a.K {
				continue
			}
			have[r] = true
			parts := Parts{Effectiveness: r.more().effectiveness(a.situation)}
			hits = append(hits, Hit{Record: r.export(f.t.scope), Score: f.score / 2, Parts: parts, Linked: f.r.id})
		}
		f.t.mu.RUnlock()
	}
	return hits
}

// Get returns a memory, also by the id of one that was merged into it. An unknown id is [store.ErrNotFound].
func (s Space) Get(ctx context.Context, id ID) (out Record, err error) {
	t, err := s.now(ctx)
	if r := t.current(id); r != nil && err == nil {
		t.mu.RLock()
		defer t.mu.RUnlock()
		return t.export(r), nil
	}
	var r *record
	if err == nil { // another process may have written it just now
		r, err = s.read(ctx, s.b.g.Store(), id)
	}
	if err != nil {
		return out, fmt.Errorf("memory: %w", err)
	}
	return r.export(s.scope), nil
}

// All yields all memories of the scope as they are now, the oldest At first.
func (s Space) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		t, err := s.now(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, r := range t.snapshot() {
			t.mu.RLock()
			out := t.export(r)
			t.mu.RUnlock()
			if err := ctx.Err(); !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// Latest returns the last n memories of a thread, in the order of At, then as they came, then of their IDs.
func (s Space) Latest(ctx context.Context, thread string, n int) (out []Record, err error) {
	t, err := s.now(ctx)
	thread = s.tidyName(thread)
	if t == nil || thread == "" || err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, row := range t.ix.Latest(thread, n) {
		out = append(out, t.export(t.rows[row]))
	}
	return out, nil
}

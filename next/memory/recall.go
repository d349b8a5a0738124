package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/store"
)

const (
	defaultK = 10
	maxK     = 1 << 20
	// candidates is how many of the best matches a Policy other than Weighted scores at least.
	candidates = 256
)

// ask is a Query as it is carried out.
type ask struct {
	*Query
	k         int
	now       time.Time // of the question
	at, since int64
	exclude   index.Flags
	situation uint64
	vector    []float32
	weight    float64 // of a vector
	weighted  bool
}

// found is a match.
type found struct {
	t     *table
	e     *entry
	old   *entry // superseded by e, and matched better
	ratio float64
	Parts
	near, words bool // near the best; near the best by words
	score       float64
}

// Recall returns what the query finds: first the Rules whose turn it is, with Score 1, then the best K. It is a
// function of the memories and the time. No hits is no error.
//
// A Rule's turn is always, or where one of its Trigger's phrases stands in the Text, with the same words or forms of
// them; only trusted Rules have one. A memory that is superseded gives way to the one that holds, and archived ones
// come where nothing else matches. With an Embedder, what the words find best stays among the hits.
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error) {
	a, err := s.ask(ctx, &q)
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	fs, err := s.find(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	fs = slices.DeleteFunc(fs, func(f found) bool {
		return f.score <= 0 || (q.Text != "" || q.Vector != nil) && f.Relevance < q.Floor
	})
	for i := len(fs) - 1; i >= 0 && len(fs) > a.k; i-- { // what words find best stays
		if !fs[i].words {
			fs = slices.Delete(fs, i, i+1)
		}
	}
	fs = fs[:min(a.k, len(fs))]
	hits := s.due(a)
	for i := range fs {
		hits = append(hits, fs[i].hit())
	}
	if q.Linked {
		hits = s.linked(a, hits, fs)
	}
	return hits, nil
}

// hit returns what a host gets of a match.
func (f *found) hit() Hit {
	h := Hit{Record: f.e.record(f.t.scope), Score: f.score, Parts: f.Parts}
	if f.old != nil {
		old := f.old.record(f.t.scope)
		old.SupersededBy = f.e.id
		h.Superseded = &old
	}
	return h
}

// ask checks a query and completes it.
func (s Space) ask(ctx context.Context, q *Query) (*ask, error) {
	refuse := func(bad bool, why string) error {
		if bad {
			return &store.LimitError{What: why}
		}
		return nil
	}
	err := cmp.Or(s.scope.Check(), checkVector(q.Vector), limit("query", len(q.Text), MaxText), limit("K", q.K, maxK),
		refuse(q.K < 0, "K must not be negative"), refuse(!(q.Floor >= 0 && q.Floor <= 1), "Floor must be in [0,1]"))
	for _, k := range q.Kinds {
		err = cmp.Or(err, refuse(!slices.Contains(kindsInOrder, k), fmt.Sprintf("a memory of kind %.32q", k)))
	}
	for _, o := range q.Also {
		err = cmp.Or(err, o.Check(), refuse(o.Tenant() != s.scope.Tenant(), "Also must be of the same tenant"))
	}
	if err != nil {
		return nil, err
	}
	_, weighted := s.b.o.Policy.(Weighted)
	a := &ask{Query: q, k: cmp.Or(q.K, defaultK), now: q.At, at: forever, since: math.MinInt64, vector: q.Vector, weight: s.b.o.VectorWeight,
		situation: situationHash(q.Situation), weighted: weighted}
	if q.At.IsZero() {
		a.now = s.b.o.Now()
	} else {
		a.at = q.At.UnixMicro()
	}
	if !q.Since.IsZero() {
		a.since = q.Since.UnixMicro()
	}
	for i, k := range kindsInOrder {
		if k == Rule || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, k) {
			a.exclude |= 1 << i
		}
	}
	switch q.Trust {
	case Trusted:
		a.exclude |= isQuarantined
	case Quarantined:
		a.exclude |= isTrusted
	}
	if !q.Archived {
		a.exclude |= isArchived
	}
	if a.vector == nil && q.Text != "" && s.b.embeds != nil {
		a.vector = s.b.embeds.query(ctx, q.Text)
	}
	return a, nil
}

// wants reports whether the query may have a record.
func (a *ask) wants(e *entry) bool {
	return e.flags()&a.exclude == 0 && e.at <= a.at && e.at >= a.since
}

// tables returns those of the scopes that are asked.
func (s Space) tables(a *ask) (out []*table) {
	for _, scope := range append([]Scope{s.scope}, a.Also...) {
		if t := s.b.table(scope); t != nil && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// find returns all matches that may be among the best K, scored and in order.
func (s Space) find(ctx context.Context, a *ask) (fs []found, err error) {
	ts := s.tables(a)
	for _, t := range ts {
		if fs, err = t.search(fs, a); err != nil {
			return nil, err
		}
	}
	if len(fs) == 0 && !a.Archived && len(ts) > 0 {
		a.exclude ^= isArchived | isLive
		defer func() { a.exclude ^= isArchived | isLive }()
		for _, t := range ts {
			if fs, err = t.search(fs, a); err != nil {
				return nil, err
			}
		}
	}
	s.rate(a, fs)
	if a.weighted {
		for i := range fs {
			fs[i].score = Weighted{}.Score(a.Query, &Candidate{Parts: fs[i].Parts, Near: fs[i].near})
		}
	} else if err := s.judge(ctx, a, fs); err != nil {
		return nil, err
	}
	slices.SortFunc(fs, func(x, y found) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.ratio, x.ratio), y.e.later(x.e))
	})
	return fs, nil
}

// rate fills in what does not depend on words: who is near the best, effectiveness and recency.
func (s Space) rate(a *ask, fs []found) {
	best, newest := 0.0, int64(math.MinInt64)
	for i := range fs {
		best = max(best, fs[i].ratio)
	}
	for i := range fs {
		if f := &fs[i]; f.ratio >= factGate*best && f.e.is(Fact) || f.ratio >= gate*best {
			f.near = true
			if f.e.is(Fact) {
				newest = max(newest, f.e.said())
			}
		}
	}
	now, halfLife := a.now.UnixMicro(), float64(s.b.o.HalfLife.Microseconds())
	for i := range fs {
		f := &fs[i]
		last, from := f.e.said(), now
		if f.near && f.e.is(Fact) {
			from = newest // it is compared with what is stated since, however long ago that was
		} else if c := f.e.stats; c != nil && len(c.Uses) > 0 {
			last = max(last, c.Uses[len(c.Uses)-1])
		}
		f.Recency = math.Exp2(-float64(max(0, from-last)) / halfLife)
		if f.near && f.e.is(Fact) && last < newest {
			f.Recency /= 2 // however soon after it the newest came
		}
		f.Effectiveness = f.e.stats.effectiveness(a.situation)
	}
}

// judge has the host's Policy score what was found.
func (s Space) judge(ctx context.Context, a *ask, fs []found) error {
	_, err := call.Do(ctx, 0, func(context.Context) (struct{}, error) {
		for i := range fs {
			f := &fs[i]
			r := f.e.record(f.t.scope)
			c := Candidate{Record: &r, Parts: f.Parts, Near: f.near, Now: a.now, Bonds: f.t.bonds(f.e, a.Context)}
			if f.e.stats != nil {
				for _, at := range f.e.stats.Uses {
					c.Uses = append(c.Uses, timeOf(at, 0))
				}
			}
			f.score = s.b.o.Policy.Score(a.Query, &c)
			if !(f.score >= 0 && f.score <= 1) {
				return struct{}{}, fmt.Errorf("%w: a score of %v", call.ErrMalformed, f.score)
			}
		}
		return struct{}{}, nil
	})
	return err
}

// bonds returns how a record is linked with those of a context.
func (t *table) bonds(e *entry, context []ID) (out []Bond) {
	if len(context) == 0 {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	count := func(e *entry, to ID) (n int) {
		for _, l := range e.rest().links {
			if l.To == to {
				n++
			}
		}
		return n
	}
	for _, id := range context {
		b := Bond{Fan: 1 + len(t.linkers[id])}
		if o := t.entry(id); o != nil && o != e {
			b.Fan, b.Links = b.Fan+len(o.rest().links), count(o, e.id)
		}
		b.Links += count(e, id)
		out = append(out, b)
	}
	return out
}

// search appends the matches of a table to fs.
func (t *table) search(fs []found, a *ask) ([]found, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	first := len(fs)
	var skip func(uint32) bool
	if a.at != forever || a.since != math.MinInt64 {
		skip = func(row uint32) bool { return !a.wants(t.rows[row]) }
	}
	switch {
	case a.Text == "" && a.vector == nil:
		for _, e := range t.rows {
			if e != nil && a.wants(e) {
				fs = append(fs, found{t: t, e: e, ratio: 1})
			}
		}
	case a.vector != nil && t.set != nil:
		var err error
		if fs, err = t.hybrid(fs, a, skip); err != nil {
			return nil, err
		}
	case a.Text != "":
		k := a.k
		if len(t.slots)+len(t.over) > 0 {
			k += defaultK // some give way
		}
		if !a.weighted {
			k = max(k, candidates)
		}
		ask := index.Query{Text: a.Text, At: a.now, K: k, Gate: gate, Exclude: a.exclude, Skip: skip}
		for _, m := range t.ix.Search(&ask) {
			f := found{t: t, e: t.rows[m.Row], ratio: m.Ratio, Parts: Parts{Relevance: m.Relevance, Lexical: m.Lexical}}
			if a.vector != nil {
				f.ratio = oddsRoot(m.Lexical) // as in scopes that have vectors
			}
			fs = append(fs, f)
		}
	}
	if len(t.slots)+len(t.over) > 0 {
		fs = append(fs[:first], t.giveWay(fs[first:], a)...)
	}
	return fs, nil
}

// giveWay puts what holds into the place of what is superseded.
func (t *table) giveWay(fs []found, a *ask) []found {
	at := map[*entry]int{}
	out := fs[:0]
	for _, f := range fs {
		e := f.e
		if f.e = t.standing(e, a.at); f.e != e {
			if f.old = e; !a.wants(f.e) {
				continue
			}
		}
		i, ok := at[f.e]
		switch {
		case !ok:
			at[f.e] = len(out)
			out = append(out, f)
		case f.ratio > out[i].ratio:
			out[i] = f
		}
	}
	return out
}

// due returns the Rules whose turn it is.
func (s Space) due(a *ask) (hits []Hit) {
	if len(a.Kinds) > 0 && !slices.Contains(a.Kinds, Rule) || a.Trust == Quarantined {
		return nil
	}
	for _, t := range s.tables(a) {
		t.mu.RLock()
		for _, e := range t.due(a.Text) {
			if e.trusted && !e.archived && e.at <= a.at && e.at >= a.since && t.standing(e, a.at) == e {
				parts := Parts{Relevance: 1, Lexical: 1, Effectiveness: e.stats.effectiveness(a.situation), Recency: 1}
				hits = append(hits, Hit{Record: e.record(t.scope), Score: 1, Parts: parts})
			}
		}
		t.mu.RUnlock()
	}
	return hits
}

// linked fills up with what hits link to and what links to them, whatever its kind.
func (s Space) linked(a *ask, hits []Hit, fs []found) []Hit {
	have := map[*entry]bool{}
	for _, f := range fs {
		have[f.e] = true
	}
	left := a.k - len(fs)
	for _, f := range fs {
		f.t.mu.RLock()
		var next []*entry
		for _, l := range f.e.rest().links {
			next = append(next, f.t.entry(l.To))
		}
		for _, e := range append(next, f.t.linkers[f.e.id]...) {
			if e == nil || left <= 0 {
				continue
			}
			if e = f.t.standing(e, a.at); !have[e] && e.flags()&a.exclude>>len(kindsInOrder) == 0 && e.at <= a.at && e.at >= a.since {
				have[e] = true
				left--
				parts := Parts{Effectiveness: e.stats.effectiveness(a.situation)}
				hits = append(hits, Hit{Record: e.record(f.t.scope), Score: f.score / 2, Parts: parts, Linked: f.e.id})
			}
		}
		f.t.mu.RUnlock()
	}
	return hits
}

// Get returns a memory, also by the id of one that was merged into it. An unknown id is [store.ErrNotFound].
func (s Space) Get(ctx context.Context, id ID) (Record, error) {
	if err := cmp.Or(s.scope.Check(), store.CheckID(string(id))); err != nil {
		return Record{}, fmt.Errorf("memory: %w", err)
	}
	if t := s.b.table(s.scope); t != nil {
		t.mu.RLock()
		defer t.mu.RUnlock()
		if e := t.entry(id); e != nil {
			return t.record(e, forever), nil
		}
	}
	e, err := s.b.g.Store().Get(ctx, s.key(id)) // another process may have written it just now
	if err != nil {
		return Record{}, fmt.Errorf("memory: %q: %w", id, err)
	}
	rec, err := decode(e)
	if err != nil {
		return Record{}, err
	}
	return rec.entry(id, e.Rev).record(s.scope), nil
}

// All yields all memories of the scope as they are now, the oldest At first.
func (s Space) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		t := s.b.table(s.scope)
		if t == nil {
			return
		}
		for _, e := range t.snapshot() {
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			t.mu.RLock()
			r := t.record(e, forever)
			t.mu.RUnlock()
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Latest returns the last n memories of a thread, in order.
func (s Space) Latest(_ context.Context, thread string, n int) (out []Record, err error) {
	t := s.b.table(s.scope)
	if t == nil || thread == "" {
		return nil, s.scope.Check()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, row := range t.ix.Latest(thread, n) {
		out = append(out, t.record(t.rows[row], forever))
	}
	return out, nil
}

// Explanation says why a memory is or is not a hit of a query.
type Explanation struct {
	Hit  Hit
	Rank int    // 1 is the best; 0: it is none of the matches
	Why  string // it is no match; "": it is one
}

// Explain says where a memory comes for a query, whatever its K and Floor.
func (s Space) Explain(ctx context.Context, q Query, id ID) (Explanation, error) {
	q.K = maxK
	a, err := s.ask(ctx, &q)
	if err != nil {
		return Explanation{}, fmt.Errorf("memory: explain: %w", err)
	}
	var t *table
	var e *entry
	for _, t = range s.tables(a) {
		t.mu.RLock()
		e = t.entry(id)
		t.mu.RUnlock()
		if e != nil {
			break
		}
	}
	if e == nil {
		return Explanation{}, fmt.Errorf("memory: %q: %w", id, store.ErrNotFound)
	}
	fs, err := s.find(ctx, a)
	if err != nil {
		return Explanation{}, fmt.Errorf("memory: explain: %w", err)
	}
	x := Explanation{Hit: Hit{Record: e.record(t.scope)}}
	for i, h := range s.due(a) {
		if h.Record.ID == e.id {
			x.Hit, x.Rank = h, i+1
		}
	}
	for i, f := range fs {
		if f.e == e && f.score > 0 {
			x.Hit, x.Rank = f.hit(), i+1
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if x.Rank == 0 {
		x.Why = t.why(a, e)
	}
	return x, nil
}

// why says which filter leaves a record out.
func (t *table) why(a *ask, e *entry) string {
	switch o := t.standing(e, a.at); {
	case o != e:
		return "superseded by " + string(o.id)
	case e.is(Rule):
		return "a Rule whose turn it is not, or that nobody vouches for"
	case e.flags()&a.exclude&(isTrusted|isQuarantined) != 0:
		return "of another trust"
	case e.at > a.at:
		return "of a later time than At"
	case e.at < a.since:
		return "of an earlier time than Since"
	case e.archived && a.exclude&isArchived != 0:
		return "archived, and other memories match"
	case e.flags()&a.exclude != 0:
		return "of another kind"
	default:
		return "no word of the query stands in it or near it"
	}
}

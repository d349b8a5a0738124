package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/asker"
	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/tally"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

const (
	defaultK = 10
	maxK     = 1 << 26 // no scope has more, and multiples of it are numbers
)

// query is a checked Query.
type query struct {
	k         int
	text      []text.Term
	half      map[string]string // see index.Query
	asked     string            // the text as it is
	all       bool              // there is no text: every record is found
	replaying bool              // nothing gives way
	triggered bool              // by phrases of the records in the text
	linked    bool              // what is linked with the hits fills up what they leave of k
	rescue    bool              // what is archived is found if nothing live matches as well
	asker     bool              // the text is about who asks
	shards    []*shard          // of the scopes that have one
	apart     bool              // trusted records are left out
	without   flags             // records that have one of them are left out
	before    int64             // no later At, in microseconds since 1970 as the next two
	known     int64             // no later Known
	at        int64             // when recency is taken
	rate      float64           // 1 / the half-life in microseconds
	situation uint64
	context   []ident.Key
	model     *model  // nil: Weighted
	draws     uint64  // seed of the noise of the model
	floor     float64 // the least Parts.Answer, if there is a text
	best      float64 // the least ratio of what counts as the best match, see vouch
	// attributed is how likely what is found is by whom the text names.
	attributed float64

	vector                  bool // there is one, in scratch.hybrid
	alone                   bool // and no text
	minCosine, cosineWeight float64
}

// scratch is memory that recalls use again.
type scratch struct {
	index  index.Scratch
	hybrid hybrid
	terms  []text.Term // of the query
	query  query
	ask    index.Query // of the shard at hand
	found  []found
	hidden map[*entry]*entry // what was found and is superseded, by what
	marks  []mark            // of the hits
}

// query checks q and fills sc.query.
func (s Space) query(q *Query, sc *scratch) error {
	switch {
	case q.K < 0:
		return fmt.Errorf("%w: K is %d", ErrQuery, q.K)
	case !(q.Floor >= 0 && q.Floor <= 1):
		return fmt.Errorf("%w: Floor is %v", ErrQuery, q.Floor)
	}
	if err := cmp.Or(limit("text", MaxText, len(q.Text)), limit("situation", MaxText, len(q.Situation)), s.b.checkQueryVector(q.Vector)); err != nil {
		return err
	}
	for _, k := range q.Kinds {
		if !k.valid() {
			return fmt.Errorf("%w: %.32q", ErrKind, string(k))
		}
	}
	p := &sc.query
	*p = query{
		k: min(cmp.Or(q.K, defaultK), maxK), all: strings.TrimSpace(q.Text) == "", shards: p.shards[:0],
		apart: q.Background, without: q.without(), before: latest(q.At), known: latest(q.Known), rate: float64(time.Microsecond) / float64(s.b.o.HalfLife),
		asked: q.Text, situation: tally.Hash(q.Situation), context: p.context[:0], floor: q.Floor, attributed: saidByAny, model: s.b.model,
		minCosine: s.b.o.MinCosine, cosineWeight: s.b.o.CosineWeight,
	}
	p.triggered, p.linked, p.half = q.Triggered, q.Linked, s.b.dates.Next
	if p.rescue = !q.Triggered && !q.Archived && !q.Inject && !q.Background && !p.all; p.rescue {
		p.without &^= isArchived
	}
	if p.all {
		p.floor = 0
	}
	if len(q.Vector) > 0 {
		p.vector, p.alone, p.all = sc.hybrid.vector.Ask(q.Vector), p.all, false
	}
	if p.at = p.before; q.At.IsZero() {
		p.at = s.b.now().UnixMicro()
	}
	for _, id := range q.Context {
		p.context = append(p.context, ident.Of(id))
	}
	p.addShard(s.b.shard(s.scope))
	for _, also := range q.Also {
		if err := also.Check(); err != nil {
			return err
		}
		if also.Tenant() != s.scope.Tenant() {
			return fmt.Errorf("%w: a scope of another tenant", ErrTenant)
		}
		p.addShard(s.b.shard(also))
	}
	if p.model != nil && p.model.Noise > 0 {
		p.draws = p.model.drawsOf(s.scope, q.Text, p.at, p.context)
	}
	sc.terms = s.b.dates.AppendNamed(s.b.lang.Append(sc.terms[:0], q.Text))
	p.text, p.asker = sc.terms, asker.About(q.Text)
	return nil
}

// all is a query that sees every record.
func all() query { return query{before: math.MaxInt64, known: math.MaxInt64} }

// addShard adds a shard to those that are searched, unless it is nil or among
// them.
func (q *query) addShard(sh *shard) {
	if sh != nil && !slices.Contains(q.shards, sh) {
		q.shards = append(q.shards, sh)
	}
}

// latest returns t in microseconds since 1970, or the end of time if it is zero. Times that no
// record may have stay before that, and after all of these: differences are numbers.
func latest(t time.Time) int64 {
	const far = 1 << 41 // in seconds
	if t.IsZero() {
		return math.MaxInt64
	}
	return min(max(t.Unix(), -far), far)*1e6 + int64(t.Nanosecond()/1000)
}

// without returns the flags of the records that the query leaves out.
func (q *Query) without() (f flags) {
	if len(q.Kinds) > 0 {
		f = kindFlags
		for _, k := range q.Kinds {
			f &^= k.flag()
		}
	}
	if q.Inject {
		f |= isQuarantined
	}
	if !q.Archived {
		f |= isArchived
	}
	return f
}

// excludes returns why the query leaves a record out, or "".
func (q *query) excludes(e *entry, c *tally.Counts) string {
	switch {
	case q.without&e.flags&kindFlags != 0:
		return "its kind is not asked for"
	case q.without&e.flags&isQuarantined != 0:
		return "it is quarantined, and Inject leaves those out until Trust"
	case q.apart && e.flags.trusted():
		return "it is trusted, and Background leaves those out"
	case q.without&isArchived != 0 && c.Archived:
		return "it is archived"
	case e.at > q.before:
		return "it did not hold yet at At"
	case e.known > q.known:
		return "it was not known yet at Known"
	}
	return ""
}

// find fills sc.found with what matches the query, scored, in no order: with
// all of that if n is 0, or at least with the n best. What is superseded gives
// its place to what supersedes it.
func (sc *scratch) find(n int) {
	sc.found = sc.found[:0]
	clear(sc.hidden)
	for _, sh := range sc.query.shards {
		sh.collect(sc, n)
	}
	sc.query.attributed = attributed(sc.found)
	sc.query.rank(sc.found)
}

// collect finds each record of the shard that is there once: no writer changes
// it meanwhile. A goroutine holds one shard at a time. If so many gave way that
// too few are left, it looks for more.
func (sh *shard) collect(sc *scratch, n int) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	for from, want := len(sc.found), n; ; want *= 2 {
		sc.found = sc.found[:from]
		switch {
		case sc.query.triggered:
			sh.findTriggered(sc)
		case sc.query.all:
			sh.findAll(sc)
		default:
			sh.search(sc, want)
			sc.attribute(sh, from)
		}
		got := len(sc.found) - from
		if sc.query.replaying || sc.giveWay(sh, from)+sc.putAside(from) == 0 || want == 0 || got < want || len(sc.found)-from >= n {
			sc.doubt(sh, from)
			return
		}
	}
}

func (q *query) rank(fs []found) {
	if q.triggered {
		byPhrase(fs)
		return
	}
	if q.model != nil {
		q.activate(fs)
		return
	}
	q.weigh(fs)
}

// add resolves a row that the index has found.
func (sh *shard) add(sc *scratch, m index.Match) {
	sh.addRated(sc, m.Row, rated{ratio: m.Ratio, relevance: m.Relevance, lexical: m.Relevance})
}

func (sh *shard) addRated(sc *scratch, row uint32, r rated) {
	e := sh.rows[row]
	c := e.counts()
	if sc.query.excludes(e, c) == "" {
		sc.found = append(sc.found, found{entry: e, sh: sh, tally: c, rated: r})
	}
}

func (sh *shard) findAll(sc *scratch) {
	for e := range sh.all() {
		sh.addRated(sc, e.row, rated{})
	}
}

// search takes from the index the n best, and all that are near the best of
// this scope: effectiveness and recency can put these in another order. What is
// not near is below all that is, whatever is found in other scopes, and counts
// by its relevance alone.
func (sh *shard) search(sc *scratch, n int) {
	sc.ask = sh.ask(&sc.query, n)
	if sc.query.vector {
		sh.searchBoth(sc, sc.ask)
		return
	}
	for _, m := range sh.index.Search(&sc.index, &sc.ask) {
		sh.add(sc, m)
	}
}

// ask returns the query as the index takes it.
func (sh *shard) ask(q *query, n int) index.Query {
	ask := index.Query{Terms: q.text, Half: q.half, K: n, Gate: gate, Asker: q.asker, Exclude: index.Flags(q.without)}
	if q.apart || q.before != math.MaxInt64 || q.known != math.MaxInt64 {
		ask.Skip = func(row uint32) bool {
			e := sh.rows[row]
			return e.at > q.before || e.known > q.known || q.apart && e.flags.trusted()
		}
	}
	return ask
}

// putAside takes out what is archived, unless nothing live matches as well. It
// returns how many went.
func (sc *scratch) putAside(from int) int {
	if !sc.query.rescue {
		return 0
	}
	best, fs := 0.0, sc.found[from:]
	for i := range fs {
		if !fs[i].tally.Archived {
			best = max(best, fs[i].ratio)
		}
	}
	stay := slices.DeleteFunc(fs, func(f found) bool { return f.tally.Archived && f.ratio <= best })
	sc.found = sc.found[:from+len(stay)]
	return len(fs) - len(stay)
}

// with calls fn with a checked query and memory to work in.
func (s Space) with(ctx context.Context, q *Query, fn func(*scratch) error) error {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	if err := s.b.Await(ctx, q.After); err != nil {
		return err
	}
	if err := s.embedQuery(ctx, q); err != nil {
		return err
	}
	sc := s.b.scratch.Get().(*scratch)
	defer s.b.release(sc)
	if err := s.query(q, sc); err != nil {
		return err
	}
	return fn(sc)
}

// release keeps no record alive, nor anything of the caller's.
func (b *Bank) release(sc *scratch) {
	clear(sc.found)
	clear(sc.hidden)
	clear(sc.marks)
	clear(sc.terms)
	sc.query = query{shards: sc.query.shards, context: sc.query.context}
	b.scratch.Put(sc)
}

// Recall returns the records that match the query, best first; see [Parts] and
// the package comment for the score. With a text, a record that shares no word
// with it is not returned, nor one that shares function words alone, unless
// the text has no others. Equal scores are ordered by At, the newer first,
// then by ID. Record.Vector is not filled: Get does that.
//
// The errors are ErrKind, ErrQuery, ErrScope, ErrTenant and *store.LimitError
// for a bad query.
func (s Space) Recall(ctx context.Context, q Query) ([]Hit, error) {
	return s.RecallInto(ctx, []Hit{}, q)
}

// RecallInto appends to hits what Recall returns. With an error it returns nil.
func (s Space) RecallInto(ctx context.Context, hits []Hit, q Query) ([]Hit, error) {
	before := len(hits)
	err := s.with(ctx, &q, func(sc *scratch) (err error) {
		q := &sc.query
		sc.find(q.enough())                         // candidates, filters, what is superseded, score
		best := sc.order(top(q.cut(sc.found), q.k)) // selection, what is current first
		best = q.bring(sc.vouch(best))              // what is trusted before what is not, what is linked
		hits, err = s.hits(ctx, sc, hits, best)     // copy
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	if sh := s.b.shard(s.scope); (q.Inject || q.Background) && len(hits) > before && sh != nil {
		sh.injected.Add(1) // for Health
	}
	return hits, nil
}

// bring appends what is linked with the hits, as long as there is room.
func (q *query) bring(best []found) []found {
	if !q.linked {
		return best
	}
	for _, f := range best {
		f.sh.mu.Enter()
		for _, e := range f.sh.linkedLocked(f.entry) {
			there := slices.ContainsFunc(best, func(o found) bool { return o.entry == e })
			if c := e.counts(); len(best) < q.k && !there && q.excludes(e, c) == "" && !(q.rescue && c.Archived) && q.standing(f.sh, e) == e {
				best = append(best, found{entry: e, sh: f.sh, tally: c, link: f.entry})
			}
		}
		f.sh.mu.Leave()
	}
	return best
}

// linkedLocked returns what is linked with e: what it was drawn from, and what was drawn
// from it. What it supersedes is no company for it.
func (sh *shard) linkedLocked(e *entry) (out []*entry) {
	for _, l := range e.links() {
		if to := sh.findLocked(ident.Of(l.To)); to != nil && l.Rel != supersedes {
			out = append(out, to)
		}
	}
	for k := range e.keys() {
		for _, from := range sh.into[k] {
			if !slices.Contains(sh.over[k], from) {
				out = append(out, from)
			}
		}
	}
	return out
}

// hits appends a copy of what was found for the caller. This is the last stage, and the
// only one that may ask the disk: for the texts of records that are cold.
func (s Space) hits(ctx context.Context, sc *scratch, hits []Hit, fs []found) ([]Hit, error) {
	hits = slices.Grow(hits, len(fs))
	var buf [ident.Length]byte
	var names strings.Builder // of all hits, in one piece of memory
	names.Grow(len(fs) * ident.Length)
	for i := range fs {
		f := &fs[i]
		hits = append(hits, Hit{Score: f.score, Parts: s.parts(&sc.query, f), Replaced: sc.replaced(f.entry)})
		r := &hits[len(hits)-1].Record
		if f.link != nil {
			hits[len(hits)-1].Linked = f.link.name()
		}
		at := names.Len()
		names.Write(f.appendName(buf[:0]))
		r.ID = ID(names.String()[at:])
		if err := f.sh.missing(f.entry, s.b.copy(ctx, f.sh, f.entry, f.tally, r)); errors.Is(err, store.ErrNotFound) {
			hits = hits[:len(hits)-1] // it was forgotten meanwhile
		} else if err != nil {
			return nil, err
		} else if err := s.relate(ctx, &sc.query, f, &hits[len(hits)-1]); err != nil {
			return nil, err
		}
	}
	return hits, nil
}

func (s Space) parts(q *query, f *found) Parts {
	if !f.near {
		f.effectiveness, f.recency = f.tally.Effectiveness(q.situation), q.recency(f)
	}
	var p Parts
	if q.model != nil {
		p = q.activation(f, q.bonds(f.sh))
	} else {
		p.BaseLevel, p.Spreading = q.baseLevel(f), f.sh.spreading(q, f.entry)
	}
	p.Relevance, p.Lexical, p.Cosine, p.Near = f.relevance, f.lexical, f.cosine, f.near
	p.Answer, p.Effectiveness, p.Recency = q.answers(f), f.effectiveness, f.recency
	return p
}

// spreading is the mean over the context of 1/fan, for those that e is linked
// with in either direction.
func (sh *shard) spreading(q *query, e *entry) float64 {
	if len(q.context) == 0 {
		return 0
	}
	sum := 0.0
	for _, k := range q.context {
		if s := sh.source(k); s.key != e.id && s.held(e) > 0 {
			sum += 1 / float64(max(s.refs, 1))
		}
	}
	return sum / float64(len(q.context))
}

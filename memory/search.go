package memory

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
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
	may       func(*entry) bool // which records count; nil: all
	at        int64             // when recency is taken
	rate      float64           // 1 / the half-life in microseconds
	situation uint64
	context   []ident.Key
	model     *activation.Model // nil: Weighted
	draws     uint64            // seed of the noise of the model
	floor     float64           // the least Parts.Answer, if there is a text
	best      float64           // the least ratio of what counts as the best match, see vouch
	// attributed is how likely what is found is by whom the text names.
	attributed float64

	vector bool // there is one, in scratch.hybrid
	fusion hybrid.Fusion
}

// scratch is memory that recalls use again.
type scratch struct {
	index  index.Scratch
	hybrid hybrid.Scratch
	terms  []text.Term // of the query
	query  query
	ask    index.Query // of the shard at hand
	found  []found
	hidden map[*entry]*entry // what was found and is superseded, by what
	marks  []mark            // of the hits
}

// mark says of a hit what perhaps replaces it.
type mark struct {
	old, by *entry
	p       float64
	of      Evidence
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
	case q.may != nil && !q.may(e):
		return "it is not asked for"
	}
	return ""
}

// sees reports whether e counts for the query: what it leaves out replaces
// nothing. What Decay has archived still does.
func (q *query) sees(e *entry) bool {
	return q.without&e.flags&(kindFlags|isQuarantined) == 0 && e.at <= q.before && e.known <= q.known
}

// lead puts f, which is the hit at a place, or not among the hits if that is -1, before
// the i-th.
func (q *query) lead(best []found, i, at int, f found) []found {
	if at < 0 {
		if len(best) < q.k {
			best = append(best, found{})
		}
		at = len(best) - 1
	}
	copy(best[i+1:at+1], best[i:at])
	best[i] = f
	return best
}

func (sh *shard) addRated(sc *scratch, row uint32, r hybrid.Rated) {
	e := sh.rows[row]
	c := e.counts()
	if sc.query.excludes(e, c) == "" {
		sc.found = append(sc.found, found{entry: e, sh: sh, tally: c, Rated: r})
	}
}

// add resolves a row that the index has found.
func (sh *shard) add(sc *scratch, m index.Match) {
	sh.addRated(sc, m.Row, hybrid.Rated{Ratio: m.Ratio, Relevance: m.Relevance, Lexical: m.Relevance})
}

// gate is the share of the best match from which on effectiveness and recency count.
const gate = 0.8

// found is a record that a query found, before it is copied for the caller.
type found struct {
	*entry
	sh    *shard        // that it is of
	tally *tally.Counts // as they were when it was found
	hybrid.Rated
	near, doubted          bool   // doubted: something perhaps replaces it
	link                   *entry // the hit that brings it, if no words do
	by                     answer.Actor
	effectiveness, recency float64 // if near
	score                  float64
}

// better orders hits: by score, then the newer, then by ID.
func better(a, b *found) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	case a.Ratio > b.Ratio: // relevance has no more digits when it is near 1
		return -1
	case a.Ratio < b.Ratio:
		return 1
	case a.at > b.at:
		return -1
	case a.at < b.at:
		return 1
	}
	return cmp.Or(compareIDs(a.entry, b.entry), cmp.Compare(a.sh.scope, b.sh.scope))
}

// attribute notes by whom the records are that were found from one on. The caller
// holds mu of sh.
func (sc *scratch) attribute(sh *shard, from int) {
	if of, one := sh.index.Names(&sc.index); one && !sc.query.fusion.Alone {
		for i := range sc.found[from:] {
			f := &sc.found[from+i]
			if f.by = answer.Another; of(f.row) {
				f.by = answer.Named
			}
		}
	}
}

// attributed returns how likely what was found was said by whom the query names.
func attributed(fs []found) float64 {
	var a answer.Attribution
	for i := range fs {
		a.Add(fs[i].Ratio, fs[i].by)
	}
	return a.Likely()
}

// answers is Parts.Answer. A lesson is of a situation, which asks nothing of what
// was said.
func (q *query) answers(f *found) float64 {
	switch {
	case q.all:
		return 0
	case q.fusion.Alone || f.flags.kind().learned():
		return f.Relevance
	}
	return answer.Probability(f.Relevance, q.attributed)
}

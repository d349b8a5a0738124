package memory

import (
	"maps"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/topk"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/phrase"
)

// enough is how many of the best by relevance have to be looked at; 0: all.
func (q *query) enough() int {
	if q.model != nil || q.triggered {
		return 0
	}
	return max(q.k, answer.Compared)
}

// below reports whether f is below the threshold.
func (q *query) below(f *found) bool {
	return q.model != nil && q.model.Cuts() && f.score < q.model.Threshold
}

// cut leaves what is not below the threshold, nor below the floor.
func (q *query) cut(fs []found) []found {
	if q.floor == 0 && (q.model == nil || !q.model.Cuts()) {
		return fs
	}
	return slices.DeleteFunc(fs, func(f found) bool { return q.answers(&f) < q.floor || q.below(&f) })
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
		whole := want == 0 || got < want // the shard has no more
		if sc.query.replaying || sc.giveWay(sh, from)+sc.putAside(from) == 0 || whole || len(sc.found)-from >= n {
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

func (sh *shard) findAll(sc *scratch) {
	for e := range sh.all() {
		sh.addRated(sc, e.row, hybrid.Rated{})
	}
}

// search takes from the index the n best, and all that are near the best of
// this scope: effectiveness and recency can put these in another order. What is
// not near is below all that is, whatever is found in other scopes, and counts
// by its relevance alone.
func (sh *shard) search(sc *scratch, n int) {
	sc.ask = sh.ask(&sc.query, n)
	if q := &sc.query; q.vector {
		in := hybrid.Scope{Words: sh.index, Vectors: sh.vectors.Set()}
		for _, m := range sc.hybrid.Search(in, &sc.index, sc.ask, q.k, q.fusion) {
			sh.addRated(sc, m.Row, m.Rated)
		}
		return
	}
	for _, m := range sh.index.Search(&sc.index, &sc.ask) {
		sh.add(sc, m)
	}
}

// ask returns the query as the index takes it.
func (sh *shard) ask(q *query, n int) index.Query {
	ask := index.Query{Terms: q.text, Half: q.half, K: n, Gate: gate, Asker: q.asker, Exclude: index.Flags(q.without)}
	if q.apart || q.may != nil || q.before != math.MaxInt64 || q.known != math.MaxInt64 {
		ask.Skip = func(row uint32) bool {
			e := sh.rows[row]
			return e.at > q.before || e.known > q.known || q.apart && e.flags.trusted() || q.may != nil && !q.may(e)
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
			best = max(best, fs[i].Ratio)
		}
	}
	stay := slices.DeleteFunc(fs, func(f found) bool { return f.tally.Archived && f.Ratio <= best })
	sc.found = sc.found[:from+len(stay)]
	return len(fs) - len(stay)
}

// vouch puts the best trusted record that the query finds before those in
// quarantine, which outsiders can write: neither words and vectors made to match, nor
// repetition, nor a claim to replace it comes before it. It looks again without
// them if one is first, since they can be many. The hits stay as many as were asked
// for.
func (sc *scratch) vouch(best []found) []found {
	q := &sc.query
	if len(best) == 0 || best[0].flags.trusted() || !sc.vouches() {
		return best
	}
	best = slices.Clone(best) // find works in the same memory
	without, attributed, hidden := q.without, q.attributed, maps.Clone(sc.hidden)
	for i := range sc.found {
		q.best = max(q.best, sc.found[i].Ratio) // scores stay as they are
	}
	q.without |= isQuarantined
	sc.find(q.enough())
	vouched := slices.DeleteFunc(q.cut(sc.found), func(f found) bool { return hidden[f.entry] != nil })
	q.without, q.attributed = without, attributed
	if len(vouched) == 0 {
		return best
	}
	f := topk.Of(vouched, 1, better)[0]
	at := slices.IndexFunc(best, func(o found) bool { return o.entry == f.entry && o.sh == f.sh })
	return q.lead(best, 0, at, f)
}

// vouches reports whether trusted records may be found that were not the best.
func (sc *scratch) vouches() bool {
	q := &sc.query
	some := slices.ContainsFunc(q.shards, func(sh *shard) bool { return sh.vouched.Load() > 0 })
	return some && !q.apart && !q.triggered
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
			if there || len(best) >= q.k {
				continue
			}
			if c := e.counts(); q.excludes(e, c) == "" && !(q.rescue && c.Archived) && q.standing(f.sh, e) == e {
				best = append(best, found{entry: e, sh: f.sh, tally: c, link: f.entry})
			}
		}
		f.sh.mu.Leave()
	}
	return best
}

// The weights of a score, and the share of the best match from which on
// effectiveness and recency count. Measured on dialogue with evidence marked:
// with the gate, the two cost at most 0.2 points of recall at 10, without it
// up to 32.
const (
	relevanceWeight     = 0.5
	effectivenessWeight = 0.3
	recencyWeight       = 0.2
)

// weigh scores what was found: 0.5·relevance + 0.3·effectiveness +
// 0.2·recency for those near the best, 0.5·relevance for the others, which are
// thus below all of the former.
func (q *query) weigh(fs []found) {
	best := q.best
	for i := range fs {
		if fs[i].Ratio > best { // cheaper than max, which heeds NaN
			best = fs[i].Ratio
		}
	}
	for i := range fs {
		f := &fs[i]
		f.score = relevanceWeight * f.Relevance
		if f.near = f.Ratio >= gate*best; f.near {
			f.effectiveness, f.recency = f.tally.Effectiveness(q.situation), q.recency(f)
			f.score += effectivenessWeight*f.effectiveness + recencyWeight*f.recency
		}
	}
}

// recency is 2^(-age/half-life) since the last use, or since At.
func (q *query) recency(f *found) float64 {
	last := f.at
	if f.tally.LastUsed != 0 {
		last = int64(f.tally.LastUsed)
	}
	if last >= q.at {
		return 1
	}
	return math.Exp2(float64(last-q.at) * q.rate)
}

// findTriggered finds the records of which a phrase is in the text. The caller
// holds mu.
func (sh *shard) findTriggered(sc *scratch) {
	if len(sh.triggers) == 0 {
		return
	}
	ws := phrase.Parts(sc.query.asked)
	from := len(sc.found)
	for _, t := range sh.triggers {
		at := phrase.In(ws, t.words)
		if at < 0 {
			continue
		}
		rank := float64(at+1) - float64(len(t.words))/256 // the first in the text, and the longer phrase
		if i := slices.IndexFunc(sc.found[from:], func(f found) bool { return f.entry == t.e }); i >= 0 {
			sc.found[from+i].Ratio = max(sc.found[from+i].Ratio, 1/rank)
			continue
		}
		sh.addRated(sc, t.e.row, hybrid.Rated{Ratio: 1 / rank, Relevance: 1, Lexical: 1})
	}
}

// byPhrase scores what phrases have brought, in their order in the text.
func byPhrase(fs []found) {
	for i := range fs {
		fs[i].score = fs[i].Ratio
	}
}

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/store"
)

// Explain says why the query ranks the record where it does, or why it leaves
// it out. The record may be in one of the further scopes of the query; one
// that is in none of them is store.ErrNotFound.
func (s Space) Explain(ctx context.Context, q Query, id ID) (Explanation, error) {
	var x Explanation
	err := s.with(ctx, &q, func(sc *scratch) error {
		sh, e := sc.query.locate(id)
		if e == nil {
			return fmt.Errorf("record %q: %w", s.b.sanitize.Sanitize(string(id)), store.ErrNotFound)
		}
		sc.find(0)
		x = s.explanation(sc, sh, e)
		x.Words = sh.words(sc, e)
		return nil
	})
	if err != nil {
		return Explanation{}, fmt.Errorf("memory: explain: %w", err)
	}
	return x, nil
}

// words says how the query weighs, and which of it the record has.
func (sh *shard) words(sc *scratch, e *entry) (out []Word) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	if now := sh.findLocked(e.id); now != nil {
		for _, w := range sh.index.Words(&sc.index, sc.query.text, now.row) {
			out = append(out, Word{Text: w.Text, Weight: w.Share, Found: w.Found})
		}
	}
	return out
}

// locate returns the record that the id leads to in the scopes of the query.
func (q *query) locate(id ID) (*shard, *entry) {
	for _, sh := range q.shards {
		if e := sh.entry(id); e != nil {
			return sh, e
		}
	}
	return nil, nil
}

// fillCosine fills in the cosine of a record that no search has found.
func (sh *shard) fillCosine(sc *scratch, f *found) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	f.Cosine = sh.vectors.Cosine(&sc.hybrid.Vector, f.row)
}

// explanation says where e is among what was found.
func (s Space) explanation(sc *scratch, sh *shard, e *entry) Explanation {
	q := &sc.query
	x := Explanation{ID: e.name(), Of: len(sc.found)}
	is := func(f found) bool { return f.id == e.id && f.sh == sh }
	if i := slices.IndexFunc(sc.found, is); i >= 0 && q.answers(&sc.found[i]) < q.floor {
		f := &sc.found[i]
		x.Score, x.Parts, x.Reason = f.score, s.parts(q, f), "its Answer is below the Floor"
		return x
	}
	vouched := sc.arrange()
	x.Of = len(sc.found)
	i := slices.IndexFunc(sc.found, is)
	if i < 0 {
		f := &found{entry: e, sh: sh, tally: e.counts()}
		if q.vector {
			sh.fillCosine(sc, f)
		}
		x.Parts = s.parts(q, f)
		x.By, x.Reason = sc.absence(e)
		return x
	}
	f := &sc.found[i]
	x.Rank, x.Returned, x.Score, x.Parts = i+1, i < q.k && !q.below(f), f.score, s.parts(q, f)
	x.Reason = fmt.Sprintf("rank %d of %d", x.Rank, x.Of)
	if i >= q.k {
		x.Reason += fmt.Sprintf(", beyond the first %d", q.k)
	}
	if vouched && i == 0 {
		x.Reason += ", before what is in quarantine, since it is trusted"
	}
	x.Reason += ": " + q.account(f, &x.Parts)
	return x
}

// arrange puts all that was found in the order of a recall without a K, and reports
// whether what is trusted was put before what is not.
func (sc *scratch) arrange() (vouched bool) {
	q := &sc.query
	sc.found = slices.DeleteFunc(sc.found, func(f found) bool { return q.answers(&f) < q.floor })
	slices.SortFunc(sc.found, func(a, b found) int { return better(&a, &b) })
	vouched = sc.lead()
	best := sc.order(slices.Clone(sc.found[:min(q.k, len(sc.found))]))
	in := func(f found) bool {
		return slices.ContainsFunc(best, func(o found) bool { return o.entry == f.entry && o.sh == f.sh })
	}
	sc.found = append(best, slices.DeleteFunc(sc.found, in)...)
	if len(sc.found) < q.k {
		sc.found = q.bring(sc.found)
	}
	return vouched
}

// absence says why the query has not found e, and what has its place, if anything.
func (sc *scratch) absence(e *entry) (by ID, why string) {
	q, c := &sc.query, e.counts()
	if over := sc.hidden[e]; over != nil {
		return over.name(), "it is superseded, and gave its place to what supersedes it"
	}
	switch why = q.excludes(e, c); {
	case why != "":
		return "", why
	case c.Archived:
		return "", "it is archived, and what is not matches as well"
	case q.triggered:
		return "", "no phrase of its Triggers is in the query"
	}
	why = "it has no word of the query, nor has what is around it in its Thread, function words aside"
	if q.vector {
		why += fmt.Sprintf(", and its cosine is not above %.2f", q.fusion.Min)
	}
	return "", why
}

// account says what the rank of a record follows from.
func (q *query) account(f *found, p *Parts) string {
	switch {
	case f.link != nil:
		return "it is linked with " + string(f.link.name())
	case q.triggered:
		return "a phrase of its Triggers is in the query"
	case q.below(f):
		return fmt.Sprintf("its activation %.2f is below the threshold %.2f", f.score, q.model.Threshold)
	case q.model != nil:
		return fmt.Sprintf("activation %.2f = base level %.2f + spreading %.2f + mismatch %.2f + noise %.2f",
			p.Activation, p.BaseLevel, p.Spreading, p.Mismatch, p.Noise)
	case q.all:
		return "there is no text, so effectiveness and recency count"
	case f.near:
		return "its score by words is near the best, so effectiveness and recency count too"
	}
	return fmt.Sprintf("its score by words is below %.1f of the best, so nothing else counts", gate)
}

// lead puts the best trusted record of all that was found, in order, before those in
// quarantine, as vouch does, and reports whether there is one.
func (sc *scratch) lead() bool {
	i := -1
	for j := range sc.found {
		if f := &sc.found[j]; f.flags.trusted() && (i < 0 || better(f, &sc.found[i]) < 0) {
			i = j
		}
	}
	if i <= 0 || sc.query.triggered || sc.found[0].flags.trusted() {
		return false
	}
	sc.query.lead(sc.found, 0, i, sc.found[i])
	return true
}

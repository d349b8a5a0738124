package memory

import (
	"context"
	"maps"
	"slices"
)

// Trust ends the quarantine of a record: the host, or a person whom it asked,
// vouches for the text. It is on disk when Trust returns, and idempotent.
func (s Space) Trust(ctx context.Context, id ID) error {
	return s.change(ctx, "trust", id, func(sh *shard, e *entry) error {
		if e.flags&(isQuarantined|isPassing) == 0 {
			return nil
		}
		old, err := s.b.record(ctx, sh, e)
		if err != nil {
			return err
		}
		rec := *old
		rec.Trusted, rec.Passing = true, false
		if err := s.b.rewrite(ctx, sh, e, &rec); err != nil {
			return err
		}
		sh.unqueue(e)
		return nil
	})
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
		q.best = max(q.best, sc.found[i].ratio) // scores stay as they are
	}
	q.without |= isQuarantined
	sc.find(q.enough())
	vouched := slices.DeleteFunc(q.cut(sc.found), func(f found) bool { return hidden[f.entry] != nil })
	q.without, q.attributed = without, attributed
	if len(vouched) == 0 {
		return best
	}
	f := top(vouched, 1)[0]
	at := slices.IndexFunc(best, func(o found) bool { return o.entry == f.entry && o.sh == f.sh })
	return q.lead(best, 0, at, f)
}

// vouches reports whether trusted records may be found that were not the best.
func (sc *scratch) vouches() bool {
	q := &sc.query
	some := slices.ContainsFunc(q.shards, func(sh *shard) bool { return sh.vouched.Load() > 0 })
	return some && !q.apart && !q.triggered
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

// replaces reports whether by may take the place of e unless the host says so:
// what is in quarantine does not take that of what is trusted.
func replaces(by, e *entry) bool { return by.flags.trusted() || !e.flags.trusted() }

package learn

import (
	"bytes"
	"slices"

	"github.com/arc-learn/arc/memory"
)

// What a user's run teaches is that user's: the user has worded the objective, and
// can word it so that a reasoner who obeys it makes any plan, which the gates pass
// since it does what was asked. So it is shown to that user's runs alone, until it is
// confirmed: a run of another user has come to the same plan. That run was not shown
// the first, or it would not have been another user's lesson. Two names of one
// person count as two: who they are, the host says.

// users are those whom the host has named, and whose words a record repeats.
func users(r *memory.Record) (names []string) {
	for _, s := range r.Quotes {
		if named(s) && !slices.Contains(names, s.Ref) {
			names = append(names, s.Ref)
		}
	}
	return names
}

// named reports whether a source is a user whom the host has named.
func named(s memory.Source) bool { return s.Origin == memory.User && s.Ref != "" }

// strange reports whether a record repeats a user other than the one who asks.
// What the host vouches for is the host's.
func strange(r *memory.Record, user string) bool {
	return !r.Trusted && slices.ContainsFunc(users(r), func(name string) bool { return name != user })
}

// confirmed reports whether one of the hits is the same plan for the same case, by a
// run of other users, or of none.
func confirmed(hits []memory.Hit, r *memory.Record) bool {
	own := users(r)
	return len(r.Plan) > 0 && slices.ContainsFunc(hits, func(h memory.Hit) bool {
		theirs := users(&h.Record)
		shared := slices.ContainsFunc(theirs, func(name string) bool { return slices.Contains(own, name) })
		derived := h.Record.Source.Origin == memory.Derived && h.Record.Source.Run != r.Source.Run
		return derived && h.Record.ID != r.ID && !shared && bytes.Equal(h.Record.Plan, r.Plan)
	})
}

// shown returns the hits that a user may see.
func shown(hits []memory.Hit, user string) []memory.Hit {
	var others []memory.ID
	for i := range hits {
		if r := &hits[i].Record; strange(r, user) && !confirmed(hits, r) {
			others = append(others, r.ID)
		}
	}
	return slices.DeleteFunc(hits, func(h memory.Hit) bool { return slices.Contains(others, h.Record.ID) })
}

// mayFire reports whether the plan of a record among hits may run for a user
// without deliberation: as Record.MayFire, where the words of the one who asks are
// not foreign, nor those of users whose plan is confirmed.
func mayFire(hits []memory.Hit, r *memory.Record, user string) bool {
	if strange(r, user) && !confirmed(hits, r) {
		return false
	}
	own := *r
	if slices.ContainsFunc(r.Quotes, named) {
		own.Quotes = slices.DeleteFunc(slices.Clone(r.Quotes), named)
	}
	return own.MayFire()
}

package learn

import (
	"bytes"
	"slices"

	"github.com/arc-learn/arc/memory"
)

// A user words the objective, and so can make a reasoner that obeys produce any plan, which the
// gates pass since it does what was asked. What a user's run teaches is therefore shown to that
// user's runs only, until it is confirmed: a run of another user, which was not shown it, has come
// to the same plan. Whether two names are one person is up to the host; here they count as two.

// users returns the names of the users whose words a record repeats.
func users(r *memory.Record) (names []string) {
	for _, s := range r.Quotes {
		if named(s) && !slices.Contains(names, s.Ref) {
			names = append(names, s.Ref)
		}
	}
	return names
}

// named reports whether a source is a user with a name from the host.
func named(s memory.Source) bool { return s.Origin == memory.User && s.Ref != "" }

// strange reports whether a record repeats the words of a user other than this one, and the host has
// not vouched for it.
func strange(r *memory.Record, user string) bool {
	return !r.Trusted && slices.ContainsFunc(users(r), func(name string) bool { return name != user })
}

// confirmed reports whether one of the hits is the same plan for the same case, made by a run of other
// users or of none.
func confirmed(hits []memory.Hit, r *memory.Record) bool {
	own := users(r)
	return len(r.Plan) > 0 && slices.ContainsFunc(hits, func(h memory.Hit) bool {
		theirs := users(&h.Record)
		shared := slices.ContainsFunc(theirs, func(name string) bool { return slices.Contains(own, name) })
		derived := h.Record.Source.Origin == memory.Derived && h.Record.Source.Run != r.Source.Run
		return derived && h.Record.ID != r.ID && !shared && bytes.Equal(h.Record.Plan, r.Plan)
	})
}

// hidden returns the IDs of the hits that a user may not see.
func hidden(hits []memory.Hit, user string) (others []memory.ID) {
	for i := range hits {
		if r := &hits[i].Record; strange(r, user) && !confirmed(hits, r) {
			others = append(others, r.ID)
		}
	}
	return others
}

// shown returns the hits that a user may see.
func shown(hits []memory.Hit, user string) []memory.Hit {
	others := hidden(hits, user)
	return slices.DeleteFunc(hits, func(h memory.Hit) bool { return slices.Contains(others, h.Record.ID) })
}

// mayFire reports whether the plan of a record among hits may run for a user without deliberation: as
// Record.MayFire does, except that the words of this user, and of users whose plan is confirmed, do
// not count as foreign.
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

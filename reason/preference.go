package reason

import (
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
)

// Choose decides between the alternatives of d, by its preferences. The
// decision that it returns has the Approach and the Tasks of the chosen one,
// and keeps as Alternatives those that may take its place: Choose on these
// alone is the next choice. Where the preferences select none it has an
// Impasse: a tie if nothing tells the candidates apart, a conflict if each is
// worse than another, or if several are required or one is prohibited too,
// no_approach if all are ruled out. Of candidates that are equally good, the
// first is chosen. A decision without alternatives stays as it is. Choose is a
// function of d, which it does not change; d has passed [Decision.Check].
func (d Decision) Choose() Decision {
	if len(d.Alternatives) == 0 {
		return d
	}
	names := make([]string, len(d.Alternatives))
	for i, a := range d.Alternatives {
		names[i] = a.Approach
	}
	outcome, of := prefer(names, d.Preferences)
	if outcome != selected && outcome != anyOf {
		d.Impasse, d.Alternatives, d.Preferences = impasseOf(outcome, of), nil, nil
		return d
	}
	chosen := d.Alternatives[slices.Index(names, of[0])]
	d.Approach, d.Tasks = chosen.Approach, chosen.Tasks
	ps := d.Preferences
	left := only(names, func(n string) bool {
		return n != chosen.Approach && !says(ps, n, "prohibit", "") && !says(ps, n, "reject", "")
	})
	d.Alternatives = only(d.Alternatives, func(a Alternative) bool { return slices.Contains(left, a.Approach) })
	d.Preferences = only(ps, func(p Preference) bool {
		return slices.Contains(left, p.Approach) && (p.Than == "" || slices.Contains(left, p.Than))
	})
	return d
}

// The outcomes of a choice, in Soar's words. All but the first two are
// impasses.
const (
	selected          = "select"             // one candidate
	anyOf             = "indifferent-choice" // the candidates are equally good
	tie               = "tie"                // nothing tells the candidates apart
	conflict          = "conflict"           // each candidate is worse than another
	constraintFailure = "constraint-failure" // several are required, or one that is prohibited
	noChange          = "no-change"          // nothing is left
)

// prefer is Soar's decision procedure, as its kernel has it: a required
// candidate first; then those that are prohibited or rejected leave, then those
// that another one is better than, unless that leaves none (a conflict); then
// all but the best, if any is; then the worst, unless all are.
func prefer(proposed []string, ps []Preference) (outcome string, of []string) {
	if required := only(proposed, func(c string) bool { return says(ps, c, "require", "") }); len(required) > 0 {
		if len(required) > 1 || says(ps, required[0], "prohibit", "") {
			return constraintFailure, required
		}
		return selected, required
	}
	left := only(proposed, func(c string) bool { return !says(ps, c, "prohibit", "") && !says(ps, c, "reject", "") })
	undominated := only(left, func(c string) bool {
		return !slices.ContainsFunc(left, func(b string) bool {
			return b != c && (says(ps, b, "better", c) || says(ps, c, "worse", b))
		})
	})
	if len(undominated) == 0 && len(left) > 0 {
		return conflict, left
	}
	left = undominated
	if best := only(left, func(c string) bool { return says(ps, c, "best", "") }); len(best) > 0 {
		left = best
	}
	if others := only(left, func(c string) bool { return !says(ps, c, "worst", "") }); len(others) > 0 {
		left = others
	}
	switch {
	case len(left) == 0:
		return noChange, nil
	case len(left) == 1:
		return selected, left
	case indifferent(left, ps):
		return anyOf, left
	}
	return tie, left
}

// indifferent reports whether each candidate is as good as any other, or
// equally good as each of the others.
func indifferent(candidates []string, ps []Preference) bool {
	for _, a := range candidates {
		for _, b := range candidates {
			if a != b && !says(ps, a, "indifferent", "") && !says(ps, a, "indifferent", b) && !says(ps, b, "indifferent", a) {
				return false
			}
		}
	}
	return true
}

// says reports whether a statement is among the preferences.
func says(ps []Preference, approach, is, than string) bool {
	return slices.Contains(ps, Preference{approach, is, than})
}

// impasseOf is the impasse that a choice has come to.
func impasseOf(outcome string, of []string) *Impasse {
	for i, c := range of {
		of[i] = strconv.Quote(text.Cut(fence.Line(c), 200))
	}
	names := strings.Join(of, ", ")
	switch outcome {
	case tie:
		return &Impasse{tie, "nothing tells these approaches apart: " + names, "find out which of these is best: " + names}
	case noChange:
		const ruledOut = "every approach that was proposed is ruled out"
		return &Impasse{"no_approach", ruledOut, "find an approach that is not ruled out"}
	}
	return &Impasse{conflict, outcome + " between these approaches: " + names, "settle which of these to take: " + names}
}

// only returns those of list that ok holds for.
func only[T any](list []T, ok func(T) bool) (out []T) {
	for _, v := range list {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}

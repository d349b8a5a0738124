package reason

import "slices"

// Preferences are what is known for and against candidates, such as approaches
// that several rules, memories or models have proposed. They are Soar's (Laird
// 2012, chapter 4): each is a statement about candidates by name, and none of
// them has a weight.
type Preferences struct {
	Acceptable  []string    // proposed; the others speak about these
	Require     []string    // must be chosen
	Prohibit    []string    // must not be chosen
	Reject      []string    // not to be considered
	Better      [][2]string // the first is better than the second
	Best, Worst []string
	// Indifferent candidates are as good as any other, EquallyGood ones as
	// each other.
	Indifferent []string
	EquallyGood [][2]string
}

// ChoiceOutcome says what preferences lead to.
type ChoiceOutcome string

// The outcomes. All but the first two are impasses.
const (
	Selected          ChoiceOutcome = "select"             // one candidate
	AnyOf             ChoiceOutcome = "indifferent-choice" // the candidates are equally good: chance, or a ranking, decides
	Tie               ChoiceOutcome = "tie"                // nothing tells them apart
	Conflicting       ChoiceOutcome = "conflict"           // each is worse than another of them
	ConstraintFailure ChoiceOutcome = "constraint-failure" // several are required, or one that is prohibited
	NoChange          ChoiceOutcome = "no-change"          // nothing is proposed
)

// Choice is what preferences lead to, and the candidates that it is about, in
// the order in which they were proposed.
type Choice struct {
	Outcome    ChoiceOutcome
	Candidates []string
}

// Impasse returns the kind of impasse that the choice is, and false if it is
// none: no approach without candidates, a conflict otherwise.
func (c Choice) Impasse() (ImpasseKind, bool) {
	switch c.Outcome {
	case Selected, AnyOf:
		return "", false
	case NoChange:
		return NoApproach, true
	}
	return Conflict, true
}

// Choose evaluates preferences by Soar's decision procedure, as its kernel has
// it: required candidates first; then those that are prohibited or rejected
// leave, then those that another one is better than, unless that leaves none
// (a conflict); then all but the best, if any is; then the worst, unless all
// are; what is left is selected, indifferent, or a tie. It is a function of its
// argument.
func (p Preferences) Choose() Choice {
	if required := distinct(p.Require); len(required) > 0 {
		if len(required) > 1 || slices.Contains(p.Prohibit, required[0]) {
			return Choice{ConstraintFailure, required}
		}
		return Choice{Selected, required}
	}
	left := slices.DeleteFunc(distinct(p.Acceptable), func(c string) bool {
		return slices.Contains(p.Prohibit, c) || slices.Contains(p.Reject, c)
	})
	undominated := p.undominated(left)
	if len(undominated) == 0 && len(left) > 0 {
		return Choice{Conflicting, left}
	}
	left = undominated
	if best := keep(left, func(c string) bool { return slices.Contains(p.Best, c) }); len(best) > 0 {
		left = best
	}
	if others := keep(left, func(c string) bool { return !slices.Contains(p.Worst, c) }); len(others) > 0 {
		left = others
	}
	switch {
	case len(left) == 0:
		return Choice{Outcome: NoChange}
	case len(left) == 1:
		return Choice{Selected, left}
	case p.indifferent(left):
		return Choice{AnyOf, left}
	}
	return Choice{Tie, left}
}

// undominated returns those of left that none of the others is better than.
func (p *Preferences) undominated(left []string) []string {
	return keep(left, func(c string) bool {
		return !slices.ContainsFunc(p.Better, func(b [2]string) bool { return b[1] == c && b[0] != c && slices.Contains(left, b[0]) })
	})
}

// indifferent reports whether each of left is as good as any other, or equally
// good as each of the others.
func (p *Preferences) indifferent(left []string) bool {
	for _, a := range left {
		if slices.Contains(p.Indifferent, a) {
			continue
		}
		for _, b := range left {
			if a != b && !slices.Contains(p.EquallyGood, [2]string{a, b}) && !slices.Contains(p.EquallyGood, [2]string{b, a}) {
				return false
			}
		}
	}
	return true
}

// keep returns those of names that ok holds for.
func keep(names []string, ok func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !ok(n) })
}

// distinct returns each name once, in order of the first.
func distinct(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

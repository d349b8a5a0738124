package reason

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
)

// preferences are what Preference.Is can be.
var preferences = []string{
	"acceptable", "require", "prohibit", "reject", "best", "worst", "better", "worse", "indifferent",
}

// Check returns nil if d can be acted on, and else what is wrong with it, in words for [Brief.Complaint].
// Whether the workers and suggestions that it names are there is not seen.
func (d *Decision) Check() error {
	if d == nil {
		return errors.New("there is no decision")
	}
	given := 0
	for _, is := range []bool{
		len(d.Tasks) > 0, d.Use != "", len(d.Alternatives) > 0, d.Impasse != "", len(d.Questions) > 0,
	} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("give exactly one of tasks, use, alternatives, impasse and questions")
	case d.Impasse != "" && !slices.Contains(impasses, d.Impasse):
		return fmt.Errorf("the kind of impasse is %.70q, not one of %q", d.Impasse, impasses)
	case d.Impasse != "" && blank(d.Reasoning) && blank(d.Subgoal):
		return errors.New("the impasse says neither why nor a subgoal")
	case len(d.Questions) > maxTasks:
		return fmt.Errorf("%d questions; at most %d", len(d.Questions), maxTasks)
	case slices.ContainsFunc(d.Questions, blank):
		return errors.New("a question is empty")
	}
	if err := cmp.Or(d.checkAlternatives(), d.checkTasks()); err != nil {
		return err
	}
	all, err := schema.Marshal(d)
	if err != nil {
		err = fmt.Errorf("inputs are no JSON: %w", err)
	} else if len(all) > maxDecision {
		err = fmt.Errorf("the decision has %d bytes; at most %d", len(all), maxDecision)
	}
	return err
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// tasks are those of d and of its alternatives.
func (d *Decision) tasks() (all []*Task) {
	for _, a := range append([]Decision{*d}, d.Alternatives...) {
		for i := range a.Tasks {
			all = append(all, &a.Tasks[i])
		}
	}
	return all
}

func (d *Decision) checkTasks() error {
	for i, t := range d.tasks() {
		switch {
		case i == maxTasks:
			return fmt.Errorf("more than %d tasks", maxTasks)
		case blank(t.Objective):
			return fmt.Errorf("task %d has no objective", i+1)
		}
	}
	return nil
}

func (d *Decision) checkAlternatives() error {
	if len(d.Alternatives) > maxAlternatives || len(d.Preferences) > maxAlternatives*maxAlternatives {
		return fmt.Errorf("more than %d alternatives, or %[1]d preferences for each", maxAlternatives)
	}
	var names []string
	for i, a := range d.Alternatives {
		switch {
		case blank(a.Approach) || slices.Contains(names, a.Approach):
			return fmt.Errorf("the approach of alternative %d is empty, or that of another", i+1)
		case len(a.Tasks) == 0:
			return fmt.Errorf("alternative %d has no tasks", i+1)
		}
		names = append(names, a.Approach)
	}
	for i, p := range d.Preferences {
		compares := p.Is == "better" || p.Is == "worse"
		switch {
		case !slices.Contains(preferences, p.Is):
			return fmt.Errorf("preference %d is %.70q, not one of %q", i+1, p.Is, preferences)
		case !slices.Contains(names, p.Approach), p.Than != "" && !slices.Contains(names, p.Than):
			return fmt.Errorf("preference %d names no alternative", i+1)
		case compares && p.Than == "", p.Than != "" && !compares && p.Is != "indifferent":
			return fmt.Errorf("preference %d: better and worse need a than, indifferent may have one", i+1)
		}
	}
	return nil
}

// Choose decides between the alternatives of d, by its preferences, as Soar's kernel does (Laird 2012,
// chapter 4). The result has the Approach and the Tasks of the chosen one, and keeps as Alternatives those
// that may take its place: Choose on these alone is the next choice. Of candidates that are equally good, the
// first is chosen. Where the preferences select none, it has an Impasse: "conflict" where nothing tells the
// candidates apart, each is worse than another, or more is required than can be; "no_approach" where all are
// ruled out. Without alternatives it is d. d has passed [Decision.Check], and is not changed.
func (d *Decision) Choose() *Decision {
	if len(d.Alternatives) == 0 {
		return d
	}
	names := each(d.Alternatives, func(a Decision) string { return a.Approach })
	out := new(*d)
	impasse, of := prefer(names, d.Preferences)
	if impasse != nil {
		out.Alternatives, out.Preferences = nil, nil
		out.Impasse, out.Reasoning, out.Subgoal = impasse.Impasse, impasse.Reasoning, impasse.Subgoal
		return out
	}
	chosen := d.Alternatives[slices.Index(names, of[0])]
	out.Approach, out.Tasks = chosen.Approach, chosen.Tasks
	left := only(names, func(n string) bool { return n != chosen.Approach && !ruledOut(d.Preferences, n) })
	out.Alternatives = only(d.Alternatives, func(a Decision) bool { return slices.Contains(left, a.Approach) })
	out.Preferences = only(d.Preferences, func(p Preference) bool {
		return slices.Contains(left, p.Approach) && (p.Than == "" || slices.Contains(left, p.Than))
	})
	return out
}

// prefer is the decision procedure: a required candidate first; then those that are prohibited or rejected
// leave, then those that another is better than, unless that leaves none (a conflict); then all but the best,
// if any is; then the worst, unless all are. What is left is equally good. Else it returns an impasse.
func prefer(proposed []string, ps []Preference) (*Decision, []string) {
	is := func(what string) func(string) bool {
		return func(c string) bool { return says(ps, c, what, "") }
	}
	between := func(why string, of []string) *Decision {
		names := fence.Clip(fmt.Sprintf("%q", of), maxTold)
		find := "find out which of these approaches to take: " + names
		return &Decision{Impasse: conflict, Reasoning: why + names, Subgoal: find}
	}
	if required := only(proposed, is("require")); len(required) > 0 {
		if len(required) > 1 || says(ps, required[0], "prohibit", "") {
			return between("more is required of these approaches than can be: ", required), nil
		}
		return nil, required
	}
	left := only(proposed, func(c string) bool { return !ruledOut(ps, c) })
	undominated := only(left, func(c string) bool {
		return !slices.ContainsFunc(left, func(b string) bool {
			return b != c && (says(ps, b, "better", c) || says(ps, c, "worse", b))
		})
	})
	if len(undominated) == 0 && len(left) > 0 {
		return between("each of these approaches is worse than another: ", left), nil
	}
	left = undominated
	if best := only(left, is("best")); len(best) > 0 {
		left = best
	}
	if others := only(left, func(c string) bool { return !says(ps, c, "worst", "") }); len(others) > 0 {
		left = others
	}
	switch {
	case len(left) == 0:
		why := "every approach that was proposed is ruled out"
		return &Decision{Impasse: noApproach, Reasoning: why, Subgoal: "find an approach that is not"}, nil
	case len(left) > 1 && !indifferent(left, ps):
		return between("nothing tells these approaches apart: ", left), nil
	}
	return nil, left
}

// indifferent reports whether each candidate is as good as any other, or as good as each of the others.
func indifferent(candidates []string, ps []Preference) bool {
	for _, a := range candidates {
		for _, b := range candidates {
			asB := says(ps, a, "indifferent", b) || says(ps, b, "indifferent", a)
			if a != b && !asB && !says(ps, a, "indifferent", "") {
				return false
			}
		}
	}
	return true
}

func ruledOut(ps []Preference, c string) bool {
	return says(ps, c, "prohibit", "") || says(ps, c, "reject", "")
}

func says(ps []Preference, approach, is, than string) bool {
	return slices.Contains(ps, Preference{approach, is, than})
}

func only[T any](list []T, ok func(T) bool) (out []T) {
	for _, v := range list {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}

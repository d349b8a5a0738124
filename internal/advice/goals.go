package advice

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/reason/goal"
)

// Settled is a change of a goal or an action that stands, and since when.
type Settled struct {
	Goal
	Since time.Time
}

// Find returns what stands of a goal or an action, a change of nothing if nothing does.
func Find(all []Settled, g Goal) Settled {
	for _, s := range all {
		if s.Same(&g) {
			return s
		}
	}
	return Settled{Goal: Goal{g.Controller, goal.Override{Goal: g.Goal, Action: g.Action}}}
}

// record is what is known of a goal or an action since what stands was approved.
type record struct {
	Settled
	ends   []meta.Outcome
	actual []*float64 // what violated the goal, at each of them
}

// Kept is what a controller keeps, and what came of it.
type Kept struct {
	Controller string
	Goals      []goal.Goal
	Outcomes   []goal.Outcome
	// Handed are the dispatches that came to a person: Key is the ID, Goal that of the
	// goal.
	Handed  []meta.Outcome
	Settled []Settled
}

// Goals proposes what may help goals that are never met, or that people do not let be
// met, and actions that keep failing.
func Goals(now time.Time, k *Kept) (out []proposal.Proposal) {
	goals, actions := make(map[string]*record), make(map[string]*record)
	note := func(in map[string]*record, o *goal.Outcome, name string, g Goal) {
		r := in[name]
		if r == nil {
			r = &record{Settled: Find(k.Settled, g)}
			in[name] = r
		}
		if !o.Ended.After(r.Since) {
			return
		}
		end := meta.Outcome{Goal: name, Success: o.End == goal.Succeeded, At: o.Ended}
		if o.End == goal.Interrupted {
			end.Note = "canceled"
		}
		r.ends, r.actual = append(r.ends, end), append(r.actual, o.Actual)
	}
	for i := range k.Outcomes {
		o := &k.Outcomes[i]
		tried := o.Actions
		switch {
		case len(tried) == 0:
			continue
		case o.End == goal.Succeeded || o.End == goal.Unseen && o.Why != "":
		case o.End == goal.Failed || o.End == goal.Interrupted:
			at := min(o.Done, len(tried)-1)
			tried = tried[at : at+1]
		default:
			continue // what came of it is not known, or it was not tried
		}
		note(goals, o, o.Goal, Goal{k.Controller, goal.Override{Goal: o.Goal}})
		for _, action := range tried {
			note(actions, o, action, Goal{k.Controller, goal.Override{Action: action}})
		}
	}
	for i := range k.Goals {
		g := &k.Goals[i]
		r := cmp.Or(goals[g.ID], &record{Settled: Find(k.Settled, Goal{k.Controller, goal.Override{Goal: g.ID}})})
		handed := slices.DeleteFunc(slices.Clone(k.Handed), func(o meta.Outcome) bool {
			return o.Goal != g.ID || !o.At.After(r.Since)
		})
		if !g.Disabled && len(r.ends)+len(handed) > 0 {
			out = r.goal(out, now, g, handed)
		}
	}
	for _, action := range slices.Sorted(maps.Keys(actions)) {
		out = actions[action].rest(out, now)
	}
	return out
}

// goal proposes a target that guards against worse, else to act on other goals first
// and, of one that comes last, to give it up. What people refuse is given up.
func (r *record) goal(out []proposal.Proposal, now time.Time, g *goal.Goal, handed []meta.Outcome) []proposal.Proposal {
	tallies := analyse(now, r.ends, handed)
	i := slices.IndexFunc(tallies, func(t tally) bool { return t.alert != "" && (t.escalated || t.successes == 0) })
	if i < 0 {
		return out
	}
	c, t := r.Goal, &tallies[i]
	p := proposal.Proposal{Kind: "goal", Reason: t.alert, Samples: t.total, Needs: t.total}
	p.Subject = subject("goal", c.Controller+"/"+g.ID)
	minimum, maximum := r.reach(g)
	switch {
	case t.escalated:
		c.Disabled, p.Advice = true, "give it up, or give a worker the means to meet it without a person"
	case minimum != nil || maximum != nil:
		c.Min, c.Max = cmp.Or(minimum, c.Min), cmp.Or(maximum, c.Max)
		p.Advice = "want no more than what was there at worst, so that only worse counts; or add an action that helps"
	case g.Severity != "low":
		c.Severity, p.Advice = "low", "act on other goals first; or add an action that helps"
	default:
		c.Disabled, p.Advice = true, "give it up, since it comes last already; or add an action that helps"
	}
	return appendChange(out, p, c)
}

// reach is the bound that every value had kept which violated the goal; nil: there is
// none.
func (r *record) reach(g *goal.Goal) (minimum, maximum *float64) {
	for _, v := range r.actual {
		switch {
		case v != nil && g.Min != nil && *v < *g.Min && maximum == nil:
			if minimum == nil || *v < *minimum {
				minimum = v
			}
		case v != nil && g.Max != nil && *v > *g.Max && minimum == nil:
			if maximum == nil || *v > *maximum {
				maximum = v
			}
		default:
			return nil, nil
		}
	}
	return minimum, maximum
}

// How long an action is to rest that keeps failing, and one that always fails, in
// minutes.
const (
	restOfFailing  = 60
	restOfHopeless = 24 * 60
)

// rest proposes to leave an action alone for a while whenever it came to nothing.
func (r *record) rest(out []proposal.Proposal, now time.Time) []proposal.Proposal {
	c := r.Goal
	for _, t := range analyse(now, r.ends, nil) {
		rest := restOfFailing
		if t.successes == 0 {
			rest = restOfHopeless
		}
		if t.alert == "" || rest <= c.RestMinutes {
			continue
		}
		c.RestMinutes = rest
		out = appendChange(out, proposal.Proposal{
			Kind: "action", Subject: subject("action", c.Controller+"/"+c.Action), Reason: t.alert, Samples: t.total, Needs: t.total,
			Advice: "leave it alone for a while once it came to nothing: others are tried meanwhile; without any, the goal waits",
		}, c)
	}
	return out
}

// Handed returns the outcomes of runs that came to a person for goals of a controller,
// and those of other runs.
func Handed(controller string, runs []meta.Outcome) (ours, others []meta.Outcome) {
	for _, o := range runs {
		id, ok := strings.CutPrefix(o.Goal, "goal ")
		if !ok || !strings.HasPrefix(o.Key, controller+"/") {
			others = append(others, o)
			continue
		}
		o.Goal = id
		ours = append(ours, o)
	}
	return ours, others
}

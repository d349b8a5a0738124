package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
)

// What evidence is asked for.
const (
	Window    = 7 * 24 * time.Hour // of a worker's samples
	needs     = 50                 // samples of a worker
	minRecent = 10                 // of them in the last day
	minMisled = 3                  // times that a memory misled
	harmful   = 0.3                // its effectiveness, at most
)

// Skills advises on the skills that keep failing, and on what people are asked again
// and again: attempts have the skill as their Goal, asked what was handed to a person.
func Skills(now time.Time, attempts, asked []meta.Outcome) (out []proposal.Proposal) {
	for _, t := range analyse(now, attempts, asked) {
		if t.alert == "" {
			continue
		}
		p := proposal.Proposal{
			Kind: "action", Subject: subject("skill", t.subject), Reason: t.alert, Samples: t.total, Needs: t.total,
			Advice: "give the skill another worker or a gate whose complaints help, or take it from the reasoner's list",
		}
		if t.escalated {
			p.Subject = subject("asked about", t.subject)
			p.Advice = "say in a memory or a skill's text what was answered, or give a worker the means to decide it"
		}
		out = append(out, p)
	}
	return out
}

// Workers proposes changes for workers that have a reliever. Those that have come to
// fail more often than not are to be tried last, and those that always fail to be
// paused. Those that cost twice as much a task as another, which succeeds as often, are
// to be tried last, too. Samples are those of posts in turn.
func Workers(now time.Time, samples map[Post][]rank.Sample, relieved func(Post) bool) (out []proposal.Proposal) {
	posts := slices.SortedFunc(maps.Keys(samples), func(a, b Post) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Skill, b.Skill))
	})
	for _, at := range posts {
		ss := samples[at]
		slices.SortFunc(ss, func(x, y rank.Sample) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(x.Key, y.Key)) })
		if !relieved(at) {
			continue
		}
		p := proposal.Proposal{Kind: "executor", Subject: subject(at.Worker+" at", at.Skill), Needs: needs}
		n, successes := chronic(ss)
		day := slices.DeleteFunc(slices.Clone(ss), func(s rank.Sample) bool { return now.Sub(s.At) > rank.Day })
		if recent, _ := chronic(day); recent >= minRecent {
			c := Worker{at, TriedLast}
			if successes == 0 && n >= needs {
				c.Standing = Paused
			}
			p.Samples = n
			p.Reason = fmt.Sprintf("%s succeeded in %d of the last %d attempts at %q", at.Worker, successes, n, at.Skill)
			out = appendChange(out, p, c)
			continue
		}
		own := costOf(ss)
		for _, other := range posts {
			theirs := costOf(samples[other])
			if other.Skill == at.Skill && theirs.enough() && 2*theirs.cost <= own.cost && theirs.rate >= own.rate {
				p.Kind, p.Samples = "config", min(own.n, theirs.n)
				p.Reason = fmt.Sprintf("%s %v; %s %v", at.Worker, own, other.Worker, theirs)
				if own.enough() {
					out = appendChange(out, p, Worker{at, TriedLast})
				}
				break
			}
		}
	}
	return out
}

// chronic returns the number of samples, the latest first, up to which fewer than a
// half succeeded, and how many of them did.
func chronic(samples []rank.Sample) (n, successes int) {
	sum := 0
	for i, s := range samples {
		if s.Success {
			sum++
		}
		if 2*sum < i+1 {
			n, successes = i+1, sum
		}
	}
	return n, successes
}

// price is what a task costs a worker.
type price struct {
	n          int
	rate, cost float64
}

func costOf(samples []rank.Sample) (p price) {
	for _, s := range samples {
		p.cost += s.CostUSD
		if s.Success {
			p.rate++ // a sum of shares would be off in its last digit
		}
	}
	n := float64(max(1, len(samples)))
	return price{len(samples), p.rate / n, p.cost / n}
}

func (p price) enough() bool { return p.n >= needs && p.cost > 0 }

func (p price) String() string {
	return fmt.Sprintf("costs $%.4f a task and succeeds in %.0f %% of %d", p.cost, 100*p.rate, p.n)
}

// Memories proposes to archive a memory that misleads, or that Holdout shows to do
// harm.
func Memories(scope memory.Scope, r *memory.Record, u meta.Uplift, text string) []proposal.Proposal {
	p := proposal.Proposal{
		Kind: "memory", Subject: subject(string(scope), string(r.ID)),
		Advice: "archive it: it is found when asked for, and not shown by default",
	}
	switch {
	case r.Stats.Misled >= minMisled && r.Effectiveness() < harmful:
		p.Reason = fmt.Sprintf("it misled %d times and helped %d times: %s", r.Stats.Misled, r.Stats.Helped, text)
		p.Samples, p.Needs = r.Stats.Misled, minMisled
	case u.High < 0:
		p.Reason = fmt.Sprintf("runs go better without it: %v: %s", u, text)
		p.Samples, p.Needs = u.Treated+u.Withheld, u.Treated+u.Withheld
	default:
		return nil
	}
	return appendChange(nil, p, Memory{scope, r.ID, true})
}

// Issue hands on what memory itself has found.
func Issue(scope memory.Scope, i memory.Issue) proposal.Proposal {
	return proposal.Proposal{
		Kind: "memory", Subject: subject(string(scope), i.Text), Reason: i.Text, Advice: i.Advice, Samples: 1, Needs: 1,
	}
}

// Package applied tells what the proposals that persons have approved make of workers and goals.
// They alone are stored: what follows from them is made anew from all of them.
package applied

import (
	"fmt"
	"iter"
	"slices"

	"github.com/arc-learn/arc/internal/advice"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
)

// Set is what follows from the proposals of a tenant. It is not changed once it is made. That of
// no proposals, and nil, leaves all as it is.
type Set struct {
	standings map[advice.Post]string
	settled   []advice.Settled
}

// Of returns the Set of those of the proposals that are applied, the later one of two about the same.
func Of(proposals iter.Seq2[proposal.Proposal, error]) (*Set, error) {
	var all []proposal.Proposal
	for p, err := range proposals {
		if err != nil {
			return nil, fmt.Errorf("proposals: %w", err)
		}
		if p.Status == "applied" {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b proposal.Proposal) int { return a.Decided.Compare(b.Decided) })
	s := &Set{standings: make(map[advice.Post]string)}
	for _, p := range all {
		var w advice.Worker
		var g advice.Goal
		switch {
		case ToWorker(p.Kind) && advice.Decode(p.Change, &w) == nil:
			s.standings[w.Post] = w.Standing
		case ToGoal(p.Kind) && advice.Decode(p.Change, &g) == nil:
			s.settled = slices.DeleteFunc(s.settled, func(is advice.Settled) bool { return is.Same(&g) })
			s.settled = append(s.settled, advice.Settled{Goal: g, Since: p.Decided})
		}
	}
	return s, nil
}

// ToWorker and ToGoal say what a kind of proposal changes.
func ToWorker(kind string) bool { return kind == "executor" || kind == "config" }
func ToGoal(kind string) bool   { return kind == "goal" || kind == "action" }

// Standing is that of a worker for a skill.
func (s *Set) Standing(worker, skill string) string {
	if s == nil {
		return advice.InTurn
	}
	return s.standings[advice.Post{Worker: worker, Skill: skill}]
}

// Settled are the changes of goals, the latest last. The list is not the caller's to change.
func (s *Set) Settled() []advice.Settled {
	if s == nil {
		return nil
	}
	return s.settled
}

// Seat puts workers, ranked for a skill, into the order that their standings ask for, and leaves
// out those that are paused.
func (s *Set) Seat(skill string, ranking []rank.Scored) []rank.Scored {
	if s == nil || len(s.standings) == 0 {
		return ranking
	}
	var first, last []rank.Scored
	for _, r := range ranking {
		switch s.Standing(r.Candidate.Name, skill) {
		case advice.TriedLast:
			last = append(last, r)
		case advice.InTurn:
			first = append(first, r)
		}
	}
	return append(first, last...)
}

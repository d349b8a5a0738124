// Package applied computes the effect of the applied proposals on workers and goals. Only the proposals are
// stored; their effect is computed anew from all of them.
package applied

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/arc-learn/arc/internal/advice"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Set is the effect of a tenant's proposals. It is immutable. A nil Set, and that of no proposals, has no effect.
type Set struct {
	standings map[advice.Post]string
	settled   []advice.Settled
	of        []proposal.Proposal // the latest last
}

// Of returns the Set of the proposals that are applied. Of several about one subject the latest counts. One that
// is damaged has the effect that it has in was, which may be nil.
func Of(proposals iter.Seq2[proposal.Proposal, error], was *Set) (*Set, error) {
	var all []proposal.Proposal
	for p, err := range proposals {
		if errors.Is(err, store.ErrDamaged) {
			same := func(q proposal.Proposal) bool { return q.ID == p.ID }
			if i := slices.IndexFunc(was.proposals(), same); i >= 0 {
				all = append(all, was.of[i])
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("proposals: %w", err)
		}
		if p.Status == "applied" {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b proposal.Proposal) int { return a.Decided.Compare(b.Decided) })
	s := &Set{standings: make(map[advice.Post]string), of: all}
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

func (s *Set) proposals() []proposal.Proposal {
	if s == nil {
		return nil
	}
	return s.of
}

// ToWorker and ToGoal report what a kind of proposal changes.
func ToWorker(kind string) bool { return kind == "executor" || kind == "config" }
func ToGoal(kind string) bool   { return kind == "goal" || kind == "action" }

// Standing returns the standing of a worker for a skill.
func (s *Set) Standing(worker, skill string) string {
	if s == nil {
		return advice.InTurn
	}
	return s.standings[advice.Post{Worker: worker, Skill: skill}]
}

// Settled returns the changes of goals, the latest last. The caller must not change the list.
func (s *Set) Settled() []advice.Settled {
	if s == nil {
		return nil
	}
	return s.settled
}

// Seat orders workers that are ranked for a skill by their standings, and removes those that are paused.
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

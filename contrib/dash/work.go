package dash

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// maxJobs are those of a state that a page shows.
const maxJobs = 100

// overview is the first page.
type overview struct {
	Health  arc.Health
	Runs    []runRow
	Waiting []arc.Approval
	Asking  []runRow
	Kinds   []string // how many memories there are of each
}

func (d *desk) overview(q *ask) (any, error) {
	var o overview
	var err error
	if o.Health, err = d.agent.Health(q.Context(), q.scope); err != nil {
		return nil, err
	}
	if o.Runs, err = d.latest(q, arc.Filter{Limit: 8}); err != nil {
		return nil, err
	}
	if o.Waiting, err = d.pending(q); err != nil {
		return nil, err
	}
	for _, k := range kinds {
		o.Kinds = append(o.Kinds, counted(o.Health.Kinds[k], string(k), string(k)+"s"))
	}
	o.Asking, err = d.latest(q, arc.Filter{Status: arc.Asking, Limit: 5})
	return live{o}, err
}

func (d *desk) health(q *ask) (any, error) { return d.agent.Health(q.Context(), q.scope) }

func (d *desk) fleet(q *ask) (any, error) {
	h, err := d.agent.Health(q.Context(), q.scope)
	return h.Fleet, err
}

// rankPage says who would be tried, and why.
type rankPage struct {
	Skill, Situation string
	Ranking          []rank.Scored
	None             bool
}

func (d *desk) ranking(q *ask) (any, error) {
	p := rankPage{Skill: q.query.Get("skill"), Situation: q.query.Get("situation")}
	ss, err := q.view.Rank(q.Context(), p.Situation, reason.Task{Skill: p.Skill})
	switch {
	case errors.Is(err, rank.ErrNoCandidate):
		p.None, err = true, nil
	case errors.Is(err, rank.ErrSituation):
		err = fmt.Errorf("%w: %w", errBad, err)
	}
	p.Ranking, p.None = ss, p.None || len(ss) == 0
	return p, err
}

// jobList are jobs of a state.
type jobList struct {
	State  string
	States []queue.State
	Jobs   []queue.Job
	More   bool
}

func (d *desk) jobs(q *ask) (any, error) {
	l := jobList{
		State:  q.query.Get("state"),
		States: []queue.State{queue.Active, queue.Pending, queue.Parked, queue.Blocked, queue.Failed, queue.Completed},
	}
	var of []queue.State
	if l.State != "" {
		if !slices.Contains(l.States, queue.State(l.State)) {
			return nil, fmt.Errorf("%w: no such state", errBad)
		}
		of = []queue.State{queue.State(l.State)}
	}
	for j, err := range d.queue.Jobs(q.Context(), of...) {
		if err != nil {
			return nil, err
		}
		if !j.Scope.Within(q.scope) {
			continue
		}
		if l.More = len(l.Jobs) == maxJobs; l.More {
			break
		}
		l.Jobs = append(l.Jobs, j)
	}
	return live{l}, nil
}

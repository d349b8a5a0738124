package dash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

const (
	maxJobs    = 100             // of a state that a page shows
	lookTime   = 5 * time.Second // for which a page looks for them
	maxSensors = 200
	costDays   = 30
	costRuns   = 200 // of which the page says what they used in all
)

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
	return live{body: o, runs: true}, err
}

func (d *desk) health(q *ask) (any, error) { return d.agent.Health(q.Context(), q.scope) }

func (d *desk) fleet(q *ask) (any, error) {
	h, err := d.agent.Health(q.Context(), q.scope)
	return h.Fleet, err
}

// rankPage says who would be tried, and why.
type rankPage struct {
	Skill, Situation string
	Skills           []string      // of the latest runs
	Ranking          []rank.Scored // empty: no worker can
}

func (d *desk) ranking(q *ask) (any, error) {
	p := rankPage{Skill: q.query.Get("skill"), Situation: q.query.Get("situation")}
	var err error
	if p.Skills, err = d.skills(q); err != nil {
		return nil, err
	}
	if len(p.Skills) > 0 && !q.query.Has("skill") {
		p.Skill = p.Skills[0]
	}
	p.Ranking, err = q.view.Rank(q.Context(), p.Situation, reason.Task{Skill: p.Skill})
	switch {
	case errors.Is(err, rank.ErrNoCandidate):
		p.Ranking, err = nil, nil
	case errors.Is(err, rank.ErrSituation):
		err = fmt.Errorf("%w: %w", errBad, err)
	}
	return p, err
}

// skills are those that the tasks of the latest runs have asked for.
func (d *desk) skills(q *ask) (names []string, err error) {
	rows, err := d.latest(q, arc.Filter{Limit: 20})
	for i := 0; i < len(rows) && err == nil; i++ {
		var r *arc.Report
		r, err = q.view.Report(q.Context(), rows[i].ID)
		if errors.Is(err, store.ErrNotFound) {
			err = nil // deleted since
			continue
		} else if err != nil {
			break
		}
		for _, g := range r.Aims {
			for _, task := range g.Tasks {
				if task.Skill != "" && !slices.Contains(names, task.Skill) {
					names = append(names, task.Skill)
				}
			}
		}
	}
	return names, err
}

// jobList are jobs of a state.
type jobList struct {
	State  string
	States []queue.State
	Jobs   []queue.Job
	More   bool
	Cut    bool // lookTime was over
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
	if d.queue.Tenant() != q.scope.Tenant() {
		return live{body: l}, nil
	}
	ctx, cancel := context.WithTimeout(q.Context(), lookTime)
	defer cancel()
	for j, err := range d.queue.Jobs(ctx, of...) {
		if l.Cut = err != nil && ctx.Err() != nil && q.Context().Err() == nil; l.Cut {
			break
		}
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
	return live{body: l}, nil
}

// sensors says how the sensors of the queue stand. They are the tenant's.
func (d *desk) sensors(q *ask) (any, error) {
	out := []queue.SensorState{}
	if d.queue.Tenant() != q.scope.Tenant() {
		return live{body: out}, nil
	}
	for s, err := range d.queue.Sensors(q.Context()) {
		if err != nil {
			return nil, err
		}
		if out = append(out, s); len(out) == maxSensors {
			break
		}
	}
	return live{body: out}, nil
}

// costPage is what the attempts of the last days came to, and what the latest runs of
// these days used, their reasoner and gates included.
type costPage struct {
	Days    []costRow // oldest first, without gaps
	Workers []costRow // the dearest first
	All     costRow
	Most    float64
	Runs    int
	Used    act.Usage
}

// costRow sums the costs of a day, or of a worker at a skill.
type costRow struct {
	Day                 time.Time
	Worker, Skill       string
	Samples, Successes  int
	TokensIn, TokensOut int
	Reported, Estimated float64
	USD                 float64 // as reported, or else as estimated
	X, Y, High          float64 // of its bar
}

func (c *costRow) add(t *rank.Tally) {
	c.Samples += t.Samples
	c.Successes += t.Successes
	c.TokensIn += t.TokensIn
	c.TokensOut += t.TokensOut
	c.Reported += t.CostUSD
	c.Estimated += t.APICostUSD
	c.USD += t.USD
}

func (d *desk) costs(q *ask) (any, error) {
	today := d.now().UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-costDays)
	tallies, err := q.view.Costs(q.Context(), since)
	if err != nil {
		return nil, err
	}
	p := costPage{Days: make([]costRow, costDays)}
	for r, err := range q.view.Runs(q.Context(), arc.Filter{Scope: q.scope, Since: since, Limit: costRuns}) {
		if err != nil {
			return nil, err
		}
		p.Runs, p.Used = p.Runs+1, p.Used.Add(r.Usage)
	}
	for i := range p.Days {
		p.Days[i].Day = since.AddDate(0, 0, i)
	}
	workers := map[[2]string]*costRow{}
	for i := range tallies {
		t := &tallies[i]
		if day := int(t.From.Sub(since) / (24 * time.Hour)); day >= 0 && day < costDays {
			p.Days[day].add(t)
		}
		p.All.add(t)
		k := [2]string{t.Candidate, t.Skill}
		if workers[k] == nil {
			workers[k] = &costRow{Worker: t.Candidate, Skill: t.Skill}
		}
		workers[k].add(t)
	}
	for _, w := range workers {
		p.Workers = append(p.Workers, *w)
	}
	slices.SortFunc(p.Workers, func(a, b costRow) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Skill, b.Skill))
	})
	for i := range p.Days {
		p.Most = max(p.Most, p.Days[i].USD)
	}
	for i := range p.Days {
		c := &p.Days[i]
		if c.X = 20 * float64(i); p.Most > 0 {
			c.High = 100 * c.USD / p.Most
		}
		c.Y = 104 - c.High
	}
	return p, nil
}

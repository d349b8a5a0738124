package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

type tasksCmd struct {
	List   tasksListCmd   `cmd:"" default:"withargs" help:"The tasks: those that are open, unless --status says which."`
	Add    tasksAddCmd    `cmd:"" help:"Add a task. arc run works on it."`
	Update tasksUpdateCmd `cmd:"" help:"Word a task anew, change its priority, set it aside or have it tried again."`
	Close  tasksCloseCmd  `cmd:"" help:"End a task by hand."`
}

type tasksListCmd struct {
	Status []queue.State `help:"Those in a state: pending, active, completed, failed, blocked or parked." enum:"pending,active,completed,failed,blocked,parked" placeholder:"STATE"`
	Limit  uint          `help:"At most so many, the oldest; 0: all." default:"50"`
}

// Run implements the command.
func (c *tasksListCmd) Run(a *app, q *queue.Queue) error {
	states := c.Status
	if len(states) == 0 {
		states = []queue.State{queue.Pending, queue.Active, queue.Parked, queue.Blocked}
	}
	all := []queue.Job{}
	for j, err := range q.Jobs(a.ctx, states...) {
		if err != nil {
			return err
		}
		all = append(all, j)
	}
	header := []string{"id", "state", "priority", "source", "subject"}
	return limited(a.screen, all, c.Limit, header, func(j queue.Job) []string {
		due := ""
		if j.State == queue.Pending && j.At.After(time.Now()) {
			due = "due " + when(j.At)
		}
		return []string{
			j.ID, string(j.State), fmt.Sprint(j.Priority), j.Source, j.Subject + said(cmp.Or(j.Error, j.Summary, due)),
		}
	})
}

type tasksAddCmd struct {
	Subject     string        `help:"What is to be done (or --text)." aliases:"text" required:"" placeholder:"TEXT"`
	Description string        `help:"The rest." placeholder:"TEXT"`
	Priority    int           `help:"1 (first) to 10." default:"5"`
	Skill       []string      `help:"Skill that the work needs." placeholder:"NAME"`
	Source      string        `help:"What enqueued it." default:"human"`
	Key         string        `help:"Of one open task at a time." placeholder:"KEY"`
	In          time.Duration `help:"Due after so long." placeholder:"TIME"`
	Cron        string        `help:"Again and again, such as \"0 6 * * *\" or \"@every 1h\"." placeholder:"EXPR"`
	Template    string        `help:"A file of templates/, which gives what is not said here." placeholder:"NAME"`
}

// Run implements the command.
func (c *tasksAddCmd) Run(a *app, q *queue.Queue) error {
	if c.Priority == 0 || c.In < 0 {
		return misuse("--priority is 1 to 10, and --in is not negative")
	}
	if err := a.haveSkills(c.Skill); err != nil {
		return err
	}
	d := queue.Draft{
		Subject: c.Subject, Description: c.Description, Priority: c.Priority, Skills: c.Skill, Source: c.Source,
		Key: c.Key, Cron: c.Cron, Template: c.Template,
	}
	if c.In > 0 {
		d.At = time.Now().Add(c.In)
	}
	j, added, err := q.Enqueue(a.ctx, d)
	if err != nil {
		return err
	}
	return a.present(j, func() {
		word := "added"
		if !added {
			word = "is there"
		}
		a.headed(good, word, j.ID)
	})
}

type tasksUpdateCmd struct {
	ID          string `help:"The task." name:"id" required:"" placeholder:"ID"`
	Subject     string `help:"Its new subject." placeholder:"TEXT"`
	Description string `help:"Its new description." placeholder:"TEXT"`
	Priority    int    `help:"Its new priority." placeholder:"N"`
	Park        bool   `help:"Set it aside." xor:"state"`
	Requeue     bool   `help:"Have it tried again: one that is failed, blocked or parked." xor:"state"`
	Note        string `help:"With --requeue: what has changed since." placeholder:"TEXT"`
}

// Run implements the command.
func (c *tasksUpdateCmd) Run(a *app, q *queue.Queue) (err error) {
	d := queue.Draft{Subject: c.Subject, Description: c.Description, Priority: c.Priority}
	words := c.Subject != "" || c.Description != "" || c.Priority != 0
	if !words && !c.Park && !c.Requeue || c.Note != "" && !c.Requeue {
		return misuse("say what is to be changed: arc tasks update --help")
	}
	if words {
		err = q.Revise(a.ctx, c.ID, d)
	}
	if err == nil && c.Park {
		err = q.Park(a.ctx, c.ID)
	}
	if err == nil && c.Requeue {
		err = q.Requeue(a.ctx, c.ID, c.Note)
	}
	return a.did(err, "changed", c.ID)
}

type tasksCloseCmd struct {
	ID      string      `help:"The task." name:"id" required:"" placeholder:"ID"`
	Status  queue.State `help:"completed, failed or blocked." enum:"completed,failed,blocked" default:"completed"`
	Summary string      `help:"What came of it." required:"" placeholder:"TEXT"`
}

// Run implements the command. The run of the task is given up, unless it has ended: it would go
// on, or ask a person, about what is closed.
func (c *tasksCloseCmd) Run(a *app, q *queue.Queue) error {
	if err := q.Settle(a.ctx, c.ID, queue.Result{State: c.Status, Summary: c.Summary}); err != nil {
		return err
	}
	v := a.agent.In(a.config.Scope)
	r, err := v.Report(a.ctx, "job/"+c.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = nil
	case err == nil && r.Status != arc.Delivered && r.Status != arc.Blocked:
		err = a.drop(v, r.ID)
	}
	return a.did(err, string(c.Status), c.ID)
}

type runCmd struct {
	All bool `help:"Go on until no task is ready."`
}

// Run implements the command: the sensors that are due, then the task that comes first.
// As JSON it prints the tasks that it has worked on.
func (c *runCmd) Run(a *app, q *queue.Queue) error {
	found, missed := q.Sense(a.ctx, a.sensors()...)
	if !a.json {
		for _, j := range found {
			a.headed(faint, "found", j.Subject)
		}
		if missed != nil {
			a.explain(bad, "sensors", missed.Error())
		}
	}
	if _, err := a.agent.ResumeDue(a.ctx); err != nil {
		return err
	}
	done := []queue.Job{}
	for len(done) == 0 || c.All {
		l, err := q.Claim(a.ctx, 0)
		if errors.Is(err, queue.ErrEmpty) {
			break
		}
		if err != nil {
			return err
		}
		j, err := a.cycle(l)
		if err != nil {
			return err
		}
		done = append(done, j)
	}
	err := a.present(done, func() {
		if len(done) == 0 {
			a.headed(faint, "idle", "no task is ready")
		}
	})
	n := exitDone
	for _, j := range done {
		switch {
		case j.Error == "" && (j.State == queue.Pending || j.State == queue.Parked):
			n = cmp.Or(n, exitWaiting)
		case j.State != queue.Completed:
			n = exitError
		}
	}
	if missed != nil {
		n = exitError
	}
	if err == nil && n != exitDone {
		return &exit{code: n}
	}
	return err
}

// cycle works on a task.
func (a *app) cycle(l *queue.Lease) (queue.Job, error) {
	if !a.json {
		a.event = a.narrate
		a.headed(strong, "task", l.Job.Subject)
	}
	r, err := a.agent.QueueHandler()(a.ctx, l.Job)
	if a.ctx.Err() != nil { // broken off: that spends no attempt
		r, err = queue.Result{State: queue.Pending, At: time.Now(), Usage: r.Usage}, nil
	}
	j, ended := l.End(context.WithoutCancel(a.ctx), r, err)
	if a.ctx.Err() != nil {
		return j, a.ctx.Err()
	}
	if ended == nil && !a.json {
		color := good
		if j.State != queue.Completed {
			color = asking
		}
		a.explain(color, string(j.State), cmp.Or(j.Error, j.Summary))
		switch {
		case j.State == queue.Parked:
			a.explain(asking, "asks", j.Detail)
			a.goesOn(`resume --run %s --answer "TEXT"`, "job/"+j.ID)
		case j.State == queue.Pending && strings.HasPrefix(j.Summary, string(arc.CauseApproval)+":"):
			a.goesOn("approve --run %s --yes", "job/"+j.ID)
		case j.State == queue.Blocked:
			a.goesOn(`tasks update --id %s --requeue --note "TEXT"`, j.ID)
		}
	}
	return j, ended
}

func (a *app) sensors() (all []queue.Sensor) {
	for _, s := range a.config.Sensors {
		read := func(ctx context.Context, _ string) (queue.Reading, error) { return s.printed(ctx, a.dir) }
		all = append(all, queue.Sensor{Name: s.Name, Every: s.Every, Read: read})
	}
	return all
}

type sensorsCmd struct {
	List sensorsListCmd `cmd:"" default:"1" help:"The sensors of arc.yaml, and how they stand."`
}

type sensorsListCmd struct{}

// Run implements the command.
func (sensorsListCmd) Run(a *app, q *queue.Queue) error {
	known := map[string]queue.SensorState{}
	for s, err := range q.Sensors(a.ctx) {
		if err != nil {
			return err
		}
		known[s.Name] = s
	}
	states := []queue.SensorState{}
	for _, c := range a.config.Sensors {
		s := known[c.Name]
		s.Name = c.Name
		states = append(states, s)
	}
	return listed(a.screen, states, []string{"name", "read", "due", "error"}, func(s queue.SensorState) []string {
		return []string{s.Name, when(s.Began), when(s.Due), s.Error}
	})
}

type statusCmd struct{}

// Run implements the command.
func (statusCmd) Run(a *app, q *queue.Queue) error {
	var s struct {
		Tasks     map[queue.State]int
		Runs      map[arc.Status]int
		Last      *arc.Report `json:",omitempty"`
		Approvals int
		Memories  int
		Today     float64
		Estimated float64
	}
	s.Tasks, s.Runs = map[queue.State]int{}, map[arc.Status]int{}
	for j, err := range q.Jobs(a.ctx) {
		if err != nil {
			return err
		}
		s.Tasks[j.State]++
	}
	v := a.agent.In(a.config.Scope)
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	for r, err := range v.Runs(a.ctx, arc.Filter{}) {
		if err != nil {
			return err
		}
		if s.Last == nil {
			s.Last = r
		}
		s.Runs[r.Status]++
		if r.Approval != nil {
			s.Approvals++
		}
		if !r.Started.Before(midnight) {
			s.Today += r.Usage.CostUSD
			s.Estimated += r.Usage.APICostUSD
		}
	}
	h, err := v.Memory().Health(a.ctx)
	if err != nil {
		return err
	}
	s.Memories = h.Total
	return a.present(s, func() {
		a.headed(
			strong, a.config.Name, fmt.Sprintf("scope %s, planned by %s", a.config.Scope, cmp.Or(a.config.Model, "arc.yaml")),
		)
		a.headed(faint, "tasks", fmt.Sprintf("%d pending, %d active, %d completed, %d failed, %d blocked, %d parked",
			s.Tasks[queue.Pending], s.Tasks[queue.Active], s.Tasks[queue.Completed],
			s.Tasks[queue.Failed], s.Tasks[queue.Blocked], s.Tasks[queue.Parked]))
		a.headed(faint, "runs", fmt.Sprintf("%d delivered, %d blocked, %d asking, %d waiting, %d to be resumed",
			s.Runs[arc.Delivered], s.Runs[arc.Blocked], s.Runs[arc.Asking], s.Runs[arc.Waiting], s.Runs[arc.Running]))
		if s.Last != nil {
			a.headed(faint, "last", fmt.Sprintf("%s, %s: %s", when(s.Last.Started), s.Last.Status, s.Last.Objective))
		}
		a.headed(faint, "memory", plural(s.Memories, "memory", "memories"))
		a.headed(faint, "today", fmt.Sprintf(
			"$%.4f reported, $%.4f estimated, by runs begun today (UTC)", s.Today, s.Estimated,
		))
		if s.Approvals > 0 {
			a.headed(asking, "approve", plural(s.Approvals, "waits", "wait")+" for a person: arc approve")
		}
	})
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act/queue"
	"github.com/arc-learn/arc/next/contrib/taskfile"
)

func (c *command) taskCommands() []*cobra.Command {
	var t queue.Draft // what the flags say
	var status, template, summary string
	var limit int
	texts := func(f *pflag.FlagSet) {
		f.StringVar(&t.Description, "description", "", "the rest")
		f.IntVar(&t.Priority, "priority", 0, "1 (first) to 10; 0: that of the template, or 5")
		f.StringSliceVar(&t.Skills, "skills", nil, "names of skills that are read first")
		f.StringVar(&t.Model, "model", "", "a model of arc.yaml; none: by the priority")
		f.Func("at", "when it is due, as 2026-11-30T08:00:00Z or 90m from now", func(at string) error {
			d, err := time.ParseDuration(at)
			if t.At = time.Now().Add(d); err != nil {
				t.At, err = time.Parse(time.RFC3339, at)
			}
			return err
		})
		f.StringVar(&t.Cron, "cron", "", "when it comes again, as in crontab(5)")
	}
	state := func(f *pflag.FlagSet) {
		f.StringVar(&summary, "summary", "", "what was done, or why not")
		f.StringVar(&status, "status", "", "pending, blocked or parked; of close: completed or failed")
	}
	update := func(states ...string) func(context.Context, *app, string) error {
		return func(ctx context.Context, a *app, id string) error {
			if !slices.Contains(states, status) {
				return usage("--status is %s", strings.TrimPrefix(strings.Join(states, " or "), " or "))
			}
			j, err := a.task(ctx, id)
			if err == nil {
				j, err = a.queue.Update(ctx, j.ID, func(j *queue.Job) error {
					j.State, j.Summary = cmp.Or(queue.State(status), j.State), cmp.Or(summary, j.Summary)
					taskfile.Over(&j.Draft, t)
					return nil
				})
			}
			if err == nil {
				c.Print(fmt.Sprintf("%s %s, priority %d: %s", short(j.ID), j.State, j.Priority, j.Subject))
			}
			return err
		}
	}
	return []*cobra.Command{
		group(c.leaf(reads, "tasks", "List tasks: those that are pending, active or blocked",
			func(ctx context.Context, a *app, _ string) error { return c.listTasks(ctx, a, status, limit) },
			func(f *pflag.FlagSet) {
				f.StringVar(&status, "status", "", "pending, active, completed, failed, blocked or parked")
				f.IntVar(&limit, "limit", 20, "at most so many")
			}),
			c.leaf(reads, "add SUBJECT", "Add a task", func(ctx context.Context, a *app, subject string) error {
				t.Subject = subject
				d := queue.Draft{Source: "human", Parent: c.Env["ARC_TASK"]}
				if d.Parent != "" {
					d.Source = "task:" + d.Parent
				}
				if template != "" {
					text, err := taskfile.Template(a.path("templates", filepath.Base(template)+".md"))
					if err != nil {
						return usage("%w", err)
					}
					taskfile.Over(&d, text)
				}
				if taskfile.Over(&d, t); d.Subject == "" {
					return usage(`what is to be done? arc tasks add --subject "…", or --template NAME`)
				}
				j, added, err := a.queue.Add(ctx, d)
				switch {
				case err != nil:
					return err
				case c.json:
					return c.JSON(j)
				case !added:
					c.Say("it is there already")
				}
				c.Print(fmt.Sprintf("%s priority %d: %s", short(j.ID), j.Priority, j.Subject))
				return nil
			}, func(f *pflag.FlagSet) {
				texts(f)
				f.StringVar(&template, "template", "", "templates/NAME.md has the rest, the priority as well")
				f.StringVar(&t.Source, "source", "", "who asks; none: human, or the task that runs the command")
				f.StringVar(&t.Parent, "parent", "", "the task that it follows from")
				f.StringVar(&t.Key, "key", "", "the same key is the same task")
				f.IntVar(&t.MaxAttempts, "max-retries", 0, "attempts; 0: 3")
				f.Func("input", "JSON: what varies", jsonTo(&t.Input))
			}),
			c.leaf(reads, "update ID", "Change a task; --status pending has it tried again", update("", "pending", "blocked", "parked", "completed", "failed"),
				func(f *pflag.FlagSet) {
					state(f)
					texts(f)
					f.StringVar(&t.Subject, "subject", "", "what is to be done, in a line")
				}),
			c.leaf(reads, "close ID", "End a task", update("completed", "failed"), state),
			c.leaf(reads, "show ID", "Show a task, whole, with its runs", func(ctx context.Context, a *app, id string) error {
				j, err := a.task(ctx, id)
				if err != nil {
					return err
				}
				all, err := a.runs(ctx)
				return c.result("task", struct {
					queue.Job
					Runs []*arc.Report
				}{j, slices.DeleteFunc(all, func(r *arc.Report) bool { return taskOf(r.ID) != path.Base(j.ID) })}, err)
			}, nil)),
		c.leaf(drives, "run", "Do the first task that is due, now", c.runTask, nil),
		c.leaf(reads, "cycles", "List the attempts at tasks, the latest last", func(ctx context.Context, a *app, _ string) error {
			all, err := collect(a.queue.Cycles(ctx, a.scope, time.Now().AddDate(0, 0, -7)))
			return list(c, all, 0, err, "task state took model what", "no task was tried in the last seven days", func(j queue.Job) []string {
				return []string{short(j.ID), string(j.State), span(j.Ended.Sub(j.Started)), j.Model, j.Subject + ": " + j.Summary}
			})
		}, nil),
	}
}

func (c *command) listTasks(ctx context.Context, a *app, status string, limit int) error {
	states := []queue.State{queue.Pending, queue.Active, queue.Blocked}
	if status != "" {
		states = []queue.State{queue.State(status)}
	}
	all, err := a.tasks(ctx, states...)
	slices.SortStableFunc(all, func(x, y queue.Job) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), x.Created.Compare(y.Created))
	})
	return list(c, all, limit, err, "task prio state due subject", `no tasks: arc tasks add --subject "…"`, func(j queue.Job) []string {
		text := j.Subject
		if j.Summary != "" {
			text += ": " + j.Summary
		}
		return []string{short(j.ID), fmt.Sprint(j.Priority), string(j.State), ago(j.At), text}
	})
}

// runTask does one task, and shows its run.
func (c *command) runTask(ctx context.Context, a *app, _ string) error {
	j, err := a.queue.Claim(ctx)
	if errors.Is(err, queue.ErrEmpty) {
		c.Print("no task is due")
		return nil
	} else if err != nil {
		return err
	}
	c.Say(c.Paint(bold, short(j.ID)) + " " + j.Subject)
	defer a.follow(path.Base(j.ID), c.screen)()
	j, err = a.cycle(ctx, j)
	c.Still()
	if err != nil {
		return err
	}
	c.Print(c.Paint(paints[string(j.State)], string(j.State)) + ": " + cmp.Or(j.Summary, "its run waits: see arc"))
	c.Say(c.Paint(faint, usageText(j.Usage)))
	switch j.State {
	case queue.Failed, queue.Blocked:
		return &exitError{code: exitFailed}
	case queue.Pending:
		return &exitError{code: exitWaits}
	}
	return nil
}

// cycle does a task that was claimed, and returns it as it is then.
func (a *app) cycle(ctx context.Context, j queue.Job) (queue.Job, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	go every(working, 10*time.Second, func() { // keeps the lease
		if errors.Is(a.queue.Heartbeat(working, j), queue.ErrLost) {
			stop()
		}
	})
	follow, err := a.work(working, &j)
	if ctx.Err() != nil {
		j.State, err = queue.Pending, nil
	}
	if err := a.queue.End(context.WithoutCancel(ctx), j, err, follow...); err != nil {
		return j, err
	}
	return a.queue.Get(context.WithoutCancel(ctx), j.ID)
}

// work is the handler of tasks.
func (a *app) work(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
	j.Model = cmp.Or(j.Model, a.config.Load().route(j.Priority))
	return queue.Run(a.agent, func(j queue.Job) arc.Objective {
		o := arc.Objective{
			Text: strings.TrimSpace(j.Subject + "\n\n" + j.Description), Inputs: j.Input, Scope: cmp.Or(j.Scope, a.scope),
			Situation: j.Template, Budget: budget(a.config.Load().Budget),
		}
		if len(j.Skills) > 0 {
			o.Data = reading{j.Skills}.data()
		}
		return o
	})(context.WithValue(ctx, modelKey{}, j.Model), j)
}

// taskOf is the task that a run is for; "": none.
func taskOf(run string) string {
	rest, ok := strings.CutPrefix(run, "job/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func (a *app) tasks(ctx context.Context, states ...queue.State) ([]queue.Job, error) {
	return collect(a.queue.List(ctx, a.scope, states...))
}

// task is the one that a person means.
func (a *app) task(ctx context.Context, id string) (queue.Job, error) {
	if id == "" {
		return queue.Job{}, usage("which task? arc tasks lists them")
	}
	all, err := a.tasks(ctx)
	if err != nil {
		return queue.Job{}, err
	}
	return find("task", id, all, func(j queue.Job) string { return j.ID })
}

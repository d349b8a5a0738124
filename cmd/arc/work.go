package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/taskfile"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

// runCommands are those that work, and that look at work.
func (c *command) runCommands() []*cobra.Command {
	var o arc.Objective
	var skills []string
	objective := func(f *pflag.FlagSet) {
		f.StringVar(&o.Situation, "situation", "", "the kind of case: equal cases have the same words")
		f.Func("input", "JSON object: what varies between cases", jsonTo(&o.Inputs))
		f.Func("data", "JSON that workers get, and no part of the case", jsonTo(&o.Data))
		f.StringVar(&o.Session, "session", "", "runs of a session are assessed together")
		f.StringSliceVar(&o.Conditions, "condition", nil, "what else must hold for the same plan to be right")
		f.StringSliceVar(&o.Secrets, "secret", nil, "names of credentials that may stand in the inputs")
		f.StringSliceVar(&skills, "skills", nil, "skills whose SKILL.md is read first, as arc skills lists them")
		f.Float64Var(&o.Budget.USD, "usd", 0, "the most dollars; 0: the budget of arc.yaml")
		f.BoolVar(&o.Fresh, "fresh", false, "nothing is recalled, and no plan fires")
	}
	about := func(use, short string, f func(ctx context.Context, a *app) error) *cobra.Command {
		return c.leaf(drives, use, short, func(ctx context.Context, a *app, text string) error {
			o.Text = text
			switch {
			case strings.TrimSpace(text) == "":
				return usage(`what is to be done? --text "…"`)
			case len(skills) > 0 && o.Data != nil:
				return usage(`--skills and --data are one or the other: {"skills": […]} in the data is the same`)
			case len(skills) > 0:
				o.Data = reading(skills)
			}
			if o.Budget == (arc.Budget{}) {
				o.Budget = a.config.Load().Budget
			}
			if _, err := c.named(skills...); err != nil {
				return err
			}
			return f(ctx, a)
		}, objective)
	}
	do := func(ctx context.Context, a *app) error {
		o.ID = time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:8]) // sorts by its time
		return c.watch(ctx, a, o.ID, func(ctx context.Context) (*arc.Report, error) { return a.agent.Run(ctx, o) })
	}
	think := func(ctx context.Context, a *app) error {
		t, err := a.agent.Think(ctx, o)
		return c.result("thought", t, err)
	}
	out := []*cobra.Command{
		about("do TEXT", "Do something, and learn from it", do),
		about("think TEXT", "Say what would be done, and why; nothing is done or kept", think),
		c.runsCommand(),
	}
	for _, op := range []struct {
		use, about, flag, says string
		do                     func(ctx context.Context, a *app, r *arc.Report, text string) error
	}{
		{"answer", "Answer what a run asks, and go on with it", "text", "in words", c.answer},
		{"approve", "Allow what a run waits for", "note", "why", c.ruling(true, "allowed: ")},
		{"deny", "Refuse what a run waits for", "note", "why", c.ruling(false, "denied: ")},
		{"retry", "Try a blocked run again", "note", "what to do otherwise", c.goOn(arc.View.Retry)},
		{"resume", "Go on with a run that was left, and follow it", "", "", c.goOn(resume)},
		{"cancel", "End a run", "why", "in words", c.cancel},
		{"judge", "Say what a run was worth", "verdict", "delivered, or failed: why", c.judge},
	} {
		var text string
		do := func(ctx context.Context, a *app, id string) error {
			r, err := a.run(ctx, id)
			if err != nil {
				return err
			}
			return op.do(ctx, a, r, text)
		}
		out = append(out, c.leaf(drives, op.use+" ID", op.about, do, func(f *pflag.FlagSet) {
			if op.flag != "" {
				f.StringVar(&text, op.flag, "", op.says)
			}
		}))
	}
	return out
}

func needsRuling(r *arc.Report) bool { return len(r.Approvals) > 0 }

// watch follows a run that f begins or goes on with, and prints what came of it.
func (c *command) watch(
	ctx context.Context, a *app, id string, f func(context.Context) (*arc.Report, error),
) error {
	p, end := a.follow(id, c.screen)
	defer end()
	r, err := f(ctx)
	if err != nil && p.left.Load() { // at a question: without this terminal it waits
		end()
		r, err = a.view().Resume(context.WithoutCancel(ctx), id)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // another terminal cancels it
		r, err = a.view().Wait(ctx, id)
	}
	for err == nil && r.Status == arc.Asking && c.Ask != nil {
		c.Still()
		for q := range strings.SplitSeq(r.Text, "\n") {
			c.Say(c.Paint(yellow, "? ") + q)
		}
		text, wrong := c.Question(ctx, "  > ")
		if wrong != nil || text == "" {
			break // it goes on asking
		}
		r, err = a.view().Answer(ctx, id, r.Question, text)
	}
	c.Still()
	switch {
	case err != nil && ctx.Err() != nil && r != nil:
		c.Say(fmt.Sprintf("interrupted: arc resume %s goes on where it was", short(id)))
		return exit(exitInterrupted)
	case err != nil:
		return err
	case c.json:
		return errors.Join(c.JSON(r), finished(r))
	}
	if r.Status == arc.Delivered {
		c.Print(cmp.Or(r.Text, "done"))
	}
	text, err := c.text("ended", r)
	c.Say(text)
	return cmp.Or(err, finished(r))
}

// took says what a run took.
func took(r *arc.Report) string {
	end := cmp.Or(r.Ended, time.Now())
	attempts := english.Plural(r.Attempts, "attempt", "")
	return fmt.Sprintf("%s, %s, %s", end.Sub(r.Began).Round(time.Second), attempts, usageText(r.Usage))
}

// usageText has the three figures: tokens, dollars reported, dollars estimated.
func usageText(u *reason.Usage) string {
	if u == nil {
		return "no model told what it took"
	}
	text := fmt.Sprintf("%s, %d tokens, ", english.Plural(u.Calls, "model call", ""), u.Input+u.Output)
	if u.CostUSD == nil && u.EstimateUSD != nil {
		return text + "about " + dollars(u.EstimateUSD)
	}
	return text + strings.Replace(dollars(u.CostUSD), "unknown", "dollars unknown", 1)
}

// runs are those of the scope, the latest first.
func (a *app) runs(ctx context.Context) ([]*arc.Report, error) {
	all, err := collect(a.view().Runs(ctx))
	slices.SortStableFunc(all, func(x, y *arc.Report) int { return y.Began.Compare(x.Began) })
	return all, err
}

// run is the one that a person means. An empty ID, as of a variable that is not set, means none.
func (a *app) run(ctx context.Context, id string) (*arc.Report, error) {
	all, err := a.runs(ctx)
	if err == nil && id == "" {
		err = usage("which run? arc runs lists them, arc says which wait")
	}
	if err != nil {
		return nil, err
	}
	return find("run", id, all, func(r *arc.Report) string { return r.ID })
}

func (c *command) runsCommand() *cobra.Command {
	var status string
	var limit int
	var follow bool
	runs := func(ctx context.Context, a *app, _ string) error {
		all, err := a.runs(ctx)
		if status != "" {
			all = slices.DeleteFunc(all, func(r *arc.Report) bool { return string(r.Status) != status })
		}
		head, none := "run status began objective", `no runs: arc do "…"`
		return list(c, all, limit, err, head, none, func(r *arc.Report) []string {
			return []string{short(r.ID), string(r.Status), humanize.Time(r.Began), r.Objective}
		})
	}
	show := func(ctx context.Context, a *app, id string) error {
		if all, _ := a.runs(ctx); id == "" && len(all) > 0 { // to look does no harm
			id = all[0].ID
		}
		r, err := a.run(ctx, id)
		if err != nil {
			return err
		}
		return c.showRun(ctx, a, r, follow)
	}
	return group(c.leaf(reads, "runs", "List runs, the latest first", runs, func(f *pflag.FlagSet) {
		choice(f, &status, "status", "", "running", "waiting", "asking", "delivered", "blocked", "canceled")
		f.IntVar(&limit, "limit", 20, "at most so many")
	}), c.leaf(reads, "show ID", "Show what happened in a run, whole; without an ID in the latest", show,
		func(f *pflag.FlagSet) { f.BoolVar(&follow, "follow", false, "go on until it has ended") }))
}

// showRun prints the journal of a run.
func (c *command) showRun(ctx context.Context, a *app, r *arc.Report, follow bool) error {
	read := arc.View.Journal
	if follow {
		read = arc.View.Watch
	}
	if c.json {
		events, err := collect(read(a.view(), ctx, r.ID))
		return c.result("", map[string]any{"run": r, "events": events}, err)
	}
	if err := c.result("run", r, nil); err != nil {
		return err
	}
	for e, err := range read(a.view(), ctx, r.ID) {
		if err != nil {
			return err
		}
		text := strings.TrimRight(e.Text, "\n")
		if p := (act.Approval{}); e.Kind == "approval_asked" && json.Unmarshal(e.Data, &p) == nil {
			e.Data = p.Inputs
		}
		if u := (*reason.Usage)(nil); e.Kind == "answer" && json.Unmarshal(e.Data, &u) == nil && u != nil {
			e.Data = json.RawMessage(usageText(u))
		}
		if len(e.Data) > 0 && e.Kind != "output" {
			text = strings.TrimSpace(text + "\n" + string(e.Data))
		}
		text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 20))
		at, kind := e.At.Local().Format("15:04:05"), fmt.Sprintf("%-10s", e.Kind)
		what := strings.TrimSpace(c.Paint(bold, e.Name) + " " + text)
		c.Print(strings.TrimSpace(c.Paint(faint, at) + " " + c.Paint(paints[e.Kind], kind) + " " + what))
	}
	if r.Ended.IsZero() && !follow {
		c.Print(c.Paint(yellow, string(r.Status)+": ") + r.Text)
	}
	return nil
}

func (c *command) answer(ctx context.Context, a *app, r *arc.Report, text string) error {
	if text == "" && (c.Ask == nil || r.Status != arc.Asking) {
		return usage(`what is the answer? arc answer %s --text "…"`, short(r.ID))
	}
	return c.watch(ctx, a, r.ID, func(ctx context.Context) (*arc.Report, error) {
		if text == "" { // the terminal asks for it
			return r, nil
		}
		return a.view().Answer(ctx, r.ID, r.Question, text)
	})
}

// goOn has a run go on, and follows it.
func (c *command) goOn(
	f func(v arc.View, ctx context.Context, id, text string) (*arc.Report, error),
) func(context.Context, *app, *arc.Report, string) error {
	return func(ctx context.Context, a *app, r *arc.Report, text string) error {
		return c.watch(ctx, a, r.ID, func(ctx context.Context) (*arc.Report, error) {
			return f(a.view(), ctx, r.ID, text)
		})
	}
}

func resume(v arc.View, ctx context.Context, id, _ string) (*arc.Report, error) {
	r, err := v.Resume(ctx, id)
	if errors.Is(err, arc.ErrRunning) {
		return v.Wait(ctx, id)
	}
	return r, err
}

// ruling rules on all that the run waits for, and follows it.
func (c *command) ruling(allow bool, said string) func(context.Context, *app, *arc.Report, string) error {
	return func(ctx context.Context, a *app, r *arc.Report, note string) error {
		begun := slices.ContainsFunc(r.Approvals, func(p act.Approval) bool { return p.Begun })
		if !needsRuling(r) || allow && begun && note == "" { // a quick yes would do it twice
			const why = "run %s waits for nobody, or may have done it: see the dashboard; --note does it again"
			return usage(why, short(r.ID))
		}
		return c.goOn(func(v arc.View, ctx context.Context, id, _ string) (*arc.Report, error) {
			for _, p := range r.Approvals {
				c.Say(said + p.Name + " " + cut(string(p.Inputs), c.Width-12))
				ruling := act.Ruling{Approval: p.ID, Allow: allow, Note: note, By: cmp.Or(c.Person, "the command line")}
				if err := v.Decide(ctx, ruling); err != nil {
					return nil, err
				}
			}
			for _, err := range v.Watch(ctx, "") { // until it has ended, or waits for something else
				now, wrong := v.Report(ctx, id)
				if err = cmp.Or(err, wrong); err != nil || now.Status == arc.Asking || !now.Ended.IsZero() ||
					needsRuling(now) && now.Approvals[0].ID != r.Approvals[0].ID {
					return now, err
				}
			}
			return r, ctx.Err()
		})(ctx, a, r, note)
	}
}

func (c *command) cancel(ctx context.Context, a *app, r *arc.Report, why string) error {
	err := a.view().Cancel(ctx, r.ID, cmp.Or(why, "by "+cmp.Or(c.Person, "the command line")))
	if err == nil {
		c.Print("canceled " + short(r.ID))
	}
	return err
}

func (c *command) judge(ctx context.Context, a *app, r *arc.Report, text string) error {
	verdict, why, _ := strings.Cut(text, ":")
	if verdict != string(learn.Delivered) && verdict != string(learn.Failed) {
		return usage("what was it worth? arc judge %s --verdict delivered, or \"failed: why\"", short(r.ID))
	}
	err := a.view().Judge(ctx, r.ID, learn.Verdict(verdict), strings.TrimSpace(why))
	if err == nil {
		c.Print("run " + short(r.ID) + " counts as " + verdict)
	}
	return err
}

// progress shows a run as it goes on: what happened as lines, what happens now in the live line.
type progress struct {
	*screen
	mu    sync.Mutex
	doing string
	since time.Time
	left  atomic.Bool // a question, by Ctrl-C
}

func (p *progress) busy(doing string) {
	p.mu.Lock()
	p.doing, p.since = doing, time.Now()
	p.mu.Unlock()
	p.Show(p.line)
}

// line is the live one: «asking gpt-5-mini … 4s».
func (p *progress) line(int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doing + " … " + time.Since(p.since).Round(time.Second).String()
}

// lines are the events that are said in a line: a colour, a mark, and how many lines the text may take.
var lines = map[string]struct {
	color, mark string
	most        int
}{
	"fired": {green, "a learned plan:", 3}, "decided": {faint, "plan:", 3}, "recalled": {faint, "recalled", 1},
	"attempt": {cyan, "▸", 1}, "tool": {cyan, "  →", 1}, "failed": {red, "✗", 0}, "left": {faint, "left:", 1},
	"learned": {green, "learned:", 3}, "waiting": {yellow, "waiting:", 3}, "stuck": {yellow, "stuck:", 3},
	"refused": {yellow, "refused:", 3}, "source_failed": {yellow, "source failed:", 3}, "away": {red, "✗", 1},
	"subgoal": {yellow, "subgoal:", 3}, "retried": {yellow, "retried", 1}, "notify": {yellow, "notify:", 3},
}

// tell shows an event.
func (p *progress) tell(e arc.Event) {
	if l, ok := lines[e.Kind]; ok {
		text := cut(cmp.Or(e.Text, string(e.Data)), l.most*p.Width-len(e.Name)-8)
		if l.most == 0 { // the beginning, of several lines
			all := strings.SplitN(strings.TrimSpace(e.Text), "\n", 12)
			if len(all) == 12 {
				all[11] = "… arc runs show has it whole"
			}
			text = strings.Join(all, "\n    ")
		}
		line := strings.TrimRight(p.Paint(l.color, l.mark)+" "+p.Paint(bold, e.Name), " ")
		p.Say(strings.TrimRight(line+" "+text, " "))
	}
	switch e.Kind {
	case "asked":
		p.busy("asking " + e.Name)
	case "heard":
		p.busy(e.Name + cmp.Or(e.Text, " has answered"))
	case "waiting":
		p.busy("waits, and goes on by itself")
	case "ruled":
		p.busy("goes on")
	case "attempt", "calling":
		p.busy(e.Name + " works")
	case "output":
		p.Say(p.Paint(faint, "  │ ") + strings.TrimRight(e.Text, "\r\n"))
	case "passed":
		p.Say(p.Paint(green, "✓ ") + p.Paint(bold, e.Name))
	}
}

func (c *command) taskCommands() []*cobra.Command {
	var t queue.Draft // what the flags say
	var status, template, summary string
	var limit int
	texts := func(f *pflag.FlagSet) {
		f.StringVar(&t.Description, "description", "", "the rest")
		f.IntVar(&t.Priority, "priority", 0, "1 (first) to 10; 0: that of the template, or 5")
		f.StringSliceVar(&t.Skills, "skills", nil, "skills whose SKILL.md is read first, as arc skills lists them")
		f.StringVar(&t.Model, "model", "", "a model of arc.yaml; none: by the priority")
		f.Func("at", "when it is due, as 2026-11-30T08:00:00Z or 90m from now", func(at string) error {
			if d, err := time.ParseDuration(at); err == nil {
				t.At = time.Now().Add(d)
			} else if t.At, err = time.Parse(time.RFC3339, at); err != nil {
				return errors.New("it is a time such as 2026-11-30T08:00:00Z, or 90m from now")
			}
			return nil
		})
		f.StringVar(&t.Cron, "cron", "", "when it comes again, as in crontab(5)")
	}
	state := func(f *pflag.FlagSet, states ...string) {
		f.StringVar(&summary, "summary", "", "what was done, or why not")
		choice(f, &status, "status", "", states...)
	}
	update := func(ends bool) func(context.Context, *app, string) error {
		return func(ctx context.Context, a *app, id string) error {
			if ends && status == "" {
				return usage("--status is completed or failed")
			}
			j, err := a.task(ctx, id)
			if err == nil {
				j, err = a.queue.Update(ctx, j.ID, func(j *queue.Job) error {
					j.State, j.Summary = cmp.Or(queue.State(status), j.State), cmp.Or(summary, j.Summary)
					taskfile.Over(&j.Draft, t)
					_, err := c.named(t.Skills...)
					return err
				})
			}
			if err == nil && (status == "completed" || status == "failed") { // a ruling would go on with its run
				for r, rerr := range a.view().Runs(ctx) {
					if err = cmp.Or(err, rerr); err == nil && r.Ended.IsZero() && taskOf(r.ID) == path.Base(j.ID) {
						err = a.view().Cancel(ctx, r.ID, "its task is "+status)
					}
				}
			}
			return c.result("changed", j, err)
		}
	}
	return []*cobra.Command{
		group(c.leaf(reads, "tasks", "List tasks: those that are pending, active or blocked",
			func(ctx context.Context, a *app, _ string) error {
				states := []queue.State{queue.Pending, queue.Active, queue.Blocked}
				if status != "" {
					states = []queue.State{queue.State(status)}
				}
				all, err := collect(a.queue.List(ctx, a.scope, states...))
				slices.SortStableFunc(all, func(x, y queue.Job) int {
					return cmp.Or(cmp.Compare(x.Priority, y.Priority), x.Created.Compare(y.Created))
				})
				none := "no tasks are " + cmp.Or(status, "pending, active or blocked") + ": arc tasks add, arc help tasks"
				return list(c, all, limit, err, "task prio state due subject", none, func(j queue.Job) []string {
					text := strings.TrimSuffix(j.Subject+": "+j.Summary, ": ")
					return []string{short(j.ID), fmt.Sprint(j.Priority), string(j.State), humanize.Time(j.At), text}
				})
			},
			func(f *pflag.FlagSet) {
				choice(f, &status, "status", "", "pending", "active", "completed", "failed", "blocked", "parked")
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
				if _, err := c.named(d.Skills...); err != nil {
					return err
				}
				j, added, err := a.queue.Add(ctx, d)
				if err == nil && !added {
					c.Say("it is there already")
				}
				return c.result("added", j, err)
			}, func(f *pflag.FlagSet) {
				texts(f)
				f.StringVar(&template, "template", "", "templates/NAME.md: flags as front matter, the description below")
				f.StringVar(&t.Source, "source", "", "who asks; none: human, or the task that runs the command")
				f.StringVar(&t.Parent, "parent", "", "the task that it follows from")
				f.StringVar(&t.Key, "key", "", "the same key is the same task")
				f.IntVar(&t.MaxAttempts, "max-retries", 0, "attempts; 0: 3")
				f.Func("input", "JSON object: what varies between cases", jsonTo(&t.Input))
			}),
			c.leaf(reads, "update ID", "Change a task; --status pending has it tried again", update(false),
				func(f *pflag.FlagSet) {
					state(f, "pending", "blocked", "parked", "completed", "failed")
					texts(f)
					f.StringVar(&t.Subject, "subject", "", "what is to be done, in a line")
				}),
			c.leaf(reads, "close ID", "End a task", update(true),
				func(f *pflag.FlagSet) { state(f, "completed", "failed") }),
			c.leaf(reads, "show ID", "Show a task, whole, with its runs", c.showTask, nil)),
		c.leaf(drives, "run", "Do the first task that is due, now", c.runTask, nil),
		c.leaf(reads, "cycles", "List the attempts at tasks, the latest last", c.cycles, nil),
	}
}

func (c *command) showTask(ctx context.Context, a *app, id string) error {
	j, err := a.task(ctx, id)
	if err != nil {
		return err
	}
	all, err := a.runs(ctx)
	all = slices.DeleteFunc(all, func(r *arc.Report) bool { return taskOf(r.ID) != path.Base(j.ID) })
	return c.result("task", struct {
		queue.Job
		Runs []*arc.Report
	}{j, all}, err)
}

func (c *command) cycles(ctx context.Context, a *app, _ string) error {
	all, err := collect(a.queue.Cycles(ctx, a.scope, time.Now().AddDate(0, 0, -7)))
	head := "task state took model what"
	none := "no task was tried in the last seven days; arc runs has what was done"
	return list(c, all, 0, err, head, none, func(j queue.Job) []string {
		took := j.Ended.Sub(j.Started).Round(time.Second).String()
		return []string{short(j.ID), string(j.State), took, j.Model, j.Subject + ": " + j.Summary}
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
	_, end := a.follow(path.Base(j.ID), c.screen)
	defer end()
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
	over := context.WithoutCancel(ctx)
	if err = a.queue.End(over, j, err, follow...); err == nil {
		j, err = a.queue.Get(over, j.ID)
	}
	c.Still()
	if err != nil {
		return err
	}
	state := string(j.State)
	c.Print(c.Paint(paints[state], state) + ": " + cmp.Or(j.Summary, "its run waits: see arc"))
	c.Say(c.Paint(faint, usageText(j.Usage)))
	switch j.State {
	case queue.Failed, queue.Blocked:
		return exit(exitFailed)
	case queue.Pending:
		return exit(exitWaits)
	}
	return nil
}

// work is the handler of tasks.
func (a *app) work(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
	j.Model = cmp.Or(j.Model, a.config.Load().route(j.Priority))
	return queue.AgentHandler(a.agent, func(j queue.Job) arc.Objective {
		o := arc.Objective{
			Text: strings.TrimSpace(j.Subject + "\n\n" + j.Description), Inputs: j.Input, Situation: j.Template,
			Scope: cmp.Or(j.Scope, a.scope), Budget: a.config.Load().Budget,
		}
		if len(j.Skills) > 0 {
			o.Data = reading(j.Skills)
		}
		return o
	})(context.WithValue(ctx, modelKey{}, j.Model), j)
}

// taskOf is the task that a run is for; "": none.
func taskOf(run string) (id string) {
	if rest, ok := strings.CutPrefix(run, "job/"); ok {
		id, _, _ = strings.Cut(rest, "/")
	}
	return id
}

// task is the one that a person means.
func (a *app) task(ctx context.Context, id string) (queue.Job, error) {
	if id == "" {
		return queue.Job{}, usage("which task? arc tasks lists them")
	}
	all, err := collect(a.queue.List(ctx, a.scope))
	if err != nil {
		return queue.Job{}, err
	}
	return find("task", id, all, func(j queue.Job) string { return j.ID })
}
